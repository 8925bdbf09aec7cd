"""Columns of a graph from arrays in any order: number ops topologically, number tensors, merge groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from placelab.base.errors import CycleError, FormatError
from placelab.base.index_arrays import F8, I4, frozen
from placelab.problem.graph_checks import (
    check_devices,
    check_edges,
    check_length,
    check_names,
    column,
    flags,
    integers,
    items,
    listed,
    ops,
    outputs_of,
    pairs,
    texts,
)
from placelab.problem.graph_columns import default_time, time_speeds
from placelab.problem.tensor_shapes import Columns, coded


def columns(names: Any, compute: Any, edges: Any, **given: Any) -> dict[str, Any]:
    """The fields of an :class:`~placelab.problem.graph.OpGraph`, from the arguments of its ``from_arrays``."""
    names = texts(names, "names")
    check_names(names)
    n = len(names)
    edges = pairs(edges)
    outputs = outputs_of(listed(given["outputs"], "outputs"), n)
    groups, group_names = _groups(given["groups"], given["group_names"], n)
    devices = _shared_sets(dict(items(given["devices"], "devices")), n)
    time = dict(items(given["time"], "time"))
    texts(time, "the keys of time")
    speed = dict(zip(time, time_speeds(given["time_speed"], tuple(time)), strict=True))
    usual = default_time(given["time_default"], time)
    check_edges(edges, n, names)
    order = topological_order(n, edges, names)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    tensors, output = _tensors(rank[edges], given, [(int(rank[v]), o, b, s) for v, o, b, s in outputs], names, order)
    shapes: Columns = (None, ())
    if given["shapes"]:
        if given["edge_output"] is None and len(edges):
            raise FormatError("shapes are those of outputs by number; give edge_output, too")
        facts = (tensors["tensor_producer"], output, tensors["tensor_bytes"], tensors["tensor_control"])
        shapes = coded(given["shapes"], names, order, facts)
    pick = lambda value, label: column(value, n, label)[order]  # noqa: E731
    merged, group_labels = merge_groups(n, [[int(rank[v]) for v in g] for g in groups], group_names)
    sets, set_of = _device_sets(n, {int(rank[v]): d for v, d in devices.items()})
    persistent = pick(given["persistent"], "persistent")
    temporary = pick(given["temporary"], "temporary")
    out = _new_bytes(tensors, n)
    memory = persistent + temporary + out
    if given["memory"] is not None:
        known = pick(given["memory"], "memory")
        absent = [x is None for x in given["memory"]] if isinstance(given["memory"], list) else []
        memory = np.where(np.array(absent)[order], memory, known) if any(absent) else known
    measured = [kind for kind in sorted(time) if not np.isnan(column(time[kind], n, "time")).all()]
    table = np.empty((n, len(measured)))
    for j, kind in enumerate(measured):
        table[:, j] = pick(time[kind], "time")
    return dict(
        names=np.array(list(names) + [None], dtype=object)[:-1][order],
        compute=pick(compute, "compute"),
        persistent=persistent,
        temporary=temporary,
        memory=memory,
        kind=_kinds(given["kind"], n)[order],
        time=table if measured else None,
        time_types=tuple(measured),
        time_speed=np.array([speed[kind] for kind in measured], dtype=F8),
        time_default=usual if usual in measured else None,
        group=merged,
        group_names=group_labels,
        device_set=set_of,
        device_sets=sets,
        metadata=dict(items(given["metadata"], "metadata")),
        tensor_shape=shapes[0],
        shapes=shapes[1],
        **tensors,
    )


def _new_bytes(tensors: dict[str, Any], n: int) -> np.ndarray:
    """Bytes of the storages that each op is the first to write to."""
    size = tensors["tensor_bytes"]
    storage = tensors["tensor_storage"]
    if storage is not None:
        largest = np.zeros(len(size))
        np.maximum.at(largest, storage, size)
        size = np.where(storage == np.arange(len(size)), largest, 0.0)
    return np.bincount(tensors["tensor_producer"], size, minlength=n)


def _groups(groups: Any, names: Any, n: int) -> tuple[list[list[int]], tuple[str, ...] | None]:
    members = [ops(group, n, f"group {i}") for i, group in enumerate(listed(groups, "groups"))]
    labels = None if names is None else texts(names, "group_names")
    if labels is not None and len(labels) != len(members):
        raise FormatError(f"there are {len(members)} groups but {len(labels)} group_names; give one per group")
    return members, labels


def _shared_sets(devices: Mapping[Any, Sequence[str]], n: int) -> dict[int, tuple[str, ...]]:
    """The devices of each op, checked; ops that share a list share a tuple."""
    given = {id(names): names for names in devices.values()}  # thousands of ops may share a list of thousands
    shared = {key: texts(names, "devices") for key, names in given.items()}
    check_devices(shared.values())
    return {v: shared[id(names)] for v, names in zip(ops(list(devices), n, "devices"), devices.values(), strict=True)}


def _kinds(kind: Any, n: int) -> np.ndarray:
    kinds = np.array([kind] * n if isinstance(kind, str) else texts(kind, "kind"), dtype=object)
    check_length(kinds, n, "kind")
    return kinds


def _tensors(
    edges: np.ndarray,
    given: dict[str, Any],
    unused: Sequence[tuple[int, int, float, int]],
    names: Sequence[str],
    order: np.ndarray,
) -> tuple[dict[str, Any], np.ndarray]:
    """The tensors of edges between ops that have their final numbers, and the output number of each."""
    m = len(edges)
    size = given["edge_bytes"]
    output = given["edge_output"]
    control = given["edge_control"]
    controls = np.zeros(m, bool) if control is None else flags(control, m, "edge_control")
    sizes = column(0.0 if size is None else size, m, "edge_bytes")
    heavy = np.flatnonzero(controls & (sizes > 0) & bool(np.ndim(size)))
    if len(heavy):
        u, v = (str(names[order[op]]) for op in edges[heavy[0]].tolist())
        warnings.warn(
            f"a control edge carries no bytes: those of {len(heavy)} edges, {u!r} → {v!r} first, are dropped; "
            "give 0 bytes, or make them data edges",
            stacklevel=4,
        )
    return _number_tensors(
        edges[:, 0],
        edges[:, 1],
        sizes,
        np.arange(m) if output is None else integers(output, "edge_output"),
        controls,
        _storages(given["edge_storage"], m),
        unused,
        [names[v] for v in order] if m else names,
        own=output is None,
    )


def _storages(given: Any, m: int) -> np.ndarray:
    """The storage of each edge's tensor as given, -1 for one of its own."""
    if given is None:
        return np.full(m, -1)
    storage = integers(given, "edge_storage")
    check_length(storage, m, "edge_storage")
    if len(storage) and storage.min() < -1:
        raise FormatError(
            f"edge_storage holds {int(storage.min())}; expected numbers of storages, -1 for a tensor's own"
        )
    return storage


