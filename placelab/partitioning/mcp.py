"""Modified critical path: ops by their latest possible starts, each where it starts soonest."""

from __future__ import annotations

import numpy as np

from placelab.kernels.list_schedule import START
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.rank_sums import upward_ranks, with_ranks
from placelab.planning.ranks import precedence_order, rounded, upward_rank
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies import partitioner


@partitioner(source="Wu, Gajski 1990; Kwok, Ahmad 1999 §5.1")
def mcp(problem: Problem, *, trace: bool = False) -> Placement:
    r"""MCP: ops by their latest possible starts, and those of their successors, each where it starts soonest.

    .. math:: ALAP(v) = \max_u rank_u(u) - rank_u(v), \qquad p_v = \arg\min_d EST(v, d)

    Notes
    -----
    Rank: :func:`placelab.upward_rank`, :func:`~placelab.ranks.rounded`. Each op has a list: its ALAP and those of its
    successors, ascending; ops go by lists in lexicographic order, a list before those that it begins. (The paper's first version
    has the ALAPs of all descendants.) Inserted into idle gaps. Ties: lists by op number, starts by the sooner finish,
    which the paper's equal processors do not need, then by device number. Groups, memory and transfers as in ``heft``;
    same complexity.
    """
    up = upward_rank(problem)
    order = precedence_order(problem.graph, -lexicographic(problem.graph, up.max() - up).astype(float))
    placement = in_order(problem, order, trace=trace, aim=plan_arrays.aim(START))
    return with_ranks(placement, lambda: upward_ranks(problem, up))


def lexicographic(graph: OpGraph, alap: np.ndarray) -> np.ndarray:
    """How many lists come before each op's in lexicographic order, shape (n_ops,). O(edges log edges), and more for ties."""
    steps = rounded(alap)
    child = graph.consumer[
        np.lexsort((steps[graph.consumer], graph.producer))
    ]  # successors of each op, the least first
    place = np.searchsorted(np.sort(steps), steps)
    at, column = graph.succ_ptr[:-1].astype(np.int64), 0
    while True:
        tied = np.flatnonzero(np.bincount(place)[place] > 1)
        more = at[tied] + column < graph.succ_ptr[tied + 1]
        if not more.any():
            return place
        entry = np.full(len(tied), -1.0)  # a list that has ended comes first
        entry[more] = steps[child[at[tied[more]] + column]]
        by = np.lexsort((entry, place[tied]))
        op, block, position = tied[by], place[tied[by]], np.arange(len(tied))
        new_block = np.diff(block, prepend=-1) != 0
        new_entry = new_block | (np.diff(entry[by], prepend=-2) != 0)
        begins = [np.maximum.accumulate(np.where(new, position, 0)) for new in (new_entry, new_block)]
        place[op] = block + begins[0] - begins[1]
        column += 1
