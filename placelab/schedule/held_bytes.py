"""Memory that a schedule takes, by the rules of its problem alone: an independent check of the simulator's spans over a capacity.

Nothing here is shared with the simulator, the planners or the memory curves.
"""

from __future__ import annotations

from math import isclose

import numpy as np

from placelab.schedule.schedule import Schedule

TOLERANCE = 1e-9  # of the latest time for times, of the capacity for bytes

Span = tuple[int, float, float, float]  # device, from, to, most bytes over its capacity


class HeldBytes:
    """Bytes that a schedule holds in memory over time, and the spans over a capacity."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.problem = schedule.problem
        self.graph = self.problem.graph
        self.cluster = self.problem.cluster
        self.device = np.asarray(schedule.device)
        self.rows = np.asarray(schedule.transfers)
        self.start = np.asarray(schedule.start)
        self.finish = np.asarray(schedule.finish)
        self.k = self.cluster.n_devices
        self.edge_key = self.graph.edge_tensor.astype(np.int64) * self.k + self.device[self.graph.consumer]

    def spans_over(self) -> list[Span]:
        """(device, from, to, most bytes short) of each maximal span over a capacity."""
        device, begin, end, size = self.held()
        real = (begin < end) & (size > 0)
        device, begin, end, size = device[real], begin[real], end[real], size[real]
        where = np.tile(device, 2)
        when = np.concatenate([begin, end])
        order = np.lexsort((when, where))
        where, when, change = where[order], when[order], np.concatenate([size, -size])[order]
        found = []
        for d in range(self.k):
            here = slice(*np.searchsorted(where, [d, d + 1]))
            over = _over(when[here], change[here], self.cluster.memory[d], self.schedule.makespan)
            found += [(d, *span) for span in over]
        return found

    def held(self) -> tuple[np.ndarray, ...]:
        """Everything that takes memory, as columns: device, from, to (not included), bytes."""
        n = self.graph.n_ops
        graph = self.graph
        always = (np.zeros(n), np.full(n, np.inf))
        if self.problem.memory == "reserved":
            return self.device, *always, graph.memory
        dynamic = self.problem.memory == "dynamic"
        release = self.finish if dynamic else self.start  # when a consumer releases its inputs
        u = graph.tensor_producer
        here = np.arange(graph.n_tensors)
        home = self.device[u]
        last_move = np.full(graph.n_tensors, -np.inf)
        np.maximum.at(last_move, self.rows["tensor"], self.rows["finish"])
        end = np.maximum(self.last_use(here, home, release), last_move)  # -inf where neither used nor sent
        tensor = self.rows["tensor"]
        destination = self.rows["destination"]
        arrival = self.rows["start" if dynamic else "finish"]
        columns = [
            (home, self.start[u], np.maximum(end, self.finish[u]), graph.tensor_bytes)
            if dynamic
            else (home, self.finish[u], end, graph.tensor_bytes),
            (destination, arrival, self.last_use(tensor, destination, release), graph.tensor_bytes[tensor]),
        ]
        if dynamic:
            columns.append((self.device, *always, graph.persistent))
            columns.append((self.device, self.start, self.finish, graph.temporary))
        return tuple(np.concatenate(column) for column in zip(*columns, strict=True))

    def last_use(self, tensor: np.ndarray, device: np.ndarray, release: np.ndarray) -> np.ndarray:
        """When the last consumer of each tensor on each device releases it [s]; -inf where it has none."""
        keys, use = np.unique(self.edge_key, return_inverse=True)
        last = np.full(len(keys) + 1, -np.inf)
        np.maximum.at(last, use, release[self.graph.consumer])
        wanted = tensor.astype(np.int64) * self.k + device
        place = np.searchsorted(keys, wanted)
        known = np.append(keys, -1)[place] == wanted
        return last[np.where(known, place, len(keys))]


def _over(when: np.ndarray, change: np.ndarray, capacity: float, makespan: float) -> list[tuple[float, float, float]]:
    """Maximal spans in which the running sum of `change` exceeds the capacity: (from, to, most bytes over)."""
    instant = np.flatnonzero(np.append(when[1:] != when[:-1], len(when) > 0))  # the last change of each instant
    used = np.cumsum(change)[instant]
    over = np.concatenate([[False], used > capacity * (1 + TOLERANCE), [False]])
    first = np.flatnonzero(over[1:] & ~over[:-1])
    after = np.flatnonzero(over[:-1] & ~over[1:])
    end = lambda b: makespan if np.isinf(when[instant[b]]) else float(when[instant[b]])  # noqa: E731
    return [
        (float(when[instant[a]]), end(b), float(used[a:b].max() - capacity)) for a, b in zip(first, after, strict=True)
    ]


def differing(mine: list[Span], given: list[Span], slack: float, few: np.ndarray) -> list[Span]:
    """Spans (device, from, to, bytes) of either list that have no equal in the other, up to `slack` s and `few` bytes."""

    def same(a: tuple, b: tuple) -> bool:
        late = max(abs(a[1] - b[1]), abs(a[2] - b[2]))
        return a[0] == b[0] and late <= slack and isclose(a[3], b[3], rel_tol=TOLERANCE, abs_tol=few[a[0]])

    if len(mine) == len(given) and all(map(same, mine, given)):
        return []
    lone = [a for a in mine if not any(same(a, b) for b in given)]
    return lone + [b for b in given if not any(same(a, b) for a in mine)] or mine[:1]  # one of them listed twice
