"""The learning curves of placements that were learned from samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import UnsupportedError, expect
from placelab.base.interrupts import need
from placelab.base.units import SI
from placelab.pictures.plots.style import PALETTE, TOOLS, axis, dress, move_legend, time_unit
from placelab.schedule.placement import Placement

if TYPE_CHECKING:
    from bokeh.plotting import figure

NEEDED = {"samples", "best", "mean"}


def learning_curves(
    placements: Placement | Mapping[str, Placement],
    *,
    dark: bool | None = None,
    width: int = 640,
    height: int = 320,
) -> figure:
    """Makespan over the number of samples, two lines per placement: the best sample so far, and thin the mean of each round.

    Parameters
    ----------
    placements
        Result of ``cem`` or ``policy-gradient``, or several by name, such as with other starts.
    dark
        Whether the page is dark; None where that is unknown.
    width, height
        Pixels.

    Raises
    ------
    UnsupportedError
        A placement was not learned from samples, so that it has no learning curve.
    """
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import ColumnDataSource, HoverTool
    from bokeh.plotting import figure

    expect(placements, (Placement, Mapping), "plots.learning_curves")
    named = {"": placements} if isinstance(placements, Placement) else dict(placements)
    curves = {str(name): _curve(placement) for name, placement in named.items()}
    written = next((placement.problem.cluster.units for placement in named.values()), SI)
    longest = max((float(np.nanmax(curve[["best", "mean"]].to_numpy())) for curve in curves.values()), default=1.0)
    unit, size = time_unit(longest, written)
    plot = figure(
        width=width,
        height=height,
        x_axis_label="samples",
        y_axis_label=axis("makespan", unit),
        x_axis_type="log",
        tools=TOOLS,
    )
    drawn: list[Any] = []
    for i, (name, curve) in enumerate(curves.items()):
        columns = dict(
            samples=curve.samples, best=curve.best / size, mean=curve["mean"] / size, name=[name] * len(curve)
        )
        source, colour = ColumnDataSource({k: np.asarray(v) for k, v in columns.items()}), PALETTE[i % len(PALETTE)]
        label: dict[str, Any] = {"legend_label": name} if name else {}
        drawn.append(plot.step("samples", "best", source=source, mode="after", line_width=2, color=colour, **label))
        plot.line("samples", "mean", source=source, line_width=1, line_alpha=0.7, color=colour, **label)
    lines = [
        ("", "@name"),
        ("samples", "@samples{0,0}"),
        ("best", f"@best{{0.[000]}} {unit}"),
        ("mean", f"@mean{{0.[000]}} {unit}"),
    ]
    plot.add_tools(HoverTool(renderers=drawn, tooltips=lines, visible=False))
    move_legend(plot)
    dress(plot, dark)
    return plot


def _curve(placement: Any) -> Any:
    expect(placement, Placement, "a learning curve")
    if placement.table is None or not NEEDED <= set(placement.table.columns) or not len(placement.table):
        raise UnsupportedError(
            f"a placement by {placement.partitioner or 'hand'!r} has no learning curve; cem and policy-gradient make one"
        )
    return placement.table
