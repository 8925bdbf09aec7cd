"""A partitioner's search, as it reports progress and is asked to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from placelab.progress import Progress

GRACE = 0.1  # seconds before a newer state ends a search, so that quick ones still return results during a drag
PREVIEW_GRACE = 0.6  # the same, of a preview


class Search:
    """A search under way.

    Parameters
    ----------
    title
        Name of the partitioner.
    newer
        Whether the result would be outdated.
    can_stop
        Whether the partitioner calls `stop`.
    preview
        Whether a preview is computed, which is wanted even if the state is a little outdated.
    floor
        A lower bound on every makespan [s], for searches that report none or a worse one.

    Attributes
    ----------
    superseded
        Whether the search was stopped because its result would be outdated; it then has none.
    halted
        Whether a user has asked for the best placement so far.
    """

    def __init__(
        self, title: str, newer: Callable[[], bool], can_stop: bool, preview: bool = False, floor: float = 0.0
    ) -> None:
        self.title, self.can_stop, self._newer, self._floor = title, can_stop, newer, floor
        self._grace = PREVIEW_GRACE if preview else GRACE
        self.halted = self.superseded = False
        self._progress = Progress("")
        self._started = perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return perf_counter() - self._started

    @property
    def progress(self) -> Progress:
        """The last report, with the best lower bound known."""
        return replace(self._progress, bound=max(self._progress.bound or 0.0, self._floor) or None)

    def report(self, progress: Progress) -> None:
        """Take a report of the partitioner; it may report as often as it likes."""
        self._progress = progress

    def stop(self) -> bool:
        """Whether the partitioner is to stop."""
        self.superseded = self.superseded or (self.elapsed > self._grace and self._newer())
        return self.superseded or self.halted
