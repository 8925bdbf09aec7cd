"""Plans of the catalogue: the placement of every quick partitioner, in the order of whichever static scheduler suits it best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from placelab.base.errors import InfeasibleError, UnsupportedError
from placelab.base.progress import Progress, Report, never, silent
from placelab.planning.list_scheduler import planned_order
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Partitioner, keywords, partitioners, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import schedule_or_raise, simulate_all
from placelab.simulation.event_simulation import Run, run_of, simulate

EZ = 2e7  # edges · (ops + edges) up to which `ez` is tried, which is slow elsewhere
Key = tuple[bytes, bytes, bytes]  # devices, order and earliest starts of a plan


@dataclass(frozen=True, eq=False)
class Plan:
    """A placement with an order, and what came of running it."""

    device: np.ndarray
    order: np.ndarray  # ops by finish
    makespan: float
    short: float  # bytes missing, summed over the spans in which a device is out of memory
    partitioner: str  # whose placement it was
    scheduler: str  # whose order it was
    not_before: np.ndarray | None = None  # of a plan that waits for memory

    @property
    def cost(self) -> tuple[float, float]:
        """What is compared: memory, then time."""
        return self.short, self.makespan


def run(problem: Problem, device: np.ndarray, order: np.ndarray, by: str, rule: str) -> Plan:
    """What comes of a placement and an order, by the simulator's ``planned``."""
    return _plan(simulate(problem, Placement(problem, device, order), "planned"), by, rule)


def _plan(schedule: Schedule, by: str, rule: str) -> Plan:
    start, finish, order = schedule.start, schedule.finish, cast(np.ndarray, schedule.placement.planned)
    by_finish = np.lexsort((np.argsort(order), start, finish)).astype(np.int32)
    short, waits = float(schedule.oom["bytes"].sum()), schedule.placement.not_before
    return Plan(schedule.device, by_finish, schedule.makespan, short, by, rule, waits)


def catalogue_plans(
    problem: Problem, seed: int, progress: Report, late: Callable[[], bool]
) -> tuple[list[Plan], list[dict[str, Any]]]:
    """Plans of all quick partitioners, best first, and a row for each; until one works, all are tried.

    `late` is called before each; when it returns True, those that are left are not tried.

    Raises
    ------
    InfeasibleError
        Or what else was raised first, where no partitioner has a plan.
    """
    plans: list[Plan] = []
    rows: list[dict[str, Any]] = []
    refused: list[Exception] = []
    known: dict[Key, Plan] = {}
    n, m = problem.graph.n_ops, problem.graph.n_edges
    small = {"ez"} if m * (n + m) <= EZ else set()
    quick = [function for function in partitioners().values() if function.name in small or not function.slow]
    for i, function in enumerate(quick):
        if plans and late():
            rows.append(row_of(function.name, error="not tried: stopped before"))
            continue
        least = min((plan.makespan for plan in plans), default=None)
        progress(Progress(f"trying {function.name}", i / len(quick), least))
        try:
            plans.append(_try(problem, function, seed, known))
            rows.append(row_of(function.name, plans[-1]))
        except Exception as error:  # a user's strategy may raise anything
            rows.append(row_of(function.name, error=str(error) or type(error).__name__))
            refused.append(error)
    if not plans:
        raise next((error for error in refused if isinstance(error, InfeasibleError)), refused[0])
    return sorted(plans, key=lambda plan: plan.cost), rows


def _try(problem: Problem, function: Partitioner, seed: int, known: dict[Key, Plan]) -> Plan:
    """The best plan that a partitioner's placement makes, whichever static scheduler orders it; those `known` are not run."""
    asked = dict(seed=seed, trace=False, preview=False, progress=silent, cancel=never)
    placement = function(problem, **keywords(function, {}, **asked))
    base = run_of(problem, placement, "fifo", seed, "mark", {})
    static = [scheduler for scheduler in schedulers().values() if scheduler.static]
    ordered, new = dict[str, Key](), dict[Key, Run]()
    for scheduler, found in zip(static, simulate_all([base.by(scheduler) for scheduler in static]), strict=True):
        if isinstance(found, UnsupportedError):  # planned, without a plan
            continue
        schedule = schedule_or_raise(found)
        order = planned_order(schedule.start, schedule.finish)
        waits = placement.not_before if scheduler.name == "planned" else None
        key = schedule.device.tobytes(), order.tobytes(), b"" if waits is None else waits.tobytes()
        ordered[scheduler.name] = key
        if key not in known:
            plan = Placement(problem, schedule.device, order, not_before=waits)
            new[key] = base.by(schedulers()["planned"])._replace(placement=plan)
    for key, found in zip(new, simulate_all(list(new.values())), strict=True):
        known[key] = _plan(schedule_or_raise(found), function.name, "")
    plans = [replace(known[key], partitioner=function.name, scheduler=name) for name, key in ordered.items()]
    return min(plans, key=lambda plan: plan.cost)


def row_of(name: str, plan: Plan | None = None, error: str = "") -> dict[str, Any]:
    """What a table says of a partitioner: its plan, or why it has none."""
    if plan is None:
        return dict(partitioner=name, scheduler="", makespan=np.nan, oom=False, error=error)
    return dict(partitioner=name, scheduler=plan.scheduler, makespan=plan.makespan, oom=plan.short > 0, error="")