def merge_groups(
    n: int, groups: Sequence[Sequence[int] | np.ndarray], names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Union–find over groups of ops: overlapping groups become one, named after the first.

    Returns the group of each op (shape (n,), int32, -1 for none), groups numbered by their lowest op, and their names.
    Groups of fewer than two ops bind nothing but are kept.
    """
    parent = list(range(len(groups)))

    def root(g: int) -> int:
        while parent[g] != g:
            parent[g] = parent[parent[g]]
            g = parent[g]
        return g

    owner: dict[int, int] = {}
    for g, members in enumerate(groups):
        for v in members:
            if v in owner:
                a, b = sorted((root(owner[v]), root(g)))
                parent[b] = a
            owner[v] = g
    group = np.full(n, -1, dtype=I4)
    number: dict[int, int] = {}
    for v in sorted(owner):
        group[v] = number.setdefault(root(owner[v]), len(number))
    labels = [str(names[g]) if names is not None else f"group {i}" for i, g in enumerate(number)]
    return frozen(group), tuple(labels)


def topological_order(n: int, edges: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Kahn's order, always the ready op of the smallest input index."""
    if not len(edges) or (edges[:, 0] < edges[:, 1]).all():
        return np.arange(n)
    by_producer = np.argsort(edges[:, 0], kind="stable")
    succ = edges[by_producer, 1].tolist()
    ptr = np.searchsorted(edges[by_producer, 0], np.arange(n + 1)).tolist()
    missing = np.bincount(edges[:, 1], minlength=n).tolist()
    ready = [v for v in range(n) if not missing[v]]
    heapify(ready)
    order = []
    while ready:
        v = heappop(ready)
        order.append(v)
        for w in succ[ptr[v] : ptr[v + 1]]:
            missing[w] -= 1
            if not missing[w]:
                heappush(ready, w)
    if len(order) < n:
        raise CycleError(f"the graph has a cycle: {_find_cycle(edges, missing, names)}; remove one of these edges")
    return np.array(order)


def _find_cycle(edges: np.ndarray, missing: list[int], names: Sequence[str]) -> str:
    """A cycle spelt out, found by walking back from an op that never became ready."""
    before = {}
    for u, w in edges.tolist():
        if missing[u] and missing[w]:
            before[w] = u
    v = next(iter(before))
    seen: dict[int, int] = {}
    while v not in seen:
        seen[v] = len(seen)
        v = before[v]
    cycle = [u for u, i in seen.items() if i >= seen[v]][::-1]
    shown = [repr(str(names[u])) for u in cycle]
    if len(shown) > 6:
        shown = shown[:5] + [f"… {len(shown) - 5} more"]
    return " → ".join([*shown, shown[0]])


def _number_tensors(
    src: np.ndarray,
    dst: np.ndarray,
    size: np.ndarray,
    output: np.ndarray,
    control: np.ndarray,
    storage: np.ndarray,
    unused: Sequence[tuple[int, int, float, int]],
    names: Sequence[str],
    own: bool,
) -> tuple[dict[str, Any], np.ndarray]:
    """Number the tensors (producer, data before control, output) and sort the edges by (tensor, consumer).

    Beside the columns: the output number of each tensor.
    """
    check_length(output, len(src), "edge_output")
    check_length(control, len(src), "edge_control")
    if own:  # every data edge is a tensor of its own: numbered by consumer, so that edge order does not matter
        rank = np.empty(len(src), dtype=np.int64)
        rank[np.lexsort((np.arange(len(src)), dst, src))] = np.arange(len(src))
        output = rank
    src = np.concatenate([src, np.array([u for u, _, _, _ in unused], dtype=np.int64)])
    output = np.concatenate([np.where(control, 0, output), np.array([o for _, o, _, _ in unused], dtype=np.int64)])
    size = np.concatenate([np.where(control, 0.0, size), np.array([b for _, _, b, _ in unused], dtype=F8)])
    storage = np.concatenate([np.where(control, -1, storage), np.array([s for *_, s in unused], dtype=np.int64)])
    control = np.concatenate([control, np.zeros(len(unused), bool)])
    dst = np.concatenate([dst, np.full(len(unused), -1, dtype=np.int64)])
    order = np.lexsort((dst, output, control, src))
    src, dst, output, control, size = (a[order] for a in (src, dst, output, control, size))
    new = np.ones(len(src), bool)
    new[1:] = (src[1:] != src[:-1]) | (output[1:] != output[:-1]) | (control[1:] != control[:-1])
    tensor = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    differs = np.flatnonzero(~(size == size[first][tensor]) & ~np.isnan(size))
    if len(differs):
        e = differs[0]
        raise FormatError(
            f"output {int(output[e])} of op {names[src[e]]!r} has {size[e]:g} bytes on one edge and "
            f"{size[first[tensor[e]]]:g} on another; edges of one tensor must agree"
        )
    shared = _shared_storages(storage[order], tensor, len(first), src, output, names)
    keep = dst >= 0
    keep[1:] &= ~control[1:] | (tensor[1:] != tensor[:-1]) | (dst[1:] != dst[:-1])
    columns = dict(
        tensor_producer=src[first].astype(I4),
        tensor_bytes=size[first],
        tensor_control=control[first],
        edge_tensor=tensor[keep].astype(I4),
        consumer=dst[keep].astype(I4),
        tensor_storage=shared,
    )
    return columns, output[first]


def _shared_storages(
    storage: np.ndarray, tensor: np.ndarray, n_tensors: int, src: np.ndarray, output: np.ndarray, names: Sequence[str]
) -> np.ndarray | None:
    """The first tensor in the storage of each tensor, from the storages in rows of tensors; None where none is shared."""
    given = np.flatnonzero(storage >= 0)
    if not len(given):
        return None
    of = np.full(n_tensors, -1, dtype=np.int64)
    of[tensor[given]] = storage[given]
    differs = given[of[tensor[given]] != storage[given]]
    if len(differs):
        e = differs[0]
        raise FormatError(
            f"output {int(output[e])} of op {names[src[e]]!r} is in storage {int(storage[e])} on one edge and in "
            f"{int(of[tensor[e]])} on another; a tensor has one"
        )
    held = np.flatnonzero(of >= 0)
    _, root, which = np.unique(of[held], return_index=True, return_inverse=True)
    first = np.arange(n_tensors, dtype=I4)
    first[held] = held[root[which.reshape(-1)]]
    return None if len(root) == len(held) else first


def _device_sets(n: int, devices: Mapping[int, tuple[str, ...]]) -> tuple[tuple[tuple[str, ...], ...], np.ndarray]:
    device_set = np.full(n, -1, dtype=I4)
    number: dict[tuple[str, ...], int] = {}
    known: dict[int, int] = {}  # by identity: a long tuple is hashed once, not at each op that shares it
    for v in sorted(devices):
        if id(devices[v]) not in known:
            known[id(devices[v])] = number.setdefault(devices[v], len(number))
        device_set[v] = known[id(devices[v])]
    return tuple(number), device_set
