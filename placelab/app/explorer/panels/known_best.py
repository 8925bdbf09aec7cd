"""The chip of the best known schedule: pressed, it shows that; it looks for a shorter one while nothing else is done."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from placelab.analysis.hand_plans import by_hand
from placelab.analysis.improving import improve_known
from placelab.app.explorer.offered import BEST_KNOWN
from placelab.app.explorer.panels.panel import Shared, button
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.base.errors import PlacelabError
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.base.threads import Background, Worker, at_most, cores
from placelab.base.units import percent
from placelab.planning.lower_bounds import known_bounds
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import PLANNED, partitioners, schedulers
from placelab.schedule.known_schedules import best_known
from placelab.schedule.schedule import Schedule

REST = 2.0  # seconds without a change before a shorter schedule is looked for
POLL = 0.1  # seconds between two looks whether a hand moves
LIMIT = 300.0  # seconds of one search
MOST = 10_000  # ops; of more, only where the switch is pressed: what is under way then holds up a drag
SAME = 1e-9  # relative; makespans that differ by rounding
TIP = "Looks for a shorter schedule whenever nothing else has been done for two seconds"


class BestKnown(Background):
    """The chip, and the search behind it.

    Parameters
    ----------
    shared
        What the explorer's views share: the best makespan and bound of the problem shown; while it is `busy`, the search waits.

    Attributes
    ----------
    box
        The chip: `chip` is the button, `par` the line with three ticks, `switch` has the search in the background.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._busy = shared.busy
        self._problem: Problem | None = None
        self._searched: Problem | None = None  # whose search has come to its end
        self._chosen = False  # the switch was pressed by a user
        self._worker = Worker(self._search, "best known")
        self.chip = button("", "", self.show_best).add_class("pl-chip")
        self.par = w.Par()
        self.switch = w.ToggleButton(value=True, description="search", tooltip=TIP).add_class("pl-search")
        self.switch.on_choice(self._switched)
        self.box = w.HBox([self.chip, self.par, self.switch]).add_class("pl-best")
        self.box.hidden = True

    def follow(self, problem: Problem) -> None:
        """Take the problem shown; a search under way ends, and begins again once nothing else is done."""
        if problem is not self._problem and not self._chosen:
            self.switch.put(problem.graph.n_ops <= MOST)
        self._problem = problem
        if self.switch.value and problem is not self._searched:
            self._worker.wake()

    def write(self, schedule: Schedule | None, of: str = "") -> None:
        """Say what is known beside the schedule that is shown of the state with the key `of`; None: there is none."""
        best = self._shared.best
        self.box.hidden = schedule is None or not isfinite(best)
        if schedule is None or not isfinite(best):
            return
        time = schedule.problem.cluster.units.time
        bound = max(self._shared.bound, *known_bounds(schedule.problem).values())
        far = _far(best, bound)
        shown = schedule.makespan <= best * (1 + SAME)
        text = f"★ {'optimal' if far == 'optimal' else 'best known'}" if shown else f"★ {time(best)} best known"
        said = "The shortest legal schedule of this problem in this session"
        self.chip.take(
            result_of=of,
            description=" · ".join([text, *([far] if far and not (shown and far == "optimal") else [])]),
            tooltip=f"{said} is shown." if shown else f"{said}; a click shows it. pl.best_known(problem) is it.",
            disabled=shown,
        )
        self.switch.hidden = far == "optimal"  # nothing is left to look for
        told = f"proven ≥ {time(bound)}, best known {time(best)}, shown {time(schedule.makespan)}"
        self.par.take(result_of=of, bound=bound, best=best, shown=schedule.makespan, said=told)

    def show_best(self) -> None:
        """Show the best known schedule, as a step of the history."""
        if (problem := self._problem) is not None and (schedule := best_known(problem)) is not None:
            self._shared.change(lambda state: with_schedule(state, schedule))

    # ---------------------------------------------------------------- the search

    def _switched(self, _: object) -> None:
        self._chosen = True
        self._worker.wake()

    def _search(self) -> None:
        """Look for a shorter schedule until the problem changes or something else is done; then wait for rest again."""
        problem = self._problem
        while self.switch.value and problem is not None and problem is not self._searched:
            if not self._rested():
                return
            self.switch.add_class("pl-searching")
            try:
                run_abandonable(lambda: self._improve(problem), lambda: self._worker.woken or self._busy())
                self._searched = problem
            except Abandoned:
                pass
            except PlacelabError:
                self._searched = problem  # there is no plan, which the explorer says elsewhere
            finally:
                self.switch.remove_class("pl-searching")

    def _rested(self) -> bool:
        """Wait until nothing has been done for a while; return False when there is other work."""
        while self._worker.sleep(REST):
            if not self._busy():
                return True
            while self._busy():
                if not self._worker.sleep(POLL):
                    return False
        return False

    def _improve(self, problem: Problem) -> None:
        """Search on all cores but one, which is left to what a hand may begin.

        Not at a lower priority: a thread that waits for a core while it holds Python's lock holds up all others, and of least
        priority it waits for seconds beside two busy processes.
        """
        learn = lambda _: self._shared.learn(problem)  # noqa: E731
        with at_most(max(1, cores() - 1)):
            improve_known(problem, time_limit=LIMIT, progress=learn, cancel=self._busy)


def _far(best: float, bound: float) -> str:
    """How far the best known may be from the optimum."""
    gap = best / bound - 1 if bound > 0 else float("inf")
    if gap < 1e-6:
        return "optimal"
    return f"within {percent(max(gap, 0.001))} of what is possible" if isfinite(gap) else ""


def with_schedule(state: State, schedule: Schedule) -> State:
    """A state that shows a schedule: its plan replayed, or where that takes longer its strategies."""
    placement = schedule.placement
    if schedule.scheduler == PLANNED and placement.planned is not None:
        return state.with_hand(placement, BEST_KNOWN)
    plan = by_hand(schedule)
    known = placement.partitioner in partitioners() and schedule.scheduler in schedulers()
    if plan.makespan <= schedule.makespan * (1 + SAME) or not known:
        return state.with_hand(plan.placement, BEST_KNOWN)
    return replace(state.with_strategy("partitioner", placement.partitioner), scheduler=schedule.scheduler)
