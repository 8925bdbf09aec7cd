"""Maximum successor rank: wake as many idle devices as possible."""

from __future__ import annotations

from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Mayer et al. 2017 §4.2, eq. 13")
def msr(
    problem: Problem,
    placement: Placement,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    gamma: float = 1.0,
    delta: float = 5.0,
    static: bool = False,
) -> Order:
    r"""Maximum successor rank first.

    .. math:: MSR(v) = \sum_{s \in succ(v)} \alpha + \beta\,[p(s) \ne p(v)] + \gamma\,[out(s) = 1]
              + \delta\,[idle(p(s)) \wedge out(s) = 1]

    Notes
    -----
    Successors are distinct ops. out(s) = 1 means that v is the only op whose tensors s still waits for, counted when the choice
    is made, as the published code does; ``static=True`` counts \|pred(s)\| = 1 as printed. A device is idle when nothing runs on
    it at that moment, the choosing device included.

    A Send competes with the ops of its device (``transfer_ops``). Its score is the same sum, over the distinct ops that its
    transfer feeds: consumers of its one tensor on its one destination. All of them are on another device than the Send, so each
    adds :math:`\beta`. out(s) = 1 means here that s waits for this tensor alone, however many edges carry it; another tensor of
    the same producer that is still on its way counts against it. With ``static=True`` it is \|pred(s)\| = 1 as for an op.

    Ties, as in the published program: the op or Send that became executable first, at one instant a Send before an op, then
    the lower op number, or of Sends the lower (producer, destination, tensor).

    A score is the four counts by their weights, so that equal counts are equal scores. Fast where many executable ops differ
    little: of those with the same four facts (successors, those elsewhere, those that wait for it alone, and the device of
    these, if it is one) a choice looks at the first only. O(executable ops) per choice at worst.
    """
    return Order("msr", weights=(alpha, beta, gamma, delta), static=static)
