"""Training: what a run of many steps did, its expected total, iterations; how a search learns; the best plans of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from placelab.analysis.faults.training_runs import KINDS, TrainingRuns
from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.interrupts import need
from placelab.base.units import SI, percent, seconds
from placelab.pictures.style import (
    ALARM,
    INK,
    PALETTE,
    axis,
    dress,
    hover,
    long_time_unit,
    move_legend,
    new_plot,
    plot_of_cells,
    quad,
    time_unit,
    units_of,
)
from placelab.schedule.catalogue import checked
from placelab.schedule.placement import Placement

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


USEFUL, SAVING, LOST, DETECTING, RESTORING = range(len(KINDS))
COLOURS = {"useful": "#009E73", "saving": "#0072B2", "lost": "#D55E00", "detecting": "#CC79A7", "restoring": "#E69F00"}


@checked
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
    need("bokeh.models")
    from bokeh.models import Range1d

    expect(runs, TrainingRuns, "plots.training")
    end = float(runs.total[0])
    top = runs.iterations
    unit, size = long_time_unit(end)
    plot = new_plot(
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
        glyphs=len(runs.intervals),
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
    rows = runs.intervals[(runs.intervals["kind"] == kind) & (runs.intervals["finish"] > runs.intervals["start"])]
    if not len(rows):
        return
    share = percent(getattr(runs, name)[0] / runs.total[0])
    left = rows["start"] / unit[1]
    right = rows["finish"] / unit[1]
    columns: dict[str, Any] = dict(left=left, right=right, took=right - left, step=rows["iteration"])
    columns |= dict(bottom=np.zeros(len(rows)), top=np.full(len(rows), runs.iterations * 1.08))
    alpha = 0.12 if kind == USEFUL else 0.55
    style: dict[str, Any] = dict(fill_color=COLOURS[name], fill_alpha=alpha, line_color=COLOURS[name], line_alpha=alpha)
    bars = quad(plot, columns, **style, line_width=0.5, legend_label=f"{name} {share}", name=name)
    times = f"@left{{0.[0000]}} – @right{{0.[0000]}} {unit[0]}, @took{{0.[0000]}} {unit[0]}"
    lines = [("", name), ("time", times), ("steps done before", "@step")]
    hover(plot, [bars], lines, listed=False)


def _draw_failures(plot: figure, runs: TrainingRuns, unit: tuple[str, float]) -> None:
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    failed = runs.failed / unit[1]
    if not len(failed):
        return
    source = ColumnDataSource(dict(time=failed, height=np.full(len(failed), runs.iterations * 1.04)))
    label = f"{len(failed):,} {'failure' if len(failed) == 1 else 'failures'}"
    style: dict[str, Any] = dict(marker="inverted_triangle", size=8, color=ALARM, legend_label=label)
    marks = plot.scatter("time", "height", source=source, name="failures", **style)
    lines = [("failure", f"@time{{0.[0000]}} {unit[0]}")]
    hover(plot, [marks], lines, listed=False)


NEEDED = ("every", "seconds", "expected")
HIGHEST = 2.0  # times the least total: the axis ends there, as totals of long intervals have no bound


@checked
def checkpoint_intervals(
    curves: np.ndarray | Mapping[str, np.ndarray], *, width: int = 640, height: int = 320, dark: bool | None = None
) -> figure:
    """Expected total over the seconds of work between two checkpoints, with a red ring at the least total of each line.

    Parameters
    ----------
    curves
        Result of :func:`placelab.faults.over_intervals`, or several by label, of other failure rates say.
    width, height
        Pixels.
    dark
        Whether the page is dark; None where that is unknown.
    """
    need("bokeh.models")
    from bokeh.models import BasicTickFormatter, Range1d

    several = dict(curves) if isinstance(curves, Mapping) else {"expected total": curves}
    if not several:
        raise FormatError("curves has no entries; expected one table of placelab.faults.over_intervals or more")
    least = [_least(table) for table in several.values()]
    unit, size = long_time_unit(min(least, default=1.0))
    apart, apart_size = long_time_unit(float(np.median(np.concatenate([t["seconds"] for t in several.values()]))))
    low = min(least, default=0.0) / size
    high = max(least, default=1.0) / size
    plot = new_plot(
        width=width,
        height=height,
        x_axis_type="log",
        x_axis_label=f"work between checkpoints [{apart}]",
        y_axis_label=f"expected total [{unit}]",
        y_range=Range1d(start=0.95 * low, end=HIGHEST * high),
    )
    plot.xaxis.formatter = BasicTickFormatter()
    drawn = []
    for i, (label, table) in enumerate(several.items()):
        columns = _columns(table, label, size, apart_size)
        drawn.append(_draw(plot, columns, PALETTE[i % len(PALETTE)]))
    lines = [("", "@label"), ("every", "@every steps"), ("work between", f"@seconds{{0.[0000]}} {apart}")]
    hover(plot, drawn, [*lines, ("total", f"@expected{{0.[0000]}} {unit}")])
    move_legend(plot, least=2)
    dress(plot, dark)
    return plot


def _least(table: Any) -> float:
    names = getattr(getattr(table, "dtype", None), "names", None) or ()
    if missing := [name for name in NEEDED if name not in names]:
        raise FormatError(
            f"the curve has no column {missing[0]!r}; expected a result of placelab.faults.over_intervals"
        )
    least = float(table["expected"].min(initial=np.inf))
    if not np.isfinite(least):
        raise FormatError("no total of the curve is finite; save more often, or try smaller numbers of steps")
    return least


def _columns(table: np.ndarray, label: str, size: float, apart_size: float) -> dict[str, Any]:
    """Rows with a finite total, by rising interval, in the units of the axes."""
    finite = np.sort(table[np.isfinite(table["expected"])], order="every")
    return dict(
        every=finite["every"],
        seconds=finite["seconds"] / apart_size,
        expected=finite["expected"] / size,
        label=[label] * len(finite),
    )


def _draw(plot: figure, columns: dict[str, Any], colour: str) -> Any:
    """A line and the ring at its minimum; returns what answers a hover."""
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    label = columns["label"][0]
    best = int(np.argmin(columns["expected"]))
    plot.line(
        "seconds",
        "expected",
        source=ColumnDataSource(columns),
        line_color=colour,
        line_width=1.5,
        legend_label=label,
        name="line",
    )
    ring = {key: values[best : best + 1] for key, values in columns.items()}
    plot.scatter(
        "seconds", "expected", source=ColumnDataSource(ring), size=10, fill_color=None, line_color=ALARM, name="best"
    )
    return plot.scatter("seconds", "expected", source=ColumnDataSource(columns), size=3, color=colour, name="points")


LEARNED = {"samples", "best", "mean"}


@checked
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
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    expect(placements, (Placement, Mapping), "plots.learning_curves")
    named = {"": placements} if isinstance(placements, Placement) else dict(placements)
    curves = {str(name): _curve(placement) for name, placement in named.items()}
    written = next((placement.problem.cluster.units for placement in named.values()), SI)
    longest = max((float(np.nanmax(curve[["best", "mean"]].to_numpy())) for curve in curves.values()), default=1.0)
    unit, size = time_unit(longest, written)
    plot = new_plot(
        width=width,
        height=height,
        x_axis_label="samples",
        y_axis_label=axis("makespan", unit),
        x_axis_type="log",
    )
    drawn: list[Any] = []
    for i, (name, curve) in enumerate(curves.items()):
        columns = dict(
            samples=curve.samples, best=curve.best / size, mean=curve["mean"] / size, name=[name] * len(curve)
        )
        source = ColumnDataSource({k: np.asarray(v) for k, v in columns.items()})
        colour = PALETTE[i % len(PALETTE)]
        label: dict[str, Any] = {"legend_label": name} if name else {}
        drawn.append(plot.step("samples", "best", source=source, mode="after", line_width=2, color=colour, **label))
        plot.line("samples", "mean", source=source, line_width=1, line_alpha=0.7, color=colour, **label)
    lines = [
        ("", "@name"),
        ("samples", "@samples{0,0}"),
        ("best", f"@best{{0.[000]}} {unit}"),
        ("mean", f"@mean{{0.[000]}} {unit}"),
    ]
    hover(plot, drawn, lines, listed=False)
    move_legend(plot)
    dress(plot, dark)
    return plot


def _curve(placement: Any) -> Any:
    expect(placement, Placement, "a learning curve")
    if placement.table is None or not LEARNED <= set(placement.table.columns) or not len(placement.table):
        raise UnsupportedError(
            f"a placement by {placement.partitioner or 'hand'!r} has no learning curve; cem and policy-gradient make one"
        )
    return placement.table


@runtime_checkable
class Plans(Protocol):
    """What a figure needs of the result of :func:`placelab.plan_search`, whose room stands above this one."""

    def plane(self, x: str, y: str, value: str = ...) -> pd.DataFrame:
        """The best plans' values over two columns."""


