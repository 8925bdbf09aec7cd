"""Simulate a placement whose devices share a few cores: list simulation with a limited number of running tasks.

In the simulator every device has its own processor. Virtual devices share the machine's cores: ops and, if tensors are copied,
transfers take turns. This model keeps the simulator's rules (a transfer starts when its producer ends, first come, first
served) and adds that limit. A device need not be exclusive: virtual CPU devices of one process are not.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

import placelab as pl


class Run(NamedTuple):
    """Start and finish of each op [s], shape (n_ops,)."""

    start: np.ndarray
    finish: np.ndarray

    @property
    def makespan(self) -> float:
        return float(self.finish.max())


def run(schedule: pl.Schedule, cores: int, work: Any = 0.0, exclusive: bool = True) -> Run:
    """Run a schedule's placement on few cores, first come, first served.

    Parameters
    ----------
    schedule
        Schedule from the simulator: devices, transfers and the durations of both ops and transfers.
    cores
        Tasks that may run at once, on all devices together.
    work
        Seconds of each transfer, as in ``schedule.transfers``, that need a core; scalar or shape (n_transfers,). The rest
        of a transfer's time needs no core.
    exclusive
        Whether a device runs one op at a time, as in the simulator.

    Notes
    -----
    Tasks that are ready at the same time start by number, ops before transfers. O((ops + edges) log ops) for few devices.
    """
    return _Machine(schedule, cores, work, exclusive).run()


class _Machine:
    """Ops are tasks 0 … n-1, transfers n …; waiting ops are in their device's lane, transfers in the last lane."""

    def __init__(self, schedule: pl.Schedule, cores: int, work: Any, exclusive: bool) -> None:
        graph = schedule.problem.graph
        sent = schedule.transfers
        n = graph.n_ops
        k = schedule.problem.cluster.n_devices
        lasting = np.concatenate([schedule.finish - schedule.start, sent["finish"] - sent["start"]])
        core = np.concatenate([lasting[:n], np.broadcast_to(np.asarray(work, float), len(sent))])
        self.core = core
        self.rest = np.maximum(lasting - core, 0.0)
        self.lane = np.concatenate([schedule.device, np.full(len(sent), k)])
        self.after, self.missing = _successors(schedule)
        self.limit = np.array([1 if exclusive else cores] * k + [cores])
        self.waiting: list[list[tuple[float, int]]] = [[] for _ in self.limit]
        self.events: list[tuple[float, int, bool]] = []  # time, task, whether it leaves its core or is complete
        self.running = np.zeros(k + 1, int)
        self.free = cores
        self.n = n
        self.start = np.zeros(len(core))
        self.finish = np.zeros(len(core))

    def run(self) -> Run:
        for task in np.flatnonzero(self.missing == 0).tolist():
            self._wait(0.0, task)
        self._fill(0.0)
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                self._happen(*heappop(self.events))
            self._fill(now)
        return Run(self.start[: self.n], self.finish[: self.n])

    def _happen(self, now: float, task: int, complete: bool) -> None:
        if not complete:
            self.free += 1
            self.running[self.lane[task]] -= 1
            heappush(self.events, (now + self.rest[task], task, True))
            return
        self.finish[task] = now
        for follower in self.after[task]:
            self.missing[follower] -= 1
            if self.missing[follower] == 0:
                self._wait(now, follower)

    def _wait(self, now: float, task: int) -> None:
        if task >= self.n and not self.core[task]:
            heappush(self.events, (now + self.rest[task], task, True))  # needs no core
        else:
            heappush(self.waiting[self.lane[task]], (now, task))

    def _fill(self, now: float) -> None:
        """Start the tasks that have waited longest, while cores are free."""
        while self.free and (lanes := [i for i, w in enumerate(self.waiting) if w and self.running[i] < self.limit[i]]):
            lane = min(lanes, key=lambda i: self.waiting[i][0])
            task = heappop(self.waiting[lane])[1]
            self.free -= 1
            self.running[lane] += 1
            self.start[task] = now
            heappush(self.events, (now + self.core[task], task, False))


def _successors(schedule: pl.Schedule) -> tuple[list[list[int]], np.ndarray]:
    """Successors of each task, and its number of predecessors."""
    graph = schedule.problem.graph
    device = schedule.device
    sent = schedule.transfers
    n = graph.n_ops
    number = {
        key: n + i for i, key in enumerate(zip(sent["tensor"].tolist(), sent["destination"].tolist(), strict=True))
    }
    after: list[list[int]] = [[] for _ in range(n + len(sent))]
    for tensor, transfer in zip(sent["tensor"].tolist(), range(n, n + len(sent)), strict=True):
        after[graph.tensor_producer[tensor]].append(transfer)
    for tensor, u, v in zip(graph.edge_tensor.tolist(), graph.producer.tolist(), graph.consumer.tolist(), strict=True):
        after[number[tensor, int(device[v])] if device[u] != device[v] else u].append(v)
    missing = np.bincount([v for followers in after for v in followers], minlength=len(after))
    return after, missing
