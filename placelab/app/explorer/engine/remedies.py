"""What would make a problem feasible that has no result: tried in the background, one after the other, the quickest first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import sqrt
from time import monotonic
from typing import Protocol

import numpy as np

from placelab.app.explorer.engine.solving import Result, RunningCall, function_of, solve_state
from placelab.app.explorer.jobs import with_job
from placelab.app.explorer.offered import PIPELINE
from placelab.app.explorer.state import State
from placelab.base.errors import PlacelabError
from placelab.base.leaving import Caller
from placelab.base.progress import never
from placelab.base.threads import Background, Worker
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioners
from placelab.strategies.searches.fallback import depth_first_need

PAUSE = 0.3  # seconds without another failure before the search begins, so that it does not disturb a hand
LIMIT = 5.0  # seconds that a single attempt may take
EXACT = 1.01  # ratio between a factor that suffices and one that does not
ROUGH = 1.05  # the same where another plan stands in, which takes long to look for
QUICK = "heft"  # tries capacities in place of a strategy that searches for seconds
PLENTY = 1e9  # a factor that would suffice, if memory is what lacks
ROUNDING = 1e-9  # relative; of capacities that just suffice
MEMORY, RECOMPUTE, STRATEGY = "memory", "recompute", "strategy"
# Of placelab's quick partitioners those that take four times as long as most (benchmarks/strategies.md), the quickest first: they
# are tried behind the others.
LONG = ("dls", "lc", "mcp", "fcp", "dsc", "flb", "hbmct", "sct", "m-sct")


@dataclass(frozen=True)
class Remedy:
    """Something that might work.

    Attributes
    ----------
    kind
        ``"memory"``: more of it on every device; ``"recompute"``: activations of a pipeline computed again where they are needed;
        ``"strategy"``: another partitioner.
    name
        Of that partitioner.
    value
        Factor of all capacities, or the makespan [s]; None where it does not help, or is not known yet.
    tried
        Whether that is known.
    """

    kind: str
    name: str = ""
    value: float | None = None
    tried: bool = False


@dataclass(frozen=True)
class Remedies:
    """What is tried on a state, in the order in which it is shown, and what has been found so far.

    Attributes
    ----------
    failure
        Equal to itself alone: a state may fail again, when its strategy has been mended, say.
    """

    state: State
    every: tuple[Remedy, ...]
    failure: object = field(default_factory=object, repr=False)

    @property
    def ended(self) -> bool:
        """Whether everything has been tried."""
        return all(remedy.tried for remedy in self.every)

    @property
    def helpful(self) -> list[Remedy]:
        """Those that work."""
        return [remedy for remedy in self.every if remedy.value is not None]

    def with_value(self, of: Remedy, value: float | None) -> Remedies:
        """The same with one tried."""
        known = replace(of, value=value, tried=True)
        return replace(self, every=tuple(known if remedy is of else remedy for remedy in self.every))


def remedies_of(state: State, problem: Problem) -> Remedies:
    """What is to be tried on a state without a result, nothing of it yet. Strategies that search for seconds are not among it."""
    names = [name for name, function in partitioners().items() if not function.slow and name != state.partitioner]
    strategies = sorted((Remedy(STRATEGY, name) for name in names), key=_turn)
    memory = [Remedy(MEMORY)] if np.isfinite(problem.cluster.memory).any() else []
    job = state.job
    recompute = [Remedy(RECOMPUTE)] if job is not None and job.kind == PIPELINE and not job.recompute else []
    return Remedies(state, (*memory, *recompute, *strategies))


def in_turn(remedies: Remedies) -> list[Remedy]:
    """In which order they are tried: the cheapest first."""
    return sorted(remedies.every, key=_turn)


def _turn(remedy: Remedy) -> float:
    """Capacities, of which ten are tried, come behind placelab's strategies; a user's own may take as long as is allowed."""
    if remedy.kind == RECOMPUTE:
        return 0.5
    if remedy.kind == MEMORY:
        return len(LONG) + 1
    function = partitioners().get(remedy.name)
    if function is None or not function.__module__.startswith("placelab."):
        return len(LONG) + 2
    return LONG.index(remedy.name) + 1 if remedy.name in LONG else 0


class RemedySearch(Background):
    """A thread that looks for remedies of the newest failure.

    Parameters
    ----------
    show
        Called with the :class:`Remedies` whenever one more has been tried.
    """

    def __init__(self, show: Callable[[Remedies], None]) -> None:
        self._show = show
        self._caller = Caller()
        self._failed: tuple[Remedies, Problem] | None = None
        self._worker = Worker(self._run, "remedies")

    def begin(self, remedies: Remedies, problem: Problem) -> None:
        """Look for remedies of a state that has no result."""
        self._failed = (remedies, problem)
        self._worker.wake()

    def end(self) -> None:
        """Stop looking: there is a result."""
        if self._failed:
            self._failed = None
            self._worker.wake()

    def close(self) -> None:
        """End the threads."""
        super().close()
        self._caller.close()

    def _run(self) -> None:
        failed = self._failed
        if failed is None or not self._worker.sleep(PAUSE):
            return
        known, problem = failed
        for remedy in in_turn(known):
            value = value_of(remedy, known.state, problem, self._attempt, lambda: self._worker.woken)
            if self._worker.woken:
                return
            known = known.with_value(remedy, value)
            self._show(known)

    def _attempt(self, state: State, problem: Problem, fallback: bool = True) -> Result | None:
        """A result within memory; None where there is none in time."""
        search = RunningCall(state.partitioner, lambda elapsed: self._worker.woken or elapsed > LIMIT)
        options = dict(preview=False, trace=False, check=False, fallback=fallback)
        call = partial(solve_state, state, problem, search, **options)
        if self._worker.woken:
            return None
        with suppress(BaseException):  # a strategy may raise anything, an exit, too; it is no remedy then
            result = self._caller.run(call, search.stop)
            return result if result and not len(result.schedule.oom) else None
        return None


class Attempt(Protocol):
    """Solve a state, with a plan that stands in where its partitioner is stuck, or without; None where it has no room."""

    def __call__(self, state: State, problem: Problem, fallback: bool = True) -> Result | None: ...


def value_of(
    remedy: Remedy, state: State, problem: Problem, attempt: Attempt, cancel: Callable[[], bool] = never
) -> float | None:
    """What a remedy would give, see :class:`Remedy`; None where it does not help."""
    if remedy.kind == MEMORY:
        return more_memory(state, problem, attempt, cancel)
    other = with_recomputing(state) if remedy.kind == RECOMPUTE else state.with_strategy("partitioner", remedy.name)
    if other is state:
        return None
    result = attempt(other, other.problem() if remedy.kind == RECOMPUTE else problem)
    return None if result is None else result.schedule.makespan


def more_memory(state: State, problem: Problem, attempt: Attempt, cancel: Callable[[], bool] = never) -> float | None:
    """The least factor of all capacities with which the strategies shown have room, HEFT in place of one that searches long.

    Notes
    -----
    What a plan made with plenty of memory holds is a bound. Below it the strategy is first tried alone: what stands in for one
    that is stuck takes a hundred times as long to look for, and is asked only below what that needs, for some seconds. What a
    depth-first plan needs is the bound of those, computed where they are asked at all.
    """
    # What HEFT places within memory an exact search places, too.
    quick = state.with_strategy("partitioner", QUICK) if function_of(state).slow else state
    room = attempt(*_with_memory(quick, PLENTY))
    if room is None or cancel():
        return None
    enough = _held(quick, problem, room, attempt)
    alone = least_memory(lambda factor: not cancel() and _has_room(quick, factor, attempt, fallback=False), enough)
    if cancel() or alone <= ROUGH:
        return alone
    until = monotonic() + LIMIT  # of large graphs a single answer may take as long
    late = lambda: cancel() or monotonic() > until  # noqa: E731
    suffices = lambda factor: not late() and _has_room(quick, factor, attempt)  # noqa: E731
    return least_memory(suffices, _depth_first(problem, alone, suffices, late), ROUGH)


def _held(state: State, problem: Problem, room: Result, attempt: Attempt) -> float:
    """A factor that suffices: what the plan with plenty of memory, `room`, holds."""
    memory = problem.cluster.memory
    limited = _limited(problem)
    if not limited.any():
        return PLENTY
    enough = float((room.schedule.peak_memory / memory)[limited].max()) * (1 + ROUNDING)
    return enough if enough > 1 and _has_room(state, enough, attempt) else PLENTY


def _depth_first(
    problem: Problem, enough: float, suffices: Callable[[float], bool], cancel: Callable[[], bool]
) -> float:
    """The factor that a depth-first plan needs where that is less than `enough`, which suffices, and suffices, too."""
    limited = _limited(problem)
    if not limited.any():
        return enough
    needed = depth_first_need(problem, cancel) / float(problem.cluster.memory[limited].min()) * (1 + ROUNDING)
    return needed if 1 < needed < enough and suffices(needed) else enough


def _limited(problem: Problem) -> np.ndarray:
    """Whether a device has some memory, and not without limit; shape (n_devices,)."""
    return np.isfinite(problem.cluster.memory) & (problem.cluster.memory > 0)


def _has_room(state: State, factor: float, attempt: Attempt, fallback: bool = True) -> bool:
    return attempt(*_with_memory(state, factor), fallback=fallback) is not None


def with_recomputing(state: State) -> State:
    """The state with activations of a pipeline computed again where they are needed; itself where there is none to change."""
    job = state.job
    if job is None or job.kind != PIPELINE or job.recompute:
        return state
    try:
        return with_job(state, replace(job, recompute=True))
    except PlacelabError:
        return state


def _with_memory(state: State, factor: float) -> tuple[State, Problem]:
    more = with_memory(state, factor)
    return more, more.problem()


def with_memory(state: State, factor: float) -> State:
    """The state with so many times the capacities."""
    return state.with_cluster(state.cluster.replace(memory=state.cluster.memory * factor), state.layout)


def least_memory(suffices: Callable[[float], bool], enough: float, exact: float = EXACT) -> float:
    """The least factor above 1 that suffices, too large by 1 % at most, or by what `exact` says.

    Where a larger factor does not always suffice when a smaller one does, a factor that suffices beside one that does not.

    Parameters
    ----------
    suffices
        Whether a factor does.
    enough
        One that does.

    Examples
    --------
    >>> 3.7 <= least_memory(lambda factor: factor >= 3.7, 1e9) <= 3.7 * 1.01
    True
    """
    low = 1.0
    high = enough
    while high > low * exact:
        middle = sqrt(low * high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
