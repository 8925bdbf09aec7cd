"""Place, simulate and check what a state asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from placelab.analysis.validation import Violation, validate
from placelab.app.explorer.engine.search import Search
from placelab.app.explorer.state import State
from placelab.graphs.transforms import pipeline
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import PLANNED, Partitioner, default_scheduler, partitioners, transforms
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place


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
    """

    state: State
    schedule: Schedule
    violations: list[Violation] | None
    preview: bool = False
    stopped: bool = False
    ops: int = 0

    @property
    def notes(self) -> list[str]:
        """Sentences about the result, the most urgent first."""
        notes = list(self.schedule.placement.notes)
        if self.preview and self.stopped:
            return [f"Stopped by hand before {self.state.partitioner} had anything: this is a quick stand-in for it."]
        if self.preview and not any("preview" in note.lower() for note in notes):
            notes.insert(0, f"Preview: a quick stand-in for {self.state.partitioner}; the result follows on release.")
        if self.stopped:
            notes.insert(0, "Stopped by hand: this is the best so far.")
        return notes


def function_of(state: State) -> Partitioner:
    """The partitioner of a state."""
    return partitioners()[state.partitioner]


def searches(partitioner: Partitioner) -> bool:
    """Whether a partitioner may take so long that its progress is shown."""
    return partitioner.slow or "progress" in partitioner.reserved


def preparation(state: State) -> list[Callable]:
    """The transformations before placing, for ``place(..., prepare=)``."""
    return [partial(transforms()[name], **options) for name, options in state.preparation]


def place_state(state: State, problem: Problem, **extra: Any) -> tuple[Placement, int]:
    """Place a problem with the partitioner of a state; return the placement and the number of ops that were placed."""
    placed: list[Problem] = []

    def prepare(problem: Problem) -> tuple[Problem, Callable]:
        smaller, expand = pipeline(preparation(state))(problem)
        placed.append(smaller)
        return smaller, expand

    options = state.options_of("partitioner")
    placement = place(problem, state.partitioner, prepare=prepare, seed=state.seed, **extra, **options)
    return placement, placed[0].graph.n_ops


def with_runnable_scheduler(state: State, placement: Placement) -> State:
    """The state, its scheduler replaced when that is ``planned`` and the placement has no plan."""
    if placement.planned is not None or state.scheduler != PLANNED:
        return state
    return replace(state, scheduler=default_scheduler(placement), requested_scheduler=PLANNED)


def simulate_state(state: State, placement: Placement) -> Schedule:
    """Simulate a placement under the scheduler of a state."""
    options = state.options_of("scheduler")
    return simulate(placement.problem, placement, state.scheduler, seed=state.seed, **options)


def solve_state(
    state: State, problem: Problem, search: Search, *, preview: bool, trace: bool, check: bool
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
    """
    cancel = (lambda: search.stop() and search.superseded) if preview else search.cancel
    extra = dict(preview=True) if preview else dict(trace=trace)
    placement, ops = place_state(state, problem, progress=search.report, cancel=cancel, **extra)
    if search.superseded:
        return None
    state = with_runnable_scheduler(state, placement)
    schedule = simulate_state(state, placement)
    violations = validate(schedule, memory=False) if check else None
    return Result(state, schedule, violations, preview, stopped=search.halted, ops=ops)
