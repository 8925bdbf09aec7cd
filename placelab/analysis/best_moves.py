"""The single move of an op that shortens a schedule most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from placelab.analysis.hand_plans import ByHand, by_hand
from placelab.base.errors import expect
from placelab.base.progress import Progress, Report, never, silent
from placelab.schedule.catalogue import checked
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import makespans

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
        for i in np.argsort(found, kind="stable").tolist():
            least = plan.makespan if best is None else best[0]
            if not found[i] < least * (1 - SAVES):
                break
            if len(plan.schedule.oom) or not len(plans[i].schedule.oom):
                best = (float(found[i]), *some[i])
                break
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
