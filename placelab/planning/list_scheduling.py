"""List scheduling of a whole problem: each op to the device where it finishes soonest, in an order or as ops become ready.

A kernel makes the plan as if memory were unlimited. If no device ever runs out in it, that is the plan; else another kernel
makes one with memory tracked over time, setting an op that has no room anywhere aside until memory is freed. :func:`one_by_one`
is the same on :class:`placelab.planning.list_scheduler.ListScheduler`, slow and easy to read: all give the same plan to the
last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.plan import choose_least, choose_ready
from placelab.kernels.plan import list_schedule as in_memory
from placelab.kernels.plan import list_schedule as kernels
from placelab.planning import plan_arrays
from placelab.planning.list_scheduler import TIMES, ListScheduler, decided, memory_waits, planned_order
from placelab.planning.memory_plan import MemoryPlan, can_bind, next_op, resumed
from placelab.planning.ranks import by_falling, mean_transfer, rounded, upward_ranks, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import planned_schedule
from placelab.schedule.trace import EARLIEST_START, PLANNED_FINISH, Trace

SOONEST = "finishes soonest there"
ONLY = "the only device that may run it and has room"
PATH = "on the critical path, which that device runs soonest"
REASONS = (SOONEST, ONLY, PATH)
FINISH = plan_arrays.aim()
# Ready ops; with more choose_least is quicker than choose_ready: min-min takes 0.02 instead of 0.5 s for 22,000 ops between two.
FEW = 500
Meaning = tuple[str, str]  # the reason of a choice, and the name of its score
AIMS: tuple[Meaning, ...] = (
    (SOONEST, PLANNED_FINISH),
    ("starts soonest there", EARLIEST_START),
    ("runs quickest there", "time of the op [s]"),
)


def in_order(
    problem: Problem,
    order: np.ndarray,
    preferred: np.ndarray | None = None,
    *,
    insertion: bool = True,
    trace: bool = False,
    aim: blocks.Aim = FINISH,
    meaning: Meaning | None = None,
) -> Placement:
    """Put each op of a topological order on the device where it finishes soonest, ties to the lower device.

    Parameters
    ----------
    order
        Ops, shape (n_ops,).
    preferred
        A device per op that is taken whenever the op may run and has room there, -1 for none; shape (n_ops,).
    insertion
        Into the earliest idle gap that holds it; False: after the device's last op.
    aim
        What is to be least instead of the finish; where that is the start, ties go to the sooner finish first.
    meaning
        Reason and name of the score, for the trace; default: those of the aim's rule.

    Returns
    -------
    Placement
        With plan, estimate and, if asked for, trace.
    """
    order = frozen(order)
    preferred = _no_preference(problem) if preferred is None else frozen(preferred)
    placement = _in_order_kernel(problem, order, preferred, insertion, trace, aim)
    if placement is None:
        placement = _in_memory(problem, frozen(_places(order)), preferred, insertion, trace, aim)
    return _with_meaning(placement, meaning or AIMS[aim.rule])


def by_choice(
    problem: Problem,
    rule: int,
    reason: str = SOONEST,
    *,
    head: np.ndarray | None = None,
    batch: bool = False,
    trace: bool = False,
) -> Placement:
    """Put, of all ready ops, always the chosen one where it finishes soonest, after that device's last op.

    Where that plan exceeds a capacity, ops are planned again in the order it took them, with memory tracked over time.

    Parameters
    ----------
    rule
        Which one goes first (:mod:`placelab.kernels.plan.choose_ready`).
    reason
        Of a choice, for the trace.
    head
        With ``LEAST`` and ``LEVEL``: what is subtracted from each op's finish, shape (n_ops,).
    batch
        Round by round: ops that become ready wait until all that were ready are placed.
    """
    plan = plan_arrays.plan(problem, trace)
    arguments = *plan_arrays.facts(problem), plan_arrays.frontier(problem)
    most = problem.graph.n_ops
    work = None
    ahead = frozen(np.empty(0) if head is None else head)
    if rule == choose_ready.LEAST and not batch:
        work = plan_arrays.kinds(problem)
        most = FEW if head is None and 4 * work[1].columns >= problem.cluster.n_devices else 0
    ready = plan_arrays.ready(problem)
    if not (most and choose_ready.choose_ready(rule, int(batch), most, ahead, *arguments, ready, plan)):
        assert work is not None  # only then are there too many ready ops
        choose_least.choose_least(ahead, *arguments, *work, plan)
    placement = _placement(problem, plan, None, trace)
    if placement is None:
        placement = _in_memory(problem, frozen(_places(plan.order)), _no_preference(problem), False, trace)
    return with_trace(placement, reasons=(reason, ONLY, PATH))


def kept_in_memory(problem: Problem, plan: blocks.Plan, meaning: Meaning, trace: bool) -> Placement:
    """The plan a kernel made without regard to memory, inserted into gaps, as a placement.

    Where it exceeds a capacity, ops are planned again in its order with memory tracked over time, on its devices where they
    have room there, else where they finish soonest.
    """
    placement = _placement(problem, plan, None, trace)
    if placement is None:
        return anew_in_memory(problem, plan.order, plan.device, trace)
    return _with_meaning(placement, meaning)


def anew_in_memory(problem: Problem, order: np.ndarray, device: np.ndarray, trace: bool) -> Placement:
    """A plan with memory tracked over time, from the order and the devices of one made without.

    An op without room on its device goes where it finishes soonest. Ops fill idle gaps.
    """
    placement = _in_memory(problem, frozen(_places(order)), frozen(device), True, trace)
    return with_trace(placement, reasons=(SOONEST, ONLY, "there without regard to memory, too"))


def with_trace(placement: Placement, **fields: Any) -> Placement:
    """The placement with other fields in its trace (:class:`placelab.schedule.trace.Trace`), if it has one."""
    if placement.trace is None:
        return placement
    return replace(placement, trace=replace(placement.trace, **fields))


def _with_meaning(placement: Placement, meaning: Meaning) -> Placement:
    reason, score_name = meaning
    return with_trace(placement, reasons=(reason, ONLY, PATH), score_name=score_name, times=TIMES.get(score_name, ""))


def _no_preference(problem: Problem) -> np.ndarray:
    """The preferred devices where no op has one."""
    return frozen(np.full(problem.graph.n_ops, -1, dtype=np.int32))


def _places(order: np.ndarray) -> np.ndarray:
    """The place of each op in an order."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def as_ready(problem: Problem, *, trace: bool = False) -> Placement:
    """Put each op, when its last input has been computed, on the device where it would finish soonest if appended there.

    Ops are taken by (time their last input was computed, op number); ties between devices: the lower.
    """
    placement = _as_ready_kernel(problem, trace)
    if placement is None:
        placement = _in_memory(problem, frozen(np.empty(0, dtype=np.int32)), _no_preference(problem), False, trace)
    return placement


