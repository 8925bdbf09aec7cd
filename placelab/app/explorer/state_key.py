"""What says to which state a result belongs: a hash of the problem, and one of what makes a schedule of it."""

from __future__ import annotations

from hashlib import blake2b
from itertools import count

from placelab.app.explorer.state import State
from placelab.base.errors import FormatError
from placelab.base.once import once
from placelab.problem.problem import Problem
from placelab.problem.problem_key import problem_key
from placelab.schedule.catalogue import partitioners, schedulers

SHOWN = 12  # characters of each hash: a session has some thousand states
_numbers = count()


def key_of_problem(state: State, problem: Problem) -> str:
    """The hash of a problem and of what all pairs of strategies are told of it: seed and transformations."""
    return _hash(f"{_problem(problem)} {state.seed} {state.preparation}")


def key_of(state: State, problem: Problem) -> str:
    """The hash of the problem, a colon, and that of the strategies with their options, or of the plan in their place.

    Equal states have equal keys. A strategy that is defined anew has another key than the one of its name before.
    """
    plan = state.own_plan
    placed = _number(partitioners().get(state.partitioner)) if plan is None else _number(plan)
    parts = (
        placed,
        _number(schedulers().get(state.scheduler)),
        *(sorted(state.options_of(kind).items()) for kind in ("partitioner", "scheduler")),
    )
    return f"{key_of_problem(state, problem)}:{_hash(str(parts))}"


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=SHOWN // 2).hexdigest()


@once
def _problem(problem: Problem) -> str:
    """The digest that is there already; a problem that has none, since its metadata are not JSON, is equal to itself alone."""
    try:
        return problem_key(problem)
    except FormatError:
        return f"without a hash: {next(_numbers)}"


def _number(strategy: object) -> int:
    """A number of its own for each strategy or plan; 0 for one that has been taken out."""
    return 0 if strategy is None else _numbered(strategy)


@once
def _numbered(strategy: object) -> int:
    return next(_numbers) + 1
