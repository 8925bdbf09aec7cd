"""How far is work that takes long? What a strategy that searches tells whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A word from a search under way.

    Attributes
    ----------
    doing
        What is being done, a few words.
    fraction
        Share of the work, or of the time allowed, that is done, 0 to 1; None where nobody knows.
    makespan
        Of the best placement so far [s], None before the first.
    bound
        Proven lower bound on the makespan so far [s], None where nothing is proven.
    """

    doing: str
    fraction: float | None = None
    makespan: float | None = None
    bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How far above the optimum the makespan may be, as a fraction of the bound; None where that is not known."""
        if self.makespan is None or not self.bound:
            return None
        return max(self.makespan / self.bound - 1, 0.0)


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Nobody is waiting."""


def never() -> bool:
    """Nobody asks to stop."""
    return False
