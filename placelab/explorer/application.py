"""The assembled application: what a hand changes, what is computed from it, and who shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w
import numpy as np

from placelab import strategies
from placelab.analysis.lower_bounds import best_bound
from placelab.analysis.validation import validate
from placelab.errors import InfeasibleError
from placelab.explorer import code
from placelab.explorer.actions import Actions
from placelab.explorer.comparison import Comparison, bring_bokeh
from placelab.explorer.failure import blame, sentence
from placelab.explorer.message import Message
from placelab.explorer.pace import NOT, PREVIEW, Paces
from placelab.explorer.pickers import Pickers
from placelab.explorer.reasons import Reasons
from placelab.explorer.rejection import Rejection
from placelab.explorer.search import Line, Search
from placelab.explorer.solving import Result, function_of, run, runnable, searched, searches
from placelab.explorer.state import Change, State, Steps, begin
from placelab.explorer.strip import Item, link_load, strip
from placelab.explorer.worker import Worker
from placelab.kernels import jit
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.units import seconds
from placelab.widgets.cluster.canvas import ClusterCanvas
from placelab.widgets.gantt.gantt_chart import Gantt

PATIENCE = 0.1  # seconds a hand's message waits for its result, so that the browser sends no faster than results come
MANY = 10_000  # ops; validating more takes several milliseconds, which wait for the release
FEW = 10  # devices; the links of more are not drawn, so that their load need not be sent


def explore(problem_or_graph: Any = None, cluster: Cluster | None = None) -> Explorer:
    """Open the explorer in the output of a cell.

    Parameters
    ----------
    problem_or_graph
        A Problem, whose rules are kept; or what :func:`placelab.load` takes: a dataset's name, a path, a networkx DiGraph,
        an OpGraph. Default: the dataset ``dynamic_rnn``.
    cluster
        Default: the problem's, the graph's own processors, or ``clusters.pcie_box(4)``.

    Returns
    -------
    Explorer
        A widget. ``explorer.problem``, ``.placement`` and ``.schedule`` are what it shows.

    Examples
    --------
    >>> import placelab as pl
    >>> explore("topcuoglu")
    Explorer(topcuoglu: 10 ops on 3 devices, heft + planned: 80 s)
    """
    state = begin(problem_or_graph, cluster)
    return Explorer(state, state.problem())


class Explorer(w.VBox):
    """Pickers, cluster canvas, comparison and Gantt chart of one problem.

    Attributes
    ----------
    problem, placement, schedule
        What is shown now; reading them waits for a computation that is under way. While a hand drags they may be a preview.
    state
        What pickers and canvas say.

    Notes
    -----
    Messages of the browser arrive one at a time on the main thread, or on another one while a cell is busy: `_lock`. A
    worker catches up with the newest state and never queues; a message waits for it for a tenth of a second, so that a hand
    is served at the rate the strategy can hold. The worker shows results under a lock of its own, so that a waiting
    message does not keep it from doing so. A search that a newer state overtakes is told to stop, and what it returns is
    dropped. The identity of a state, not its value, says whether it was answered: an equal one is a question asked again.
    """

    def __init__(self, state: State, problem: Problem) -> None:
        self._lock = threading.RLock()
        self._now: tuple[State, Problem] = (state, problem)
        self._answer = threading.Condition()  # guards what the worker answers, the next five
        self._answered: State | None = None
        self._previewed = False  # whether that answer is a preview
        self._awaited: State | None = None  # what a cell waits for, also while a hand drags
        self._failure: Exception | None = None
        self._result: Result | None = None
        self._reasons = Reasons()
        self._paces = Paces()
        self._steps = Steps(state)
        self._seen: tuple = ()  # what the canvas said last
        self._worker = Worker(self._catch_up, "schedule")
        self._follow = self._catalogue_changed
        self._message = Message()
        self._say = self._message.say
        self._pickers = Pickers(self._go, self._say, state)
        self._line = Line(self._ask_again)
        self._aside = ""  # what a hand's last step brought with it
        self._actions = Actions(self.undo, self.redo, lambda: self.state, self._shown, self._say)
        self.canvas = ClusterCanvas(state.cluster)
        self.canvas._lock = self._lock  # one order of locks: the canvas' messages end here
        self.canvas.on_step = lambda kind: getattr(self, kind)()
        self.gantt = Gantt()
        self._rejection = Rejection(self._select, self._go, self.undo)
        self._chart = w.Box([self.gantt, self._rejection.box]).add_class("pl-chart")
        self.comparison = Comparison(self._show_pair, self._worker.wake)
        super().__init__(self._assemble())
        self.add_class("placelab-explorer")
        self._view_count = 0  # counted by the browser from now on: what nobody sees is not kept up to date
        self._listen()
        self._show_controls(state)
        self._compute()

    # ---------------------------------------------------------------- what a cell can read

    @property
    def state(self) -> State:
        """What pickers and canvas say."""
        return self._now[0]

    @property
    def problem(self) -> Problem:
        """The problem shown."""
        return self._now[1]

    @property
    def placement(self) -> Placement:
        """Where each op runs; waits for it, and raises what kept the strategies from answering."""
        return self.schedule.placement

    @property
    def schedule(self) -> Schedule:
        """When everything happens; waits for it, and raises what kept the strategies from answering."""
        if self._due:
            self._awaited = self.state
            self._worker.wake()
        with self._answer:
            self._answer.wait_for(lambda: not self._due or self._worker.closed)
            if self._failure:
                raise self._failure
            return self._result.schedule

    @property
    def code(self) -> str:
        """The text of a cell that makes again what is shown."""
        return code.cell(self.state)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bring_bokeh()
        return super()._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        state = self.state
        try:
            outcome = seconds(self.schedule.makespan)
        except Exception as error:
            outcome = sentence(error)
        title = f"{state.model.title}: {state.graph.n_ops:,} ops on {self.problem.cluster.n_devices} devices"
        return f"Explorer({title}, {state.partitioner} + {state.scheduler}: {outcome})"

    # ---------------------------------------------------------------- what a hand asks for

    def undo(self) -> None:
        """Back one step, of the pickers or the canvas."""
        self._step_to(Steps.undo)

    def redo(self) -> None:
        """Forward to what the last undo left."""
        self._step_to(Steps.redo)

    def close(self) -> None:
        """End the threads and close all widgets."""
        self._worker.close()
        self._pickers.models.close()
        self._line.close()
        self.comparison.close()
        if self._follow in strategies.on_change:
            strategies.on_change.remove(self._follow)
        super().close()

    def _go(self, change: Change, key: str = "") -> None:
        """Another state, as a step; when it makes no problem the sentence is shown and the controls jump back."""
        with self._lock:
            if self._pickers.quiet:
                return
            self._say("")
            self._aside = ""
            try:
                self._adopt(change(self.state))
            except Exception as error:
                self._say(sentence(error), "bad")
            self._steps = self._steps.to(self.state, key, time.monotonic())
            self._show_controls(self.state)
            self._compute()
        self._wait()

    def _edited(self, _: Any) -> None:
        """The canvas has another cluster or arrangement, or a drag has ended."""
        with self._lock:
            if self._pickers.quiet or not self._canvas_moved():
                return
            cluster, layout = self.canvas.state
            before = self._steps.now
            state = before.with_cluster(cluster, layout)
            self._aside = _switched(before, state)
            try:
                self._adopt(before if state == before else state)
            except Exception as error:
                self._show_controls(before)
                self.canvas.error = sentence(error)
            else:
                if not self.canvas.dragging and self.state is not before:
                    self._steps = self._steps.to(self.state, "", time.monotonic())
                if not self.canvas.dragging:
                    self._show_controls(self.state)
            self._compute()
        self._wait()

    def _canvas_moved(self) -> bool:
        seen, self._seen = self._seen, (*self.canvas.state, self.canvas.dragging)
        return self._seen != seen

    def _step_to(self, step: Callable[[Steps], Steps]) -> None:
        with self._lock:
            self._say("")
            self._aside = ""
            self._steps = step(self._steps)
            self._adopt(self._steps.now)
            self._show_controls(self.state)
            self._compute()
        self._wait()

    def _show_pair(self, partitioner: str, scheduler: str) -> None:
        """A cell of the comparison was clicked: that pair, with default options, as it was compared."""

        def pair(state: State) -> State:
            state = replace(state, partitioner=partitioner, scheduler=scheduler, wished="")
            return state.with_options("partitioner", {}).with_options("scheduler", {})

        self._go(pair)

    # ---------------------------------------------------------------- what is computed

    def _adopt(self, state: State) -> None:
        """Make `state` the newest, if it describes a problem; `_compute` is called once the controls say so, too."""
        before, problem = self._now
        state = before if state == before else state
        self._now = (state, problem if state.rules == before.rules else state.problem())
        if state.cluster.n_devices != before.cluster.n_devices:
            self.canvas.peak = self.canvas.load = []  # of devices that may be gone

    def _ask_again(self) -> None:
        """The same question, to be answered anew."""
        with self._lock:
            state, problem = self._now
            self._now = (replace(state), problem)
            self._compute()

    def _compute(self) -> None:
        """The worker catches up, unless a hand is faster than the strategies."""
        if self._keeps_up:
            self._worker.wake()
        self.comparison.follow(self.problem, self.state, self.canvas.dragging)

    def _wait(self) -> None:
        """Give the worker a moment; what takes longer is shown as stale meanwhile."""
        with self._answer:
            if self._keeps_up:
                self._answer.wait_for(lambda: not self._due or not self._worker.active, PATIENCE)
            self._mark_stale()

    def _mark_stale(self) -> None:
        self.gantt.stale = self._result is not None and (self._result.state is not self.state or self._due)

    @property
    def _due(self) -> bool:
        """Whether the newest state has no answer yet, or none but a preview although no hand drags any more."""
        return self._answered is not self.state or (self._previewed and not self.canvas.dragging)

    @property
    def _keeps_up(self) -> bool:
        """Whether the newest state is to be computed now: always, but for slow strategies under a hand that drags."""
        return not self.canvas.dragging or self._manner(self.state) != NOT

    def _manner(self, state: State) -> str:
        return self._paces.manner(function_of(state), _task(state))

    def _catch_up(self) -> None:
        """The worker's call: solve what is newest; then, when nothing newer has come, what need not follow a hand."""
        state, problem = self._now
        if self._due:
            if not self._keeps_up and self._awaited is not state:
                return
            self._solve(state, problem)
        for work in (self.gantt.settle, self._check, self._actions.offer_code, self._explain, self._measure):
            if self._worker.woken or self.canvas.dragging or self._failure or self._due:
                return
            work()

    def _solve(self, state: State, problem: Problem) -> None:
        """Compute and show what `state` comes to; nothing, when a newer state has stopped the search."""
        preview = self.canvas.dragging and self._manner(state) == PREVIEW
        function, floor = function_of(state), best_bound(problem) if searches(function_of(state)) else 0.0
        newer = lambda: self._now[0] is not state or self._worker.closed  # noqa: E731
        search = Search(state.partitioner, newer, "cancel" in function.reserved, preview, floor)
        try:
            if searches(function):
                self._line.begin(search)
            result = self._timed(state, problem, search, preview)
            if result is None:
                return self._rest()
            said = strip(result.schedule, result.violations)
        except Exception as error:  # a strategy of the user's may raise anything
            return self._rest() if search.overtaken else self._fail(state, problem, error, preview)
        if not self._adopted(result, state):
            return self._rest()
        with self._answering(result.state, preview):
            recovered, self._result, self._failure = self._failure, result, None
            self._show_result(result, *said)
        if recovered:
            self._chart.remove_class("pl-failed")
            self._rejection.hide()
            self._say("")

    @contextmanager
    def _answering(self, state: State, preview: bool) -> Iterator[None]:
        with self._answer:
            try:
                yield
            finally:
                self._answered, self._previewed = state, preview
                self._mark_stale()
                self._answer.notify_all()

    def _fail(self, state: State, problem: Problem, error: Exception, preview: bool) -> None:
        with self._answering(state, preview):
            self._failure = error
        self._chart.add_class("pl-failed")
        self.canvas.peak = self.canvas.load = []  # of a placement that is none any more
        self._line.rest()
        if isinstance(error, InfeasibleError) and error.devices:
            shown = self._result is not None and self._result.state.graph is state.graph
            self._rejection.show(error, problem, shown)
            self._say("")
        else:
            self._rejection.hide()
            self._say(blame(error, state), "bad")

    def _adopted(self, result: Result, asked: State) -> bool:
        """`planned` had no plan to follow: the state is that of another scheduler, and a sentence says so.

        False when a newer state has come meanwhile.
        """
        if result.state is asked:
            return True
        with self._lock:
            if self.state is not asked:
                return False
            self._adopt(result.state)
            self._steps = self._steps.instead(self.state)
            self._show_controls(self.state)
            self.comparison.follow(self.problem, self.state, self.canvas.dragging)
            self._say(
                f"{asked.partitioner} plans no order for planned to follow; {self.state.scheduler} decides who runs next.",
                "note",
            )
        return True

    def _check(self) -> None:
        """Whether the schedule is legal, where a hand could not wait for that."""
        if self._result.violations is None:
            self._result = replace(self._result, violations=validate(self._result.schedule, memory=False))
            self.gantt.numbers, _ = strip(self._result.schedule, self._result.violations)

    def _explain(self) -> None:
        """Why the selected op is where it is, and then."""
        self.gantt.detail = self._reasons.detail(self._result, self.gantt.selection)

    def _measure(self) -> None:
        """Find out whether the strategies can follow a hand after all, now that nothing else is computed."""
        function = function_of(self.state)
        if not self._paces.whole.unsure or function.slow or "preview" in function.reserved:
            return
        if jit.compiling():
            self._say(
                "Kernels are being compiled, once for this machine; until that is done things take longer.", "note"
            )
            while jit.compiling():
                if not self._worker.sleep(0.2):
                    return
            self._say("")
        if self.comparison.running:  # and wakes the worker when it has ended
            return
        state, problem = self._now
        self._timed(state, problem, Search("", lambda: self._worker.woken, can_stop=False), preview=False)

    def _timed(self, state: State, problem: Problem, search: Search, preview: bool) -> Result | None:
        """Place, run, check; None when the search was overtaken."""
        dragging, compiling = self.canvas.dragging, jit.compiling()
        placement, ops, stand_in = searched(state, problem, search, preview, trace=not dragging)
        overtaken = placement is None or search.overtaken
        state = state if overtaken else runnable(state, placement)
        schedule = None if overtaken else run(state, placement)
        compiling, alone = compiling or jit.compiling(), not self.comparison.running
        alone = alone and not compiling
        self._paces = self._paces.measured(_task(state), search.elapsed, alone, compiling, preview)
        if schedule is None:
            return None
        later = dragging and state.graph.n_ops > MANY
        violations = None if later else validate(schedule, memory=False)
        return Result(state, schedule, violations, stand_in, stopped=search.halted, ops=ops)

    # ---------------------------------------------------------------- what is shown

    def _show_result(self, result: Result, numbers: list[Item], warning: str) -> None:
        schedule, gantt = result.schedule, self.gantt
        with gantt.hold_sync():
            gantt.show(schedule, dragging=self.canvas.dragging)
            gantt.numbers, gantt.warning, gantt.detail = numbers, warning, ""
        self._rest()
        self._pickers.prepare.tell(schedule.problem.graph.n_ops, result.ops)
        limited = result.state.memory != "none" and np.isfinite(schedule.problem.cluster.memory).any()
        with self.canvas.hold_sync():
            self.canvas.peak = schedule.peak_memory.tolist() if limited else []
            self.canvas.load = link_load(schedule).tolist() if schedule.problem.cluster.n_devices <= FEW else []

    def _rest(self) -> None:
        """The notes of what is shown."""
        result = self._result
        notes = [] if result is None else [*result.notes, self._aside]
        self._line.rest([note for note in notes if note], result is not None and result.stopped)

    def _show_controls(self, state: State) -> None:
        with self._lock:
            self._pickers.show(state)
            self._pickers.quiet = True
            try:
                if self.canvas.state != (state.cluster, state.layout):
                    self.canvas.restore((state.cluster, state.layout))
            finally:
                self._pickers.quiet = False
            past, future = bool(self._steps.past), bool(self._steps.future)
            self._actions.show(self._steps)
            self.canvas.can_undo, self.canvas.can_redo = past, future

    # ---------------------------------------------------------------- how it is put together

    def _assemble(self) -> list[w.Widget]:
        style = w.HTML(
            f"<style>{(Path(__file__).parent / 'explorer.css').read_text()}</style>", layout=w.Layout(display="none")
        )
        problem, *rows = self._pickers.rows
        top = w.HBox([problem, self._actions.box]).add_class("pl-top")
        middle = w.HBox([w.Box([self.canvas]).add_class("pl-canvas"), self.comparison.box]).add_class("pl-middle")
        return [style, top, *rows, self._message, middle, self._line.box, self._chart]

    def _listen(self) -> None:
        self.canvas.observe(self._edited, ["value", "dragging", "cluster"])
        self.gantt.observe(lambda _: self._worker.wake(), "selection")
        strategies.on_change.append(self._follow)

    def _catalogue_changed(self) -> None:
        """A strategy is new or was replaced: it is in the pickers at once, and what is shown is done again with it."""
        with self._lock:
            self._show_controls(self.state)
            self._now = (replace(self.state), self.problem)
            if self._view_count != 0:
                self._worker.wake()
                self.comparison.again()

    def _shown(self) -> tuple[State, Schedule, list[Item]]:
        return self.state, self.schedule, self.gantt.numbers

    def _select(self, op: int) -> None:
        self.gantt.selection = op


def _task(state: State) -> tuple:
    """What a measured time is the time of."""
    return state.graph, state.cluster.n_devices, state.preparation, state.partitioner, state.scheduler


def _switched(before: State, now: State) -> str:
    """A capacity that changes the memory model says so."""
    if before.memory == now.memory:
        return ""
    why = "a device has a capacity now" if now.memory != "none" else "no device has a capacity any more"
    return f"Memory model {now.memory}: {why}."
