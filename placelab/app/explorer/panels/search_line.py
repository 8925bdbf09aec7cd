"""The line above the chart: progress of a search and a button that ends it, or the notes of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from time import monotonic

import ipywidgets as w

from placelab.app.explorer.engine.search import Search
from placelab.app.explorer.panels.buttons import button
from placelab.app.explorer.panels.strip import OPTIMAL, at_most

INTERVAL = 0.2  # seconds between two updates


class SearchLine:
    """The line, always there and as high as its button, so that nothing below it moves.

    Parameters
    ----------
    again
        Called when a user wants a search that was ended to be run again.

    Attributes
    ----------
    box
        The whole line; `bar`, `text`, `cancel` and `again` are the widgets in it.
    """

    def __init__(self, again: Callable[[], None]) -> None:
        self._search: Search | None = None
        self._shown_at = 0.0
        self.bar = w.FloatProgress(0.0, min=0.0, max=1.0, tooltip="How far the search is")
        self.text = w.HTML()
        self.cancel = button("Stop", "End the search and show the best so far", self.halt)
        self.again = button("Search again", "Search once more, to the end", again)
        self.box = w.HBox([self.bar, self.text, self.cancel, self.again]).add_class("pl-line")
        self.rest()

    def show(self, search: Search) -> None:
        """Show a search that is under way; called as often as one likes, it changes a few times a second."""
        if self._search is search and monotonic() - self._shown_at < INTERVAL:
            return
        self._search, self._shown_at = search, monotonic()
        fraction = search.progress.fraction
        self.bar.value = min(max(fraction or 0.0, 0.0), 1.0)
        (self.bar.add_class if fraction is None else self.bar.remove_class)("pl-unknown")
        self.text.value = f"<div><b>{escape(search.title)}</b> {escape(described(search))}</div>"
        self.cancel.disabled = search.halted
        self._reveal(bar=True, cancel=True)

    def rest(self, notes: Sequence[str] = (), stopped: bool = False) -> None:
        """Show the notes of a result; `stopped` offers to search again."""
        self._search = None
        lead = ' class="pl-preview"' if notes and notes[0].lower().startswith("preview") else ""
        spans = " ".join(f"<span{lead if i == 0 else ''}>{escape(note)}</span>" for i, note in enumerate(notes))
        self.text.value = f'<div role="status">{spans}</div>' if spans else ""
        self._reveal(again=stopped)

    def halt(self) -> None:
        """End the search with the best placement so far."""
        if search := self._search:
            search.halt()
            self.cancel.disabled = True

    def _reveal(self, bar: bool = False, cancel: bool = False, again: bool = False) -> None:
        for widget, visible in ((self.bar, bar), (self.cancel, cancel), (self.again, again)):
            widget.layout.display = "" if visible else "none"


def described(search: Search) -> str:
    """The progress of a search in a line."""
    progress = search.progress
    gap = progress.gap
    parts = [
        "stopping…" if search.halted else progress.doing,
        "" if progress.makespan is None else f"best {search.units.time(progress.makespan)}",
        "" if progress.bound is None else f"bound {search.units.time(progress.bound)}",
        "" if gap is None else "optimal" if gap < OPTIMAL else f"{at_most(gap)} above optimum",
        f"{search.elapsed:.0f} s",
    ]
    return " · ".join([part for part in parts if part])
