"""Makespans by problem and strategy, which all figures of a study start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("problem", "partitioner", "scheduler", "seed", "makespan", "valid", "oom")


@dataclass(frozen=True, eq=False)
class StrategyTable:
    """Makespans of a study.

    Attributes
    ----------
    problems, strategies
        Names; a strategy is called by its partitioner alone where there is one scheduler.
    makespan
        Mean over seeds [s], shape (n_problems, n_strategies); infinite where a seed has no legal result within memory.
    """

    problems: tuple[str, ...]
    strategies: tuple[str, ...]
    makespan: np.ndarray

    @property
    def relative(self) -> np.ndarray:
        """Makespan over the least one of the problem; infinite where there is no result. Same shape."""
        least = self.makespan.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.makespan == least, np.where(np.isinf(least), np.inf, 1.0), self.makespan / least)


def strategy_table(frame: pd.DataFrame, who: str) -> StrategyTable:
    """The table of a study; problems that some strategy was not run on, as in a study under way, are left out.

    Raises
    ------
    FormatError
        Not a result of :func:`placelab.study`; no problem that all strategies were run on.
    """
    need("pandas")
    import pandas as pd

    expect(frame, pd.DataFrame, who)
    if missing := [name for name in NEEDED if name not in frame]:
        raise FormatError(f"the table has no column {missing[0]!r}; expected a result of placelab.study")
    alone = frame["scheduler"].nunique() == 1
    label = frame["partitioner"] if alone else frame["partitioner"] + " + " + frame["scheduler"]
    good = frame["valid"].astype(bool) & ~frame["oom"].astype(bool) & frame["makespan"].notna()
    cells = pd.DataFrame(dict(problem=frame["problem"], label=label, makespan=frame["makespan"].where(good, np.inf)))
    mean = cells.groupby(["problem", "label"], sort=False)["makespan"].mean()  # infinite if one is
    wide = mean.unstack("label").reindex(index=cells["problem"].unique(), columns=label.unique()).dropna()
    if wide.empty:
        raise FormatError("the table has no problem that all strategies were run on; run the study to its end")
    return StrategyTable(tuple(map(str, wide.index)), tuple(map(str, wide.columns)), wide.to_numpy(np.float64))
