"""1F1B: a forward and a backward pass in turn."""

from __future__ import annotations

from placelab.planning.pipeline_orders import Ranks, Slot, in_sequence, one_by_one, single
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", name="1f1b", source="Narayanan et al. 2019, PipeDream-Flush")
def one_f_one_b(problem: Problem, placement: Placement) -> Order:
    """One forward, one backward in turn, after as many forwards as there are stages behind.

    Notes
    -----
    Stage s of p runs min(p - s - 1, m) forwards, then forward and backward in turn, then the backwards that are left. On equal
    stages the bubble is that of ``gpipe``; min(m, p - s) activations. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, or several stages on a device.
    """
    return in_sequence(single(problem, placement, "1f1b"), _plans)


def _plans(ranks: Ranks) -> list[list[Slot]]:
    plans = []
    for rank, (stage,) in enumerate(ranks.stages):
        forwards: list[Slot] = [("F", i, stage) for i in range(ranks.m)]
        plans.append(
            one_by_one(ranks, forwards, [(i, stage) for i in range(ranks.m)], min(ranks.p - rank - 1, ranks.m))
        )
    return plans
