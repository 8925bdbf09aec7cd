"""The distribution of step times when workers read parameters in random orders, computed on request."""

from __future__ import annotations

from html import escape

import ipywidgets as w
import numpy as np

from placelab.analysis.studies.many_runs import iterations
from placelab.app.explorer.panels.buttons import button
from placelab.base.errors import PlacelabError
from placelab.base.progress import Progress
from placelab.base.threads import Background, Worker
from placelab.base.units import Units, percent
from placelab.planning.read_orders import replica_column
from placelab.schedule.schedule import Schedule

RUNS = 1000
WIDTH, HEIGHT = 180, 46


class Orders(Background):
    """A button, and what it has computed of the schedule shown.

    Notes
    -----
    Runs on a thread of its own; another schedule ends it.
    """

    def __init__(self) -> None:
        self._schedule: Schedule | None = None
        self.button = button(
            f"{RUNS:,} random orders", "Read the parameters in another random order in each run", self._start
        )
        self.shown = w.HTML()
        self.box = w.VBox([self.button, self.shown]).add_class("pl-orders")
        self.box.layout.display = "none"
        self._worker = Worker(self._work, "random orders")

    def follow(self, schedule: Schedule) -> None:
        """Take another schedule; the button is there where parameters are read from servers."""
        if schedule is self._schedule:
            return
        self._schedule = schedule
        self.forget()
        replica = schedule.problem.graph.metadata.get("replica")
        served = isinstance(replica, dict) and str(replica.get("sync", "")).startswith("ps")
        self.box.layout.display = (
            "" if served and replica_column(schedule.problem.graph, "worker") is not None else "none"
        )

    def forget(self) -> None:
        """Take the distribution away: it belongs to a schedule before."""
        self.shown.value = ""

    def _start(self) -> None:
        self.shown.value = "0 %"
        self._worker.wake()

    def _work(self) -> None:
        schedule = self._schedule
        if schedule is None:
            return

        def outdated() -> bool:
            return self._worker.woken or self._schedule is not schedule

        def report(progress: Progress) -> None:
            if not outdated() and progress.fraction is not None:
                self.shown.value = percent(progress.fraction)

        try:
            frame = iterations(
                schedule.problem, schedule.placement, "random-reads", runs=RUNS, progress=report, cancel=outdated
            )
        except PlacelabError as error:
            self.shown.value = escape(str(error))
            return
        if not outdated() and len(frame):
            columns = (frame[name].to_numpy() for name in ("step", "efficiency", "straggling"))
            self.shown.value = distribution(*columns, makespan=schedule.makespan, units=schedule.problem.cluster.units)


def distribution(
    step: np.ndarray, efficiency: np.ndarray, straggling: np.ndarray, *, makespan: float, units: Units
) -> str:
    """Share of runs over their step time, their means, and the step shown as a line."""
    times = np.sort(step)
    low, high = min(times[0], makespan), max(times[-1], makespan)
    wide = (high - low) or 1.0
    x = (times - low) / wide * (WIDTH - 8) + 4
    y = HEIGHT - 3 - (np.arange(len(times)) + 1) / len(times) * (HEIGHT - 6)
    pick = np.unique(np.linspace(0, len(times) - 1, 120).astype(int))
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[pick], y[pick], strict=True))
    here = (makespan - low) / wide * (WIDTH - 8) + 4
    said = (
        f"{len(times):,} random orders: {units.time(times.mean())} ± {units.time(times.std())}, E {efficiency.mean():.2f}, "
        f"straggling {percent(float(straggling.mean()))}"
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(said)}">'
        f'<polyline class="pl-curve" points="{line}"/><path class="pl-here" d="M{here:.1f} 0V{HEIGHT}">'
        f"<title>the step shown, {units.time(makespan)}</title></path></svg><div>{escape(said)}</div>"
    )
