"""Figures of schedules: chart, memory, difference, and how makespans follow a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from placelab.analysis.two_schedules import Difference
from placelab.analysis.two_schedules import difference as differing
from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.units import Units
from placelab.pictures.schedule_chart import gantt as chart
from placelab.pictures.style import (
    ALARM,
    INK,
    PALETTE,
    axis,
    byte_unit,
    dress,
    hover,
    middle_cut,
    move_legend,
    new_plot,
    quad,
    time_unit,
    units_of,
)
from placelab.schedule.catalogue import checked
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.models import GridPlot
    from bokeh.plotting import figure

HEIGHT = 130  # of a panel in pixels, without the axis under the lowest
PANELS = 16  # greatest number of devices drawn
FAR = 3  # times the largest peak; a capacity above that is written, not drawn, so that the curves stay readable
LABEL = 40  # columns of text of a label beside bars, which leave the bars their room
SAVED = PALETTE[0]
LOST = PALETTE[5]
NEEDED = ("partitioner", "scheduler", "over", "value", "relative", "makespan", "oom", "error")


class Image(str):
    """The text of an SVG file, which a notebook shows as its image."""

    def _repr_svg_(self) -> str:
        return self


def gantt(schedule: Schedule) -> Image:
    """A static Gantt chart in SVG, for papers and slides: the text of a file of at most 100 KB.

    A lane per device, the lowest number on top, with the share of the time in which it is busy. A bar is an op in the colour of
    its kind, with its name where there is room. Ops that are too narrow to be seen are drawn together: a column of pixels has the
    colour of the kind that takes most of its time, and is pale where they take less than half of it. The legend says how many
    ops these are. Ops on the realised critical path have a red line below.

    Examples
    --------
    Write it to a file with ``Path("gantt.svg").write_text(pl.plots.gantt(schedule), encoding="utf-8")``.

    >>> import placelab as pl
    >>> pl.plots.gantt(pl.solve(pl.datasets.problem("topcuoglu"), "heft"))[:4]
    '<svg'
    """
    expect(schedule, Schedule, "plots.gantt")
    drawn = chart(schedule, critical_steps(schedule), with_legend=True)
    paper = 'style="background:#fff;color:#111;font-family:sans-serif;'  # readable in a dark notebook, too
    return Image(drawn.svg.replace('style="', paper, 1))


@dataclass(frozen=True)
class Axes:
    """Units of both axes, and where they end."""

    time: tuple[str, float]
    bytes: tuple[str, float]
    end: float
    top: float

    @property
    def ceiling(self) -> float:
        """Upper end of the axis of memory, in its unit."""
        return max(self.top / self.bytes[1], 1e-12) * 1.08


@checked
def memory(schedule: Schedule, *, width: int = 1000, dark: bool | None = None) -> GridPlot:
    """Memory in use on each device over time, against its capacity; spans out of memory are red.

    One panel per device, all with the same axes; of more than 16 devices those that come closest to their capacity, or
    use most where nothing is limited. A capacity of more than three times the largest peak is written in the title, not drawn.
    """
    need("bokeh.layouts")
    from bokeh.layouts import gridplot

    expect(schedule, Schedule, "plots.memory")
    capacity = _capacity(schedule)
    peak = schedule.peak_memory
    written = schedule.problem.cluster.units
    drawn = capacity <= FAR * peak.max()
    top = max(peak.max(), capacity[drawn].max(initial=0.0))
    end = schedule.makespan
    axes = Axes(time_unit(end, written), byte_unit(top, written), end, top)
    devices = _fullest(peak, capacity)
    panels = [_panel(schedule, d, axes, width, dark) for d in devices]
    for panel, d in zip(panels, devices, strict=True):
        capacity_text = f", capacity {written.amount(capacity[d], 'B')}" if np.isfinite(capacity[d]) else ""
        panel.title = f"{schedule.problem.cluster.names[d]}: peak {written.amount(peak[d], 'B')}{capacity_text}"
        panel.x_range = panels[0].x_range
        panel.y_range = panels[0].y_range
        if drawn[d]:
            _draw_capacity(panel, capacity[d] / axes.bytes[1])
        dress(panel, dark)
    panels[-1].xaxis.visible = True
    panels[-1].height = HEIGHT + 40
    return gridplot([*panels], ncols=1, toolbar_options=dict(logo=None))


def _panel(schedule: Schedule, d: int, axes: Axes, width: int, dark: bool | None) -> figure:
    """The curve of one device, with its spans out of memory."""
    need("bokeh.models")
    from bokeh.models import ColumnDataSource, Range1d

    time_name, time_size = axes.time
    byte_name, byte_size = axes.bytes
    plot = new_plot(
        width=width,
        height=HEIGHT,
        x_range=Range1d(start=0, end=max(axes.end / time_size, 1e-12) * 1.01),
        y_range=Range1d(start=0, end=axes.ceiling),
        x_axis_label=axis("time", time_name),
        y_axis_label=axis("memory", byte_name),
        tools="xpan,xwheel_zoom,reset,save",
    )
    plot.xaxis.visible = False
    time, used = schedule.memory(d)
    time = np.append(time, max(axes.end, time[-1])) / time_size
    used = np.append(used, used[-1]) / byte_size
    curve = ColumnDataSource(dict(time=time, used=used, nothing=np.zeros(len(time))))
    colour = PALETTE[4] if dark else PALETTE[0]
    plot.varea_step("time", "nothing", "used", source=curve, step_mode="after", fill_color=colour, fill_alpha=0.3)
    plot.step("time", "used", source=curve, mode="after", line_color=colour, name="curve")
    _draw_short(plot, schedule.oom[schedule.oom["device"] == d], axes)
    return plot


def _draw_short(plot: figure, short: np.ndarray, axes: Axes) -> None:
    left = short["start"] / axes.time[1]
    right = short["finish"] / axes.time[1]
    missing = short["bytes"] / axes.bytes[1]
    columns = dict(left=left, right=right, missing=missing, bottom=np.zeros(len(short)))
    columns["top"] = np.full(len(short), axes.ceiling)
    spans = quad(plot, columns, fill_color=ALARM, fill_alpha=0.3, line_color=ALARM, name="short")
    lines = [
        ("out of memory", f"@missing{{0.[000]}} {axes.bytes[0]} short"),
        ("time", f"@left{{0.[0000]}} – @right{{0.[0000]}} {axes.time[0]}"),
    ]
    hover(plot, [spans], lines, listed=False)


def _draw_capacity(plot: figure, capacity: float) -> None:
    need("bokeh.models.annotations")
    from bokeh.models.annotations import Span

    style: dict[str, Any] = dict(line_color=ALARM, line_dash="dashed", name="capacity")
    plot.add_layout(Span(location=capacity, dimension="width", **style))


def _capacity(schedule: Schedule) -> np.ndarray:
    """Capacity of each device in bytes, inf where memory is not counted."""
    size = schedule.problem.cluster.memory
    return np.full(len(size), np.inf) if schedule.problem.memory == "none" else size


def _fullest(peak: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """The devices to draw, by number."""
    return np.sort(np.lexsort((-peak, -peak / capacity))[:PANELS])


def difference(
    a: Difference | Schedule,
    b: Schedule | None = None,
    *,
    by: Literal["kind", "scope"] = "kind",
    depth: int = 1,
    rows: int = 12,
    dark: bool | None = None,
    width: int = 800,
) -> GridPlot:
    """Where schedule `b` saves and loses time against `a`: by kind or scope, and op by op.

    Above, a bar to the right is time that ops of a kind (or scope) save of the makespan, one to the left what they lose
    (:meth:`placelab.Difference.by_scope`). Below, a point per op: when it finishes in `a`, and how much earlier in `b`;
    ops on another device are blue.

    Parameters
    ----------
    a, b
        Two schedules of one graph, or the result of :func:`placelab.difference` alone.
    by, depth
        Kinds, or scopes of so many components.
    rows
        Number of kinds or scopes, those that change most; the others are one bar.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.
    """
    need("bokeh.layouts")
    from bokeh.layouts import gridplot

    expect(a, (Difference, Schedule), "plots.difference")
    if by not in ("kind", "scope"):
        raise FormatError(f"by is {by!r:.60}; expected 'kind' or 'scope'")
    if isinstance(a, Schedule):
        expect(b, Schedule, "plots.difference of one schedule")
    d = a if isinstance(a, Difference) else differing(a, b)  # type: ignore[arg-type]
    table = d.by_kind() if by == "kind" else d.by_scope(depth)
    panels = [_saved_and_lost(d, table, by, rows, width), _shifts(d, width, dark)]
    for panel in panels:
        dress(panel, dark)
    return gridplot([*panels], ncols=1, toolbar_options=dict(logo=None))


def _saved_and_lost(d: Difference, table: pd.DataFrame, by: str, rows: int, width: int) -> figure:
    """A bar of what each kind or scope saves, and one of what it loses."""
    need("bokeh.models.annotations")
    from bokeh.models import Range1d
    from bokeh.models.annotations import Span

    names, saved, lost, moved = _rows(table, by, rows)
    reach = max(saved.max(initial=0.0), lost.max(initial=0.0))
    written = d.a.problem.cluster.units
    unit, size = time_unit(reach, written)
    plot = new_plot(
        width=width,
        height=80 + 20 * len(names),
        x_axis_label=f"lost  ←  {axis('makespan', unit)}  →  saved",
        x_range=Range1d(start=-1.05 * reach / size or -1.0, end=1.05 * reach / size or 1.0),
        y_range=Range1d(start=len(names) - 0.4, end=-0.6),
        title=f"{written.time(d.a.makespan)} → {written.time(d.b.makespan)}, by {by}",
        tools="save",
    )
    plot.yaxis.ticker = list(range(len(names)))
    plot.yaxis.major_label_overrides = dict(enumerate(middle_cut(name, LABEL) or f"(no {by})" for name in names))
    plot.ygrid.visible = False
    lane = np.arange(len(names))
    nothing = np.zeros(len(names))
    words: dict[str, Any] = dict(name=names, moved=moved, top=lane - 0.38, bottom=lane + 0.38)
    words |= dict(saved=[written.time(x) for x in saved], lost=[written.time(x) for x in lost])
    bars = [
        quad(plot, words | dict(left=nothing, right=saved / size), fill_color=SAVED, line_color=None, name="saved"),
        quad(plot, words | dict(left=-lost / size, right=nothing), fill_color=LOST, line_color=None, name="lost"),
    ]
    lines = [(by, "@name"), ("saved", "@saved"), ("lost", "@lost"), ("ops on another device", "@moved")]
    hover(plot, bars, lines, listed=False)
    plot.add_layout(Span(location=0, dimension="height", line_color=INK[None]))
    return plot


def _rows(table: pd.DataFrame, by: str, rows: int) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Name, saved and lost seconds, and moved ops of what changes most; what is left as one row."""
    first = table.head(rows)
    rest = table.iloc[rows:]
    names = [str(name) for name in first[by]] + ([f"{len(rest)} others"] if len(rest) else [])
    saved, lost, moved = (
        np.append(first[label].to_numpy(), [rest[label].sum()] if len(rest) else [])
        for label in ("saved", "lost", "moved")
    )
    return names, saved, lost, moved.astype(int)


