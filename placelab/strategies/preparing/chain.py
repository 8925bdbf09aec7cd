"""Chain the transformations that prepare a problem for placement, and map placements back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from placelab.base.errors import FormatError, PlacelabError
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import find, transforms
from placelab.schedule.placement import Placement

Expand = Callable[[Placement], Placement]
Transformation = Callable[[Problem], tuple[Problem, Expand]]  # a transform, options filled in, or any function like one
Transformations = str | Transformation | Iterable[str | Transformation]


def chain(steps: Transformations = ()) -> Transformation:
    """Combine several transformations into one that applies them in turn.

    Parameters
    ----------
    steps
        Names in the catalogue (``placelab.transforms.catalogue()``) or functions ``problem -> (smaller problem, expand)``;
        ``functools.partial(placelab.transforms.fuse, rule="exact")`` sets options. A single step need not be in a tuple.

    Returns
    -------
    function
        ``problem -> (smaller problem, expand)``; without steps both return their argument.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.load("convolutional_network"), pl.Cluster.uniform(4))
    >>> small, expand = chain(["coplace", "fuse"])(problem)
    >>> small.graph.n_ops < problem.graph.n_ops
    True
    >>> expand(pl.place(small, "heft")).problem is problem
    True
    """
    several = [steps] if isinstance(steps, str) or callable(steps) else steps
    if not isinstance(several, Iterable):
        raise FormatError(
            f"what prepares a problem is {steps!r:.60}; expected names of transformations, functions, or ()"
        )
    functions = [
        find(transforms(), step, "transform") if isinstance(step, str) else _function(step) for step in several
    ]

    def prepare(problem: Problem) -> tuple[Problem, Expand]:
        expands = []
        for function in functions:
            problem, expand = _applied(function, problem)
            expands.append(expand)

        def back(placement: Placement) -> Placement:
            for expand in reversed(expands):
                placement = expand(placement)
            return placement

        return problem, back

    return prepare


def _function(step: Any) -> Transformation:
    if not callable(step):
        raise FormatError(f"what prepares a problem has the step {step!r:.60}; expected a name or a function")
    return step


def _applied(function: Any, problem: Problem) -> tuple[Problem, Expand]:
    result = function(problem)
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Problem) and callable(result[1])):
        raise PlacelabError(
            f"{getattr(function, '__name__', function)!r} is no transformation for placement: expected a function that returns "
            "(smaller problem, expand)"
        )
    return result
