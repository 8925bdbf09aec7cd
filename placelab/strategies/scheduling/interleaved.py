"""Interleaved 1F1B: several stages on each device shorten the warm-up."""

from __future__ import annotations

from placelab.planning.pipeline_orders import in_sequence, interleaved_plans, looped, round_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Narayanan et al. 2021, Megatron-LM")
def interleaved(problem: Problem, placement: Placement, *, group: int = 0) -> Order:
    """1F1B over v stages per device, micro-batches in rounds of g.

    Parameters
    ----------
    group
        g, micro-batches of a round, from p to m. 0: the least of them by which m is divided, or which leaves at least p for the
        last round; m where m ≤ p.

    Notes
    -----
    In a round its micro-batches run through chunk 0, then through chunk 1 …; backwards the same, chunks in reverse. Rank s runs
    min(2(p - s - 1) + (v - 1)g, mv) forwards, then forward and backward in turn, then the backwards that are left. On equal
    stages and one backward op the bubble is ``(p - 1)(F + B + W) / v``, of all v chunks together, for m ≥ p, unless the last
    round has fewer than p micro-batches, of which a warning tells; min(mv, 2(p - s - 1) + (v - 1)g + 1) activations of chunks.
    No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches; a device does not have stages s, s + p, s + 2p …; g is out of range.
    """
    replicas = looped(problem, placement, "interleaved")
    size = round_of(replicas[0].p, replicas[0].m, group)
    return in_sequence(replicas, lambda each: interleaved_plans(each, size))
