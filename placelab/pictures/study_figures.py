"""Strategies on many problems: ranks, profiles, ratios, winners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.seeds import generator
from placelab.pictures.style import INK, PALETTE, dress, hover, move_legend, new_plot, plot_of_cells
from placelab.schedule.catalogue import checked

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


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


@checked
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
    need("bokeh.models")
    from bokeh.models import ColumnDataSource, FactorRange

    table = strategy_table(frame, "plots.mean_ranks")
    ranks = ranked(table.makespan, level)
    order = np.argsort(ranks.mean, kind="stable")
    names = [table.strategies[i] for i in order]
    mean = ranks.mean[order]
    half = ranks.critical / 2
    source = ColumnDataSource(dict(strategy=names, rank=mean, left=mean - half, right=mean + half))
    plot = new_plot(
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
    hover(plot, [dots], [("", "@strategy"), ("mean rank", "@rank{0.00}")])
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


@checked
def performance_profile(
    frame: pd.DataFrame, *, most: float = 10.0, dark: bool | None = None, width: int = 640, height: int = 360
) -> figure:
    """Performance profiles of a study: for each strategy s the share ρ_s(τ) of problems within τ times the best.

    With t(p, s) the makespan, a mean over seeds, and r(p, s) = t(p, s) / min over s' of t(p, s'),

        ρ_s(τ) = (number of p with r(p, s) ≤ τ) / N.

    ρ_s(1) is how often s is the best, alone or not; for large τ it is how often s has a legal result within memory.

    Parameters
    ----------
    frame
        Result of :func:`placelab.study`. Problems that some strategy was not run on are left out.
    most
        The largest τ drawn.
    dark
        Whether the page is dark; None where that is unknown.
    width, height
        Pixels.

    References
    ----------
    Dolan, Moré (2002), Benchmarking optimization software with performance profiles, eq. 1 and 2.
    """
    need("bokeh.models")
    from bokeh.models import BasicTickFormatter, ColumnDataSource, Range1d

    table = strategy_table(frame, "plots.performance_profile")
    plot = new_plot(
        width=width,
        height=height,
        x_axis_type="log",
        x_range=Range1d(start=1.0, end=most),
        y_range=Range1d(start=0.0, end=1.02),
        x_axis_label="τ: makespan over the best",
        y_axis_label=f"share of {len(table.problems):,} problems",
    )
    plot.xaxis.formatter = BasicTickFormatter()
    drawn: list[Any] = []
    for i, name in enumerate(table.strategies):
        tau, share = profile(table, i, most)
        source = ColumnDataSource(dict(tau=tau, share=share, strategy=[name] * len(tau)))
        drawn.append(
            plot.step(
                "tau",
                "share",
                source=source,
                mode="after",
                line_width=2,
                line_color=PALETTE[i % len(PALETTE)],
                line_dash="solid" if i < len(PALETTE) else "dashed",
                legend_label=name,
                name="profile",
            )
        )
    hover(plot, drawn, [("", "@strategy"), ("τ", "@tau"), ("share", "@share{0.0 %}")])
    move_legend(plot, mute=True)
    dress(plot, dark)
    return plot


def profile(table: StrategyTable, strategy: int, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The steps of a strategy's profile from τ = 1 to `most`: where it rises, and how high it is from there on."""
    ratio = np.sort(table.relative[:, strategy])
    tau = np.unique([1.0, *ratio[ratio <= most], most])
    return tau, np.searchsorted(ratio, tau, side="right") / len(ratio)


SAMPLES = 10_000
AT_ONCE = 2_000_000  # numbers drawn in one array


