"""The tab with the model graph: scopes that open, coloured by the newest result, and pinned by dragging them onto a device."""

from __future__ import annotations

import threading

import numpy as np

from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.panel import Panel, Shared
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.graph_view import ModelGraph
from placelab.app.widgets.whole import PartComm
from placelab.problem.problem import Problem


class GraphPanel(Panel):
    """A tab.

    Attributes
    ----------
    view
        The widget.

    Notes
    -----
    A graph is laid out on a thread of the panel's own; colours, which are quick, follow each result at once.
    """

    title = "Graph"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.view = ModelGraph(can_pin=True, comm=PartComm())
        self.view.on_pin = self._pin
        self.box: w.Widget = self.view
        self._result: Result | None = None
        self._lock = threading.Lock()  # one at a time puts something new on show
        self._select_with(self.view)

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Lay out another graph, and mark other pins, soon."""
        self._problem = problem
        if self.visible and not self._up_to_date:
            self._worker.wake()

    def result(self, result: Result | None) -> None:
        """Colour the boxes by a result; without one they stay as they are."""
        self._result = result or self._result
        if not self.visible or self._problem is None:
            return
        if self._up_to_date:
            self._colour()
        else:
            self._worker.wake()

    @property
    def _up_to_date(self) -> bool:
        problem = self._problem
        return problem is not None and self.view.graph is problem.graph and self.view.problem is problem

    def _catch_up(self) -> None:
        problem = self._problem
        if problem is None:
            return
        with self._lock:
            if problem.graph is not self.view.graph:
                self.view.show_graph(problem.graph)
            self.view.show_pins(problem)
        self._colour()

    def _colour(self) -> None:
        result = self._result
        with self._lock:
            if result is not None and result.problem.graph is self.view.graph:
                with self.view.hold_sync():
                    self.view.result_of = result.key
                    self.view.show(result.schedule, result.state.placed)

    def _pin(self, ops: np.ndarray, device: int) -> None:
        """Pin ops to a device, or to none, as a step of the history; what cannot be is refused in a sentence."""
        assert self.view.graph is not None
        names = self.view.graph.names[ops].tolist()

        def pinned(state: State) -> State:
            return state.without_pin(names) if device < 0 else state.with_pin(names, state.cluster.names[device])

        self._shared.change(pinned)
