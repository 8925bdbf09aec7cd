"""Memory, importance, traffic and execution time in one score."""

from __future__ import annotations

from typing import Literal

from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.plan import unit_by_unit as kernels
from placelab.planning import plan_arrays
from placelab.planning.capacity import Assignment
from placelab.planning.ranks import TOTAL_RANK, by_falling, compute_ranks, relative_rank, relative_speed, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Mayer et al. 2017 §3.3.1, eq. 8–10")
def mite(
    problem: Problem, *, neighbours: Literal["predecessors", "both"] = "predecessors", trace: bool = False
) -> Placement:
    r"""Each op to the device of least memory use × importance × traffic × execution time.

    .. math::
        mite(v, d) &= mem(d) \cdot imp(v, d) \cdot traffic(v, d) \cdot execTime(v, d) \\
        mem(d) &= \text{share of d's memory in use before v is added} \\
        imp(v, d) &= 1 - \frac{totalRank(v)}{\max_u totalRank(u)} \cdot \frac{s_d}{\max_e s_e} \\
        traffic(v, d) &= \sum_{\tau: u \to v,\ u\ placed} trans(\tau, p(u), d) \\
        execTime(v, d) &= exec(v, d)

    traffic and execTime are divided by their maxima over the devices that have room; then each factor is at least 1e-6.

    Parameters
    ----------
    neighbours
        Traffic with placed ``"predecessors"`` (eq. 10), or with ``"both"``, successors too (the text above eq. 10).

    Notes
    -----
    Ops in descending total rank (objective iv). Ties: rank by op number, score by execTime, then device number. A
    group is one op: its compute and inputs are its members' together, its rank the highest of theirs. Unlimited
    memory counts as empty, so under memory ``none`` mem is the same for all devices. Departs from eq. 10 in that
    latencies count. O((ops + edges) × devices).
    """
    assignment = Assignment(problem, trace)
    graph = problem.graph
    rank = relative_rank(graph)
    order, _ = by_falling(rank)
    queue, position = assignment.units.queue(order)
    placed = kernels.mite(
        *assignment.arguments,
        *(assignment.units_block, assignment.inputs, plan_arrays.successors(graph), assignment.times),
        *(int(neighbours == "both"), queue, blocks.Importance(frozen(rank[order[position]]), relative_speed(problem))),
        plan_arrays.weighing(problem),
    )
    placement = assignment.placement(placed, ("least memory × importance × traffic × time",), "score")
    total = assignment.units.largest(rank)[assignment.units.of]
    return with_ranks(placement, lambda: compute_ranks(graph), total, TOTAL_RANK)
