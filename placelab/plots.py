"""What does it look like? Bokeh figures of results, for notebooks, papers and the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.explain import critical_steps, idle_gaps
from placelab.schedule import Schedule
from placelab.units import seconds

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

# Okabe–Ito: distinguishable with every common colour vision; the last one is for rare kinds and none.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C")
IDLE = ("#56B4E9", "#E69F00", "#D55E00", "#8C8C8C")  # transfer, upstream, memory, end
CRITICAL = "#c4161c"
INK = {False: "#111111", True: "#f2f2f2", None: "#767676"}  # text on a light, a dark, an unknown page (4 : 1 on both)
MANY = 3000  # glyphs from which WebGL draws them


def gantt(schedule: Schedule, *, width: int = 1000, dark: bool | None = None) -> figure:
    """A static Gantt chart: one lane per device, the lowest number on top.

    Ops are coloured by kind (the seven that take most time; the rest grey), with their names and times on hover.
    Below them, thin: Sends and transfers, in the lane of the device they go to. The realised critical path is framed
    in red, idle time tinted by what ended it. Drag to pan, wheel to zoom along time.
    """
    from bokeh.models import Range1d
    from bokeh.plotting import figure

    devices, k = schedule.problem.cluster.names, schedule.problem.cluster.n_devices
    unit, size = _unit(schedule.makespan)
    plot = figure(
        width=width,
        height=min(1200, 110 + 36 * k),
        x_range=Range1d(0, max(schedule.makespan / size, 1e-12) * 1.01, bounds="auto"),
        y_range=Range1d(k - 0.4, -0.6),
        x_axis_label=f"time [{unit}]",
        title=f"{schedule.scheduler or 'schedule'}: makespan {seconds(schedule.makespan)}",
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
    _dress(plot, dark)
    return plot


def _draw_ops(plot: figure, schedule: Schedule, size: float) -> None:
    graph = schedule.problem.graph
    colour, legend = _kinds(graph.kind, schedule.finish - schedule.start)
    columns = _bars(schedule.start, schedule.finish, schedule.device, size, -0.36, 0.2)
    columns |= dict(name=graph.names, kind=np.where(graph.kind == "", "unknown", graph.kind))
    columns["device"] = np.array(schedule.problem.cluster.names, dtype=object)[schedule.device]
    for i, label in enumerate(legend):
        mine = np.flatnonzero(colour == i)
        part = {key: value[mine] for key, value in columns.items()}
        bars = _quad(plot, part, fill_color=PALETTE[i], line_color="white", line_width=0.3, legend_label=label)
        _hover(plot, bars, [("op", "@name"), ("kind", "@kind"), ("device", "@device")])
    _legend(plot)


def _draw_transfers(plot: figure, schedule: Schedule, size: float) -> None:
    names, devices = schedule.problem.graph.names, np.array(schedule.problem.cluster.names, dtype=object)
    made = schedule.problem.graph.tensor_producer
    for rows, lane, label in ((schedule.transfers, "destination", "transfer"), (schedule.sends, "source", "Send op")):
        if not len(rows):
            continue
        place = (0.24, 0.34) if label == "transfer" else (-0.36, 0.2)
        columns = _bars(rows["start"], rows["finish"], rows[lane], size, *place)
        columns |= dict(
            name=names[made[rows["tensor"]]], source=devices[rows["source"]], destination=devices[rows["destination"]]
        )
        columns["bytes"] = schedule.problem.graph.tensor_bytes[rows["tensor"]]
        bars = _quad(plot, columns, fill_color="#606060", line_color=None, fill_alpha=0.7)
        _hover(plot, bars, [(label, "@name, @bytes{0.[00] a}B"), ("link", "@source → @destination")])


def _draw_critical(plot: figure, schedule: Schedule, size: float) -> None:
    steps = critical_steps(schedule)
    ops, moved = steps[steps["kind"] == 0], steps[steps["kind"] == 1]
    lanes = ((ops, schedule.device[ops["row"]], -0.36, 0.2),)
    if len(moved):
        lanes += ((moved, schedule.transfers["destination"][moved["row"]], 0.24, 0.34),)
    for part, lane, top, bottom in lanes:
        columns = _bars(part["start"], part["finish"], lane, size, top, bottom)
        _quad(plot, columns, fill_color=None, line_color=CRITICAL, line_width=1.5)


def _draw_idle(plot: figure, schedule: Schedule, size: float) -> None:
    gaps = idle_gaps(schedule)
    columns = _bars(gaps["start"], gaps["finish"], gaps["device"], size, -0.36, 0.2)
    columns["colour"] = np.array(IDLE, dtype=object)[gaps["reason"]]
    _quad(plot, columns, fill_color="colour", line_color=None, fill_alpha=0.18)


def _bars(
    start: np.ndarray, finish: np.ndarray, lane: np.ndarray, size: float, top: float, bottom: float
) -> dict[str, Any]:
    """Corners of bars, from `top` to `bottom` of each one's lane."""
    left, right = start / size, finish / size
    return dict(left=left, right=right, took=right - left, top=lane + top, bottom=lane + bottom)


def _quad(plot: figure, columns: dict[str, Any], **style: Any) -> Any:
    from bokeh.models import ColumnDataSource

    return plot.quad("left", "right", "top", "bottom", source=ColumnDataSource(columns), **style)


