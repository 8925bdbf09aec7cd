"""Memory over time of a plan that is still growing, in each memory model: when a device has room for one more op.

What a finished schedule holds is in :mod:`placelab.schedule.schedule`. Here a tensor whose consumers are not all placed yet stays
on its producer's device for ever; when the last one is placed, the bytes after its true end are given back. A tensor that joins
the storage of one that is held on its device takes no bytes; the storage is given back when all consumers of all its tensors are
placed, those on other devices, too, so that a plan never counts less than a simulation holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from math import inf, nextafter

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.plan.memory_over_time import SIZE
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import TOLERANCE

Span = tuple[float, float, float]  # from [s], to [s], bytes


class StepFunction:
    """A right-continuous step function of time >= 0, 0 at first."""

    def __init__(self) -> None:
        self.times = [0.0]
        self.level = [0.0]

    def add(self, begin: float, end: float, size: float) -> None:
        """Add `size` on [begin, end). O(steps after `begin`)."""
        i = self._cut(begin)
        j = len(self.times) if end == inf else self._cut(end)
        self.level[i:j] = [value + size for value in self.level[i:j]]

    def _cut(self, time: float) -> int:
        i = bisect_left(self.times, time)
        if i == len(self.times) or self.times[i] != time:
            self.times.insert(i, time)
            self.level.insert(i, self.level[i - 1])
        return i

    def peak(self, begin: float = 0.0, end: float = inf) -> float:
        """Largest value on [begin, end)."""
        return max(self.level[bisect_right(self.times, begin) - 1 : bisect_left(self.times, end)])

    def end_of_last_above(self, end: float, size: float, bound: float) -> float:
        """End of the last step before `end` whose level plus `size` is above `bound`; there must be one."""
        i = bisect_left(self.times, end) - 1
        while self.level[i] + size <= bound:
            i -= 1
        return self.times[i + 1] if i + 1 < len(self.times) else inf


class MemoryPlan:
    """Bytes in use on every device over time, for the ops placed so far.

    Attributes
    ----------
    freed : int
        Grows whenever bytes are freed; an (op, device) pair that had no room may have some then.

    Notes
    -----
    ``reserved`` is a sum. In ``dynamic`` and ``edges`` checking or placing an op costs as many steps as the device's
    memory takes from the first transfer to the op on. Source of the memory models: Mayer 2017 eq. 2,
    Srivastava 2018 §3.1, Baechi 2020 §4.2.
    """

    def __init__(self, problem: Problem) -> None:
        graph = problem.graph
        k = problem.cluster.n_devices
        self.model = problem.memory
        self.freed = 0
        self.limit = planning_limit(problem).tolist()
        self.reserved = [0.0] * k
        self.used = [StepFunction() for _ in range(k)]
        self._reserve = held_for_ever_by_group(problem).tolist()
        self._group = problem.group.tolist()
        self._group_is_placed = [False] * problem.n_groups
        self._temporary = graph.temporary.tolist()
        self._tensor_ptr = graph.op_tensor_ptr.tolist()
        self._size = graph.tensor_bytes.tolist()
        self._held = graph.storage_bytes.tolist()  # bytes that begin with each tensor
        first = graph.tensor_storage
        self._shared = first is not None
        self._storage = list(range(graph.n_tensors)) if first is None else first.tolist()
        self._producer = graph.tensor_producer.tolist()
        self._device: dict[int, int] = {}  # op → where it was placed
        self._home: dict[int, int] = {}  # tensor → the one whose memory it is held in
        waiting = np.diff(graph.tensor_ptr)
        if first is not None:
            waiting = np.where(first == np.arange(len(first)), np.bincount(first, waiting, len(first)), waiting).astype(
                int
            )
        # Consumers of each tensor, and its storage if it is the first, that are not placed.
        self._waiting = waiting.tolist()
        self._end: dict[int, float] = {}  # tensor → when its producer's device is done with it, as far as known
        self._copy_end: dict[tuple[int, int], float] = {}  # (tensor, device) → the same for a received copy
        self._timed = problem.memory_model.timed

    def earliest(self, op: int, d: int, start: float, length: float, inputs: list[tuple]) -> float:
        """`start` if op has room on d from then on, else the next time to try (infinite when no later start will do).

        Parameters
        ----------
        op, d
            Numbers of the op and of the device.
        start, length
            Seconds.
        inputs
            (tensor, its home, transfer's start, transfer's finish) for each input, as if op ran on d.
        """
        bound = self._bound(op, d)
        if bound < 0 or self._rest_is_full(op, d, bound):
            return inf
        for begin, end, size in _pieces(self._spans(op, d, start, start + length, inputs)):
            if self.used[d].peak(begin, end) + size > bound:
                if begin < start:
                    return inf
                retry = self.used[d].end_of_last_above(end, size, bound)
                return max(retry - length if self.model == "edges" else retry, nextafter(start, inf))
        return start

    def shortage(self, op: int, d: int, start: float, length: float, inputs: list[tuple]) -> float:
        """Bytes that are missing for op to run on d at `start`."""
        bound = self._bound(op, d)
        short = [-bound, self.used[d].peak() - bound]
        short += [
            self.used[d].peak(begin, end) + size - bound
            for begin, end, size in _pieces(self._spans(op, d, start, start + length, inputs))
        ]
        return max(short)

    def place(self, op: int, d: int, start: float, finish: float, inputs: list[tuple]) -> None:
        """Take the memory of op on d, and free that of tensors whose last consumer it is."""
        self.reserved[d] += self._needed_for_ever(op)
        if self._group[op] >= 0:
            self._group_is_placed[self._group[op]] = True
        if not self._timed:
            return
        spans = self._spans(op, d, start, finish, inputs)
        use = finish if self.model == "dynamic" else start
        if self._shared:
            return self._place_shared(op, d, finish, use, inputs, spans)
        for begin, end, size in spans:
            self.used[d].add(begin, end, size)
        self.freed += any(size < 0 for _, _, size in spans)
        for t in self._outputs(op):
            self._end[t] = finish
        for t, home, sent, arrives in inputs:
            self._waiting[t] -= 1
            self._end[t] = max(self._end[t], use if home == d else arrives)
            if home != d:
                self._copy_end[t, d] = max(self._copy_end.get((t, d), sent), use)
                if self._waiting[t] == 0 and self._size[t] > 0:
                    self.used[home].add(self._end[t], inf, -self._size[t])
                    self.freed += 1

    def _place_shared(self, op: int, d: int, finish: float, use: float, inputs: list[tuple], spans: list[Span]) -> None:
        """The same where tensors share storages."""
        for begin, end, size in spans:
            if size > 0:
                self.used[d].add(begin, end, size)
        for t in self._outputs(op):
            self._home[t] = h = self._storage[t] if self._joins(t, d) else t
            self._end[h] = max(self._end.get(h, 0.0), finish)
        self._device[op] = d
        for t, home, sent, arrives in inputs:
            for waits in {t, self._storage[t]}:
                self._waiting[waits] -= 1
            h = self._home[t]
            self._end[h] = max(self._end[h], use if home == d else arrives)
            if home != d:
                self._copy_end[t, d] = max(self._copy_end.get((t, d), sent), use)
        for t, _, _, _ in inputs:
            for h in [t] * (self._home[t] == t) + [self._storage[t]] * (self._storage[t] != t):
                self._give_back(h)

    def _give_back(self, h: int) -> None:
        """Give back the memory of tensor h if it was made and nothing waits for it any more."""
        if self._waiting[h] == 0 and (home := self._device.get(self._producer[h], -1)) >= 0:
            self._waiting[h] = -1
            self.freed += 1
            if self._held[h] > 0:
                self.used[home].add(self._end[h], inf, -self._held[h])

    def _joins(self, t: int, d: int) -> bool:
        """Whether tensor t, made on d, is in the storage of one that is made there and held."""
        s = self._storage[t]
        return s != t and self._device.get(self._producer[s], -1) == d and self._waiting[s] > 0

    def _bound(self, op: int, d: int) -> float:
        """Bytes of d that may be in use over time next to what is reserved, once op is there."""
        return self.limit[d] - self.reserved[d] - self._needed_for_ever(op)

    def _rest_is_full(self, op: int, d: int, bound: float) -> bool:
        return self._needed_for_ever(op) > 0 and self._timed and self.used[d].peak() > bound

    def _needed_for_ever(self, op: int) -> float:
        """Bytes to reserve when op is placed: its own, or its group's when it is the first of it."""
        g = self._group[op]
        return 0.0 if g >= 0 and self._group_is_placed[g] else self._reserve[op]

    def _outputs(self, op: int) -> range:
        return range(self._tensor_ptr[op], self._tensor_ptr[op + 1])

    def _spans(self, op: int, d: int, start: float, finish: float, inputs: list[tuple]) -> list[Span]:
        """Bytes over time that placing op on d adds there, and (negative) frees."""
        if not self._timed:
            return []
        dynamic = self.model == "dynamic"
        size = self._size
        use = finish if dynamic else start
        made = [t for t in self._outputs(op) if not self._joins(t, d)]
        consumed = _total(self._held[t] for t in made if self._waiting[t] > 0)
        spans = [(start if dynamic else finish, inf, consumed)]
        if dynamic:
            unused = _total(self._held[t] for t in made if self._waiting[t] <= 0)
            spans.append((start, finish, self._temporary[op] + unused))
        reads: dict[int, int] = {}
        for t, home, sent, arrives in inputs:
            if home != d:
                spans.append((self._copy_end.get((t, d), sent if dynamic else arrives), use, size[t]))
            elif self._shared:
                h = self._home[t]
                reads[h] = reads.get(h, 0) + 1
                if self._waiting[h] == reads[h]:
                    spans.append((max(self._end[h], use), inf, -self._held[h]))
            elif self._waiting[t] == 1:
                spans.append((max(self._end[t], use), inf, -size[t]))
        return [(begin, end, size) for begin, end, size in spans if begin < end and size != 0]


