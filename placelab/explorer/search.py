"""How far is a search, and how does a hand end it? The line above the chart, where the notes of a result stand, too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from time import perf_counter

import ipywidgets as w

from placelab.explorer.buttons import button
from placelab.explorer.strip import OPTIMAL, at_most
from placelab.explorer.worker import Worker
from placelab.progress import Progress
from placelab.units import seconds

QUIET = 0.3  # seconds in which nothing is said of a search, so that short ones do not flicker
TICK = 0.2  # seconds between two words about it
GRACE = 0.1  # seconds that a search has before a newer state ends it, so that quick ones keep answering a hand
SLACK = 0.6  # the same, of a preview


class Search:
    """A partitioner at work, as the worker sees it.

    Parameters
    ----------
    title
        Who searches.
    newer
        Says whether its result would be out of date.
    can_stop
        Whether it asks if it shall stop.
    preview
        Whether a quick stand-in is made, which is wanted even if the hand is ahead of it.
    floor
        A lower bound on every makespan [s], for searches that know none or a worse one.

    Attributes
    ----------
    overtaken
        Whether it was told to stop because its result would be out of date, so that there is none.
    halted
        Whether a hand wants the best so far.
    """

    def __init__(
        self, title: str, newer: Callable[[], bool], can_stop: bool, preview: bool = False, floor: float = 0.0
    ) -> None:
        self.title, self.can_stop, self._newer, self._floor = title, can_stop, newer, floor
        self._grace = SLACK if preview else GRACE
        self.halted = self.overtaken = False
        self.said = Progress("")
        self._begun = perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return perf_counter() - self._begun

    def report(self, progress: Progress) -> None:
        """For the partitioner: how far it is, as often as it likes."""
        self.said = progress

    def stop(self) -> bool:
        """For the partitioner: whether to stop."""
        self.overtaken = self.overtaken or (self.elapsed > self._grace and self._newer())
        return self.overtaken or self.halted

    @property
    def words(self) -> str:
        """What is known of it, in a line."""
        said = replace(self.said, bound=max(self.said.bound or 0.0, self._floor) or None)
        gap = said.gap
        known = [
            "stopping…" if self.halted else said.doing,
            "" if said.makespan is None else f"best {seconds(said.makespan)}",
            "" if said.bound is None else f"bound {seconds(said.bound)}",
            "" if gap is None else "optimal" if gap < OPTIMAL else f"{at_most(gap)} above optimum",
            f"{self.elapsed:.0f} s",
        ]
        return " · ".join([word for word in known if word])


class Line:
    """The line: the progress of a search that takes long, with a button that ends it; else the notes of the result.

    Parameters
    ----------
    again
        Called when a hand wants a search that it ended to be done again.

    Notes
    -----
    A thread of its own says a few times a second how far the search is, whoever reports how often, and whether it reports or
    not. The line is always there and as high as its button, so that nothing below it moves when it has something to say.
    """

    def __init__(self, again: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._search: Search | None = None
        self._bar = w.FloatProgress(0.0, min=0.0, max=1.0, tooltip="How far the search is")
        self._text = w.HTML()
        self._cancel = button("Cancel", "Stop searching and show the best so far", self.halt)
        self._again = button("Search again", "Search once more, to the end", again)
        self.box = w.HBox([self._bar, self._text, self._cancel, self._again]).add_class("pl-line")
        self._worker = Worker(self._tick, "progress")
        self.rest()

    def begin(self, search: Search) -> None:
        """A search is under way."""
        with self._lock:
            self._search = search
        self._worker.wake()

    def rest(self, notes: Sequence[str] = (), stopped: bool = False) -> None:
        """No search is under way; there is something to say about the result."""
        with self._lock:
            self._search = None
            lead = ' class="pl-preview"' if notes and notes[0].lower().startswith("preview") else ""
            told = " ".join(f"<span{lead if i == 0 else ''}>{escape(note)}</span>" for i, note in enumerate(notes))
            self._say(f'<div role="status">{told}</div>' if told else "")
            self._reveal(again=stopped)

    def halt(self) -> None:
        """End the search with the best so far."""
        with self._lock:
            if self._search is not None:
                self._search.halted = True
                self._show(self._search)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()

    def _tick(self) -> None:
        search = self._search
        if search is None or not self._worker.sleep(max(QUIET - search.elapsed, 0.0)):
            return
        while True:
            with self._lock:
                if self._search is not search:
                    return
                self._show(search)
            if not self._worker.sleep(TICK):
                return

    def _show(self, search: Search) -> None:
        self._bar.value = min(max(search.said.fraction or 0.0, 0.0), 1.0)
        if (search.said.fraction is None) != ("pl-unknown" in self._bar._dom_classes):
            (self._bar.add_class if search.said.fraction is None else self._bar.remove_class)("pl-unknown")
        self._say(f"<div><b>{escape(search.title)}</b> {escape(search.words)}</div>")
        self._cancel.disabled = search.halted
        self._reveal(bar=True, cancel=search.can_stop)

    def _say(self, text: str) -> None:
        if self._text.value != text:
            self._text.value = text

    def _reveal(self, bar: bool = False, cancel: bool = False, again: bool = False) -> None:
        for widget, visible in ((self._bar, bar), (self._cancel, cancel), (self._again, again)):
            widget.layout.display = "" if visible else "none"
