"""Heterogeneous earliest finish time: ops by the longest path to an exit op, each on the device where it finishes soonest."""

from __future__ import annotations

from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import by_falling, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Topcuoglu et al. 2002 §4.1; groups: Mayer et al. 2017 §5.1")
def heft(problem: Problem, *, insertion: bool = True, trace: bool = False) -> Placement:
    r"""HEFT: ops by falling upward rank, each to the device where it finishes soonest.

    .. math::
        rank(v) &= \bar w_v + \max_{s \in succ(v)} (\bar c_{vs} + rank(s)) \\
        EST(v, d) &= \max \{ avail(d), \max_{u \in pred(v)} (finish(u) + trans(\tau, p_u, d)) \} \\
        p_v &= \arg\min_d EST(v, d) + exec(v, d)

    Parameters
    ----------
    insertion
        avail(d) is the earliest idle gap of d that holds v (as published); False: the end of d's last op.

    Notes
    -----
    In the rank, :math:`\bar w_v` is the mean time of v over the devices that may run it, :math:`\bar c_{vs}` the mean time of
    its tensor over pairs of distinct devices: :func:`placelab.upward_rank`, :func:`~placelab.planning.ranks.rounded`.
    Ties: rank by op number, finish by device number. The first op of a colocation group fixes the device of all, the others are
    timed when their turn comes (Mayer §5.1). Memory: if the plan made without regard to it exceeds no capacity, that is the
    plan; else ops are planned with memory tracked over time, and one that has no room anywhere is set aside until memory is
    freed (the scheduler ``planned`` replays a wait for memory, too). Transfers are planned without contention, a tensor once
    per device.

    O(edges · devices + ops · devices · log ops) as long as gaps are found at once, O(ops² · devices) at worst.

    Departures: the times of a transfer over all pairs of devices are averaged, so that the mean rate is the harmonic mean of
    their rates; Topcuoglu averages the rates themselves. The program of Mayer and others
    (mayerrn/tensorflowPartitioningAndScheduling, commit 5a11e65) takes the *minimum* over predecessors in EST, and a
    predecessor on d itself for infinitely far away. So its plans start ops before their inputs are there, and its HEFT bars are
    too long when they are simulated.
    """
    up = upward_rank(problem)
    order, _ = by_falling(rounded(up))
    return with_ranks(in_order(problem, order, insertion=insertion, trace=trace), lambda: upward_ranks(problem, up))
