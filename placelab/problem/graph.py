"""What is to be computed? The model graph: ops, the tensors they produce, the edges that consume them, as flat arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.errors import CycleError, FormatError
from placelab.names import is_name
from placelab.problem import graph_json, networkx_graph

if TYPE_CHECKING:
    import networkx as nx

I4, F8 = np.int32, np.float64
COSTS = ("compute", "persistent", "temporary", "memory")
LARGEST = float(np.finfo(F8).max)  # JSON has whole numbers beyond, which compare with it as they are


@dataclass(frozen=True, eq=False)
class OpGraph:
    """A directed acyclic graph of ops, in arrays, ops numbered topologically.

    Build one with :meth:`from_networkx`, :meth:`from_arrays`, a generator, or ``placelab.load``.

    Attributes
    ----------
    names : ndarray of str, shape (n_ops,)
        Unique. Op ``v`` consumes only tensors of ops before it.
    compute : ndarray, shape (n_ops,)
        Operations.
    persistent, temporary, memory : ndarray, shape (n_ops,)
        Bytes: held for ever (weights), held while the op runs, and what the ``reserved`` memory model counts
        (``persistent + temporary + outputs`` unless given).
    kind : ndarray of str, shape (n_ops,)
        Op type, ``""`` where unknown.
    time : ndarray, shape (n_ops, len(time_types)), or None
        Measured seconds per device name or type; NaN where not measured (then ``compute / speed`` holds).
    group : ndarray of int32, shape (n_ops,)
        Colocation group, an index into ``group_names``; -1 for none.
    device_set : ndarray of int32, shape (n_ops,)
        Allowed devices, an index into ``device_sets`` (tuples of device names or types, ``*`` for any device of a cluster
        that has none of the others); -1 for any.
    tensor_producer, tensor_bytes, tensor_control : ndarray, shape (n_tensors,)
        Tensors sorted by producer. All control edges of one op share one 0-byte control tensor.
    producer, consumer, edge_tensor : ndarray of int32, shape (n_edges,)
        An edge is one input of its consumer: an op that reads a tensor twice has two. Sorted by (tensor, consumer).
    metadata : dict
        Name, reference speed, provenance, licence: whatever JSON can hold.
    """

    names: np.ndarray
    compute: np.ndarray
    persistent: np.ndarray
    temporary: np.ndarray
    memory: np.ndarray
    kind: np.ndarray
    time: np.ndarray | None
    time_types: tuple[str, ...]
    group: np.ndarray
    group_names: tuple[str, ...]
    device_set: np.ndarray
    device_sets: tuple[tuple[str, ...], ...]
    tensor_producer: np.ndarray
    tensor_bytes: np.ndarray
    tensor_control: np.ndarray
    edge_tensor: np.ndarray
    consumer: np.ndarray
    metadata: dict[str, Any] = field(default_factory=dict)

    # ---------------------------------------------------------------- sizes and index structures

    @property
    def n_ops(self) -> int:
        """Number of ops."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges, control edges included."""
        return len(self.consumer)

    @property
    def n_tensors(self) -> int:
        """Number of tensors, those nobody consumes and control tensors included."""
        return len(self.tensor_producer)

    @cached_property
    def producer(self) -> np.ndarray:
        """Producing op of each edge, shape (n_edges,)."""
        return frozen(self.tensor_producer[self.edge_tensor])

    @cached_property
    def edges(self) -> np.ndarray:
        """(producer, consumer) of each edge, shape (n_edges, 2)."""
        return frozen(np.stack([self.producer, self.consumer], axis=1))

    @cached_property
    def edge_bytes(self) -> np.ndarray:
        """Bytes of the tensor on each edge, shape (n_edges,)."""
        return frozen(self.tensor_bytes[self.edge_tensor])

    @cached_property
    def op_tensor_ptr(self) -> np.ndarray:
        """Tensors of op v are ``op_tensor_ptr[v]:op_tensor_ptr[v + 1]``; shape (n_ops + 1,)."""
        return pointers(self.tensor_producer, self.n_ops)

    @cached_property
    def tensor_ptr(self) -> np.ndarray:
        """Edges of tensor t are ``tensor_ptr[t]:tensor_ptr[t + 1]``; shape (n_tensors + 1,)."""
        return pointers(self.edge_tensor, self.n_tensors)

    @cached_property
    def succ_ptr(self) -> np.ndarray:
        """Edges that leave op v are ``succ_ptr[v]:succ_ptr[v + 1]``; shape (n_ops + 1,)."""
        return frozen(self.tensor_ptr[self.op_tensor_ptr])

    @cached_property
    def pred_ptr(self) -> np.ndarray:
        """Edges that enter op v are ``pred_edge[pred_ptr[v]:pred_ptr[v + 1]]``; shape (n_ops + 1,)."""
        return pointers(self.consumer, self.n_ops)

    @cached_property
    def pred_edge(self) -> np.ndarray:
        """Edge numbers sorted by consumer, then edge number; shape (n_edges,)."""
        return frozen(np.argsort(self.consumer, kind="stable").astype(I4))

    @cached_property
    def successors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distinct successor ops: (ptr, op, number of edges); those of v are ``op[ptr[v]:ptr[v + 1]]``, ascending."""
        key = self.producer.astype(np.int64) * self.n_ops + self.consumer
        pairs, count = np.unique(key, return_counts=True)
        return (
            pointers(pairs // self.n_ops, self.n_ops),
            frozen((pairs % self.n_ops).astype(I4)),
            frozen(count.astype(I4)),
        )

    def successors_of(self, op: int) -> np.ndarray:
        """Distinct ops that read a tensor of op number `op`, or wait for it, ascending; shape (n,), int32.

        >>> g = OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2), (0, 1), (1, 2)])
        >>> g.successors_of(0).tolist(), g.successors_of(2).tolist()
        ([1, 2], [])
        """
        return np.unique(self.consumer[self.succ_ptr[op] : self.succ_ptr[op + 1]])

    def predecessors_of(self, op: int) -> np.ndarray:
        """Distinct ops of which op number `op` reads a tensor, or for which it waits, ascending; shape (n,), int32.

        >>> g = OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2), (0, 1), (1, 2)])
        >>> g.predecessors_of(2).tolist(), g.predecessors_of(0).tolist()
        ([0, 1], [])
        """
        return np.unique(self.producer[self.pred_edge[self.pred_ptr[op] : self.pred_ptr[op + 1]]])

    @cached_property
    def n_producers(self) -> np.ndarray:
        """Number of distinct predecessor ops, shape (n_ops,)."""
        return frozen(np.bincount(self.successors[1], minlength=self.n_ops).astype(I4))

    @cached_property
    def outputs(self) -> np.ndarray:
        """Bytes of all tensors each op produces, shape (n_ops,)."""
        return frozen(
            np.bincount(self.tensor_producer, self.tensor_bytes, minlength=self.n_ops).astype(F8)
        )  # int if none

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Number of the op called `name`; FormatError when there is none."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise FormatError(f"no op is called {name!r} in {self.title}{_closest(name, self._index)}") from None

    @property
    def title(self) -> str:
        """The graph's name for messages, which are on one line."""
        return " ".join(str(self.metadata.get("name", "this graph")).splitlines())

    def __repr__(self) -> str:
        return f"OpGraph({self.title}: {self.n_ops} ops, {self.n_edges} edges, {len(self.group_names)} groups)"

    def replace(self, **changes: Any) -> OpGraph:
        """A copy with other columns: ``compute``, ``persistent``, ``temporary``, ``memory``, ``time``, ``tensor_bytes``."""
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        sizes = {"tensor_bytes": self.n_tensors} | dict.fromkeys(COSTS, self.n_ops)
        if unknown := changes.keys() - sizes.keys() - {"time", "time_types", "metadata"}:
            raise FormatError(f"a graph's {', '.join(sorted(unknown))} cannot be replaced; build another graph")
        columns |= {name: _column(v, sizes[name], name) if name in sizes else v for name, v in changes.items()}
        columns["metadata"] = dict(_items(columns["metadata"], "metadata"))
        rows = (self.n_ops, len(columns["time_types"]))
        if columns["time"] is not None and np.shape(columns["time"]) != rows:
            raise FormatError(f"time has shape {np.shape(columns['time'])}, expected {rows}: ops × time_types")
        return _checked(columns)

    # ---------------------------------------------------------------- builders

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        compute: Any,
        edges: Any,
        *,
        edge_bytes: Any = None,
        edge_output: Any = None,
        edge_control: Any = None,
        outputs: Sequence[tuple[int, int, float]] = (),
        persistent: Any = 0.0,
        temporary: Any = 0.0,
        memory: Any = None,
        kind: Sequence[str] | str = "",
        time: Mapping[str, Any] | None = None,
        groups: Sequence[Sequence[int]] = (),
        group_names: Sequence[str] | None = None,
        devices: Mapping[int, Sequence[str]] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> OpGraph:
        """A graph from arrays, ops in any order.

        Parameters
        ----------
        names
            Unique op names, shape (n_ops,).
        compute
            Operations, shape (n_ops,); NaN only where `time` has every device type's seconds.
        edges
            Pairs (producer, consumer) of indices into `names`, shape (n_edges, 2).
        edge_bytes
            Bytes of the tensor on each edge (default 0).
        edge_output
            Number of the producer's output each edge carries; edges with one (producer, output) are one tensor and
            must agree in bytes. Default: each edge is a tensor of its own.
        edge_control
            True where the edge only orders; such edges carry the producer's one 0-byte control tensor.
        outputs
            (op, output number, bytes) of outputs that no edge carries.
        persistent, temporary, memory
            Bytes, scalar or shape (n_ops,); `memory` defaults to persistent + temporary + outputs.
        kind
            Op types.
        time
            Measured seconds per device name or type, each of shape (n_ops,), NaN where not measured.
        groups, group_names
            Colocation groups as sequences of op indices; groups that share an op are one group.
        devices
            Op index → names or types of the devices that may run it.
        metadata
            JSON values that travel with the graph.

        Returns
        -------
        OpGraph
            Ops renumbered topologically: always the ready op that came first in `names`. An op that reads one tensor
            twice keeps both edges; a control edge given twice is one.

        Raises
        ------
        CycleError, FormatError
            A cycle, a duplicate name, a negative or NaN cost, sizes that do not match.

        Examples
        --------
        >>> g = OpGraph.from_arrays(["b", "a"], [1.0, 2.0], [(1, 0)], edge_bytes=[8.0])
        >>> list(g.names), g.edges.tolist()
        (['a', 'b'], [[0, 1]])
        """
        names = _texts(names, "names")
        _check_names(names)
        n = len(names)
        edges = _integers(_listed(edges, "edges"), "edges")
        edges = edges.reshape(-1, 2) if edges.size == 0 else edges
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise FormatError(f"edges has shape {edges.shape}; expected one pair (producer, consumer) per edge")
        outputs = _outputs(_listed(outputs, "outputs"), n)
        groups = [_ops(group, n, f"group {i}") for i, group in enumerate(_listed(groups, "groups"))]
        group_names = None if group_names is None else _texts(group_names, "group_names")
        if group_names is not None and len(group_names) != len(groups):
            raise FormatError(f"there are {len(groups)} groups but {len(group_names)} group_names; give one per group")
        devices = _shared_sets(dict(_items(devices, "devices")), n)
        time = dict(_items(time, "time"))
        _texts(time, "the keys of time")
        _check_edges(edges, n, names)
        order = _topological_order(n, edges, names)
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        m = len(edges)
        tensors = _number_tensors(
            rank[edges[:, 0]] if m else np.empty(0, np.int64),
            rank[edges[:, 1]] if m else np.empty(0, np.int64),
            _column(0.0 if edge_bytes is None else edge_bytes, m, "edge_bytes"),
            np.arange(m) if edge_output is None else _integers(edge_output, "edge_output"),
            np.zeros(m, bool) if edge_control is None else np.asarray(edge_control, dtype=bool),
            [(int(rank[v]), o, b) for v, o, b in outputs],
            [names[v] for v in order] if m else names,
            own=edge_output is None,
        )
        pick = lambda value, label: _column(value, n, label)[order]  # noqa: E731
        merged, group_labels = merge_groups(n, [[int(rank[v]) for v in g] for g in groups], group_names)
        sets, set_of = _device_sets(n, {int(rank[v]): d for v, d in devices.items()})
        persistent, temporary = pick(persistent, "persistent"), pick(temporary, "temporary")
        out = np.bincount(tensors["tensor_producer"], tensors["tensor_bytes"], minlength=n)
        measured = [t for t in sorted(time) if not np.isnan(_column(time[t], n, "time")).all()]
        table = np.empty((n, len(measured)))
        for j, t in enumerate(measured):
            table[:, j] = pick(time[t], "time")
        kinds = np.array([kind] * n if isinstance(kind, str) else _texts(kind, "kind"), dtype=object)
        _check_length(kinds, n, "kind")
        return _checked(
            dict(
                names=np.array(list(names) + [None], dtype=object)[:-1][order],
                compute=pick(compute, "compute"),
                persistent=persistent,
                temporary=temporary,
                memory=persistent + temporary + out if memory is None else pick(memory, "memory"),
                kind=kinds[order],
                time=table if measured else None,
                time_types=tuple(measured),
                group=merged,
                group_names=group_labels,
                device_set=set_of,
                device_sets=sets,
                metadata=dict(_items(metadata, "metadata")),
                **tensors,
            )
        )

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> OpGraph:
        """A graph from a networkx DiGraph or MultiDiGraph, whose nodes become op names.

        Parameters
        ----------
        graph
            Node attributes, all optional but ``compute`` (or ``time``): ``compute`` [operations], ``time`` {device name or
            type: seconds}, ``persistent``, ``temporary``, ``memory`` [bytes; ``memory`` is what the ``reserved`` model counts],
            ``kind``, ``group`` (a name, or several), ``devices`` (names or types), ``outputs`` {output id: bytes} of outputs
            that no edge carries. Edge attributes: ``bytes``, ``tensor`` (id of the producer's output; edges that share one
            are one tensor and agree in bytes; absent: a tensor of its own), ``control``.

        Raises
        ------
        FormatError, CycleError
            An attribute that is unknown or of the wrong form; a cycle.
        """
        return cls.from_arrays(**networkx_graph.columns(graph))

    def to_networkx(self) -> nx.DiGraph:
        """A DiGraph (a MultiDiGraph when edges are parallel) from which :meth:`from_networkx` makes this graph again."""
        return networkx_graph.write(self)

    def save(self, path: Any) -> None:
        """Write placelab JSON, gzipped when the name ends in ``.gz``; ``placelab.load`` reads it back exactly."""
        graph_json.write(self, path)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, contiguous and read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def pointers(sorted_keys: np.ndarray, n: int) -> np.ndarray:
    """Start of each key's run in an array grouped by key; shape (n + 1,), int32."""
    ptr = np.zeros(n + 1, dtype=I4)
    np.cumsum(np.bincount(sorted_keys, minlength=n), out=ptr[1:])
    return frozen(ptr)


