"""Whether kernels are being compiled, and who waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from placelab.base.progress import never

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
