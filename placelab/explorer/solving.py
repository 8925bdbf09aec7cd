"""What does a state come to? Place, run, check. Nothing here knows the browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from placelab.analysis.validation import Violation
from placelab.explorer.errand import LeftBehind, send
from placelab.explorer.search import Search
from placelab.explorer.state import State
from placelab.placing import place
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation import simulate
from placelab.strategies import PLANNED, default_scheduler, partitioners, transforms
from placelab.transforms import pipeline


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
        if self.preview and self.stopped:
            return [f"Stopped by hand before {self.state.partitioner} had anything: this is a quick stand-in for it."]
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


def searched(
    state: State, problem: Problem, search: Search, preview: bool, trace: bool
) -> tuple[Placement | None, int, bool]:
    """The placement, of how many ops, and whether it is a preview; None when the search was overtaken.

    A partitioner that searches and does not hear that it shall stop is left behind. If a hand wanted the best so far, its
    preview stands in for that.
    """
    asked = dict(progress=search.report, cancel=search.stop)
    if preview or not searches(function_of(state)):
        return *placed(state, problem, preview=preview, **asked), preview
    stand_in = "preview" in function_of(state).reserved
    try:
        whole = lambda: placed(state, problem, trace=trace, **asked)  # noqa: E731
        return *send(whole, lambda: search.stop() and (search.overtaken or stand_in)), False
    except LeftBehind:
        return (None, 0, False) if search.overtaken else (*placed(state, problem, preview=True), True)


def runnable(state: State, placement: Placement) -> State:
    """The state, with another scheduler where ``planned`` has no plan to follow."""
    lacks = placement.planned is None and state.scheduler == PLANNED
    return replace(state, scheduler=default_scheduler(placement), wished=state.scheduler) if lacks else state


def run(state: State, placement: Placement) -> Schedule:
    """The placement run by the state's scheduler."""
    options = state.options_of("scheduler")
    return simulate(placement.problem, placement, state.scheduler, seed=state.seed, **options)
