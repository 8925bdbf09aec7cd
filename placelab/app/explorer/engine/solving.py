"""Solve a state in a thread that can be left, in the pace of a drag: place, simulate, check; and explain an op of the result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, TypeVar

from placelab.analysis.hand_plans import alone
from placelab.analysis.validation import Violation, validate
from placelab.app.explorer.offered import HandPlan
from placelab.app.explorer.state import State, key_of
from placelab.app.widgets.details import Subject, cost_of, details_of
from placelab.app.widgets.details_parts import Details
from placelab.app.widgets.gantt_chart import detail_of
from placelab.base.errors import PlacelabError
from placelab.base.leaving import Abandoned, Caller
from placelab.base.progress import Progress, compiling, never
from placelab.base.units import SI, Units, seconds
from placelab.graphs.transforms import chain
from placelab.kernels import jit
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import PLANNED, Partitioner, default_scheduler, partitioners, schedulers, transforms
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.schedule.trace import Trace
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place_only

ENDING = 10.0  # seconds that a strategy with something to return has for it after a user has stopped it


class StoppedError(PlacelabError):
    """A user has stopped a strategy that had no result yet."""


class RunningCall:
    """A call under way.

    Parameters
    ----------
    title
        Name of the partitioner.
    outdated
        Whether the result is not wanted any more, of the seconds that the call has taken so far.
    floor
        A lower bound on every makespan [s], for searches that report none or a worse one.
    units
        How times are written.
    why
        Why it may take long, in a few words.

    Attributes
    ----------
    superseded
        Whether the call was stopped because its result would be outdated; it then has none.
    """

    def __init__(
        self, title: str, outdated: Callable[[float], bool], floor: float = 0.0, units: Units = SI, why: str = ""
    ) -> None:
        self.units = units
        self.why = why
        self.title = title
        self._outdated = outdated
        self._floor = floor
        self.superseded = False
        self._progress = Progress("")
        # In seconds after the beginning: when a user stopped the call, and when it learned so.
        self._halted = self._cancelled = inf
        self._started = perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return perf_counter() - self._started

    @property
    def progress(self) -> Progress:
        """The last report, with the best lower bound known."""
        return replace(self._progress, bound=max(self._progress.bound or 0.0, self._floor) or None)

    def report(self, progress: Progress) -> None:
        """Take a report of the partitioner; it may report as often as it likes."""
        self._progress = progress

    def halt(self) -> None:
        """Ask for the best placement so far, as a user does."""
        self._halted = self.elapsed

    @property
    def halted(self) -> bool:
        """Whether a user has asked for the best placement so far."""
        return self._halted < inf

    def cancel(self) -> bool:
        """Whether the partitioner is to stop; it calls this itself."""
        cancelled = self._update() or self.halted
        if cancelled:
            self._cancelled = min(self._cancelled, self.elapsed)
        return cancelled

    def stop(self) -> bool:
        """Whether to abandon the partitioner; the thread that waits for it calls this.

        A partitioner that has reported a plan, or has learned that a user has stopped it, has time to return its best placement,
        which takes a solver a while on a busy machine. Any other one has nothing to return and is abandoned at once.
        """
        promised = self._halted if self._progress.makespan is not None else self._cancelled
        ending = promised < inf and self.elapsed < promised + ENDING
        return self._update() or (self.halted and not ending)

    def _update(self) -> bool:
        self.superseded = self.superseded or self._outdated(self.elapsed)
        return self.superseded


@dataclass(frozen=True, eq=False)
class Result:
    """The schedule of a state.

    Attributes
    ----------
    violations
        What the validator found; None when it has not run yet.
    preview
        Whether the partitioner's preview made the placement.
    stopped
        Whether a user ended the search early.
    ops
        Number of ops that were placed: fewer than the graph has, when the graph was made smaller first.
    whole
        While ops wait to be placed by hand, the plan in which they stand behind the others; `schedule` is then that of the part
        that is placed, alone. None: nothing waits.
    """

    state: State
    schedule: Schedule
    violations: list[Violation] | None
    preview: bool = False
    stopped: bool = False
    ops: int = 0
    whole: Placement | None = None

    @property
    def placement(self) -> Placement:
        """The plan of all ops."""
        return self.schedule.placement if self.whole is None else self.whole

    @property
    def problem(self) -> Problem:
        """The problem of all ops."""
        return self.placement.problem

    @property
    def key(self) -> str:
        """What says which state it belongs to, see :mod:`placelab.app.explorer.state`."""
        return key_of(self.state, self.problem)

    @property
    def notes(self) -> list[str]:
        """Sentences about the result, the most urgent first."""
        notes = list(self.schedule.placement.notes)
        if self.preview and self.stopped:
            return [f"Stopped by hand before {self.state.placer} had anything: this is a quick stand-in for it."]
        if self.preview and not any("preview" in note.lower() for note in notes):
            notes.insert(0, f"Preview: a quick stand-in for {self.state.placer}; the result follows on release.")
        if self.stopped:
            notes.insert(0, "Stopped by hand: this is the best so far.")
        return notes


class OwnPlan:
    """A plan that is there already, as a partitioner that has nothing to decide."""

    summary = "A plan that was made by hand in the chart, or the best that is known; no strategy makes it anew."
    source = ""
    packages: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    slow = False

    def __init__(self, plan: HandPlan) -> None:
        self.name = plan.title
        self.options: dict[str, tuple[Any, Any]] = {}
        self._plan = plan

    def __call__(self, problem: Problem, **_: Any) -> Placement:
        return self._plan.placement(problem)


def function_of(state: State) -> Partitioner:
    """The partitioner of a state, or its plan by hand."""
    return OwnPlan(state.own_plan) if state.own_plan else partitioners()[state.partitioner]


def searches(partitioner: Partitioner) -> bool:
    """Whether a partitioner may take so long that its progress is shown."""
    return partitioner.slow or "progress" in partitioner.reserved


def why_long(state: State, problem: Problem) -> str:
    """What a call of the strategies of a state has to do, and for how long at most, in a few words."""
    function = function_of(state)
    scheduler = schedulers().get(state.scheduler)
    called = [function, *([] if scheduler is None else [scheduler]), *(transforms()[name] for name in state.prepare)]
    own = not all(each.__module__.startswith("placelab.") for each in called)
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    size = f"{n:,} ops on {k} device{'s' * (k != 1)}"
    defaults = {name: default for name, (_, default) in function.options.items()}
    limit = {**defaults, **state.options_of("partitioner")}.get("time_limit")
    parts = [
        f"searches placements of {size}" if function.slow else size,
        "" if limit is None else f"ends after {limit:g} s",
        "code of your own, which is not compiled" if own else "",
    ]
    return ", ".join(filter(None, parts))


def preparation(state: State) -> list[Callable]:
    """The transformations before placing, for ``place(..., prepare=)``."""
    return [partial(transforms()[name], **options) for name, options in state.preparation]


def place_state(state: State, problem: Problem, **extra: Any) -> tuple[Placement, int]:
    """Place a problem with the partitioner of a state; return the placement and the number of ops that were placed."""
    if state.own_plan:
        return function_of(state)(problem), problem.graph.n_ops
    placed: list[Problem] = []

    def prepare(problem: Problem) -> tuple[Problem, Callable]:
        smaller, expand = chain(preparation(state))(problem)
        placed.append(smaller)
        return smaller, expand

    options = state.options_of("partitioner")
    placement = place_only(problem, state.partitioner, prepare=prepare, seed=state.seed, **extra, **options)
    return placement, placed[0].graph.n_ops


def with_runnable_scheduler(state: State, placement: Placement) -> State:
    """The state, its scheduler replaced when that is ``planned`` and the placement has no plan."""
    if placement.planned is not None or state.scheduler != PLANNED:
        return state
    return replace(state, scheduler=default_scheduler(placement), requested_scheduler=PLANNED)


def simulate_state(state: State, placement: Placement) -> Schedule:
    """Simulate a placement under the scheduler of a state: of a plan by hand the ops that are placed, alone."""
    options = state.options_of("scheduler")
    placement = placement if state.placed is None else alone(placement, state.placed)
    return simulate(placement.problem, placement, state.scheduler, seed=state.seed, **options)


def solve_state(
    state: State,
    problem: Problem,
    search: RunningCall,
    *,
    preview: bool,
    trace: bool,
    check: bool,
    fallback: bool = True,
) -> Result | None:
    """Place, simulate and validate; None when the search was superseded.

    Parameters
    ----------
    preview
        Use the partitioner's preview, which a user does not stop.
    trace
        Record the partitioner's decisions.
    check
        Run the validator.
    fallback
        Whether another plan stands in where the partitioner is stuck for want of memory.
    """
    cancel = (lambda: search.stop() and search.superseded) if preview else search.cancel
    extra = dict(preview=True, fallback=fallback) if preview else dict(trace=trace, fallback=fallback)
    placement, ops = place_state(state, problem, progress=search.report, cancel=cancel, **extra)
    if search.superseded:
        return None
    state = with_runnable_scheduler(state, placement)
    schedule = simulate_state(state, placement)
    violations = validate(schedule, memory=False) if check else None
    whole = None if state.placed is None else placement
    return Result(state, schedule, violations, preview, stopped=search.halted, ops=ops, whole=whole)


MOST_TRIED = 5_000  # ops; each is simulated on a device that was never chosen, in some seconds together


class Reasons:
    """Explain ops; keep the decision trace of the latest result."""

    def __init__(self) -> None:
        self._traced: tuple[Result, Trace | None] | None = None

    def detail(self, result: Result, op: int, gap: int = -1, cancel: Callable[[], bool] = never) -> str:
        """A line each for the idle gap that selected an op, its device, if that was recorded, its start, the source of its time.

        "" where both are -1. A device that was never chosen is tried by each op of smaller graphs, until `cancel` returns True.
        """
        there = 0 <= op < result.state.graph.n_ops
        trace = self._trace(result) if there else None
        cost = cost_of(result.schedule, op) if there else ""
        said = [f"Its time: {cost}."] if cost else []
        return "\n".join([*detail_of(result.schedule, op, gap, trace, MOST_TRIED, cancel), *said])

    def details(self, result: Result, subject: Subject, cancel: Callable[[], bool] = never) -> Details:
        """What the drawer says of a subject (:func:`placelab.app.widgets.details.details_of`).

        Under a job or a plan the schedule may have other devices than the canvas, on which a value was chosen by their numbers.
        """
        if subject.value and result.schedule.problem.cluster.names != result.state.cluster.names:
            label = str(subject.value.get("label", ""))
            return {"title": label, "note": "the job has devices of its own", "facts": [], "over": True}
        trace = self._trace(result) if 0 <= subject.op < result.state.graph.n_ops else None
        return details_of(result.schedule, subject, trace, most=MOST_TRIED, cancel=cancel)

    def _trace(self, result: Result) -> Trace | None:
        """The decisions behind a result; None where none can be had."""
        if self._traced is None or self._traced[0] is not result:
            self._traced = (result, traced(result).trace)
        return self._traced[1]


def traced(result: Result) -> Placement:
    """The placement with its decisions; a quick partitioner that did not record them is called again."""
    state = result.state
    placement = result.placement
    repeatable = not (function_of(state).slow or result.stopped or result.preview)
    if placement.trace is not None or not repeatable:
        return placement
    return place_state(state, placement.problem, trace=True)[0]


FULL, PREVIEW, ON_RELEASE = "full", "preview", "on release"  # what is computed during a drag
LIVE = 2.0  # seconds; what takes longer is recomputed on release only
SMOOTH = 0.2  # seconds; what takes longer and has a preview shows that: five pictures a second


class Pace:
    """Seconds that the last full result and the last preview of a task took.

    A task is what times depend on: graph, number of devices, strategies.
    """

    def __init__(self) -> None:
        self._known: tuple[Any, dict[bool, float]] = (None, {})

    def measured(self, task: tuple, seconds: float, preview: bool) -> None:
        """Take the time of a call; those of another task are forgotten."""
        self._known = (task, {**self._of(task), preview: seconds})

    def seconds(self, task: tuple, preview: bool = False) -> float | None:
        """Time of the last call; None before the first."""
        return self._of(task).get(preview)

    def mode(self, partitioner: Partitioner, task: tuple) -> str:
        """What to compute of a partitioner during a drag.

        A ``FULL`` result of whatever takes up to `LIVE` seconds, or is not known to take longer; the ``PREVIEW`` of a
        partitioner that has one, unless it is `SMOOTH` without; else nothing until ``ON_RELEASE``.
        """
        full = self.seconds(task)
        preview = self.seconds(task, preview=True)
        if "preview" in partitioner.reserved and (full is None or full > SMOOTH) and (preview or 0.0) <= LIVE:
            return PREVIEW
        if full is None:
            return ON_RELEASE if partitioner.slow else FULL
        return FULL if full <= LIVE else ON_RELEASE

    def _of(self, task: tuple) -> dict[bool, float]:
        known, times = self._known
        return times if known == task else {}


MANY = 10_000  # ops; the validator takes several milliseconds for more, so it runs on release only
T = TypeVar("T")


class TimedSolver:
    """Place, simulate and check states; measure them."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._caller = Caller()

    def mode(self, state: State) -> str:
        """What to compute during a drag: ``FULL``, ``PREVIEW``, or nothing until ``ON_RELEASE``."""
        return self._pace.mode(function_of(state), task(state))

    def delay(self, state: State) -> str:
        """A sentence on why nothing is computed during a drag."""
        took = self._pace.seconds(task(state))
        why = "searches for a long time" if took is None else f"takes {seconds(took)}"
        return f"{state.placer} {why}: its result follows on release."

    def solve(
        self,
        state: State,
        problem: Problem,
        search: RunningCall,
        stop: Callable[[], bool],
        *,
        preview: bool,
        dragging: bool,
    ) -> Result | None:
        """Place, simulate and check; None when the search was superseded.

        Parameters
        ----------
        stop
            Polled meanwhile: whether to leave the strategies; returns `search.stop()`.
        preview
            Use the partitioner's preview.
        dragging
            Leave out the decision trace and, for large graphs, the validator.

        Raises
        ------
        StoppedError
            A user has stopped strategies that had nothing to show.
        """
        before = compiling()
        ready = jit.ready()
        check = not (dragging and state.graph.n_ops > MANY)
        call = partial(solve_state, state, problem, search, trace=not dragging, check=check)
        try:
            result = self.call(partial(call, preview=preview), stop, state)
        except Abandoned:
            result = None if search.superseded else self._instead(state, search, call, stop)
        ended = result is not None and not result.stopped
        usual = not (before or compiling()) and ready == jit.ready()  # the next calls load and compile nothing
        if (ended or search.elapsed > LIVE) and usual:
            self._pace.measured(task(result.state if result else state), search.elapsed, preview)
        return result

    def call(self, call: Callable[[], T], stop: Callable[[], bool], state: State) -> T:
        """Run a call of the strategies of a state, as :meth:`Caller.run`: those left on one model hold up no other."""
        strategies = function_of(state), schedulers().get(state.scheduler)
        return self._caller.run(call, stop, (*strategies, id(state.graph)))  # a call that runs on keeps its graph

    def close(self) -> None:
        """End the thread."""
        self._caller.close()

    def _instead(self, state: State, search: RunningCall, call: Callable, stop: Callable[[], bool]) -> Result | None:
        """The preview, when a user has stopped a partitioner that had no result yet."""
        taken = seconds(search.elapsed)
        until = search.elapsed + LIVE
        with suppress(Abandoned):
            if "preview" in function_of(state).reserved:
                leave = lambda: stop() and (search.superseded or search.elapsed > until)  # noqa: E731
                return self.call(partial(call, preview=True), leave, state)
        if search.superseded:
            return None
        raise StoppedError(f"{state.placer} + {state.scheduler}: stopped by hand after {taken}, without a result")


def task(state: State) -> tuple:
    """What the time of a call depends on."""
    return state.graph, state.cluster.n_devices, state.preparation, state.placer, state.scheduler
