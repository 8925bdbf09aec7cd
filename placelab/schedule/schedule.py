"""A schedule: start and finish of every op and transfer, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.shown import bundle
from placelab.problem.problem import Problem
from placelab.schedule.memory import curves, shortages
from placelab.schedule.placement import Placement

TRANSFER = np.dtype([("tensor", "i4"), ("source", "i4"), ("destination", "i4"), ("start", "f8"), ("finish", "f8")])


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
    shortage : str
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
    shortage: str = "mark"

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
