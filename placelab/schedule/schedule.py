"""A schedule: start and finish of every op and transfer, as columns; what it holds in memory over time, in each memory model."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.base.units import bundle
from placelab.kernels import explain
from placelab.kernels import memory_curves as kernels
from placelab.kernels.costs import add_by
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement

TRANSFER = np.dtype([("tensor", "i4"), ("source", "i4"), ("destination", "i4"), ("start", "f8"), ("finish", "f8")])
SHORTAGE = np.dtype([("device", "i4"), ("start", "f8"), ("finish", "f8"), ("bytes", "f8")])
TOLERANCE = 1e-9  # relative to the capacity: sums of bytes are floats
Curves = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Start and finish of every op and transfer in a simulated or planned run of a placement.

    Attributes
    ----------
    start, finish : ndarray, shape (n_ops,)
        Seconds.
    transfers : structured ndarray
        ``tensor, source, destination, start, finish``: one row per (tensor, destination), by (producer, destination, tensor).
        ``start`` is when it leaves its source, ``finish`` when it has arrived, its latency included. Where ``problem.latency``
        is ``"follows"``, its port or channel is free before that.
    sends : structured ndarray
        The Send op of each transfer, on its source, row by row; empty unless ``problem.transfer_ops > 0``.
    scheduler, seed, options
        What made it: name, seed and options of the scheduler.
    oom_rule : str
        What was to happen where memory is short: the ``oom`` of :func:`placelab.simulate`.
    """

    placement: Placement
    start: np.ndarray
    finish: np.ndarray
    transfers: np.ndarray
    sends: np.ndarray
    scheduler: str = ""
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    oom_rule: str = "mark"

    def __post_init__(self) -> None:
        for label in ("start", "finish", "transfers", "sends"):
            object.__setattr__(self, label, frozen(getattr(self, label)))

    @property
    def problem(self) -> Problem:
        """The problem it solves."""
        return self.placement.problem

    @property
    def device(self) -> np.ndarray:
        """Device of each op, shape (n_ops,), int32."""
        return self.placement.device

    @cached_property
    def makespan(self) -> float:
        """Finish of the last op [s]."""
        return float(self.finish.max())

    def order(self, device: int | str) -> np.ndarray:
        """Ops of one device in the order they start (ties: the one that finishes first, then op number)."""
        ops = np.flatnonzero(self.device == self.problem.cluster.index(device))
        return ops[np.lexsort((ops, self.finish[ops], self.start[ops]))]

    @cached_property
    def _curves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return curves(self)

    def memory(self, device: int | str) -> tuple[np.ndarray, np.ndarray]:
        """Memory in use on a device over time, in the problem's memory model: (times [s], bytes).

        A right-continuous step curve: from ``times[i]`` on, ``bytes[i]`` are in use, until ``times[i + 1]``. Under memory
        model ``none``: what ``dynamic`` counts.
        """
        d = self.problem.cluster.index(device)
        ptr, time, size = self._curves
        return time[ptr[d] : ptr[d + 1]], size[ptr[d] : ptr[d + 1]]

    @cached_property
    def peak_memory(self) -> np.ndarray:
        """Largest number of bytes in use on each device, shape (n_devices,)."""
        ptr, _, size = self._curves
        return frozen(np.maximum.reduceat(size, ptr[:-1]))

    @cached_property
    def oom(self) -> np.ndarray:
        """Spans in which a device holds more than its memory: ``device, start, finish, bytes`` (the most it is short of)."""
        return frozen(shortages(self))

    def __repr__(self) -> str:
        unit = " s" if self.problem.cluster.units.si else ""
        return f"Schedule({self.scheduler or 'given'}: makespan {self.makespan:.6g}{unit}, {len(self.transfers)} transfers)"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle(self)


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
    kept = _last
    moved = schedule.transfers[_by_key(schedule)]
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
    problem = schedule.problem
    graph = schedule.problem.graph
    p = schedule.device
    k = problem.cluster.n_devices
    model = problem.memory
    if model == "reserved":
        return np.arange(k + 1), frozen(np.zeros(k)), _by_device(problem, p, graph.memory)
    lasting = np.zeros(graph.n_ops) if model == "edges" else graph.persistent
    changes = _changes(schedule, to_finish=model != "edges")
    order = np.argsort(changes.time, kind=None if _whole(changes.bytes) else "stable").astype(np.int32)
    most = 1 + np.bincount(changes.device, minlength=k)
    first = np.concatenate([[0], np.cumsum(most)[:-1]])
    last = first.astype(np.int32)
    time = np.empty(most.sum())
    size = np.empty(most.sum())
    level = _by_device(problem, p, lasting)
    kernels.memory_levels(order, changes, level, last, time, size)
    points = np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)])
    ptr = np.concatenate([[0], np.cumsum(last - first + 1)])
    return ptr, frozen(time[points]), frozen(size[points])


