"""Each op to the device where it finishes soonest: list scheduling of a whole problem, in an order or as ops become ready.

A kernel makes the plan as if memory were unlimited. If no device ever runs out in it, that is the plan; else another kernel
makes one with memory tracked over time, setting an op that has no room anywhere aside until memory is freed. :func:`one_by_one`
is the same on :class:`placelab.planning.list_scheduler.ListScheduler`, slow and easy to read: all give the same plan to the
last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from placelab.kernels import list_schedule as kernels
from placelab.kernels import list_schedule_in_memory as in_memory
from placelab.planning.list_scheduler import ListScheduler, planned_order, transfer_delay
from placelab.planning.memory_plan import MemoryPlan, can_bind, resumed, room_arguments
from placelab.problem.graph import frozen
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement, Trace
from placelab.schedule.planned import planned_schedule

SOONEST, ONLY, PATH = (
    "finishes soonest there",
    "the only device that may run it and has room",
    "on the critical path, which that device runs soonest",
)
REASONS = (SOONEST, ONLY, PATH)


def in_order(
    problem: Problem,
    order: np.ndarray,
    preferred: np.ndarray | None = None,
    *,
    insertion: bool = True,
    trace: bool = False,
) -> Placement:
    """Each op of a topological order to the device where it finishes soonest, ties to the lower device.

    Parameters
    ----------
    order
        Ops, shape (n_ops,).
    preferred
        A device per op that is taken whenever the op may run and has room there, -1 for none; shape (n_ops,).
    insertion
        Into the earliest idle gap that holds it; False: after the device's last op.

    Returns
    -------
    Placement
        With plan, estimate and, if asked for, trace.
    """
    if preferred is None:
        preferred = np.full(problem.graph.n_ops, -1, dtype=np.int32)
    placement = _in_order_kernel(problem, frozen(order), frozen(preferred), insertion, trace)
    if placement is None:
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        placement = _in_memory(problem, frozen(place), frozen(preferred), insertion, trace)
    return placement


def as_ready(problem: Problem, *, trace: bool = False) -> Placement:
    """Each op, when its last input has been computed, to the device where it would finish soonest if appended there.

    Ops are taken by (time their last input was computed, op number); ties between devices: the lower.
    """
    placement = _as_ready_kernel(problem, trace)
    if placement is None:
        preferred = frozen(np.full(problem.graph.n_ops, -1, dtype=np.int32))
        placement = _in_memory(problem, frozen(np.empty(0, dtype=np.int32)), preferred, False, trace)
    return placement


def one_by_one(s: ListScheduler, key: Callable[[int], Any], preferred: np.ndarray | None = None) -> Placement:
    """Of the ops whose inputs are placed always the one of smallest (key, op number), as the module says.

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
            heap, aside = sorted(aside), []
        item = heappop(heap)
        v, freed = item[1], s.freed
        if not _place(s, v, preferred):
            aside.append(item)
            continue
        if aside and s.freed != freed:
            heap, aside = heap + aside, []
            heapify(heap)
        for w in graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]].tolist():
            missing[w] -= 1
            if missing[w] == 0:
                heappush(heap, (key(w), w))
    return s.placement()


def _place(s: ListScheduler, v: int, preferred: np.ndarray | None) -> bool:
    candidates = s.candidates(v)
    if not candidates:
        return False
    if preferred is not None and preferred[v] in candidates:
        d = preferred[v]
        s.place(v, d, reason=PATH, scores={d: s.eft(v, d)})
    else:
        s.place(v, min(candidates, key=lambda d: s.eft(v, d)), reason=SOONEST if len(candidates) > 1 else ONLY)
    return True


def _in_order_kernel(
    problem: Problem, order: np.ndarray, preferred: np.ndarray, insertion: bool, trace: bool
) -> Placement | None:
    """The placement made without regard to memory, or None where it exceeds a capacity."""
    n, k = problem.graph.n_ops, problem.cluster.n_devices
    zeros = bool(np.fmin.reduce(problem.cost) / problem.divisor.max() == 0)
    room = n * k if insertion else k
    device, start, finish, score = _results(n, k, trace)
    kernels.in_order(
        order, preferred, int(insertion), *edge_arguments(problem), *device_arguments(problem),
        np.empty(problem.n_groups, np.int32), np.empty(k),
        np.empty(k, np.int32), np.empty(room if insertion else 1), np.empty(room), np.empty(_blocks(n, k, insertion)),
        np.empty(k, np.int32), np.empty(room if zeros and insertion else 1),
        device, start, finish, score,
    )  # fmt: skip
    return _placement(problem, order, preferred, device, start, finish, score, trace)


def _as_ready_kernel(problem: Problem, trace: bool) -> Placement | None:
    """The placement made without regard to memory, or None where it exceeds a capacity."""
    graph, n, k = problem.graph, problem.graph.n_ops, problem.cluster.n_devices
    device, start, finish, score = _results(n, k, trace)
    order = np.empty(n, dtype=np.int32)
    kernels.as_ready(
        *edge_arguments(problem), graph.succ_ptr, graph.consumer, *device_arguments(problem),
        np.empty(problem.n_groups, np.int32), np.empty(k), np.empty(k), np.empty(n, np.int32), np.empty(n), np.empty(2 * n),
        device, start, finish, score, order,
    )  # fmt: skip
    return _placement(problem, order, None, device, start, finish, score, trace)


