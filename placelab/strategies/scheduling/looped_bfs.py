"""Looped breadth-first: chunk by chunk, all micro-batches through each."""

from __future__ import annotations

from placelab.planning.pipeline_orders import Ranks, Slot, backward, in_sequence, looped
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Lamy-Poirier 2023, breadth-first pipeline parallelism")
def looped_bfs(problem: Problem, placement: Placement) -> Order:
    """All micro-batches forward through chunk 0, through chunk 1 …; then backward, last chunk first, micro-batches in reverse.

    Notes
    -----
    On equal stages and one backward op the bubble is ``(p - 1)(F + B + W) / v``, of all v chunks together, for m ≥ p; mv
    activations of chunks. A chunk's gradients are complete when the next chunk begins, and its weights are needed once each way.
    No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches; a device does not have stages s, s + p, s + 2p ….
    """
    return in_sequence(looped(problem, placement, "looped-bfs"), _plans)


def _plans(ranks: Ranks) -> list[list[Slot]]:
    batches = range(ranks.m)
    return [
        [("F", i, stage) for stage in stages for i in batches]
        + [slot for stage in reversed(stages) for i in reversed(batches) for slot in backward(ranks, i, stage)]
        for stages in ranks.stages
    ]
