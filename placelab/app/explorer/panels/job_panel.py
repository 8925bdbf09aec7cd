"""The tab that makes a training job of the step shown, tells its numbers, and runs it for many steps with failures."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import ipywidgets as w

from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.jobs import one_step, with_job
from placelab.app.explorer.panels.buttons import button
from placelab.app.explorer.panels.item import Item, item
from placelab.app.explorer.panels.job_controls import PRESETS, JobControls
from placelab.app.explorer.panels.job_numbers import job_details, job_items
from placelab.app.explorer.panels.orders import Orders
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.panels.training_run import TrainingRun
from placelab.app.explorer.state import Job, State
from placelab.base.threads import Background, Worker
from placelab.base.units import seconds
from placelab.problem.problem import Problem

INVITATION = "A job is many copies or parts of this model at work together. Choose one above; undo or <b>One step</b> leads back."
RUN_TIP = "A run of many steps with checkpoints and failures, and the best interval between checkpoints"


class JobPanel(Background):
    """A :class:`placelab.app.explorer.panels.panel.Panel`.

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
        self._shared, self.visible = shared, True
        self._state: State | None = None
        self._asked: tuple[Job | None, str] | None = None
        self._result: Result | None = None
        self.controls = JobControls(self._ask)
        self.step = button("One step", "The model alone, as it was", lambda: self._ask(None))
        self.presets = [button(text, tip, partial(self._ask, job)) for text, (job, tip) in PRESETS.items()]
        self.page = w.ToggleButton(description="Training run", tooltip=RUN_TIP, layout=w.Layout(width="auto"))
        self.page.add_class("pl-pages")
        self.page.observe(self._turn, "value")
        self.numbers = w.HTML().add_class("pl-job-numbers")
        self.run, self.orders = TrainingRun(), Orders()
        self.side = w.VBox([self.numbers, self.orders.box]).add_class("pl-job-side")
        self.making = w.HBox([self.controls.box, self.side]).add_class("pl-job-page")
        self.head = w.HBox([self.step, *self.presets, self.page]).add_class("pl-job-head")
        self.box: w.Widget = w.VBox([self.head, self.making, self.run.box]).add_class("pl-job")
        self._worker = Worker(self._make, "job")
        self._turn()

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Show the job of a state in the controls, unless another one has been asked for meanwhile."""
        self._state = state
        if self._asked is None:
            self._show(state)

    def _show(self, state: State) -> None:
        self.step.disabled = state.job is None
        self.controls.box.layout.display = "none" if state.job is None else ""
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
        schedule, job = result.schedule, result.state.job
        if job is None:
            self._say(INVITATION)
        else:
            took = seconds(schedule.makespan / job.iterations)
            step = item("step", "Step", took, "Makespan over the number of iterations")
            details = job_details(schedule)
            items = [each for each in job_items(schedule) if each["key"] != "activations" or not details]
            self.numbers.value = _table([step, *items, *details])
        self.orders.follow(schedule)
        self.run.follow(schedule, self.page.value)

    def close(self) -> None:
        """End the threads."""
        super().close()
        self.orders.close()

    def _ask(self, job: Job | None, field: str = "") -> None:
        self._asked = job, field
        self._worker.wake()

    def _make(self) -> None:
        """Make the job that was asked for last; it replaces the one shown, unless a hand has asked for another since."""
        asked, state = self._asked, self._state
        if asked is None or state is None:
            return
        job, field = asked
        self._say(f"Making {escape(job.title)} …" if job else "")
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
        if self._state is not None:
            self._show(self._state)
        self.result(self._result)

    def _say(self, text: str) -> None:
        self.numbers.value = f"<p>{text}</p>" if text else ""

    def _turn(self, _: Any = None) -> None:
        running = self.page.value
        self.making.layout.display = "none" if running else ""
        self.run.box.layout.display = "" if running else "none"
        if running and self._result is not None:
            self.run.follow(self._result.schedule, True)


def _remade(state: State, job: Job | None) -> State:
    return one_step(state) if job is None else with_job(state, job)


def _table(items: list[Item]) -> str:
    rows = (
        f'<tr title="{escape(each["title"])}" class="{escape(each["tone"])}" data-key="{escape(each["key"])}">'
        f"<th scope='row'>{escape(each['label'])}</th><td>{escape(each['value'])}</td></tr>"
        for each in items
    )
    return f"<table>{''.join(rows)}</table>"
