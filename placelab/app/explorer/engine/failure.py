"""Why there is no result: a sentence, the part of the traceback that concerns a user, and what would make it feasible."""

from __future__ import annotations

import linecache
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt

import numpy as np

from placelab.app.explorer.engine.solving import Result, RunningCall, function_of, solve_state
from placelab.app.explorer.jobs import with_job
from placelab.app.explorer.offered import PIPELINE
from placelab.app.explorer.state import State
from placelab.base.errors import LONGEST, PlacelabError
from placelab.base.files import PACKAGE
from placelab.base.leaving import Caller
from placelab.base.threads import Background, Worker
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioners

INSTALLED = tuple({sysconfig.get_path(scheme) for scheme in ("stdlib", "platstdlib", "purelib", "platlib")})
LONGEST_TRACEBACK = 10_000  # characters


@dataclass(frozen=True, eq=False)
class Failure:
    """Why there is no result.

    Attributes
    ----------
    error
        What a cell that asks for the schedule gets.
    sentence
        What went wrong, on one line.
    traceback
        The calls from the first line outside placelab on, of all where that is none; "" for errors of
        placelab that no such line has raised.
    place
        Function and file of the last line outside placelab; "" for none.
    code
        Number and text of that line, which is the one marked, and of those around it.
    cell
        Text of the cell that it is in; "" where it is in none.
    """

    error: Exception
    sentence: str
    traceback: str
    place: str = ""
    code: tuple[tuple[int, str, bool], ...] = ()
    cell: str = ""

    @property
    def where(self) -> dict[str, object]:
        """Text and line of the cell; {} for none."""
        line = next((n for n, _, marked in self.code if marked), 1)
        return {"source": self.cell, "line": line} if self.cell else {}

    @property
    def shown(self) -> dict[str, object]:
        """What the page shows, as :class:`placelab.app.widgets.controls.Failed` has it."""
        lines = [list(line) for line in self.code]
        return dict(
            sentence=self.sentence, place=self.place, lines=lines, traceback=self.traceback, cell=bool(self.cell)
        )


def failure_of(error: BaseException, state: State) -> Failure:
    """The failure of the strategies of a state; an exit or an interrupt that they ask for is a bug like others."""
    known = isinstance(error, PlacelabError)
    lines = traceback.extract_tb(error.__traceback__)
    first = next((i for i, line in enumerate(lines) if _is_users(line.filename)), None)
    text = sentence(error)
    if not known:
        where = [line for line in lines if _is_users(line.filename)][-1:]
        text = f"{state.placer} + {state.scheduler}: {text}" + "".join(
            f" in line {line.lineno} of {line.name}" for line in where
        )
    shown = "" if known and first is None else _trace(error, lines[first or 0 :])
    last = next((line for line in reversed(lines) if _is_users(line.filename)), None)
    place, code = ("", ()) if last is None else (_place(last), _code_around(last))
    cell = "".join(linecache.getlines(last.filename)) if last is not None and _is_cell(last.filename) else ""
    return Failure(error if isinstance(error, Exception) else PlacelabError(text), text, shown, place, code, cell)


AROUND = 2  # lines shown before the one that failed; one is after it
WIDEST = 200  # characters of a line


def _place(line: traceback.FrameSummary) -> str:
    """Where a line is: its function, and its file unless that is a cell."""
    return f"in {line.name}, {'in a cell' if _is_cell(line.filename) else os.path.basename(line.filename)}"


def _is_cell(filename: str) -> bool:
    """Whether a file name is that of a cell, as IPython and ipykernel make them up."""
    return os.path.basename(filename).startswith("<ipython-input") or f"{os.sep}ipykernel_" in filename


def _code_around(line: traceback.FrameSummary) -> tuple[tuple[int, str, bool], ...]:
    """The line and those around it; nothing where its source is not known."""
    if line.lineno is None or not linecache.getline(line.filename, line.lineno):
        return ()
    numbers = range(max(line.lineno - AROUND, 1), line.lineno + 2)
    texts = [(n, linecache.getline(line.filename, n)) for n in numbers]
    return tuple((n, text.rstrip()[:WIDEST], n == line.lineno) for n, text in texts if text)


def sentence(error: BaseException) -> str:
    """The message of an error, with its class unless it is a PlacelabError."""
    if isinstance(error, PlacelabError):
        return str(error)
    text = " ".join("".join(traceback.format_exception_only(error)).split())  # also of one whose text cannot be made
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _trace(error: BaseException, lines: Sequence[traceback.FrameSummary]) -> str:
    causes = traceback.format_exception(error.__cause__) if error.__cause__ else []
    text = "".join([*causes, *traceback.format_list(lines), *traceback.format_exception_only(error)])
    return text if len(text) <= LONGEST_TRACEBACK else f"… {text[-LONGEST_TRACEBACK:]}"


