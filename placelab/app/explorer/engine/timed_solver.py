"""Solve states in a thread that can be left, and measure how long each takes, to know what a drag can follow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from placelab.app.explorer.engine.pace import LIVE, Pace
from placelab.app.explorer.engine.search import Search, StoppedError
from placelab.app.explorer.engine.solving import Result, function_of, solve_state
from placelab.app.explorer.state import State
from placelab.base.compiling import compiling
from placelab.base.leaving import Abandoned, Caller
from placelab.base.units import seconds
from placelab.kernels import jit
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import schedulers

MANY = 10_000  # ops; the validator takes several milliseconds for more, so it runs on release only
T = TypeVar("T")


class TimedSolver:
    """Place, simulate and check states; measure them."""

    def __init__(self) -> None:
        self._pace, self._caller = Pace(), Caller()

    def mode(self, state: State) -> str:
        """What to compute during a drag: ``FULL``, ``PREVIEW``, or nothing until ``ON_RELEASE``."""
        return self._pace.mode(function_of(state), task(state))

    def delay(self, state: State) -> str:
        """A sentence on why nothing is computed during a drag."""
        took = self._pace.seconds(task(state))
        why = "searches for long" if took is None else f"takes {seconds(took)}"
        return f"{state.partitioner} {why}: its result follows on release."

    def solve(
        self, state: State, problem: Problem, search: Search, stop: Callable[[], bool], *, preview: bool, dragging: bool
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
        before, ready = compiling(), jit.ready()
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
        """Run a call of the strategies of a state, as :meth:`Caller.run`."""
        return self._caller.run(call, stop, (function_of(state), schedulers().get(state.scheduler)))

    def close(self) -> None:
        """End the thread."""
        self._caller.close()

    def _instead(self, state: State, search: Search, call: Callable, stop: Callable[[], bool]) -> Result | None:
        """The preview, when a user has stopped a partitioner that had no result yet."""
        taken, until = seconds(search.elapsed), search.elapsed + LIVE
        with suppress(Abandoned):
            if "preview" in function_of(state).reserved:
                leave = lambda: stop() and (search.superseded or search.elapsed > until)  # noqa: E731
                return self.call(partial(call, preview=True), leave, state)
        if search.superseded:
            return None
        raise StoppedError(f"{state.partitioner} + {state.scheduler}: stopped by hand after {taken}, without a result")


def task(state: State) -> tuple:
    """What the time of a call depends on."""
    return state.graph, state.cluster.n_devices, state.preparation, state.partitioner, state.scheduler
