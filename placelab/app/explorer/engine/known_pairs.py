"""Keep what is known of each pair of partitioner and scheduler while they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.comparing import gap_to
from placelab.base.interrupts import need
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
        self.bound, self.done = 0.0, set[str]()
        self._rows: dict[Pair, dict[str, Any]] = {}
        self._fresh: set[Pair] = set()  # pairs whose row is of the present problem

    def begin(self) -> None:
        """Begin with another problem."""
        self.bound, self.done, self._fresh = 0.0, set(), set()

    def take(self, row: Mapping[str, Any]) -> None:
        """Take over the row of a pair."""
        pair = (row["partitioner"], row["scheduler"])
        self._rows[pair] = {**row, "bound_gap": gap_to(row["makespan"], self.bound)}
        self._fresh.add(pair)

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
        """A pair as in :class:`placelab.app.widgets.tables.ComparisonTable`; `stale`: the problem has changed since."""
        row = self._rows.get(pair)
        if row is None:
            return None
        makespan, gap, memory, moved = (_number(row.get(key)) for key in NUMBERS)
        flaw = "out of memory" if row["oom"] else "" if row["valid"] or row["error"] else "not legal"
        numbers = {"makespan": makespan, "gap": gap, "memory": memory, "moved": moved}
        return {**numbers, "flaw": flaw, "error": row["error"], "stale": stale or pair not in self._fresh}


def best_pair(frame: pd.DataFrame) -> Pair | None:
    """The pair of least makespan among those that are legal and within memory, the first of equal ones; None: there is none."""
    good = frame[frame["valid"] & ~frame["oom"] & frame["makespan"].notna()]
    if not len(good):
        return None
    row = good.loc[good["makespan"].idxmin()]
    return row["partitioner"], row["scheduler"]


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None
