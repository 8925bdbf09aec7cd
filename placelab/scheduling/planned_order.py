"""Planned order: what the partitioner planned."""

from __future__ import annotations

from placelab.errors import UnsupportedError
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies import Order, scheduler


@scheduler(static=True, source="Topcuoglu et al. 2002; Thesis ch. 4")
def planned(problem: Problem, placement: Placement) -> Order:
    """Each device runs its ops in the order the partitioner planned, and waits for the next one.

    Notes
    -----
    It replays the order, not the times. Under ``parallel`` transfers without Send ops each op starts as soon as that order
    allows, so never later than planned; in a plan made without limits of memory, exactly when planned. Where an op was planned
    to wait for memory that a transfer or another device gives back, it starts at once: the run may then be short of memory
    that the plan had, and is marked (``oom="wait"`` waits, but may end in a deadlock that the plan avoids).

    Raises
    ------
    UnsupportedError
        The partitioner planned no order.
    """
    if placement.planned is None:
        raise UnsupportedError(
            "the scheduler 'planned' needs a partitioner that plans an order, like 'heft'; this placement has none"
        )
    return Order("planned", placement.planned)
