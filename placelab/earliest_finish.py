"""Each op to the device where it finishes soonest: list scheduling of a whole problem, in an order or as ops become ready.

A kernel makes the plan as if memory were unlimited. If no device ever runs out in it, that is the plan; else
:class:`placelab.list_scheduler.ListScheduler` makes another one, op by op, with memory tracked over time, setting an op that
has no room anywhere aside until memory is freed. Without limits both give the same plan to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from placelab.graph import frozen
from placelab.kernels import list_schedule as kernels
from placelab.list_scheduler import ListScheduler, planned_order, transfer_delay
from placelab.memory_plan import can_bind
from placelab.planned import planned_schedule
from placelab.problem import Problem
from placelab.schedule import Placement, Trace

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
    if placement is not None:
        return placement
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return one_by_one(ListScheduler(problem, insertion, trace), lambda v: place[v], preferred)


def as_ready(problem: Problem, *, trace: bool = False) -> Placement:
    """Each op, when its last input has been computed, to the device where it would finish soonest if appended there.

    Ops are taken by (time their last input was computed, op number); ties between devices: the lower.
    """
    placement = _as_ready_kernel(problem, trace)
    if placement is not None:
        return placement
    s, graph = ListScheduler(problem, trace=trace), problem.graph
    return one_by_one(
        s,
        lambda v: s.finish[graph.producer[graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]]].max(initial=0.0),
    )


def one_by_one(s: ListScheduler, key: Callable[[int], Any], preferred: np.ndarray | None = None) -> Placement:
    """Of the ops whose inputs are placed always the one of smallest (key, op number), as the module says.

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
            s.feasible(min(aside)[1])  # raises, naming the op and what each device lacks
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
        np.empty(k, np.int32), np.empty(room if insertion else 1), np.empty(room),
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


def edge_arguments(problem: Problem) -> tuple:
    """Edges by consumer, as planning kernels take them."""
    graph = problem.graph
    return graph.pred_ptr, graph.pred_edge, graph.producer, graph.edge_bytes


def device_arguments(problem: Problem) -> tuple:
    """cost … group, as planning kernels take them."""
    k, mask = problem.cluster.n_devices, problem.mask
    allowed = frozen(np.ones(k, np.uint8) if mask is None else mask.reshape(-1).view(np.uint8))
    times = (problem.cost, problem.column, problem.divisor, problem.columns)
    links = (transfer_delay(problem)[1].reshape(-1), problem.cluster.bandwidth.reshape(-1))
    return (*times, *links, allowed, 0 if mask is None else k, problem.group)


def _results(n: int, k: int, trace: bool) -> tuple:
    return np.empty(n, np.int32), np.empty(n), np.empty(n), np.full(n * k if trace else 0, np.nan)


def _placement(
    problem: Problem, order: np.ndarray, preferred: np.ndarray | None, device, start, finish, score, trace: bool
) -> Placement | None:
    if can_bind(problem) and len(planned_schedule(problem, device, start, finish).oom):
        return None
    record = _trace(problem, order, preferred, device, score.reshape(problem.graph.n_ops, -1)) if trace else None
    return Placement(problem, device, planned_order(start, finish), float(finish.max()), record)


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
