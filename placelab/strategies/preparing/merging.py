"""Merge ops of a graph pair by pair without making a cycle."""

from __future__ import annotations

from math import inf

import numpy as np

from placelab.problem.graph import OpGraph


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
