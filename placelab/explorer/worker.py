"""Who computes while a hand drags? One thread that catches up with the newest state, and never queues."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger("placelab")
PREFIX = "placelab worker: "  # of its threads' names


def _is_for_the_log(record: logging.LogRecord) -> bool:
    """Below a cell there is no place for warnings of a worker, say of a kernel that is being compiled; views show them."""
    return record.levelno >= logging.ERROR or not record.threadName.startswith(PREFIX)


log.addFilter(_is_for_the_log)


class Worker:
    """A thread that calls `work` after it has been woken; wakes that come meanwhile make one more call.

    `work` reads what is newest when it is called, and may ask `woken` in between whether that is old already.
    """

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._change = threading.Condition()
        self._woken = self._busy = self.closed = False
        self._thread: threading.Thread | None = None

    @property
    def woken(self) -> bool:
        """Whether there is something newer than what the present call began with."""
        return self._woken or self.closed

    @property
    def active(self) -> bool:
        """Whether a call is under way or due."""
        return self._woken or self._busy

    def wake(self) -> None:
        """Have `work` called, soon."""
        with self._change:
            self._woken = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=PREFIX + self._name, daemon=True)
                self._thread.start()
            self._change.notify_all()

    def sleep(self, seconds: float) -> bool:
        """For `work`: wait a moment; True when nothing newer has come."""
        with self._change:
            self._change.wait_for(lambda: self.woken, seconds)
        return not self.woken

    def settled(self, seconds: float | None = None) -> bool:
        """Wait until all is done; False when that takes longer."""
        with self._change:
            return self._change.wait_for(lambda: self.closed or not self.active, seconds)

    def close(self) -> None:
        """End the thread after the call it is in."""
        with self._change:
            self.closed = True
            self._change.notify_all()

    def _run(self) -> None:
        while self._next():
            try:
                self._work()
            except Exception:
                log.exception("%s failed", self._name)  # and goes on with what is newest next
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()

    def _next(self) -> bool:
        with self._change:
            self._change.wait_for(lambda: self.woken)
            self._woken, self._busy = False, not self.closed
            return self._busy
