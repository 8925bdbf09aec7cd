"""Merge colocation groups to ops before placement, as far as that makes no cycle."""

from __future__ import annotations

import numpy as np

from placelab.base.interrupts import need
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import transform
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import contract


@transform(source="Baechi (2020) §3.1, there the alternative of ColocRL")
def colocate(problem: Problem) -> tuple[Problem, Expand]:
    r"""Merge each colocation group into one op, or into several where a path through other ops separates its members.

    Partitioners honour groups anyway: they place a whole group when its first member comes ("co-adjust"). This groups
    *before* placement: there are fewer ops to place, and a group runs as one piece.

    Returns
    -------
    small, expand
        The problem of the merged ops, and the way from its placements to those of `problem`.

    Notes
    -----
    Merging a group whole makes a cycle when a path leaves it and returns, through other groups' members perhaps (Baechi
    Fig. 4). So each op gets a level,

    .. math:: level(v) = \max_{u \to v} (level(u) + left_{uv})

    with left = 1 if the edge leaves a group and lies on a circle of the graph in which all groups are merged whole (both its
    ends are in one strongly connected component there), else 0. Members of a group that have one level become one op: on
    a circle of such ops all levels would be equal, but it would leave some group, which raises the level. The parts of a
    group that stay apart remain a colocation group. O(n_ops + n_edges).
    """
    graph, group = problem.graph, problem.group
    part = np.where(group >= 0, group, problem.n_groups + np.arange(graph.n_ops))
    level = _levels(graph, part, group)
    return contract(problem, part.astype(np.int64) * (level.max() + 1) + level, "colocate")


def _levels(graph: OpGraph, part: np.ndarray, group: np.ndarray) -> np.ndarray:
    circle = _circles(part[graph.producer], part[graph.consumer], int(part.max()) + 1)
    left = (part[graph.producer] != part[graph.consumer]) & (group[graph.producer] >= 0)
    left &= circle[part[graph.producer]] == circle[part[graph.consumer]]
    level = [0] * graph.n_ops
    for u, v, up in zip(graph.producer.tolist(), graph.consumer.tolist(), left.tolist(), strict=True):
        level[v] = max(level[v], level[u] + up)
    return np.array(level)


def _circles(source: np.ndarray, destination: np.ndarray, n: int) -> np.ndarray:
    """Strongly connected component of each of n vertices."""
    need("scipy.sparse.csgraph")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(source), dtype=np.int32), (source, destination)), shape=(n, n))
    return connected_components(edges.tocsr(), directed=True, connection="strong")[1]
