"""The tab that makes a training job of the step shown, tells its numbers, and runs it for many steps with failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import numpy as np

from placelab.analysis.studies.many_runs import iterations
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.jobs import STAGES, one_step, with_job
from placelab.app.explorer.offered import ALL_REDUCE, KINDS, PIPELINE, SERVERS, Job
from placelab.app.explorer.panels.numbers import job_details, job_items
from placelab.app.explorer.panels.panel import Panel, Shared, button, item
from placelab.app.explorer.panels.plan_page import PlanPage
from placelab.app.explorer.panels.training_run import TrainingRun
from placelab.app.explorer.spreads import planned_of
from placelab.app.explorer.state import State, key_of_problem
from placelab.app.widgets import controls as w
from placelab.base.errors import PlacelabError
from placelab.base.progress import Progress
from placelab.base.threads import Background, Worker
from placelab.base.units import Units, percent, seconds
from placelab.planning.read_orders import replica_column
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

PRESETS = {
    "Parameter server": (Job(SERVERS), "Four workers share parameters through a server, read in the order of tic"),
    "2 × 4 data-parallel": (
        Job(ALL_REDUCE, workers=8, hosts=2),
        "Two machines of four GPUs sum gradients by ring all-reduces",
    ),
    "4-stage pipeline": (Job(PIPELINE), "Four stages, eight micro-batches, one forward and one backward pass in turn"),
}
BUCKETS = {"1 MB": 1e6, "5 MB": 5e6, "25 MB": 25e6, "100 MB": 100e6, "all": float("inf")}
REPLICAS = (SERVERS, ALL_REDUCE)
SUMMING = ("algorithm", "bucket_bytes")  # of replicas alone


# field of Job: label, kinds that have it, what it means, and least and greatest number or the choices; none of a box to tick
FIELDS: dict[str, tuple[str, tuple[str, ...], str, Any]] = {
    "workers": ("workers", REPLICAS, "Copies of the model", (1, 16)),
    "servers": ("servers", (SERVERS,), "Machines that hold the parameters, dealt out in turn", (1, 8)),
    "hosts": (
        "machines",
        (ALL_REDUCE,),
        "Over so many machines the workers are spread equally; if they cannot be, all are on one",
        (1, 8),
    ),
    "stages": ("stages", (PIPELINE,), "Devices in a row, each with a part of the model", (2, 16)),
    "microbatches": ("micro-batches", (PIPELINE,), "Parts that a batch is divided into", (1, 32)),
    "replicas": (
        "replicas",
        (PIPELINE,),
        "Copies of the pipeline, whose gradients are summed by all-reduces",
        (1, 8),
    ),
    "iterations": ("iterations", REPLICAS, "Steps in the graph, one after the other", (1, 4)),
    "algorithm": (
        "all-reduce",
        (ALL_REDUCE, PIPELINE),
        "ring, tree, or recursive halving, which needs a power of two of workers",
        ["ring", "tree", "halving"],
    ),
    "bucket_bytes": (
        "bucket",
        (ALL_REDUCE, PIPELINE),
        "So many bytes of gradients are summed together",
        list(BUCKETS.items()),
    ),
    "partitioner": ("stages by", (PIPELINE,), "The partitioner that cuts the model into stages", list(STAGES)),
    "training": ("backward pass", (SERVERS,), "With gradients that are sent to the servers", None),
    "sync": (
        "synchronous",
        (SERVERS,),
        "An update waits for the gradients of all workers; if not, each worker's gradients are applied when they come",
        None,
    ),
    "barrier": (
        "barrier",
        (SERVERS,),
        "Reads wait for all updates of the iteration before; if not, each waits for that of its own parameter",
        None,
    ),
    "split": (
        "split backward",
        (PIPELINE,),
        "Gradients of weights are ops of their own, which zero-bubble schedulers delay",
        None,
    ),
    "recompute": (
        "recompute",
        (PIPELINE,),
        "A stage keeps only what comes from other stages, and runs its forward pass again before the backward pass",
        None,
    ),
    "blocking": ("blocking receives", (PIPELINE,), "A stage does not compute while it receives", None),
}


def _has(job: Job, name: str) -> bool:
    """Whether a field changes the job."""
    reduces = job.kind != PIPELINE or job.replicas > 1
    return job.kind in FIELDS[name][1] and (reduces or name not in SUMMING)


class JobControls:
    """A grid of controls, each under its label, and a row of boxes to tick.

    Parameters
    ----------
    change
        Called with the job that is asked for, and the field that a hand has moved.
    """

    def __init__(self, change: Callable[[Job, str], None]) -> None:
        self._change = change
        self.job = Job()
        self.kind = w.Dropdown(options=KINDS, description="job", tooltip="Kind of job")
        self.fields = {name: _control(name) for name in FIELDS}
        for name, field in {"kind": self.kind, **self.fields}.items():
            field.on_choice(partial(self._moved, name))
        ticked = [field for field in self.fields.values() if isinstance(field, w.Checkbox)]
        others = [field for field in self.fields.values() if not isinstance(field, w.Checkbox)]
        grid = w.HBox([self.kind, *others]).add_class("pl-options").add_class("pl-job-grid")
        row = w.HBox(ticked).add_class("pl-options").add_class("pl-job-ticks")
        self.box = w.VBox([grid, row]).add_class("pl-job-controls")

    def show(self, job: Job) -> None:
        """Show a job, without calling `change`."""
        self.job = job
        self.kind.put(job.kind)
        for name, field in self.fields.items():
            value = getattr(job, name)
            if isinstance(field, w.IntSlider):
                field.take(max=max(field.max, value), value=value, description=f"{FIELDS[name][0]}: {value}")
            field.put(value)
            field.hidden = not _has(job, name)

    def _moved(self, name: str, value: Any) -> None:
        if value is None:
            return
        if isinstance(field := self.fields.get(name), w.IntSlider):
            field.description = f"{FIELDS[name][0]}: {value}"
        self.job = replace(self.job, **{name: value})
        self._change(self.job, name)


def _control(name: str) -> w.Control:
    label, _, tip, choices = FIELDS[name]
    said: dict[str, Any] = dict(description=label, tooltip=f"{label}: {tip}")
    if isinstance(choices, tuple):
        return w.IntSlider(min=choices[0], max=choices[1], readout=False, **said)
    return w.Checkbox(**said) if choices is None else w.Dropdown(options=choices, **said)


RUNS = 1000
WIDTH = 180
HEIGHT = 46


class Orders(Background):
    """A button, and what it has computed of the schedule shown.

    Notes
    -----
    Runs on a thread of its own; another schedule ends it.
    """

    def __init__(self) -> None:
        self._schedule: Schedule | None = None
        self.button = button(
            f"{RUNS:,} random orders", "Read the parameters in a new random order in each run", self._start
        )
        self.shown = w.HTML()
        self.box = w.VBox([self.button, self.shown]).add_class("pl-orders")
        self.box.hidden = True
        self._worker = Worker(self._work, "random orders")

    def follow(self, schedule: Schedule) -> None:
        """Take another schedule; the button is there where parameters are read from servers."""
        if schedule is self._schedule:
            return
        self._schedule = schedule
        self.forget()
        replica = schedule.problem.graph.metadata.get("replica")
        served = isinstance(replica, dict) and str(replica.get("sync", "")).startswith("ps")
        self.box.hidden = not (served and replica_column(schedule.problem.graph, "worker") is not None)

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
    low = min(times[0], makespan)
    high = max(times[-1], makespan)
    wide = (high - low) or 1.0
    x = (times - low) / wide * (WIDTH - 8) + 4
    y = HEIGHT - 3 - (np.arange(len(times)) + 1) / len(times) * (HEIGHT - 6)
    pick = np.unique(np.linspace(0, len(times) - 1, 120).astype(int))
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[pick], y[pick], strict=True))
    here = (makespan - low) / wide * (WIDTH - 8) + 4
    apart = (times - times[0]).std()  # exactly 0 where all are the same
    said = (
        f"{len(times):,} random orders: {units.time(times.mean())} ± {units.time(apart)}, E {efficiency.mean():.2f}, "
        f"straggling {percent(float(straggling.mean()))}"
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(said)}">'
        f'<polyline class="pl-curve" points="{line}"/><path class="pl-here" d="M{here:.1f} 0V{HEIGHT}">'
        f"<title>the step shown, {units.time(makespan)}</title></path></svg><div>{escape(said)}</div>"
    )


INVITATION = (
    "A job is many copies or parts of this model at work together. Choose one above; undo or One step leads back."
)
PLAN_TIP = (
    "Train a decoder of the tab Layers under a plan: data, tensor, pipeline, expert parallelism; search the fastest"
)
RUN_TIP = "A run of many steps with checkpoints and failures, and the best interval between checkpoints"


class JobPanel(Panel):
    """A tab.

    Attributes
    ----------
    controls, run, orders
        What sets the job; the page of a long run with failures; the distribution of random read orders.

    Notes
    -----
    Jobs are made on a thread of the panel's own, the newest one that is asked for: large ones take a second.
    """

    title = "Job"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._asked: tuple[Job | None, str] | None = None
        self._result: Result | None = None
        self.controls = JobControls(self._ask)
        self.step = button("One step", "The model alone, as it was", lambda: self._ask(None))
        self.presets = [button(text, tip, partial(self._ask, job)) for text, (job, tip) in PRESETS.items()]
        self.plan = PlanPage(shared)
        self.to_plan = button("Plan", PLAN_TIP, self._to_plan)
        self.page = w.ToggleButton(description="Training run", tooltip=RUN_TIP)
        self.page.add_class("pl-pages")
        self.page.observe(self._turn, "value")
        self.numbers = w.Table().add_class("pl-job-numbers")
        self.run = TrainingRun()
        self.orders = Orders()
        self.side = w.VBox([self.numbers, self.orders.box]).add_class("pl-job-side")
        self.making = w.HBox([self.controls.box, self.side]).add_class("pl-job-page")
        self.head = w.HBox([self.step, *self.presets, self.to_plan, self.plan.head, self.page]).add_class("pl-job-head")
        self.box: w.Widget = w.VBox([self.head, self.making, self.plan.box, self.run.box]).add_class("pl-job")
        self._turn()

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Show the job of a state in the controls, unless another one has been asked for meanwhile."""
        self._state = state
        self._problem = problem
        if self._asked is None:
            self._show(state, problem)

    def _show(self, state: State, problem: Problem) -> None:
        planned = state.planned is not None
        self.step.disabled = state.job is None and not planned
        self.to_plan.disabled = one_step(state).spread is None
        for each in (*self.presets, self.to_plan, self.page):
            each.hidden = planned
        self.plan.head.hidden = not planned
        if planned:
            self.page.value = False
            self.plan.show(state, key_of_problem(state, problem))
        self._turn()
        self.controls.box.hidden = state.job is None
        if state.job is None:
            self._say(INVITATION)
        else:
            self.controls.show(state.job)
        self.orders.forget()

    def result(self, result: Result | None) -> None:
        """Show the numbers of a result."""
        self._result = result
        if not self.visible or result is None:
            return
        schedule = result.schedule
        of = result.key
        job = result.state.job
        if job is None:
            self._say(INVITATION)
        else:
            took = seconds(schedule.makespan / job.iterations)
            step = item("step", "Step", took, "Makespan over the number of iterations")
            details = job_details(schedule)
            items = [each for each in job_items(schedule) if each["key"] != "activations" or not details]
            rows = [{**each, "cells": [each["label"], each["value"]]} for each in [step, *items, *details]]
            self.numbers.take(result_of=of, note="", rows=rows)
        self.orders.shown.result_of = self.run.chart.result_of = of
        self.orders.follow(schedule)
        self.run.follow(schedule, self.page.value)

    def close(self) -> None:
        """End the threads."""
        super().close()
        self.orders.close()
        self.plan.close()

    def _to_plan(self) -> None:
        """Train the decoder under a plan, by rule of thumb at first."""

        def planned(state: State) -> State:
            step = one_step(state)
            return step.with_spread(step.spread and planned_of(step.spread.model, step.spread.source, step.cluster))

        self._shared.change(planned)

    def _ask(self, job: Job | None, field: str = "") -> None:
        self._asked = job, field
        self._worker.wake()

    def _catch_up(self) -> None:
        """Make the job that was asked for last; it replaces the one shown, unless a hand has asked for another since."""
        asked = self._asked
        state = self._state
        if asked is None or state is None:
            return
        job, field = asked
        self._say(f"Making {job.title} …" if job else "")
        try:
            made = _remade(state, job)
        except Exception as error:
            self._done(asked)
            self._shared.say(sentence(error), "bad")
            return
        if self._worker.woken:
            return
        self._done(asked)
        self._shared.change(lambda now: made if now == state else _remade(now, job), f"job {field}" if field else "")
        if job is not None and (state.job is None or state.scheduler != made.scheduler):
            self._shared.say(
                f"{made.scheduler} decides the order, as suits {job.kind}; the job ties each op to its device.", "note"
            )

    def _done(self, asked: tuple[Job | None, str]) -> None:
        if self._asked is asked:
            self._asked = None
        if self._state is not None and self._problem is not None:
            self._show(self._state, self._problem)
        self.result(self._result)

    def _say(self, text: str) -> None:
        self.numbers.take(result_of="", note=text, rows=[])

    def _turn(self, _: Any = None) -> None:
        running = self.page.value
        planned = self._state is not None and self._state.planned is not None
        self.plan.box.hidden = not planned
        self.making.hidden = running or planned
        self.run.box.hidden = not running
        if running and self._result is not None:
            self.run.follow(self._result.schedule, True)


def _remade(state: State, job: Job | None) -> State:
    return one_step(state) if job is None else with_job(state, job)
