"""Contract blocks of ops to one op each, and expand placements of the contracted problem."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.planning.capacity import units
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.problem.problem import Problem, with_rules
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace
from placelab.strategies.preparing.chain import Expand


def contract(problem: Problem, block: np.ndarray, what: str) -> tuple[Problem, Expand]:
    r"""The problem with one op per block, and the way back.

    Parameters
    ----------
    problem
        The full problem.
    block
        Label of each op's block, shape (n_ops,), any whole numbers. No path may leave a block and return to it.
    what
        Name of the transformation, for the note that an expanded placement gets.

    Returns
    -------
    small : Problem
        A merged op is named after its first member and has its kind. Computes, persistent and reserved bytes and measured
        times are sums over the members; allowed devices are those of all members, colocation groups those of any member.
        Tensors that leave their block stay tensors of their own, those inside disappear; control edges between two blocks are
        one. Temporary bytes are the peak of temporaries and inner tensors while the members run one after the other in
        topological order; outputs count from the merged op's start. Both are upper bounds. Tensors that share a storage
        share it still, those inside a block among themselves, those that leave blocks among themselves.
    expand : function
        Placement of `small` → placement of `problem`: members go where their block went, and run in its place in the
        planned order, in topological order. The estimate and the bound are dropped, as they hold for `small` only.

    Raises
    ------
    CycleError
        The blocks depend on each other in a circle.
    InfeasibleError
        No device is allowed for all members of a block.

    Notes
    -----
    O(n_ops log n_ops + n_edges log n_edges).
    """
    expect(problem, Problem, "contract")
    graph = problem.graph
    of, first = _numbered(block)
    if len(first) == graph.n_ops:
        return problem, same_ops(problem)
    merged = problem.replace(graph=_merged_graph(problem, of, first))
    small = with_rules(merged, problem, graph.names[first[of]])
    number = np.array([small.graph._index[name] for name in graph.names[first]], dtype=np.int32)
    return small, expansion(problem, small, number[of], what)


def same_ops(problem: Problem) -> Expand:
    """The way back where nothing was merged: a placement of the problem is one."""
    return lambda placement: _of(placement, problem)


def expansion(
    problem: Problem, small: Problem, of: np.ndarray, what: str, order: Callable[[np.ndarray], np.ndarray] | None = None
) -> Expand:
    """The way back when op v of `problem` goes where op ``of[v]`` of `small` goes.

    Parameters
    ----------
    of
        Number in `small` of each op of `problem`, shape (n_ops,).
    what
        Name of the transformation, for the note.
    order
        Planned order of `problem` from the position of ``of[v]`` in that of `small`, shape (n_ops,); default: by that
        position, then op number, so that the members of a merged op follow each other.
    """
    n = problem.graph.n_ops
    scope = f"of the {small.graph.n_ops:,} ops after {what}"

    def expand(placement: Placement) -> Placement:
        _of(placement, small)
        planned = None
        if placement.planned is not None:
            position = np.empty(small.graph.n_ops, dtype=np.int64)
            position[placement.planned] = np.arange(small.graph.n_ops)
            planned = order(position[of]) if order else np.argsort(position[of], kind="stable")
        return Placement(
            problem,
            placement.device[of],
            planned=planned,
            trace=None if placement.trace is None else expanded_trace(placement.trace, problem, small, of),
            partitioner=placement.partitioner,
            notes=(
                f"{what}: {small.graph.n_ops:,} {'op' if small.graph.n_ops == 1 else 'ops'} instead of {n:,}",
                *(f"{note} ({scope})" for note in placement.notes),
            ),
            table=placement.table,
        )

    return expand


def _of(placement: Placement, small: Problem) -> Placement:
    expect(placement, Placement, "expand")
    given = placement.problem.graph
    if given is not small.graph and not np.array_equal(given.names, small.graph.names):
        raise FormatError(
            f"this placement is of another graph ({given!r}); expand takes placements of the problem "
            f"that came with it ({small.graph!r})"
        )
    return placement


def expanded_trace(trace: Trace, problem: Problem, small: Problem, of: np.ndarray) -> Trace:
    """A row for every group, and every op without one, that went where a row of the small problem's trace says.

    Without times and ranks of ops, which are those of merged ones.
    """
    unit = units(problem).first
    row_of = np.full(small.graph.n_ops, -1)
    for i in range(len(trace.op) - 1, -1, -1):
        row_of[small.members(trace.op[i])] = i
    row = row_of[of[unit]]
    unit = unit[row >= 0]
    row = row[row >= 0]
    order = np.argsort(row, kind="stable")
    unit = unit[order]
    row = row[order]
    alone = np.bincount(row, minlength=len(trace.op))[row] == 1
    reasons = (*trace.reasons, *(f"{reason}, for all ops it was placed with as one" for reason in trace.reasons))
    return Trace(
        unit,
        trace.device[row],
        trace.score[row],
        (trace.reason[row] + np.where(alone, 0, len(trace.reasons))).astype(np.int32),
        reasons,
        trace.score_name,
        rank=None if trace.rank is None else trace.rank[row],
        rank_name=trace.rank_name,
    )


def _numbered(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks numbered by their first op: (block of each op, first op of each block)."""
    _, first, inverse = np.unique(block, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[inverse], first[order]


def _merged_graph(problem: Problem, of: np.ndarray, first: np.ndarray) -> OpGraph:
    graph = problem.graph
    n = len(first)
    members, start = by_block(of)
    source = of[graph.producer]
    destination = of[graph.consumer]
    leaves = source != destination
    outside = np.zeros(graph.n_tensors, dtype=bool)
    outside[graph.edge_tensor[leaves]] = True
    made = of[graph.tensor_producer]
    alone = np.bincount(of, minlength=n) == 1
    unused = np.flatnonzero(~outside & alone[made])
    total = lambda column: np.bincount(of, column, minlength=n)  # noqa: E731
    return OpGraph.from_arrays(
        graph.names[first],
        total(graph.compute),
        np.stack([source, destination], axis=1)[leaves],
        **edge_columns(graph, graph.edge_tensor[leaves]),
        outputs=output_rows(graph, unused, of),
        shapes=shapes_at(graph, of),
        persistent=total(graph.persistent),
        temporary=np.maximum.reduceat(in_turn(graph, members, of, np.flatnonzero(~outside & ~alone[made])), start),
        memory=total(graph.memory),
        kind=graph.kind[first],
        **_times(problem, of, n),
        groups=[np.unique(of[ops]) for ops in _members(problem)],
        group_names=problem.group_names,
        devices=devices_of_blocks(problem, of, first),
        metadata=graph.metadata,
    )


Row = tuple[int, int, float, int]  # op, output number, bytes, storage


def output_rows(graph: OpGraph, tensors: np.ndarray, number: np.ndarray) -> list[Row]:
    """Tensors of a graph as ``OpGraph.from_arrays(outputs=…)`` takes them, where its op v has the number ``number[v]``."""
    producer = number[graph.tensor_producer[tensors]]
    size = graph.tensor_bytes[tensors]
    columns = (producer, tensors, size, storage_of(graph, tensors))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def edge_columns(graph: OpGraph, tensors: np.ndarray) -> dict[str, Any]:
    """Arguments of ``OpGraph.from_arrays`` for edges that carry these tensors of a graph; -1: an edge that only orders."""
    given = tensors >= 0
    columns = dict(
        edge_bytes=(graph.tensor_bytes, 0.0),
        edge_output=(np.arange(graph.n_tensors), 0),
        edge_control=(graph.tensor_control, True),
        edge_storage=(storage_of(graph, np.arange(graph.n_tensors)), -1),
    )
    made = {label: np.full(len(tensors), other, dtype=column.dtype) for label, (column, other) in columns.items()}
    for label, (column, _) in columns.items():
        made[label][given] = column[tensors[given]]
    return made


def shapes_at(graph: OpGraph, number: np.ndarray) -> dict[tuple[int, int], str]:
    """Shapes of the tensors of ops v that have a number ``number[v]``, as ``OpGraph.from_arrays(shapes=…)`` takes them.

    Only for graphs whose tensors are those of `graph`, with the output numbers that `output_rows` and `edge_columns` give them.
    """
    if graph.tensor_shape is None:
        return {}
    made = number[graph.tensor_producer]
    known = np.flatnonzero((graph.tensor_shape >= 0) & (made >= 0))
    rows = zip(made[known].tolist(), known.tolist(), graph.tensor_shape[known].tolist(), strict=True)
    return {(v, t): graph.shapes[code] for v, t, code in rows}


def storage_of(graph: OpGraph, tensors: np.ndarray) -> np.ndarray:
    """The first tensor in the storage of each of these tensors of a graph, -1 for all if none share one."""
    return np.full(len(tensors), -1) if graph.tensor_storage is None else graph.tensor_storage[tensors]


def by_block(of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ops by block, which are numbered from 0 without gaps, then number; and where each block begins."""
    return np.argsort(of, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(of))[:-1]])


def allowed_for_all(may_run: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Whether all ops of each block may run on each device, shape (n_blocks, n_devices)."""
    members, start = by_block(of)
    return np.logical_and.reduceat(may_run[members], start)


def in_turn(graph: OpGraph, members: np.ndarray, of: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Temporary bytes and inner tensors while each op of the sequence `members` runs, block by block in topological order.

    Parameters
    ----------
    of
        Block of each op, numbered from 0, shape (n_ops,).
    inner
        Numbers of the tensors that only ops of their producer's block read: held from then to their last reader's end, those
        of a block in one storage once.
    """
    place = np.empty(graph.n_ops, dtype=np.int64)
    place[members] = np.arange(graph.n_ops)
    made = place[graph.tensor_producer]
    last = made.copy()
    np.maximum.at(last, graph.edge_tensor, place[graph.consumer])
    made = made[inner]
    last = last[inner]
    size = graph.tensor_bytes[inner]
    if graph.tensor_storage is not None:
        key = graph.tensor_storage[inner].astype(np.int64) * graph.n_ops + of[graph.tensor_producer[inner]]
        made, last, size = _as_one(np.unique(key, return_inverse=True)[1], made, last, size)
    change = np.zeros(graph.n_ops + 1)
    np.add.at(change, made, size)
    np.add.at(change, last + 1, -size)
    held = np.maximum(np.cumsum(change[:-1]), 0.0)
    some = np.zeros(of.max() + 1, dtype=bool)
    some[of[graph.tensor_producer[inner]]] = True
    return np.where(some[of[members]], held, 0.0) + graph.temporary[members]  # exactly 0, without rounding errors


def _as_one(which: np.ndarray, made: np.ndarray, last: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, ...]:
    """First place, last place and bytes of storages, from those of their tensors; `which` is the storage of each."""
    n = which.max(initial=-1) + 1
    first = np.full(n, made.max(initial=0))
    end = np.zeros(n, dtype=last.dtype)
    largest = np.zeros(n)
    np.minimum.at(first, which, made)
    np.maximum.at(end, which, last)
    np.maximum.at(largest, which, size)
    return first, end, largest


def _times(problem: Problem, of: np.ndarray, n: int) -> dict[str, Any]:
    """Measured seconds per type, or per device where some are computed and so depend on the device's speed."""
    graph = problem.graph
    names = problem.cluster.names
    summed = lambda seconds: np.bincount(of, seconds, minlength=n)  # noqa: E731
    if graph.time is not None and np.isnan(graph.time).any():
        return {"time": {name: summed(problem.exec_times(d)) for d, name in enumerate(names)}}
    return time_arguments(graph, lambda time: np.stack([summed(seconds) for seconds in time.T], axis=1))


def devices_of_blocks(problem: Problem, of: np.ndarray, first: np.ndarray) -> dict[int, tuple[str, ...]]:
    """Names of the devices that all members of a block may use, for blocks that may not use every device."""
    if not problem.restricted:
        return {}
    mask = allowed_for_all(problem.may_run, of)
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        name = problem.graph.names[first[empty[0]]]
        raise InfeasibleError(
            f"no device is allowed for all ops that would be merged into {name!r}; merge fewer of them"
        )
    names = np.array(problem.cluster.names, dtype=object)
    return {int(b): tuple(names[mask[b]]) for b in np.flatnonzero(~mask.all(axis=1))}


def _members(problem: Problem) -> list[np.ndarray]:
    """Ops of each colocation group."""
    return [problem.group_ops[a:b] for a, b in pairwise(problem.group_ptr)]


# -------------------------------------------------------------------- merges pair by pair that make no cycle


class Merging:
    """The graph while ops are merged pair by pair; a merged op has the number of one of its members.

    Attributes
    ----------
    after, before : list of dict
        Distinct successors and predecessors of each merged op, each with the weight of the heaviest edge there.
    place : list of int
        Position of each merged op in a topological order.
    """

    def __init__(self, graph: OpGraph, weight: np.ndarray | None = None) -> None:
        n = graph.n_ops
        self.parent = list(range(n))
        self.place = list(range(n))
        self.after: list[dict[int, float]] = [{} for _ in range(n)]
        self.before: list[dict[int, float]] = [{} for _ in range(n)]
        weights = [0.0] * graph.n_edges if weight is None else weight.tolist()
        for u, v, w in zip(graph.producer.tolist(), graph.consumer.tolist(), weights, strict=True):
            self.after[u][v] = self.before[v][u] = max(w, self.after[u].get(v, 0.0))

    def root(self, v: int) -> int:
        """Number of the merged op that holds op v."""
        return root_of(self.parent, v)

    def blocks(self) -> np.ndarray:
        """Number of each op's merged op, shape (n_ops,)."""
        return np.array([self.root(v) for v in range(len(self.parent))])

    def is_safe(self, u: int, v: int) -> bool:
        """Whether u → v has an end with no other neighbour on that side, so that no other path leads from u to v."""
        return len(self.after[u]) <= 1 or len(self.before[v]) <= 1

    def gap(self, u: int, v: int, most: float = inf) -> tuple[set[int], set[int]] | None:
        """Ops between u and v in the order that must move when v is merged into u along the edge u → v.

        Returns
        -------
        after, before : set of int
            Ops that must come after the merged op, as paths from u lead to them; and before it, as paths lead from them to
            v (empty where none must come after). None if a path other than the edge leads from u to v, or if more than
            `most` ops would have to move on a side.
        """
        place = self.place  # neighbours are mostly in its order, so that the first comparison mostly decides
        if not any(map(place[u].__lt__, map(place.__getitem__, reversed(self.before[v])))):
            return {u}, set()  # no input of v comes later, so v moves to u's place, wherever paths from u lead
        if not any(map(place[v].__gt__, map(place.__getitem__, self.after[u]))):
            return set(), set()
        later = _reached(self.after, place, u, v, 1, most)
        earlier = None if later is None else _reached(self.before, place, v, u, -1, most)
        return None if later is None or earlier is None else (later, earlier)

    def merge(self, u: int, v: int, gap: tuple[set[int], set[int]] | None = None) -> tuple[int, list[int], list[int]]:
        """Merge v into u along the edge u → v, to which there is no other path.

        Parameters
        ----------
        gap
            Result of :meth:`gap`; may be left out where the merge is safe.

        Returns
        -------
        number : int
            Number of the merged op.
        before, after : list of int
            Ops that had an edge to both, or from both, and so have one neighbour fewer now.
        """
        gap = gap or self.gap(u, v)
        assert gap is not None  # the edge is the only path from u to v
        self._make_neighbours(u, v, *gap)
        del self.after[u][v], self.before[v][u]
        keep, gone = (u, v) if self._neighbours(u) >= self._neighbours(v) else (v, u)
        self.parent[gone] = keep
        fewer_after = _hand_over(self.before, self.after, gone, keep)
        fewer_before = _hand_over(self.after, self.before, gone, keep)
        return keep, fewer_after, fewer_before

    def _neighbours(self, v: int) -> int:
        return len(self.after[v]) + len(self.before[v])

    def _make_neighbours(self, u: int, v: int, later: set[int], earlier: set[int]) -> None:
        """Give u and v one place in the order, the ops between them that they depend on before it, and the others after."""
        place = self.place
        if not later:
            place[u] = place[v]
        elif not earlier:
            place[v] = place[u]
        else:
            free = sorted(place[x] for x in (*later, *earlier, u))
            sequence = [*sorted(earlier, key=place.__getitem__), u, *sorted(later, key=place.__getitem__)]
            for x, position in zip(sequence, free, strict=True):
                place[x] = position
            place[v] = place[u]


def root_of(parent: list[int], v: int) -> int:
    """The root of v in a forest, whose ways are halved as they are gone; a root is its own parent."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


def _reached(
    neighbours: list[dict[int, float]], place: list[int], u: int, v: int, sign: int, most: float
) -> set[int] | None:
    """Ops before v in the order (`sign` -1: after v) on paths from u, without the edge u → v; None if a path leads to v."""
    last = sign * place[v]
    found = {s for s in neighbours[u] if s != v and sign * place[s] < last}
    waiting = list(found)
    while waiting:
        if len(found) > most:
            return None
        for s in neighbours[waiting.pop()]:
            if s == v:
                return None
            if s not in found and sign * place[s] < last:
                found.add(s)
                waiting.append(s)
    return found


def _hand_over(there: list[dict[int, float]], back: list[dict[int, float]], gone: int, keep: int) -> list[int]:
    """Move the neighbours of `gone` on one side (`there`) to `keep`, `back` included; return those that both had."""
    shared = []
    for x, weight in there[gone].items():
        back[x].pop(gone)
        if x in there[keep]:
            shared.append(x)
        there[keep][x] = back[x][keep] = max(weight, there[keep].get(x, 0.0))
    there[gone] = {}
    return shared