def one_by_one(
    s: ListScheduler, key: Callable[[int], Any], preferred: np.ndarray | None = None, aim: blocks.Aim = FINISH
) -> Placement:
    """Place, of the ops whose inputs are placed, always the one of smallest (key, op number), as the module says.

    An op that is set aside is tried again when memory was freed, or when nothing else is left.

    Raises
    ------
    InfeasibleError
        All ops that are left and whose inputs are placed have no room anywhere.
    """
    graph = s.problem.graph
    missing = np.diff(graph.pred_ptr)
    heap = [(key(v), v) for v in np.flatnonzero(missing == 0).tolist()]
    heapify(heap)
    aside: list[tuple] = []
    while heap or aside:
        if not heap:
            if not any(s.candidates(v) for _, v in aside):
                s.feasible(min(aside)[1])  # raises, naming the op and what each device lacks
            heap = sorted(aside)
            aside = []
        item = heappop(heap)
        v = item[1]
        freed = s.freed
        if not _place(s, v, preferred, aim):
            aside.append(item)
            continue
        if aside and s.freed != freed:
            heap = heap + aside
            aside = []
            heapify(heap)
        for w in graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]].tolist():
            missing[w] -= 1
            if missing[w] == 0:
                heappush(heap, (key(w), w))
    return s.placement()


def _place(s: ListScheduler, v: int, preferred: np.ndarray | None, aim: blocks.Aim) -> bool:
    candidates = s.candidates(v)
    if not candidates:
        return False
    k = s.problem.cluster.n_devices
    length = s.problem.exec_time
    score = {d: kernels.aimed(aim, v * k + d, s.est(v, d), length(v, d)) for d in candidates}
    if preferred is not None and preferred[v] in candidates:
        d = preferred[v]
        s.place(v, d, reason=PATH, scores={d: score[d]})
    else:
        tie = s.eft if aim.rule == kernels.START else lambda v, d: 0.0
        best = min(candidates, key=lambda d: (score[d], tie(v, d)))
        s.place(v, best, reason=AIMS[aim.rule][0] if len(candidates) > 1 else ONLY, scores=score)
    return True


