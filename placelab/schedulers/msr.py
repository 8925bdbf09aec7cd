"""Wake as many idle devices as possible."""

from __future__ import annotations

from placelab.problem import Problem
from placelab.schedule import Placement
from placelab.strategies import Order, scheduler


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
    it at that moment, the choosing device included. Ties, as in the published program: the op or Send that became
    executable first, at one instant a Send before an op, then the lower number. A Send's score is the same sum over the
    ops its transfer feeds.
    """
    return Order("msr", weights=(alpha, beta, gamma, delta), static=static)
