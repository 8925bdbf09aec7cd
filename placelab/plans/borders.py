r"""Borders between devices that run consecutive blocks: the best ones, exactly, by dynamic programming.

.. math:: best(v, i) = \min_{j, w} cost(v, i, j) \oplus best(w, j)

where device v runs the blocks from i up to j and w comes after it; ⊕ is the maximum or the sum. Devices come in a given order
(:class:`Given`) or in any (:class:`Free`); ties go to the lexicographically least numbers of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from placelab.base.errors import UnsupportedError

TIE = 1e-12  # relative; values closer than this are equal
MOST_STATES = 1_000_000
MOST_WORK = 2_000_000_000  # ranges looked at
CELLS = 1 << 21  # of a table of ranges, in memory at once
OBJECTIVES = ("stage", "memory", "sum")


class Costs(NamedTuple):
    """What a range of blocks costs.

    Attributes
    ----------
    seconds : ndarray, shape (n_types, n_blocks)
        Of each block on each type of device.
    links : ndarray, shape (n_types, n_types)
        Seconds of a border between two types.
    capacity, limit : ndarray, shape (n_types,)
        Bytes of a device, and those of them that may be used.
    ranges : callable
        First blocks as a slice, stage, number of stages → bytes of the ranges, shape (first blocks, n_blocks + 1).
    staged : bool
        Whether bytes depend on the stage.
    """

    seconds: np.ndarray
    links: np.ndarray
    capacity: np.ndarray
    limit: np.ndarray
    ranges: Callable[[slice, int, int], np.ndarray]
    staged: bool = False


class Chain(NamedTuple):
    """An answer: its value, device types in their order, and the borders, from 0 to the number of blocks."""

    value: float
    nodes: tuple[Any, ...]
    borders: tuple[int, ...]


class Route(Protocol):
    """In which order devices may come. A node is a device at its place."""

    @property
    def n_devices(self) -> int:
        """All devices."""

    @property
    def empty(self) -> bool:
        """Whether devices may stay idle."""

    def after(self, node: Any) -> list[Any]:
        """Nodes that may come next; of None, those that may be first."""

    def place(self, node: Any) -> int:
        """Devices before it, idle ones included."""

    def type(self, node: Any) -> int:
        """Its type."""

    def rank(self, node: Any) -> int:
        """Of two nodes with one border before them, the lower rank leaves more devices before it idle."""


@dataclass(frozen=True)
class Given:
    """Devices in their order; each is a type of its own."""

    n_devices: int
    empty: bool = False

    def after(self, node: int | None) -> list[int]:
        """The next device; with `empty` any later one."""
        first = 0 if node is None else node + 1
        return list(range(first, self.n_devices if self.empty else min(first + 1, self.n_devices)))

    def place(self, node: int) -> int:
        """Its number."""
        return node

    def type(self, node: int) -> int:
        """Its number."""
        return node

    def rank(self, node: int) -> int:
        """Later ones first."""
        return -node


@dataclass(frozen=True)
class Free:
    """Devices in any order, `counts` of each type; a node is how many of each have come, and the type of the last."""

    counts: tuple[int, ...]
    empty: bool = False

    @property
    def n_devices(self) -> int:
        """All devices."""
        return sum(self.counts)

    def states(self, blocks: int) -> int:
        """At most so many nodes times borders there are."""
        return prod(n + 1 for n in self.counts) * len(self.counts) * (blocks + 1)

    def after(self, node: tuple[tuple[int, ...], int] | None) -> list[tuple[tuple[int, ...], int]]:
        """One device of each type of which some are left."""
        used = (0,) * len(self.counts) if node is None else node[0]
        left = [c for c, n in enumerate(self.counts) if used[c] < n]
        return [((*used[:c], used[c] + 1, *used[c + 1 :]), c) for c in left]

    def place(self, node: tuple[tuple[int, ...], int]) -> int:
        """Devices before it."""
        return sum(node[0]) - 1

    def type(self, node: tuple[tuple[int, ...], int]) -> int:
        """Its type."""
        return node[1]

    def rank(self, node: tuple[tuple[int, ...], int]) -> int:
        """All alike: no device before it is idle."""
        return 0


@dataclass
class Search:
    """The best borders of one question.

    Attributes
    ----------
    costs : Costs
        Seconds and bytes of ranges.
    route : Route
        Which devices may follow each other.
    objective : str
        ``"stage"``, ``"memory"`` or ``"sum"``.
    fixed : mapping
        Place of a device → where the border after it may be, in blocks.
    """

    costs: Costs
    route: Route
    objective: str
    fixed: Mapping[int, Sequence[int]]

    def __post_init__(self) -> None:
        self.n = self.costs.seconds.shape[1]
        self.add = np.add if self.objective == "sum" else np.maximum
        self.allowed: dict[tuple[int, int], np.ndarray] = {}

    def best(self) -> Chain | None:
        """The best chain, None where no range fits."""
        if not (self.route.empty and self.costs.staged):
            return self._best(self.route.n_devices)
        found = [self._best(stages) for stages in range(1, self.route.n_devices + 1)]
        chains = [chain for chain in found if chain is not None]
        if not chains:
            return None
        least = min(chain.value for chain in chains)
        return min(
            (c for c in chains if c.value <= _bound(least)), key=lambda c: (self._per_device(c), self._types(c.nodes))
        )

    def _per_device(self, chain: Chain) -> list[int]:
        counts = [0] * self.route.n_devices
        for node, first, last in zip(chain.nodes, chain.borders, chain.borders[1:], strict=False):
            counts[self.route.place(node)] = last - first
        return counts

    def _types(self, nodes: Sequence[Any]) -> list[int]:
        return [self.route.type(node) for node in nodes]

    # ---------------------------------------------------------------- values

    def _best(self, stages: int) -> Chain | None:
        nodes = self._nodes(stages)
        self.to_go: dict[tuple[Any, int], np.ndarray] = {}
        self.stages = stages
        for node, stage in reversed(nodes):
            parts = [self._value(node, stage, first) for first in self._slices()]
            self.to_go[node, stage] = np.concatenate(parts)
        starts = [(node, 0) for node in self.route.after(None) if self._may_border(-1, node)[0]]
        value = min((self.to_go[start][0] for start in starts if start in self.to_go), default=inf)
        return None if value == inf else self._walk(starts, float(value))

    def _nodes(self, stages: int) -> list[tuple[Any, int]]:
        """Nodes with their stages, none before one that leads to it."""
        level = self.route.after(None)
        found = dict[tuple[Any, int], None]()
        for stage in range(stages):
            found |= dict.fromkeys((node, self._stage(stage)) for node in level)
            level = list(dict.fromkeys(after for node in level for after in self.route.after(node)))
        if len(found) * self.n * self.n > MOST_WORK:
            raise UnsupportedError(
                f"{self.n:,} blocks on {self.route.n_devices:,} devices have too many ranges to look at; "
                "give fewer devices, or fix some borders by splitting the cluster"
            )
        return sorted(found, key=lambda state: (state[1], self.route.place(state[0])))

    def _stage(self, stage: int) -> int:
        return stage if self.costs.staged else 0

    def _slices(self) -> Iterator[slice]:
        rows = max(CELLS // (self.n + 1), 1)
        for first in range(0, self.n + 1, rows):
            yield slice(first, min(first + rows, self.n + 1))

    def _cost(self, node: Any, stage: int, first: slice) -> np.ndarray:
        """Cost of each range on a node without its border, inf where it does not fit; shape (first blocks, n_blocks + 1)."""
        kind = self.route.type(node)
        costs = self.costs
        size = costs.ranges(first, stage, self.stages)
        if self.objective == "memory":
            cost = size / costs.capacity[kind]
        else:
            summed = np.concatenate([[0.0], np.cumsum(costs.seconds[kind])])
            cost = summed[None, :] - summed[first, None]
        ends = np.arange(self.n + 1)
        return np.where((ends[None, :] > ends[first, None]) & (size <= costs.limit[kind]), cost, inf)

    def _value(self, node: Any, stage: int, first: slice) -> np.ndarray:
        cost = self._cost(node, stage, first)
        least = np.full(len(cost), inf)
        for link, rest in self._next(node, stage):
            least = np.minimum(least, self.add(cost + link, rest[None, :]).min(axis=1))
        return least

    def _next(self, node: Any, stage: int) -> Iterator[tuple[float, np.ndarray]]:
        """Seconds of a border after a node, and the best value from each border on; 0 and 0 at the end of all blocks."""
        rest: dict[float, np.ndarray] = {}
        for after, link in self._followers(node, stage):
            to_go = np.where(
                self._may_border(self.route.place(node), after), self.to_go[after, self._stage(stage + 1)], inf
            )
            rest[link] = np.minimum(rest[link], to_go) if link in rest else to_go
        yield from rest.items()
        if self._may_end(node, stage):
            yield 0.0, np.where(np.arange(self.n + 1) == self.n, 0.0, inf)

    def _followers(self, node: Any, stage: int) -> Iterator[tuple[Any, float]]:
        for after in self.route.after(node):
            if (after, self._stage(stage + 1)) in self.to_go:
                yield after, self._link(node, after)

    def _link(self, node: Any, after: Any) -> float:
        if self.objective == "memory":
            return 0.0
        return float(self.costs.links[self.route.type(node), self.route.type(after)])

    def _may_border(self, place: int, after: Any) -> np.ndarray:
        """Where the border between the device at a place and a later one may be, shape (n_blocks + 1,)."""
        return self._may(place, self.route.place(after))

    def _may_end(self, node: Any, stage: int) -> bool:
        place = self.route.place(node)
        last = self.route.n_devices - 1
        if self.costs.staged and self.route.empty:
            return stage == self.stages - 1 and bool(self._may(place, last)[self.n])
        return (self.route.empty or place == last) and bool(self._may(place, last)[self.n])

    def _may(self, place: int, until: int) -> np.ndarray:
        """Where all borders from a place up to another, with idle devices between them, may be."""
        key = (place, until)
        if key not in self.allowed:
            may = np.ones(self.n + 1, bool)
            for border in range(max(place, 0), until):
                if border in self.fixed:
                    may &= np.isin(np.arange(self.n + 1), self.fixed[border])
            self.allowed[key] = may
        return self.allowed[key]

    # ---------------------------------------------------------------- borders

    def _walk(self, starts: list[tuple[Any, int]], value: float) -> Chain:
        """The chain with the least borders among those that are as good as the best; of equal ones, the first types."""
        bound = _bound(value)
        least = [(self.route.rank(node), 0.0, (node,)) for node, _ in starts if self.to_go[node, 0][0] <= bound]
        rank = min(r for r, *_ in least)
        beam = {nodes[-1]: (prefix, nodes) for r, prefix, nodes in least if r == rank}
        borders = [0]
        for stage in range(self.stages):
            border, beam = self._step(beam, self._stage(stage), borders[-1], bound)
            borders.append(border)
            if border == self.n:
                break
        _, nodes = min(beam.values(), key=lambda found: self._types(found[1]))
        return Chain(value, nodes, tuple(borders))

    def _step(self, beam: dict, stage: int, first: int, bound: float) -> tuple[int, dict]:
        """The next border, and the nodes that may follow it, each with the value up to there and the nodes before."""
        found: list[tuple[int, int, float, tuple]] = []
        for node, (prefix, nodes) in beam.items():
            cost = self._cost(node, stage, slice(first, first + 1))[0]
            for after, link in self._followers(node, stage):
                upto = self.add(prefix, cost + link)
                whole = self.add(upto, self.to_go[after, self._stage(stage + 1)])
                good = np.flatnonzero((whole <= bound) & self._may_border(self.route.place(node), after))
                if len(good):
                    found.append((int(good[0]), self.route.rank(after), float(upto[good[0]]), (*nodes, after)))
            if self._may_end(node, stage) and self.add(prefix, cost[self.n]) <= bound:
                found.append((self.n, 0, float(self.add(prefix, cost[self.n])), nodes))
        border, rank = min(entry[:2] for entry in found)
        beam = {}
        for where, r, upto, nodes in sorted(found, key=lambda entry: (entry[2], self._types(entry[3]))):
            if (where, r) == (border, rank):
                beam.setdefault(nodes[-1], (upto, nodes))
        return border, beam


def _bound(value: float) -> float:
    return value + TIE * abs(value)
