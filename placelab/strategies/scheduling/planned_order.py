"""Planned order: what the partitioner planned."""

from __future__ import annotations

from placelab.base.errors import UnsupportedError
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Topcuoglu et al. 2002; Thesis ch. 4")
def planned(problem: Problem, placement: Placement) -> Order:
    """Each device runs its ops in the order the partitioner planned, and waits for the next one.

    Notes
    -----
    It replays the order, not the times, but an op that was planned to wait for memory starts no earlier than planned
    (``placement.not_before``). So under ``parallel`` transfers without Send ops the run is the plan, and within memory if the
    plan is. Under contention and with Send ops the run may leave the plan, and then be short of memory that the plan had:
    :func:`placelab.place` holds ops back where that helps (:func:`placelab.strategies.placing.held_back`), and notes of the
    placement say how long the run takes where that is not the estimate, and what it lacks of memory. Holding back does
    not help where an op was planned to take two tensors as they come, and one now waits for the other: ``edges`` mostly. Of
    small random plans with little memory, 21 of 303 are short under ``edges`` and 11 stay so, under ``dynamic`` 4 of 187 and 1;
    of 16 plans of ResNetV2-152 that are short 2 stay so (``python -m pytest -sq --hypothesis-profile=thorough
    tests/strategies/test_held_back.py`` prints these numbers). A sequence has no ties; O(1) per op.

    Raises
    ------
    UnsupportedError
        The partitioner planned no order.
    """
    if placement.planned is None:
        raise UnsupportedError(
            "the scheduler 'planned' needs a partitioner that plans an order, like 'heft'; this placement has none"
        )
    return Order("planned", placement.planned, not_before=placement.not_before)
