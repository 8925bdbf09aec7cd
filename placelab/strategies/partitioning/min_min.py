"""Min-min: of the ready ops the one that can finish soonest, where it does."""

from __future__ import annotations

from placelab.kernels.plan.choose_ready import LEAST
from placelab.planning.list_scheduling import by_choice
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASON = "no ready op would finish sooner, and it does so there"


@partitioner(source="Ibarra, Kim 1977; Maheswaran et al. 1999")
def min_min(problem: Problem, *, batch: bool = False, trace: bool = False) -> Placement:
    r"""MIN-MIN: of the ready ops the one that would finish soonest, where it does.

    .. math:: v = \arg\min_{v \in ready} \min_d EFT(v, d)

    An op is ready when its inputs are placed, and is appended to its device.

    Parameters
    ----------
    batch
        Round by round: ops that become ready wait until all that were ready are placed, as published for independent ops.

    Notes
    -----
    Ties: op number, device number. Groups and transfers as in ``heft``; memory, too, where ops keep the order of the
    plan made without regard to it. O(edges · devices + ops · devices · log ops); round by round as ``max-min``.
    """
    return by_choice(problem, LEAST, REASON, batch=batch, trace=trace)
