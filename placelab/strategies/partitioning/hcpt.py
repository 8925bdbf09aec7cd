"""Heterogeneous critical parent trees: critical ops and what they wait for, each where it finishes soonest."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.ranks import parents_first
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import downward_rank, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Hagras, Janeček 2003")
def hcpt(problem: Problem, *, trace: bool = False) -> Placement:
    r"""HCPT: critical ops in order, each after the ops it waits for; an op goes where it finishes soonest.

    .. math::
        AEST(v) = rank_d(v), \qquad ALST(v) = \max_u rank_u(u) - rank_u(v), \qquad v \text{ is critical if both are equal}

    Notes
    -----
    Critical ops lie on a stack, that of the smallest ALST on top. While the op on top waits for ops that are not listed, that
    of them with the smallest ALST is put on it; else it is listed. Ops that no critical op waits for follow in the same way,
    by rising ALST. Ops are placed in the order listed, inserted into idle gaps.
    Ranks are :func:`~placelab.planning.ranks.rounded`. Ties: op number, device number. Groups, memory and transfers as in
    ``heft``; same complexity.
    """
    up = upward_rank(problem)
    rank = rounded(up + downward_rank(problem))
    latest = up.max() - up
    order = listed(problem.graph, rank == rank.max(), rounded(latest))
    placement = in_order(problem, order, trace=trace)
    return with_ranks(placement, lambda: upward_ranks(problem, up), -latest, "minus the latest start [s]")


def listed(graph: OpGraph, critical: np.ndarray, alst: np.ndarray) -> np.ndarray:
    """Ops in the order in which they are listed, int32 of shape (n_ops,). O(edges log edges)."""
    by_alst = np.lexsort((alst[graph.producer], graph.consumer))  # inputs of each op, the smallest ALST first
    root, parent = (np.asarray(some, np.int32) for some in (np.lexsort((alst, ~critical)), graph.producer[by_alst]))
    at, seen, stack, order = (np.empty(graph.n_ops, np.int32) for _ in range(4))
    parents_first(frozen(root), frozen(parent), frozen(np.asarray(graph.pred_ptr, np.int32)), at, seen, stack, order)
    return order
