"""What may run where? A problem: a graph, a cluster, and the rules between them. A placement is a restriction of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from placelab.errors import FormatError, InfeasibleError
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph, frozen, pointers
from placelab.problem.graph_building import merge_groups
from placelab.problem.grouped import members
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS, MemoryModel, TransferModel


@dataclass(frozen=True, eq=False, init=False)
class Problem:
    """Place every op of `graph` on one device of `cluster`, and order the ops of each device, within the rules.

    Parameters
    ----------
    graph, cluster
        What is computed, on what.
    memory
        Memory model: ``"none"`` (unlimited), ``"edges"`` (Mayer 2017 eq. 2), ``"reserved"`` (Srivastava 2018 §3.1),
        ``"dynamic"`` (Baechi 2020 §4.2). Default: ``"none"`` when the cluster has no capacities, else ``"dynamic"``.
    transfers
        Contention between transfers: ``"parallel"`` (none, Mayer 2017 §5), ``"sequential"`` (one at a time per device, Baechi
        2020 §3.4), ``"channel"`` (one at a time per ordered pair of devices, Hashemi 2019 §1).
    duplex
        Under ``"sequential"``: True lets a device send and receive at once.
    transfer_ops
        Operations of the Send and of the Receive op each transfer becomes; 0 (default): no such ops.
    groups
        More colocation groups, as collections of op names; they join the graph's where they share an op.
    allowed
        More device constraints: op name → names or types of devices; they narrow the graph's.

    Raises
    ------
    InfeasibleError
        The allowed devices of a group do not meet.
    FormatError
        An unknown op, device, memory or transfer model, or an op without a time on a device.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> problem.memory, problem.transfers
    ('none', 'parallel')
    """

    graph: OpGraph
    cluster: Cluster
    memory: str
    transfers: str
    duplex: bool
    transfer_ops: float
    group: np.ndarray
    group_names: tuple[str, ...]
    mask: np.ndarray | None
    rules: Mapping[str, tuple[tuple[str, ...], ...]]

    def __init__(
        self,
        graph: OpGraph,
        cluster: Cluster,
        memory: str | None = None,
        transfers: str = "parallel",
        duplex: bool = False,
        transfer_ops: float = 0,
        groups: Iterable[Sequence[str]] = (),
        allowed: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(graph, OpGraph) or not isinstance(cluster, Cluster):
            raise FormatError(
                f"expected an OpGraph and a Cluster, found {type(graph).__name__} and {type(cluster).__name__}"
            )
        if graph.n_ops == 0:
            raise FormatError("the graph has no ops; there is nothing to place")
        if memory is None:
            memory = "none" if np.isinf(cluster.memory).all() else "dynamic"
        _choice("memory model", memory, MEMORY_MODELS)
        _choice("transfer model", transfers, TRANSFER_MODELS)
        if not isinstance(duplex, (bool, np.bool_)):
            raise FormatError(f"duplex is {duplex!r}; expected True or False")
        if not isinstance(transfer_ops, (int, float, np.number)) or not 0 <= transfer_ops <= sys.float_info.max:
            raise FormatError(f"transfer_ops is {transfer_ops!r}; expected a finite number of operations, 0 or more")
        group, group_names = _add_groups(graph, _sets(groups))
        rules = {name: (_names(cluster, devices),) for name, devices in _rules(allowed, "allowed").items()}
        self._set(graph, cluster, memory, transfers, bool(duplex), float(transfer_ops), group, group_names, rules)

    def _set(self, graph: OpGraph, cluster: Cluster, *facts: Any) -> None:
        *_, group, group_names, rules = facts
        mask = _meet(graph, cluster, group, group_names, _mask(graph, cluster, rules))
        values = (graph, cluster, *facts[:-1], mask, rules)
        for label, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, label, value)
        _check_times(self)
        _check_range(self)

    # ---------------------------------------------------------------- models

    @property
    def transfer_model(self) -> TransferModel:
        """What the name `transfers` stands for."""
        return TRANSFER_MODELS[self.transfers]

    @property
    def memory_model(self) -> MemoryModel:
        """What the name `memory` stands for."""
        return MEMORY_MODELS[self.memory]

    @cached_property
    def capacity(self) -> np.ndarray:
        """Bytes that each device may hold, infinite in the memory model ``"none"``; shape (n_devices,)."""
        k = self.cluster.n_devices
        return frozen(np.full(k, np.inf)) if self.memory == "none" else self.cluster.memory

    @cached_property
    def lasting(self) -> np.ndarray:
        """Bytes that each op keeps for the whole run, wherever it is; shape (n_ops,)."""
        return self.memory_model.lasting(self.graph)

    # ---------------------------------------------------------------- rules

    @property
    def n_groups(self) -> int:
        """Number of colocation groups."""
        return len(self.group_names)

    @cached_property
    def group_ptr(self) -> np.ndarray:
        """Members of group g are ``group_ops[group_ptr[g]:group_ptr[g + 1]]``; shape (n_groups + 1,)."""
        return pointers(self.group[self.group >= 0], self.n_groups)

    @cached_property
    def group_ops(self) -> np.ndarray:
        """Ops that are in a group, by group, then op number."""
        members = np.flatnonzero(self.group >= 0)
        return frozen(members[np.argsort(self.group[members], kind="stable")].astype(np.int32))

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Colocation groups as tuples of op names."""
        names, ptr = self.graph.names, self.group_ptr
        return tuple(tuple(names[self.group_ops[a:b]]) for a, b in pairwise(ptr))

    @cached_property
    def allowed(self) -> dict[str, tuple[str, ...]]:
        """Names of the devices each restricted op may run on, groups taken into account; unrestricted ops are absent."""
        if self.mask is None:
            return {}
        devices = np.array(self.cluster.names, dtype=object)
        return {self.graph.names[v]: tuple(devices[self.mask[v]]) for v in np.flatnonzero(~self.mask.all(axis=1))}

    def feasible(self, op: int) -> np.ndarray:
        """Numbers of the devices that op number `op` may run on, its group's constraints included (memory is not)."""
        return np.arange(self.cluster.n_devices) if self.mask is None else np.flatnonzero(self.mask[op])

    def members(self, op: int) -> np.ndarray:
        """Ops that must share `op`'s device, `op` included."""
        g = self.group[op]
        return np.array([op], dtype=np.int32) if g < 0 else self.group_ops[self.group_ptr[g] : self.group_ptr[g + 1]]

    def pin(self, where: Mapping[str, Any]) -> Problem:
        """This problem with ops tied to devices.

        Parameters
        ----------
        where
            Op name, group name or glob pattern → a device (name, type, host or number) or a list of them.

        Returns
        -------
        Problem
            Pins narrow what was allowed before; a group follows its pinned member.

        Raises
        ------
        FormatError
            A key that matches no op and no group, an unknown device.
        InfeasibleError
            Nothing is left for an op or a group.
        """
        rules = dict(self.rules)
        for key, devices in _rules(where, "where to pin").items():
            for v in self._matching(key):
                name = self.graph.names[v]
                rules[name] = (*rules.get(name, ()), _names(self.cluster, devices))
        return self._with_rules(rules)

    def _with_rules(self, rules: Mapping[str, tuple[tuple[str, ...], ...]]) -> Problem:
        problem = object.__new__(Problem)
        facts = (self.memory, self.transfers, self.duplex, self.transfer_ops, self.group, self.group_names)
        problem._set(self.graph, self.cluster, *facts, rules)
        return problem

    def _matching(self, key: str) -> Iterable[int]:
        if not isinstance(key, str) or key in self.graph._index:
            return [self.graph.index(key)]
        if key in self.group_names:
            return self.group_ops[self.group_ptr[self.group_names.index(key)] :][:1]
        found = [v for v, name in enumerate(self.graph.names) if fnmatchcase(name, key)]
        return found or [self.graph.index(key)]  # raises the error that names the closest op

    def replace(self, **changes: Any) -> Problem:
        """This problem with some of the constructor's arguments changed.

        `groups` and `allowed` add to what holds. On another cluster, pins and constraints keep the names, types and hosts they
        were given; on another graph, those of the old one are gone.
        """
        unknown = set(changes) - {
            "graph",
            "cluster",
            "memory",
            "transfers",
            "duplex",
            "transfer_ops",
            "groups",
            "allowed",
        }
        if unknown:
            raise FormatError(f"a problem has no {', '.join(sorted(unknown))}")
        keep = {
            label: getattr(self, label)
            for label in ("graph", "cluster", "memory", "transfers", "duplex", "transfer_ops")
        }
        same_graph = "graph" not in changes
        groups = _sets(changes.pop("groups", ()))
        if same_graph and groups:
            groups = [*self.groups, *groups]
        allowed = _rules(changes.pop("allowed", None), "allowed")
        problem = Problem(**{**keep, **changes}, groups=groups)
        if not same_graph:
            return problem.pin(allowed) if allowed else problem
        if not groups:
            for label in ("group", "group_names"):
                object.__setattr__(problem, label, getattr(self, label))
        rules = {name: tuple(specs) for name, specs in self.rules.items()}
        for name, devices in allowed.items():
            rules[name] = (*rules.get(name, ()), _names(problem.cluster, devices))
        return problem._with_rules(rules)

    # ---------------------------------------------------------------- times

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        return _time_table(self.graph, self.cluster)

    @property
    def cost(self) -> np.ndarray:
        """``exec(v, d) = cost[v * columns + column[d]] / divisor[d]``; flat, shape (n_ops * columns,)."""
        return self._table[0]

    @property
    def column(self) -> np.ndarray:
        """Column of `cost` that holds for each device, shape (n_devices,), int32."""
        return self._table[1]

    @property
    def divisor(self) -> np.ndarray:
        """What `cost` is divided by: each device's speed, or how much faster it is than the one timed; shape (n_devices,)."""
        return self._table[2]

    @property
    def columns(self) -> int:
        """Number of columns of `cost`."""
        return self._table[3]

    def exec_time(self, op: int, device: int) -> float:
        """Seconds that op number `op` takes on device number `device`."""
        return self.cost[op * self.columns + self.column[device]] / self.divisor[device]

    def exec_times(self, device: Any) -> np.ndarray:
        """Seconds each op takes on its device of `device` (a number, or one per op); shape (n_ops,)."""
        device = np.asarray(device)
        return self.cost[np.arange(self.graph.n_ops) * self.columns + self.column[device]] / self.divisor[device]

    def transfer_time(self, tensor: int, source: int, destination: int) -> float:
        """Seconds a tensor takes from one device to another; 0 within a device."""
        if source == destination:
            return 0.0
        c = self.cluster
        return c.latency[source, destination] + self.graph.tensor_bytes[tensor] / c.bandwidth[source, destination]

    def __repr__(self) -> str:
        return f"Problem({self.graph!r}, {self.cluster!r}, memory={self.memory!r}, transfers={self.transfers!r})"


