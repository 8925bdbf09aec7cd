"""Measured times of strategies, and whether they are fast enough to be recomputed during a drag."""

from __future__ import annotations

from dataclasses import dataclass, replace

from placelab.strategies import Partitioner

FULL, PREVIEW, ON_RELEASE = "full", "preview", "on release"  # what is computed during a drag
LIVE = 0.06  # seconds; what takes longer is recomputed on release only
QUICK_PREVIEW = 0.3  # seconds; a preview that takes longer is not computed during a drag
REMEASURED = 3.0  # seconds; what takes longer is not run once more to measure it


@dataclass(frozen=True)
class Pace:
    """How long the last calls took to place and simulate.

    Attributes
    ----------
    task
        What was measured: graph, number of devices, strategies.
    recent
        Wall time of the last three calls [s]: a solver may work in threads and processes of its own.
    calls
        Number of measurements. The first call of a kernel loads it and is no guide to the second.
    alone
        Whether nothing else was computed meanwhile.
    compiling
        Whether plain Python ran because kernels were still being compiled.
    """

    task: tuple = ()
    recent: tuple[float, ...] = ()
    calls: int = 0
    alone: bool = True
    compiling: bool = False

    def measured(self, task: tuple, seconds: float, alone: bool, compiling: bool) -> Pace:
        """Add a measurement; a disturbed one does not replace an undisturbed one."""
        if task != self.task:
            return Pace(task, (seconds,), 1, alone, compiling)
        if self.alone and not alone and not self.compiling:
            return replace(self, calls=self.calls + 1)
        return Pace(task, (*self.recent[-2:], seconds), self.calls + 1, alone, compiling)

    @property
    def seconds(self) -> float:
        """Shortest of the recent calls, since other work may have slowed the others."""
        return min(self.recent, default=0.0)

    @property
    def worst(self) -> float:
        """Longest of the recent calls but the very first; a strategy that caches by problem may make single calls quick."""
        return max(self.recent[1:] if 1 < self.calls <= 3 else self.recent, default=0.0)

    @property
    def follows(self) -> bool:
        """Whether to recompute during a drag: the strategies are fast enough, or not known to be slow."""
        return self.seconds <= LIVE or (not self.alone and self.seconds <= REMEASURED)

    @property
    def unsure(self) -> bool:
        """Whether another measurement could show that the strategies are fast after all."""
        doubtful = self.calls == 1 or not self.alone
        return self.seconds > LIVE and (self.compiling or (doubtful and self.seconds <= REMEASURED))


@dataclass(frozen=True)
class Paces:
    """Measured times of full results and of previews."""

    full: Pace = Pace()
    preview: Pace = Pace()

    def mode(self, partitioner: Partitioner, task: tuple) -> str:
        """What to compute of a partitioner during a drag.

        ``FULL`` results of what is fast; a ``PREVIEW`` where the partitioner has one and is not known to be fast without;
        else nothing until ``ON_RELEASE``, as for partitioners that search for seconds by design.
        """
        if "preview" not in partitioner.reserved:
            return FULL if self.full.follows and not partitioner.slow else ON_RELEASE
        if self.full.task == task and self.full.worst <= LIVE and not partitioner.slow:
            return FULL
        unknown = self.preview.task != task or self.preview.calls == 1  # the first may have loaded something
        return PREVIEW if unknown or self.preview.seconds <= QUICK_PREVIEW else ON_RELEASE

    def measured(self, task: tuple, seconds: float, alone: bool, compiling: bool, preview: bool) -> Paces:
        """Add a measurement."""
        kind = "preview" if preview else "full"
        return replace(self, **{kind: getattr(self, kind).measured(task, seconds, alone, compiling)})
