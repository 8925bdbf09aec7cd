"""The tab with the partitioner's decisions, one by one, alone or beside those of another partitioner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from placelab.app.explorer.engine.solving import Result, function_of, place_state, traced
from placelab.app.explorer.offered import BY_HAND
from placelab.app.explorer.panels.panel import Panel, Shared
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.decisions import Decisions
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import PlacelabError
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioners
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

MOST = 20_000_000  # pairs of op and device; the scores of more take too much memory
NOTHING = "There is no schedule, so there are no decisions."
MERGED = "Ops that were merged before they were placed are decided as one."
OWN = "A partitioner of your own records decisions when it takes trace, and hands it to ListScheduler(problem, trace=trace)."
SEARCHES = "It searches whole placements instead of deciding op by op."
HAND = "A plan by hand has no decisions of a partitioner."


class DecisionsPanel(Panel):
    """The newest result's decisions, computed on a thread of their own, when the panel is visible and no hand drags.

    Attributes
    ----------
    view
        The widget; its `candidates` are the ghost bars of the current step.
    on_part
        Called with the schedule, and the row and the op at which what it is compared with first decides otherwise; -1, -1 where
        there is none.
    on_step
        Called with the schedule and what is decided of it so far, see :meth:`placelab.app.widgets.decisions.Decisions.so_far`.
    """

    title = "Decisions"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.on_step: Callable[[Schedule, tuple[int, int, np.ndarray] | None], None] = lambda schedule, so_far: None
        self.on_part: Callable[[Schedule, int, int], None] = lambda schedule, row, op: None
        self._parting = False  # the first difference is to be gone to when it is known
        self._newest: Result | None = None
        self._shown: tuple[Result | None, str] | None = None  # the result on show, and what it is compared with
        self.view = Decisions(comm=PartComm())
        self.box = w.HBox([self.view])
        self._select_with(self.view)
        self.view.observe(lambda change: self._worker.wake(), "against")
        self.view.observe(self._tell, ["step", "whole", "hides", "mode"])

    def _turned(self) -> None:
        """Have the chart show the whole plan while the tab is not open."""
        if not self.visible:
            self.view.candidates = []  # else their ghosts would stay on the chart
        self._tell()

    def _tell(self, _: object = None) -> None:
        """Tell what is decided so far of what is shown."""
        result = self._newest
        if result is not None:
            seen = self._visible and self._shown is not None and self._shown[0] is result
            self.on_step(result.schedule, self.view.so_far(result.schedule) if seen else None)
            row = self.view.differs[0] if seen and not self.view.hides else -1
            self.on_part(result.schedule, row, self.view.op_of(row) if row >= 0 else -1)

    def beside(self, name: str) -> None:
        """Lay the decisions of another partitioner beside these, and go to the first that differs."""
        self._parting = True
        self._shown = None if self.view.against == name else self._shown
        self.view.against = name
        self._worker.wake()

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Mark the decisions of another state as outdated; catch up after a drag whose last result is this state's."""
        if not self.visible or self._newest is None:
            return
        self.view.stale = self._shown is None or self._shown[0] is None or self._shown[0].state is not state
        if not dragging and self._newest.state is state:
            self._worker.wake()

    def result(self, result: Result | None) -> None:
        """Show the decisions behind a result soon."""
        self._newest = result
        self._tell()
        if self.visible:
            self._worker.wake()

    def _catch_up(self) -> None:
        result = self._newest
        against = self.view.against
        if self._shared.dragging() or (result is not None and result.preview):
            return
        if self._shown != (result, against):
            try:
                self._fill(result, against)
            except Abandoned:
                return  # something newer is due, and the partitioner does not end by itself
            self.view.result_of = "" if result is None else result.key
            self._shown = (result, against)
            self._tell()
        self.view.stale = False

    def _fill(self, result: Result | None, against: str) -> None:
        if result is None:
            return self.view.clear(NOTHING)
        self.view.choices = [name for name in recording() if name != result.state.placer]
        problem = result.problem
        name = result.state.placer
        if problem.graph.n_ops * problem.cluster.n_devices > MOST:
            return self.view.clear(
                f"{MOST:,} scores at most are recorded; this problem has more pairs of op and device."
            )
        placement, note = self._placed(lambda: traced(result), f"{name} failed when its decisions were to be recorded")
        if placement is None:
            return self.view.clear(note)
        if placement.trace is None and name == BY_HAND:
            return self.view.clear(HAND)
        if placement.trace is None:
            return self.view.clear(f"{name} records no decisions. {_why_none(result)}")
        other = None
        if against and against != name:
            state = replace(result.state, partitioner=against, hand=None)
            place = lambda: place_state(state, problem, trace=True)[0]  # noqa: E731
            other, note = self._placed(place, f"Not compared with {against}")
        merged = MERGED if 0 < result.ops < problem.graph.n_ops else ""
        self.view.show(placement, other, note=" ".join(filter(None, (merged, note))))
        if self._parting and other is not None:
            self.view.step = max(self.view.differs[0], 0)
        self._parting = False

    def _placed(self, place: Callable[[], Placement], failed: str) -> tuple[Placement | None, str]:
        """A placement, or None and why there is none; raise Abandoned if it runs on although something newer is due."""
        try:
            return run_abandonable(place, lambda: self._worker.woken), ""
        except Abandoned:
            raise
        except (Exception, SystemExit) as error:
            return None, f"{failed}: {_sentence(error)}"


def recording() -> list[str]:
    """Partitioners that record their decisions and are quick."""
    return sorted(name for name, f in partitioners().items() if "trace" in f.reserved and not f.slow)


def _why_none(result: Result) -> str:
    function = function_of(result.state)
    own = function.__module__.startswith("placelab.")
    return "" if "trace" in function.reserved else SEARCHES if own else OWN


def _sentence(error: BaseException) -> str:
    """The error in one line; the kind of one that is not placelab's own."""
    kind = "" if isinstance(error, PlacelabError) else f"{type(error).__name__}: "
    return (kind + str(error).partition("\n")[0]).rstrip(": ")
