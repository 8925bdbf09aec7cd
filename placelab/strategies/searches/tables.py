"""Tables of a problem for exact solvers: times, delays and windows, in seconds or in whole units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.planning.capacity import Units, units
from placelab.planning.plan_arrays import transfer_delay
from placelab.problem.problem import Problem

FINE = 2**30  # units that a makespan is cut into where times are no multiples of a common one


@dataclass(frozen=True, eq=False)
class Tables:
    """A problem without contention: start(v) ≥ finish(u) + delay of the arc u → v between their devices.

    Attributes
    ----------
    units : Units
        Ops that share a device; units stand for ops wherever devices are meant.
    allowed : ndarray of bool, shape (n_units, n_devices)
    time : ndarray, shape (n_ops, n_devices)
        Seconds; infinite where not allowed.
    producer, consumer : ndarray of int, shape (n_arcs,)
        Distinct pairs of ops joined by edges, sorted.
    delay : ndarray, shape (n_arcs, n_devices, n_devices)
        Seconds from source to destination: of the largest tensor between the two, its Send included; 0 on the diagonal.
    """

    units: Units
    allowed: np.ndarray
    time: np.ndarray
    producer: np.ndarray
    consumer: np.ndarray
    delay: np.ndarray

    @property
    def n_ops(self) -> int:
        """Number of ops."""
        return len(self.time)

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return self.time.shape[1]

    @cached_property
    def apart(self) -> np.ndarray:
        """Arcs between ops that may be on different devices, shape (n_arcs,)."""
        return self.units.of[self.producer] != self.units.of[self.consumer]

    @cached_property
    def _reachable_delay(self) -> np.ndarray:
        """Delays, infinite between devices where a unit would be split."""
        split = ~self.apart[:, None, None] & ~np.eye(self.n_devices, dtype=bool)
        return np.where(split, np.inf, self.delay)

    @cached_property
    def head(self) -> np.ndarray:
        """Least start of each op on each device, whatever happens elsewhere; shape (n_ops, n_devices)."""
        head = np.zeros((self.n_ops, self.n_devices))
        for a in np.argsort(self.consumer, kind="stable"):  # ops are numbered topologically
            u = self.producer[a]
            v = self.consumer[a]
            arrives = (head[u] + self.time[u])[:, None] + self._reachable_delay[a]
            head[v] = np.maximum(head[v], arrives.min(axis=0))
        return frozen(head)

    @cached_property
    def tail(self) -> np.ndarray:
        """Least time from each op's start on each device to the end of everything; shape (n_ops, n_devices)."""
        after = np.zeros((self.n_ops, self.n_devices))
        for a in np.argsort(-self.producer, kind="stable"):
            u = self.producer[a]
            v = self.consumer[a]
            rest = self._reachable_delay[a] + (self.time[v] + after[v])[None, :]
            after[u] = np.maximum(after[u], rest.min(axis=1))
        return frozen(self.time + after)

    @cached_property
    def longest_path(self) -> float:
        """Lower bound on the makespan: the longest path, each op and transfer on the devices that suit it best [s]."""
        return float((self.head + self.tail).min(axis=1).max())

    @cached_property
    def related(self) -> np.ndarray:
        """Whether a path leads from op u to op v, shape (n_ops, n_ops)."""
        path = np.zeros((self.n_ops, self.n_ops), dtype=bool)
        for a in np.argsort(-self.producer, kind="stable"):
            u = self.producer[a]
            v = self.consumer[a]
            path[u] |= path[v]
            path[u, v] = True
        return frozen(path)

    def windows(self, latest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Devices left to each unit, and first and last start of each op, where no op on a device starts after `latest` there.

        `latest` and devices have the shapes of ``head`` and ``allowed``. The last start is never before the first.
        """
        may = self.allowed.copy()
        np.logical_and.at(may, self.units.of, self.head <= latest)
        ops = may[self.units.of]
        first = np.where(ops, self.head, np.inf).min(axis=1)
        return may, first, np.maximum(np.where(ops, latest, -np.inf).max(axis=1), first)

    @property
    def serial(self) -> float:
        """Upper bound on the least makespan: all ops and transfers one after the other, each at its longest [s]."""
        longest = np.where(np.isfinite(self.time), self.time, 0).max(axis=1)
        return float(longest.sum() + self.delay.max(axis=(1, 2), initial=0).sum())

    def scaled(self, makespan: float) -> Tables:
        """The same with `makespan` as the unit of time."""
        return replace(self, time=self.time / makespan, delay=self.delay / makespan)

    def starts(self, device: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Start of each op if every device runs its ops in this order, each as early as possible; shape (n_ops,)."""
        arcs = np.split(
            np.argsort(self.consumer, kind="stable"), np.cumsum(np.bincount(self.consumer, minlength=self.n_ops))
        )
        start, finish, free = (np.zeros(size, self.time.dtype) for size in (self.n_ops, self.n_ops, self.n_devices))
        for v in order.tolist():
            u = self.producer[arcs[v]]
            d = device[v]
            arrives = finish[u] + self.delay[arcs[v], device[u], d]
            start[v] = max(free[d], arrives.max(initial=0))
            finish[v] = free[d] = start[v] + self.time[v, d]
        return start

    def makespan(self, device: np.ndarray, start: np.ndarray) -> float:
        """Finish of the last op."""
        return (start + self.time[np.arange(self.n_ops), device]).max()


def tables(problem: Problem) -> Tables:
    """The tables of a problem, in seconds. O(ops · devices + arcs · devices²)."""
    graph = problem.graph
    cluster = problem.cluster
    k = problem.cluster.n_devices
    group = units(problem)
    pairs, pair = np.unique(graph.producer.astype(np.int64) * graph.n_ops + graph.consumer, return_inverse=True)
    size = np.zeros(len(pairs))
    np.maximum.at(size, pair, graph.edge_bytes)
    delay = transfer_delay(problem)[1] + size[:, None, None] / cluster.bandwidth
    delay[:, np.arange(k), np.arange(k)] = 0.0
    producer = pairs // graph.n_ops
    consumer = pairs % graph.n_ops
    return Tables(group, problem.may_run[group.first], problem.exec_table(otherwise=np.inf), producer, consumer, delay)


def whole(table: Tables, makespan: float, also: np.ndarray | None = None) -> tuple[Tables, float]:
    """The same in whole units, rounded down, and how many seconds a unit is; `makespan` [s] is some schedule's, above 0.

    The unit suits the times of `also`, too, if it can.

    Rounded down, a least makespan in units is a lower bound on the one in seconds. Times that are all multiples of one power
    of two (whole numbers among them) are not rounded at all; else a unit is `makespan` / 2³⁰. What takes longer than
    `makespan` counts as twice that.
    """
    times = np.minimum(table.time, 2 * makespan)
    delays = np.minimum(table.delay, 2 * makespan)
    every = [times.reshape(-1), delays.reshape(-1), *([] if also is None else [also.reshape(-1)])]
    unit = _common_unit(np.concatenate(every), makespan) or makespan / FINE
    times, delays = (np.floor(seconds / unit).astype(np.int64) for seconds in (times, delays))
    return replace(table, time=times, delay=delays), unit


def _common_unit(values: np.ndarray, makespan: float) -> float | None:
    """Largest unit of which all values are multiples, if it is no smaller than makespan / 2³⁰."""
    values = np.unique(values[(values > 0) & (values < 2 * makespan)])
    mantissa, exponent = np.frexp(values)
    bits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = (exponent - 53 + np.log2(bits & -bits)).min(initial=0)
    if makespan / 2.0**lowest > 2**62:
        return None
    unit = float(np.gcd.reduce((values / 2.0**lowest).astype(np.int64)) * 2.0**lowest)
    return unit if makespan <= FINE * unit else None


def interchangeable(problem: Problem) -> np.ndarray:
    """Class of each device: devices of one class can be swapped without any change; shape (n_devices,), numbered from 0."""
    k = problem.cluster.n_devices
    kind = np.arange(k)
    for d in range(k):
        for e in range(d):
            if kind[e] == e and _same(problem, d, e):
                kind[d] = e
                break
    return frozen(np.unique(kind, return_inverse=True)[1])


def _same(problem: Problem, d: int, e: int) -> bool:
    cluster = problem.cluster
    swap = np.arange(problem.cluster.n_devices)
    swap[[d, e]] = e, d
    of_device = [cluster.speed, problem.divisor, problem.column, cluster.memory]
    links = [cluster.latency, cluster.bandwidth]
    return (
        all(values[d] == values[e] for values in of_device)
        and np.array_equal(problem.may_run[:, d], problem.may_run[:, e])
        and all(np.array_equal(link[np.ix_(swap, swap)], link) for link in links)
    )


def neighbours(kind: np.ndarray) -> Iterator[tuple[int, int]]:
    """Interchangeable devices, each with the next of its class."""
    for c in np.unique(kind):
        yield from pairwise(np.flatnonzero(kind == c).tolist())


def infeasible(problem: Problem, over_time: bool = False) -> InfeasibleError:
    """The error for a problem that fits on the devices in no way, though each op may fit alone.

    Its lasting bytes do not fit or, `over_time`, no schedule stays within memory at all times.
    """
    limited = [
        name for name, size in zip(problem.cluster.names, problem.cluster.memory, strict=True) if np.isfinite(size)
    ]
    if over_time:
        reasons = dict.fromkeys(limited, "no order of ops stays within it")
        return InfeasibleError(
            f"no schedule stays within memory at all times in memory model {problem.memory!r}; add memory, or relax groups and "
            "allowed devices",
            devices=reasons,
        )
    names = problem.graph.names
    cluster = problem.cluster
    kept = problem.lasting
    largest = int(np.argmax(kept))
    capacities = ", ".join(f"{name} {size:.6g}" for name, size in zip(cluster.names, cluster.memory, strict=True))
    return InfeasibleError(
        f"the ops fit on the devices in no way in memory model {problem.memory!r}: they keep {kept.sum():.6g} bytes, "
        f"{names[largest]!r} the most, {kept[largest]:.6g}; the devices have {capacities}; add memory, or relax groups and "
        "allowed devices",
        devices=dict.fromkeys(limited, "all together have no room for what the ops keep"),
    )
