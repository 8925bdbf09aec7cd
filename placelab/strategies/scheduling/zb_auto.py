"""ZB-auto: the best of many greedy orders within a memory cap."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import product
from math import inf
from typing import Annotated, Literal, NamedTuple

from placelab.planning.pipeline_orders import (
    RECEIVE,
    Ranks,
    Slot,
    Work,
    check_split,
    in_sequence,
    is_v,
    ranks_of,
    replay,
    sequence,
    work_of,
    zero_bubble,
)
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.strategies.scheduling.zb_v import down_and_up

ROUNDING = 1e-12  # relative


@scheduler(static=True, needs="pipeline", source="Qi et al. 2024 §3.1")
def zb_auto(
    problem: Problem,
    placement: Placement,
    *,
    cap: Annotated[int, Limits(0)] = 0,
    objective: Literal["span", "makespan"] = "span",
) -> Order:
    """Greedy, for measured times of stages: tries warm-ups and ways to fill idle time, and keeps the best.

    Parameters
    ----------
    cap
        Activations that a device may hold, of one micro-batch in one stage each. 0: 2p - 1 for p devices, as ``zb-h2``, times
        the stages on each. At least one for each stage of a device is always allowed.
    objective
        What is least: ``"span"``, the longest time from first to last op of a device, which counts where steps follow each
        other without a barrier, then the makespan; ``"makespan"`` the other way round.

    Notes
    -----
    A device that is free runs a gradient of an input if one is there; else a forward if memory allows; else a gradient of
    weights, if it ends before the next known arrival, or nothing else can come. Varied are: forwards before the first backward
    (three limits), whether a forward or a gradient goes first, whether a forward may delay a gradient that is on its way,
    whether gradients of weights may. ``zb-h1``, ``zb-h2`` and ``zb-v`` are tried as well, where they fit the stages and the
    cap. Transfers take their time but do not queue; updates that wait for other replicas are not
    counted. O(24 · ops · log ops) in Python.

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, or one op for both gradients.
    """
    replicas = ranks_of(problem, placement, "zb-auto")
    check_split(replicas[0], "zb-auto")
    work = work_of(problem, placement.device)
    return in_sequence(replicas, lambda each: _best(each, work, cap, objective))


def _best(ranks: Ranks, work: Work, cap: int, objective: str) -> list[list[Slot]]:
    most = max(len(stages) for stages in ranks.stages)
    limit = max(cap or (2 * ranks.p - 1) * most, most)
    best = (inf, inf)
    chosen = None
    for plans in _candidates(ranks, work, limit):
        reached = _lengths(ranks, work, sequence(ranks, plans).tolist())
        reached = reached if objective == "span" else reached[::-1]
        if chosen is None or _shorter(reached, best):
            best = reached
            chosen = plans
    return chosen or []


def _candidates(ranks: Ranks, work: Work, cap: int) -> Iterator[list[list[Slot]]]:
    if ranks.chunks == 1:
        for k in (1, 2):
            if cap >= min(k * (ranks.p - 1) + 1, ranks.m):
                yield zero_bubble(ranks, k)
    if is_v(ranks) and cap >= 2 * min(ranks.p, ranks.m):
        yield down_and_up(ranks)
    for choices in product((1, 2, None), (True, False), (True, False), (True, False)):
        yield greedy(ranks, work, cap, Choices(*choices))


def _shorter(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Whether `a` comes before `b`; times that differ by rounding are equal."""
    return any(x < y * (1 - ROUNDING) for x, y in zip(a, b, strict=True)) and a[0] <= b[0] * (1 + ROUNDING)


def _lengths(ranks: Ranks, work: Work, order: list[int]) -> tuple[float, float]:
    """Longest span of a device, and the makespan without all-reduces; infinite for an order that cannot run."""
    finish = replay(work, order)
    once = (ranks.pipeline.microbatch < 0).tolist()
    if min(finish[v] for v in order if not once[v]) < 0:
        return inf, inf
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for v in order:
        if not once[v]:
            first.setdefault(work.device[v], finish[v] - work.seconds[v])
            last[work.device[v]] = finish[v]
    return max(last[d] - first[d] for d in first), max(finish)


class Choices(NamedTuple):
    """How a free device chooses.

    Attributes
    ----------
    warm_up
        k: before its first backward, rank s of p starts at most k(p - s - 1) + 1 forwards per stage; None: as many as memory
        allows.
    backward_first
        A gradient of an input goes before a forward; False: the other than the one before.
    forward_waits
        Before its first backward, a forward does not start if it would end after a gradient of an input arrives.
    weight_waits
        A gradient of weights does not start if it would end after anything else arrives.
    """

    warm_up: int | None
    backward_first: bool
    forward_waits: bool
    weight_waits: bool


def greedy(ranks: Ranks, work: Work, cap: int, choices: Choices) -> list[list[Slot]]:
    """The slots of each rank, in the order chosen; `cap` activations may be held on each."""
    return _Greedy(ranks, work, cap, choices).run()