def merge_groups(
    n: int, groups: Sequence[Sequence[int]], names: Sequence[str] | None = None
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


# -------------------------------------------------------------------- checks and helpers


def _column(value: Any, n: int, label: str) -> np.ndarray:
    try:
        column = np.asarray(value, dtype=F8)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} must be numbers that a float can hold, one per op or edge") from None
    if column.ndim == 0:
        return np.full(n, column)
    _check_length(column, n, label)
    return column


def _check_length(column: np.ndarray, n: int, label: str) -> None:
    if column.shape != (n,):
        raise FormatError(f"{label} has shape {column.shape}, expected ({n},)")


def _integers(value: Any, label: str) -> np.ndarray:
    """Whole numbers as int64; fractions are refused, not cut off."""
    try:
        given = np.asarray(value)
        with np.errstate(invalid="ignore"):
            whole = given.astype(np.int64)
        if given.size and (given.dtype.kind not in "biufO" or (whole != given).any()):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} must be whole numbers") from None
    return whole


def _listed(value: Any, label: str) -> Any:
    """Something to go through, a generator as a list."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise FormatError(f"{label} is {value!r}; expected a list")
    return list(value)


def _texts(value: Any, label: str) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(_listed(value, label))
    others = [] if set(map(type, texts)) <= {str} else [text for text in texts if not isinstance(text, str)]
    if others:
        raise FormatError(f"{label} holds {others[0]!r}; expected texts")
    return texts


def _items(value: Any, label: str) -> Iterable[tuple[Any, Any]]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise FormatError(f"{label} is {type(value).__name__}; expected a mapping")
    return value.items()


def _ops(value: Any, n: int, label: str) -> list[int]:
    if isinstance(value, list) and set(map(type, value)) == {int} and 0 <= min(value) and max(value) < n:
        return value  # as files have them: thousands of groups, no array for each
    ops = _integers(_listed(value, label), label)
    if ops.ndim != 1 or (ops.size and (ops.min() < 0 or ops.max() >= n)):
        raise FormatError(f"{label} holds {ops.tolist()}; expected numbers of ops, 0 to {n - 1}")
    return ops.tolist()


def _outputs(rows: Sequence[Any], n: int) -> list[tuple[int, int, float]]:
    for row in rows:
        if not isinstance(row, (tuple, list)) or len(row) != 3:
            raise FormatError(f"outputs holds {row!r}; expected (op, output number, bytes)")
    op, number, size = zip(*rows, strict=True) if len(rows) else ((), (), ())
    op, number = _ops(op, n, "outputs"), _integers(number, "output numbers").tolist()
    return list(zip(op, number, _column(size, len(rows), "bytes of outputs").tolist(), strict=True))


def _check_edges(edges: np.ndarray, n: int, names: Sequence[str]) -> None:
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        wrong = int(edges.min() if edges.min() < 0 else edges.max())
        raise FormatError(f"an edge refers to op {wrong}, but there are {n} ops, numbered from 0")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise CycleError(f"op {names[edges[loops[0], 0]]!r} consumes its own output; remove that edge")


def _topological_order(n: int, edges: np.ndarray, names: Sequence[str]) -> np.ndarray:
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
    unused: Sequence[tuple[int, int, float]],
    names: Sequence[str],
    own: bool,
) -> dict[str, np.ndarray]:
    """Number the tensors (producer, data before control, output) and sort the edges by (tensor, consumer)."""
    _check_length(output, len(src), "edge_output")
    _check_length(control, len(src), "edge_control")
    if own:  # every data edge is a tensor of its own: numbered by consumer, so that edge order does not matter
        rank = np.empty(len(src), dtype=np.int64)
        rank[np.lexsort((np.arange(len(src)), dst, src))] = np.arange(len(src))
        output = rank
    src = np.concatenate([src, np.array([u for u, _, _ in unused], dtype=np.int64)])
    output = np.concatenate([np.where(control, 0, output), np.array([o for _, o, _ in unused], dtype=np.int64)])
    size = np.concatenate([np.where(control, 0.0, size), np.array([b for _, _, b in unused], dtype=F8)])
    control = np.concatenate([control, np.zeros(len(unused), bool)])
    dst = np.concatenate([dst, np.full(len(unused), -1, dtype=np.int64)])
    order = np.lexsort((dst, output, control, src))
    src, dst, output, control, size = (a[order] for a in (src, dst, output, control, size))
    new = np.ones(len(src), bool)
    new[1:] = (src[1:] != src[:-1]) | (output[1:] != output[:-1]) | (control[1:] != control[:-1])
    tensor = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    differs = np.flatnonzero(~(size == size[first][tensor]) & ~np.isnan(size)) if len(src) else []
    if len(differs):
        e = differs[0]
        raise FormatError(
            f"output {int(output[e])} of op {names[src[e]]!r} has {size[e]:g} bytes on one edge and "
            f"{size[first[tensor[e]]]:g} on another; edges of one tensor must agree"
        )
    keep = dst >= 0
    keep[1:] &= ~control[1:] | (tensor[1:] != tensor[:-1]) | (dst[1:] != dst[:-1])
    return dict(
        tensor_producer=src[first].astype(I4),
        tensor_bytes=size[first],
        tensor_control=control[first],
        edge_tensor=tensor[keep].astype(I4),
        consumer=dst[keep].astype(I4),
    )


def _shared_sets(devices: Mapping[Any, Sequence[str]], n: int) -> dict[int, tuple[str, ...]]:
    """The devices of each op, checked; ops that share a list share a tuple."""
    given = {id(names): names for names in devices.values()}  # thousands of ops may share a list of thousands
    texts = {key: _texts(names, "devices") for key, names in given.items()}
    for name in (name for names in texts.values() for name in names if not is_name(name)):
        raise FormatError(f"devices holds {name!r:.80}; expected names or types, non-empty text on one line")
    return {v: texts[id(names)] for v, names in zip(_ops(list(devices), n, "devices"), devices.values(), strict=True)}


def _device_sets(n: int, devices: Mapping[int, tuple[str, ...]]) -> tuple[tuple[tuple[str, ...], ...], np.ndarray]:
    device_set = np.full(n, -1, dtype=I4)
    number: dict[tuple[str, ...], int] = {}
    known: dict[int, int] = {}  # by identity: a long tuple is hashed once, not at each op that shares it
    for v in sorted(devices):
        if id(devices[v]) not in known:
            known[id(devices[v])] = number.setdefault(devices[v], len(number))
        device_set[v] = known[id(devices[v])]
    return tuple(number), device_set


def _checked(columns: dict[str, Any]) -> OpGraph:
    """The graph, its arrays read-only, after every check that needs no cluster."""
    names = columns["names"]
    _check_costs(columns["tensor_bytes"], names[columns["tensor_producer"]], "an output", "bytes")
    for label, unit in (
        ("compute", "operations"),
        ("persistent", "bytes"),
        ("temporary", "bytes"),
        ("memory", "bytes"),
    ):
        _check_costs(columns[label], names, label, unit, nan=label == "compute" and columns["time"] is not None)
    if columns["time"] is not None:
        for j, kind in enumerate(columns["time_types"]):
            _check_costs(columns["time"][:, j], names, f"time on {kind}", "seconds", nan=True)
    return OpGraph(**{k: frozen(v) if isinstance(v, np.ndarray) else v for k, v in columns.items()})


def time_speeds(graph: OpGraph) -> np.ndarray:
    """Speed [operations/s] of the device that each column of `time` was taken on, shape (len(time_types),); 0 where unknown.

    From ``metadata["times"]["speed"]``, time type → operations/s. Seconds of such a column are scaled to the speed of the
    device they are used for, so that a device can be made faster; those of other columns hold whatever its speed.
    """
    told = _times(graph).get("speed", {})
    wrong = (
        f"the speeds of times in the metadata of {graph.title} are {told!r:.60}; expected device type → operations/s"
    )
    if not isinstance(told, Mapping):
        raise FormatError(wrong)
    speeds = [told.get(kind, 0.0) for kind in graph.time_types]
    if not all(type(s) in (int, float) and 0 <= s <= LARGEST for s in speeds):
        raise FormatError(wrong)
    return np.array(speeds, dtype=F8)


def time_column(graph: OpGraph, name: str, kind: str) -> int:
    """Column of `time` that holds for a device of that name and type; -1 for none.

    The device's name comes first, then its type, then ``metadata["times"]["default"]``.
    """
    wanted = (name, kind, _times(graph).get("default"))
    return next((graph.time_types.index(key) for key in wanted if key in graph.time_types), -1)


def _times(graph: OpGraph) -> Mapping[str, Any]:
    told = graph.metadata.get("times", {})
    if not isinstance(told, Mapping):
        raise FormatError(f"metadata 'times' of {graph.title} is {told!r:.60}; expected an object of speed and default")
    return told


def _check_names(names: Sequence[str]) -> None:
    text = "\n".join(names)
    if text.isascii() and text.count("\n") == len(names) - 1 and len(set(names)) == len(names) and "" not in names:
        return  # nothing to complain of, seen at a glance
    seen: set[Hashable] = set()
    for name in names:
        if not is_name(name):
            raise FormatError(f"op name {name!r} is not a name: expected non-empty text on one line")
        if name in seen:
            raise FormatError(f"two ops are called {name!r}; op names must be unique")
        seen.add(name)


def _check_costs(values: np.ndarray, names: np.ndarray, label: str, unit: str, nan: bool = False) -> None:
    bad = (values < 0) | np.isinf(values) | (np.isnan(values) & (not nan))
    if bad.any():
        v = int(np.flatnonzero(bad)[0])
        raise FormatError(f"{label} of op {names[v]!r} is {values[v]:g} {unit}; expected a finite number, 0 or more")


def _closest(name: str, known: Mapping[str, int]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(name), known, n=1) if len(known) <= 30_000 else []
    return f"; did you mean {close[0]!r}?" if close else ""
