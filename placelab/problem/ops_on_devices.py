"""Ops on devices: colocation groups, the devices that each op may run on, and its seconds there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError
from placelab.base.index_arrays import frozen, members
from placelab.kernels.costs import speed_ups
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.graph_building import merge_groups

Rules = Mapping[str, tuple[tuple[str, ...], ...]]  # op name → sets of devices, all of which hold


def groups_of(groups: Any) -> list[list[str]]:
    """Groups as lists of names; a text alone is a group of one."""
    if groups is None:
        return []
    if isinstance(groups, (str, Mapping)) or not isinstance(groups, Iterable):
        raise FormatError(f"groups is {groups!r}; expected a list of collections of op names")
    members = [[group] if isinstance(group, str) else group for group in groups]
    for group in members:
        if not isinstance(group, Iterable):
            raise FormatError(f"groups holds {group!r}; expected collections of op names")
    return [sorted(group, key=str) if isinstance(group, (set, frozenset)) else list(group) for group in members]


def rules_of(rules: Any, label: str) -> Mapping[str, Any]:
    """`rules`, empty for None; FormatError when they are no mapping."""
    if rules is not None and not isinstance(rules, Mapping):
        raise FormatError(f"{label} is {rules!r}; expected a mapping, op name → devices")
    return rules or {}


def merged_groups(graph: OpGraph, groups: list[list[str]]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The groups of a graph merged with more groups, as :func:`merge_groups` gives them."""
    if not groups:
        return graph.group, graph.group_names
    own = members(graph.group, len(graph.group_names))
    more = [[graph.index(name) for name in group] for group in groups]
    labels = [*graph.group_names, *(f"group of {graph.names[g[0]]}" if g else "" for g in more)]
    return merge_groups(graph.n_ops, [*own, *more], labels)


def texts_of(cluster: Cluster, devices: Any) -> tuple[str, ...]:
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


