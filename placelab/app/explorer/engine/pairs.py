"""What is known of each pair of strategies while they are compared, and the search for a problem on which one loses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.measures import gap_to
from placelab.analysis.studies.adversary_search import Adversary, adversarial
from placelab.app.explorer.engine.failure import sentence
from placelab.base.interrupts import need
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.base.progress import Progress, compiling
from placelab.base.threads import Background, Worker
from placelab.schedule.catalogue import partitioners
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[str, str]
NUMBERS = ("makespan", "bound_gap", "peak_memory", "bytes_moved")


def measures(schedule: Schedule) -> dict[str, float]:
    """Largest peak memory of a device and bytes of all transfers, for ``compare(…, measure=measures)``."""
    moved = schedule.problem.graph.tensor_bytes[schedule.transfers["tensor"]].sum()
    return {"peak_memory": float(schedule.peak_memory.max()), "bytes_moved": float(moved)}


class KnownPairs:
    """Rows of :func:`placelab.compare` of the present problem, and of those before where there are no others yet.

    Attributes
    ----------
    bound
        Best lower bound known of the present problem [s]; 0 when there is none.
    done
        Partitioners that are compared under all schedulers.
    """

    def __init__(self) -> None:
        self.bound = 0.0
        self.done = set[str]()
        self._rows: dict[Pair, dict[str, Any]] = {}
        self._fresh: set[Pair] = set()  # pairs whose row is of the present problem
        # Seconds after which a run was left, which had not ended, of (partitioner, scheduler), or a placement: (partitioner, "").
        self._over: dict[Pair, float] = {}
        self._vain: dict[str, float] = {}  # seconds that all such runs of a scheduler took

    def begin(self) -> None:
        """Begin with another problem."""
        self.bound = 0.0
        self.done = set()
        self._fresh = set()
        self._over = {}
        self._vain = {}

    def put_off(self, partitioner: str, scheduler: str, seconds: float) -> None:
        """Have a run, which was left after so long, and its scheduler wait behind others; "" for all of a partitioner."""
        self._over[partitioner, scheduler] = seconds
        if scheduler:
            self._vain[scheduler] = self._vain.get(scheduler, 0.0) + seconds

    def left_after(self, partitioner: str, scheduler: str = "") -> float:
        """The seconds after which this run was left, or this partitioner's placement; 0 where it was not."""
        return self._over.get((partitioner, scheduler), 0.0)

    def over(self, pair: Pair) -> float:
        """The seconds after which a pair was left, in its placement or its run; 0 where it was not."""
        return max(self.left_after(pair[0]), self.left_after(*pair))

    def turn(self, pair: Pair) -> tuple[float, float]:
        """The least comes first: whose strategies took least time in vain, then what was not left itself yet.

        So one that never ends holds up no other, and of its own pairs each is tried before one is tried again.
        """
        return max(self.left_after(pair[0]), self._vain.get(pair[1], 0.0)), self.left_after(*pair)

    def never_left(self, scheduler: str) -> bool:
        """Whether no run of a scheduler was left."""
        return scheduler not in self._vain

    def take(self, row: Mapping[str, Any]) -> None:
        """Take over the row of a pair."""
        pair = (row["partitioner"], row["scheduler"])
        self._rows[pair] = {**row, "bound_gap": gap_to(row["makespan"], self.bound)}
        self._fresh.add(pair)

    def knows(self, pair: Pair) -> bool:
        """Whether a pair of the present problem is compared: what was only shown has no time that it took."""
        return pair in self._fresh and not np.isnan(self._rows[pair]["seconds"])

    def prove(self, bound: float | None) -> bool:
        """Take over a lower bound of the present problem [s]; return whether it is better than all before."""
        if not bound or bound <= self.bound:
            return False
        self.bound = bound
        for pair in self._fresh:
            self._rows[pair] = self._rows[pair] | {"bound_gap": gap_to(self._rows[pair]["makespan"], bound)}
        return True

    def frame(self, partitioners: Iterable[str], schedulers: Iterable[str]) -> pd.DataFrame:
        """The rows of partitioners that are done."""
        need("pandas")
        import pandas as pd  # half a second, which the first view is not to wait for

        return pd.DataFrame([self._rows[p, s] for p in partitioners for s in schedulers])

    def cell(self, pair: Pair, stale: bool) -> dict[str, Any] | None:
        """A pair as in :class:`placelab.app.widgets.tab_views.ComparisonTable`; `stale`: the problem has changed since."""
        row = self._rows.get(pair)
        if row is None:
            return None
        makespan, gap, memory, moved = (_number(row.get(key)) for key in NUMBERS)
        flaw = "out of memory" if row["oom"] else "" if row["valid"] or row["error"] else "not legal"
        numbers = {"makespan": makespan, "gap": gap, "memory": memory, "moved": moved}
        return {**numbers, "flaw": flaw, "error": row["error"], "stale": stale or pair not in self._fresh}


