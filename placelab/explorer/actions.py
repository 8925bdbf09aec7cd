"""What can be done with what is shown? Undo, redo, copy as code, export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets as w

from placelab.explorer import code
from placelab.explorer.buttons import button
from placelab.explorer.failure import sentence
from placelab.explorer.state import State, Steps
from placelab.explorer.strip import Item
from placelab.schedule.schedule import Schedule
from placelab.widgets.code_view import CodeButton

Shown = Callable[[], tuple[State, Schedule, list[Item]]]  # raises what kept the strategies from answering


class Actions:
    """The buttons at the right end of the top row.

    Parameters
    ----------
    undo, redo
        What the first two do.
    state, shown
        What is asked for now, and what is shown of it.
    say
        Takes a sentence and its tone.
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
        """Which way there are steps."""
        self.undo.disabled, self.redo.disabled = not steps.past, not steps.future

    def offer_code(self) -> None:
        """Keep the text ready, so that a click copies at once."""
        self.code.code = code.cell(self._state())

    def save_graph(self) -> None:
        """A graph without an address goes where the copied cell looks for it."""
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
