"""Progress of long work: what ``place``, ``solve`` and ``compare`` tell a callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a search or a comparison is.

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
    row
        Of :func:`placelab.compare` the row of the pair that is done; None elsewhere.
    """

    doing: str
    fraction: float | None = None
    makespan: float | None = None
    bound: float | None = None
    row: Mapping[str, Any] | None = None

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
