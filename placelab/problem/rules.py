"""Rules of a problem: colocation groups, and the devices that each op may run on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError
from placelab.base.index_arrays import frozen, members
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