def _shifts(d: Difference, width: int, dark: bool | None) -> figure:
    """How much earlier each op finishes."""
    need("bokeh.models.annotations")
    from bokeh.models import ColumnDataSource
    from bokeh.models.annotations import Span

    ops = d.ops[d.ops["finish_a"].notna() & d.ops["finish_b"].notna()]
    earlier = (ops["finish_a"] - ops["finish_b"]).to_numpy()
    written = d.a.problem.cluster.units
    (unit, size), (unit_y, size_y) = (
        time_unit(t, written) for t in (d.a.makespan, float(np.abs(earlier).max(initial=0.0)))
    )
    plot = new_plot(
        width=width,
        height=260,
        x_axis_label=axis("finish before", unit),
        y_axis_label=axis("earlier by", unit_y),
        glyphs=len(ops),
    )
    drawn: list[Any] = []
    for moved, label, colour in (
        (False, "same device", PALETTE[7]),
        (True, "another device", PALETTE[4] if dark else SAVED),
    ):
        mine = ops["moved"].to_numpy() == moved
        part = ops[mine]
        columns = dict(
            finish=part["finish_a"].to_numpy() / size,
            earlier=earlier[mine] / size_y,
            name=part["name"].to_numpy(),
            where=[a if a == b else f"{a} → {b}" for a, b in zip(part["device_a"], part["device_b"], strict=True)],
        )
        if mine.any():
            source = ColumnDataSource(columns)
            points = plot.scatter(
                "finish", "earlier", source=source, size=4, color=colour, alpha=0.6, legend_label=label, name=label
            )
            drawn.append(points)
    lines = [("op", "@name"), ("device", "@where"), ("earlier by", f"@earlier{{0.[0000]}} {unit_y}")]
    hover(plot, drawn, lines, listed=False)
    plot.add_layout(Span(location=0, dimension="width", line_color=INK[None]))
    plot.legend.location = "bottom_right"
    return plot


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
        drawn.append(_points(plot, crosses, "x", size=8, line_color=ALARM, name="failed"))
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
        _points(plot, short, "circle", size=9, fill_color=None, line_color=ALARM, name="short")
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
