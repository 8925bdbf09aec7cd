"""Which ops can be merged without a cycle? A graph whose ops grow together, one pair at a time."""

from __future__ import annotations

import numpy as np

from placelab.graph import OpGraph


class Merging:
    """The graph while ops are merged pair by pair; merged ops bear the number of one of their members.

    Attributes
    ----------
    after, before : list of dict
        Distinct successors and predecessors of each merged op, each with the weight of the heaviest edge there.
    place : list of int
        Position of each merged op in a topological order.
    """

    def __init__(self, graph: OpGraph, weight: np.ndarray | None = None) -> None:
        n = graph.n_ops
        self.parent, self.place = list(range(n)), list(range(n))
        self.after: list[dict[int, float]] = [{} for _ in range(n)]
        self.before: list[dict[int, float]] = [{} for _ in range(n)]
        weights = [0.0] * graph.n_edges if weight is None else weight.tolist()
        for u, v, w in zip(graph.producer.tolist(), graph.consumer.tolist(), weights, strict=True):
            self.after[u][v] = self.before[v][u] = max(w, self.after[u].get(v, 0.0))

    def root(self, v: int) -> int:
        """Number of the merged op that holds op v."""
        parent = self.parent
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    def blocks(self) -> np.ndarray:
        """Number of each op's merged op, shape (n_ops,)."""
        return np.array([self.root(v) for v in range(len(self.parent))])

    def is_safe(self, u: int, v: int) -> bool:
        """Whether u → v has an end with no other neighbour on that side, so that no other path leads from u to v."""
        return len(self.after[u]) <= 1 or len(self.before[v]) <= 1

    def is_only_path(self, u: int, v: int) -> bool:
        """Whether no path but the edge u → v leads from u to v; looks at ops between them in topological order only."""
        return self.is_safe(u, v) or v not in self._reached(u, v)

    def _reached(self, u: int, v: int) -> set[int]:
        """Ops that paths from u lead to, but the edge u → v itself: up to v's place in the order; with v, if one leads there."""
        place, last = self.place, self.place[v]
        found = {s for s in self.after[u] if s != v and place[s] < last}
        waiting = list(found)
        while waiting:
            for s in self.after[waiting.pop()]:
                if s == v:
                    return {v}
                if place[s] < last and s not in found:
                    found.add(s)
                    waiting.append(s)
        return found

    def merge(self, u: int, v: int) -> tuple[int, list[int], list[int]]:
        """Merge v into u along the edge u → v, to which there is no other path.

        Returns
        -------
        number : int
            Of the merged op.
        before, after : list of int
            Ops that had an edge to both, or from both, and so have one neighbour fewer now.
        """
        self._make_neighbours(u, v)
        del self.after[u][v], self.before[v][u]
        keep, gone = (
            (u, v) if len(self.after[u]) + len(self.before[u]) >= len(self.after[v]) + len(self.before[v]) else (v, u)
        )
        self.parent[gone] = keep
        fewer_after = _hand_over(self.before, self.after, gone, keep)
        fewer_before = _hand_over(self.after, self.before, gone, keep)
        return keep, fewer_after, fewer_before

    def _make_neighbours(self, u: int, v: int) -> None:
        """Reorder the ops from u to v so that both may stand at one place: u's ancestors first, then v's, then the others."""
        place = self.place
        if len(self.after[u]) <= 1:
            place[u] = place[v]
        elif len(self.before[v]) <= 1:
            place[v] = place[u]
        else:
            later, earlier = self._reached(u, v), self._leading(u, v)
            free = sorted(place[x] for x in (*later, *earlier, u))
            for x, position in zip(sorted(earlier, key=place.__getitem__), free, strict=False):
                place[x] = position
            for x, position in zip(sorted(later, key=place.__getitem__), free[len(earlier) + 1 :], strict=True):
                place[x] = position
            place[u] = place[v] = free[len(earlier)]

    def _leading(self, u: int, v: int) -> set[int]:
        """Ops after u's place in the order from which paths lead to v."""
        place, first = self.place, self.place[u]
        found = {p for p in self.before[v] if p != u and place[p] > first}
        waiting = list(found)
        while waiting:
            for p in self.before[waiting.pop()]:
                if place[p] > first and p not in found:
                    found.add(p)
                    waiting.append(p)
        return found


def _hand_over(there: list[dict[int, float]], back: list[dict[int, float]], gone: int, keep: int) -> list[int]:
    """Give `keep` the neighbours of `gone` on one side (`there`), and tell them (`back`). Returns those they had both."""
    shared = []
    for x, weight in there[gone].items():
        back[x].pop(gone)
        if x in there[keep]:
            shared.append(x)
        there[keep][x] = back[x][keep] = max(weight, there[keep].get(x, 0.0))
    there[gone] = {}
    return shared
