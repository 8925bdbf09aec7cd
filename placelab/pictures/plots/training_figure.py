"""A training run over time: progress, and where time goes that is no progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.faults.training_runs import KINDS, TrainingRuns
from placelab.base.errors import expect
from placelab.base.interrupts import need
from placelab.base.units import percent
from placelab.pictures.plots.style import CRITICAL, INK, dress, long_time_unit, move_legend, quad

if TYPE_CHECKING:
    from bokeh.plotting import figure

USEFUL, SAVING, LOST, DETECTING, RESTORING = range(len(KINDS))
COLOURS = {"useful": "#009E73", "saving": "#0072B2", "lost": "#D55E00", "detecting": "#CC79A7", "restoring": "#E69F00"}
MANY = 3000  # glyphs from which WebGL draws them


def training(runs: TrainingRuns, *, width: int = 1000, height: int = 300, dark: bool | None = None) -> figure:
    """Completed steps over time in the first run of a simulation, with what it did as the background.

    The line rises with each step and falls where a failure, a red triangle, loses the steps since the last checkpoint. The
    legend has the share of each kind in the time of this run. Drag to pan, turn the wheel to zoom along time.

    Parameters
    ----------
    runs
        Result of :func:`placelab.faults.simulate_training`.
    width, height
        Pixels.
    dark
        Whether the page is dark; None where that is unknown.
    """
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import Range1d
    from bokeh.plotting import figure

    expect(runs, TrainingRuns, "plots.training")
    end, top = float(runs.total[0]), runs.iterations
    unit, size = long_time_unit(end)
    plot = figure(
        width=width,
        height=height,
        x_range=Range1d(start=0, end=end / size * 1.01, bounds="auto"),
        y_range=Range1d(start=0, end=top * 1.08),
        x_axis_label=f"time [{unit}]",
        y_axis_label="steps done",
        title=_title(runs, unit, size),
        tools="xpan,xwheel_zoom,box_zoom,reset,save",
        active_drag="xpan",
        active_scroll="xwheel_zoom",
        output_backend="webgl" if len(runs.intervals) > MANY else "canvas",
    )
    for kind, name in enumerate(KINDS):
        _draw_kind(plot, runs, kind, name, (unit, size))
    time, steps = progress(runs)
    plot.line(time / size, steps, line_color=INK[dark], line_width=1.5, name="progress")
    _draw_failures(plot, runs, (unit, size))
    move_legend(plot)
    dress(plot, dark)
    return plot


def progress(runs: TrainingRuns) -> tuple[np.ndarray, np.ndarray]:
    """The line of completed steps of the first run: (times [s], steps), two points per interval, and one where steps are lost."""
    rows = runs.intervals
    before = np.concatenate([[SAVING], rows["kind"][:-1]])
    working = (rows["kind"] == USEFUL) | ((rows["kind"] == LOST) & (before != DETECTING))
    done = np.minimum((rows["finish"] - rows["start"]) / runs.step, runs.iterations - rows["iteration"])
    reached = rows["iteration"] + np.where(working, np.minimum(done, runs.every), 0.0)
    after = np.where(rows["kind"] == LOST, rows["iteration"], reached)
    times = np.stack([rows["start"], rows["finish"], rows["finish"]], axis=1)
    steps = np.stack([rows["iteration"], reached, after], axis=1)
    return times.reshape(-1), steps.reshape(-1)


def _title(runs: TrainingRuns, unit: str, size: float) -> str:
    total = f"{runs.iterations:,} steps in {runs.total[0] / size:.4g} {unit}"
    if runs.n_runs == 1:
        return total
    return f"{total}, the first of {runs.n_runs:,} runs; mean {runs.mean / size:.4g} ± {runs.error / size:.2g} {unit}"


def _draw_kind(plot: figure, runs: TrainingRuns, kind: int, name: str, unit: tuple[str, float]) -> None:
    need("bokeh.models")
    from bokeh.models import HoverTool

    rows = runs.intervals[(runs.intervals["kind"] == kind) & (runs.intervals["finish"] > runs.intervals["start"])]
    if not len(rows):
        return
    share = percent(getattr(runs, name)[0] / runs.total[0])
    left, right = rows["start"] / unit[1], rows["finish"] / unit[1]
    columns: dict[str, Any] = dict(left=left, right=right, took=right - left, step=rows["iteration"])
    columns |= dict(bottom=np.zeros(len(rows)), top=np.full(len(rows), runs.iterations * 1.08))
    alpha = 0.12 if kind == USEFUL else 0.55
    style: dict[str, Any] = dict(fill_color=COLOURS[name], fill_alpha=alpha, line_color=COLOURS[name], line_alpha=alpha)
    bars = quad(plot, columns, **style, line_width=0.5, legend_label=f"{name} {share}", name=name)
    times = f"@left{{0.[0000]}} – @right{{0.[0000]}} {unit[0]}, @took{{0.[0000]}} {unit[0]}"
    lines = [("", name), ("time", times), ("steps done before", "@step")]
    plot.add_tools(HoverTool(renderers=[bars], tooltips=lines, visible=False))


def _draw_failures(plot: figure, runs: TrainingRuns, unit: tuple[str, float]) -> None:
    need("bokeh.models")
    from bokeh.models import ColumnDataSource, HoverTool

    failed = runs.failed / unit[1]
    if not len(failed):
        return
    source = ColumnDataSource(dict(time=failed, height=np.full(len(failed), runs.iterations * 1.04)))
    label = f"{len(failed):,} {'failure' if len(failed) == 1 else 'failures'}"
    style: dict[str, Any] = dict(marker="inverted_triangle", size=8, color=CRITICAL, legend_label=label)
    marks = plot.scatter("time", "height", source=source, name="failures", **style)
    lines = [("failure", f"@time{{0.[0000]}} {unit[0]}")]
    plot.add_tools(HoverTool(renderers=[marks], tooltips=lines, visible=False))