def _hover(plot: figure, bars: Any, lines: list[tuple[str, str]]) -> None:
    from bokeh.models import HoverTool

    unit = plot.xaxis[0].axis_label.removeprefix("time ").strip("[]")
    times = [("time", f"@left{{0.[0000]}} – @right{{0.[0000]}} {unit}, @took{{0.[0000]}} {unit}")]
    plot.add_tools(HoverTool(renderers=[bars], tooltips=lines + times, visible=False))


def _legend(plot: figure) -> None:
    if len(plot.legend) and len(plot.legend[0].items) > 1:
        plot.add_layout(plot.legend[0], "right")
        plot.legend[0].click_policy = "mute"
    else:
        plot.legend.visible = False


def _kinds(kind: np.ndarray, took: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Colour index of each op, and what the indices stand for: the kinds that take most time, then the rest."""
    names, index = np.unique(kind.astype(str), return_inverse=True)
    total = np.bincount(index, weights=took)
    order = [i for i in np.lexsort((names, -total)) if names[i]]
    own = order if len(order) <= len(PALETTE) and len(order) == len(names) else order[: len(PALETTE) - 1]
    colour = np.full(len(names), len(own))
    colour[own] = np.arange(len(own))
    legend = [str(names[i]) for i in own] + (["other"] if len(own) < len(names) else [])
    return colour[index], legend if len(names) > 1 or names[0] else ["op"]


def comparison(frame: pd.DataFrame, *, stale: bool = False, dark: bool | None = None, width: int = 560) -> figure:
    """A heat map of :func:`placelab.compare`: partitioners down, schedulers across, mean makespan over seeds.

    Each cell says its makespan and how far it is above the best lower bound; the best one has a frame and a star. An
    empty cell has its reason on hover. Colour is logarithmic in makespan over the best one, from blue (best) to
    yellow (5 times or more).

    Parameters
    ----------
    frame
        What ``compare`` returned, complete or not yet.
    stale
        Pale: the problem has changed since.
    dark
        For a dark page, a light one, or (None) one of which nothing is known.

    Notes
    -----
    A tap selects a cell in the data source of the renderer called ``"cells"``: listen with
    ``figure.select_one({"name": "cells"}).data_source.selected.on_change("indices", …)`` and read its columns
    ``partitioner`` and ``scheduler``.
    """
    from bokeh.models import ColumnDataSource, FactorRange
    from bokeh.plotting import figure
    from bokeh.transform import log_cmap

    cells = _cells(frame, stale)
    source = ColumnDataSource(cells)
    rows, columns = list(dict.fromkeys(cells["partitioner"])), list(dict.fromkeys(cells["scheduler"]))
    plot = figure(
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
    rect = dict(x="scheduler", y="partitioner", width=0.96, height=0.92, source=source)
    plot.rect(
        **rect,
        name="cells",
        fill_color=colour,
        fill_alpha=fade,
        line_color="frame",
        line_width=3,
        line_alpha=fade,
        nonselection_fill_alpha=fade,
        nonselection_line_alpha=fade,
        selection_line_color=INK[dark],
    )
    words = dict(
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
    _dress(plot, dark)
    return plot


def _cells(frame: pd.DataFrame, stale: bool) -> dict[str, list]:
    """One entry per pair: means over seeds, text, colour, frame, and what a hover says."""
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
    for i, (t, g) in enumerate(zip(makespan, gap, strict=True)):
        marks = ("★ " if i == best else "", " ⚠" if flawed[i] else "")
        text = f"{marks[0]}{seconds(t)}{marks[1]}{_above(g)}" if known[i] else "–"
        where = "on_page" if stale or not known[i] else "on_dark" if relative[i] < 2.2 else "on_light"
        for column in ("on_dark", "on_light", "on_page"):
            cells[column].append(text if column == where else "")
        cells["frame"].append("#D55E00" if i == best else "#00000000")
        told = f"{seconds(t)}, {g:.1%} above the best lower bound" + (
            ", not legal or out of memory" if flawed[i] else ""
        )
        cells["detail"].append(told if known[i] else error[i])
    return cells


def _above(gap: float) -> str:
    """Gap to the bound, on a line of its own: ``+8 %``, from ten times on ``× 12``."""
    gap = max(gap, 0.0)  # a bound that is reached may differ by rounding
    return f"\n+{100 * gap:.0f} %" if gap < 8.995 else f"\n× {1 + gap:.0f}" if np.isfinite(gap) else ""


def _unit(value: float) -> tuple[str, float]:
    """The unit in which a time has one to three digits before the point, and its size [s]."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return unit, size
    return "ns", 1e-9


def _dress(plot: figure, dark: bool | None) -> None:
    """Colours for the page; the background stays the page's."""
    ink = INK[dark]
    plot.background_fill_color = plot.border_fill_color = None
    plot.outline_line_color = None
    plot.title.text_color = ink
    plot.axis.axis_label_text_color = plot.axis.major_label_text_color = ink
    plot.axis.major_tick_line_color = plot.axis.minor_tick_line_color = ink if plot.axis[0].axis_line_color else None
    plot.grid.grid_line_alpha = 0.3
    for legend in plot.legend:
        legend.label_text_color, legend.background_fill_color, legend.border_line_color = ink, None, None
