"""Timing-aware communication order: reads that unlock much compute for a short transfer go first."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.read_orders import Oracle, Outstanding, order_by_costs
from placelab.planning.read_orders import Reads
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement

UNITS = 2.0**50  # of all times together


@scheduler(static=True, source="Hashemi, Abdu Jyothi, Campbell 2019 (TicTac), algorithm 3")
def tac(problem: Problem, placement: Placement) -> Order:
    r"""Order the reads of each worker by the compute that they unlock and the time that they take.

    R are the reads not ordered yet, Dep(v) those that v depends on through data edges within the copy of its worker and
    iteration; a read takes latency + bytes / bandwidth.

    .. math::
        M(v) &= \sum_{r \in Dep(v) \cap R} time(r) \qquad
        P(r) = \sum_{v: Dep(v) \cap R = \{r\}} exec(v) \\
        M^+(r) &= \min \{ M(v) : r \in Dep(v), |Dep(v) \cap R| > 1 \}

    A goes before B if :math:`\min(P_B, M_A) < \min(P_A, M_B)`, or these are equal and :math:`M^+_A < M^+_B`. This is not
    transitive. So R is scanned by earliest consumer, then tensor number, keeping the better of the one kept and the next; the
    read that is kept is next in the order, until none are left.

    Notes
    -----
    Sums that differ by rounding alone are equal. What counts as a read, and what happens to everything else, is as with ``tic``.
    O(reads · (reads + ops + edges)).
    """
    reads = Reads.of(problem, placement)
    copies = reads.copies()
    n = len(reads.member)
    r = len(reads.op)
    seconds = problem.exec_times(placement.device)[reads.member]
    seconds[copies.read] = 0.0
    unit = (seconds.sum() + reads.seconds.sum()) / UNITS or 1.0
    oracle = Oracle(frozen(np.rint(seconds / unit)), frozen(np.rint(reads.seconds / unit)), float(n + r))
    state = Outstanding(np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64), np.zeros(n, np.int32), np.empty(n))
    position = np.zeros(r, np.int64)
    order_by_costs(copies, oracle, state, np.empty(r), np.empty(r, np.int64), position)
    return reads.order(position)
