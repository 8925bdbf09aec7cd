"""The pace of a drag: what is recomputed during it, by the time that the last calls took."""

from __future__ import annotations

from typing import Any

from placelab.schedule.catalogue import Partitioner

FULL, PREVIEW, ON_RELEASE = "full", "preview", "on release"  # what is computed during a drag
LIVE = 2.0  # seconds; what takes longer is recomputed on release only
SMOOTH = 0.2  # seconds; what takes longer and has a preview shows that: five pictures a second


class Pace:
    """Seconds that the last full result and the last preview of a task took.

    A task is what times depend on: graph, number of devices, strategies.
    """

    def __init__(self) -> None:
        self._known: tuple[Any, dict[bool, float]] = (None, {})

    def measured(self, task: tuple, seconds: float, preview: bool) -> None:
        """Take the time of a call; those of another task are forgotten."""
        self._known = (task, {**self._of(task), preview: seconds})

    def seconds(self, task: tuple, preview: bool = False) -> float | None:
        """Time of the last call; None before the first."""
        return self._of(task).get(preview)

    def mode(self, partitioner: Partitioner, task: tuple) -> str:
        """What to compute of a partitioner during a drag.

        A ``FULL`` result of whatever takes up to `LIVE` seconds, or is not known to take longer; the ``PREVIEW`` of a
        partitioner that has one, unless it is `SMOOTH` without; else nothing until ``ON_RELEASE``.
        """
        full, preview = self.seconds(task), self.seconds(task, preview=True)
        if "preview" in partitioner.reserved and (full is None or full > SMOOTH) and (preview or 0.0) <= LIVE:
            return PREVIEW
        if full is None:
            return ON_RELEASE if partitioner.slow else FULL
        return FULL if full <= LIVE else ON_RELEASE

    def _of(self, task: tuple) -> dict[bool, float]:
        known, times = self._known
        return times if known == task else {}