def _is_users(file: str) -> bool:
    """Whether a file is neither placelab's nor of an installed library, nor text that one has compiled, as dataclasses do."""
    folders = (f"{folder}{os.sep}" for folder in (PACKAGE, *INSTALLED))
    return not file.startswith((*folders, "<frozen", "<string>"))


PAUSE = 0.3  # seconds without another failure before the search begins, so that it does not disturb a hand
LIMIT = 5.0  # seconds that a single attempt may take
EXACT = 1.01  # ratio between a factor that suffices and one that does not
QUICK = "heft"  # tries capacities in place of a strategy that searches for seconds
PLENTY = 1e9  # a factor that would suffice, if memory is what lacks


@dataclass(frozen=True)
class Remedies:
    """What has been found so far.

    Attributes
    ----------
    strategies
        Partitioners that place the problem within memory, with their makespans [s], the shortest first.
    memory
        Factor of all capacities with which the shown strategies would place it, exact to 1 %, or HEFT in place of one that
        searches for seconds; None while there is none.
    recompute
        Makespan of the pipeline with activations that are computed again [s]; None where there is no such, or it does not fit.
    ended
        Whether everything has been tried.
    """

    strategies: tuple[tuple[str, float], ...] = ()
    memory: float | None = None
    recompute: float | None = None
    ended: bool = False


class RemedySearch(Background):
    """A thread that looks for remedies of the newest failure.

    Parameters
    ----------
    show
        Called with the :class:`Remedies` whenever there are more.
    """

    def __init__(self, show: Callable[[Remedies], None]) -> None:
        self._show = show
        self._caller = Caller()
        self._failed: tuple[State, Problem] | None = None
        self._worker = Worker(self._run, "remedies")

    def begin(self, state: State, problem: Problem) -> None:
        """Look for remedies of a state that has no result."""
        self._failed = (state, problem)
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
        known = Remedies()
        if failed is None or not self._worker.sleep(PAUSE):
            return
        for known in _remedies(*failed, self._attempt):
            if self._worker.woken:
                return
            self._show(known)
        self._show(replace(known, ended=True))

    def _attempt(self, state: State, problem: Problem) -> Result | None:
        """A result within memory; None where there is none in time."""
        search = RunningCall(state.partitioner, lambda elapsed: self._worker.woken or elapsed > LIMIT)
        call = partial(solve_state, state, problem, search, preview=False, trace=False, check=False)
        if self._worker.woken:
            return None
        with suppress(BaseException):  # a strategy may raise anything, an exit, too; it is no remedy then
            result = self._caller.run(call, search.stop)
            return result if result and not len(result.schedule.oom) else None
        return None


Attempt = Callable[[State, Problem], Result | None]


def _remedies(state: State, problem: Problem, attempt: Attempt) -> Iterator[Remedies]:
    """Remedies, more at each step. Strategies that search for seconds are not tried."""
    known = Remedies()
    # What HEFT places within memory an exact search places, too.
    quick = state.with_strategy("partitioner", QUICK) if function_of(state).slow else state
    if np.isfinite(problem.cluster.memory).any():
        known = replace(known, memory=least_memory(lambda factor: attempt(*_with_memory(quick, factor)) is not None))
        yield known
    again = with_recomputing(state)
    if again is not state and (result := attempt(again, again.problem())):
        known = replace(known, recompute=result.schedule.makespan)
        yield known
    for name in [name for name, function in partitioners().items() if not function.slow and name != state.partitioner]:
        if result := attempt(state.with_strategy("partitioner", name), problem):
            strategies = sorted([*known.strategies, (name, result.schedule.makespan)], key=lambda pair: pair[1])
            known = replace(known, strategies=tuple(strategies))
            yield known


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


def least_memory(suffices: Callable[[float], bool]) -> float | None:
    """The least factor above 1 that suffices, too large by 1 % at most; None when none does.

    Where a larger factor does not always suffice when a smaller one does, a factor that suffices beside one that does not.

    >>> 3.7 <= least_memory(lambda factor: factor >= 3.7) <= 3.7 * 1.01
    True
    """
    if not suffices(PLENTY):
        return None
    low = 1.0
    high = 2.0
    while not suffices(high):
        low, high = high, 2 * high
        if high > PLENTY:
            return None
    while high > low * EXACT:
        middle = sqrt(low * high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
