"""What is said of a search: while it runs, a message over the chart; of its result, notes in the line above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from time import monotonic

from placelab.app.explorer.engine.solving import RunningCall
from placelab.app.explorer.panels.numbers import OPTIMAL, at_most
from placelab.app.explorer.panels.panel import button
from placelab.app.widgets import controls as w
from placelab.base.compiling import compiling
from placelab.base.progress import COMPILING

INTERVAL = 0.2  # seconds between two updates


class SearchLine:
    """What is said of a search: while it runs, a message over the chart; of its result, notes in the line above.

    Parameters
    ----------
    again
        Called when a user wants a search that was ended to be run again.

    Attributes
    ----------
    running
        The message.
    box
        The line with the notes, always there and as high as its button; `text` and `again` are the widgets in it.
    """

    def __init__(self, again: Callable[[], None]) -> None:
        self._search: RunningCall | None = None
        self._shown_at = 0.0
        self.running = w.Running()
        self.running.on_stop = self.halt
        self.text = w.HTML()
        self.again = button("Search again", "Search once more, to the end", again)
        self.box = w.HBox([self.text, self.again]).add_class("pl-line")
        self.rest()

    def show(self, search: RunningCall) -> None:
        """Show a search that is under way; called as often as one likes, it changes a few times a second."""
        if self._search is search and monotonic() - self._shown_at < INTERVAL:
            return
        self._search = search
        self._shown_at = monotonic()
        progress = search.progress
        best = progress.makespan
        with self.running.hold_sync():
            self.running.title = search.title
            self.running.said = described(search)
            self.running.seconds = search.elapsed
            self.running.share = -1.0 if progress.fraction is None else min(max(progress.fraction, 0.0), 1.0)
            self.running.stop = "Stop" if best is None else f"Stop, take {search.units.time(best)}"
            self.running.stopping = search.halted
            self.running.hidden = False
        self.text.value = ""
        self.again.hidden = True

    def rest(self, notes: Sequence[str] = (), stopped: bool = False) -> None:
        """Show the notes of a result; `stopped` offers to search again."""
        self._search = None
        lead = ' class="pl-preview"' if notes and notes[0].lower().startswith("preview") else ""
        spans = " ".join(f"<span{lead if i == 0 else ''}>{escape(note)}</span>" for i, note in enumerate(notes))
        self.text.value = f'<div role="status">{spans}</div>' if spans else ""
        self.again.hidden = not stopped
        self.running.hidden = True

    def halt(self) -> None:
        """End the search with the best placement so far."""
        if search := self._search:
            search.halt()
            self.running.stopping = True


def described(search: RunningCall) -> str:
    """How far a search is, and why it takes long."""
    progress = search.progress
    gap = progress.gap
    parts = [
        "stopping…" if search.halted else progress.doing,
        "" if progress.makespan is None else f"best {search.units.time(progress.makespan)}",
        "" if progress.bound is None else f"bound {search.units.time(progress.bound)}",
        "" if gap is None else "optimal" if gap < OPTIMAL else f"{at_most(gap)} above optimum",
        f"slow because of {COMPILING}" if compiling() and progress.doing != COMPILING else search.why,
    ]
    return " · ".join([part for part in parts if part])
