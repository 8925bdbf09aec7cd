"""A problem: a graph, a cluster, and the rules of what may run where. A placement is a restriction of it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, expect, poses_as_number
from placelab.base.files import PACKAGE
from placelab.base.index_arrays import frozen, pointers
from placelab.base.units import bundle
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.ops_on_devices import (
    Rules,
    Times,
    check_range,
    check_times,
    common_to_groups,
    groups_of,
    merged_groups,
    own_devices,
    rules_of,
    said_of_units,
    texts_of,
    texts_of_each,
    time_table,
)
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS, MemoryModel, TransferModel

# rules of one value each, in the order of the fields
CHOSEN = ("memory", "transfers", "duplex", "transfer_ops", "latency")
STRUCTURE = ("names", "tensor_producer", "tensor_control", "tensor_storage", "edge_tensor", "consumer")  # ops and edges


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
        Tensors that share a storage (``graph.tensor_storage``) are held once on the device that makes the first of them:
        with the bytes of the largest, from when the first tensor there is held until all of them there have been read
        and sent. One that is made on another device has a storage of its own there, and so has each copy that a transfer
        brings, with the tensor's bytes. ``"reserved"`` counts a storage at the op that makes the first tensor in it.
    transfers
        Contention between transfers: ``"parallel"`` (none, Mayer 2017 §5), ``"sequential"`` (one at a time per device, Baechi
        2020 §3.4), ``"channel"`` (one at a time per ordered pair of devices, Hashemi 2019 §1), ``"fair"`` (all at once; those
        that meet on a link between two devices, or on a shared one of ``Cluster.links``, share it max-min fairly, Bertsekas
        and Gallager 1992 §6.5.2).
    duplex
        Under ``"sequential"``: True lets a device send and receive at once.
    latency
        ``"holds"``: a transfer occupies its port or channel until it arrives (Baechi 2020). ``"follows"``: for bytes /
        bandwidth; it arrives a latency later. Under ``"fair"`` a latency takes no bandwidth, before or after the bytes.
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

    # `mask` is what `may_run` shows, None where nothing is restricted
    graph: OpGraph
    cluster: Cluster
    memory: str
    transfers: str
    duplex: bool
    transfer_ops: float
    latency: str
    group: np.ndarray
    group_names: tuple[str, ...]
    mask: np.ndarray | None
    rules: Rules

    def __init__(
        self,
        graph: OpGraph,
        cluster: Cluster,
        *,
        memory: str | None = None,
        transfers: str = "parallel",
        duplex: bool = False,
        transfer_ops: float = 0,
        latency: str = "holds",
        groups: Iterable[Sequence[str]] = (),
        allowed: Mapping[str, Any] | None = None,
    ) -> None:
        expect(graph, OpGraph, "Problem(graph, cluster)")
        expect(cluster, Cluster, "Problem(graph, cluster)")
        if graph.n_ops == 0:
            raise FormatError("the graph has no ops; there is nothing to place")
        if memory is None:
            memory = "none" if np.isinf(cluster.memory).all() else "dynamic"
        _choice("memory model", memory, MEMORY_MODELS)
        _choice("transfer model", transfers, TRANSFER_MODELS)
        _choice("latency", latency, LATENCIES)
        if not isinstance(duplex, (bool, np.bool_)):
            raise FormatError(f"duplex is {duplex!r}; expected True or False")
        number = isinstance(transfer_ops, (int, float, np.number)) and not poses_as_number(transfer_ops)
        if not number or not 0 <= transfer_ops <= sys.float_info.max:
            raise FormatError(f"transfer_ops is {transfer_ops!r}; expected a finite number of operations, 0 or more")
        group, group_names = merged_groups(graph, groups_of(groups))
        rules = {name: (texts_of(cluster, devices),) for name, devices in rules_of(allowed, "allowed").items()}
        chosen = (memory, transfers, bool(duplex), float(transfer_ops), latency)
        self._set(graph, cluster, *chosen, group, group_names, rules)
        if (said := said_of_units(graph, cluster)) and not _made_by_placelab():
            warnings.warn(said, UserWarning, stacklevel=2)

    def _set(self, graph: OpGraph, cluster: Cluster, *facts: Any) -> None:
        *_, group, group_names, rules = facts
        mask = common_to_groups(graph, cluster, group, group_names, own_devices(graph, cluster, rules))
        values = (graph, cluster, *facts[:-1], mask, rules)
        for label, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, label, value)
        check_times(graph, cluster, self._times, self.may_run)
        self._check_range()

    # ---------------------------------------------------------------- models

    @property
    def transfer_model(self) -> TransferModel:
        """The row of the model that `transfers` names."""
        return TRANSFER_MODELS[self.transfers]

    @property
    def memory_model(self) -> MemoryModel:
        """The row of the model that `memory` names."""
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
        names = self.graph.names
        ptr = self.group_ptr
        return tuple(tuple(names[self.group_ops[a:b]]) for a, b in pairwise(ptr))

    @cached_property
    def allowed(self) -> dict[str, tuple[str, ...]]:
        """Names of the devices each restricted op may run on, groups taken into account; unrestricted ops are absent."""
        if not self.restricted:
            return {}
        devices = np.array(self.cluster.names, dtype=object)
        restricted = np.flatnonzero(~self.may_run.all(axis=1))
        return {self.graph.names[v]: tuple(devices[self.may_run[v]]) for v in restricted}

    @property
    def restricted(self) -> bool:
        """Whether some op may not run on some device."""
        return self.mask is not None

    @cached_property
    def may_run(self) -> np.ndarray:
        """Whether each op may run on each device, its group's constraints included (memory is not).

        Returns
        -------
        ndarray of bool, shape (n_ops, n_devices)
            Read-only; where nothing is restricted, one byte seen from everywhere.
        """
        shape = self.graph.n_ops, self.cluster.n_devices
        return np.broadcast_to(np.True_, shape) if self.mask is None else self.mask

    @cached_property
    def runs_all(self) -> np.ndarray:
        """Whether each device may run every op; shape (n_devices,)."""
        return frozen(np.ones(self.cluster.n_devices, bool) if self.mask is None else np.all(self.mask, axis=0))

    def runs_on(self, device: np.ndarray) -> np.ndarray:
        """Whether each op may run on its device of `device`; shape (n_ops,)."""
        n = self.graph.n_ops
        return np.broadcast_to(np.True_, n) if self.mask is None else self.mask[np.arange(n), device]

    def allowed_flags(self, ops: np.ndarray | None = None) -> tuple[np.ndarray, int]:
        """`may_run` as kernels take it: ``flags[i * stride + d]`` is 1 where op i may run on device d.

        Parameters
        ----------
        ops
            The ops that are meant; default: all.

        Returns
        -------
        (ndarray of uint8, int)
            Where nothing is restricted, one row of flags and a stride of 0.
        """
        k = self.cluster.n_devices
        if self.mask is None:
            return frozen(np.ones(k, np.uint8)), 0
        rows = self.mask if ops is None else self.mask[ops]
        return frozen(rows.reshape(-1).view(np.uint8)), k

    def feasible(self, op: int) -> np.ndarray:
        """Numbers of the devices that op number `op` may run on, its group's constraints included (memory is not)."""
        return np.flatnonzero(self.may_run[op])

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
        for key, devices in texts_of_each(self.cluster, rules_of(where, "where to pin")).items():
            for v in self._matching(key):
                name = self.graph.names[v]
                rules[name] = (*rules.get(name, ()), devices)
        return self._with_rules(rules)

    def _with_rules(self, rules: Rules) -> Problem:
        problem = object.__new__(Problem)
        facts = (getattr(self, label) for label in (*CHOSEN, "group", "group_names"))
        problem._set(self.graph, self.cluster, *facts, rules)
        return problem

    def _matching(self, key: str) -> Iterable[int]:
        if not isinstance(key, str) or key in self.graph._index:
            return [self.graph.index(key)]
        if key in self.group_names:  # several groups may have one name
            return [self.group_ops[self.group_ptr[g]] for g, name in enumerate(self.group_names) if name == key]
        found = [v for v, name in enumerate(self.graph.names) if fnmatchcase(name, key)]
        return found or [self.graph.index(key)]  # raises the error that names the closest op

    def replace(self, **changes: Any) -> Problem:
        """This problem with some of the constructor's arguments changed.

        `groups` and `allowed` add to what holds. On another cluster, pins and constraints keep the names, types and hosts they
        were given; on another graph, those of the old one are gone.
        """
        if unknown := set(changes) - {"graph", "cluster", *CHOSEN, "groups", "allowed"}:
            raise FormatError(f"a problem has no {', '.join(sorted(unknown))}")
        keep = {label: getattr(self, label) for label in ("graph", "cluster", *CHOSEN)}
        same_graph = "graph" not in changes
        groups = groups_of(changes.pop("groups", ()))
        if same_graph and groups:
            groups = [*map(list, self.groups), *groups]
        allowed = rules_of(changes.pop("allowed", None), "allowed")
        problem = Problem(**{**keep, **changes}, groups=groups)
        if not same_graph:
            return problem.pin(allowed) if allowed else problem
        if not groups:
            for label in ("group", "group_names"):
                object.__setattr__(problem, label, getattr(self, label))
        rules = {name: tuple(specs) for name, specs in self.rules.items()}
        for name, devices in allowed.items():
            rules[name] = (*rules.get(name, ()), texts_of(problem.cluster, devices))
        return problem._with_rules(rules)

    def with_costs(self, *, graph: OpGraph | None = None, cluster: Cluster | None = None) -> Problem:
        """This problem with other times: a graph of the same ops and edges, a cluster of the same devices; all rules stay."""
        graph = self.graph if graph is None else graph
        cluster = self.cluster if cluster is None else cluster
        expect(graph, OpGraph, "with_costs")
        expect(cluster, Cluster, "with_costs")
        if not _same_ops_and_edges(self.graph, graph):
            raise FormatError("with_costs needs a graph of the same ops and edges; replace(graph=…) takes another one")
        if (cluster.names, cluster.types, cluster.hosts) != (
            self.cluster.names,
            self.cluster.types,
            self.cluster.hosts,
        ):
            raise FormatError("with_costs needs a cluster of the same devices; replace(cluster=…) takes another one")
        problem = self._copied(graph=graph, cluster=cluster)
        check_times(graph, cluster, problem._times, self.may_run)
        problem._check_range()
        return problem

    def _copied(self, **fields: Any) -> Problem:
        """A copy with some fields changed, which the caller has checked."""
        problem = object.__new__(Problem)
        for label in self.__dataclass_fields__:
            object.__setattr__(problem, label, fields.get(label, getattr(self, label)))
        return problem

    def _check_range(self) -> None:
        bandwidth = self.cluster.narrowest if self.transfer_model.shared else self.cluster.bandwidth
        check_range(self.graph, self.cluster, self._times, self.transfer_ops, bandwidth)

    # ---------------------------------------------------------------- times

    @cached_property
    def _times(self) -> Times:
        return time_table(self.graph, self.cluster)

    @property
    def cost(self) -> np.ndarray:
        """``exec(v, d) = cost[v * columns + column[d]] / divisor[d]``; flat, shape (n_ops * columns,)."""
        return self._times.cost

    @property
    def column(self) -> np.ndarray:
        """Column of `cost` that holds for each device, shape (n_devices,), int32."""
        return self._times.column

    @property
    def divisor(self) -> np.ndarray:
        """What `cost` is divided by: each device's speed, or how much faster it is than the one timed; shape (n_devices,)."""
        return self._times.divisor

    @property
    def columns(self) -> int:
        """Number of columns of `cost`."""
        return self._times.columns

    @property
    def cost_table(self) -> np.ndarray:
        """`cost` as a table: a view of shape (n_ops, columns)."""
        return self._times.table

    @cached_property
    def speed_matters(self) -> np.ndarray:
        """Whether the speed of each device changes how long an op takes, shape (n_devices,).

        It does not where the graph has a time for every op that may run there, taken on a device of unknown speed
        (``OpGraph.time_speed`` NaN): those seconds hold at any speed. Send and Receive ops always depend on it.
        """
        graph = self.graph
        cluster = self.cluster
        if graph.time is None or (self.transfer_ops and graph.n_edges):
            return frozen(np.ones(cluster.n_devices, bool))
        column = [graph.time_column(name, kind) for name, kind in zip(cluster.names, cluster.types, strict=True)]
        missing = np.isnan(graph.time)
        fixed = [
            j >= 0 and np.isnan(graph.time_speed[j]) and not (missing[:, j] & self.may_run[:, d]).any()
            for d, j in enumerate(column)
        ]
        return frozen(~np.array(fixed))

    def exec_time(self, op: int, device: int) -> float:
        """Seconds that op number `op` takes on device number `device`."""
        return self.cost[op * self.columns + self.column[device]] / self.divisor[device]

    def exec_times(self, device: Any) -> np.ndarray:
        """Seconds each op takes on its device of `device` (a number, or one per op); shape (n_ops,)."""
        device = np.asarray(device)
        if self.columns == 1:
            return self.cost / self.divisor[device]
        return self.cost[np.arange(self.graph.n_ops) * self.columns + self.column[device]] / self.divisor[device]

    def exec_table(self, ops: Any = slice(None), otherwise: float | None = None) -> np.ndarray:
        """Seconds that ops take on every device.

        Parameters
        ----------
        ops
            Numbers of the ops, or a slice; default: all.
        otherwise
            What stands in the table where an op may not run; default: what it would take there, NaN where that is not known.

        Returns
        -------
        ndarray, shape (ops, n_devices)
            Made anew at each call: 400 MB for a million ops and 50 devices. Kernels take `cost`, `column` and `divisor` instead.
        """
        table = self.cost_table[ops][:, self.column] / self.divisor
        return table if otherwise is None or self.mask is None else np.where(self.mask[ops], table, otherwise)

    def transfer_time(self, tensor: int, source: int, destination: int) -> float:
        """Seconds a tensor takes from one device to another; 0 within a device."""
        if source == destination:
            return 0.0
        c = self.cluster
        return c.latency[source, destination] + self.graph.tensor_bytes[tensor] / c.bandwidth[source, destination]

    def __repr__(self) -> str:
        more = "" if self.latency == "holds" else f", latency={self.latency!r}"
        return f"Problem({self.graph!r}, {self.cluster!r}, memory={self.memory!r}, transfers={self.transfers!r}{more})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle(self)


