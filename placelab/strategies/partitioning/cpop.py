"""Critical path on a processor: the critical path on the device that runs it soonest, other ops where they finish soonest."""

from __future__ import annotations

import numpy as np

from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import (
    downward_rank,
    mean_transfer,
    precedence_order,
    rounded,
    upward_rank,
    upward_ranks,
    with_ranks,
)
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Topcuoglu et al. 2002 §4.2")
def cpop(problem: Problem, *, trace: bool = False) -> Placement:
    r"""CPOP: the critical path on the device that runs it soonest, other ops where they finish soonest.

    .. math::
        priority(v) = rank_u(v) + rank_d(v), \qquad p_{CP} = \arg\min_d \sum_{v \in CP} exec(v, d)

    Notes
    -----
    Of the ops whose inputs are placed, always the one of highest priority; inserted into idle gaps. The critical path
    starts at the entry op of the highest rank and goes on to the successor that attains the maximum in rank_u, so that
    rounding cannot break it. Ties: op number, device number; ranks are compared :func:`~placelab.planning.ranks.rounded`.

    Where restrictions leave no device to the whole path, p_CP is one that may run most of its ops; the others, and any
    that find no room there or whose group is elsewhere, go where they finish soonest. Groups, memory and transfers as
    in ``heft``; same complexity.
    """
    up = upward_rank(problem)
    priority = up + downward_rank(problem)
    order = precedence_order(problem.graph, rounded(priority))
    placement = in_order(problem, order, path_together(problem, up), trace=trace)
    return with_ranks(placement, lambda: upward_ranks(problem, up), priority, "upward + downward rank [s]")


def path_together(problem: Problem, up: np.ndarray) -> np.ndarray:
    """The device of the critical path, for the ops on it that may run there; -1 for all others; int32 of shape (n_ops,)."""
    path = critical_path(problem, up)
    device = path_device(problem, path)
    preferred = np.full(problem.graph.n_ops, -1, dtype=np.int32)
    preferred[path[problem.may_run[path, device]]] = device
    return preferred


def critical_path(problem: Problem, up: np.ndarray) -> np.ndarray:
    """Ops of a longest path by mean times, from its entry op to its exit op, lower numbers at ties; `up`: the upward rank."""
    graph = problem.graph
    latency, per_byte = mean_transfer(problem)
    entries = np.flatnonzero(np.diff(graph.pred_ptr) == 0)
    path = [entries[np.argmax(rounded(up[entries]))]]
    largest = up.max()
    while graph.succ_ptr[path[-1]] < graph.succ_ptr[path[-1] + 1]:
        edge = slice(graph.succ_ptr[path[-1]], graph.succ_ptr[path[-1] + 1])
        way = rounded(latency + graph.edge_bytes[edge] * per_byte + up[graph.consumer[edge]], largest)
        path.append(graph.consumer[edge][way == way.max()].min())
    return np.array(path)


def path_device(problem: Problem, path: np.ndarray) -> int:
    """The device that may run most ops of the path, of those the one that runs them soonest."""
    total = problem.exec_table(path, otherwise=0.0).sum(axis=0)
    return int(np.lexsort((total, -problem.may_run[path].sum(axis=0)))[0])