def resumed(problem: Problem, plan: blocks.Memory, device: np.ndarray) -> MemoryPlan:
    """The memory plan after a kernel's partial plan, to be continued op by op.

    Parameters
    ----------
    plan
        The kernel's memory over time, whose curves it has filled.
    device
        Of each op placed so far, shape (n_ops,), -1 for the others.
    """
    memory = MemoryPlan(problem)
    k = problem.cluster.n_devices
    held = plan.held
    memory.reserved = held.reserved.tolist()
    for g in problem.group[(device >= 0) & (problem.group >= 0)]:
        memory._group_is_placed[g] = True
    if not memory._timed:
        return memory
    memory._waiting = held.waiting.tolist()
    memory._end = dict(enumerate(held.kept.tolist()))
    memory._home = dict(enumerate(held.home.tolist()))
    memory._device = {v: d for v, d in enumerate(device.tolist()) if d >= 0}
    copies = np.flatnonzero(held.copy_kept >= 0).tolist()
    memory._copy_end = {divmod(i, k): float(held.copy_kept[i]) for i in copies}
    for used, last in zip(memory.used, plan.curve.last.tolist(), strict=True):
        used.times, used.level = _steps(plan.curve, last)
    return memory


def next_op(graph: OpGraph, device: np.ndarray, rank: np.ndarray) -> int:
    """Of the ops that a partial plan has not placed, but all their inputs, that of least rank; ties: the lower number.

    Parameters
    ----------
    device
        Of each op placed so far, shape (n_ops,), -1 for the others.
    rank
        Of each op, shape (n_ops,).
    """
    left = device < 0
    waits = np.bincount(graph.consumer[left[graph.producer]], minlength=graph.n_ops) > 0
    ready = np.flatnonzero(left & ~waits)
    return int(ready[np.argmin(rank[ready])])


