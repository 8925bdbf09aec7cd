"""Modified critical path: ops by their latest possible starts, each where it starts soonest."""

from __future__ import annotations

from typing import Literal

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
def mcp(
    problem: Problem, *, children: Literal["descending", "ascending"] = "descending", trace: bool = False
) -> Placement:
    r"""MCP: ops by their latest possible starts, and those of their successors, each where it starts soonest.

    .. math:: ALAP(v) = \max_u rank_u(u) - rank_u(v), \qquad p_v = \arg\min_d EST(v, d)

    Parameters
    ----------
    children
        How an op's list goes on after its own ALAP: those of its successors, the last or the first one first.

    Notes
    -----
    Rank: :func:`placelab.upward_rank`, :func:`~placelab.planning.ranks.rounded`. Each op has a list: its ALAP and those of its
    successors; ops go by lists in lexicographic order, a list before those that it begins. Neither way is better: on the nine
    ops of Kwok and Ahmad two have the same ALAP, and ``"descending"`` gives their 20, ``"ascending"`` the optimum, 16. (The
    paper's first version has the ALAPs of all descendants.) Inserted into idle gaps. Ties: lists by op number, starts by the
    sooner finish, which the paper's equal processors do not need, then by device number. Groups, memory and transfers as in
    ``heft``; same complexity.
    """
    up = upward_rank(problem)
    order = precedence_order(problem.graph, -lexicographic(problem.graph, up.max() - up, children).astype(float))
    placement = in_order(problem, order, trace=trace, aim=plan_arrays.aim(START))
    return with_ranks(placement, lambda: upward_ranks(problem, up))


def lexicographic(graph: OpGraph, alap: np.ndarray, children: str) -> np.ndarray:
    """How many lists come before each op's in lexicographic order, shape (n_ops,).

    O(n log n), and O(edges log edges) for each length of a tie.
    """
    steps = rounded(alap)
    by, n = np.argsort(steps, kind="stable"), graph.n_ops
    place = np.empty(n, dtype=np.int64)
    place[by] = _begins(np.diff(steps[by], prepend=-1) != 0)
    asks = (np.bincount(place, minlength=n)[place] > 1)[graph.producer]  # edges of ops whose ALAP another one has, too
    producer, after = graph.producer[asks], steps[graph.consumer[asks]]
    after = after[np.lexsort((after if children == "ascending" else -after, producer))]
    count = np.bincount(producer, minlength=n)
    at, column = np.cumsum(count) - count, 0
    while True:
        tied = np.flatnonzero(np.bincount(place, minlength=n)[place] > 1)
        more = column < count[tied]
        if not more.any():
            return place
        entry = np.full(len(tied), -1.0)  # a list that has ended comes first
        entry[more] = after[at[tied[more]] + column]
        by = np.lexsort((entry, place[tied]))
        block = place[tied[by]]
        new_block = np.diff(block, prepend=-1) != 0
        new_entry = new_block | (np.diff(entry[by], prepend=-2) != 0)
        place[tied[by]] = block + _begins(new_entry) - _begins(new_block)
        column += 1


def _begins(new: np.ndarray) -> np.ndarray:
    """Where the run began that each entry belongs to; the first of each is marked."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
