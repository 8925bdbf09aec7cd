"""Sufferage: of the ready ops the one that would lose most by its second-best device."""

from __future__ import annotations

from placelab.kernels.plan.choose_ready import SUFFERAGE
from placelab.planning.list_scheduling import by_choice
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASON = "no ready op would lose more by its second-best device"


@partitioner(source="Maheswaran et al. 1999")
def sufferage(problem: Problem, *, batch: bool = False, trace: bool = False) -> Placement:
    r"""SUFFERAGE: of the ready ops the one that would lose most by its second-best device, on its best.

    .. math:: v = \arg\max_{v \in ready} (EFT(v, d') - EFT(v, d)), \quad d, d' \text{ the best and second-best device}

    An op is ready when its inputs are placed, and is appended to its device.

    Parameters
    ----------
    batch
        Round by round: ops that become ready wait until all that were ready are placed, as published for independent ops.

    Notes
    -----
    Ties: op number, device number. An op with one candidate alone would lose without bound, so it goes first. Groups and
    transfers as in ``heft``; memory, too, where ops keep the order of the plan made without regard to it. O(edges · devices +
    ops · ready ops · devices).
    """
    return by_choice(problem, SUFFERAGE, REASON, batch=batch, trace=trace)
