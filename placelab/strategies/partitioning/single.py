"""All ops on one device: the baseline of every distribution of a model."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.kernels.costs import total_times
from placelab.planning import plan_arrays
from placelab.planning.capacity import listed, needs
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE
from placelab.schedule.trace import Trace


@partitioner(source="Baseline")
def single(problem: Problem, *, trace: bool = False) -> Placement:
    r"""All ops on the one device that holds them and runs them soonest: :math:`\arg\min_d \sum_v exec(v, d)`.

    Notes
    -----
    The device must be allowed for every op and have room for all at once. Ties: lowest device number. O(ops × devices).
    """
    n = problem.graph.n_ops
    took = total_time(problem)
    took[~problem.runs_all | (_short(problem) > 0)] = np.nan
    if np.isnan(took).all():
        raise _infeasible(problem)
    best = int(np.nanargmin(took))
    record = None
    if trace:
        first = frozen(np.zeros(1, dtype=np.int32))
        reasons = ("the fastest device that holds all ops",)
        record = Trace(first, frozen(first + np.int32(best)), took[None], first, reasons, "total time [s]")
    return Placement(problem, np.full(n, best, dtype=np.int32), trace=record)


def total_time(problem: Problem) -> np.ndarray:
    """Seconds that each device takes for all ops, shape (n_devices,)."""
    total = np.empty(problem.cluster.n_devices)
    total_times(plan_arrays.times(problem), np.empty(problem.graph.n_ops), plan_arrays.halves(), total)
    return total


def _short(problem: Problem) -> np.ndarray:
    """Bytes that all ops together need beyond each device's memory, shape (n_devices,)."""
    if problem.memory == "none":
        return np.full(problem.cluster.n_devices, -np.inf)
    held, peak = needs(problem, np.zeros(problem.graph.n_ops))
    memory = problem.cluster.memory
    needed = plan_arrays.total(held) + peak.max()
    return np.where(needed > memory * (1 + TOLERANCE), needed - memory, 0.0)


def _infeasible(problem: Problem) -> InfeasibleError:
    allowed = problem.runs_all
    lack = _short(problem)
    names = problem.cluster.names
    devices = {
        names[d]: f"is short by {lack[d]:.6g} bytes"
        if allowed[d]
        else f"is not allowed for {problem.graph.names[int(np.flatnonzero(~problem.may_run[:, d])[0])]!r}"
        for d in range(len(names))
    }
    why = listed([f"{name} {text}" for name, text in devices.items()])
    message = f"no single device holds all {problem.graph.n_ops} ops in memory model {problem.memory!r}: {why}"
    return InfeasibleError(message, devices=devices, short={names[d]: float(lack[d]) for d in np.flatnonzero(allowed)})