def _by_device(problem: Problem, device: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Bytes of the ops on each device."""
    level = np.zeros(problem.cluster.n_devices)
    add_by(frozen(device), frozen(held), level)
    return level


def _changes(schedule: Schedule, to_finish: bool) -> kernels.Changes:
    """What changes the memory in use while the schedule runs; a change at an infinite time is left out."""
    graph = schedule.problem.graph
    moved = schedule.transfers
    n = graph.n_ops
    tensors = graph.n_tensors
    x = len(moved)
    changes = kernels.Changes(*(np.empty(2 * n + tensors + x, dtype) for dtype in (np.int32, np.float64, np.float64)))
    temporary = graph.temporary if to_finish else frozen(np.zeros(n))
    count = kernels.memory_changes(
        kernels.OpTimes(*map(frozen, (schedule.device, schedule.start, schedule.finish, temporary))),
        kernels.Tensors(
            graph.tensor_producer,
            graph.tensor_bytes,
            frozen(graph.storages_on(schedule.device)),
            graph.storage_bytes,
            graph.tensor_ptr,
            graph.consumer,
            carried(schedule).carrier,
        ),
        kernels.TransferTimes(*(frozen(moved[name]) for name in ("tensor", "destination", "start", "finish"))),
        to_finish,
        kernels.ChangeWork(
            *(np.zeros(n), np.zeros(n), np.full(x, -1, np.int32), np.zeros(tensors), np.full(tensors, -1, np.int32)),
            *(np.full(tensors, -np.inf), np.full(tensors, -1, np.int32)),
        ),
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
    problem = schedule.problem
    graph = schedule.problem.graph
    p = schedule.device
    moved = schedule.transfers
    k = problem.cluster.n_devices
    model = problem.memory_model
    held = np.bincount(p, problem.lasting, minlength=k)
    if model.timed:
        held += np.bincount(p[graph.tensor_producer], graph.tensor_bytes, minlength=k)
        held += np.bincount(moved["destination"], graph.tensor_bytes[moved["tensor"]], minlength=k)
    if model.working:
        held += np.bincount(p, graph.temporary, minlength=k)
    return held


def carriers(schedule: Schedule) -> np.ndarray:
    """Number of the transfer that carries each edge, -1 within a device; shape (n_edges,). O(edges + transfers)."""
    graph = schedule.problem.graph
    moved = schedule.transfers
    k = schedule.problem.cluster.n_devices
    carrier = np.empty(graph.n_edges, np.int32)
    explain.carriers(
        *(graph.tensor_ptr, graph.consumer, frozen(moved["tensor"]), frozen(moved["destination"]), schedule.device),
        explain.CarrierWork(*(np.empty(size, np.int32) for size in (graph.n_tensors, len(moved), k, k))),
        carrier,
    )
    return frozen(carrier)


@once
def carried(schedule: Schedule) -> explain.Carried:
    """The transfers that carry each edge, and when they are over."""
    return explain.Carried(carriers(schedule), frozen(schedule.transfers["finish"]))


def busy_time(schedule: Schedule) -> np.ndarray:
    """Seconds each device runs ops and Sends, shape (n_devices,)."""
    k = schedule.problem.cluster.n_devices
    sends = schedule.sends
    ran = np.bincount(schedule.device, schedule.finish - schedule.start, minlength=k)
    return ran + np.bincount(sends["source"], sends["finish"] - sends["start"], minlength=k)


def planned_schedule(
    problem: Problem,
    device: np.ndarray,
    start: np.ndarray,
    finish: np.ndarray,
    times: tuple[np.ndarray, np.ndarray] | None = None,
) -> Schedule:
    """A plan as a Schedule, for checks of its memory.

    Parameters
    ----------
    device, start, finish
        Of each op, shape (n_ops,); seconds.
    times
        When each tensor leaves for a device and is there, shape (n_tensors * n_devices,) each, if transfers wait for links;
        without them a transfer leaves when its producer ends.

    Returns
    -------
    Schedule
        Transfers leave when their producer ends, with ``transfer_ops`` one Send later; the Sends themselves are left out.
    """
    graph = problem.graph
    cluster = problem.cluster
    source = device[graph.producer]
    destination = device[graph.consumer]
    leaves = np.flatnonzero(source != destination)
    key = graph.edge_tensor[leaves].astype(np.int64) * cluster.n_devices + destination[leaves]
    edge = leaves[np.unique(key, return_index=True)[1]]
    transfers = np.empty(len(edge), TRANSFER)
    transfers["tensor"] = graph.edge_tensor[edge]
    transfers["source"] = source[edge]
    transfers["destination"] = destination[edge]
    link = (source[edge], destination[edge])
    transfers["start"] = finish[graph.producer[edge]] + problem.transfer_ops / cluster.speed[source[edge]]
    transfers["finish"] = transfers["start"] + cluster.latency[link] + graph.edge_bytes[edge] / cluster.bandwidth[link]
    if times is not None:
        transfers["start"], transfers["finish"] = (time[np.unique(key)] for time in times)
    return Schedule(Placement(problem, device), start, finish, transfers, np.empty(0, TRANSFER), "plan")
