"""One schedule as a Gantt chart and by its memory; two by what differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from placelab.analysis.explanation import idle_gaps
from placelab.analysis.two_schedules import Difference
from placelab.analysis.two_schedules import difference as differing
from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
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
    quad,
    time_unit,
)
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.models import GridPlot
    from bokeh.plotting import figure

IDLE = ("#56B4E9", "#E69F00", "#D55E00", "#8C8C8C")  # transfer, upstream, memory, end
OPS, MOVED = (-0.36, 0.2), (0.24, 0.34)  # top and bottom of bars in their lane


def gantt(schedule: Schedule, *, width: int = 1000, dark: bool | None = None) -> figure:
    """A static Gantt chart: one lane per device, the lowest number on top.

    Ops are coloured by kind (the seven that take most time; the rest grey), with their names and times on hover.
    Below them, thin: Sends and transfers, in the lane of the device they go to. The realised critical path is framed
    in red, idle time tinted by what ended it. Drag to pan, turn the wheel to zoom along time.
    """
    need("bokeh.models")
    from bokeh.models import Range1d

    expect(schedule, Schedule, "plots.gantt")
    devices, k = schedule.problem.cluster.names, schedule.problem.cluster.n_devices
    unit, size = time_unit(schedule.makespan, schedule.problem.cluster.units)
    plot = new_plot(
        width=width,
        height=min(1200, 110 + 36 * k),
        x_range=Range1d(start=0, end=max(schedule.makespan / size, 1e-12) * 1.01, bounds="auto"),
        y_range=Range1d(start=k - 0.4, end=-0.6),
        x_axis_label=axis("time", unit),
        title=f"{schedule.scheduler or 'schedule'}: makespan {schedule.problem.cluster.units.time(schedule.makespan)}",
        tools="xpan,xwheel_zoom,box_zoom,reset,save",
        active_drag="xpan",
        active_scroll="xwheel_zoom",
        glyphs=schedule.problem.graph.n_ops,
    )
    plot.yaxis.ticker = list(range(k))
    plot.yaxis.major_label_overrides = dict(enumerate(devices))
    plot.ygrid.visible = False
    _draw_idle(plot, schedule, size)
    _draw_ops(plot, schedule, size)
    _draw_transfers(plot, schedule, size)
    _draw_critical(plot, schedule, size)
    dress(plot, dark)
    return plot


def _draw_ops(plot: figure, schedule: Schedule, size: float) -> None:
    graph = schedule.problem.graph
    colour, legend = _kinds(graph.kind, schedule.finish - schedule.start)
    columns = _bars(schedule.start, schedule.finish, schedule.device, size, OPS)
    columns |= dict(name=graph.names, kind=np.where(graph.kind == "", "unknown", graph.kind))
    columns["device"] = np.array(schedule.problem.cluster.names, dtype=object)[schedule.device]
    for i, label in enumerate(legend):
        mine = np.flatnonzero(colour == i)
        part = {key: value[mine] for key, value in columns.items()}
        bars = quad(plot, part, fill_color=PALETTE[i], line_color="white", line_width=0.3, legend_label=label)
        _hover(plot, bars, [("op", "@name"), ("kind", "@kind"), ("device", "@device")])
    move_legend(plot, least=2, mute=True)


def _draw_transfers(plot: figure, schedule: Schedule, size: float) -> None:
    names, devices = schedule.problem.graph.names, np.array(schedule.problem.cluster.names, dtype=object)
    made = schedule.problem.graph.tensor_producer
    for rows, lane, label in ((schedule.transfers, "destination", "transfer"), (schedule.sends, "source", "Send op")):
        if not len(rows):
            continue
        place = MOVED if label == "transfer" else OPS
        columns = _bars(rows["start"], rows["finish"], rows[lane], size, place)
        columns |= dict(
            name=names[made[rows["tensor"]]], source=devices[rows["source"]], destination=devices[rows["destination"]]
        )
        columns["bytes"] = schedule.problem.graph.tensor_bytes[rows["tensor"]]
        bars = quad(plot, columns, fill_color="#606060", line_color=None, fill_alpha=0.7)
        size_of = "@bytes{0.[00] a}B" if schedule.problem.cluster.units.si else "@bytes{0.[00]}"
        _hover(plot, bars, [(label, f"@name, {size_of}"), ("link", "@source → @destination")])


def _draw_critical(plot: figure, schedule: Schedule, size: float) -> None:
    steps = critical_steps(schedule)
    ops, moved = steps[steps["kind"] == 0], steps[steps["kind"] == 1]
    lanes = [(ops, schedule.device[ops["row"]], OPS)]
    if len(moved):
        lanes.append((moved, schedule.transfers["destination"][moved["row"]], MOVED))
    for part, lane, place in lanes:
        columns = _bars(part["start"], part["finish"], lane, size, place)
        quad(plot, columns, fill_color=None, line_color=CRITICAL, line_width=1.5)


def _draw_idle(plot: figure, schedule: Schedule, size: float) -> None:
    gaps = idle_gaps(schedule)
    columns = _bars(gaps["start"], gaps["finish"], gaps["device"], size, OPS)
    columns["colour"] = np.array(IDLE, dtype=object)[gaps["reason"]]
    quad(plot, columns, fill_color="colour", line_color=None, fill_alpha=0.18)


def _bars(
    start: np.ndarray, finish: np.ndarray, lane: np.ndarray, size: float, place: tuple[float, float]
) -> dict[str, Any]:
    """Corners of bars, at one place in each one's lane."""
    left, right = start / size, finish / size
    return dict(left=left, right=right, took=right - left, top=lane + place[0], bottom=lane + place[1])