def _same_ops_and_edges(a: OpGraph, b: OpGraph) -> bool:
    columns = [(getattr(a, label), getattr(b, label)) for label in STRUCTURE]
    return all(x is y or np.array_equal(x, y) for x, y in columns)


def _choice(label: str, value: Any, known: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise FormatError(f"{label} is {value!r}; expected one of {', '.join(known)}")


def with_rules(new: Problem, problem: Problem, names: np.ndarray) -> Problem:
    """The new problem with the pins of the old one, op v's on the op called ``names[v]``."""
    layers: dict[str, list] = {}
    for name, specs in problem.rules.items():
        layers.setdefault(names[problem.graph.index(name)], []).extend(specs)
    for layer in zip_longest(*layers.values()):
        new = new.pin({name: spec for name, spec in zip(layers, layer, strict=True) if spec is not None})
    return new


def on_graph(problem: Problem, graph: OpGraph, names: np.ndarray | None = None) -> Problem:
    """The problem on another graph, in which op v is called ``names[v]`` (default: as before): groups and pins stay."""
    names = problem.graph.names if names is None else names
    more = (
        []
        if np.array_equal(problem.group, problem.graph.group)
        else [problem.group_ops[a:b] for a, b in pairwise(problem.group_ptr)]
    )
    return with_rules(problem.replace(graph=graph, groups=[names[ops].tolist() for ops in more]), problem, names)


def _made_by_placelab() -> bool:
    """Whether the caller of the constructor is placelab, as where a rule of a problem is replaced: its maker was warned."""
    return sys._getframe(2).f_code.co_filename.startswith(f"{PACKAGE}{os.sep}")