def _in_order_kernel(
    problem: Problem,
    order: np.ndarray,
    preferred: np.ndarray,
    insertion: bool,
    trace: bool,
    aim: blocks.Aim,
) -> Placement | None:
    """The placement made without regard to memory, or None where it exceeds a capacity."""
    plan = plan_arrays.plan(problem, trace, order)
    arrival = np.empty(problem.cluster.n_devices)
    busy = plan_arrays.busy(problem, insertion)
    pred, _, *facts = plan_arrays.facts(problem)
    kernels.in_order(preferred, int(insertion), aim, pred, *facts, arrival, busy, plan)
    return _placement(problem, plan, preferred, trace)


def _as_ready_kernel(problem: Problem, trace: bool) -> Placement | None:
    """The placement made without regard to memory, or None where it exceeds a capacity."""
    plan = plan_arrays.plan(problem, trace)
    agenda = plan_arrays.agenda(problem, aside=False)
    kernels.as_ready(*plan_arrays.facts(problem), plan_arrays.frontier(problem), agenda, plan)
    return _placement(problem, plan, None, trace)


def _in_memory(
    problem: Problem,
    place: np.ndarray,
    preferred: np.ndarray,
    insertion: bool,
    trace: bool,
    aim: blocks.Aim = FINISH,
) -> Placement:
    """The placement made with memory tracked over time; arguments as of the kernel."""
    plan = plan_arrays.plan(problem, trace)
    memory = plan_arrays.memory_over_time(problem)
    agenda = plan_arrays.agenda(problem, aside=True)
    busy = plan_arrays.busy(problem, insertion)
    work = plan_arrays.inputs(problem), memory, agenda, busy
    placed = in_memory.one_by_one(place, preferred, int(insertion), aim, *plan_arrays.facts(problem), *work, plan)
    if placed < problem.graph.n_ops:
        _refuse(problem, plan, placed, place, insertion, resumed(problem, memory, plan.device))
    made = _finished(problem, plan, preferred, trace)
    assert made.planned is not None
    waits = memory_waits(problem, plan.device, plan.start, plan.finish, made.planned)
    return replace(made, not_before=waits)


def _refuse(
    problem: Problem, plan: blocks.Plan, placed: int, place: np.ndarray, insertion: bool, memory: MemoryPlan
) -> None:
    """Raise the error of :func:`one_by_one` for a plan in which nothing fits after the `placed` first ops."""
    s = ListScheduler(problem, insertion=insertion)
    graph = problem.graph
    s._memory = None  # what the ops took is in `memory` already
    for v in plan.order[:placed].tolist():
        s.enter(v, int(plan.device[v]), float(plan.start[v]), float(plan.finish[v]))
    s._memory = memory
    became = np.zeros(graph.n_ops)
    np.maximum.at(became, graph.consumer, s.finish[graph.producer])
    s.feasible(next_op(graph, s.device, place if len(place) else became))


def _placement(problem: Problem, plan: blocks.Plan, preferred: np.ndarray | None, trace: bool) -> Placement | None:
    """The finished plan, or None where it exceeds a capacity."""
    if can_bind(problem) and len(planned_schedule(problem, plan.device, plan.start, plan.finish).oom):
        return None
    return _finished(problem, plan, preferred, trace)


def _finished(problem: Problem, plan: blocks.Plan, preferred: np.ndarray | None, trace: bool) -> Placement:
    record = _trace(problem, plan, preferred) if trace else None
    planned = planned_order(plan.start, plan.finish, plan.order)
    return Placement(problem, plan.device, planned, float(plan.finish.max()), record)


def _trace(problem: Problem, plan: blocks.Plan, preferred: np.ndarray | None) -> Trace:
    """One row per op, per group that of its first op, in the order they were placed."""
    op = decided(problem, plan.order)
    score = plan.score.reshape(problem.graph.n_ops, -1)[op]
    reason = np.where((~np.isnan(score)).sum(axis=1) > 1, 0, 1).astype(np.int32)
    if preferred is not None:
        reason[preferred[op] == plan.device[op]] = 2
    return Trace(op, plan.device[op], score, reason, REASONS, PLANNED_FINISH, "finish")


