"""A run of many steps with checkpoints and failures: where its time goes, and the best interval between checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets as w

from placelab.errors import PlacelabError
from placelab.explorer.panels.training_picture import picture
from placelab.faults import checkpoint_interval, over_intervals, simulate_training
from placelab.schedule.schedule import Schedule
from placelab.units import percent, seconds

FAR = 10.0  # a step so many times longer or shorter than the one that the sliders were made for makes them anew
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
class Run:
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


class TrainingRun:
    """The page: the picture, and a slider for each time.

    Attributes
    ----------
    sliders
        By name; their values are logarithms of steps. Seconds stay when the step changes.
    """

    def __init__(self) -> None:
        self.picture = w.HTML().add_class("pl-run")
        self.sliders: dict[str, w.FloatSlider] = {}
        self.values: dict[str, w.HTML] = {}
        self._step, self._unit, self._quiet = 0.0, 0.0, False
        rows = [self._row(name) for name in SLIDERS]
        self.best = w.Button(description="To the optimum", tooltip="Set the interval with the least expected time")
        self.best.on_click(lambda _: self._to_optimum())
        self.box = w.HBox([self.picture, w.VBox([*rows, self.best]).add_class("pl-run-sliders")]).add_class(
            "pl-run-page"
        )

    def follow(self, schedule: Schedule, seen: bool) -> None:
        """Take the step time of a schedule; draw the run if it is seen."""
        graph = schedule.problem.graph
        replica = graph.metadata.get("replica")
        n = replica.get("iterations", 1) if isinstance(replica, dict) else 1
        self._step = schedule.makespan / n
        if self._step > 0 and not 1 / FAR <= self._unit / self._step <= FAR:
            self._reset()
        if seen:
            self._draw()

    @property
    def run(self) -> Run:
        """What the sliders say."""
        given = {name: 10.0**slider.value for name, slider in self.sliders.items()}
        times = {name: value * self._unit for name, value in given.items() if name != "steps"}
        return Run(self._step, round(given["steps"]), **times)

    def _row(self, name: str) -> w.HBox:
        label, tip, low, high, start = SLIDERS[name]
        slider = w.FloatSlider(
            min=math.log10(low),
            max=math.log10(high),
            step=0.02,
            value=math.log10(start),
            readout=False,
            description=label,
            tooltip=f"{label}: {tip}",
        )
        slider.observe(self._moved, "value")
        self.sliders[name], self.values[name] = slider, w.HTML()
        return w.HBox([slider, self.values[name]]).add_class("pl-run-row")

    def _reset(self) -> None:
        """The values at first, for a step of this length."""
        self._unit, self._quiet = self._step, True
        for name, slider in self.sliders.items():
            slider.value = math.log10(SLIDERS[name][4])
        self._quiet = False

    def _moved(self, _: object) -> None:
        if not self._quiet:
            self._draw()

    def _to_optimum(self) -> None:
        run = self.run
        if run.step > 0:
            best = checkpoint_interval(run.save, run.mtbf) / self._unit
            slider = self.sliders["interval"]
            slider.value = min(max(math.log10(best), slider.min), slider.max)

    def _draw(self) -> None:
        run = self.run
        if not run.step > 0:
            self.picture.value = "<p>A step that takes no time makes no run.</p>"
            return
        for name, shown in self.values.items():
            value = getattr(run, name)
            shown.value = f"{value:,}" if name == "steps" else lasting(value)
        times: dict[str, Any] = dict(save=run.save, restore=run.restore, mtbf=run.mtbf, detect=run.detect)
        try:
            runs = simulate_training(run.step, run.steps, every=run.every, **times)
            curve = over_intervals(run.step, run.steps, **times)
            optimum = checkpoint_interval(run.save, run.mtbf)
        except PlacelabError as error:
            self.picture.value = f"<p>{escape(str(error))}</p>"
            return
        self.picture.value = picture(
            runs, curve, interval=run.every * run.step, optimum=optimum, text=lasting, share=percent
        )


def lasting(time: float) -> str:
    """Seconds, minutes, hours or days.

    >>> lasting(0.5), lasting(90.0), lasting(7200.0), lasting(4e5)
    ('500 ms', '90 s', '2 h', '4.63 d')
    """
    for size, unit, least in ((86400.0, "d", 2.0), (3600.0, "h", 1.0), (60.0, "min", 2.0)):
        if time >= least * size:
            return f"{time / size:.3g} {unit}"
    return seconds(time)
