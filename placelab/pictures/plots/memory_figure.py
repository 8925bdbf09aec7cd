"""Memory in use over time, against capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import expect
from placelab.base.interrupts import need
from placelab.pictures.plots.style import CRITICAL, PALETTE, axis, byte_unit, dress, quad, time_unit
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    from bokeh.models import GridPlot
    from bokeh.plotting import figure

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
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import ColumnDataSource, Range1d
    from bokeh.plotting import figure

    (time_name, time_size), (byte_name, byte_size) = axes.time, axes.bytes
    plot = figure(
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
    need("bokeh.models")
    from bokeh.models import HoverTool

    left, right, missing = short["start"] / axes.time[1], short["finish"] / axes.time[1], short["bytes"] / axes.bytes[1]
    columns = dict(left=left, right=right, missing=missing, bottom=np.zeros(len(short)))
    columns["top"] = np.full(len(short), axes.ceiling)
    spans = quad(plot, columns, fill_color=CRITICAL, fill_alpha=0.3, line_color=CRITICAL, name="short")
    lines = [
        ("out of memory", f"@missing{{0.[000]}} {axes.bytes[0]} short"),
        ("time", f"@left{{0.[0000]}} – @right{{0.[0000]}} {axes.time[0]}"),
    ]
    plot.add_tools(HoverTool(renderers=[spans], tooltips=lines, visible=False))


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
