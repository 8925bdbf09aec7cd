"""Generalized dynamic level scheduling: as DLS, and an op that would lose much elsewhere goes earlier."""

from __future__ import annotations

from placelab.kernels.plan.choose_ready import LEVEL
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.partitioning.dls import by_level

REASON = "no ready op has a higher generalized dynamic level, and it finishes soonest there"


@partitioner(source="Sih, Lee 1993")
def gdl(problem: Problem, *, trace: bool = False) -> Placement:
    r"""GDL: the ready op of the highest generalized dynamic level, on the device of its highest dynamic level.

    .. math:: GDL(v) = DL(v, p_v) + (DL(v, p_v) - \max_{d \neq p_v} DL(v, d)), \qquad p_v = \arg\max_d DL(v, d)

    with the dynamic level of ``dls``. What is added is what the op would lose on its second-best device. An op is ready when its
    inputs are placed, and is appended to its device.

    Notes
    -----
    Written from what others quote of the paper; a public program of dynamic levels has the same rule, while that of SAGA
    (Coleman, Krishnamachari) takes op and device of the *least* level. The paper's refinement by an op's successors is left out.
    For one op, DL is highest where it finishes soonest. An op with a single candidate would lose without bound, so it goes first.
    Ties: op number, device number. Groups and transfers as in ``heft``. Where the plan made without regard to memory exceeds a
    capacity, ops are planned again in its order. O(edges · devices + ops · ready ops · devices).
    """
    return by_level(problem, LEVEL, REASON, trace)
