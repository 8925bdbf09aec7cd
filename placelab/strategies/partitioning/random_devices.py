"""Random devices: the baseline of all strategies."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.unit_by_unit import draw
from placelab.planning.capacity import Assignment
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Srivastava 2018 ch. 10, random cut")
def random(problem: Problem, *, seed: int = 0, trace: bool = False) -> Placement:
    """A random device with room, all equally likely: the baseline below which no strategy should fall.

    Notes
    -----
    Groups as one; in order of op number. O(ops × devices).
    """
    assignment = Assignment(problem, trace)
    number = frozen(np.random.default_rng(seed).random(assignment.units.n))
    placed = draw(*assignment.arguments, number, frozen(np.ones(problem.cluster.n_devices)))
    return assignment.placement(placed, ("drawn at random",), "share of the draw")
