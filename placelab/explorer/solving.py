"""What does a state come to? Place, run, check. Nothing here knows the browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from placelab.explorer.state import State
from placelab.problem import Problem
from placelab.schedule import Placement, Schedule
from placelab.simulate import simulate
from placelab.solve import place
from placelab.strategies import partitioners, transforms
from placelab.transforms import pipeline
from placelab.validate import Violation


@dataclass(frozen=True, eq=False)
class Result:
    """What a state comes to.

    Attributes
    ----------
    violations
        What the validator found; None: not looked for yet.
    preview
        Whether a quick stand-in of the partitioner made it.
    stopped
        Whether a hand ended the search before its time.
    ops
        How many ops were placed: fewer than there are, when the graph was made smaller first.
    """

    state: State
    schedule: Schedule
    violations: list[Violation] | None
    preview: bool = False
    stopped: bool = False
    ops: int = 0

    @property
    def notes(self) -> list[str]:
        """Sentences that belong to the result, the most urgent first."""
        said = list(self.schedule.placement.notes)
        if self.preview and not any("preview" in note.lower() for note in said):
            said.insert(0, f"Preview: a quick stand-in for {self.state.partitioner}; the result follows on release.")
        if self.stopped:
            said.insert(0, "Stopped by hand: this is the best so far.")
        return said


def function_of(state: State) -> Callable:
    """The partitioner of a state."""
    return partitioners()[state.partitioner]


def searches(partitioner: Callable) -> bool:
    """Whether a partitioner may take so long that it has to say how far it is."""
    return partitioner.slow or "progress" in partitioner.reserved


def preparation(state: State) -> list[Callable]:
    """The transformations before placing, for ``place(..., prepare=)``."""
    return [partial(transforms()[name], **options) for name, options in state.preparation]


def placed(state: State, problem: Problem, **asked: Any) -> tuple[Placement, int]:
    """The placement that the state's partitioner makes, and of how many ops."""
    made = []

    def prepare(problem: Problem) -> tuple[Problem, Callable]:
        made.extend(pipeline(preparation(state))(problem))
        return tuple(made)

    options = state.options_of("partitioner")
    placement = place(problem, state.partitioner, prepare=prepare, seed=state.seed, **asked, **options)
    return placement, made[0].graph.n_ops


def run(state: State, placement: Placement) -> Schedule | None:
    """The placement run by the state's scheduler; None when there is no plan for ``planned`` to follow."""
    if placement.planned is None and state.scheduler == "planned":
        return None
    options = state.options_of("scheduler")
    return simulate(placement.problem, placement, state.scheduler, seed=state.seed, **options)
