"""Best imaginary level: ops and devices by what the rest of the graph takes at best on each device; optimal on chains."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.choose_ready import choose_imaginary
from placelab.kernels.plan.ranks import optimistic_cost
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import kept_in_memory
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

MEANING = "the least imaginary makespan, the rest of the graph at best included", "imaginary makespan [s]"


@partitioner(source="Oh, Ha 1996")
def bil(problem: Problem, *, trace: bool = False) -> Placement:
    r"""BIL: the ready op of the largest imaginary makespan, on the device where it is least.

    That is when the op and, at best, all that follows it would end:

    .. math::
        BIL(v, d) &= exec(v, d) + \max_{s \in succ(v)} \min_w (BIL(s, w) + trans_{vs}(d, w)) \\
        BIM(v, d) &= EST(v, d) + BIL(v, d) \\
        p_v &= \arg\min_d BIM(v, d) + exec(v, d) \max(m / k - 1, 0)

    with m ready ops and k devices. An op is compared by its m-th smallest BIM, or by its largest where it has fewer; of equal
    ones the op whose BIM before that is larger goes first, and so on. It is appended to its device. A chain's plan is optimal.

    Notes
    -----
    Written from the definition of BIL, of which optimality on chains follows, and from what others quote of the paper's choice of
    op and device. Departures: transfers are those of the link, ties between devices go to the lower number. An op is ready
    when its inputs are placed; other ties: op number. Groups and transfers as in ``heft``. Where the plan made without regard to
    memory exceeds a capacity, ops are planned again in its order, on its devices as far as they have room. O(edges ·
    devices² + ops · ready ops · devices).
    """
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    pred, succ, times, network, eligible = plan_arrays.facts(problem)
    level = np.empty(n * k)
    rest = np.empty(n * k)
    optimistic_cost(-1.0, 0.0, succ, times, network, eligible, level, rest)
    plan = plan_arrays.plan(problem, trace)
    work = (plan_arrays.frontier(problem), plan_arrays.ready(problem))
    choose_imaginary(frozen(level), pred, succ, times, network, eligible, *work, np.empty(2 * k), plan)
    return kept_in_memory(problem, plan, MEANING, trace)
