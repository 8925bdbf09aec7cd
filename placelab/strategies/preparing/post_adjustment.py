"""Post-adjustment: place every op without colocation groups, then move each group to one device."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import transform
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import same_ops, with_rules


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
    ops, k = problem.group_ops, problem.cluster.n_devices
    group, there = problem.group[ops], device[ops]
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
