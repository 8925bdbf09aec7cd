"""The parametric list scheduler: HEFT, CPOP and seventy others, put together from five choices."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np

from placelab.kernels.plan.list_schedule import FINISH, LENGTH, START, aimed
from placelab.planning import plan_arrays
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.list_scheduling import AIMS, PATH, in_order
from placelab.planning.ranks import (
    by_falling,
    downward_rank,
    precedence_order,
    rounded,
    upward_rank,
    upward_ranks,
    with_ranks,
)
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.partitioning.cpop import path_together

Priority = Literal["upward", "cpop", "topological"]
Place = Literal["eft", "est", "quickest"]
RULES: dict[Place, int] = {"eft": FINISH, "est": START, "quickest": LENGTH}


@partitioner(source="Coleman, Krishnamachari 2024, arXiv 2403.07112")
def parametric(
    problem: Problem,
    *,
    priority: Priority = "upward",
    place: Place = "eft",
    insertion: bool = True,
    pin_critical_path: bool = False,
    sufferage: bool = False,
    trace: bool = False,
) -> Placement:
    """Any of 72 list schedulers: how ops are ordered, and where each goes.

    Parameters
    ----------
    priority
        Of the ops whose inputs are placed, always that of largest ``"upward"`` rank, of largest upward + downward rank
        (``"cpop"``), or of lowest number (``"topological"``).
    place
        The device where the op finishes (``"eft"``) or starts (``"est"``) soonest, or takes least time (``"quickest"``).
    insertion
        Into the earliest idle gap that holds it; False: after the device's last op.
    pin_critical_path
        The critical path, found as in ``cpop``, goes to the device that runs it soonest.
    sufferage
        Of the two ops that come first, that goes first which would lose more on its second-best device, by what `place`
        compares; one of a single candidate would lose without bound. Ties: the first.

    Notes
    -----
    The default is ``heft``, ``cpop`` is ``priority="cpop", pin_critical_path=True``; both give the same bytes. Ties: rank by
    op number; starts by the sooner finish; devices by number. Groups, memory and transfers as in ``heft``, but with
    `sufferage` memory is tracked from the beginning, in plain Python. Complexity as ``heft``'s.
    """
    up = upward_rank(problem)
    order = _order(problem, priority, up)
    nowhere = np.full(problem.graph.n_ops, -1, dtype=np.int32)
    preferred = path_together(problem, up) if pin_critical_path else nowhere
    rule = RULES[place]
    if sufferage:
        placement = _by_sufferage(problem, order, preferred, insertion, rule, trace)
    else:
        placement = in_order(problem, order, preferred, insertion=insertion, trace=trace, aim=plan_arrays.aim(rule))
    return with_ranks(placement, lambda: upward_ranks(problem, up))


def _order(problem: Problem, priority: Priority, up: np.ndarray) -> np.ndarray:
    if priority == "topological":
        return np.arange(problem.graph.n_ops, dtype=np.int32)
    if priority == "upward":
        return by_falling(rounded(up))[0]
    return precedence_order(problem.graph, rounded(up + downward_rank(problem)))


def _by_sufferage(
    problem: Problem, order: np.ndarray, preferred: np.ndarray, insertion: bool, rule: int, trace: bool
) -> Placement:
    """Place, of the two ready ops that are first in `order` and have room, the one that would lose more."""
    s = ListScheduler(problem, insertion=insertion, trace=trace)
    graph = problem.graph
    aim = plan_arrays.aim(rule)
    k = problem.cluster.n_devices
    at = np.argsort(order).tolist()
    missing = np.diff(graph.pred_ptr)
    heap = [at[v] for v in np.flatnonzero(missing == 0).tolist()]
    heapify(heap)

    def scores(v: int) -> list[tuple[float, float, int]]:
        length = problem.exec_time
        found = s.candidates(v)
        if preferred[v] in found:
            found = [int(preferred[v])]
        return sorted(
            (aimed(aim, v * k + d, s.est(v, d), length(v, d)), s.eft(v, d) if rule == START else 0.0, d) for d in found
        )

    while heap:
        looked_at: list[int] = []
        pair: list[tuple[int, list[tuple[float, float, int]]]] = []
        while heap and len(pair) < 2:
            looked_at.append(heappop(heap))
            v = int(order[looked_at[-1]])
            if found := scores(v):
                pair.append((v, found))
        if not pair:
            s.feasible(int(order[looked_at[0]]))  # raises, naming the op and what each device lacks
        v, found = max(pair, key=lambda each: each[1][1][0] - each[1][0][0] if len(each[1]) > 1 else np.inf)
        reason = PATH if preferred[v] == found[0][2] else AIMS[rule][0]
        s.place(v, found[0][2], reason=reason, scores={d: score for score, _, d in found})
        for place in looked_at:
            if order[place] != v:
                heappush(heap, place)
        for w in graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]].tolist():
            missing[w] -= 1
            if missing[w] == 0:
                heappush(heap, at[w])
    return s.placement(AIMS[rule][1])
