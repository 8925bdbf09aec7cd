"""Can the strategies follow a hand? What is known about how long they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

WHOLE, PREVIEW, NOT = "whole", "preview", "not"  # manners of following a hand
LIVE = 0.06  # seconds; what takes longer is not recomputed under the hand but on release
BRISK = 0.3  # seconds; a preview that takes longer is none
WARM = 3.0  # seconds; what takes longer is not run once more for the sake of its speed


@dataclass(frozen=True)
class Pace:
    """How long it took to place and run last.

    Attributes
    ----------
    task
        What was measured: graph, number of devices, strategies.
    recent
        Wall time of the last three calls [s]: a solver may work in threads and processes of its own.
    calls
        How often that was measured. The first call of a kernel loads it, which says nothing about the second.
    alone
        Whether nothing else was computed meanwhile.
    compiling
        Whether plain Python stood in for kernels that were being compiled.
    """

    task: tuple = ()
    recent: tuple[float, ...] = ()
    calls: int = 0
    alone: bool = True
    compiling: bool = False

    def measured(self, task: tuple, seconds: float, alone: bool, compiling: bool) -> Pace:
        """One measurement more; one that was disturbed does not replace one that was not."""
        if task != self.task:
            return Pace(task, (seconds,), 1, alone, compiling)
        if self.alone and not alone and not self.compiling:
            return replace(self, calls=self.calls + 1)
        return Pace(task, (*self.recent[-2:], seconds), self.calls + 1, alone, compiling)

    @property
    def seconds(self) -> float:
        """The best of the recent calls: others may have shared the machine."""
        return min(self.recent, default=0.0)

    @property
    def worst(self) -> float:
        """The worst of them but the first: what a strategy keeps of a problem may make a call quick, too."""
        return max(self.recent[1:] if 1 < self.calls <= 3 else self.recent, default=0.0)

    @property
    def follows(self) -> bool:
        """Whether to recompute under the hand: fast enough, or not known to be slow."""
        return self.seconds <= LIVE or (not self.alone and self.seconds <= WARM)

    @property
    def unsure(self) -> bool:
        """Whether another measurement could tell that the strategies are fast after all."""
        doubtful = self.calls == 1 or not self.alone
        return self.seconds > LIVE and (self.compiling or (doubtful and self.seconds <= WARM))


@dataclass(frozen=True)
class Paces:
    """How long strategies take, in whole and in preview."""

    whole: Pace = Pace()
    preview: Pace = Pace()

    def manner(self, partitioner: Callable, task: tuple) -> str:
        """How a partitioner follows a dragging hand.

        ``whole``; by a ``preview``, where it has one and is not known to be quick without; or ``not``, as those that search
        for seconds by design.
        """
        if "preview" not in partitioner.reserved:
            return WHOLE if self.whole.follows and not partitioner.slow else NOT
        if self.whole.task == task and self.whole.worst <= LIVE and not partitioner.slow:
            return WHOLE
        unknown = self.preview.task != task or self.preview.calls == 1  # the first may have loaded something
        return PREVIEW if unknown or self.preview.seconds <= BRISK else NOT

    def measured(self, task: tuple, seconds: float, alone: bool, compiling: bool, preview: bool) -> Paces:
        """One measurement more."""
        kind = "preview" if preview else "whole"
        return replace(self, **{kind: getattr(self, kind).measured(task, seconds, alone, compiling)})
