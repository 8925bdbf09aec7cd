"""The number of threads that a call may use: all cores, or one where other processes use the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_thread = threading.local()


def cores() -> int:
    """The number of threads that what is called here may start: that of the cores, or what :func:`at_most` says."""
    return getattr(_thread, "most", 0) or os.cpu_count() or 1


@contextmanager
def at_most(most: int) -> Iterator[None]:
    """Let calls in this thread use so many threads at most."""
    before = getattr(_thread, "most", 0)
    _thread.most = most
    try:
        yield
    finally:
        _thread.most = before
