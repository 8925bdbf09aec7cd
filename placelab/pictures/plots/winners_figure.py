"""The best strategy at each point of a plane of two parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.interrupts import need
from placelab.pictures.plots.strategy_table import StrategyTable, strategy_table
from placelab.pictures.plots.style import PALETTE, dress, move_legend

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


def winners(frame: pd.DataFrame, x: str, y: str, *, dark: bool | None = None, width: int = 560) -> figure:
    """The best strategy of a study for each pair of values of two columns that describe its problems.

    A cell has the strategy with the least geometric mean, over the problems of the cell, of makespan over the problem's best
    makespan; the first of equal ones. On hover: that mean, and by how much the second best is above it. A cell in which no
    strategy has a legal result within memory for all problems is empty.

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
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import ColumnDataSource, FactorRange, HoverTool
    from bokeh.plotting import figure

    table = strategy_table(frame, "plots.winners")
    for column in (x, y):
        if column not in frame:
            raise FormatError(f"the table has no column {column!r}; it has {', '.join(map(str, frame.columns))}")
    cells = best(table, frame, x, y)
    across, down = (_factors(frame[column]) for column in (x, y))
    plot = figure(
        width=width,
        height=110 + 34 * len(down),
        x_range=FactorRange(factors=across),
        y_range=FactorRange(factors=down),
        x_axis_label=x,
        y_axis_label=y,
        tools="save",
        toolbar_location=None,
    )
    drawn: list[Any] = []
    for i, name in enumerate(table.strategies):
        chosen = [j for j, winner in enumerate(cells["winner"]) if winner == name]
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
                    legend_label=name,
                    name="cells",
                )
            )
    lines = [("", "@winner"), (x, "@x"), (y, "@y"), ("over the best", "@mean{0.000}"), ("second", "@second")]
    plot.add_tools(HoverTool(renderers=drawn, tooltips=lines))
    move_legend(plot)
    plot.grid.visible = False
    dress(plot, dark)
    return plot


def best(table: StrategyTable, frame: pd.DataFrame, x: str, y: str) -> dict[str, list[Any]]:
    """One entry per cell with a winner: its values as texts, the winner, its mean ratio, and the second best in words."""
    where = frame.drop_duplicates("problem")
    where.index = where["problem"].map(str)  # as in the table, also where a file has given numbers back
    with np.errstate(divide="ignore"):
        logs = np.log(table.relative)
    groups: dict[tuple[str, str], list[int]] = {}
    for i, name in enumerate(table.problems):
        groups.setdefault((_label(where.at[name, x]), _label(where.at[name, y])), []).append(i)
    cells: dict[str, list[Any]] = {key: [] for key in ("x", "y", "winner", "mean", "second")}
    for (a, b), members in groups.items():
        mean = np.exp(logs[members].mean(axis=0))
        first, *others = np.argsort(mean, kind="stable")
        if np.isfinite(mean[first]):
            words = ""
            if others and np.isfinite(mean[others[0]]):
                words = f"{table.strategies[others[0]]}, {100 * (mean[others[0]] / mean[first] - 1):.1f} % longer"
            entry = (a, b, table.strategies[first], float(mean[first]), words)
            for key, value in zip(cells, entry, strict=True):
                cells[key].append(value)
    return cells


def _factors(column: pd.Series) -> list[str]:
    values = column.unique().tolist()
    numbers = all(isinstance(value, (int, float)) for value in values)
    return [_label(value) for value in (sorted(values) if numbers else values)]


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
