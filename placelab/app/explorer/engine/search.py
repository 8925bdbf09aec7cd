"""A call of the strategies: what it reports, and whether it is to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import perf_counter

from placelab.base.errors import PlacelabError
from placelab.base.progress import Progress
from placelab.base.units import SI, Units

ENDING = 10.0  # seconds that a strategy with something to return has for it after a user has stopped it


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
    """

    def __init__(self, title: str, outdated: Callable[[float], bool], floor: float = 0.0, units: Units = SI) -> None:
        self.units = units
        self.title, self._outdated, self._floor = title, outdated, floor
        self.superseded = False
        self._progress = Progress("")
        # In seconds after the beginning: when a user stopped the call, and when it learned so.
        self._halted = self._cancelled = inf
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

    def halt(self) -> None:
        """Ask for the best placement so far, as a user does."""
        self._halted = self.elapsed

    @property
    def halted(self) -> bool:
        """Whether a user has asked for the best placement so far."""
        return self._halted < inf

    def cancel(self) -> bool:
        """Whether the partitioner is to stop; it calls this itself."""
        cancelled = self._update() or self.halted
        if cancelled:
            self._cancelled = min(self._cancelled, self.elapsed)
        return cancelled

    def stop(self) -> bool:
        """Whether to abandon the partitioner; the thread that waits for it calls this.

        A partitioner that has reported a plan, or has learned that a user has stopped it, has time to return its best placement,
        which takes a solver a while on a busy machine. Any other one has nothing to return and is abandoned at once.
        """
        promised = self._halted if self._progress.makespan is not None else self._cancelled
        ending = promised < inf and self.elapsed < promised + ENDING
        return self._update() or (self.halted and not ending)

    def _update(self) -> bool:
        self.superseded = self.superseded or self._outdated(self.elapsed)
        return self.superseded
