"""Who reads a large file? A thread of its own, so that the rest goes on meanwhile; a hand can stop it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as w

from placelab.explorer.buttons import button
from placelab.explorer.errand import LeftBehind, send
from placelab.explorer.failure import sentence
from placelab.explorer.worker import Worker

PATIENCE = 0.5  # seconds that who asks waits, so that small files are there at once
Job = tuple[str, Callable[[], Any], Callable[[Any], None]]  # what is read, how, and who takes it


class Opening:
    """The line that says what is being read, and the thread that reads one thing after the other.

    Parameters
    ----------
    fail
        Takes the sentence about what could not be read; "" when a hand has stopped it.
    """

    def __init__(self, fail: Callable[[str], None]) -> None:
        self._fail = fail
        self._jobs: deque[Job] = deque()
        self._stopped = False
        self._worker = Worker(self._run, "reading")
        self._text = w.HTML()
        self._stop = button("Cancel", "Stop reading; nothing changes", self.stop)
        self.box = w.HBox([self._text, self._stop]).add_class("pl-opening")
        self.say("")

    def read(self, title: str, read: Callable[[], Any], take: Callable[[Any], None]) -> None:
        """Call `take` with what `read` returns, soon."""
        self._jobs.append((title, read, take))
        self._worker.wake()
        self._worker.settled(PATIENCE)

    def say(self, text: str) -> None:
        """What is going on; "" takes the line away."""
        self._text.value = f'<span role="status">{escape(text)}</span>' if text else ""
        self.box.layout.display = "" if text else "none"
        self._stop.layout.display = "" if self._jobs or text.startswith("Reading") else "none"

    def stop(self) -> None:
        """Read no more, and drop what is being read."""
        self._jobs.clear()
        self._stopped = True

    def settled(self, seconds: float | None = None) -> bool:
        """Wait until all is read; False when that takes longer."""
        return self._worker.settled(seconds)

    def close(self) -> None:
        """End the thread."""
        self.stop()
        self._worker.close()

    def _run(self) -> None:
        while self._jobs:
            title, read, take = self._jobs.popleft()
            self._stopped = False
            self.say(f"Reading {title} …")
            try:
                found = send(read, lambda: self._stopped)
                self._fail("") if self._stopped else take(found)
            except LeftBehind:
                self._fail("")
            except Exception as error:  # whatever a file may hold, the sentence stands in place and nothing is lost
                self._fail(sentence(error))
            finally:
                self.say("")
