"""Dynamic level scheduling: of all ready ops and devices the pair of highest dynamic level."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan import ranks as kernels
from placelab.kernels.plan.choose_ready import LEAST
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import by_choice
from placelab.planning.ranks import with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Ranks

REASON = "no ready op has a higher dynamic level, and it finishes soonest there"


@partitioner(source="Sih, Lee 1993")
def dls(problem: Problem, *, trace: bool = False) -> Placement:
    r"""DLS: of all ready ops and devices always the pair of highest dynamic level.

    .. math::
        DL(v, d) &= SL(v) - EST(v, d) + \Delta(v, d), \qquad \Delta(v, d) = \tilde w_v - exec(v, d) \\
        SL(v) &= \tilde w_v + \max_{s \in succ(v)} SL(s)

    with :math:`\tilde w_v` the median of exec(v, d) over the devices that v may run on. An op is ready when its inputs are
    placed, and is appended to its device.

    Notes
    -----
    For one op, DL is highest where the op finishes soonest: :math:`DL = SL + \tilde w - EFT`. Ties: op number, device number.
    Groups and transfers as in ``heft``; memory, too, where ops keep the order of the plan made without regard to it. O(edges
    · devices + ops · devices · log ops).
    """
    return by_level(problem, LEAST, REASON, trace)


def by_level(problem: Problem, rule: int, reason: str, trace: bool) -> Placement:
    """Place ready ops by a rule that compares dynamic levels (``kernels.plan.choose_ready``); `reason` of a choice."""
    median = median_exec(problem)
    level = np.empty(problem.graph.n_ops)
    kernels.upward(frozen(median), plan_arrays.successors(problem.graph), 0.0, 0.0, level)
    placement = by_choice(problem, rule, reason, head=level + median, trace=trace)
    way = frozen(np.zeros(problem.graph.n_edges))
    return with_ranks(placement, lambda: Ranks("static level [s]", frozen(level), frozen(median), way))


def median_exec(problem: Problem) -> np.ndarray:
    """Median of exec(v, d) over the devices each op is allowed on [s], shape (n_ops,). O(ops · devices log devices)."""
    if problem.columns == 1 and not problem.restricted:
        return problem.cost_table[:, 0] * np.median(1 / problem.divisor)
    times = np.sort(problem.exec_table(otherwise=np.inf), axis=1)
    count = problem.may_run.sum(axis=1)
    row = np.arange(len(times))
    return (times[row, (count - 1) // 2] + times[row, count // 2]) / 2
