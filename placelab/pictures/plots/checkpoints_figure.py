"""The expected total of a training run over the interval between its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.interrupts import need
from placelab.pictures.plots.style import CRITICAL, PALETTE, TOOLS, dress, long_time_unit, move_legend

if TYPE_CHECKING:
    from bokeh.plotting import figure

NEEDED = ("every", "seconds", "expected")
HIGHEST = 2.0  # times the least total: the axis ends there, as totals of long intervals have no bound


def checkpoint_intervals(
    curves: np.ndarray | Mapping[str, np.ndarray], *, width: int = 640, height: int = 320, dark: bool | None = None
) -> figure:
    """Expected total over the seconds of work between two checkpoints, with a red ring at the least total of each line.

    Parameters
    ----------
    curves
        Result of :func:`placelab.faults.over_intervals`, or several by label, of other failure rates say.
    width, height
        Pixels.
    dark
        Whether the page is dark; None where that is unknown.
    """
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import BasicTickFormatter, HoverTool, Range1d
    from bokeh.plotting import figure

    several = dict(curves) if isinstance(curves, Mapping) else {"expected total": curves}
    least = [_least(table) for table in several.values()]
    unit, size = long_time_unit(min(least, default=1.0))
    apart, apart_size = long_time_unit(float(np.median(np.concatenate([t["seconds"] for t in several.values()]))))
    low, high = min(least, default=0.0) / size, max(least, default=1.0) / size
    plot = figure(
        width=width,
        height=height,
        x_axis_type="log",
        x_axis_label=f"work between checkpoints [{apart}]",
        y_axis_label=f"expected total [{unit}]",
        y_range=Range1d(start=0.95 * low, end=HIGHEST * high),
        tools=TOOLS,
    )
    plot.xaxis.formatter = BasicTickFormatter()
    drawn = []
    for i, (label, table) in enumerate(several.items()):
        columns = _columns(table, label, size, apart_size)
        drawn.append(_draw(plot, columns, PALETTE[i % len(PALETTE)]))
    lines = [("", "@label"), ("every", "@every steps"), ("work between", f"@seconds{{0.[0000]}} {apart}")]
    plot.add_tools(HoverTool(renderers=drawn, tooltips=[*lines, ("total", f"@expected{{0.[0000]}} {unit}")]))
    move_legend(plot, least=2)
    dress(plot, dark)
    return plot


def _least(table: Any) -> float:
    names = getattr(getattr(table, "dtype", None), "names", None) or ()
    if missing := [name for name in NEEDED if name not in names]:
        raise FormatError(
            f"the curve has no column {missing[0]!r}; expected a result of placelab.faults.over_intervals"
        )
    least = float(table["expected"].min(initial=np.inf))
    if not np.isfinite(least):
        raise FormatError("no total of the curve is finite; save more often, or try smaller numbers of steps")
    return least


def _columns(table: np.ndarray, label: str, size: float, apart_size: float) -> dict[str, Any]:
    """Rows with a finite total, by rising interval, in the units of the axes."""
    finite = np.sort(table[np.isfinite(table["expected"])], order="every")
    return dict(
        every=finite["every"],
        seconds=finite["seconds"] / apart_size,
        expected=finite["expected"] / size,
        label=[label] * len(finite),
    )


def _draw(plot: figure, columns: dict[str, Any], colour: str) -> Any:
    """A line and the ring at its minimum; returns what answers a hover."""
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    label, best = columns["label"][0], int(np.argmin(columns["expected"]))
    plot.line(
        "seconds",
        "expected",
        source=ColumnDataSource(columns),
        line_color=colour,
        line_width=1.5,
        legend_label=label,
        name="line",
    )
    ring = {key: values[best : best + 1] for key, values in columns.items()}
    plot.scatter(
        "seconds", "expected", source=ColumnDataSource(ring), size=10, fill_color=None, line_color=CRITICAL, name="best"
    )
    return plot.scatter("seconds", "expected", source=ColumnDataSource(columns), size=3, color=colour, name="points")
