"""Compute the newest state on a worker thread and show its result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from placelab.analysis.validation import validate
from placelab.app.explorer.engine.failure import Failure, failure_of
from placelab.app.explorer.engine.solving import (
    FULL,
    LIVE,
    ON_RELEASE,
    PREVIEW,
    Reasons,
    Result,
    RunningCall,
    TimedSolver,
    function_of,
    searches,
    task,
    why_long,
)
from placelab.app.explorer.panels.numbers import is_outstanding
from placelab.app.explorer.panels.result_view import ResultView
from placelab.app.explorer.state import State
from placelab.app.widgets.gantt_chart import proof_of
from placelab.base.errors import PlacelabError
from placelab.base.leaving import Abandoned
from placelab.base.progress import compiling
from placelab.base.threads import Background, Worker
from placelab.planning.lower_bounds import best_bound, is_proven, known_bounds
from placelab.problem.problem import Problem

# Seconds that a browser's message waits for its result, so that the browser sends no faster than results come. When results take
# longer, the next value is there before they are.
PATIENCE = 0.05
SHOWN_AFTER = 0.5  # seconds before a call is shown over the chart, so that short ones do not flicker
# Seconds after which a call is left for a newer state: of other strategies; of the same ones, a step of a slider, say.
OTHER = 0.1
SAME = 0.3
COMPILED = "Kernels are being compiled, once for this machine; until that is done things take longer."


class Computation(Background):
    """Catch up with the newest state; never queue older ones.

    Parameters
    ----------
    now
        Returns the newest state and its problem.
    dragging
        Whether a user is dragging on the canvas.
    view
        Shows the results.
    replace_scheduler
        Takes the state that was asked for and the same with a scheduler that can run its placement; returns False when a
        newer state has come meanwhile.
    afterwards
        Called after a full result.

    Attributes
    ----------
    result, failure
        The last result, and why the last state has none; None where there is none.

    Notes
    -----
    The worker shows results under a lock of its own, so that a message that waits for a result does not block it. Strategies run
    in another thread (:class:`placelab.base.leaving.Caller`), which is left when their state is outdated. States
    are compared by identity to see whether they were computed: an equal but new state asks for a new computation.
    """

    def __init__(
        self,
        now: Callable[[], tuple[State, Problem]],
        dragging: Callable[[], bool],
        view: ResultView,
        replace_scheduler: Callable[[State, State], bool],
        afterwards: Callable[[], None],
    ) -> None:
        self._now = now
        self._dragging = dragging
        self._view = view
        self._replace_scheduler = replace_scheduler
        self._afterwards = afterwards
        self._answer = threading.Condition()  # guards what the worker computes, the next three, `result` and `failure`
        self._answered: State | None = None
        self._previewed = False  # whether that answer is a preview
        self._awaited: State | None = None  # what a cell waits for, also during a drag
        self.failure: Failure | None = None
        self.result: Result | None = None
        self._reasons = Reasons()
        self._solver = TimedSolver()
        self._left: State | None = None  # what nobody waits for any more
        self._worker = Worker(self._catch_up, "schedule")
        self._compiler = Worker(self._watch_compiler, "compiler")

    @property
    def newest(self) -> Result:
        """The result of the newest state; waits for it, and raises the exception that kept the strategies from making it."""
        self._ask()
        with self._answer:
            self._answer.wait_for(self._is_there)
            if self.failure:
                raise self.failure.error
            if self.result is None:
                raise PlacelabError("the explorer was closed before its first schedule; open a new one")
            return self.result

    def answered(self, timeout: float | None = None) -> bool:
        """Whether the schedule of the newest state, or what keeps it from being made, comes within so many seconds."""
        self._ask()
        with self._answer:
            return self._answer.wait_for(self._is_there, timeout)

    def _ask(self) -> None:
        """Have the newest state computed, also during a drag."""
        if self._due:
            self._awaited = self._now()[0]
            self.wake()

    def _is_there(self) -> bool:
        return not self._due or self._worker.closed

    def start(self) -> None:
        """Compute the newest state, or say why it waits for the end of a drag."""
        if self._keeps_up:
            self.wake()
        else:
            self._view.line.rest([self._solver.delay(self._now()[0])])

    def wake(self) -> None:
        """Do what is left to do for the newest state."""
        self._left = None
        self._worker.wake()

    def leave(self) -> None:
        """End what is being computed, since nobody sees the explorer any more; `wake` begins it again."""
        self._left = self._now()[0]

    def wait(self) -> None:
        """Give the worker a moment; a result that takes longer is shown as stale meanwhile."""
        with self._answer:
            if self._keeps_up:
                self._answer.wait_for(lambda: not self._due or not self._worker.active, PATIENCE)
            self._mark_stale()

    @property
    def active(self) -> bool:
        """Whether a result is being computed or due."""
        return self._worker.active

    def close(self) -> None:
        """End the threads."""
        super().close()
        self._compiler.close()
        self._solver.close()

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
        if self._left is state:
            return
        if self._due:
            if not self._keeps_up and self._awaited is not state:
                return
            self._solve(state, problem)
        for work in (
            self._view.gantt.settle,
            self._check,
            self._afterwards,
            self._explain,
            self._prove,
            self._tell_of_compiler,
        ):
            if self._worker.woken or self._dragging() or self.failure or self._due:
                return
            work()

    def _solve(self, state: State, problem: Problem) -> None:
        """Compute and show the result of `state`; show nothing when a newer state has superseded the search."""
        dragging = self._dragging()
        preview = dragging and self._solver.mode(state) == PREVIEW
        shown_after = LIVE if dragging else SHOWN_AFTER
        floor = max(known_bounds(problem).values()) if searches(function_of(state)) else 0.0
        search = RunningCall(
            state.placer,
            lambda elapsed: self._outdated(state, preview, elapsed),
            floor,
            problem.cluster.units,
            why_long(state, problem),
        )

        def stop() -> bool:
            if search.elapsed > shown_after:
                self._view.line.show(search)
            return search.stop()

        try:
            result = self._solver.solve(state, problem, search, stop, preview=preview, dragging=dragging)
            if result is None:
                return self._view.rest(self.result)
        except BaseException as error:  # a user's strategy may raise anything
            return self._view.rest(self.result) if search.superseded else self._fail(state, problem, error, preview)
        if result.state is not state and not self._replace_scheduler(state, result.state):
            return self._view.rest(self.result)
        with self._answering(result.state, preview):
            recovered = self.failure
            self.result = result
            self.failure = None
            self._view.show(result)
            if recovered:
                self._view.recover()  # before anybody who waits for the result looks

    def _outdated(self, state: State, preview: bool, elapsed: float) -> bool:
        """Whether to leave a call for a newer state; one that keeps up with a moving hand is allowed to end, and is shown."""
        now = self._now()[0]
        if self._worker.closed or self._left is state:
            return True
        if now is state:
            return False
        if task(now) != task(state):
            return elapsed > OTHER
        followed = self._dragging() and self._solver.mode(now) == (PREVIEW if preview else FULL)
        return elapsed > (LIVE if followed else SAME)

    @contextmanager
    def _answering(self, state: State, preview: bool) -> Iterator[None]:
        with self._answer:
            try:
                yield
            finally:
                self._answered = state
                self._previewed = preview
                self._mark_stale()
                self._answer.notify_all()

    def _fail(self, state: State, problem: Problem, error: BaseException, preview: bool) -> None:
        with self._answering(state, preview):
            self.failure = failure = failure_of(error, state)
        same_graph = self.result is not None and self.result.state.graph is state.graph
        self._view.fail(failure, state, problem, same_graph)

    def _check(self) -> None:
        """Run the validator and prove the best bound where a drag could not wait for them."""
        result = self.result
        assert result is not None  # an answer is a result or a failure
        problem = result.schedule.problem
        if result.violations is None or is_outstanding(self._view.gantt.numbers):
            if not is_proven(problem):
                with suppress(Abandoned):
                    self._solver.call(lambda: best_bound(problem), lambda: self._worker.woken, result.state)
            if result.violations is None:
                self.result = result = replace(result, violations=validate(result.schedule, memory=False))
            self._view.measure(result, self._view.gantt.result_of)
        if not result.violations and result.whole is None:
            self._view.learn(result.schedule)

    def _explain(self) -> None:
        """Explain what was clicked: the device and the start of an op, a gap, a transfer, a device."""
        result = self.result
        gantt = self._view.gantt
        woken = lambda: self._worker.woken  # noqa: E731
        assert result is not None  # an answer is a result or a failure
        with suppress(Abandoned):
            subject = gantt.subject
            said = lambda: (  # noqa: E731
                self._reasons.detail(result, subject.op, subject.gap, woken),
                self._reasons.details(result, subject, woken),
            )
            detail, details = self._solver.call(said, woken, result.state)
            gantt.take(detail=detail, details=details and {**details, "of": gantt.result_of})

    def _prove(self) -> None:
        """Show why no schedule is shorter than the proven bound."""
        result = self.result
        gantt = self._view.gantt
        assert result is not None  # an answer is a result or a failure
        problem = result.problem
        if gantt.proof or not gantt.proof_shown:
            return
        with suppress(Abandoned):
            gantt.prove(problem, self._solver.call(lambda: proof_of(problem), lambda: self._worker.woken, result.state))

    def _tell_of_compiler(self) -> None:
        """Have a note shown while kernels are being compiled; what is computed does not wait for that."""
        if compiling():
            self._compiler.wake()

    def _watch_compiler(self) -> None:
        """Show the note, again after each newer state, and take it away once the compiler has ended."""
        if compiling():
            self._view.say(COMPILED, "note")
        while compiling():
            if not self._compiler.sleep(0.2):
                return
        self._view.unsay(COMPILED)
