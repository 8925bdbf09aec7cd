"""Highest level first: the ready op with the longest way to the end, where it starts soonest."""

from __future__ import annotations

from placelab.kernels.plan.list_schedule import START
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import precedence_order, rounded, static_level, static_levels, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Adam, Chandy, Dickson 1974")
def hlfet(problem: Problem, *, trace: bool = False) -> Placement:
    r"""HLFET: of the ready ops that of the highest static level, on the device where it starts soonest.

    .. math:: sl(v) = \bar w_v + \max_{s \in succ(v)} sl(s), \qquad p_v = \arg\min_d EST(v, d)

    An op is ready when its inputs are placed, and is appended to its device.

    Notes
    -----
    Level: :func:`placelab.planning.ranks.static_level`, transfers left out, :func:`~placelab.planning.ranks.rounded`. Ties:
    levels by op number, starts by the sooner finish, then by device number. The paper has equal processors; on unequal ones
    the finish decides between devices that are all idle, or the first one would be taken at any speed. Groups, memory and
    transfers as in ``heft``. O(edges · devices + ops · (devices + log ops)).
    """
    order = precedence_order(problem.graph, rounded(static_level(problem)))
    aim = plan_arrays.aim(START)
    placement = in_order(problem, order, insertion=False, trace=trace, aim=aim)
    return with_ranks(placement, lambda: static_levels(problem))
