"""Forward passes alone: micro-batches in rounds through the chunks of each device."""

from __future__ import annotations

from placelab.base.errors import UnsupportedError
from placelab.planning.pipeline_orders import in_sequence, looped, passes, round_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Narayanan et al. 2021, Megatron-LM")
def forward_only(problem: Problem, placement: Placement, *, group: int = 0) -> Order:
    """Forwards of ``interleaved``, for a pipeline without backward ops: inference, evaluation.

    Parameters
    ----------
    group
        Micro-batches of a round, as for ``interleaved``.

    Notes
    -----
    On equal stages the makespan is ``(m + (p - 1) / v) F``, of all v chunks together, for m ≥ p. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, or backward ops; a device does not have stages s, s + p …; g is out of range.
    """
    replicas = looped(problem, placement, "forward-only")
    if replicas[0].pipeline.trains:
        raise UnsupportedError(
            "the scheduler 'forward-only' needs a pipeline without backward ops; give pipeline_training backward=None"
        )
    size = round_of(replicas[0].p, replicas[0].m, group)
    return in_sequence(replicas, lambda each: [passes(each, rank, size) for rank in range(each.p)])
