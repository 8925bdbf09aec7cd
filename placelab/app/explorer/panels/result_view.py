"""Show a result, or that there is none: in chart, numbers, the tabs and canvas."""

from __future__ import annotations

import threading
from contextlib import suppress
from time import sleep
from typing import Any

import numpy as np
import traitlets

from placelab.analysis.known_orders import recognise
from placelab.analysis.measures import link_load
from placelab.app.explorer.engine.failure import Failure
from placelab.app.explorer.engine.solving import Result, StoppedError
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.decisions_panel import DecisionsPanel
from placelab.app.explorer.panels.difference_panel import DifferencePanel
from placelab.app.explorer.panels.graph_panel import GraphPanel
from placelab.app.explorer.panels.held import placed_so_far
from placelab.app.explorer.panels.job_panel import JobPanel
from placelab.app.explorer.panels.known_best import BestKnown
from placelab.app.explorer.panels.layers_panel import LayersPanel
from placelab.app.explorer.panels.numbers import (
    Numbers,
    no_schedule,
    plan_so_far,
    strip,
    with_change,
    with_held,
    with_order,
    with_proof,
    with_stars,
)
from placelab.app.explorer.panels.panel import Item, Message, Panel, Puzzle, SearchLine, Shared, together
from placelab.app.explorer.panels.pickers import Pickers
from placelab.app.explorer.panels.refusals import FailurePanel, Rejection
from placelab.app.explorer.panels.what_matters import WhatMatters
from placelab.app.explorer.state import State, key_of
from placelab.app.widgets import controls as w
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import FormatError, InfeasibleError, UnsupportedError
from placelab.problem.pipeline_columns import pipeline_of
from placelab.problem.problem import Problem
from placelab.schedule.known_schedules import offer
from placelab.schedule.schedule import Schedule

PANELS: tuple[type[Panel], ...] = (  # in the order of their tabs
    Comparison,
    GraphPanel,
    DecisionsPanel,
    WhatMatters,
    DifferencePanel,
    JobPanel,
    LayersPanel,
)


CLUSTER = "Cluster"  # title of the canvas, which lies beside the panels, or where the page is narrow over them


class Tabs:
    """The panels, of which one is seen.

    Attributes
    ----------
    box
        The row of titles, and the panel below it.
    row
        The box, and what is put beside it.
    panels
        By title.
    """

    def __init__(self, shared: Shared) -> None:
        self.panels: dict[str, Panel] = {panel.title: panel for panel in (make(shared) for make in PANELS)}
        self._result: Result | None = None
        titles = [CLUSTER, *self.panels]
        self.titles = w.ToggleButtons(options=titles, value=Comparison.title)
        self.titles.add_class("pl-titles")
        self.stack = w.Stack([panel.box for panel in self.panels.values()], selected_index=0).add_class("pl-stack")
        self.box = w.VBox([self.titles, self.stack]).add_class("pl-tabs")
        self.row = w.HBox([self.box]).add_class("pl-middle")
        self.titles.observe(self._choose, "value")
        job = self.panels[JobPanel.title]
        assert isinstance(job, JobPanel)
        self._job = job
        job.plan.box.observe(self._widen, "hidden")
        self._choose()

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Tell all panels of the newest state."""
        for panel in self.panels.values():
            panel.show(state, problem, dragging)

    def result(self, result: Result | None) -> None:
        """Tell all panels of the newest result."""
        self._result = result
        for panel in self.panels.values():
            panel.result(result)

    def open(self, title: str) -> None:
        """Show the tab of that title; UnsupportedError when there is none."""
        if title not in self.panels:
            raise UnsupportedError(f"no tab is called {title!r}; there are {', '.join(self.panels)}")
        self.titles.value = title

    def close(self) -> None:
        """End the panels' threads."""
        for panel in self.panels.values():
            panel.close()

    def _choose(self, _: Any = None) -> None:
        """Show the panel whose title is pressed, of all panels only it computes; or the canvas over the last one."""
        over = self.titles.value == CLUSTER
        (self.box.add_class if over else self.box.remove_class)("pl-cluster-chosen")
        if over:
            return
        for i, (title, panel) in enumerate(self.panels.items()):
            chosen = title == self.titles.value
            appears = chosen and not panel.visible
            panel.visible = chosen
            if chosen:
                self.stack.selected_index = i
            if appears and self._result is not None:
                panel.result(self._result)
        self._widen()

    def _widen(self, _: Any = None) -> None:
        """Give a plan, all of whose pages are seen at once, most of the row where there is room."""
        planned = self._job.visible and not self._job.plan.box.hidden
        (self.row.add_class if planned else self.row.remove_class)("pl-planned")


