"""Mean ranks of strategies with critical differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.interrupts import need
from placelab.pictures.plots.strategy_table import strategy_table
from placelab.pictures.plots.style import INK, PALETTE, dress

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks and their tests.

    Attributes
    ----------
    mean
        Mean rank of each strategy; 1 is the best.
    chi2, f, p
        Friedman's statistic, Iman and Davenport's, and the probability of one as large if all strategies were equal.
    critical
        Difference of two mean ranks from which the two strategies differ, by Nemenyi's test.
    """

    mean: np.ndarray
    chi2: float
    f: float
    p: float
    critical: float


def mean_ranks(frame: pd.DataFrame, *, level: float = 0.05, dark: bool | None = None, width: int = 640) -> figure:
    """Mean ranks of the strategies of a study, the best above, each with a bar of one critical difference.

    On each of N problems the k strategies get ranks 1 to k by their makespan, a mean over seeds; equal ones, also those without a
    legal result within memory, share the mean of their ranks. Two strategies differ at the level given if their bars do not
    overlap. The title has the test whether they differ at all. With R_j the mean rank of strategy j, Friedman's statistic, that
    of Iman and Davenport, which follows F with k − 1 and (k − 1)(N − 1) degrees of freedom, and Nemenyi's critical difference are

        χ² = 12 N / (k (k + 1)) · (Σ R_j² − k (k + 1)² / 4),  F = (N − 1) χ² / (N (k − 1) − χ²),
        CD = q √(k (k + 1) / (6 N)),

    with q the quantile of the studentized range of k groups, divided by √2.

    Parameters
    ----------
    frame
        Result of :func:`placelab.study` with two strategies and two problems or more.
    level
        Probability of an error, between 0 and 1.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, §3.2.2.
    """
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import ColumnDataSource, FactorRange, HoverTool
    from bokeh.plotting import figure

    table = strategy_table(frame, "plots.mean_ranks")
    ranks = ranked(table.makespan, level)
    order = np.argsort(ranks.mean, kind="stable")
    names = [table.strategies[i] for i in order]
    mean = ranks.mean[order]
    half = ranks.critical / 2
    source = ColumnDataSource(dict(strategy=names, rank=mean, left=mean - half, right=mean + half))
    plot = figure(
        width=width,
        height=110 + 24 * len(names),
        y_range=FactorRange(*names[::-1]),
        x_axis_label=f"mean rank on {len(table.problems):,} problems; critical difference {ranks.critical:.2f}",
        title=f"Friedman: χ² = {ranks.chi2:.2f}, F = {ranks.f:.2f}, p {_text(ranks.p)}",
        tools="save",
        toolbar_location=None,
    )
    plot.hbar("strategy", 0.3, "right", "left", source=source, color=PALETTE[0], alpha=0.35, name="critical")
    dots = plot.scatter("rank", "strategy", source=source, size=8, color=INK[dark], name="ranks")
    plot.add_tools(HoverTool(renderers=[dots], tooltips=[("", "@strategy"), ("mean rank", "@rank{0.00}")]))
    dress(plot, dark)
    return plot


def ranked(makespan: np.ndarray, level: float = 0.05) -> Ranks:
    """Rank each row of makespans, shape (problems, strategies), and test the mean ranks."""
    need("scipy.stats")
    from scipy.stats import f as f_distribution
    from scipy.stats import rankdata, studentized_range

    n, k = makespan.shape
    if n < 2 or k < 2:
        raise FormatError(f"mean ranks need two problems and two strategies; the table has {n} and {k}")
    if not 0 < level < 1:
        raise FormatError(f"level is {level!r}; expected a probability between 0 and 1")
    mean = rankdata(makespan, axis=1).mean(axis=0)
    chi2 = 12 * n / (k * (k + 1)) * (float((mean**2).sum()) - k * (k + 1) ** 2 / 4)
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-9 * n * k else np.inf  # all problems rank the strategies alike
    p = float(f_distribution.sf(f, k - 1, (k - 1) * (n - 1)))
    q = float(studentized_range.ppf(1 - level, k, np.inf)) / np.sqrt(2)
    return Ranks(mean, chi2, f, p, q * float(np.sqrt(k * (k + 1) / (6 * n))))


def _text(p: float) -> str:
    return f"= {p:.2g}" if p >= 1e-15 else "< 1e-15"
