"""Compute the newest state on a worker thread and show its result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from placelab.analysis.lower_bounds import best_bound
from placelab.analysis.validation import validate
from placelab.errors import PlacelabError
from placelab.explorer.engine.pace import ON_RELEASE, PREVIEW
from placelab.explorer.engine.reasons import Reasons
from placelab.explorer.engine.search import Search
from placelab.explorer.engine.solving import Result, function_of, searches
from placelab.explorer.engine.timed_solver import TimedSolver
from placelab.explorer.engine.worker import Worker
from placelab.explorer.panels.result_view import ResultView
from placelab.explorer.panels.strip import strip
from placelab.explorer.state import State
from placelab.kernels import jit
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

PATIENCE = (
    0.1  # seconds a browser's message waits for its result, so that the browser sends no faster than results come
)


class Computation:
    """Catch up with the newest state; never queue older ones.

    Parameters
    ----------
    now
        Returns the newest state and its problem.
    dragging
        Whether a user is dragging on the canvas.
    comparing
        Whether the comparison is being computed, which would disturb a measurement.
    view
        Shows the results.
    replace_scheduler
        Takes the state that was asked for and the same with a scheduler that can run its placement; returns False when a
        newer state has come meanwhile.
    afterwards
        Called after a full result.

    Notes
    -----
    The worker shows results under a lock of its own, so that a message that waits for a result does not block it. A search
    whose state is outdated is stopped, and its result is discarded. States are compared by identity to see whether they were
    computed: an equal but new state asks for a new computation.
    """

    def __init__(
        self,
        now: Callable[[], tuple[State, Problem]],
        dragging: Callable[[], bool],
        comparing: Callable[[], bool],
        view: ResultView,
        replace_scheduler: Callable[[State, State], bool],
        afterwards: Callable[[], None],
    ) -> None:
        self._now, self._dragging, self._comparing = now, dragging, comparing
        self._view, self._replace_scheduler, self._afterwards = view, replace_scheduler, afterwards
        self._answer = threading.Condition()  # guards what the worker computes, the next four and `result`
        self._answered: State | None = None
        self._previewed = False  # whether that answer is a preview
        self._awaited: State | None = None  # what a cell waits for, also during a drag
        self._failure: Exception | None = None
        self.result: Result | None = None
        self._reasons = Reasons()
        self._solver = TimedSolver(lambda: not comparing())
        self._worker = Worker(self._catch_up, "schedule")

    @property
    def schedule(self) -> Schedule:
        """The schedule of the newest state; waits for it, and raises the exception that kept the strategies from making it."""
        if self._due:
            self._awaited = self._now()[0]
            self._worker.wake()
        with self._answer:
            self._answer.wait_for(lambda: not self._due or self._worker.closed)
            if self._failure:
                raise self._failure
            if self.result is None:
                raise PlacelabError("the explorer was closed before its first schedule; open another")
            return self.result.schedule

    def start(self) -> None:
        """Compute the newest state, unless a drag is faster than the strategies."""
        if self._keeps_up:
            self._worker.wake()

    def wake(self) -> None:
        """Do what is left to do for the newest state."""
        self._worker.wake()

    def wait(self) -> None:
        """Give the worker a moment; a result that takes longer is shown as stale meanwhile."""
        with self._answer:
            if self._keeps_up:
                self._answer.wait_for(lambda: not self._due or not self._worker.active, PATIENCE)
            self._mark_stale()

    def settled(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; return False when that takes longer."""
        return self._worker.settled(timeout)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()

    @property
    def _due(self) -> bool:
        """Whether the newest state still needs a full result, or during a drag at least a preview."""
        return self._answered is not self._now()[0] or (self._previewed and not self._dragging())

    @property
    def _keeps_up(self) -> bool:
        """Whether to compute the newest state now: always, except for slow strategies during a drag."""
        return not self._dragging() or self._solver.mode(self._now()[0]) != ON_RELEASE

    def _mark_stale(self) -> None:
        outdated = self.result is not None and (self.result.state is not self._now()[0] or self._due)
        self._view.gantt.stale = outdated

    def _catch_up(self) -> None:
        """Solve the newest state; then, unless a newer one has come, do what need not keep up with a drag."""
        state, problem = self._now()
        if self._due:
            if not self._keeps_up and self._awaited is not state:
                return
            self._solve(state, problem)
        for work in (self._view.gantt.settle, self._check, self._afterwards, self._explain, self._measure):
            if self._worker.woken or self._dragging() or self._failure or self._due:
                return
            work()

    def _solve(self, state: State, problem: Problem) -> None:
        """Compute and show the result of `state`; show nothing when a newer state has superseded the search."""
        preview = self._dragging() and self._solver.mode(state) == PREVIEW
        function, floor = function_of(state), best_bound(problem) if searches(function_of(state)) else 0.0
        newer = lambda: self._now()[0] is not state or self._worker.closed  # noqa: E731
        search = Search(state.partitioner, newer, "cancel" in function.reserved, preview, floor)
        try:
            if searches(function):
                self._view.line.begin(search)
            result = self._solver.solve(state, problem, search, preview=preview, dragging=self._dragging())
            if result is None:
                return self._view.rest(self.result)
            numbers, warning = strip(result.schedule, result.violations)
        except Exception as error:  # a user's strategy may raise anything
            return self._view.rest(self.result) if search.superseded else self._fail(state, problem, error, preview)
        if result.state is not state and not self._replace_scheduler(state, result.state):
            return self._view.rest(self.result)
        with self._answering(result.state, preview):
            recovered, self.result, self._failure = self._failure, result, None
            self._view.show(result, numbers, warning)
        if recovered:
            self._view.recover()

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
        same_graph = self.result is not None and self.result.state.graph is state.graph
        self._view.fail(error, state, problem, same_graph)

    def _check(self) -> None:
        """Run the validator where a drag could not wait for it."""
        result = self.result
        assert result is not None  # an answer is a result or a failure
        if result.violations is None:
            self.result = result = replace(result, violations=validate(result.schedule, memory=False))
            self._view.gantt.numbers, _ = strip(result.schedule, result.violations)

    def _explain(self) -> None:
        """Explain the device and the start of the selected op."""
        assert self.result is not None  # an answer is a result or a failure
        self._view.gantt.detail = self._reasons.detail(self.result, self._view.gantt.selection)

    def _measure(self) -> None:
        """Measure the strategies again, now that nothing else is computed, if they might be fast enough for a drag."""
        if not self._solver.worth_remeasuring(self._now()[0]):
            return
        if jit.compiling():
            self._view.say(
                "Kernels are being compiled, once for this machine; until that is done things take longer.", "note"
            )
            while jit.compiling():
                if not self._worker.sleep(0.2):
                    return
            self._view.say("")
        if self._comparing():  # it wakes the worker when it ends
            return
        search = Search("", lambda: self._worker.woken, can_stop=False)
        self._solver.solve(*self._now(), search, preview=False, dragging=self._dragging())
