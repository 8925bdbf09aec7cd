"""Importance of ops and devices: Mayer's total rank and the devices' speeds, each relative to the largest."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.planning.ranks import STEPS, compute_rank, mean_exec, rounded
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem


def relative_rank(graph: OpGraph) -> np.ndarray:
    """Total rank (Mayer 2017 §3.2: upward plus downward) over the largest total rank, in [0, 1]; shape (n_ops,).

    :func:`placelab.planning.ranks.rounded` to multiples of 2⁻⁴⁰, so that op numbers decide ties, and not rounding errors.
    """
    return frozen(rounded(compute_rank(graph)[2]) / STEPS)


def relative_speed(problem: Problem) -> np.ndarray:
    """Speed of each device over the fastest one's, in (0, 1]; shape (n_devices,).

    When the graph has measured times, ``speed`` says little: then the mean times (over devices) of the ops a device
    may run, over its own times for them; 1 before scaling for a device that has nothing to run. Where times are
    compute over speed, both are the same.
    """
    speed = problem.cluster.speed
    if problem.graph.time is not None:
        own = problem.exec_table(otherwise=np.nan)
        took, mean = np.nansum(own, axis=0), np.where(np.isnan(own), 0.0, mean_exec(problem)[:, None]).sum(axis=0)
        speed = np.divide(mean, took, out=np.ones(len(took)), where=took > 0)
    return frozen(speed / speed.max())


def by_speed(problem: Problem) -> np.ndarray:
    """Devices from the fastest to the slowest, ties by device number; shape (n_devices,), int32."""
    return frozen(np.argsort(-relative_speed(problem), kind="stable").astype(np.int32))
