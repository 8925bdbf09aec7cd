"""Round robin: one device after the other."""

from __future__ import annotations

import numpy as np

from placelab.planning.capacity import Assignment
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASONS = ("its turn", "its turn, after devices without room or leave to run it")


@partitioner(source="Baseline")
def round_robin(problem: Problem, *, trace: bool = False) -> Placement:
    """Ops in topological order to one device after the other.

    Notes
    -----
    Each op or group is tried on the device after that of the one before it; a device that is not allowed or has no room is
    skipped. No ties. O(ops), O(ops × devices) when devices are full.
    """
    assignment = Assignment(problem, trace)
    n = assignment.units.n
    return assignment.first_fit(np.arange(n), np.full(n, -1), REASONS)
