"""Memory in use on each device over time: the curves of a finished schedule, in each memory model."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.problem.graph import frozen

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
    found = _curves(schedule)
    _last = _Kept(weakref.ref(schedule.problem), schedule.device, schedule.start, schedule.finish, moved, found)
    return found


def _by_key(schedule: Schedule) -> np.ndarray:
    """The rows of the transfers by (tensor, destination)."""
    moved = schedule.transfers
    return np.argsort(moved["tensor"].astype(np.int64) * schedule.problem.cluster.n_devices + moved["destination"])


def _curves(schedule: Schedule) -> Curves:
    k = schedule.problem.cluster.n_devices
    device, begin, end, size = _spans(schedule)
    held = (end > begin) & (size > 0)
    device, begin, end, size = device[held], begin[held], end[held], size[held]
    device = np.concatenate([np.arange(k), device, device])
    time = np.concatenate([np.zeros(k), begin, end])
    delta = np.concatenate([np.zeros(k), size, -size])
    finite = np.isfinite(time)
    device, time, delta = device[finite], time[finite], delta[finite]
    order = np.argsort(time, kind=None if _whole(size) else "stable")
    order = order[
        np.argsort(device[order].astype(np.uint16), kind="stable")
    ]  # by radix, as no matrix of links has 65,536 rows
    device, time, delta = device[order], time[order], delta[order]
    last = np.ones(len(time), bool)
    last[:-1] = (time[1:] != time[:-1]) | (device[1:] != device[:-1])
    ptr = np.zeros(k + 1, dtype=np.int64)
    np.cumsum(np.bincount(device[last], minlength=k), out=ptr[1:])
    each = np.split(delta, np.searchsorted(device, np.arange(1, k)))  # on its own, whatever another device holds
    total = np.concatenate([np.cumsum(part) for part in each])
    return ptr, frozen(time[last]), frozen(np.maximum(total[last], 0.0))


def _whole(size: np.ndarray) -> bool:
    """Whether sums of these bytes are exact in any order, so that the quicker sort will do, which swaps equal times."""
    return bool(size.sum() < 2**52 and (size == np.rint(size)).all())


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


def _spans(schedule: Schedule) -> tuple[np.ndarray, ...]:
    """(device, from, to, bytes) of everything that holds memory."""
    graph, p = schedule.problem.graph, schedule.device
    model = schedule.problem.memory
    zero, never = np.zeros(graph.n_ops), np.full(graph.n_ops, np.inf)
    if model == "reserved":
        return p, zero, never, graph.memory
    home, received = _tensors(schedule, to_finish=model != "edges")
    if model == "edges":
        return tuple(np.concatenate(pair) for pair in zip(home, received, strict=True))
    weights = (p, zero, never, graph.persistent)
    work = (p, schedule.start, schedule.finish, graph.temporary)
    return tuple(np.concatenate(columns) for columns in zip(weights, work, home, received, strict=True))


def _tensors(schedule: Schedule, to_finish: bool) -> tuple[tuple, tuple]:
    """Spans of the tensors on their producer's device and of their received copies.

    `to_finish` (``dynamic``): from the producer's or the transfer's start to the last consumer's finish; otherwise (``edges``)
    from the producer's or the transfer's finish to the last consumer's start. Both keep the sender's copy until the last
    transfer has finished.
    """
    graph, p, moved = schedule.problem.graph, schedule.device, schedule.transfers
    k, made = schedule.problem.cluster.n_devices, graph.tensor_producer
    used = (schedule.finish if to_finish else schedule.start)[graph.consumer]
    begin = (schedule.start if to_finish else schedule.finish)[made]
    end = schedule.finish[made].copy()
    local = p[graph.producer] == p[graph.consumer]
    np.maximum.at(end, graph.edge_tensor[local], used[local])
    np.maximum.at(end, moved["tensor"], moved["finish"])
    arrive = moved["start"] if to_finish else moved["finish"]
    key = moved["tensor"].astype(np.int64) * k + moved["destination"]
    order = _by_key(schedule)
    edge_key = graph.edge_tensor[~local].astype(np.int64) * k + p[graph.consumer[~local]]
    row = order[np.searchsorted(key[order], edge_key)] if len(edge_key) else np.empty(0, np.int64)
    last = np.zeros(len(moved))
    np.maximum.at(last, row, used[~local])
    size = graph.tensor_bytes
    home = p[made], begin, end, size
    received = moved["destination"], arrive, last, size[moved["tensor"]]
    return home, tuple(column[order] for column in received)  # rounding does not depend on the order of the transfers