def _steps(curve: blocks.Curve, last: int) -> tuple[list[float], list[float]]:
    """Begins and levels of the steps of the device whose last block this is."""
    chain = []
    while last >= 0:
        chain.append(last)
        last = int(curve.chain[2 * last])
    steps = [(b, slice(b * SIZE, b * SIZE + curve.chain[2 * b + 1])) for b in reversed(chain)]
    begins = np.concatenate([curve.at[s] for _, s in steps]).tolist()
    return begins, np.concatenate([curve.level[s] + curve.block[2 * b] for b, s in steps]).tolist()


def can_bind(problem: Problem) -> bool:
    """Whether some device may run out of memory: not if it could hold everything that is allowed on it for the whole run.

    An upper bound without times, O(ops · devices): ``reserved`` Σ memory; ``edges`` Σ tensors; ``dynamic`` Σ persistent
    + Σ tensors + max temporary. Bytes of ops that may not run on a device are left out of its sums, tensors are not:
    they may be sent there.
    """
    graph = problem.graph
    model = problem.memory_model
    capacity = problem.cluster.memory
    if problem.memory == "none" or np.isinf(capacity).all():
        return False
    if not problem.restricted:
        lasting = problem.lasting.sum()
        temporary = graph.temporary.max()
    else:
        lasting = problem.lasting @ problem.may_run
        temporary = np.where(problem.may_run, graph.temporary[:, None], 0.0).max(axis=0)
    tensors = graph.tensor_bytes.sum()
    most = (tensors if model.timed else 0.0) + lasting + (temporary if model.working else 0.0)
    return bool((most > capacity).any())


def held_for_ever_by_group(problem: Problem) -> np.ndarray:
    """Bytes that each op keeps for the whole run, shape (n_ops,); for a member of a group that of the whole group."""
    grouped = problem.group >= 0
    own = problem.lasting.copy()
    own[grouped] = np.bincount(problem.group[grouped], own[grouped], minlength=problem.n_groups)[problem.group[grouped]]
    return frozen(own)


def planning_limit(problem: Problem) -> np.ndarray:
    """Bytes that a plan may use of each device, shape (n_devices,): with half the tolerance, as sums differ by their order."""
    return frozen(problem.cluster.memory * (1 + TOLERANCE / 2))


def _total(sizes: Iterable[float]) -> float:
    """Sum of sizes added one after the other, as kernels do (``sum`` rounds otherwise in newer Pythons)."""
    total = 0.0
    for size in sizes:
        total += size
    return total


def _pieces(spans: list[Span]) -> list[Span]:
    """The sum of spans as disjoint ones, from the last to the first."""
    change: dict[float, float] = {}
    for begin, end, size in spans:
        change[begin] = change.get(begin, 0.0) + size
        change[end] = change.get(end, 0.0) - size
    times = sorted(change)
    sizes = accumulate(change[time] for time in times)
    return [(a, b, size) for a, b, size in zip(times, times[1:], sizes, strict=False)][::-1]
