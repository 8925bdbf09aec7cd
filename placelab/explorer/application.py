"""The explorer: turn changes of pickers and canvas into states, have them computed, and show the results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w

from placelab import strategies
from placelab.explorer import code
from placelab.explorer.computation import Computation
from placelab.explorer.engine.failure import sentence
from placelab.explorer.engine.solving import Result
from placelab.explorer.panels.actions import Actions
from placelab.explorer.panels.comparison import Comparison
from placelab.explorer.panels.message import Message
from placelab.explorer.panels.panel import Shared
from placelab.explorer.panels.pickers import Pickers
from placelab.explorer.panels.result_view import ResultView
from placelab.explorer.panels.strip import Item
from placelab.explorer.state import Change, State, Steps
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.units import seconds
from placelab.widgets.cluster.canvas import ClusterCanvas


class Explorer(w.VBox):
    """Pickers, cluster canvas, comparison and Gantt chart of one problem.

    Attributes
    ----------
    problem, placement, schedule
        What is shown now; reading them waits for a computation that is under way. During a drag they may be a preview.
    state
        What pickers and canvas show.
    pickers, actions, message, canvas, comparison, line, gantt, rejection
        The parts, from top to bottom; `line` shows the progress of a search.

    Notes
    -----
    The browser's messages arrive one at a time, on the main thread or, while a cell is busy, on another one: `_lock`. Each waits
    a moment for its result (:class:`placelab.explorer.computation.Computation`), so that the browser sends at the rate the
    strategies can hold.
    """

    def __init__(self, state: State, problem: Problem) -> None:
        self._lock = threading.RLock()
        self._now: tuple[State, Problem] = (state, problem)
        self._steps = Steps(state)
        self._seen: tuple = ()  # cluster, layout and drag of the canvas when they were last read
        self.message = Message()
        self._say = self.message.say
        self.pickers = Pickers(self.change, self._say, state)
        self.actions = Actions(self.undo, self.redo, lambda: self.state, self._shown, self._say)
        # Observers of the canvas need this lock: with one of its own, two threads could wait for each other.
        self.canvas = ClusterCanvas(state.cluster, lock=self._lock)
        self.canvas.on_step = lambda kind: getattr(self, kind)()
        self._view = ResultView(
            self.canvas, self.message, self.pickers.prepare, self.change, self.undo, self._compute_again
        )
        self.gantt, self.line, self.rejection = self._view.gantt, self._view.line, self._view.rejection
        self._computation = Computation(
            lambda: self._now,
            lambda: self.canvas.dragging,
            lambda: False,
            self._view,
            self._adopt_scheduler,
            self.actions.offer_code,
        )
        self.shared = Shared(self.change, self._say, lambda: self.canvas.dragging)
        self.comparison = Comparison(self.shared)
        super().__init__(self._assemble())
        self.add_class("placelab-explorer")
        self._view_count = (
            0  # from now on the browser counts the views: an explorer that nobody sees is not kept up to date
        )
        self._listen()
        self._show_controls(state)
        self._compute()

    # ---------------------------------------------------------------- what a cell can read

    @property
    def state(self) -> State:
        """What pickers and canvas show."""
        return self._now[0]

    @property
    def problem(self) -> Problem:
        """The problem shown."""
        return self._now[1]

    @property
    def placement(self) -> Placement:
        """Device of each op; waits for it, and raises the exception that kept the strategies from placing."""
        return self.schedule.placement

    @property
    def schedule(self) -> Schedule:
        """Times of ops and transfers; waits for them, and raises the exception that kept the strategies from scheduling."""
        return self._computation.schedule

    @property
    def result(self) -> Result | None:
        """The result shown now, which may be stale; None before the first. Does not wait."""
        return self._computation.result

    @property
    def steps(self) -> Steps:
        """The states that undo and redo lead to."""
        return self._steps

    @property
    def code(self) -> str:
        """Text of a cell that reproduces what is shown."""
        return code.cell(self.state)

    def settled(self, timeout: float | None = None) -> bool:
        """Wait until the newest state is computed and shown, the comparison aside; return False when that takes longer."""
        return self._computation.settled(timeout)

    def __repr__(self) -> str:
        state = self.state
        try:
            outcome = seconds(self.schedule.makespan)
        except Exception as error:
            outcome = sentence(error)
        title = f"{state.model.title}: {state.graph.n_ops:,} ops on {self.problem.cluster.n_devices} devices"
        return f"Explorer({title}, {state.partitioner} + {state.scheduler}: {outcome})"

    # ---------------------------------------------------------------- what a user can do

    def undo(self) -> None:
        """Go back one step, of the pickers or the canvas."""
        self._step_to(Steps.undo)

    def redo(self) -> None:
        """Go forward to the state that the last undo left."""
        self._step_to(Steps.redo)

    def change(self, change: Change, key: str = "") -> None:
        """Show ``change(state)`` as a new step.

        A change that makes no valid problem is refused: its error is shown, and the controls jump back.

        Parameters
        ----------
        change
            Takes the state and returns another one.
        key
            Changes of one key that follow each other within a second are one step.
        """
        with self._lock:
            if self.pickers.quiet:
                return
            self._say("")
            self._view.aside = ""
            try:
                self._adopt(change(self.state))
            except Exception as error:
                self._say(sentence(error), "bad")
            self._steps = self._steps.to(self.state, key, time.monotonic())
            self._show_controls(self.state)
            self._compute()
        self._computation.wait()

    def close(self) -> None:
        """End the threads and close all widgets."""
        self._computation.close()
        self.pickers.models.close()
        self._view.close()
        self.comparison.close()
        if self._catalogue_changed in strategies.on_change:
            strategies.on_change.remove(self._catalogue_changed)
        super().close()

    def _edited(self, _: Any) -> None:
        """Take over another cluster or arrangement of the canvas, or the end of a drag."""
        with self._lock:
            if self.pickers.quiet or not self._canvas_moved():
                return
            cluster, layout = self.canvas.state
            before = self._steps.now
            state = before.with_cluster(cluster, layout)
            self._view.aside = _switched(before, state)
            try:
                self._adopt(before if state == before else state)
            except Exception as error:
                self._show_controls(before)
                self.canvas.error = sentence(error)
            else:
                if not self.canvas.dragging and self.state is not before:
                    self._steps = self._steps.to(self.state, "", time.monotonic())
                if not self.canvas.dragging:
                    self._show_controls(self.state)
            self._compute()
        self._computation.wait()

    def _canvas_moved(self) -> bool:
        seen, self._seen = self._seen, (*self.canvas.state, self.canvas.dragging)
        return self._seen != seen

    def _step_to(self, step: Callable[[Steps], Steps]) -> None:
        with self._lock:
            self._say("")
            self._view.aside = ""
            self._steps = step(self._steps)
            self._adopt(self._steps.now)
            self._show_controls(self.state)
            self._compute()
        self._computation.wait()

    # ---------------------------------------------------------------- the newest state

    def _adopt(self, state: State) -> None:
        """Make `state` the newest, or raise what keeps it from being a problem. Call `_compute` once the controls show it."""
        before, problem = self._now
        state = before if state == before else state
        self._now = (state, problem if state.rules == before.rules else state.problem())
        if state.cluster.n_devices != before.cluster.n_devices:
            self._view.clear_canvas()

    def _adopt_scheduler(self, asked: State, runnable: State) -> bool:
        """Take over the scheduler that replaced ``planned`` for want of a plan, and say so; False when a newer state has come."""
        with self._lock:
            if self.state is not asked:
                return False
            self._adopt(runnable)
            self._steps = self._steps.instead(self.state)
            self._show_controls(self.state)
            self.comparison.show(self.state, self.problem, self.canvas.dragging)
            self._say(
                f"{asked.partitioner} plans no order for planned to follow; {self.state.scheduler} decides who runs next.",
                "note",
            )
        return True

    def _compute(self) -> None:
        self._computation.start()
        self.shared.follow(self.problem)
        self.comparison.show(self.state, self.problem, self.canvas.dragging)

    def _compute_again(self) -> None:
        """Compute the present state once more."""
        with self._lock:
            state, problem = self._now
            self._now = (replace(state), problem)
            self._compute()

    # ---------------------------------------------------------------- what is shown

    def _show_controls(self, state: State) -> None:
        with self._lock:
            self.pickers.show(state)
            self.pickers.quiet = True
            try:
                if self.canvas.state != (state.cluster, state.layout):
                    self.canvas.restore((state.cluster, state.layout))
            finally:
                self.pickers.quiet = False
            past, future = bool(self._steps.past), bool(self._steps.future)
            self.actions.show(self._steps)
            self.canvas.can_undo, self.canvas.can_redo = past, future

    # ---------------------------------------------------------------- assembly

    def _assemble(self) -> list[w.Widget]:
        style = w.HTML(
            f"<style>{(Path(__file__).parent / 'explorer.css').read_text()}</style>", layout=w.Layout(display="none")
        )
        problem, *rows = self.pickers.rows
        top = w.HBox([problem, self.actions.box]).add_class("pl-top")
        comparison = w.Box([self.comparison.box]).add_class("pl-comparison-tab")
        middle = w.HBox([w.Box([self.canvas]).add_class("pl-canvas"), comparison]).add_class("pl-middle")
        return [style, top, *rows, self.message, middle, self.line.box, self._view.box]

    def _listen(self) -> None:
        self.canvas.observe(self._edited, ["value", "dragging", "cluster"])
        self.gantt.observe(lambda _: self._computation.wake(), "selection")
        strategies.on_change.append(self._catalogue_changed)

    def _catalogue_changed(self) -> None:
        """Show a new or replaced strategy in the pickers at once, and compute what is shown again with it."""
        with self._lock:
            self._show_controls(self.state)
            self._now = (replace(self.state), self.problem)
            if self._view_count != 0:
                self._computation.wake()
                self.comparison.again()

    def _shown(self) -> tuple[State, Schedule, list[Item]]:
        return self.state, self.schedule, self.gantt.numbers


def _switched(before: State, now: State) -> str:
    """A sentence when a capacity has changed the memory model."""
    if before.memory == now.memory:
        return ""
    why = "a device has a capacity now" if now.memory != "none" else "no device has a capacity any more"
    return f"Memory model {now.memory}: {why}."
