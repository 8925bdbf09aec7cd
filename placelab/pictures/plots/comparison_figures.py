"""What many runs of one problem give: pairs of strategies, values of a parameter, iterations."""

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

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

FRAME = (("black", 7), ("white", 3))  # of the selected pair: one of the two is visible on any colour


def comparison(frame: pd.DataFrame, *, stale: bool = False, dark: bool | None = None, width: int = 560) -> figure:
    """A heat map of :func:`placelab.compare`: partitioners down, schedulers across, mean makespan over seeds.

    Each cell shows its makespan and its distance from the best lower bound; the best one has a frame and a star. An
    empty cell shows its reason on hover. Colour is logarithmic in makespan over the best one, from blue (best) to
    yellow (5 times or more).

    Parameters
    ----------
    frame
        Result of ``compare``, complete or not.
    stale
        Draw pale, because the problem has changed since.
    dark
        Whether the page is dark; None where that is unknown.

    Notes
    -----
    A tap selects a cell in the data source of the renderer called ``"cells"``: listen with
    ``figure.select_one({"name": "cells"}).data_source.selected.on_change("indices", …)`` and read its columns
    ``partitioner`` and ``scheduler``.
    """
    need("pandas", "bokeh.models", "bokeh.transform")
    import pandas as pd
    from bokeh.models import ColumnDataSource, FactorRange
    from bokeh.transform import log_cmap

    expect(frame, pd.DataFrame, "plots.comparison")
    cells = _cells(frame, stale)
    source = ColumnDataSource(cells)
    rows, columns = list(dict.fromkeys(cells["partitioner"])), list(dict.fromkeys(cells["scheduler"]))
    plot = new_plot(
        width=width,
        height=60 + 38 * max(len(rows), 1),
        x_range=FactorRange(*columns),
        y_range=FactorRange(*rows[::-1]),
        x_axis_location="above",
        tools="tap",
        toolbar_location=None,
        tooltips=[("", "@partitioner + @scheduler"), ("", "@detail")],
    )
    colour = log_cmap("relative", "Cividis256", low=1.0, high=5.0, nan_color="#50505020")
    fade = 0.35 if stale else 1.0
    rect: dict[str, Any] = dict(x="scheduler", y="partitioner", width=0.96, height=0.92, source=source)
    drawn = plot.rect(
        **rect,
        name="cells",
        fill_color=colour,
        fill_alpha=fade,
        line_color="frame",
        line_width=3,
        line_alpha=fade,
        nonselection_fill_alpha=fade,
        nonselection_line_alpha=fade,
    )
    for edge, thickness in FRAME:
        rect |= dict(
            fill_color=None, line_color=edge, line_width=thickness, line_alpha=0.0, nonselection_line_alpha=0.0
        )
        plot.rect(**rect, selection_line_alpha=1.0)
    plot.hover.renderers = [drawn]
    words: dict[str, Any] = dict(
        x="scheduler",
        y="partitioner",
        source=source,
        text_align="center",
        text_baseline="middle",
        text_font_size="11px",
    )
    for ink, column in (("white", "on_dark"), ("black", "on_light"), (INK[dark], "on_page")):
        plot.text(
            **words, text=column, text_color=ink, text_alpha=max(fade, 0.6), nonselection_text_alpha=max(fade, 0.6)
        )
    plot.grid.visible = False
    plot.axis.axis_line_color = plot.axis.major_tick_line_color = None
    dress(plot, dark)
    return plot


def _cells(frame: pd.DataFrame, stale: bool) -> dict[str, list]:
    """One entry per pair: means over seeds, text, colour, frame, and the text on hover."""
    grouped = frame.groupby(["partitioner", "scheduler"], sort=False)
    mean = grouped[["makespan", "bound_gap"]].mean().reset_index()
    error = grouped["error"].agg(lambda texts: next((t for t in texts if t), "")).to_numpy()
    flawed = (grouped["oom"].any() | ~grouped["valid"].all()).to_numpy()
    makespan, gap = mean["makespan"].to_numpy(), mean["bound_gap"].to_numpy()
    known = np.isfinite(makespan)
    candidates = np.where(known & ~flawed, makespan, np.inf)
    best = int(np.argmin(candidates)) if len(mean) and np.isfinite(candidates).any() else -1
    least = np.nanmin(makespan) if known.any() else 1.0
    relative = np.where(known, makespan / least if least > 0 else 1.0, np.nan)
    cells: dict[str, list] = dict(
        partitioner=list(mean["partitioner"]), scheduler=list(mean["scheduler"]), relative=list(relative)
    )
    cells |= {label: [] for label in ("on_dark", "on_light", "on_page", "frame", "detail")}
    written = units_of(frame)
    for i, (t, g) in enumerate(zip(makespan, gap, strict=True)):
        marks = ("★ " if i == best else "", " ⚠" if flawed[i] else "")
        text = f"{marks[0]}{written.time(t)}{marks[1]}{_above(g)}" if known[i] else "–"
        where = "on_page" if stale or not known[i] else "on_dark" if relative[i] < 2.2 else "on_light"
        for column in ("on_dark", "on_light", "on_page"):
            cells[column].append(text if column == where else "")
        cells["frame"].append("#D55E00" if i == best else "#00000000")
        detail = f"{written.time(t)}, {100 * max(g, 0.0):,.1f} % above the best lower bound" + (
            ", not legal or out of memory" if flawed[i] else ""
        )
        cells["detail"].append(detail if known[i] else error[i])
    return cells


def _above(gap: float) -> str:
    """Gap to the bound, on a line of its own: ``+8 %``, or ``× 12`` from ten times on."""
    gap = max(gap, 0.0)  # a bound that is reached may differ by rounding
    return f"\n+{100 * gap:.0f} %" if gap < 8.995 else f"\n× {1 + gap:.0f}" if np.isfinite(gap) else ""


NEEDED = ("partitioner", "scheduler", "over", "value", "relative", "makespan", "oom", "error")


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
