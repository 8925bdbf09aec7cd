"""Merge small ops until transfers are short relative to ops."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Annotated

import numpy as np

from placelab.planning.capacity import needs, units
from placelab.planning.input_bound import least_exec
from placelab.planning.lower_bounds import sct_ratio
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, transform
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import Merging, contract, root_of

SEEN = 30  # ops that a merge may move in the topological order


@transform(source="Srivastava (2018) ch. 10")
def coarsen(problem: Problem, *, rho: Annotated[float, Limits(0)] = 1.0) -> tuple[Problem, Expand]:
    """Merge small ops with a neighbour until ρ, the longest transfer over the shortest op, is at most `rho`.

    Parameters
    ----------
    rho
        Target; SCT's guarantees need 1.

    Returns
    -------
    small, expand
        The problem of the merged ops, and the way from its placements to those of `problem`. Where device constraints, groups
        or memory keep small ops apart, ρ stays above the target, and a note of each placement gives the ρ that was reached.

    Notes
    -----
    First the pairs that exchange a tensor for longer than `rho` times the shorter op of the two, worst first (ratio, then
    transfer, then op numbers). Then the shortest op and the neighbour that it exchanges the longest transfer with, while ρ of
    the whole graph (:func:`placelab.planning.lower_bounds.sct_ratio`: least times on allowed devices, slowest link) is above
    the target. An op without neighbours is merged with another short one. Two ops are merged only under two conditions. No
    other path leads from one to the other, and showing so moves at most ``SEEN`` ops in the topological order. And some device
    is allowed for both and has room for them, their colocation groups included (persistent bytes, and temporary and output
    bytes of both). The thesis proposes merging in one sentence; the order is ours.

    O(n_edges log n_edges) for sparse graphs.
    """
    growth = _Growth(problem)
    growth.merge_pairs(rho)
    growth.merge_shortest(rho)
    small, expand = contract(problem, growth.merging.blocks(), "coarsen")
    reached = sct_ratio(small)
    if reached <= rho * (1 + TOLERANCE):
        return small, expand
    note = f"coarsen: ρ is {reached:.3g}, not {rho:g}: what ops may not share keeps small ones apart"

    def expand_with_note(placement: Placement) -> Placement:
        placement = expand(placement)
        # After how many ops were left.
        return replace(placement, notes=(*placement.notes[:1], note, *placement.notes[1:]))

    return small, expand_with_note


class _Growth:
    """The ops while they are merged: times, memory and transfers of the merged ops so far."""

    def __init__(self, problem: Problem) -> None:
        graph = problem.graph
        self.transfer = _longest_transfers(problem)
        self.merging = Merging(graph, self.transfer)
        self.edges = graph.edges.tolist()
        self.by_length = np.argsort(-self.transfer, kind="stable").tolist()
        self.table = problem.cost_table.copy()
        self.column = problem.column
        self.divisor = problem.divisor
        self.least = least_exec(problem).tolist()
        self._demand(problem)

    def _demand(self, problem: Problem) -> None:
        """Memory that the ops of each unit need together; a unit is keyed by the number of one of its ops."""
        held, peak = needs(problem)
        group = units(problem)
        self.unit = group.first[group.of].tolist()
        self.held = dict(zip(group.first.tolist(), group.total(held).tolist(), strict=True))
        self.peak = dict(zip(group.first.tolist(), group.largest(peak).tolist(), strict=True))
        self.may_run = problem.may_run.copy()
        self.unlimited = problem.memory == "none" and not problem.restricted
        self.limit = problem.capacity * (1 + TOLERANCE)

    def unit_of(self, v: int) -> int:
        """The unit of op v, as the number of one of its ops."""
        return root_of(self.unit, v)

    def may_share(self, u: int, v: int) -> bool:
        """Whether some device is allowed for both and has room for them and their groups."""
        a = self.unit_of(u)
        b = self.unit_of(v)
        if self.unlimited or a == b:
            return True
        needed = self.held[a] + self.held[b] + self.peak[a] + self.peak[b]
        return bool((self.may_run[a] & self.may_run[b] & (needed <= self.limit)).any())

    def merge(self, u: int, v: int) -> int | None:
        """Merge v into u along the edge u → v and return the number of the merged op; None where they must stay apart."""
        gap = self.merging.gap(u, v, SEEN) if self.may_share(u, v) else None
        if gap is None:
            return None
        a = self.unit_of(u)
        b = self.unit_of(v)
        w = self.merging.merge(u, v, gap)[0]
        if self.unlimited and len(self.table[0]) == 1:
            self.least[w] = self.least[u] + self.least[v]
            return w
        if a != b:
            self.unit[b] = a
            self.held[a] += self.held[b]
            self.peak[a] += self.peak[b]
            self.may_run[a] &= self.may_run[b]
        self.table[w] = self.table[u] + self.table[v]
        time = self.table[w][self.column] / self.divisor
        self.least[w] = float(time[self.may_run[a]].min())
        return w

    def ratio(self, u: int, v: int) -> float:
        """Longest transfer from u to v over the shorter of the two; 0 where that takes no time."""
        moved = self.merging.after[u][v]
        shorter = min(self.least[u], self.least[v])
        return 0.0 if moved == 0 else moved / shorter if shorter > 0 else np.inf

    def merge_pairs(self, rho: float) -> None:
        """Merge the pairs whose ratio is above the target, the largest first."""
        waiting = [self._entry(u, v) for u, v in self.edges]
        heapify(waiting)
        while waiting and -waiting[0][0] > rho:
            entry = heappop(waiting)
            u = self.merging.root(entry[2])
            v = self.merging.root(entry[3])
            if u == v:
                continue
            now = self._entry(u, v)
            if now[:2] > entry[:2]:  # an end has grown
                heappush(waiting, now)
            else:
                self.merge(u, v)

    def _apart(self, u: int, v: int) -> bool:
        return self.merging.root(u) != self.merging.root(v)

    def _entry(self, u: int, v: int) -> tuple[float, float, int, int]:
        u = self.merging.root(u)
        v = self.merging.root(v)
        return -self.ratio(u, v), -self.merging.after[u][v], u, v

    def merge_shortest(self, rho: float) -> None:
        """Merge the shortest op with a neighbour while ρ is above the target."""
        waiting = [(time, v) for v, time in enumerate(self.least) if self.merging.root(v) == v]
        heapify(waiting)
        longest = iter(self.by_length)
        edge = next(longest, None)
        while len(waiting) > 1:
            while edge is not None and not self._apart(*self.edges[edge]):
                edge = next(longest, None)
            if edge is None or self.transfer[edge] <= rho * waiting[0][0]:
                return
            time, v = heappop(waiting)
            if self.merging.root(v) == v and self.least[v] == time:
                made = (self.merge(u, s) for u, s in self._edges_of(v) or self._to_stranger(v, waiting))
                w = next((w for w in made if w is not None), None)
                if w is not None:
                    heappush(waiting, (self.least[w], w))

    def _edges_of(self, v: int) -> list[tuple[int, int]]:
        """Edges of v, the longest transfer first, ties by place in the topological order."""
        after = self.merging.after
        before = self.merging.before
        place = self.merging.place
        around = [(-moved, place[s], v, s) for s, moved in after[v].items()]
        around += [(-moved, place[p], p, v) for p, moved in before[v].items()]
        return [(u, s) for _, _, u, s in sorted(around)]

    def _to_stranger(self, v: int, waiting: list[tuple[float, int]]) -> list[tuple[int, int]]:
        """For an op without neighbours: a new edge to one of the shortest ops that may share its device."""
        for some in (waiting[:50], waiting):  # a heap begins with short ones
            for _, other in sorted(some):
                if other != v and self.merging.root(other) == other and self.may_share(v, other):
                    u, s = sorted((v, other), key=self.merging.place.__getitem__)
                    self.merging.after[u][s] = self.merging.before[s][u] = 0.0
                    return [(u, s)]
        return []


def _longest_transfers(problem: Problem) -> np.ndarray:
    """Seconds that each edge's tensor takes over the slowest link, shape (n_edges,)."""
    cluster = problem.cluster
    apart = ~np.eye(cluster.n_devices, dtype=bool)
    links = np.unique(np.stack([cluster.latency[apart], cluster.bandwidth[apart]], axis=1), axis=0)
    longest = np.zeros(problem.graph.n_edges)
    for latency, bandwidth in links:
        np.maximum(longest, latency + problem.graph.edge_bytes / bandwidth, out=longest)
    return longest
