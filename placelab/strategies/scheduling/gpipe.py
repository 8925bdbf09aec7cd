"""GPipe: all forward passes, then all backward passes."""

from __future__ import annotations

from placelab.planning.pipeline_orders import Ranks, Slot, backward, in_sequence, ranks_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Huang et al. 2019")
def gpipe(problem: Problem, placement: Placement) -> Order:
    """All micro-batches forward, then all backward, in the same order.

    Notes
    -----
    On p equal stages, m micro-batches, no transfer times and one backward op of B + W seconds: bubble ``(p - 1)(F + B + W)``,
    ``(p - 1) / (m + p - 1)`` of the makespan; m activations on each device. Where W is an op of its own, it follows its B, the
    stage before waits for B only, and the bubble is ``(p - 1)(F + B)``. With several stages on a device, their forwards come
    stage by stage, their backwards in reverse. The sequence is fixed, so there are no ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches.
    """
    return in_sequence(ranks_of(problem, placement, "gpipe"), _plans)


def _plans(ranks: Ranks) -> list[list[Slot]]:
    batches = range(ranks.m)
    return [
        [("F", i, stage) for stage in stages for i in batches]
        + [slot for stage in reversed(stages) for i in batches for slot in backward(ranks, i, stage)]
        for stages in ranks.stages
    ]
