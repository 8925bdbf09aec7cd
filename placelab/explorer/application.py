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
from placelab.explorer.engine.curve import Curve
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
    """Everything about one problem on one screen: pickers, numbers, cluster canvas beside the tabs, and the Gantt chart.

    Attributes
    ----------
    problem, placement, schedule
        What is shown now; reading them waits for a computation that is under way. During a drag they may be a preview.
    state
        What pickers and canvas show.
    pickers, actions, message, numbers, canvas, tabs, line, gantt, rejection
        The parts, from top to bottom; `line` shows the progress of a search.

    Notes
    -----
    The browser's messages arrive one at a time, on the main thread or, while a cell is busy, on another one: `_lock`. Each waits
    a moment for its result (:class:`placelab.explorer.computation.Computation`), so that the browser sends at the rate the
    strategies can hold.
    """

    def __init__(self, state: State, problem: Problem, *, height: int | None = None) -> None:
        self._lock = threading.RLock()
        self._now: tuple[State, Problem] = (state, problem)
        self._steps = Steps(state)
        self._seen: tuple = ()  # cluster, layout and drag of the canvas when they were last read
        self.message = Message()
        self._say = self.message.say
        self.pickers = Pickers(self.change, self._say, state)
        self.actions = Actions(self.undo, self.redo, lambda: self.state, self._shown, self._toggle_kept, self._say)
        # Observers of the canvas need this lock: with one of its own, two threads could wait for each other.
        self.canvas = ClusterCanvas(state.cluster, lock=self._lock, embedded=True)
        self.canvas.on_step = lambda kind: getattr(self, kind)()
        self._curve = Curve(lambda found: self.canvas.set_trait("curve", found))
        self.shared = Shared(self.change, self._say, lambda: self.canvas.dragging)
        self._view = ResultView(
            *(self.canvas, self.message, self.pickers, self.shared, self.change, self.undo, self._compute_again)
        )
        self.gantt, self.line, self.rejection = self._view.gantt, self._view.line, self._view.rejection
        self.numbers, self.tabs = self._view.numbers, self._view.tabs
        self._computation = Computation(
            lambda: self._now,
            lambda: self.canvas.dragging,
            self._view,
            self._adopt_scheduler,
            self.actions.offer_code,
        )
        super().__init__(self._assemble())
        self.add_class("placelab-explorer")
        if height is not None:
            self.layout.height = f"{max(int(height), 400)}px"
        self._view_count = 0  # from now on the browser counts the views: what nobody sees is not kept up to date
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

    @property
    def comparison(self) -> Comparison:
        """The tab that compares all pairs of strategies."""
        panel = self.tabs.panels[Comparison.title]
        assert isinstance(panel, Comparison)
        return panel

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
        self._curve.close()
        self.pickers.models.close()
        self._view.close()
        if self._catalogue_changed in strategies.on_change:
            strategies.on_change.remove(self._catalogue_changed)
        super().close()

    def _edited(self, _: Any) -> None:
        """Take over another cluster or arrangement of the canvas, or the end of a drag."""
        with self._lock:
            if self.pickers.quiet or not self._canvas_moved():
                return
            self._curve.follow(self._steps.now, self.canvas.edit, self.canvas.gesture)
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

    def keep(self, schedule: Schedule | None) -> None:
        """Compare the schedules to come with this one: its outline and the change of the numbers; None: with none."""
        self._view.keep(schedule)
        self.actions.keep.value = schedule is not None

    def _toggle_kept(self, wanted: bool) -> None:
        if wanted != (self._view.kept is not None):
            self.keep(self.result.schedule if wanted and self.result is not None else None)

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
            self.tabs.show(self.state, self.problem, self.canvas.dragging)
            self._say(
                f"{asked.partitioner} plans no order for planned to follow; {self.state.scheduler} decides who runs next.",
                "note",
            )
        return True

    def _compute(self) -> None:
        self.shared.follow(self.problem)
        self._computation.start()
        self.tabs.show(self.state, self.problem, self.canvas.dragging)

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
        top = w.HBox([*self.pickers.bar, self.actions.box]).add_class("pl-top")
        middle = w.HBox([w.Box([self.canvas]).add_class("pl-canvas"), self.tabs.box]).add_class("pl-middle")
        return [style, top, self.numbers.box, middle, self._view.box]

    def _listen(self) -> None:
        self.canvas.observe(self._edited, ["value", "dragging", "cluster"])
        self.gantt.observe(lambda _: self._computation.wake(), "selection")
        self.observe(self._seen_or_not, "_view_count")
        strategies.on_change.append(self._catalogue_changed)

    def _seen_or_not(self, change: dict[str, Any]) -> None:
        """End what is computed when the last view has gone, as when the cell is run again; go on when one appears."""
        if change["new"]:
            self._computation.wake()
        else:
            self._computation.leave()

    def _catalogue_changed(self) -> None:
        """Show a new or replaced strategy in the pickers at once, and compute what is shown again with it."""
        if (
            self.state.partitioner not in strategies.partitioners()
            or self.state.scheduler not in strategies.schedulers()
        ):
            return  # the strategy shown has been taken out; what it computed stays
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