class _Greedy:
    """One run in time. An op is known when all its inputs have started: then it is known when they arrive."""

    def __init__(self, ranks: Ranks, work: Work, cap: int, choices: Choices) -> None:
        self.ranks = ranks
        self.work = work
        self.cap = cap
        self.choices = choices
        self.missing = [len(inputs) for inputs in work.inputs]
        self.arrival = [0.0] * len(self.missing)
        self.left = {
            (phase, stage): deque(range(ranks.m)) for stages in ranks.stages for stage in stages for phase in "FBW"
        }
        self.held = [0] * ranks.p
        self.last = [""] * ranks.p
        self.warm = [True] * ranks.p
        self.plans: list[list[Slot]] = [[] for _ in range(ranks.p)]
        self.rank_of = {d: rank for rank, d in enumerate(ranks.device)}
        self.free = [0.0] * ranks.p
        self.asked = [False] * ranks.p
        for v in range(len(self.missing)):
            if ranks.pipeline.phase[v] == "P":
                self._started(v, 0.0)

    def run(self) -> list[list[Slot]]:
        queue = [(0.0, rank) for rank in range(self.ranks.p)]
        while queue:
            now, rank = heappop(queue)
            if now < self.free[rank]:
                continue
            slot, wake = self._choose(rank, now)
            if slot is None:
                if wake < inf:
                    heappush(queue, (wake, rank))
                continue
            self.free[rank] = self._take(rank, slot, now)
            heappush(queue, (self.free[rank], rank))
            for other in range(self.ranks.p):  # what started makes later ops known
                if other != rank:
                    heappush(queue, (max(now, self.free[other]), other))
        self._rest()
        return self.plans

    def _choose(self, rank: int, now: float) -> tuple[Slot | None, float]:
        """What to run now, or when to ask again."""
        stages = self.ranks.stages[rank]
        choices = self.choices
        forward = [self._next("F", s) for s in stages if self._room(rank, s)]
        backward = [self._next("B", s) for s in reversed(stages)]
        weight = [self._next("W", s) for s in reversed(stages)]
        soon_b = min((at for at, _ in backward), default=inf)
        soon_f = min((at for at, _ in forward), default=inf)
        there_b = [slot for at, slot in backward if at <= now]
        there_f = [slot for at, slot in reversed(forward) if at <= now]
        there_w = [slot for at, slot in weight if at <= now]
        if there_f and there_b:
            first = choices.backward_first or self.last[rank] == "F"
            return (there_b if first else there_f)[0], now
        if there_b:
            return there_b[0], now
        if there_f and (not choices.forward_waits or now + self._seconds(there_f[0]) <= soon_b or not self.warm[rank]):
            return there_f[0], now
        coming = min(soon_b, soon_f if not there_f else inf)
        if there_w and (not choices.weight_waits or now + self._seconds(there_w[0]) <= coming):
            return there_w[0], now
        return None, coming if coming > now else inf

    def _next(self, phase: str, stage: int) -> tuple[float, Slot]:
        """When the next op of a phase and stage can start, and which it is; inf where that is not known."""
        left = self.left[phase, stage]
        if not left:
            return inf, (phase, -1, stage)
        slot = phase, left[0], stage
        v = self._first_op(slot)
        return (inf if self.missing[v] else self.arrival[v]), slot

    def _first_op(self, slot: Slot) -> int:
        op = self.ranks.pipeline.op
        return op.get((RECEIVE.get(slot[0], ""), slot[1], slot[2]), op[slot])

    def _room(self, rank: int, stage: int) -> bool:
        """Whether a forward may start; one place is kept for each later stage of the device."""
        stages = self.ranks.stages[rank]
        k = self.choices.warm_up
        limit = self.cap - sum(s > stage for s in stages)
        if k is not None and self.warm[rank]:
            limit = min(limit, (k * (self.ranks.p - rank - 1) + 1) * len(stages))
        return self.held[rank] < limit

    def _seconds(self, slot: Slot) -> float:
        return sum(self.work.seconds[v] for v in self._ops(slot))

    def _ops(self, slot: Slot) -> list[int]:
        return list(dict.fromkeys((self._first_op(slot), self.ranks.pipeline.op[slot])))

    def _take(self, rank: int, slot: Slot, now: float) -> float:
        """Run a slot; when it ends."""
        phase, _, stage = slot
        self.left[phase, stage].popleft()
        self.plans[rank].append(slot)
        self.held[rank] += (phase == "F") - (phase == "W")
        self.warm[rank] &= phase == "F"
        self.last[rank] = phase if phase != "W" else self.last[rank]
        for v in self._ops(slot):
            now = self._started(v, now)
        return now

    def _started(self, v: int, start: float) -> float:
        finish = start + self.work.seconds[v]
        for w, seconds in self.work.outputs[v]:
            self.missing[w] -= 1
            self.arrival[w] = max(self.arrival[w], finish + seconds)
        return finish

    def _rest(self) -> None:
        """What never became possible, in the order of 1F1B's phases; a plan that then cannot run is not chosen."""
        for rank, stages in enumerate(self.ranks.stages):
            for phase in "FBW":
                for stage in stages:
                    self.plans[rank] += [(phase, i, stage) for i in self.left[phase, stage]]
