"""Read files in a thread, so that large ones block nothing and can be cancelled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as w

from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.panels.buttons import button
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.base.threads import Background, Worker

PATIENCE = 0.5  # seconds that `read` waits, so that small files are shown at once
Job = tuple[str, Callable[[], Any], Callable[[Any], None]]  # title, reader, and consumer of what it returns


class Opening(Background):
    """The line that names the file being read, and the thread that reads one file after another.

    Parameters
    ----------
    fail
        Called with a sentence when a file cannot be read, with "" when reading was cancelled.

    Attributes
    ----------
    box
        The line; `text` is the widget in it.
    """

    def __init__(self, fail: Callable[[str], None]) -> None:
        self._fail = fail
        self._jobs: deque[Job] = deque()
        self._stopped = False
        self._worker = Worker(self._run, "reading")
        self.text = w.HTML()
        self._cancel = button("Cancel", "Stop reading; nothing changes", self.stop)
        self.box = w.HBox([self.text, self._cancel]).add_class("pl-opening")
        self.say("")

    def read(self, title: str, read: Callable[[], Any], take: Callable[[Any], None]) -> None:
        """Have `read` called in the thread, and `take` with what it returns."""
        self._jobs.append((title, read, take))
        self._worker.wake()
        self._worker.settled(PATIENCE)

    def say(self, text: str) -> None:
        """Show what is going on; "" hides the line."""
        self.text.value = f'<span role="status">{escape(text)}</span>' if text else ""
        self.box.layout.display = "" if text else "none"
        self._cancel.layout.display = "" if self._jobs or text.startswith("Reading") else "none"

    def stop(self) -> None:
        """Cancel all reading."""
        self._jobs.clear()
        self._stopped = True

    def close(self) -> None:
        """End the thread."""
        self.stop()
        super().close()

    def _run(self) -> None:
        while self._jobs:
            title, read, take = self._jobs.popleft()
            self._stopped = False
            self.say(f"Reading {title} …")
            try:
                content = run_abandonable(read, lambda: self._stopped)
                self._fail("") if self._stopped else take(content)
            except Abandoned:
                self._fail("")
            except Exception as error:  # a file may hold anything; it must not end the thread
                self._fail(sentence(error))
            finally:
                self.say("")
