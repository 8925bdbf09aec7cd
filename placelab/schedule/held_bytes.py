"""Memory that a schedule takes, by the rules of its problem alone: an independent check of the simulator's spans over a capacity.

It also says what took the room for which an op waited.

Nothing here is shared with the simulator, the planners or the memory curves.
"""

from __future__ import annotations

from functools import cached_property
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
        device = device[real]
        begin = begin[real]
        end = end[real]
        size = size[real]
        where = np.tile(device, 2)
        when = np.concatenate([begin, end])
        order = np.lexsort((when, where))
        where = where[order]
        when = when[order]
        change = np.concatenate([size, -size])[order]
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
        end = np.maximum(self.last_use(here, home, release), self.last_move)  # -inf where neither used nor sent
        tensor = self.rows["tensor"]
        destination = self.rows["destination"]
        arrival = self.rows["start" if dynamic else "finish"]
        made = (
            (home, self.start[u], np.maximum(end, self.finish[u]), graph.tensor_bytes)
            if dynamic
            else (home, self.finish[u], end, graph.tensor_bytes)
        )
        columns = [
            made if graph.tensor_storage is None else self.by_storage(graph.tensor_storage, *made),
            (destination, arrival, self.last_use(tensor, destination, release), graph.tensor_bytes[tensor]),
        ]
        if dynamic:
            columns.append((self.device, *always, graph.persistent))
            columns.append((self.device, self.start, self.finish, graph.temporary))
        return tuple(np.concatenate(column) for column in zip(*columns, strict=True))

    @cached_property
    def last_move(self) -> np.ndarray:
        """When the last transfer of each tensor is over [s], -inf without one; shape (n_tensors,)."""
        last = np.full(self.graph.n_tensors, -np.inf)
        np.maximum.at(last, self.rows["tensor"], self.rows["finish"])
        return last

    @cached_property
    def named(self) -> tuple[np.ndarray, ...]:
        """The columns of :meth:`held` that take room, and the op that each belongs to, of tensors their producer."""
        n = np.arange(self.graph.n_ops)
        owner = [self.graph.tensor_producer, self.graph.tensor_producer[self.rows["tensor"]], n, n]
        columns = (*self.held(), n if self.problem.memory == "reserved" else np.concatenate(owner))
        device, begin, end, size, op = (column[: len(columns[0])] for column in columns)
        real = (begin < end) & (size > 0)
        return device[real], begin[real], end[real], size[real], op[real]

    def holders(self, device: int, time: float) -> list[tuple[int, float]]:
        """The ops whose tensors, or which themselves, take memory on a device just before `time`, and their bytes.

        Those that give some back at `time` come first, then those that hold most.
        """
        where, begin, end, size, op = self.named
        rows = np.flatnonzero((where == device) & (begin < time) & (end >= time))
        ops, index = np.unique(op[rows], return_inverse=True)
        held = np.bincount(index, size[rows], minlength=len(ops))
        leaves = np.bincount(index, end[rows] == time, minlength=len(ops)) > 0
        order = np.lexsort((ops, -held, ~leaves))
        return [(int(ops[i]), float(held[i])) for i in order]

    def has_room(self, op: int, begin: float, end: float) -> bool:
        """Whether there was room for an op on its device at some time in [begin, end), in which that ran nothing."""
        if not self.problem.memory_model.timed:
            return True
        graph = self.graph
        d = int(self.device[op])
        when, level = self._levels[d]
        first = np.searchsorted(when, begin, "right") - 1
        made = slice(*graph.op_tensor_ptr[op : op + 2])
        dynamic = self.problem.memory == "dynamic"
        shared = graph.tensor_storage is not None
        need = float(graph.new_bytes[op] if shared else graph.tensor_bytes[made].sum()) + (
            float(graph.temporary[op]) if dynamic else 0.0
        )
        limit = self.cluster.memory[d] * (1 + TOLERANCE)
        for i in range(first, np.searchsorted(when, end)):
            freed = 0.0 if dynamic else self._freed(op, max(when[i], begin))
            if level[i] - freed + need <= limit:
                return True
        return False

    @cached_property
    def _levels(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each device: times, the first of them -inf, and the bytes held from each of them on."""
        where, begin, end, size, _ = self.named
        found = []
        for d in range(self.k):
            mine = where == d
            when = np.concatenate([begin[mine], end[mine]])
            order = np.argsort(when)
            when, used = _used(when[order], np.concatenate([size[mine], -size[mine]])[order])
            found.append((np.append(-np.inf, when), np.append(0.0, used)))
        return found

    def _freed(self, op: int, time: float) -> float:
        """Bytes that op would be the last to hold on its device if it started at `time` (``edges``)."""
        graph = self.graph
        d = self.device[op]
        total = 0.0
        for t in np.unique(graph.edge_tensor[graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]]).tolist():
            readers = graph.consumer[graph.tensor_ptr[t] : graph.tensor_ptr[t + 1]]
            later = (self.device[readers] == d) & (self.start[readers] > time) & (readers != op)
            leaves = self.device[graph.tensor_producer[t]] == d and self.last_move[t] > time
            total += 0.0 if later.any() or leaves else float(graph.tensor_bytes[t])
        return total

    def by_storage(
        self, first: np.ndarray, home: np.ndarray, begin: np.ndarray, end: np.ndarray, size: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The tensors that share a storage and its device as one: from the first to the last of them, with its bytes."""
        with_first = home == home[first]
        largest: dict[int, float] = {}
        for s, held in zip(first.tolist(), size.tolist(), strict=True):
            largest[s] = max(held, largest.get(s, 0.0))
        spans: dict[int, tuple[float, float]] = {}
        for t, s in enumerate(np.where(with_first, first, np.arange(len(first))).tolist()):
            a, b = spans.get(s, (np.inf, -np.inf))
            spans[s] = min(a, begin[t]), max(b, end[t])
        begins, ends, held_bytes = np.zeros((3, len(first)))  # a row for each tensor, those that join another's empty
        for t, (a, b) in spans.items():
            begins[t] = a
            ends[t] = b
            held_bytes[t] = largest.get(t, size[t])
        return home, begins, ends, held_bytes

    def last_use(self, tensor: np.ndarray, device: np.ndarray, release: np.ndarray) -> np.ndarray:
        """When the last consumer of each tensor on each device releases it [s]; -inf where it has none."""
        keys, use = np.unique(self.edge_key, return_inverse=True)
        last = np.full(len(keys) + 1, -np.inf)
        np.maximum.at(last, use, release[self.graph.consumer])
        wanted = tensor.astype(np.int64) * self.k + device
        place = np.searchsorted(keys, wanted)
        known = np.append(keys, -1)[place] == wanted
        return last[np.where(known, place, len(keys))]


def _used(when: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The instants at which bytes change, of changes by time, and the bytes in use from each of them on."""
    instant = np.flatnonzero(np.append(when[1:] != when[:-1], len(when) > 0))  # the last change of each instant
    return when[instant], np.cumsum(change)[instant]


def _over(when: np.ndarray, change: np.ndarray, capacity: float, makespan: float) -> list[tuple[float, float, float]]:
    """Maximal spans in which the running sum of `change` exceeds the capacity: (from, to, most bytes over)."""
    when, used = _used(when, change)
    over = np.concatenate([[False], used > capacity * (1 + TOLERANCE), [False]])
    first = np.flatnonzero(over[1:] & ~over[:-1])
    after = np.flatnonzero(over[:-1] & ~over[1:])
    end = lambda b: makespan if np.isinf(when[b]) else float(when[b])  # noqa: E731
    return [(float(when[a]), end(b), float(used[a:b].max() - capacity)) for a, b in zip(first, after, strict=True)]


def differing(mine: list[Span], given: list[Span], slack: float, few: np.ndarray) -> list[Span]:
    """Spans (device, from, to, bytes) of either list that have no equal in the other, up to `slack` s and `few` bytes."""

    def same(a: tuple, b: tuple) -> bool:
        late = max(abs(a[1] - b[1]), abs(a[2] - b[2]))
        return a[0] == b[0] and late <= slack and isclose(a[3], b[3], rel_tol=TOLERANCE, abs_tol=few[a[0]])

    if len(mine) == len(given) and all(map(same, mine, given)):
        return []
    lone = [a for a in mine if not any(same(a, b) for b in given)]
    return lone + [b for b in given if not any(same(a, b) for a in mine)] or mine[:1]  # one of them listed twice