LastMessage = Callable[[int], tuple[int, float]]
Arrival = Callable[[int, int], float]


def without_memory(problem: Problem, trace: bool) -> ListScheduler:
    """An empty plan that appends ops, as if memory were unlimited."""
    s = ListScheduler(problem, trace=trace)
    s._memory = None
    return s


def within_memory(s: ListScheduler, trace: bool) -> Placement:
    """The finished plan, whose scores are earliest starts.

    Where it exceeds a capacity, ops are planned again in its order with memory tracked over time, on its devices where they
    have room there, else where they finish soonest.
    """
    problem = s.problem
    placement = s.placement(EARLIEST_START)
    if can_bind(problem) and len(planned_schedule(problem, s.device, s.start, s.finish).oom):
        return anew_in_memory(problem, np.array(s._placed, np.int32), s.device, trace)
    return placement


def enter(s: ListScheduler, v: int, d: int, start: float, reason: str, scores: Mapping[int, float]) -> float:
    """Plan op v on a device that it may run on, after the device's last op and its inputs; return when it ends [s]."""
    if s._decisions is not None:
        s._record(s._decisions, v, d, reason, scores)
    finish = start + s._exec(v, d)
    s.enter(v, d, start, finish)
    return finish


def arrivals(s: ListScheduler) -> Arrival:
    """A function of an op and a device: :meth:`ListScheduler.arrival` without a look at the other devices, O(inputs)."""
    done = s._done
    home = s._home
    way = s._way
    rate = s._rate
    producer = s._producer
    size = s._size

    def of(v: int, d: int) -> float:
        latest = 0.0
        for t in s._inputs_of(v):
            u = producer[t]
            there = done[u] + way[home[u]][d] + size[t] / rate[home[u]][d]
            latest = there if there > latest else latest
        return latest

    return of


def last_message(s: ListScheduler) -> LastMessage:
    """A function of an op whose inputs are placed: the device of its last input, and when this would arrive elsewhere [s].

    By mean transfer times, as in :func:`placelab.upward_rank`. Ties: the first input. (-1, 0.0) for an op without inputs.
    """
    graph = s.problem.graph
    latency, per_byte = mean_transfer(s.problem)
    transfer = (latency + graph.edge_bytes * per_byte)[graph.pred_edge].tolist()
    first = graph.pred_ptr.tolist()
    producer = graph.producer[graph.pred_edge].tolist()

    def of(v: int) -> tuple[int, float]:
        device = -1
        latest = 0.0
        for i in range(first[v], first[v + 1]):
            arrival = s._done[producer[i]] + transfer[i]
            if device < 0 or arrival > latest:
                device = s._home[producer[i]]
                latest = arrival
        return device, latest

    return of


def in_clusters(problem: Problem, cluster: np.ndarray, up: np.ndarray, trace: bool) -> Placement:
    """Each cluster on one device, ops by falling upward rank `up`, inserted into idle gaps.

    Clusters by falling mean work go where the work placed there and their own end soonest (LPT). An op that may not run on its
    cluster's device, has no room there, or whose group is elsewhere goes where it finishes soonest. Ties: the cluster of the
    lower op number, device number. O(ops · devices + ops log ops).

    Parameters
    ----------
    cluster
        A number per op, the same for those of a cluster; shape (n_ops,).
    """
    device = longest_first(problem, cluster)
    preferred = np.where(problem.runs_on(device), device, -1).astype(np.int32)
    placement = in_order(problem, by_falling(rounded(up))[0], preferred, trace=trace)
    return with_ranks(
        with_trace(placement, reasons=(SOONEST, ONLY, "the device of its cluster")), lambda: upward_ranks(problem, up)
    )


def longest_first(problem: Problem, cluster: np.ndarray) -> np.ndarray:
    """Device of each op, shape (n_ops,), int32."""
    _, first, number = np.unique(cluster, return_index=True, return_inverse=True)
    work = np.zeros((len(first), problem.cluster.n_devices))
    np.add.at(work, number.reshape(-1), problem.exec_table(otherwise=0.0))
    place = np.empty(len(first), dtype=np.int32)
    load = np.zeros(problem.cluster.n_devices)
    for c in np.lexsort((first, -rounded(work.mean(axis=1)))):
        place[c] = np.argmin(load + work[c])
        load[place[c]] += work[c, place[c]]
    return place[number.reshape(-1)]
