"""Show a result, or why there is none, in the chart, on the canvas and in the lines around them."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w
import numpy as np

from placelab.errors import InfeasibleError
from placelab.explorer.engine.failure import Failure
from placelab.explorer.engine.search import StoppedError
from placelab.explorer.engine.solving import Result
from placelab.explorer.panels.message import Message
from placelab.explorer.panels.pickers import ChangeState
from placelab.explorer.panels.prepare import PreparePicker
from placelab.explorer.panels.rejection import Rejection
from placelab.explorer.panels.search_line import SearchLine
from placelab.explorer.panels.strip import Item, link_load
from placelab.problem.problem import Problem
from placelab.widgets.cluster.canvas import ClusterCanvas
from placelab.widgets.gantt.gantt_chart import Gantt

FEW = 10  # devices; the canvas does not draw the links of more, so their load is not sent


class ResultView:
    """The Gantt chart, the line above it, and the panel that explains why nothing fits.

    Parameters
    ----------
    canvas, message, prepare
        Also show parts of a result: use of memory and links, errors, number of ops placed.
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
        prepare: PreparePicker,
        change: ChangeState,
        undo: Callable[[], None],
        again: Callable[[], None],
    ) -> None:
        self._canvas, self._prepare = canvas, prepare
        self.say, self.aside = message.say, ""
        self.gantt = Gantt()
        self.line = SearchLine(again)
        self.rejection = Rejection(self._select, change, undo)
        self.box = w.Box([self.gantt, self.rejection.box]).add_class("pl-chart")

    def show(self, result: Result, numbers: list[Item], warning: str) -> None:
        """Show a result with its numbers and its warning."""
        schedule, gantt = result.schedule, self.gantt
        with gantt.hold_sync():
            gantt.show(schedule, dragging=self._canvas.dragging)
            gantt.numbers, gantt.warning, gantt.detail = numbers, warning, ""
        self.rest(result)
        self._prepare.show_count(schedule.problem.graph.n_ops, result.ops)
        limited = result.state.memory != "none" and np.isfinite(schedule.problem.cluster.memory).any()
        with self._canvas.hold_sync():
            self._canvas.peak = schedule.peak_memory.tolist() if limited else []
            self._canvas.load = link_load(schedule).tolist() if schedule.problem.cluster.n_devices <= FEW else []

    def rest(self, result: Result | None) -> None:
        """Show the notes of a result instead of the progress of a search."""
        notes = [] if result is None else [*result.notes, self.aside]
        self.line.rest([note for note in notes if note], result is not None and result.stopped)

    def fail(self, failure: Failure, problem: Problem, selectable: bool) -> None:
        """Show why there is no result; `selectable`: the chart still shows a schedule of the same graph."""
        error = failure.error
        self.box.add_class("pl-failed")
        self.clear_canvas()
        self.line.rest((), stopped=isinstance(error, StoppedError))
        if isinstance(error, InfeasibleError) and error.devices:
            self.rejection.show(error, problem, selectable)
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
        """End the thread of the panel."""
        self.rejection.close()

    def _select(self, op: int) -> None:
        self.gantt.selection = op
