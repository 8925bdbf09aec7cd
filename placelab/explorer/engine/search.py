"""A call of the strategies: what it reports, and whether it is to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import perf_counter

from placelab.errors import PlacelabError
from placelab.progress import Progress
from placelab.units import SI, Units

ENDING = 10.0  # seconds that a strategy has to end by itself once it knows that a user has stopped it


class StoppedError(PlacelabError):
    """A user has stopped a strategy that had no result yet."""


class Search:
    """A call under way.

    Parameters
    ----------
    title
        Name of the partitioner.
    outdated
        Whether the result is not wanted any more, of the seconds that the call has taken so far.
    floor
        A lower bound on every makespan [s], for searches that report none or a worse one.
    units
        How times are written.

    Attributes
    ----------
    superseded
        Whether the call was stopped because its result would be outdated; it then has none.
    halted
        Whether a user has asked for the best placement so far.
    """

    def __init__(self, title: str, outdated: Callable[[float], bool], floor: float = 0.0, units: Units = SI) -> None:
        self.units = units
        self.title, self._outdated, self._floor = title, outdated, floor
        self.halted = self.superseded = False
        self._progress = Progress("")
        self._told = inf  # seconds after the beginning at which the strategy learned that it is to stop
        self._started = perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return perf_counter() - self._started

    @property
    def progress(self) -> Progress:
        """The last report, with the best lower bound known."""
        return replace(self._progress, bound=max(self._progress.bound or 0.0, self._floor) or None)

    def report(self, progress: Progress) -> None:
        """Take a report of the partitioner; it may report as often as it likes."""
        self._progress = progress

    def cancel(self) -> bool:
        """Whether the partitioner is to stop; called by itself."""
        cancelled = self._update() or self.halted
        if cancelled:
            self._told = min(self._told, self.elapsed)
        return cancelled

    def stop(self) -> bool:
        """Whether to leave the partitioner; called by who waits for it.

        One that a user has stopped is waited for while it is about to return its best placement: a solver on a busy machine takes
        a while to.
        """
        ending = self.elapsed < self._told + ENDING and self._told < inf
        return self._update() or (self.halted and not ending)

    def _update(self) -> bool:
        self.superseded = self.superseded or self._outdated(self.elapsed)
        return self.superseded
