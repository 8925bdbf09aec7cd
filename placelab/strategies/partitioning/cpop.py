"""Critical path on a processor: the critical path on the device that runs it soonest, other ops where they finish soonest."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import F8, I4, frozen
from placelab.kernels.plan.ranks import device_of_path, path_by_means
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import (
    NEAR,
    SAME,
    STEPS,
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
    most = graph.n_ops + graph.n_edges
    work = [
        np.empty(size, kind)
        for size, kind in ((most, F8), (most, F8), (most, I4), (most, F8), (2 * most, F8), (most, I4))
    ]
    path = np.empty(graph.n_ops, I4)
    given = *mean_transfer(problem), graph.pred_ptr, plan_arrays.successors(graph), frozen(up)
    count = path_by_means(*given, STEPS, NEAR, SAME, *work, path)
    return frozen(path[:count])


def path_device(problem: Problem, path: np.ndarray) -> int:
    """The device that may run most ops of the path, of those the one that runs them soonest."""
    facts = plan_arrays.times(problem), plan_arrays.eligible(problem)
    return int(device_of_path(path, *facts, np.empty(problem.cluster.n_devices)))
