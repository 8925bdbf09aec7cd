"""The distribution of step times over many runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.units import SI
from placelab.pictures.plots.style import PALETTE, TOOLS, axis, dress, time_unit, units_of

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


def iterations(
    frames: pd.DataFrame | Mapping[str, pd.DataFrame],
    *,
    dark: bool | None = None,
    width: int = 640,
    height: int = 320,
) -> figure:
    """Share of runs over their step time (cumulative distribution), a line per frame.

    Parameters
    ----------
    frames
        Result of :func:`placelab.iterations`, or several by name, such as of ``random-reads`` and of ``tic``.
    dark
        Whether the page is dark; None where that is unknown.
    width, height
        Pixels.

    References
    ----------
    Hashemi et al. (2018), Fig. 2.
    """
    need("pandas", "bokeh.models", "bokeh.plotting")
    import pandas as pd
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure

    expect(frames, (pd.DataFrame, Mapping), "plots.iterations")
    named = {"": frames} if isinstance(frames, pd.DataFrame) else dict(frames)
    times = {str(name): _steps(frame) for name, frame in named.items()}
    written = next((units_of(frame) for frame in named.values()), SI)
    unit, size = time_unit(max((float(steps[-1]) for steps in times.values()), default=1.0), written)
    plot = figure(
        width=width,
        height=height,
        x_axis_label=axis("step time", unit),
        y_axis_label="share of runs",
        y_range=Range1d(start=0, end=1.05),
        tools=TOOLS,
    )
    drawn: list[Any] = []
    for i, (name, steps) in enumerate(times.items()):
        columns = dict(
            step=np.repeat(steps, 2) / size, share=np.repeat(np.arange(len(steps) + 1) / len(steps), 2)[1:-1]
        )
        label = f"{name}: {written.time(steps.mean())}, sd {written.time(steps.std())}".removeprefix(": ")
        source = ColumnDataSource(columns | dict(name=[name] * len(columns["step"])))
        drawn.append(
            plot.line("step", "share", source=source, line_width=2, color=PALETTE[i % len(PALETTE)], legend_label=label)
        )
    lines = [("", "@name"), ("step", f"@step{{0.[000]}} {unit}"), ("share of runs", "@share{0.[000]}")]
    plot.add_tools(HoverTool(renderers=drawn, tooltips=lines, visible=False))
    plot.legend.location = "bottom_right"
    dress(plot, dark)
    return plot


def _steps(frame: Any) -> np.ndarray:
    """The step times of a frame, sorted."""
    need("pandas")
    import pandas as pd

    expect(frame, pd.DataFrame, "a table of plots.iterations")
    if "step" not in frame or not len(frame):
        raise FormatError("the table has no column 'step', or no rows; expected a result of placelab.iterations")
    return np.sort(frame["step"].to_numpy(dtype=np.float64))