@checked
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
    need("bokeh.models.annotations")
    from bokeh.models import ColumnDataSource, FactorRange
    from bokeh.models.annotations import Span

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
    plot = new_plot(
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
    hover(plot, [dots], lines)
    dress(plot, dark)
    return plot


def interval(ratio: np.ndarray, level: float, seed: int = 0) -> tuple[float, float, float]:
    """Low end, geometric mean and high end of ratios."""
    logs = np.log(ratio)
    n = len(ratio)
    random = generator(seed)
    step = max(AT_ONCE // n, 1)
    means = np.concatenate(
        [logs[random.integers(n, size=(min(step, SAMPLES - i), n))].mean(axis=1) for i in range(0, SAMPLES, step)]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(np.exp(low)), float(np.exp(logs.mean())), float(np.exp(high))


@checked
def winners(frame: pd.DataFrame, x: str, y: str, *, dark: bool | None = None, width: int = 560) -> figure:
    """The best strategy of a study for each pair of values of two columns that describe its problems.

    A cell has the strategy with the least geometric mean, over the problems of the cell, of makespan over the problem's best
    makespan. Where several tie, to the last bit, the cell is hatched in the colour of the first, and names them all. On hover:
    that mean, and by how much the second best is above it. A cell in which no strategy has a legal result within memory for all
    problems is empty.

    Parameters
    ----------
    frame
        Result of :func:`placelab.study`.
    x, y
        Columns, such as ``"bandwidth"`` and ``"devices"``; values are in ascending order, texts in the order of the table.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.

    References
    ----------
    The geometric mean of ratios: Fleming, Wallace (1986), How not to lie with statistics.
    """
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    table = strategy_table(frame, "plots.winners")
    for column in (x, y):
        if column not in frame:
            raise FormatError(f"the table has no column {column!r}; it has {', '.join(map(str, frame.columns))}")
    cells = best(table, frame, x, y)
    across, down = (_factors(frame[column]) for column in (x, y))
    plot = plot_of_cells((across, down), (x, y), width)
    drawn: list[Any] = []
    for i, name in enumerate(table.strategies):
        chosen = [j for j, first in enumerate(cells["first"]) if first == name]
        if chosen:
            source = ColumnDataSource({key: [values[j] for j in chosen] for key, values in cells.items()})
            drawn.append(
                plot.rect(
                    "x",
                    "y",
                    0.96,
                    0.92,
                    source=source,
                    line_color=None,
                    fill_color=PALETTE[i % len(PALETTE)],
                    hatch_pattern={"field": "hatch"},
                    hatch_color="white",
                    legend_label=name,
                    name="cells",
                )
            )
    lines = [("", "@winner"), (x, "@x"), (y, "@y"), ("over the best", "@mean{0.000}"), ("second", "@second")]
    hover(plot, drawn, lines)
    move_legend(plot)
    plot.grid.visible = False
    dress(plot, dark)
    return plot


def best(table: StrategyTable, frame: pd.DataFrame, x: str, y: str) -> dict[str, list[Any]]:
    """One entry per cell with a winner: its values as texts, the first winner, all that tie, their mean, the next in words."""
    where = frame.drop_duplicates("problem")
    where.index = where["problem"].map(str)  # as in the table, also where a file has given numbers back
    with np.errstate(divide="ignore"):
        logs = np.log(table.relative)
    groups: dict[tuple[str, str], list[int]] = {}
    for i, name in enumerate(table.problems):
        groups.setdefault((_label(where.at[name, x]), _label(where.at[name, y])), []).append(i)
    cells: dict[str, list[Any]] = {key: [] for key in ("x", "y", "first", "hatch", "winner", "mean", "second")}
    for (a, b), members in groups.items():
        mean = np.exp(logs[members].mean(axis=0))
        order = np.argsort(mean, kind="stable")
        least = mean[order[0]]
        if np.isfinite(least):
            tied = [table.strategies[i] for i in order if mean[i] == least]
            words = ""
            if len(order) > len(tied) and np.isfinite(mean[order[len(tied)]]):
                others = order[len(tied)]
                words = f"{table.strategies[others]}, {100 * (mean[others] / least - 1):.1f} % longer"
            winner = tied[0] if len(tied) == 1 else f"{', '.join(tied)} (tie)"
            entry = (a, b, tied[0], "/" if len(tied) > 1 else " ", winner, float(least), words)
            for key, value in zip(cells, entry, strict=True):
                cells[key].append(value)
    return cells


def _factors(column: pd.Series) -> list[str]:
    values = column.unique().tolist()
    numbers = all(isinstance(value, (int, float)) for value in values)
    return [_label(value) for value in (sorted(values) if numbers else values)]


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
