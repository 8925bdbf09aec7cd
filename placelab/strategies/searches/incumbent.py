"""Keep the best plan and the best lower bound that an exact search has found so far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placelab.base.errors import InfeasibleError, UnsupportedError
from placelab.base.progress import Progress, Report, silent
from placelab.planning.list_scheduler import memory_waits, planned_order
from placelab.problem.problem import Problem
from placelab.schedule.placement import PROVEN, Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate


class Incumbent:
    """The plan of least simulated makespan among those offered, and the largest lower bound proven.

    A plan's makespan is that of its run in the planned order, under the problem's own transfer and memory model.

    Attributes
    ----------
    placement : Placement or None
        Best so far; its estimate is the makespan of its run.
    bound : float
        No schedule of the problem is shorter [s].
    left_out : str
        Parts of the problem that the search leaves out, in words; "" if none.
    """

    def __init__(self, problem: Problem, doing: str, report: Report = silent, left_out: str = "") -> None:
        self.problem = problem
        self.doing = doing
        self.report = report
        self.left_out = left_out
        self.placement: Placement | None = None
        self.bound = 0.0
        self.fraction = 0.0

    @property
    def makespan(self) -> float:
        """Makespan of the best plan [s]; infinite before the first."""
        if self.placement is None:
            return np.inf
        assert self.placement.estimate is not None  # offer sets it
        return self.placement.estimate

    @property
    def gap(self) -> float:
        """How far above the optimum the makespan may be, as a fraction of the bound."""
        if self.makespan <= self.bound:
            return 0.0
        return self.makespan / self.bound - 1 if self.bound > 0 else np.inf

    @property
    def proven(self) -> bool:
        """Whether the best plan is optimal, up to rounding."""
        return self.makespan <= self.bound * (1 + PROVEN)

    def offer(self, device: np.ndarray, order: np.ndarray, not_before: np.ndarray | None = None) -> None:
        """Keep this plan if it runs within memory, its ops waiting for room, and ends earlier than the best so far."""
        schedule = run(self.problem, Placement(self.problem, device, order, not_before=not_before))
        if schedule is not None and schedule.makespan < self.makespan:
            self.placement = replace(schedule.placement, estimate=schedule.makespan)
            self.report_progress()

    def offer_placement(self, placement: Placement) -> None:
        """Offer a partitioner's placement; one without a plan gets the order in which the scheduler ``pct`` runs it."""
        order = placement.planned
        if order is None:
            schedule = simulate(self.problem, placement, "pct")
            order = planned_order(schedule.start, schedule.finish)
        self.offer(placement.device, order, placement.not_before)

    def prove(self, bound: float) -> None:
        """Raise the lower bound: no schedule is shorter than `bound` [s]."""
        if bound > self.bound:
            self.bound = bound
            self.report_progress()

    def report_progress(self) -> None:
        """Report the progress of the search."""
        makespan = None if self.placement is None else self.makespan
        self.report(Progress(self.doing, self.fraction, makespan, min(self.bound, self.makespan)))

    def result(self, who: str, stopped: str) -> Placement:
        """The best plan with its bound and notes on what is proven.

        Parameters
        ----------
        who
            Name of the strategy, for the UnsupportedError where no plan was found.
        stopped
            The limit that ended the search, or "".
        """
        if self.placement is None:
            memory = f"within memory (memory model {self.problem.memory!r}); place with 'm-etf' or 'm-sct'"
            if stopped:
                raise UnsupportedError(
                    f"{who}, stopped {stopped}, has found no plan {memory}, or let it search for longer"
                )
            raise UnsupportedError(f"{who} found no plan {memory}, or pose the problem with memory='reserved'")
        bound = min(self.bound, self.makespan)
        placement = replace(self.placement, bound=bound)
        found = self._distance(bound) + (f", stopped {stopped}" if stopped else "")
        notes = [found]
        if placement.optimal:
            notes = ["proven optimal"]
        elif self.left_out:
            notes += [f"the bound leaves out {self.left_out}, the plan was chosen by its run with it"]
        return replace(placement, notes=tuple(notes))

    def _distance(self, bound: float) -> str:
        if not bound > 0:
            return "no bound proven"
        share = f"{100 * self.gap:.2g}" if self.gap < 1 else f"{100 * self.gap:.0f}"
        return f"at most {share} % above the optimum (bound {self.problem.cluster.units.time(bound)})"


def run(problem: Problem, placement: Placement) -> Schedule | None:
    """The run of a plan by ``planned``; None if it exceeds a capacity.

    A plan that does is given ``not_before`` times under which ops wait for room, where these help.
    """
    try:
        schedule = simulate(problem, placement, "planned")
        if len(schedule.oom):
            waited = simulate(problem, placement, "planned", oom="wait")
            schedule = simulate(problem, replace(placement, not_before=_waits(waited)), "planned")
    except InfeasibleError:
        return None
    return None if len(schedule.oom) else schedule


def _waits(run: Schedule) -> np.ndarray | None:
    """Starts of the ops that waited for memory in the run of a plan, as ``Placement.not_before``."""
    problem = run.problem
    moved = run.transfers
    planned = run.placement.planned
    assert planned is not None  # it is the run of a plan
    there = np.zeros((problem.graph.n_tensors, problem.cluster.n_devices))
    there[moved["tensor"], moved["destination"]] = moved["finish"]
    return memory_waits(problem, run.device, run.start, run.finish, planned, there.reshape(-1))
