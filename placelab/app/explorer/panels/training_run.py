"""A run of many steps with checkpoints and failures: where its time goes, and the best interval between checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.analysis.faults import KINDS, TrainingRuns, checkpoint_interval, over_intervals, simulate_training
from placelab.app.explorer.panels.panel import button
from placelab.app.widgets import controls as w
from placelab.app.widgets.tab_views import TrainingChart
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import PlacelabError
from placelab.base.units import percent, seconds
from placelab.schedule.schedule import Schedule

COLUMNS = 170  # of the bar over time
MARKS = 400  # failures that are marked
POINTS = 160  # of the curve


def over_time(runs: TrainingRuns, text: Callable[[float], str], share: Callable[[float], str]) -> dict[str, Any]:
    """The first run, as :class:`placelab.app.widgets.tab_views.TrainingChart` takes it.

    Parameters
    ----------
    text, share
        Write a time [s], and a share.
    """
    total = float(runs.total[0])
    n = int(runs.failures[0])
    kinds = [
        {"name": kind, "share": share(float(getattr(runs, kind)[0]) / total), "columns": np.round(columns, 4).tolist()}
        for kind, columns in zip(KINDS, shares(runs), strict=True)
    ]
    said = f"{runs.iterations:,} steps in {text(total)}, {n:,} failure{'s' * (n != 1)}"
    return {"said": said, "kinds": kinds, "failures": np.unique(np.round(runs.failed / total, 4))[:MARKS].tolist()}


def shares(runs: TrainingRuns, columns: int = COLUMNS) -> np.ndarray:
    """Share of each kind in each of the columns that the first run is divided into; shape (kinds, columns)."""
    rows = runs.intervals
    total = float(runs.total[0])
    edges = np.linspace(0.0, total, columns + 1)
    took = rows["finish"] - rows["start"]
    at = np.concatenate([[0.0], rows["finish"]])
    share = np.empty((len(KINDS), columns))
    for kind in range(len(KINDS)):
        spent = np.concatenate([[0.0], np.cumsum(np.where(rows["kind"] == kind, took, 0.0))])
        share[kind] = np.diff(np.interp(edges, at, spent))
    return share / (total / columns)


def over_interval(useful: float, curve: np.ndarray) -> dict[str, list[float]]:
    """Expected time beyond `useful` seconds, over these, from :func:`placelab.faults.over_intervals`; where it is finite."""
    over = curve["expected"] / useful - 1
    finite = np.flatnonzero(np.isfinite(over))
    if not len(finite):
        return {"seconds": [], "over": []}
    some = np.unique(np.linspace(0, len(finite) - 1, POINTS).astype(int))
    pick = finite[np.union1d(some, [int(np.argmin(over[finite]))])]
    return {"seconds": curve["seconds"][pick].tolist(), "over": over[pick].tolist()}


MOST = 2**53  # iterations; a file may claim more, or what is no number
FAR = 10.0  # a step so many times longer or shorter than the one that the sliders were made for makes them anew
FINE = 0.001  # the browser rounds the interval that was dragged on the curve to the slider's steps
# name of the value: label, what it means, least and greatest value and the one at first, in steps
SLIDERS = {
    "steps": ("steps", "Steps of the run", 1e2, 1e6, 1e4),
    "interval": ("interval", "Work between two checkpoints", 1.0, 1e5, 100.0),
    "mtbf": ("MTBF", "Mean time between failures of the whole system", 10.0, 1e6, 2000.0),
    "save": ("save", "Writing a checkpoint", 0.1, 1e3, 5.0),
    "restore": ("restore", "Reading a checkpoint", 0.1, 1e3, 10.0),
    "detect": ("detect", "From a failure to its detection", 0.1, 1e3, 5.0),
}


@dataclass(frozen=True)
class TrainingSettings:
    """A run: all in seconds but `steps`."""

    step: float
    steps: int
    interval: float
    mtbf: float
    save: float
    restore: float
    detect: float

    @property
    def every(self) -> int:
        """Steps between checkpoints."""
        return max(1, min(round(self.interval / self.step), self.steps))

    @property
    def work(self) -> float:
        """Work between checkpoints, which come after whole steps [s]."""
        return self.every * self.step if self.step > 0 else 0.0


class TrainingRun:
    """The page: the picture, on whose curve a hand drags the interval, and a slider for each time.

    Attributes
    ----------
    chart
        The picture.
    sliders
        By name; their values are logarithms of steps. Seconds stay when the step changes.
    """

    def __init__(self) -> None:
        self.chart = TrainingChart(comm=PartComm())
        self.chart.on_choice(self._dragged, "interval")
        self.sliders: dict[str, w.FloatSlider] = {}
        self.values: dict[str, w.HTML] = {}
        self._step = 0.0
        self._unit = 0.0
        rows = [self._row(name) for name in SLIDERS]
        self.best = button("To the optimum", "Set the interval with the least expected time", self._to_optimum)
        self.box = w.HBox(
            [w.HBox([self.chart]).add_class("pl-run"), w.VBox([*rows, self.best]).add_class("pl-run-sliders")]
        ).add_class("pl-run-page")

    def follow(self, schedule: Schedule, seen: bool) -> None:
        """Take the step time of a schedule; draw the run if it is seen."""
        graph = schedule.problem.graph
        replica = graph.metadata.get("replica")
        n = replica.get("iterations") if isinstance(replica, dict) else 1
        self._step = schedule.makespan / (n if isinstance(n, int) and 0 < n < MOST else 1)
        if self._step > 0 and not 1 / FAR <= self._unit / self._step <= FAR:
            self._reset()
        if seen:
            self._draw()

    @property
    def run(self) -> TrainingSettings:
        """What the sliders say."""
        given = {name: 10.0**slider.value for name, slider in self.sliders.items()}
        times = {name: value * self._unit for name, value in given.items() if name != "steps"}
        return TrainingSettings(self._step, round(given["steps"]), **times)

    def _row(self, name: str) -> w.HBox:
        label, tip, low, high, start = SLIDERS[name]
        slider = w.FloatSlider(
            min=math.log10(low),
            max=math.log10(high),
            step=FINE if name == "interval" else 0.02,
            value=math.log10(start),
            readout=False,
            description=label,
            tooltip=f"{label}: {tip}",
        )
        slider.on_choice(lambda _: self._draw())
        self.sliders[name] = slider
        self.values[name] = w.HTML()
        return w.HBox([slider, self.values[name]]).add_class("pl-run-row")

    def _reset(self) -> None:
        """The values at first, for a step of this length."""
        self._unit = self._step
        for name, slider in self.sliders.items():
            slider.put(math.log10(SLIDERS[name][4]))

    def _dragged(self, interval: float) -> None:
        """Take an interval from the picture."""
        if self._unit > 0:
            self._set_interval(interval)

    def _to_optimum(self) -> None:
        run = self.run
        if run.step > 0:
            self._set_interval(checkpoint_interval(run.save, run.mtbf))

    def _set_interval(self, interval: float) -> None:
        slider = self.sliders["interval"]
        slider.value = min(max(math.log10(interval / self._unit), slider.min), slider.max)

    def _draw(self) -> None:
        """Show the run that the sliders say."""
        run = self.run
        for name, shown in self.values.items():
            value = run.work if name == "interval" else getattr(run, name)
            shown.value = f"{value:,}" if name == "steps" else lasting(value) if run.step > 0 else ""
        slider = self.sliders["interval"]
        limits = [self._unit * 10.0**end for end in (slider.min, slider.max)]
        self.chart.take(limits=limits, **_picture(run))


def _picture(run: TrainingSettings) -> dict[str, Any]:
    """The traits of the picture."""
    none: dict[str, Any] = dict(run={"said": "", "kinds": [], "failures": []}, curve={"seconds": [], "over": []})
    if not run.step > 0:
        return none | dict(message="A step that takes no time makes no run.")
    times: dict[str, Any] = dict(save=run.save, restore=run.restore, mtbf=run.mtbf, detect=run.detect)
    try:
        curve = over_interval(run.step * run.steps, over_intervals(run.step, run.steps, **times))
        none |= dict(curve=curve, interval=run.work, optimum=checkpoint_interval(run.save, run.mtbf))
        runs = simulate_training(run.step, run.steps, every=run.every, **times)
    except PlacelabError as error:
        return none | dict(message=str(error))
    message = "" if curve["seconds"] else "No interval makes this run end in reasonable time."
    return none | dict(run=over_time(runs, lasting, percent), message=message)


def lasting(time: float) -> str:
    """Seconds, minutes, hours or days.

    >>> lasting(0.5), lasting(90.0), lasting(7200.0), lasting(4e5)
    ('500 ms', '90 s', '2 h', '4.63 d')
    """
    for size, unit, least in ((86400.0, "d", 2.0), (3600.0, "h", 1.0), (60.0, "min", 2.0)):
        if time >= least * size:
            return f"{time / size:.3g} {unit}"
    return seconds(time)
