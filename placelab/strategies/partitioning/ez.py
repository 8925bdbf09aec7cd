"""Edge zeroing: ops that exchange the most share a device, where that makes the plan no longer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.progress import Progress, Report, never, silent
from placelab.kernels.plan import ranks as rank_kernels
from placelab.kernels.plan.clustering import zero_edges
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_clusters
from placelab.planning.ranks import by_falling, mean_exec, mean_transfer, rounded, upward_rank
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

CHUNK = 200  # edges between two looks at whether to stop


@partitioner(source="Sarkar 1989", slow=True)
def ez(
    problem: Problem,
    *,
    trace: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    """EZ: edges by falling bytes join their clusters where no plan gets longer; clusters go to devices, heavy ones first.

    Each op is a cluster at first. With as many devices as clusters, each of which runs its ops by falling upward rank, the two at
    the ends of an edge become one if the makespan, by mean times, does not grow.

    Notes
    -----
    A cluster goes where the work placed there and its own end soonest, by falling work; ops run by falling
    :func:`placelab.upward_rank`, inserted into idle gaps. An op that may not run on its cluster's device, has no room there, or
    whose group is elsewhere goes where it finishes soonest. Ties: edge number, op number, device number. Groups, memory and
    transfers as in ``heft``. O(edges · (ops + edges)): half a minute for 22,000 ops; a run that is stopped has joined fewer.
    """
    graph = problem.graph
    n = problem.graph.n_ops
    weight = frozen(mean_exec(problem))
    means = mean_transfer(problem)
    up = upward_rank(problem)
    finish = np.empty(n)
    succ = plan_arrays.successors(graph)
    level = np.empty(n)
    rank_kernels.upward(weight, succ, 0.0, 0.0, level)
    rank_kernels.downward(weight, succ, *means, finish)
    finish += weight
    order, place = by_falling(rounded(up))
    fixed = (
        *(frozen(x) for x in (order, weight, np.maximum(level - weight, 0.0))),
        plan_arrays.predecessors(graph),
        *means,
    )
    work = np.arange(n, dtype=np.int32), place.copy(), np.empty(n), finish, np.empty(n)
    edges = np.argsort(-graph.edge_bytes, kind="stable").astype(np.int32)
    best = float(finish.max())
    for done in range(0, len(edges), CHUNK):
        if cancel():
            break
        best = zero_edges(frozen(edges[done : done + CHUNK].copy()), graph.consumer, best, *fixed, *work)
        progress(Progress("joining clusters", min(1.0, (done + CHUNK) / len(edges))))
    return in_clusters(problem, work[0], up, trace)
