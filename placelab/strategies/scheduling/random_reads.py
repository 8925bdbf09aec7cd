"""Random order of reads: a framework that enforces none."""

from __future__ import annotations

import numpy as np

from placelab.planning.read_orders import Reads
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Hashemi et al. 2018, baseline")
def random_reads(problem: Problem, placement: Placement, *, seed: int = 0) -> Order:
    """Each worker reads its parameters in a random order of its own; all else is first come, first served.

    Notes
    -----
    A seeded permutation of the reads of each worker and iteration. What counts as a read is as with ``tic``. No ties;
    O(ops log ops + edges).
    """
    reads = Reads.of(problem, placement)
    random = np.random.default_rng(seed)
    parts = [random.permutation(n) for n in np.diff(reads.ptr).tolist()]
    return reads.order(np.concatenate([*parts, np.empty(0, np.int64)]))
