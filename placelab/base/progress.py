"""Progress reports of ``place``, ``solve``, ``compare`` and other functions that take long; and who waits for the compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
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


# -------------------------------------------------------------------- whether kernels are being compiled, and who waits for it

THREAD = "compile "  # how the names of the threads begin that wait for a compiler
# Says when kernels no longer wait for the compiler; None: they do not wait at all.
patience: ContextVar[Callable[[], bool] | None] = ContextVar("patience", default=None)


@contextmanager
def patient(stop: Callable[[], bool] = never) -> Iterator[None]:
    """Have kernels that are called here wait for the compiler, until `stop` returns True; long work would be slow without it."""
    before = patience.set(stop)
    try:
        yield
    finally:
        patience.reset(before)


def compiling() -> bool:
    """Whether a kernel is being compiled in the background now, so that the slower plain path serves."""
    return any(thread.name.startswith(THREAD) for thread in threading.enumerate())
