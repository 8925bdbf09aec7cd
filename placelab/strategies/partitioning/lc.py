"""Linear clustering: the longest path of ops shares a device, then the longest one of those left."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.clustering import longest_paths
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_clusters
from placelab.planning.ranks import mean_exec, mean_transfer, upward_rank
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="Kim, Browne 1988")
def lc(problem: Problem, *, trace: bool = False) -> Placement:
    r"""LC: the longest path of ops is a cluster, then the longest one of those left; clusters go to devices, heavy ones first.

    .. math:: C_i = \arg\max_{paths\ outside\ C_1 \ldots C_{i-1}} \sum_v \bar w_v + \sum_{(u, v)} \bar c_{uv}

    Notes
    -----
    Means as in ``heft``. A cluster goes where the work placed there and its own end soonest, by falling work; ops run by falling
    :func:`placelab.upward_rank`, inserted into idle gaps. An op that may not run on its cluster's device, has no room there, or
    whose group is elsewhere goes where it finishes soonest. Ties: op number, device number. Groups, memory and transfers as in
    ``heft``. O((ops + edges) · clusters + ops · devices).
    """
    graph = problem.graph
    n = problem.graph.n_ops
    cluster = np.empty(n, dtype=np.int32)
    work = np.empty(n), np.empty(n, dtype=np.int32)
    longest_paths(frozen(mean_exec(problem)), plan_arrays.successors(graph), *mean_transfer(problem), *work, cluster)
    return in_clusters(problem, cluster, upward_rank(problem), trace)