def _choice(label: str, value: Any, known: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise FormatError(f"{label} is {value!r}; expected one of {', '.join(known)}")


def _sets(groups: Any) -> list[list[str]]:
    """Groups as lists of names; a text alone is a group of one."""
    if groups is None:
        return []
    if isinstance(groups, (str, Mapping)) or not isinstance(groups, Iterable):
        raise FormatError(f"groups is {groups!r}; expected a list of collections of op names")
    found = [[group] if isinstance(group, str) else group for group in groups]
    for group in found:
        if not isinstance(group, Iterable):
            raise FormatError(f"groups holds {group!r}; expected collections of op names")
    return [sorted(group, key=str) if isinstance(group, (set, frozenset)) else list(group) for group in found]


def _rules(rules: Any, label: str) -> Mapping[str, Any]:
    if rules is not None and not isinstance(rules, Mapping):
        raise FormatError(f"{label} is {rules!r}; expected a mapping, op name → devices")
    return rules or {}


def _add_groups(graph: OpGraph, groups: list[list[str]]) -> tuple[np.ndarray, tuple[str, ...]]:
    if not groups:
        return graph.group, graph.group_names
    own = members(graph.group, len(graph.group_names))
    more = [[graph.index(name) for name in group] for group in groups]
    labels = [*graph.group_names, *(f"group of {graph.names[g[0]]}" if g else "" for g in more)]
    return merge_groups(graph.n_ops, [*own, *more], labels)


def _names(cluster: Cluster, devices: Any) -> tuple[str, ...]:
    """A name, type, host or number, or several of them, as texts that the cluster knows."""
    several = [devices] if isinstance(devices, (str, int, np.integer)) else devices
    if not isinstance(several, Iterable):
        raise FormatError(f"devices are {devices!r}; expected a name, type, host or number, or a list of them")
    if isinstance(several, (set, frozenset)):
        several = sorted(several, key=str)
    texts = tuple(d if isinstance(d, str) else cluster.names[cluster.index(d)] for d in several)
    for text in texts:
        cluster.matching(text)
    return texts


def _mask(graph: OpGraph, cluster: Cluster, rules: Mapping[str, tuple[tuple[str, ...], ...]]) -> np.ndarray | None:
    """Devices each op's own constraints allow, or None when nothing is restricted."""
    if not rules and not len(graph.device_sets):
        return None
    mask = np.ones((graph.n_ops, cluster.n_devices), dtype=bool)
    for devices, ops in zip(graph.device_sets, members(graph.device_set, len(graph.device_sets)), strict=True):
        if len(ops):
            mask[ops] = _row(cluster, devices, graph.names[ops[0]])
    for name, specs in rules.items():
        for devices in specs:
            mask[graph.index(name)] &= _row(cluster, devices, name)
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise InfeasibleError(
            f"op {graph.names[empty[0]]!r} has no device left: its allowed devices and its pins do not meet"
        )
    return None if mask.all() else mask


def _row(cluster: Cluster, devices: Sequence[str], op: str) -> np.ndarray:
    """Which devices are meant. Some of the names may be of devices that this cluster lacks; not all."""
    row = np.zeros(cluster.n_devices, dtype=bool)
    for device in {*cluster.names, *cluster.types, *cluster.hosts}.intersection(devices):
        row[cluster.matching(device)] = True
    if not row.any() and "*" in devices:  # any device, where none of those named is there
        row[:] = True
    if not row.any():
        raise InfeasibleError(
            f"op {op!r} may only run on {', '.join(devices) or 'no device'}, but the cluster has the devices "
            f"{', '.join(cluster.names[:8])}{', …' if cluster.n_devices > 8 else ''} of the types "
            f"{', '.join(sorted(set(cluster.types)))}; add such a device or change the op's devices"
        )
    return row


def _meet(
    graph: OpGraph, cluster: Cluster, group: np.ndarray, names: Sequence[str], mask: np.ndarray | None
) -> np.ndarray | None:
    """Give every member of a group the devices that all its members may use."""
    if mask is None:
        return None
    mask = mask.copy()
    ops = members(group, len(names))
    for g in np.unique(group[(group >= 0) & ~mask.all(axis=1)]):
        common = mask[ops[g]].all(axis=0)
        if not common.any():
            raise InfeasibleError(_no_meeting(graph, cluster, names[g], ops[g], mask))
        mask[ops[g]] = common
    return frozen(mask)


def _no_meeting(graph: OpGraph, cluster: Cluster, label: str, members: np.ndarray, mask: np.ndarray) -> str:
    """Names two members whose devices do not meet; where each pair meets, the two of the fewest devices in common."""
    kinds = members[np.unique(mask[members], axis=0, return_index=True)[1]]
    a, b = min(combinations(sorted(kinds), 2), key=lambda pair: (mask[pair[0]] & mask[pair[1]]).sum())
    devices = np.array(cluster.names, dtype=object)
    return (
        f"colocation group {label!r} has no device left: {graph.names[a]!r} may run on {', '.join(devices[mask[a]])}, "
        f"{graph.names[b]!r} on {', '.join(devices[mask[b]])}; let the allowed devices meet or split the group"
    )


def _time_table(graph: OpGraph, cluster: Cluster) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """cost, column, divisor, columns: seconds where the graph has them, else compute / speed.

    Seconds of a column that holds for a known speed are scaled to the device's.
    """
    k = cluster.n_devices
    if graph.time is None:
        return graph.compute, frozen(np.zeros(k, dtype=np.int32)), cluster.speed, 1
    known, complete = graph.time_speed, ~np.isnan(graph.time).any(axis=0)
    keys: dict[tuple, int] = {}
    column, divisor = np.zeros(k, dtype=np.int32), np.ones(k)
    for d, (name, kind) in enumerate(zip(cluster.names, cluster.types, strict=True)):
        j = graph.time_column(name, kind)
        faster = cluster.speed[d] / known[j] if j >= 0 and known[j] == known[j] else 1.0
        shared = j >= 0 and complete[j]
        divisor[d] = faster if shared else 1.0
        column[d] = keys.setdefault((j, None, None) if shared else (j, cluster.speed[d], faster), len(keys))
    table = np.empty((graph.n_ops, len(keys)))
    for (j, speed, faster), c in keys.items():
        seconds = graph.time[:, j] / (faster or 1.0) if j >= 0 else np.nan
        table[:, c] = seconds if speed is None else np.where(np.isnan(seconds), graph.compute / speed, seconds)
    return frozen(table.reshape(-1)), frozen(column), frozen(divisor), len(keys)


def _check_range(problem: Problem) -> None:
    """Refuse what floats cannot add up: every time and size a schedule could reach must be a finite number."""
    graph, cluster = problem.graph, problem.cluster
    k, sends = cluster.n_devices, 2 * problem.transfer_ops * graph.n_edges
    with np.errstate(over="ignore"):
        longest, largest = np.fmax.reduce(problem.cost, initial=1.0), graph.tensor_bytes.max(initial=1.0)
        work = longest * graph.n_ops / problem.divisor.min()
        moved = k * graph.n_tensors * (cluster.latency.max() + largest / cluster.bandwidth.min())
        held = sum(column.max() for column in (graph.persistent, graph.temporary, graph.memory)) * graph.n_ops
        totals = {
            "times of ops [s]": work + sends / cluster.speed.min(),
            "times of transfers [s]": moved,
            "bytes": held + k * graph.n_tensors * largest,
            "speeds [operations/s]": cluster.speed.max() * k,
        }
    for what, total in totals.items():
        if not total * k < sys.float_info.max:
            raise FormatError(f"{what} of this problem may add up to more than a float can hold; use smaller numbers")


def _check_times(problem: Problem) -> None:
    if problem.graph.time is None:
        return
    table = problem.cost.reshape(problem.graph.n_ops, problem.columns)
    for d in range(problem.cluster.n_devices):
        column = np.isnan(table[:, problem.column[d]])
        missing = np.flatnonzero(column if problem.mask is None else column & problem.mask[:, d])
        if len(missing):
            raise FormatError(
                f"op {problem.graph.names[missing[0]]!r} has no time for device {problem.cluster.names[d]!r}; give it compute, "
                "a time for that device or its type, or restrict its devices"
            )