def _in_memory(problem: Problem, place: np.ndarray, preferred: np.ndarray, insertion: bool, trace: bool) -> Placement:
    """The placement made with memory tracked over time; arguments as of the kernel."""
    graph, n, k = problem.graph, problem.graph.n_ops, problem.cluster.n_devices
    most, zeros = int(np.diff(graph.pred_ptr).max()), bool(np.fmin.reduce(problem.cost) / problem.divisor.max() == 0)
    device, start, finish, score = _results(n, k, trace)
    order, (fixed, plan), room = np.empty(n, dtype=np.int32), room_arguments(problem), n * k if insertion else k
    numbers = lambda size: np.empty(size, np.int32)  # noqa: E731
    placed = in_memory.one_by_one(
        place, preferred, int(insertion), *edge_arguments(problem), graph.succ_ptr, graph.consumer, *device_arguments(problem),
        transfer_delay(problem)[0].reshape(-1), *fixed,
        numbers(problem.n_groups), numbers(n), np.empty(n), np.empty(2 * n), np.empty(2 * n),
        numbers(k), np.empty(room if insertion else 1), np.empty(room), np.empty(_blocks(n, k, insertion)),
        numbers(k), np.empty(room if zeros and insertion else 1),
        numbers(most), np.empty(k), np.empty(0), np.empty(0), np.empty(0), np.empty(most), np.empty(most), *plan, numbers(k),
        device, start, finish, score, order,
    )  # fmt: skip
    if placed < n:
        _refuse(problem, order[:placed], device, start, finish, place, insertion, resumed(problem, plan, device))
    return _plan(problem, order, preferred, device, start, finish, score, trace)


def _refuse(
    problem: Problem, order: np.ndarray, device, start, finish, place: np.ndarray, insertion: bool, memory: MemoryPlan
) -> None:
    """Raises what :func:`one_by_one` does when nothing fits after the ops of `order`."""
    s, graph = ListScheduler(problem, insertion), problem.graph
    s._memory = None  # what the ops took is in `memory` already
    for v in order.tolist():
        s.enter(v, int(device[v]), float(start[v]), float(finish[v]))
    s._memory = memory
    done = s.device >= 0
    missing = np.bincount(graph.consumer[~done[graph.producer]], minlength=graph.n_ops)
    became = np.zeros(graph.n_ops)
    np.maximum.at(became, graph.consumer, s.finish[graph.producer])
    key = place if len(place) else became
    ready = np.flatnonzero(~done & (missing == 0))
    s.feasible(int(ready[np.argmin(key[ready])]))


def edge_arguments(problem: Problem) -> tuple:
    """Edges by consumer, as planning kernels take them."""
    graph = problem.graph
    return graph.pred_ptr, graph.pred_edge, graph.producer, graph.edge_bytes


def device_arguments(problem: Problem) -> tuple:
    """cost … group, as planning kernels take them."""
    times = (problem.cost, problem.column, problem.divisor, problem.columns)
    links = (transfer_delay(problem)[1].reshape(-1), problem.cluster.bandwidth.reshape(-1))
    return (*times, *links, *problem.allowed_flags(), problem.group)


def _blocks(n: int, k: int, insertion: bool) -> int:
    """How many blocks of busy spans all devices have together, in workspace ``widest`` of the kernels."""
    return -(-n // kernels.SPANS) * k if insertion else 1


def _results(n: int, k: int, trace: bool) -> tuple:
    return np.empty(n, np.int32), np.empty(n), np.empty(n), np.full(n * k if trace else 0, np.nan)


def _placement(
    problem: Problem, order: np.ndarray, preferred: np.ndarray | None, device, start, finish, score, trace: bool
) -> Placement | None:
    if can_bind(problem) and len(planned_schedule(problem, device, start, finish).oom):
        return None
    return _plan(problem, order, preferred, device, start, finish, score, trace)


def _plan(
    problem: Problem, order: np.ndarray, preferred: np.ndarray | None, device, start, finish, score, trace: bool
) -> Placement:
    record = _trace(problem, order, preferred, device, score.reshape(problem.graph.n_ops, -1)) if trace else None
    return Placement(problem, device, planned_order(start, finish, order), float(finish.max()), record)


def _trace(
    problem: Problem, order: np.ndarray, preferred: np.ndarray | None, device: np.ndarray, score: np.ndarray
) -> Trace:
    """One row per op, per group that of its first op, in the order they were placed."""
    group = problem.group[order]
    first = np.zeros(len(order), bool)
    first[group < 0] = True
    first[np.unique(group, return_index=True)[1]] = True
    op = order[first]
    score = score[op]
    reason = np.where((~np.isnan(score)).sum(axis=1) > 1, 0, 1).astype(np.int32)
    if preferred is not None:
        reason[preferred[op] == device[op]] = 2
    return Trace(op, device[op], score, reason, REASONS, "planned finish [s]")
