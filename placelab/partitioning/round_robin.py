"""Round robin: one device after the other."""

from __future__ import annotations

import numpy as np

from placelab.kernels.first_fit import first_fit
from placelab.planning.capacity import Assignment
from placelab.problem.graph import frozen
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies import partitioner

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
    queue = np.arange(assignment.units.n, dtype=np.int32)
    next_one = np.full(assignment.units.n, -1, dtype=np.int32)
    sequence = np.arange(problem.cluster.n_devices, dtype=np.int32)
    placed = first_fit(*assignment.arguments, frozen(queue), frozen(next_one), frozen(sequence))
    return assignment.placement(placed, REASONS, "devices passed over")
