"""Ratios of makespans to those of one strategy, with bootstrapped intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.interrupts import need
from placelab.base.seeds import generator
from placelab.pictures.plots.strategy_table import strategy_table
from placelab.pictures.plots.style import INK, PALETTE, dress

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

SAMPLES, AT_ONCE = 10_000, 2_000_000  # numbers drawn in one array


def ratio_intervals(
    frame: pd.DataFrame,
    to: str = "",
    *,
    level: float = 0.95,
    seed: int = 0,
    dark: bool | None = None,
    width: int = 640,
) -> figure:
    """Makespans of the strategies of a study over those of one: geometric means and their bootstrapped intervals.

    For problems p with a legal result of both, within memory, the mean is exp(1/N · Σ ln(t(p, s) / t(p, to))), with t a mean over
    seeds. The interval has the percentiles (1 ± level) / 2 of the means of 10,000 samples of N problems, drawn with replacement:
    what the mean could have been with other problems of this kind. An interval that contains 1 shows no difference.

    Parameters
    ----------
    frame
        Result of :func:`placelab.study`.
    to
        The strategy to compare with, as it is called in the figure; default: the first.
    level
        Share of samples within the interval.
    seed
        Of the samples.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.

    References
    ----------
    Efron, Tibshirani (1993), An introduction to the bootstrap, §13.3, the percentile interval.
    """
    need("bokeh.models.annotations", "bokeh.plotting")
    from bokeh.models import ColumnDataSource, FactorRange, HoverTool
    from bokeh.models.annotations import Span
    from bokeh.plotting import figure

    table = strategy_table(frame, "plots.ratio_intervals")
    base = to or table.strategies[0]
    if base not in table.strategies:
        raise FormatError(f"no strategy of the table is called {base!r}; there are {', '.join(table.strategies)}")
    if not 0 < level < 1:
        raise FormatError(f"level is {level!r}; expected a share between 0 and 1")
    reference = table.makespan[:, table.strategies.index(base)]
    columns: dict[str, list] = {key: [] for key in ("strategy", "mean", "low", "high", "n")}
    for name, makespan in zip(table.strategies, table.makespan.T, strict=True):
        both = np.isfinite(makespan) & np.isfinite(reference) & (makespan > 0) & (reference > 0)
        if both.any():
            low, mean, high = interval(makespan[both] / reference[both], level, seed)
            for key, value in zip(columns, (name, mean, low, high, int(both.sum())), strict=True):
                columns[key].append(value)
    source = ColumnDataSource(columns)
    plot = figure(
        width=width,
        height=90 + 24 * len(columns["strategy"]),
        y_range=FactorRange(*columns["strategy"][::-1]),
        x_axis_label=f"makespan over that of {base}",
        tools="save",
        toolbar_location=None,
    )
    plot.add_layout(Span(location=1.0, dimension="height", line_dash="dashed", line_color=INK[None]))
    plot.hbar("strategy", 0.3, "high", "low", source=source, color=PALETTE[0], alpha=0.35, name="intervals")
    dots = plot.scatter("mean", "strategy", source=source, size=8, color=INK[dark], name="means")
    lines = [
        ("", "@strategy"),
        ("mean", "@mean{0.000}"),
        ("interval", "@low{0.000} – @high{0.000}"),
        ("problems", "@n"),
    ]
    plot.add_tools(HoverTool(renderers=[dots], tooltips=lines))
    dress(plot, dark)
    return plot


def interval(ratio: np.ndarray, level: float, seed: int = 0) -> tuple[float, float, float]:
    """Low end, geometric mean and high end of ratios."""
    logs, n, random = np.log(ratio), len(ratio), generator(seed)
    step = max(AT_ONCE // n, 1)
    means = np.concatenate(
        [logs[random.integers(n, size=(min(step, SAMPLES - i), n))].mean(axis=1) for i in range(0, SAMPLES, step)]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(np.exp(low)), float(np.exp(logs.mean())), float(np.exp(high))
