"""Shorter plans from one that is there, made by hand or the best known: the single move that helps most, and local search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Annotated, NamedTuple

import numpy as np

from placelab.analysis.hand_plans import ByHand, by_hand, complete
from placelab.base.errors import expect
from placelab.base.index_arrays import frozen
from placelab.base.progress import Progress, Report, never, silent
from placelab.kernels.plan.places import shorter
from placelab.planning.lower_bounds import best_bound
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, checked
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.known_schedules import best_known, best_proven, offer, prove
from placelab.schedule.placement import PROVEN, Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import makespans
from placelab.simulation.event_simulation import simulate
from placelab.strategies.partitioning.portfolio import LocalSearch, usual_moves
from placelab.strategies.searches.tried_plans import TriedPlan, catalogue_plans, run

AT_ONCE = 64  # plans that are simulated in one call
SAVES = 1e-9  # of the makespan; less is rounding


class HandMove(NamedTuple):
    """A move of an op, and what it saves.

    Attributes
    ----------
    op, device : str
        The op moves to the device, or to another place on its own, with its colocation group.
    makespan : float
        Afterwards [s].
    saves : float
        By how much it is shorter [s].
    plan : ByHand
        The plan with the move.
    """

    op: str
    device: str
    makespan: float
    saves: float
    plan: ByHand


@checked
def best_move(
    schedule: Schedule, *, progress: Report | None = None, cancel: Callable[[], bool] | None = None
) -> HandMove | None:
    """The move of one op of the critical path that shortens a schedule most, all else in its order.

    Parameters
    ----------
    schedule
        Its plan is :func:`placelab.by_hand` of it, replayed by the scheduler ``planned``.
    progress
        Called with the :class:`placelab.base.progress.Progress`.
    cancel
        Called now and then; when it returns True the best of the moves tried so far is returned.

    Returns
    -------
    HandMove or None
        None where no move saves anything. Ties: the lower op number, then the lower device number. Where the schedule is within
        memory, so is the one with the move.

    Notes
    -----
    Each op of the critical path is put on each device that may run it, at the place by earliest start
    (``plan.places(op, device).start``), and all these plans are simulated. O(path · devices · (ops + edges) log ops). After a
    move another one may be best: called again and again it ends in a plan that no single move of this kind shortens. Not in the
    literature.

    Examples
    --------
    >>> import placelab as pl
    >>> move = best_move(pl.solve(pl.datasets.problem("topcuoglu"), "hash"))
    >>> move.op, move.device, move.makespan, move.saves
    ('T10', 'P2', 97.0, 22.0)
    """
    expect(schedule, Schedule, "best_move")
    plan = by_hand(schedule)
    report = progress or silent
    stop = cancel or never
    problem = schedule.problem
    path = _path(plan)
    candidates = _candidates(plan, path)
    best: tuple[float, str, str, ByHand] | None = None
    while not stop() and (some := list(islice(candidates, AT_ONCE))):
        plans = [moved for _, _, moved in some]
        devices = np.stack([moved.placement.device for moved in plans])
        found = makespans(problem, devices, sequences=np.stack([moved.planned for moved in plans]))
        least = plan.makespan if best is None else best[0]
        tried = np.zeros(len(found), np.uint8)
        while (i := int(shorter(frozen(found), tried, least, SAVES))) >= 0:
            if len(plan.schedule.oom) or not len(plans[i].schedule.oom):
                best = (float(found[i]), *some[i])
                break
            tried[i] = 1
        last = problem.graph.index(some[-1][0])
        report(Progress("trying moves", (path.index(last) + 1) / len(path)))
    if best is None:
        return None
    makespan, op, device, moved = best
    return HandMove(op, device, makespan, plan.makespan - makespan, moved)


def _path(plan: ByHand) -> list[int]:
    """The ops of the critical path, by number."""
    steps = critical_steps(plan.schedule)
    return np.unique(steps["row"][steps["kind"] == 0]).tolist()


def _candidates(plan: ByHand, path: list[int]) -> Iterator[tuple[str, str, ByHand]]:
    """Op, device and the plan with that move, by number, made one by one: a plan has two numbers for each op of the graph."""
    problem = plan.placement.problem
    for v in path:
        name = str(problem.graph.names[v])
        for d in problem.feasible(v).tolist():
            device = problem.cluster.names[d]
            if not plan.places(name, d).legal:
                continue
            moved = plan.move(name, d)
            if d != plan.placement.device[v] or not np.array_equal(moved.planned, plan.planned):
                yield name, device, moved


TRYING = 0.2  # share of the progress that the catalogue is


@checked
def improve(
    plan: ByHand | Placement | Schedule,
    *,
    moves: Annotated[int, Limits(0)] = 0,
    time_limit: Annotated[float, Limits(0)] = 60.0,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> ByHand:
    """Finish a plan: the shortest one that local search finds from it, move by move.

    Parameters
    ----------
    plan
        A plan by hand, a placement or a schedule; it is replayed by the scheduler ``planned``.
    moves
        Moves that are timed; 0: as many as ``portfolio`` tries by default.
    time_limit
        Seconds of wall-clock time after which the best so far is returned.
    progress
        Called with the :class:`placelab.base.progress.Progress` after each of some forty rounds, with makespan and bound.
    cancel
        Called before each round; when it returns True the best so far is returned.

    Returns
    -------
    ByHand
        Never longer than `plan`, nor shorter of memory. The same seed gives the same plan unless the time ran out.

    Raises
    ------
    FormatError
        Ops of the plan wait to be placed.

    Notes
    -----
    The walks and moves are those of the partitioner ``portfolio``, all of them from this plan. It ends early at a lower bound.

    Examples
    --------
    >>> import placelab as pl
    >>> plan = pl.by_hand(pl.solve(pl.datasets.problem("topcuoglu"), "hash")).move("T5", "P2")
    >>> plan.makespan, improve(plan).makespan
    (119.0, 73.0)
    """
    made = complete(plan, "improve")
    problem = made.placement.problem
    begin = run(problem, made.placement.device, made.planned, "by hand", "planned")
    search = LocalSearch(problem, [begin], seed, moves or usual_moves(problem))
    for best in _rounds(search, _deadline(time_limit, cancel)):
        progress(Progress("local search", search.share, best.makespan, search.bound))
    better = search.best.cost < begin.cost
    return by_hand(Placement(problem, search.best.device, search.best.order)) if better else made


@checked
def improve_known(
    problem: Problem,
    *,
    time_limit: Annotated[float, Limits(0)] = 60.0,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Schedule:
    """Search on from the best known schedule of a problem until the best is proven optimal or nothing helps.

    Parameters
    ----------
    time_limit
        Seconds of wall-clock time after which it ends.
    progress
        Called with the :class:`placelab.base.progress.Progress`, with the makespan of the best known and the best bound.
    cancel
        Called before each partitioner and each round of moves; when it returns True it ends. What was found stays known.

    Returns
    -------
    Schedule
        The best known, also if it is the one from before. Its ``placement.bound`` is the best bound that is proven.

    Raises
    ------
    InfeasibleError
        Or what else was raised first, where nothing is known and no partitioner has a plan.

    Notes
    -----
    Meant for a thread in the background. The plans of the catalogue come first, then searches as in ``portfolio``, which begin
    with the best plans so far. Every shorter schedule is known at once. A search without a gain is the last one.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.gaussian_elimination(5), pl.Cluster.uniform(2))
    >>> improve_known(problem).makespan == pl.best_known(problem).makespan
    True
    """
    expect(problem, Problem, "improve_known")
    late = _deadline(time_limit, cancel)
    prove(problem, best_bound(problem))
    known = best_known(problem)
    if known is not None and (_is_proven(known) or late()):
        return known
    plans = [] if known is None else [_tried(known)]
    found, _ = catalogue_plans(problem, seed, lambda one: progress(_early(one, known)), late)
    plans = sorted([*plans, *found], key=lambda plan: plan.cost)
    gained = True
    while gained and not late():
        search = LocalSearch(problem, plans, seed, usual_moves(problem))
        best = search.best
        _offer(problem, best, search.bound)
        for better in _rounds(search, late):
            if better is not best:
                best = better
                _offer(problem, best, search.bound)
            progress(Progress("local search", TRYING + (1 - TRYING) * search.share, best.makespan, _bound(search)))
        gained = best.cost < plans[0].cost and not search.met
        plans = sorted([best, *plans], key=lambda plan: plan.cost)
        seed += 1
    if (made := best_known(problem)) is not None:
        return made
    _offer(problem, plans[0], best_bound(problem))
    return best_known(problem) or _schedule(problem, plans[0], best_bound(problem))  # out of memory: not known


def _rounds(search: LocalSearch, late: Callable[[], bool]) -> Iterator[TriedPlan]:
    """The best plan after each round of a search."""
    while search.goes_on and not late():
        search.round()
        yield search.best


def _deadline(time_limit: float, cancel: Callable[[], bool]) -> Callable[[], bool]:
    """Whether to stop now."""
    end = perf_counter() + time_limit
    return lambda: cancel() or perf_counter() >= end


def _is_proven(schedule: Schedule) -> bool:
    return schedule.makespan <= best_proven(schedule.problem) * (1 + PROVEN)


def _bound(search: LocalSearch) -> float:
    """The best bound proven, of which a partitioner may have proven more than the search knows."""
    return max(search.bound, best_proven(search.problem))


def _early(one: Progress, known: Schedule | None) -> Progress:
    """The progress of the catalogue as a part of the whole, with what was known before where that is shorter."""
    earlier = None if known is None else known.makespan
    makespans = [seconds for seconds in (one.makespan, earlier) if seconds is not None]
    return replace(one, fraction=TRYING * (one.fraction or 0.0), makespan=min(makespans, default=None))


def _tried(schedule: Schedule) -> TriedPlan:
    """A known schedule as a plan to begin with."""
    plan = by_hand(schedule)
    return run(schedule.problem, plan.placement.device, plan.planned, "best known", "planned")


def _schedule(problem: Problem, plan: TriedPlan, bound: float) -> Schedule:
    """The run of a plan, with what is proven."""
    least = min(bound, plan.makespan)
    placement = Placement(problem, plan.device, plan.order, plan.makespan, bound=least, not_before=plan.not_before)
    return simulate(problem, placement, "planned")


def _offer(problem: Problem, plan: TriedPlan, bound: float) -> None:
    offer(_schedule(problem, plan, bound))
