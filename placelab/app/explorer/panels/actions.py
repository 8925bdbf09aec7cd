"""The buttons to undo, redo, copy as code, download, and keep a schedule to compare others with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from placelab.app.explorer import code
from placelab.app.explorer.panels.downloads import Downloads, Shown, Table
from placelab.app.explorer.panels.panel import button
from placelab.app.explorer.session import Undoable
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.frame import CodeButton, Frame
from placelab.app.widgets.whole import PartComm

KEEP_TIP = "Keep this schedule: its outline stays behind the next ones, and numbers show the change"


class Actions:
    """The buttons at the right end of the top bar.

    Parameters
    ----------
    undo, redo
        Called by the first two.
    state
        Returns the present state.
    shown, table
        What can be downloaded, see :class:`~placelab.app.explorer.panels.downloads.Downloads`.
    keep
        Called with whether the schedule shown is to be kept.
    say
        Shows a sentence in a tone.

    Attributes
    ----------
    frame
        Full screen, presenting and the splitter; it hands downloads to the browser.
    downloads
        The panel of files to download.
    """

    def __init__(
        self,
        undo: Callable[[], None],
        redo: Callable[[], None],
        state: Callable[[], State],
        shown: Shown,
        table: Table,
        keep: Callable[[bool], None],
        say: Callable[[str, str], None],
    ) -> None:
        self._state = state
        self.undo = button("↶", "Undo the last change, of the pickers or the cluster", undo)
        self.redo = button("↷", "Redo what was undone", redo)
        self.code = CodeButton(comm=PartComm())
        self.code.observe(lambda _: self.save_graph(), "copies")
        self.code.observe(lambda _: self.save_plan(), "copies")
        self.frame = Frame(comm=PartComm())
        self.keep = w.ToggleButton(description="◈ Keep", tooltip=KEEP_TIP)
        self.keep.observe(lambda change: keep(change["new"]), "value")
        self.downloads = Downloads(shown, table, self.frame, say)
        widgets = [self.undo, self.redo, self.code, self.downloads.box, self.keep, self.frame]
        self.box = w.HBox(widgets).add_class("pl-actions")

    def show(self, steps: Undoable) -> None:
        """Enable undo and redo where there are steps."""
        self.undo.disabled = not steps.past
        self.redo.disabled = not steps.future

    def offer_code(self) -> None:
        """Send the text of the cell to the browser, so that a click copies at once."""
        self.code.code = code.cell(self._state())

    def save_graph(self) -> None:
        """Save a graph that no expression loads to the file that the copied cell reads."""
        state = self._state()
        model = (state.base or state).model
        if not model.code:
            path = Path(code.file_name(state))
            model.graph.save(path)
            self.code.note = f"The graph is saved as {path}, beside the notebook."

    def save_plan(self) -> None:
        """Save a long plan by hand to the file that the copied cell reads."""
        state = self._state()
        if state.own_plan and code.is_long(state.own_plan):
            path = Path(code.plan_file(state))
            state.own_plan.placement(state.problem()).save(path)
            self.code.note = f"The plan is saved as {path}, beside the notebook."
