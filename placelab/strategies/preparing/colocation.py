"""Place groups that must share a device: merged to ops before placement, or moved to one device after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem, with_rules
from placelab.schedule.catalogue import transform
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import contract, same_ops


@transform(source="Baechi (2020) §3.1, there the alternative of ColocRL", packages=("scipy",))
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
    graph = problem.graph
    group = problem.group
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


@transform(source="Baechi (2020) §3.1, tried there and rejected")
def post_adjust(
    problem: Problem, *, by: Literal["compute", "memory", "majority"] = "majority"
) -> tuple[Problem, Expand]:
    """Place ops as if there were no colocation groups, then move each group to the device of its dominant members.

    Parameters
    ----------
    by
        Which of a group's devices wins: the one that holds its op of the most ``"compute"`` or ``"memory"``, or the
        ``"majority"`` of its ops.

    Returns
    -------
    small, expand
        The problem without groups, and the way back. Of devices that all members may use; ties: the op or device of the
        lower number.

    Notes
    -----
    For comparison with partitioners here, which place a group when its first member comes: Baechi found step times up to 406 %
    worse than an expert's this way. Memory is not checked when a group is moved, so capacities may be exceeded.
    The planned order stays, its times and the estimate are dropped. O(n_ops · n_devices).
    """
    if not problem.n_groups:
        return problem, same_ops(problem)
    small = _ungrouped(problem)

    def expand(placement: Placement) -> Placement:
        device = same_ops(small)(placement).device
        adjusted = _adjusted(problem, device, by)
        moved = int((adjusted != device).sum())
        notes = (*placement.notes, f"post-adjust: {moved} ops moved to their group")
        trace = placement.trace and _unmoved(placement.trace, adjusted)
        plain = replace(placement, estimate=None, bound=None, not_before=None)
        return replace(plain, problem=problem, device=adjusted, notes=notes, trace=trace)

    return small, expand


def _ungrouped(problem: Problem) -> Problem:
    graph = problem.graph
    free = replace(graph, group=frozen(np.full(graph.n_ops, -1, dtype=np.int32)), group_names=())
    return with_rules(problem.replace(graph=free), problem, graph.names)


def _unmoved(trace: Trace, device: np.ndarray) -> Trace:
    """The trace without the decisions that post-adjustment changed."""
    kept = device[trace.op] == trace.device
    columns = {label: getattr(trace, label)[kept] for label in ("op", "device", "score", "reason")}
    return replace(trace, rank=None if trace.rank is None else trace.rank[kept], **columns)


def _adjusted(problem: Problem, device: np.ndarray, by: str) -> np.ndarray:
    """The devices after each group has moved to its dominant one."""
    ops = problem.group_ops
    k = problem.cluster.n_devices
    group = problem.group[ops]
    there = device[ops]
    votes = np.zeros((problem.n_groups, k))
    if by == "majority":
        np.add.at(votes, (group, there), 1.0)
    else:
        weight = problem.exec_times(device) if by == "compute" else problem.graph.memory
        np.maximum.at(votes, (group, there), 1.0 + weight[ops])
    votes[~problem.may_run[ops[problem.group_ptr[:-1]]]] = -1.0
    adjusted = device.copy()
    adjusted[ops] = votes.argmax(axis=1)[group]
    return adjusted
