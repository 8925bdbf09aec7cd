"""Performance effective task scheduling: level by level, each op where it finishes soonest."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan import ranks as kernels
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import mean_exec, mean_transfer, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Ilavarasan, Thambidurai 2007")
def pets(problem: Problem, *, trace: bool = False) -> Placement:
    r"""PETS: level by level, ops by what they and their inputs cost, each where it finishes soonest.

    .. math:: rank(v) = \bar w_v + \sum_{s \in succ(v)} \bar c_{vs} + \max_{u \in pred(v)} rank(u)

    Notes
    -----
    The level of an op is the number of ops on the longest way to it; of one level the op of highest rank goes first. Inserted
    into idle gaps. Ties: ranks by the smaller mean time, then op number; finishes by device number. Departure: the paper
    rounds ranks to whole numbers, which all times in seconds would lose; here they are :func:`~placelab.planning.ranks.rounded`.
    Groups, memory and transfers as in ``heft``; same complexity.
    """
    graph = problem.graph
    latency, per_byte = mean_transfer(problem)
    way = latency + graph.edge_bytes * per_byte
    own = mean_exec(problem)
    alone = own + np.bincount(graph.producer, way, minlength=graph.n_ops)
    ranks = alone + _largest(graph, alone)
    level = _largest(graph, np.ones(graph.n_ops))
    order = np.lexsort((rounded(own), -rounded(ranks), level)).astype(np.int32)
    placement = in_order(problem, order, trace=trace)
    return with_ranks(placement, lambda: upward_ranks(problem, upward_rank(problem)), ranks, "rank [s]")


def _largest(graph: OpGraph, weight: np.ndarray) -> np.ndarray:
    """The largest sum of weights on a way to each op, its own left out."""
    before = np.empty(graph.n_ops)
    kernels.downward(frozen(weight), plan_arrays.successors(graph), 0.0, 0.0, before)
    return before
