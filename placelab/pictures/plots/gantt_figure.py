"""A static Gantt chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.explanation import idle_gaps
from placelab.base.errors import expect
from placelab.base.interrupts import need
from placelab.pictures.plots.style import CRITICAL, PALETTE, axis, dress, move_legend, quad, time_unit
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    from bokeh.plotting import figure

IDLE = ("#56B4E9", "#E69F00", "#D55E00", "#8C8C8C")  # transfer, upstream, memory, end
MANY = 3000  # glyphs from which WebGL draws them
OPS, MOVED = (-0.36, 0.2), (0.24, 0.34)  # top and bottom of bars in their lane


def gantt(schedule: Schedule, *, width: int = 1000, dark: bool | None = None) -> figure:
    """A static Gantt chart: one lane per device, the lowest number on top.

    Ops are coloured by kind (the seven that take most time; the rest grey), with their names and times on hover.
    Below them, thin: Sends and transfers, in the lane of the device they go to. The realised critical path is framed
    in red, idle time tinted by what ended it. Drag to pan, turn the wheel to zoom along time.
    """
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import Range1d
    from bokeh.plotting import figure

    expect(schedule, Schedule, "plots.gantt")
    devices, k = schedule.problem.cluster.names, schedule.problem.cluster.n_devices
    unit, size = time_unit(schedule.makespan, schedule.problem.cluster.units)
    plot = figure(
        width=width,
        height=min(1200, 110 + 36 * k),
        x_range=Range1d(start=0, end=max(schedule.makespan / size, 1e-12) * 1.01, bounds="auto"),
        y_range=Range1d(start=k - 0.4, end=-0.6),
        x_axis_label=axis("time", unit),
        title=f"{schedule.scheduler or 'schedule'}: makespan {schedule.problem.cluster.units.time(schedule.makespan)}",
        tools="xpan,xwheel_zoom,box_zoom,reset,save",
        active_drag="xpan",
        active_scroll="xwheel_zoom",
        output_backend="webgl" if schedule.problem.graph.n_ops > MANY else "canvas",
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
    need("bokeh.models")
    from bokeh.models import HoverTool

    label = plot.xaxis[0].axis_label
    assert isinstance(label, str)  # as `gantt` wrote it
    unit = label.removeprefix("time").strip(" []")
    times = [("time", f"@left{{0.[0000]}} – @right{{0.[0000]}} {unit}, @took{{0.[0000]}} {unit}")]
    plot.add_tools(HoverTool(renderers=[bars], tooltips=lines + times, visible=False))


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
