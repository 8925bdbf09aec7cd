"""Show a result, or why there is none, in the chart, the numbers, the tabs and on the canvas."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import sleep

import ipywidgets as w
import numpy as np
import traitlets

from placelab.app.explorer.engine.failure import Failure
from placelab.app.explorer.engine.search import StoppedError
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.decisions_panel import DecisionsPanel
from placelab.app.explorer.panels.message import Message
from placelab.app.explorer.panels.numbers import Numbers
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.panels.pickers import ChangeState, Pickers
from placelab.app.explorer.panels.rejection import Rejection
from placelab.app.explorer.panels.search_line import SearchLine
from placelab.app.explorer.panels.strip import link_load, strip, with_change, with_proof
from placelab.app.explorer.panels.tabs import Tabs
from placelab.app.explorer.state import State
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.gantt_chart import Gantt
from placelab.base.errors import InfeasibleError
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

SENDING = 1e-3  # seconds in which the kernel's thread that sends messages gets Python's lock; it would wait for the numbers else
FEW = 10  # devices; the canvas does not draw the links of more, so their load is not sent


class ResultView:
    """The Gantt chart, the numbers, the tabs, and the panel that explains why nothing fits.

    Parameters
    ----------
    canvas, message, pickers
        Also show parts of a result: use of memory and links, errors, number of ops placed.
    shared
        What the tabs share; its selection is that of the chart.
    change, undo
        Called by the remedies that the panel offers.
    again
        Called when a user wants a stopped search to be run again.

    Attributes
    ----------
    aside
        A sentence about a side effect of the latest change, shown with the notes of its result; "" for none.
    """

    def __init__(
        self,
        canvas: ClusterCanvas,
        message: Message,
        pickers: Pickers,
        shared: Shared,
        change: ChangeState,
        undo: Callable[[], None],
        again: Callable[[], None],
    ) -> None:
        self._canvas, self._prepare, self._shared = canvas, pickers.prepare, shared
        self.say, self.aside = message.say, ""
        self._shown: Schedule | None = None  # whose numbers are shown
        self._writing = threading.Lock()  # a bound is proven on another thread than results are shown
        self._devices = 0  # of the newest problem
        self.gantt = Gantt(embedded=True, height=-1)
        self.line = SearchLine(again)
        self.numbers = Numbers(message, pickers.models.opening.box, self.line.box)
        self.rejection = Rejection(self._select, change, undo)
        self.tabs = Tabs(shared)
        self.box = w.Box([self.gantt, self.rejection.box]).add_class("pl-chart")
        self.gantt.observe(self._write_numbers, ["numbers", "warning"])
        shared.observe(self._write_numbers, "bound")
        traitlets.link((self.gantt, "selection"), (shared, "selection"))
        decisions = self.tabs.panels[DecisionsPanel.title]
        assert isinstance(decisions, DecisionsPanel)
        w.jslink((decisions.view, "candidates"), (self.gantt, "candidates"))  # ghosts of the bars that were considered

    def follow(self, problem: Problem) -> None:
        """Prepare for the results of this problem; use of memory and links of other devices is taken off the canvas."""
        self._shared.follow(problem)
        self._canvas.fixed = np.flatnonzero(~problem.speed_matters).tolist()
        self._canvas.sharing = problem.transfers == "fair"
        if problem.cluster.n_devices != self._devices:
            self.clear_canvas()
        self._devices = problem.cluster.n_devices

    def keep(self, schedule: Schedule | None) -> None:
        """Compare the schedules to come with this one; None: with none."""
        self._shared.kept = schedule
        self.gantt.keep(schedule)
        self._write_numbers()

    def show(self, result: Result) -> None:
        """Show a result; the chart first, since working out the numbers takes as long as drawing it."""
        schedule, gantt = result.schedule, self.gantt
        self._shared.prove(schedule.problem, schedule.placement.proven(schedule.makespan))
        with gantt.hold_sync():
            gantt.show(schedule, dragging=self._canvas.dragging)
            gantt.detail = ""
        sleep(SENDING)
        self._shown = schedule
        with gantt.hold_sync():
            gantt.numbers, gantt.warning = strip(schedule, result.violations)
        self.rest(result)
        self._prepare.show_count(schedule.problem.graph.n_ops, result.ops)
        self.tabs.result(result)
        limited = result.state.memory != "none" and np.isfinite(schedule.problem.cluster.memory).any()
        with self._canvas.hold_sync():
            self._canvas.peak = schedule.peak_memory.tolist() if limited else []
            self._canvas.load = link_load(schedule).tolist() if schedule.problem.cluster.n_devices <= FEW else []

    def rest(self, result: Result | None) -> None:
        """Show the notes of a result instead of the progress of a search."""
        notes = [] if result is None else [*result.notes, self.aside]
        self.line.rest([note for note in notes if note], result is not None and result.stopped)

    def fail(self, failure: Failure, state: State, problem: Problem, selectable: bool) -> None:
        """Show why there is no result; `selectable`: the chart still shows a schedule of the same graph."""
        error = failure.error
        self.box.add_class("pl-failed")
        self.clear_canvas()
        self.tabs.result(None)
        self.line.rest((), stopped=isinstance(error, StoppedError))
        if isinstance(error, InfeasibleError) and error.devices:
            self.rejection.show(error, state, problem, selectable)
            self.say("")
        else:
            self.rejection.hide()
            self.say(failure.sentence, "bad", failure.details)

    def recover(self) -> None:
        """Take an error away after a result has been shown again."""
        self.box.remove_class("pl-failed")
        self.rejection.hide()
        self.say("")

    def clear_canvas(self) -> None:
        """Remove use of memory and links from the canvas: they belong to a placement that is no longer valid."""
        self._canvas.peak, self._canvas.load = [], []

    def close(self) -> None:
        """End the threads of the panels."""
        self.rejection.close()
        self.tabs.close()

    def _write_numbers(self, _: object = None) -> None:
        with self._writing:
            if (schedule := self._shown) is not None:
                items = with_proof(self.gantt.numbers, schedule, self._shared.bound)
                self.numbers.show(with_change(items, schedule, self._shared.kept), self.gantt.warning)

    def _select(self, op: int) -> None:
        self.gantt.selection = op
