"""The controls that show the state of a session and ask for another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from placelab.app.explorer.panels.actions import Actions, Shown, Table
from placelab.app.explorer.panels.panel import Message
from placelab.app.explorer.panels.pickers import ChangeState, Pickers
from placelab.app.explorer.session import Session
from placelab.app.widgets import controls as w
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.whole import PartComm


class Inputs:
    """The controls that show the state of a session and ask for another one.

    Parameters
    ----------
    session
        Its lock is the canvas', too: with one of its own, two threads could wait for each other.
    change, undo, redo
        Called by the controls.
    shown, table
        What can be downloaded: state, schedule and numbers that are shown; the table of a tab.
    keep
        Called with whether the schedule shown is to be kept.

    Attributes
    ----------
    message, pickers, actions, canvas
        The controls.
    bar
        The top bar, with pickers and actions.
    """

    def __init__(
        self,
        session: Session,
        *,
        change: ChangeState,
        undo: Callable[[], None],
        redo: Callable[[], None],
        shown: Shown,
        table: Table,
        keep: Callable[[bool], None],
    ) -> None:
        self._session = session
        self.message = Message()
        self.pickers = Pickers(change, self.message.say, session.state)
        self.actions = Actions(undo, redo, lambda: session.state, shown, table, keep, self.message.say)
        self.canvas = ClusterCanvas(session.state.cluster, lock=session.lock, embedded=True, comm=PartComm())
        self.canvas.on_step = lambda kind: {"undo": undo, "redo": redo}[kind]()
        self.bar = w.HBox([*self.pickers.bar, self.actions.box]).add_class("pl-top")
        self._seen: tuple[Any, ...] = ()
        self._restoring = False

    def moved(self) -> bool:
        """Whether a user has changed cluster, arrangement or drag of the canvas since the last call."""
        if self._restoring:
            return False
        seen = self._seen
        self._seen = (*self.canvas.state, self.canvas.dragging)
        return self._seen != seen

    def show(self) -> None:
        """Show the newest state in every control, without asking for a change."""
        with self._session.lock:
            state = self._session.state
            steps = self._session.steps
            self.pickers.show(state)
            if self.canvas.state != (state.cluster, state.layout):
                self._restoring = True
                try:
                    self.canvas.restore((state.cluster, state.layout))
                finally:
                    self._restoring = False
            self.actions.show(steps)
            self.canvas.can_undo = bool(steps.past)
            self.canvas.can_redo = bool(steps.future)
