"""Progress reports of ``place``, ``solve``, ``compare`` and other functions that take their time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

COMPILING = "compiling kernels, once for this machine"


@dataclass(frozen=True)
class Progress:
    """A report of a search or a comparison under way.

    Attributes
    ----------
    doing
        The current activity, in a few words.
    fraction
        Share of the work, or of the time allowed, that is done, 0 to 1; None where that is unknown.
    makespan
        Makespan of the best placement so far [s]; None before the first.
    bound
        Proven lower bound on the makespan so far [s]; None where nothing is proven.
    row
        The row that :func:`placelab.compare` or another function with a table has finished; None elsewhere.
    """

    doing: str
    fraction: float | None = None
    makespan: float | None = None
    bound: float | None = None
    row: Mapping[str, Any] | None = None

    @property
    def gap(self) -> float | None:
        """Largest possible distance of the makespan from the optimum, as a fraction of the bound; None where unknown."""
        if self.makespan is None or not self.bound:
            return None
        return max(self.makespan / self.bound - 1, 0.0)


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Ignore a report."""


def never() -> bool:
    """Never ask a search to stop."""
    return False