def texts_of_each(cluster: Cluster, rules: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """:func:`texts_of` for each key, once for the devices that many keys share."""
    known: dict[Any, tuple[str, ...]] = {}
    found = {}
    for key, devices in rules.items():
        same = devices if isinstance(devices, (str, tuple)) else id(devices)
        if same not in known:
            known[same] = texts_of(cluster, devices)
        found[key] = known[same]
    return found


def own_devices(graph: OpGraph, cluster: Cluster, rules: Rules) -> np.ndarray | None:
    """Devices each op's own constraints allow, or None when nothing is restricted."""
    if not rules and not len(graph.device_sets):
        return None
    mask = np.ones((graph.n_ops, cluster.n_devices), dtype=bool)
    for devices, ops in zip(graph.device_sets, members(graph.device_set, len(graph.device_sets)), strict=True):
        if len(ops):
            mask[ops] = _row(cluster, devices, graph.names[ops[0]])
    ruled: dict[tuple[str, ...], list[int]] = {}  # a pinned scope has thousands of ops
    for name, specs in rules.items():
        for devices in specs:
            ruled.setdefault(devices, []).append(graph.index(name))
    for devices, numbers in ruled.items():
        mask[numbers] &= _row(cluster, devices, graph.names[numbers[0]])
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise InfeasibleError(
            f"op {graph.names[empty[0]]!r} has no device left: its allowed devices and its pins do not meet; take back a pin"
        )
    return None if mask.all() else mask


def _row(cluster: Cluster, devices: Sequence[str], op: str) -> np.ndarray:
    """Whether each device is among those named; InfeasibleError when the cluster has none of them."""
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


def common_to_groups(
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
    """The message that names two members without a common device; if each pair has one, the pair with the fewest."""
    kinds = members[np.unique(mask[members], axis=0, return_index=True)[1]]
    a, b = min(combinations(sorted(kinds), 2), key=lambda pair: (mask[pair[0]] & mask[pair[1]]).sum())
    devices = np.array(cluster.names, dtype=object)
    return (
        f"colocation group {label!r} has no device left: {graph.names[a]!r} may run on {', '.join(devices[mask[a]])}, "
        f"{graph.names[b]!r} on {', '.join(devices[mask[b]])}; let the allowed devices meet or split the group"
    )


# --------------------------------- seconds, one column for all devices with equal ones; checks that none is missing or too large

INSTANT = 1e-9  # seconds


class Times(NamedTuple):
    """``exec(v, d) = cost[v * columns + column[d]] / divisor[d]``."""

    cost: np.ndarray
    column: np.ndarray
    divisor: np.ndarray
    columns: int

    @property
    def table(self) -> np.ndarray:
        """`cost` as a table: a view of shape (n_ops, columns)."""
        return self.cost.reshape(-1, self.columns)


def time_table(graph: OpGraph, cluster: Cluster) -> Times:
    """Seconds where the graph has them, else compute / speed.

    Seconds of a column that holds for a known speed are scaled to the device's.
    """
    k = cluster.n_devices
    if graph.time is None:
        return Times(graph.compute, frozen(np.zeros(k, dtype=np.int32)), cluster.speed, 1)
    known = graph.time_speed
    complete = ~np.isnan(graph.time).any(axis=0)
    keys: dict[tuple, int] = {}
    column = np.zeros(k, dtype=np.int32)
    divisor = np.ones(k)
    measured = [graph.time_column(name, kind) for name, kind in zip(cluster.names, cluster.types, strict=True)]
    factor = np.empty(k)
    speed_ups(cluster.speed, frozen(np.array(measured, np.int32)), frozen(known), factor)
    for d, (j, faster) in enumerate(zip(measured, factor.tolist(), strict=True)):
        shared = j >= 0 and complete[j]
        divisor[d] = faster if shared else 1.0
        column[d] = keys.setdefault((j, None, None) if shared else (j, cluster.speed[d], faster), len(keys))
    table = np.empty((graph.n_ops, len(keys)))
    for (j, speed, faster), c in keys.items():
        seconds = graph.time[:, j] / (faster or 1.0) if j >= 0 else np.nan
        table[:, c] = seconds if speed is None else np.where(np.isnan(seconds), graph.compute / speed, seconds)
    return Times(frozen(table.reshape(-1)), frozen(column), frozen(divisor), len(keys))


def check_range(graph: OpGraph, cluster: Cluster, times: Times, transfer_ops: float, bandwidth: np.ndarray) -> None:
    """Refuse problems whose times or sizes could add up to more than a float can hold; `bandwidth` is the least of each pair."""
    k = cluster.n_devices
    sends = 2 * transfer_ops * graph.n_edges
    with np.errstate(over="ignore"):
        longest = np.fmax.reduce(times.cost, initial=1.0)
        largest = graph.tensor_bytes.max(initial=1.0)
        work = longest * graph.n_ops / times.divisor.min()
        moved = k * graph.n_tensors * (cluster.latency.max() + largest / bandwidth.min())
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


def check_times(graph: OpGraph, cluster: Cluster, times: Times, may_run: np.ndarray) -> None:
    """Refuse an op without a time on a device that it may run on."""
    if graph.time is None:
        return
    unknown = np.isnan(times.table)
    for d in range(cluster.n_devices):
        missing = np.flatnonzero(unknown[:, times.column[d]] & may_run[:, d])
        if len(missing):
            raise FormatError(
                f"op {graph.names[missing[0]]!r} has no time for device {cluster.names[d]!r}; give it compute, "
                "a time for that device or its type, or restrict its devices"
            )


def said_of_units(graph: OpGraph, cluster: Cluster) -> str:
    """A sentence where costs look like seconds that were given as operations; "" where they do not.

    No op of a model takes less than a nanosecond on every device: the launch of a kernel alone takes a thousand times as long.

    >>> from placelab.problem.graph import OpGraph
    >>> graph = OpGraph.from_arrays(["a", "b"], [60.0, 5.0], [(0, 1)])
    >>> said_of_units(graph, Cluster.uniform(2))  # doctest: +ELLIPSIS
    'the longest op takes 6e-12 s: its compute is 60 operations, and the slowest device makes 1e+13 a second. If ...'
    >>> said_of_units(graph, Cluster([1.0, 1.0]))
    ''
    """
    most = float(graph.compute.max())
    slowest = float(cluster.speed.min())
    if graph.time is not None or not 0 < most < INSTANT * slowest:
        return ""
    return (
        f"the longest op takes {most / slowest:.3g} s: its compute is {most:.3g} operations, and the slowest device makes "
        f"{slowest:.3g} a second. If the costs are seconds, use devices of speed 1: placelab.Cluster(speed=[1.0, …])"
    )
