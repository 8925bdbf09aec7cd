"""Random order: the baseline of all schedulers."""

from __future__ import annotations

import numpy as np

from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Hashemi et al. 2018, baseline")
def random(problem: Problem, placement: Placement, *, seed: int = 0) -> np.ndarray:
    """A random executable op: priorities are a seeded permutation of the ops.

    Notes
    -----
    No two priorities are equal, so there are no ties. O(log ops) per op.
    """
    return np.random.default_rng(seed).permutation(problem.graph.n_ops).astype(np.float64)
