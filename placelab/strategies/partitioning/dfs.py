"""Depth-first search along the edges: neighbours together, loads level."""

from __future__ import annotations

from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.plan import unit_by_unit as kernels
from placelab.planning import plan_arrays
from placelab.planning.capacity import Assignment
from placelab.planning.ranks import TOTAL_RANK, by_falling, compute_ranks, relative_rank, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Mayer et al. 2017 §3.3.2, eq. 11")
def dfs(problem: Problem, *, exec_time: Literal["load", "score"] = "load", trace: bool = False) -> Placement:
    r"""A depth-first search places each op, as it meets it, on the device of least traffic × execution time.

    .. math:: dfsScore(v, d) = traffic(v, d) \cdot execTime(v, d)

    with traffic as in :func:`~placelab.strategies.partitioning.mite.mite`, over placed predecessors. Both factors are divided by
    their maxima over the devices that have room; then each is at least 1e-6.

    Parameters
    ----------
    exec_time
        ``"load"``: seconds of all ops on d, v included, as in the published code; ``"score"``: of v alone, eq. 11 as
        printed, which tends to put everything on the fastest device.

    Notes
    -----
    The search starts at the source of highest total rank, goes on to the unvisited child of highest total rank, and
    takes the sources in that order, too. Ties: rank by op number, score by execTime, then device number. A group is
    placed when its first member is met, as one op: its compute and inputs are its members' together. Latencies count
    as traffic. O((ops + edges) × devices + ops log ops).
    """
    assignment = Assignment(problem, trace)
    graph = problem.graph
    n = graph.n_ops
    rank = relative_rank(graph)
    child, filled, stack = (np.zeros(size, np.int32) for size in (graph.n_edges, n, graph.n_edges + 1))
    placed = kernels.dfs(
        *assignment.arguments,
        *(assignment.units_block, assignment.inputs),
        *(plan_arrays.predecessors(graph), plan_arrays.successors(graph), assignment.times),
        *(frozen(by_falling(rank)[0]), int(exec_time == "load")),
        *(blocks.DepthFirst(child, filled, stack, np.zeros(n, np.uint8)), plan_arrays.weighing(problem)),
    )
    placement = assignment.placement(placed, ("least traffic × time where the search met it",), "score")
    total = assignment.units.largest(rank)[assignment.units.of]
    return with_ranks(placement, lambda: compute_ranks(graph), total, TOTAL_RANK)
