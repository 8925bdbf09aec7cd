"""Memory in use on each device over time: the curves of a finished schedule, in each memory model."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.explain import memory_curves as kernels
from placelab.schedule.critical_steps import carried

if TYPE_CHECKING:
    from placelab.problem.problem import Problem
    from placelab.schedule.schedule import Schedule

SHORTAGE = np.dtype([("device", "i4"), ("start", "f8"), ("finish", "f8"), ("bytes", "f8")])
TOLERANCE = 1e-9  # relative to the capacity: sums of bytes are floats


Curves = tuple[np.ndarray, np.ndarray, np.ndarray]


class _Kept(NamedTuple):
    """The curves of a schedule, and what they depend on; its transfers by (tensor, destination)."""

    problem: weakref.ref[Problem]
    device: np.ndarray
    start: np.ndarray
    finish: np.ndarray
    transfers: np.ndarray
    curves: Curves


_last: _Kept | None = None


def curves(schedule: Schedule) -> Curves:
    """Memory curves of all devices.

    Every tensor and every op holds bytes on a device during half-open spans [from, to): what an instant frees is free for
    what the same instant takes (spec: Mayer eq. 2, Thesis §3.1, Baechi §4.2).

    Returns
    -------
    ptr : ndarray of int, shape (n_devices + 1,)
    time, size : ndarray
        The curve of device d is ``time[ptr[d]:ptr[d + 1]]`` [s] and ``size[...]`` [bytes]; it begins at time 0.

    Notes
    -----
    Those of the last schedule are kept: a plan is checked for memory before it is simulated, and then mostly runs as planned.
    """
    global _last
    kept, moved = _last, schedule.transfers[_by_key(schedule)]
    if kept is not None and kept.problem() is schedule.problem:
        times = (schedule.device, schedule.start, schedule.finish, moved)
        if all(map(np.array_equal, (kept.device, kept.start, kept.finish, kept.transfers), times)):
            return kept.curves
    curves = _curves(schedule)
    _last = _Kept(weakref.ref(schedule.problem), schedule.device, schedule.start, schedule.finish, moved, curves)
    return curves


def _by_key(schedule: Schedule) -> np.ndarray:
    """The rows of the transfers by (tensor, destination)."""
    moved = schedule.transfers
    return np.argsort(moved["tensor"].astype(np.int64) * schedule.problem.cluster.n_devices + moved["destination"])


def _curves(schedule: Schedule) -> Curves:
    problem, graph, p = schedule.problem, schedule.problem.graph, schedule.device
    k, model = problem.cluster.n_devices, problem.memory
    if model == "reserved":
        return np.arange(k + 1), frozen(np.zeros(k)), frozen(np.bincount(p, graph.memory, minlength=k))
    lasting = np.zeros(graph.n_ops) if model == "edges" else graph.persistent
    changes = _changes(schedule, to_finish=model != "edges")
    order = np.argsort(changes.time, kind=None if _whole(changes.bytes) else "stable").astype(np.int32)
    most = 1 + np.bincount(changes.device, minlength=k)
    first = np.concatenate([[0], np.cumsum(most)[:-1]])
    last, time, size = first.astype(np.int32), np.empty(most.sum()), np.empty(most.sum())
    level = np.bincount(p, lasting, minlength=k)
    kernels.memory_levels(order, changes, level, last, time, size)
    points = np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)])
    ptr = np.concatenate([[0], np.cumsum(last - first + 1)])
    return ptr, frozen(time[points]), frozen(size[points])


def _changes(schedule: Schedule, to_finish: bool) -> kernels.Changes:
    """What changes the memory in use while the schedule runs; a change at an infinite time is left out."""
    graph, moved = schedule.problem.graph, schedule.transfers
    n, tensors, x = graph.n_ops, graph.n_tensors, len(moved)
    changes = kernels.Changes(*(np.empty(2 * n + tensors + x, dtype) for dtype in (np.int32, np.float64, np.float64)))
    temporary = graph.temporary if to_finish else frozen(np.zeros(n))
    count = kernels.memory_changes(
        kernels.Run(*map(frozen, (schedule.device, schedule.start, schedule.finish, temporary))),
        kernels.Tensors(
            graph.tensor_producer, graph.tensor_bytes, graph.tensor_ptr, graph.consumer, carried(schedule).carrier
        ),
        kernels.Moves(*(frozen(moved[name]) for name in ("tensor", "destination", "start", "finish"))),
        to_finish,
        kernels.ChangeWork(np.zeros(n), np.zeros(n), np.full(x, -1, np.int32), np.zeros(tensors)),
        changes,
    )
    finite = np.isfinite(changes.time[:count])
    return kernels.Changes(*(column[:count][finite] for column in changes))


def _whole(size: np.ndarray) -> bool:
    """Whether sums of these bytes are exact in any order, so that the quicker sort will do, which swaps equal times."""
    return bool(np.abs(size).sum() < 2**52 and (size == np.rint(size)).all())


def shortages(schedule: Schedule) -> np.ndarray:
    """Maximal spans in which a device holds more than its memory, by (device, start); the last may end at the makespan."""
    problem = schedule.problem
    if problem.memory == "none" or (most_held(schedule) <= problem.cluster.memory).all():
        return np.zeros(0, dtype=SHORTAGE)
    rows = []
    for d, capacity in enumerate(problem.cluster.memory):
        time, size = schedule.memory(d)
        over = np.concatenate([[False], size > capacity * (1 + TOLERANCE), [False]])
        for a, b in zip(np.flatnonzero(~over[:-1] & over[1:]), np.flatnonzero(over[:-1] & ~over[1:]), strict=True):
            finish = time[b] if b < len(time) else max(schedule.makespan, time[-1])
            rows.append((d, time[a], finish, size[a:b].max() - capacity))
    return np.array(rows, dtype=SHORTAGE)


def most_held(schedule: Schedule) -> np.ndarray:
    """Bytes that each device would hold if nothing that ever comes to it were freed, shape (n_devices,).

    An upper bound of the peaks, without the curves. O(ops + tensors + transfers).
    """
    problem, graph, p, moved = schedule.problem, schedule.problem.graph, schedule.device, schedule.transfers
    k, model = problem.cluster.n_devices, problem.memory_model
    held = np.bincount(p, problem.lasting, minlength=k)
    if model.timed:
        held += np.bincount(p[graph.tensor_producer], graph.tensor_bytes, minlength=k)
        held += np.bincount(moved["destination"], graph.tensor_bytes[moved["tensor"]], minlength=k)
    if model.working:
        held += np.bincount(p, graph.temporary, minlength=k)
    return held
