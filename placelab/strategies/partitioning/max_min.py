"""Max-min: of the ready ops the one whose soonest finish is latest, where it finishes soonest."""

from __future__ import annotations

from placelab.kernels.plan.choose_ready import LARGEST
from placelab.planning.list_scheduling import by_choice
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASON = "no ready op would finish later at best, and it finishes soonest there"


@partitioner(source="Ibarra, Kim 1977; Maheswaran et al. 1999")
def max_min(problem: Problem, *, batch: bool = False, trace: bool = False) -> Placement:
    r"""MAX-MIN: of the ready ops the one whose soonest finish is latest, where it finishes soonest.

    .. math:: v = \arg\max_{v \in ready} \min_d EFT(v, d)

    An op is ready when its inputs are placed, and is appended to its device.

    Parameters
    ----------
    batch
        Round by round: ops that become ready wait until all that were ready are placed, as published for independent ops.

    Notes
    -----
    Ties: op number, device number. Groups and transfers as in ``heft``; memory, too, where ops keep the order of the plan
    made without regard to it. O(edges · devices + ops · ready ops · devices).
    """
    return by_choice(problem, LARGEST, REASON, batch=batch, trace=trace)
