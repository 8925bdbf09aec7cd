"""What many runs of one problem give: values of a parameter, iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.units import SI, Units
from placelab.pictures.plots.style import (
    CRITICAL,
    INK,
    PALETTE,
    axis,
    byte_unit,
    dress,
    hover,
    move_legend,
    new_plot,
    time_unit,
    units_of,
)
from placelab.schedule.catalogue import checked

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

NEEDED = ("partitioner", "scheduler", "over", "value", "relative", "makespan", "oom", "error")


@checked
def sensitivity(frame: pd.DataFrame, *, dark: bool | None = None, width: int = 640, height: int = 320) -> figure:
    """Makespan over the parameter of :func:`placelab.sensitivity`, a line per pair of strategies.

    Every value is a point, and points are joined by straight lines, so that anomalies are seen as they are. The axis of the
    parameter is logarithmic where all values are above 0. A dashed line marks the present value. A red ring is a run short of
    memory; a red cross on the axis is a value without a result, with its reason on hover.

    Parameters
    ----------
    frame
        Result of ``sensitivity``, complete or not, over one parameter.
    dark
        Whether the page is dark; None where that is unknown.
    width, height
        Pixels.
    """
    need("pandas", "bokeh.models.annotations")
    import pandas as pd
    from bokeh.models import BasicTickFormatter, DataRange1d
    from bokeh.models.annotations import Span

    expect(frame, pd.DataFrame, "plots.sensitivity")
    if missing := [name for name in NEEDED if name not in frame]:
        raise FormatError(f"the table has no column {missing[0]!r}; expected a result of placelab.sensitivity")
    over = frame["over"].unique().tolist()
    if len(over) > 1:
        raise FormatError(f"the table has values of {' and '.join(over)}; draw one parameter at a time")
    written = units_of(frame)
    unit, size = _unit(over[0] if over else "", frame["value"], written)
    longest = float(frame["makespan"].max()) if frame["makespan"].notna().any() else 1.0
    time_name, time_size = time_unit(longest, written)
    plot = new_plot(
        width=width,
        height=height,
        x_axis_type="log" if (frame["value"] > 0).all() else "linear",
        x_axis_label=axis(over[0] if over else "value", unit),
        y_axis_label=axis("makespan", time_name),
        y_range=DataRange1d(start=0),
    )
    plot.xaxis.formatter = BasicTickFormatter()
    pairs = list(dict.fromkeys(zip(frame["partitioner"], frame["scheduler"], strict=True)))
    failed = frame["makespan"].isna()
    drawn = []
    for i, pair in enumerate(p for p in pairs if not failed[_is(frame, p)].all()):
        columns = _columns(frame[_is(frame, pair)].sort_values("value", kind="stable"), size, time_size, written)
        drawn.append(_line(plot, columns, PALETTE[i % len(PALETTE)], " + ".join(filter(None, pair))))
    crosses = _columns(frame[failed], size, time_size, written) | dict(makespan=np.zeros(int(failed.sum())))
    if failed.any():
        drawn.append(_points(plot, crosses, "x", size=8, line_color=CRITICAL, name="failed"))
    if (present := _present(frame)) is not None:
        plot.add_layout(
            Span(location=present / size, dimension="height", line_dash="dashed", line_color=INK[None], name="present")
        )
    lines = [("", "@pair"), (over[0] if over else "value", f"@value{{0.[0000]}} {unit}"), ("makespan", "@detail")]
    hover(plot, drawn, lines)
    move_legend(plot, least=2, mute=True)
    dress(plot, dark)
    return plot


def _is(frame: pd.DataFrame, pair: tuple[str, str]) -> pd.Series:
    return (frame["partitioner"] == pair[0]) & (frame["scheduler"] == pair[1])


def _line(plot: figure, columns: dict[str, Any], colour: str, label: str) -> Any:
    """The line of a pair, its points, and rings around those short of memory; returns what answers a hover."""
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    source = ColumnDataSource(columns)
    plot.line("value", "makespan", source=source, line_color=colour, line_width=1.5, legend_label=label, name="line")
    short = {key: np.asarray(values)[columns["oom"]] for key, values in columns.items()}
    if len(short["value"]):
        _points(plot, short, "circle", size=9, fill_color=None, line_color=CRITICAL, name="short")
    return plot.scatter("value", "makespan", source=source, size=4, color=colour, legend_label=label, name="points")


def _points(plot: figure, columns: dict[str, Any], marker: str, **style: Any) -> Any:
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    return plot.scatter("value", "makespan", source=ColumnDataSource(columns), marker=marker, **style)


def _columns(part: pd.DataFrame, size: float, time_size: float, written: Units) -> dict[str, Any]:
    """Values and makespans in the units of the axes, and the words on hover."""
    short = np.where(part["oom"], ", short of memory", "")
    words = zip(part["makespan"], short, part["error"], strict=True)
    return dict(
        value=part["value"].to_numpy() / size,
        makespan=part["makespan"].to_numpy() / time_size,
        oom=part["oom"].to_numpy(bool),
        pair=[" + ".join(filter(None, pair)) for pair in zip(part["partitioner"], part["scheduler"], strict=True)],
        detail=[error or f"{written.time(t)}{note}" for t, note, error in words],
    )


def _present(frame: pd.DataFrame) -> float | None:
    """The present value of the parameter; None where that is 0 or unlimited."""
    known = frame[frame["relative"] > 0]
    return float(known["value"].iloc[0] / known["relative"].iloc[0]) if len(known) else None


def _unit(over: str, value: pd.Series, written: Units) -> tuple[str, float]:
    """Unit of the parameter in which its middle value has one to three digits before the point, and the unit's size."""
    if not written.si:
        return "", 1.0
    middle = float(value[np.isfinite(value)].median()) if np.isfinite(value).any() else 1.0
    if over == "latency":
        return time_unit(middle)
    if over in ("bandwidth", "memory"):
        unit, size = byte_unit(middle)
        return (f"{unit}/s" if over == "bandwidth" else unit), size
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if middle >= size:
            return f"{unit} operations/s", size
    return "operations/s", 1.0


@checked
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
    need("pandas", "bokeh.models")
    import pandas as pd
    from bokeh.models import ColumnDataSource, Range1d

    expect(frames, (pd.DataFrame, Mapping), "plots.iterations")
    named = {"": frames} if isinstance(frames, pd.DataFrame) else dict(frames)
    times = {str(name): _steps(frame) for name, frame in named.items()}
    written = next((units_of(frame) for frame in named.values()), SI)
    unit, size = time_unit(max((float(steps[-1]) for steps in times.values()), default=1.0), written)
    plot = new_plot(
        width=width,
        height=height,
        x_axis_label=axis("step time", unit),
        y_axis_label="share of runs",
        y_range=Range1d(start=0, end=1.05),
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
    hover(plot, drawn, lines, listed=False)
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
