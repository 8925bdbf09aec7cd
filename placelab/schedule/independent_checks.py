"""Bytes held and bytes carried, by the rules of a problem alone: checks that share nothing with the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import isclose

import numpy as np

from placelab.problem.cluster import Cluster
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


# ----------------------------------------- bytes that transfers get when they share links max-min fairly, from their times alone

ENTRIES = 1 << 16  # of a matrix of spans and pairs of devices: what a processor keeps near
ROUNDING = 1e-12


def fair_bytes(cluster: Cluster, pair: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Bytes that each transfer gets from the end of its latency, `begin`, to its end, in seconds.

    `pair` is ``source * n_devices + destination``; all arrays and the result have shape (n_transfers,). O(n log n) for n
    transfers whose pairs use no shared link; those of others take O(n · pairs · links).
    """
    k = cluster.n_devices
    got = np.zeros(len(pair))
    on = np.zeros((k * k, len(cluster.links)))
    for number, link in enumerate(cluster.links):
        on[[i * k + j for i, j in link.pairs], number] = 1.0
    shares = (on.sum(axis=1) > 0)[pair]
    got[~shares] = _alone(cluster.bandwidth.reshape(-1), pair[~shares], begin[~shares], end[~shares])
    if shares.any():
        used, of = np.unique(pair[shares], return_inverse=True)
        limits = cluster.bandwidth.reshape(-1)[used], np.array([link.bandwidth for link in cluster.links]), on[used]
        got[shares] = _together(*limits, of, begin[shares], end[shares])
    return got


def _alone(bandwidth: np.ndarray, pair: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Where each pair's transfers share nothing with other pairs: pair after pair in one sequence of spans."""
    n = len(pair)
    both = np.tile(pair, 2)
    time = np.concatenate([begin, end])
    order = np.lexsort((time, both))
    flows = np.cumsum(np.where(order < n, 1, -1))
    share = np.divide(1.0, flows, out=np.zeros(2 * n), where=flows > 0)
    total = np.zeros(2 * n)  # seconds of a whole link: sums of bytes would drown those of slow links
    total[order[1:]] = np.cumsum(share[:-1] * np.diff(time[order]))
    return bandwidth[pair] * (total[n:] - total[:n])


def _together(
    bandwidth: np.ndarray, capacity: np.ndarray, on: np.ndarray, pair: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Where pairs share links: `on` says which, shape (n_pairs, n_links)."""
    n = len(pair)
    both = np.tile(pair, 2)
    time = np.concatenate([begin, end])
    order = np.argsort(time, kind="stable")
    sign = np.where(order < n, 1.0, -1.0)
    length = np.append(np.diff(time[order]), 0.0)
    got = np.zeros(2 * n)
    so_far = np.zeros((len(bandwidth), 1))
    flows = np.zeros((len(bandwidth), 1))
    for a, b in _parts(2 * n, len(bandwidth)):
        change = np.zeros((len(bandwidth), b - a))
        here = (both[order[a:b]], np.arange(b - a))
        change[here] = sign[a:b]
        number = flows + np.cumsum(change, axis=1)
        span = length[a:b] > 0
        moved = np.zeros((len(bandwidth), b - a + 1))
        moved[:, :1] = so_far
        moved[:, 1:][:, span] = _fair_rates(number[:, span], bandwidth, capacity, on) * length[a:b][span]
        total = np.cumsum(moved, axis=1)
        got[order[a:b]] = total[here]
        flows = number[:, -1:]
        so_far = total[:, -1:]
    return got[n:] - got[:n]


def _parts(n: int, width: int) -> Iterator[tuple[int, int]]:
    rows = max(ENTRIES // max(width, 1), 1)
    return ((a, min(a + rows, n)) for a in range(0, n, rows))


def _fair_rates(flows: np.ndarray, bandwidth: np.ndarray, capacity: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Max-min fair rate of a flow of each pair, for each column of numbers of flows, shape (pairs, spans).

    A link's share is what it has left, over the flows that have no rate yet. A pair has its rate where its own bandwidth is its
    least share; and where it uses a link that is the least share of all its pairs, which can only gain elsewhere.
    """
    rate = np.zeros(flows.shape)
    now = np.zeros(flows.shape)
    spans = np.arange(flows.shape[1])
    links = [np.flatnonzero(on[:, number]) for number in range(len(capacity))]
    left = np.repeat(capacity[:, None], len(spans), axis=1)
    waits = flows > 0
    own = np.divide(bandwidth[:, None], flows, out=np.full(flows.shape, np.inf), where=waits)
    while len(spans):
        users = on.T @ (flows * waits)
        share = np.divide(left, users, out=np.full(users.shape, np.inf), where=users > 0)
        least = own.copy()
        for pairs, one in zip(links, share, strict=True):
            least[pairs] = np.minimum(least[pairs], one)
        settled = waits & (least >= own)
        known = np.where(waits, least, np.inf)
        for pairs, one in zip(links, share, strict=True):
            full = known[pairs].min(axis=0, initial=np.inf) >= one * (1 - ROUNDING)
            settled[pairs] |= waits[pairs] & full
        new = np.where(settled, least, 0.0)
        now += new
        left = np.maximum(left - on.T @ (new * flows), 0.0)
        waits &= ~settled
        more = waits.any(axis=0)
        if 2 * np.count_nonzero(more) < len(spans):  # spans that are done cost less than to leave them out
            rate[:, spans] = now
            spans = spans[more]
            left = left[:, more]
            flows = flows[:, more]
            own = own[:, more]
            waits = waits[:, more]
            now = now[:, more]
    return rate
