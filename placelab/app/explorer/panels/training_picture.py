"""The picture of a training run: where its time goes, and its expected time by the interval between checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from placelab.analysis.faults import KINDS, TrainingRuns

COLUMNS = 170  # of the bar over time
MARKS = 400  # failures that are marked
POINTS = 160  # of the curve


def over_time(runs: TrainingRuns, text: Callable[[float], str], share: Callable[[float], str]) -> dict[str, Any]:
    """The first run, as :class:`placelab.app.widgets.tables.TrainingChart` takes it.

    Parameters
    ----------
    text, share
        Write a time [s], and a share.
    """
    total, n = float(runs.total[0]), int(runs.failures[0])
    kinds = [
        {"name": kind, "share": share(float(getattr(runs, kind)[0]) / total), "columns": np.round(columns, 4).tolist()}
        for kind, columns in zip(KINDS, shares(runs), strict=True)
    ]
    said = f"{runs.iterations:,} steps in {text(total)}, {n:,} failure{'s' * (n != 1)}"
    return {"said": said, "kinds": kinds, "failures": np.unique(np.round(runs.failed / total, 4))[:MARKS].tolist()}


def shares(runs: TrainingRuns, columns: int = COLUMNS) -> np.ndarray:
    """Share of each kind in each of the columns that the first run is divided into; shape (kinds, columns)."""
    rows, total = runs.intervals, float(runs.total[0])
    edges = np.linspace(0.0, total, columns + 1)
    took = rows["finish"] - rows["start"]
    at = np.concatenate([[0.0], rows["finish"]])
    share = np.empty((len(KINDS), columns))
    for kind in range(len(KINDS)):
        spent = np.concatenate([[0.0], np.cumsum(np.where(rows["kind"] == kind, took, 0.0))])
        share[kind] = np.diff(np.interp(edges, at, spent))
    return share / (total / columns)


def over_interval(useful: float, curve: np.ndarray) -> dict[str, list[float]]:
    """Expected time beyond `useful` seconds, over these, from :func:`placelab.faults.over_intervals`; where it is finite."""
    over = curve["expected"] / useful - 1
    finite = np.flatnonzero(np.isfinite(over))
    if not len(finite):
        return {"seconds": [], "over": []}
    some = np.unique(np.linspace(0, len(finite) - 1, POINTS).astype(int))
    pick = finite[np.union1d(some, [int(np.argmin(over[finite]))])]
    return {"seconds": curve["seconds"][pick].tolist(), "over": over[pick].tolist()}
