"""Placement of clusters of ops: heavy ones first, each on the device that has done its work soonest."""

from __future__ import annotations

import numpy as np

from placelab.planning.list_scheduling import ONLY, SOONEST, in_order, retold
from placelab.planning.rank_sums import upward_ranks, with_ranks
from placelab.planning.ranks import by_falling, rounded
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement

REASONS = (SOONEST, ONLY, "the device of its cluster")


def in_clusters(problem: Problem, cluster: np.ndarray, up: np.ndarray, trace: bool) -> Placement:
    """Each cluster on one device, ops by falling upward rank `up`, inserted into idle gaps.

    Clusters by falling mean work go where the work placed there and their own end soonest (LPT). An op that may not run on its
    cluster's device, has no room there, or whose group is elsewhere goes where it finishes soonest. Ties: the cluster of the
    lower op number, device number. O(ops · devices + ops log ops).

    Parameters
    ----------
    cluster
        A number per op, the same for those of a cluster; shape (n_ops,).
    """
    device = longest_first(problem, cluster)
    preferred = np.where(problem.runs_on(device), device, -1).astype(np.int32)
    placement = in_order(problem, by_falling(rounded(up))[0], preferred, trace=trace)
    return with_ranks(retold(placement, reasons=REASONS), lambda: upward_ranks(problem, up))


def longest_first(problem: Problem, cluster: np.ndarray) -> np.ndarray:
    """Device of each op, shape (n_ops,), int32."""
    _, first, number = np.unique(cluster, return_index=True, return_inverse=True)
    work = np.zeros((len(first), problem.cluster.n_devices))
    np.add.at(work, number.reshape(-1), problem.exec_table(otherwise=0.0))
    place, load = np.empty(len(first), dtype=np.int32), np.zeros(problem.cluster.n_devices)
    for c in np.lexsort((first, -rounded(work.mean(axis=1)))):
        place[c] = np.argmin(load + work[c])
        load[place[c]] += work[c, place[c]]
    return place[number.reshape(-1)]