def plane(plans: Plans, x: str, y: str, *, dark: bool | None = None, width: int = 560) -> figure:
    """The best plan of a search for each pair of values of two columns, in the colour of its degrees; on hover its figures.

    Parameters
    ----------
    plans
        Of :func:`placelab.plan_search`.
    x, y
        Columns, such as ``"tp"`` and ``"pp"``, or ``"devices"`` and ``"sequence"`` of a search `over` them.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.

    Raises
    ------
    FormatError
        A column that the plans do not have.
    """
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    expect(plans, Plans, "plots.plane")
    names, taken, rates, shares = (
        plans.plane(x, y, value) for value in ("plan", "seconds", "tokens_per_second", "mfu")
    )
    across, down = ([f"{value}" for value in axis] for axis in (names.columns, names.index))
    plot = plot_of_cells((across, down), (x, y), width)
    cells: dict[str, dict[str, list[Any]]] = {}
    for i, b in enumerate(down):
        for j, a in enumerate(across):
            if isinstance(name := names.iat[i, j], str):
                entry = (a, b, name, seconds(taken.iat[i, j]), f"{rates.iat[i, j]:,.0f}", f"{shares.iat[i, j]:.1%}")
                of = cells.setdefault(name, {key: [] for key in ("x", "y", "plan", "seconds", "rate", "mfu")})
                for column, value in zip(of.values(), entry, strict=True):
                    column.append(value)
    drawn = [
        plot.rect(
            "x", "y", 0.96, 0.92, source=ColumnDataSource(of), line_color=None, fill_color=PALETTE[k % len(PALETTE)],
            legend_label=name, name="cells",
        )
        for k, (name, of) in enumerate(cells.items())
    ]  # fmt: skip
    hover(
        plot, drawn, [("", "@plan"), (x, "@x"), (y, "@y"), ("step", "@seconds"), ("tokens/s", "@rate"), ("MFU", "@mfu")]
    )
    if drawn:
        move_legend(plot)
    plot.grid.visible = False
    dress(plot, dark)
    return plot


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
        apart = (steps - steps[0]).std()  # exactly 0 where all are the same
        label = f"{name}: {written.time(steps.mean())}, sd {written.time(apart)}".removeprefix(": ")
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