class Step:
    """What is under way while a partitioner is compared: its placement, or a run under a scheduler.

    Attributes
    ----------
    limit
        Seconds that it may take before others come first; those in which kernels are compiled do not count.
    scheduler
        Of the run; "" of the placement.
    """

    def __init__(self) -> None:
        self.limit = inf
        self.scheduler = ""
        self._since = inf

    def begin(self, limit: float, scheduler: str = "") -> None:
        """Count from now."""
        self.limit = limit
        self.scheduler = scheduler
        self._since = monotonic()

    def rest(self) -> None:
        """Count nothing until the next begins."""
        self._since = inf

    @property
    def late(self) -> bool:
        """Whether it takes longer than it may."""
        if compiling() and self._since < inf:
            self._since = monotonic()
        return monotonic() - self._since > self.limit


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


QUICK = dict(restarts=5, steps=400)  # some seconds
SLOW = dict(restarts=1, steps=60)  # with partitioners that search; less than half a minute with those of placelab


class RivalSearch(Background):
    """One search at a time; another one ends it.

    Parameters
    ----------
    adopt
        Takes the problem that was found, and the Python expression that finds it again ("" if the search was ended early).
    changed
        Called when `status` or `fraction` has changed.

    Attributes
    ----------
    status
        What is searched and the best so far; why there is no result; or "".
    fraction
        Share of the search that is done.
    running
        Whether a search is under way.
    """

    def __init__(self, adopt: Callable[[Adversary, str], None], changed: Callable[[], None]) -> None:
        self._adopt = adopt
        self._changed = changed
        self._asked: tuple[Pair, Pair, int] | None = None
        self._halted = False
        self.status = ""
        self.fraction = 1.0
        self.running = False
        self._worker = Worker(self._run, "rival")

    def start(self, a: Pair, b: Pair, seed: int) -> None:
        """Search for a problem on which `a` loses to `b`."""
        self._asked = (a, b, seed)
        self._halted = False
        self._worker.wake()

    def halt(self) -> None:
        """End the search with the best problem so far."""
        self._halted = True

    def _run(self) -> None:
        assert self._asked is not None
        a, b, seed = self._asked
        catalogue = partitioners()
        size = SLOW if any(name in catalogue and catalogue[name].slow for name, _ in (a, b)) else QUICK
        self.running = True
        self._say(f"{' + '.join(a)} against {' + '.join(b)}", 0.0)
        try:
            adversary = run_abandonable(lambda: self._search(a, b, size | dict(seed=seed)), lambda: self._worker.woken)
        except Abandoned:
            return
        except (Exception, SystemExit) as error:  # a user's strategy may raise anything
            self.running = False
            self._say(sentence(error), 1.0)
            return
        self.running = False
        self._say("", 1.0)
        code = f"pl.adversarial({a!r}, {b!r}, restarts={size['restarts']}, steps={size['steps']}, seed={seed}).problem.graph"
        self._adopt(adversary, "" if self._halted else code)

    def _search(self, a: Pair, b: Pair, size: dict[str, Any]) -> Adversary:
        shown = 0

        def report(progress: Progress) -> None:
            nonlocal shown
            done = int(50 * (progress.fraction or 0.0))
            if done > shown:
                shown = done
                self._say(f"{progress.doing} {' + '.join(b)}", done / 50)

        stop = lambda: self._halted or self._worker.woken  # noqa: E731
        return adversarial(a, b, progress=report, cancel=stop, **size)

    def _say(self, status: str, fraction: float) -> None:
        self.status = status
        self.fraction = fraction
        self._changed()
