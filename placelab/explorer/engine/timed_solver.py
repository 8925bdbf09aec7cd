"""Solve a state and measure how long that takes, to know what can be recomputed during a drag."""

from __future__ import annotations

from collections.abc import Callable

from placelab.analysis.validation import validate
from placelab.explorer.engine.pace import Paces
from placelab.explorer.engine.search import Search
from placelab.explorer.engine.solving import (
    Result,
    function_of,
    place_stoppable,
    simulate_state,
    with_runnable_scheduler,
)
from placelab.explorer.state import State
from placelab.kernels import jit
from placelab.problem.problem import Problem

MANY = 10_000  # ops; the validator takes several milliseconds for more, so it runs on release only


class TimedSolver:
    """Place, simulate and check states, and measure how long each takes.

    Parameters
    ----------
    alone
        Whether nothing else is being computed, which would disturb a measurement.
    """

    def __init__(self, alone: Callable[[], bool]) -> None:
        self._paces, self._alone = Paces(), alone

    def mode(self, state: State) -> str:
        """What to compute during a drag: ``FULL``, ``PREVIEW``, or nothing until ``ON_RELEASE``."""
        return self._paces.mode(function_of(state), _task(state))

    def worth_remeasuring(self, state: State) -> bool:
        """Whether another measurement could show that the strategies of a state are fast enough for a drag."""
        function = function_of(state)
        return self._paces.full.unsure and not function.slow and "preview" not in function.reserved

    def solve(self, state: State, problem: Problem, search: Search, *, preview: bool, dragging: bool) -> Result | None:
        """Place, simulate and check; None when the search was superseded.

        Parameters
        ----------
        preview
            Use the partitioner's preview.
        dragging
            Leave out the decision trace and, for large graphs, the validator.
        """
        compiling = jit.compiling()
        placement, ops, is_preview = place_stoppable(state, problem, search, preview, trace=not dragging)
        schedule = None
        if placement is not None and not search.superseded:
            state = with_runnable_scheduler(state, placement)
            schedule = simulate_state(state, placement)
        compiling, alone = compiling or jit.compiling(), self._alone()
        self._paces = self._paces.measured(_task(state), search.elapsed, alone and not compiling, compiling, preview)
        if schedule is None:
            return None
        later = dragging and state.graph.n_ops > MANY
        violations = None if later else validate(schedule, memory=False)
        return Result(state, schedule, violations, is_preview, stopped=search.halted, ops=ops)


def _task(state: State) -> tuple:
    """What a measured time belongs to."""
    return state.graph, state.cluster.n_devices, state.preparation, state.partitioner, state.scheduler
