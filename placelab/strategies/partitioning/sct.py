"""Small communication times: an op's favourite child runs beside it, unless another op is urgent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.progress import Report, never, silent
from placelab.kernels.plan import ready_ops as kernels
from placelab.planning import plan_arrays
from placelab.planning.favourite_child import (
    MATCHING,
    PROGRAM,
    UNFINISHED,
    UNSOLVED,
    Favourites,
    favourite_children,
    is_mean,
)
from placelab.planning.memory_plan import can_bind
from placelab.planning.ranks import by_falling, rounded, static_level, static_levels, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.partitioning.etf import AppendPlan

REASONS = (
    "free: of the ready ops the first that can start there",
    "awake: urgent, it can start now on every idle device",
    "awake: nothing is urgent, so the favourite child of its last op runs",
    "awake: nothing is urgent, so it waits for the favourite child of its last op",
)
MEANS = "favourite children: the linear program takes the cluster's mean speed, bandwidth and latency"
PREVIEW = "preview: favourite children matched greedily; after the drag the linear program chooses them"
NO_OPTIMUM = (
    "favourite children matched greedily: the times differ by more orders of magnitude than the solver of the linear program can "
    "tell apart"
)
TOO_LONG = "favourite children matched greedily: the graph is large, and the solver reached its limit of steps"
STOPPED = "stopped before the linear program was solved: favourite children matched greedily"


@partitioner(source="Hanen, Munier 1995; Srivastava 2018 §4.3, Baechi 2020 §2.4", packages=("scipy", "cvxpy"))
def sct(
    problem: Problem,
    *,
    threshold: Annotated[float, Limits(0, 1, above=True)] = 0.5,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    r"""SCT: as ETF, but a device waits for the favourite child of its last op; memory is ignored.

    Parameters
    ----------
    threshold
        θ: v is the favourite child of u where :math:`x_{uv} < θ` in the linear program
        (:func:`placelab.planning.favourite_child.favourite_children`). 0.5 is the classical rounding, Baechi takes 0.1.

    Notes
    -----
    The clock t is the earliest start of any ready op on any device; an op is ready when all its inputs are placed. At t the
    idle devices are tried in turn, the fastest first (ties: number). Device d, whose last op is i, is

    - *awake* if i has a favourite child f that is ready and can start nowhere sooner than on d. It takes an *urgent* op, one
      that can start by t on every idle device that may run it and has room; if there is none, f, whenever that can start;
    - *free* otherwise. It takes an op that can start there at t; if there is none, it waits.

    Ties: the larger static level (:func:`placelab.planning.ranks.static_level`, rounded), then the op number. After each op the
    clock is read again; it never goes back. Ops are appended. The papers leave open in which order devices are tried, and
    whether a different op may be put before f while d waits: not here.

    The first member of a colocation group fixes the device of all. Transfers queue as in ``etf``, see there; the favourite
    children know nothing of groups, restrictions, queues and of what sets devices apart, so the notes of the placement say
    when means were taken. During a drag, and where a large graph takes the solver more steps than it is allowed, ops are
    matched greedily in place of the linear program, and the notes say so.

    Memory may run short over time (simulating shows where); only what a device would hold from beginning to end is
    checked, when the plan is made. ``m-sct`` plans within memory. The linear program takes most of the time; the rest
    is O(ops · devices · (devices + log ops) + edges · devices) as long as the first candidate mostly is urgent.

    Raises
    ------
    InfeasibleError
        A device was given more persistent bytes (under ``reserved``: memory) than it has.
    """
    favourites = favourite_children(problem, threshold, preview=preview, progress=progress, cancel=cancel)
    plan, rule = _plan(problem, favourites, memory=False, trace=trace)
    plan.check_lasting()
    return _placement(plan, rule, favourites, preview)


@partitioner(name="m-sct", source="Srivastava 2018 §4.3.2, Baechi 2020 §2.4", packages=("scipy", "cvxpy"))
def m_sct(
    problem: Problem,
    *,
    threshold: Annotated[float, Limits(0, 1, above=True)] = 0.5,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    """m-SCT: as ``sct``, within memory: a device without room for an op is skipped for it.

    Parameters
    ----------
    threshold
        As in ``sct``.

    Notes
    -----
    The plan of ``sct`` when no device ever runs out of memory in it. Else an op can start on a device from the first time on
    that it has room to its end, as in ``m-etf``, see there; a device without room for any op that is left is never asked again.
    Both papers drop a device for good; here it is tried again when memory is freed. The scheduler ``planned`` replays a wait for
    memory, too.

    Memory is indivisible, which the published approximation ratio ignores: on two devices of 4 units each, of three ops of 1,
    1 and 4 units that cost the same and share no edge the first two spread, and the third fits nowhere, though a placement
    exists. Where the memory that is left is little, :class:`placelab.InfeasibleError` does not mean that there is none.

    Raises
    ------
    InfeasibleError
        Nothing that is ready has room anywhere: names the op or group, and per device how many bytes are missing.
    """
    favourites = favourite_children(problem, threshold, preview=preview, progress=progress, cancel=cancel)
    plan, rule = _plan(problem, favourites, memory=False, trace=trace)
    if can_bind(problem) and len(plan.schedule().oom):
        plan, rule = _plan(problem, favourites, memory=True, trace=trace)
    return _placement(plan, rule, favourites, preview)


def _plan(problem: Problem, favourites: Favourites, *, memory: bool, trace: bool) -> tuple[AppendPlan, np.ndarray]:
    """The plan, and the rule that placed each op."""
    made = AppendPlan(problem, memory=memory, trace=trace)
    item, rank = by_falling(rounded(static_level(problem)))
    queues = plan_arrays.queues(problem, rank, item)
    bounds = plan_arrays.bounds(problem)
    asked = plan_arrays.favourites(problem, favourites.child, _turns(problem))
    placed = kernels.small_communication_times(
        *plan_arrays.facts(problem), made.limits, plan_arrays.frontier(problem), queues, bounds, asked, made.plan
    )
    if placed < problem.graph.n_ops:
        raise made.refuse(rank)
    return made, asked.rule


def _turns(problem: Problem) -> np.ndarray:
    """The devices in the order in which they are tried: fastest first, then by number.

    With measured times, a device's slowness is the mean over ops of their time there over that on their fastest device.
    """
    if problem.graph.time is None:
        return frozen(np.argsort(-problem.cluster.speed, kind="stable").astype(np.int32))
    table = problem.exec_table()
    may = problem.may_run
    least = np.where(may, table, np.inf).min(axis=1, keepdims=True)
    times = np.divide(table, least, out=np.ones_like(table), where=may & (least > 0))
    slow = np.where(may, times, 0.0).sum(axis=0) / np.maximum(may.sum(axis=0), 1)
    return frozen(np.argsort(slow, kind="stable").astype(np.int32))


def _placement(plan: AppendPlan, rule: np.ndarray, favourites: Favourites, preview: bool) -> Placement:
    notes = [PREVIEW if preview else STOPPED] if favourites.rule == MATCHING else []
    notes += [NO_OPTIMUM] if favourites.rule == UNSOLVED else []
    notes += [TOO_LONG] if favourites.rule == UNFINISHED else []
    notes += [MEANS] if is_mean(plan.problem) and favourites.rule == PROGRAM else []
    placement = with_ranks(plan.placement(REASONS, rule), lambda: static_levels(plan.problem))
    return replace(placement, notes=tuple(notes))