def _used(result: Result) -> np.ndarray:
    """Bytes in use on each device at most; of a decoder all that is counted, also what a problem of stages takes for granted."""
    spread = result.state.spread
    return result.schedule.peak_memory if spread is None else spread.used(result.state.cluster)


SENDING = 1e-3  # seconds in which the kernel's thread that sends messages gets Python's lock; it would wait for the numbers else
FEW = 10  # devices; the canvas does not draw the links of more, so their load is not sent


class ResultView:
    """The Gantt chart, the numbers, the tabs, and the panel that explains why nothing fits.

    Parameters
    ----------
    shared
        What the parts share; its selection is that of the chart.
    canvas, message, pickers
        Also show parts of a result: use of memory and links, errors, number of ops placed.

    Attributes
    ----------
    best
        The chip of the best known schedule.
    puzzle
        Whose stars are shown where its problem is; None for none.
    aside
        A sentence about a side effect of the latest change, shown with the notes of its result; "" for none.
    """

    def __init__(self, shared: Shared, canvas: ClusterCanvas, message: Message, pickers: Pickers) -> None:
        self._canvas = canvas
        self._prepare = pickers.prepare
        self._shared = shared
        self.say = message.say
        self.unsay = message.unsay
        self.aside = ""
        # The schedule whose numbers are shown, the key of its state, numbers and warning; replaced as a whole, for other threads.
        self._shown: tuple[Schedule, str, list[Item], str] | None = None
        self._decided: tuple[Schedule, tuple[int, int, np.ndarray]] | None = None  # of a schedule, while a plan is made
        self._placed: np.ndarray | None = None  # which ops are, where they are placed one by one
        self._orders: tuple[str, ...] = ()  # published orders that it has, where it is of a pipeline
        self.puzzle: Puzzle | None = None
        self._stars = -1  # that it earns as a plan of the puzzle; -1: not known
        self._writing = threading.Lock()  # a bound is proven on another thread than results are shown
        self._devices = 0  # of the newest problem
        self.gantt = Gantt(embedded=True, height=-1, proof_shown=True, comm=PartComm())
        self.line = SearchLine(shared.again)
        self.best = BestKnown(shared)
        self.numbers = Numbers(pickers.models.opening.box, self.line.box, chip=self.best.box)
        self.rejection = Rejection(shared)
        self.failure_panel = FailurePanel(shared)
        self.tabs = Tabs(shared)
        newest_first = [self.line.running, message, self.rejection.box, self.failure_panel.box]
        messages = w.VBox(newest_first).add_class("pl-messages")
        self.box = w.HBox([self.gantt, messages]).add_class("pl-chart")
        shared.observe(self._write_numbers, ["bound", "best"])
        shared.observe(self._keep, "kept")
        traitlets.link((self.gantt, "selection"), (shared, "selection"))
        decisions = self.tabs.panels[DecisionsPanel.title]
        assert isinstance(decisions, DecisionsPanel)
        decisions.on_step = self._show_so_far
        decisions.on_part = self._mark
        apart = self.tabs.panels[DifferencePanel.title]
        assert isinstance(apart, DifferencePanel)

        def part(name: str) -> None:
            self.tabs.open(DecisionsPanel.title)
            decisions.beside(name)

        apart.on_part = part
        # in the page, ghosts of the bars that were considered
        self.links = [[f"{view.model_id}.candidates" for view in (decisions.view, self.gantt)]]

    def follow(self, problem: Problem) -> None:
        """Prepare for the results of this problem; use of memory and links of other devices is taken off the canvas."""
        self._shared.follow(problem)
        self.best.follow(problem)
        devices = self._canvas.state[0].n_devices  # under a plan the problem has one of many
        self._canvas.fixed = np.flatnonzero(~np.resize(problem.speed_matters, devices)).tolist()
        self._canvas.sharing = problem.transfers == "fair"
        if problem.cluster.n_devices != self._devices:
            self.clear_canvas()
        self._devices = problem.cluster.n_devices

    def _keep(self, change: dict[str, Any]) -> None:
        """Compare the schedules to come with another one, or with none."""
        self.gantt.keep(change["new"])
        self._write_numbers()

    def show(self, result: Result) -> None:
        """Show a result; the chart first, since working out the numbers takes as long as drawing it."""
        schedule = result.schedule
        gantt = self.gantt
        self._shared.prove(result.problem, schedule.placement.proven(schedule.makespan))
        self._decided = None  # of the schedule before; the panel tells it anew
        self._placed = result.state.placed
        if self._placed is not None:
            self._decided = schedule, placed_so_far(schedule, self._placed)
        of = result.key
        with gantt.hold_sync():
            gantt.result_of = of
            gantt.decided = b"" if self._decided is None else self._decided[1][2].astype(np.uint8).tobytes()
            gantt.show(schedule, dragging=self._shared.dragging(), whole=result.problem)
        sleep(SENDING)
        self._orders = ()
        self._stars = -1
        self.measure(result, of)
        self.rest(result)
        self._prepare.show_count(schedule.problem.graph.n_ops, result.ops)
        self.tabs.result(result)
        limited = result.state.memory != "none" and np.isfinite(result.state.cluster.memory).any()
        drawn = len(names := result.state.cluster.names) <= FEW and schedule.problem.cluster.names == names
        self._canvas.take(
            result_of=of,
            peak=_used(result).tolist() if limited else [],
            load=link_load(schedule).tolist() if drawn else [],
        )

    def measure(self, result: Result, of: str) -> None:
        """Show the numbers of a result, the key of whose state is `of`."""
        numbers, warning = strip(result.schedule, result.violations)
        if result.state.spread is not None and result.state.memory != "none":
            numbers = with_held(numbers, _used(result), result.state.cluster)
        self._shown = result.schedule, of, numbers, warning
        with together(self.gantt):
            self.gantt.take(numbers=numbers, warning=warning)
            self._write_numbers()

    def learn(self, schedule: Schedule) -> None:
        """Remember a legal schedule; show what else is known of its problem, the order of a pipeline, the stars of a puzzle."""
        offer(schedule)
        if self.puzzle is not None:
            with suppress(FormatError):  # another problem is shown
                self._stars = self.puzzle.stars(schedule)
                self._write_numbers()
        if pipeline_of(schedule.problem.graph) is not None and not self._orders:
            self._orders = recognise(schedule)
            self._write_numbers()
        self._shared.learn(schedule.problem)

    def rest(self, result: Result | None) -> None:
        """Show the notes of a result instead of the progress of a search."""
        notes = [] if result is None else [*result.notes, self.aside]
        self.line.rest([note for note in notes if note], result is not None and result.stopped)

    def fail(self, failure: Failure, state: State, problem: Problem, selectable: bool) -> None:
        """Show why there is no result; `selectable`: the chart still shows a schedule of the same graph."""
        error = failure.error
        self.box.add_class("pl-failed")
        self._shown = None  # its numbers are of another state
        self.best.write(None)
        self.numbers.show(no_schedule(f"{state.placer} + {state.scheduler}"), "", key_of(state, problem))
        self.clear_canvas()
        self.tabs.result(None)
        self.line.rest((), stopped=isinstance(error, StoppedError))
        self.say("")
        if isinstance(error, InfeasibleError) and error.devices:
            self.failure_panel.hide()
            self.rejection.show(error, state, problem, selectable)
        else:
            self.rejection.hide()
            self.failure_panel.show(failure)

    def recover(self) -> None:
        """Take an error away after a result has been shown again."""
        self.box.remove_class("pl-failed")
        self.rejection.hide()
        self.failure_panel.hide()
        self.say("")

    def clear_canvas(self) -> None:
        """Remove use of memory and links from the canvas: they belong to a placement that is no longer valid."""
        self._canvas.take(peak=[], load=[])

    def close(self) -> None:
        """End the threads of the panels."""
        self.rejection.close()
        self.best.close()
        self.tabs.close()

    def _write_numbers(self, _: object = None) -> None:
        with self._writing:
            if self._shown is None:
                return self.best.write(None)
            schedule, of, items, warning = self._shown
            decided = self._decided  # may still be of the schedule before
            if decided is not None and decided[0] is schedule:
                self.numbers.show(plan_so_far(schedule, *decided[1]), "", of)
                return self.best.write(None)
            items = with_proof(items, schedule, self._shared.bound)
            items = with_stars(with_order(items, self._orders), self.puzzle, self._stars)
            self.numbers.show(with_change(items, schedule, self._shared.kept), warning, of)
            self.best.write(schedule, of)

    def _show_so_far(self, schedule: Schedule, so_far: tuple[int, int, np.ndarray] | None) -> None:
        """Draw what is decided so far, and say nothing of what is to come."""
        if self._placed is not None:
            return  # what is placed by hand is drawn
        if so_far is not None and so_far[0] == so_far[1]:
            so_far = None  # all of it
        if self._shown is None or schedule is not self._shown[0] or (so_far is None and self._decided is None):
            return  # as with each result of a drag in another tab
        self._decided = None if so_far is None else (schedule, so_far)
        self.gantt.decided = b"" if so_far is None else so_far[2].astype(np.uint8).tobytes()
        self._write_numbers()

    def _mark(self, schedule: Schedule, row: int, op: int) -> None:
        """Mark where the first decision that differs has its op."""
        if self._shown is not None and schedule is self._shown[0]:
            name = str(schedule.problem.graph.names[op])
            said = f"first difference: decision {row + 1:,}, {name}"
            self.gantt.mark = {"time": float(schedule.start[op]), "text": said} if row >= 0 else {}
