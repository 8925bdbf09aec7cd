"""The buttons to undo, redo, copy as code, and export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets as w

from placelab.explorer import code
from placelab.explorer.engine.failure import sentence
from placelab.explorer.panels.buttons import button
from placelab.explorer.panels.strip import Item
from placelab.explorer.state import State, Steps
from placelab.schedule.schedule import Schedule
from placelab.widgets.code_view import CodeButton

Shown = Callable[[], tuple[State, Schedule, list[Item]]]  # raises what kept the strategies from scheduling


class Actions:
    """The buttons at the right end of the top row.

    Parameters
    ----------
    undo, redo
        Called by the first two.
    state, shown
        Return the present state; state, schedule and numbers that are shown.
    say
        Shows a sentence in a tone.
    """

    def __init__(
        self,
        undo: Callable[[], None],
        redo: Callable[[], None],
        state: Callable[[], State],
        shown: Shown,
        say: Callable[[str, str], None],
    ) -> None:
        self._state, self._shown, self._say = state, shown, say
        self.undo = button("↶", "Undo the last change, of the pickers or the cluster", undo)
        self.redo = button("↷", "Redo what was undone", redo)
        self.code = CodeButton()
        self.code.observe(lambda _: self.save_graph(), "copies")
        page = button(
            "⤓ Page", "Write a web page beside the notebook that plays this schedule without a kernel", self._page
        )
        trace = button("⤓ Trace", "Write a Chrome trace beside the notebook, which ui.perfetto.dev opens", self._trace)
        self.box = w.HBox([self.undo, self.redo, self.code, page, trace]).add_class("pl-actions")

    def show(self, steps: Steps) -> None:
        """Enable undo and redo where there are steps."""
        self.undo.disabled, self.redo.disabled = not steps.past, not steps.future

    def offer_code(self) -> None:
        """Send the text of the cell to the browser, so that a click copies at once."""
        self.code.code = code.cell(self._state())

    def save_graph(self) -> None:
        """Save a graph that no expression loads to the file that the copied cell reads."""
        state = self._state()
        if not state.model.code:
            path = Path(code.file_name(state))
            state.model.graph.save(path)
            self.code.note = f"The graph is saved as {path}, beside the notebook."

    def _page(self) -> None:
        from placelab.export import html

        self._export(lambda schedule, path, numbers: html(schedule, path, numbers=numbers), ".html")

    def _trace(self) -> None:
        from placelab.export import chrome_trace

        self._export(lambda schedule, path, numbers: chrome_trace(schedule, path), ".trace.json")

    def _export(self, write: Callable[[Schedule, Path, list[Item]], Any], suffix: str) -> None:
        try:
            state, schedule, numbers = self._shown()
            stem = code.file_name(state).removesuffix(".json.gz")
            path = Path(f"{stem}-{state.partitioner}-{state.scheduler}{suffix}").resolve()
            write(schedule, path, numbers)
            self._say(f"Written: {path}", "note")
        except Exception as error:
            self._say(sentence(error), "bad")