def _hover(plot: figure, bars: Any, lines: list[tuple[str, str]]) -> None:
    label = plot.xaxis[0].axis_label
    assert isinstance(label, str)  # as `gantt` wrote it
    unit = label.removeprefix("time").strip(" []")
    times = [("time", f"@left{{0.[0000]}} – @right{{0.[0000]}} {unit}, @took{{0.[0000]}} {unit}")]
    hover(plot, [bars], lines + times, listed=False)


def _kinds(kind: np.ndarray, took: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Colour index of each op, and the kinds that the indices stand for: those that take most time, then the rest."""
    names, index = np.unique(kind.astype(str), return_inverse=True)
    total = np.bincount(index, weights=took)
    order = [i for i in np.lexsort((names, -total)) if names[i]]
    own = order if len(order) <= len(PALETTE) and len(order) == len(names) else order[: len(PALETTE) - 1]
    colour = np.full(len(names), len(own))
    colour[own] = np.arange(len(own))
    legend = [str(names[i]) for i in own] + (["other"] if len(own) < len(names) else [])
    return colour[index], legend if len(names) > 1 or names[0] else ["op"]


HEIGHT = 130  # of a panel in pixels, without the axis under the lowest
PANELS = 16  # greatest number of devices drawn
FAR = 3  # times the largest peak; a capacity above that is written, not drawn, so that the curves stay readable


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


def memory(schedule: Schedule, *, width: int = 1000, dark: bool | None = None) -> GridPlot:
    """Memory in use on each device over time, against its capacity; spans out of memory are red.

    One panel per device, all with the same axes; of more than 16 devices those that come closest to their capacity, or
    use most where nothing is limited. A capacity of more than three times the largest peak is written in the title, not drawn.
    """
    need("bokeh.layouts")
    from bokeh.layouts import gridplot

    expect(schedule, Schedule, "plots.memory")
    capacity, peak = _capacity(schedule), schedule.peak_memory
    written = schedule.problem.cluster.units
    drawn = capacity <= FAR * peak.max()
    top, end = max(peak.max(), capacity[drawn].max(initial=0.0)), schedule.makespan
    axes = Axes(time_unit(end, written), byte_unit(top, written), end, top)
    devices = _fullest(peak, capacity)
    panels = [_panel(schedule, d, axes, width, dark) for d in devices]
    for panel, d in zip(panels, devices, strict=True):
        capacity_text = f", capacity {written.amount(capacity[d], 'B')}" if np.isfinite(capacity[d]) else ""
        panel.title = f"{schedule.problem.cluster.names[d]}: peak {written.amount(peak[d], 'B')}{capacity_text}"
        panel.x_range, panel.y_range = panels[0].x_range, panels[0].y_range
        if drawn[d]:
            _draw_capacity(panel, capacity[d] / axes.bytes[1])
        dress(panel, dark)
    panels[-1].xaxis.visible, panels[-1].height = True, HEIGHT + 40
    return gridplot([*panels], ncols=1, toolbar_options=dict(logo=None))


def _panel(schedule: Schedule, d: int, axes: Axes, width: int, dark: bool | None) -> figure:
    """The curve of one device, with its spans out of memory."""
    need("bokeh.models")
    from bokeh.models import ColumnDataSource, Range1d

    (time_name, time_size), (byte_name, byte_size) = axes.time, axes.bytes
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
    time, used = np.append(time, max(axes.end, time[-1])) / time_size, np.append(used, used[-1]) / byte_size
    curve = ColumnDataSource(dict(time=time, used=used, nothing=np.zeros(len(time))))
    colour = PALETTE[4] if dark else PALETTE[0]
    plot.varea_step("time", "nothing", "used", source=curve, step_mode="after", fill_color=colour, fill_alpha=0.3)
    plot.step("time", "used", source=curve, mode="after", line_color=colour, name="curve")
    _draw_short(plot, schedule.oom[schedule.oom["device"] == d], axes)
    return plot


def _draw_short(plot: figure, short: np.ndarray, axes: Axes) -> None:
    left, right, missing = short["start"] / axes.time[1], short["finish"] / axes.time[1], short["bytes"] / axes.bytes[1]
    columns = dict(left=left, right=right, missing=missing, bottom=np.zeros(len(short)))
    columns["top"] = np.full(len(short), axes.ceiling)
    spans = quad(plot, columns, fill_color=CRITICAL, fill_alpha=0.3, line_color=CRITICAL, name="short")
    lines = [
        ("out of memory", f"@missing{{0.[000]}} {axes.bytes[0]} short"),
        ("time", f"@left{{0.[0000]}} – @right{{0.[0000]}} {axes.time[0]}"),
    ]
    hover(plot, [spans], lines, listed=False)


def _draw_capacity(plot: figure, capacity: float) -> None:
    need("bokeh.models.annotations")
    from bokeh.models.annotations import Span

    style: dict[str, Any] = dict(line_color=CRITICAL, line_dash="dashed", name="capacity")
    plot.add_layout(Span(location=capacity, dimension="width", **style))


def _capacity(schedule: Schedule) -> np.ndarray:
    """Capacity of each device in bytes, inf where memory is not counted."""
    size = schedule.problem.cluster.memory
    return np.full(len(size), np.inf) if schedule.problem.memory == "none" else size


def _fullest(peak: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """The devices to draw, by number."""
    return np.sort(np.lexsort((-peak, -peak / capacity))[:PANELS])


SAVED, LOST = PALETTE[0], PALETTE[5]


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
    panels = [_saved_and_lost(d, table, by, rows, width), _shifts(d, width)]
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
    plot.yaxis.major_label_overrides = dict(enumerate(name or f"(no {by})" for name in names))
    plot.ygrid.visible = False
    lane, nothing = np.arange(len(names)), np.zeros(len(names))
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
    first, rest = table.head(rows), table.iloc[rows:]
    names = [str(name) for name in first[by]] + ([f"{len(rest)} others"] if len(rest) else [])
    saved, lost, moved = (
        np.append(first[label].to_numpy(), [rest[label].sum()] if len(rest) else [])
        for label in ("saved", "lost", "moved")
    )
    return names, saved, lost, moved.astype(int)


def _shifts(d: Difference, width: int) -> figure:
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
    for moved, label, colour in ((False, "same device", PALETTE[7]), (True, "another device", SAVED)):
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
