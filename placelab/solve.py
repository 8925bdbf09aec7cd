"""Place, then run: the two calls most users need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from placelab.errors import PlacelabError, UnsupportedError, expect
from placelab.problem import Problem
from placelab.schedule import Placement, Schedule
from placelab.simulate import simulate
from placelab.strategies import find, keywords, partitioners


def place(
    problem: Problem, partitioner: str | Callable = "heft", *, seed: int = 0, trace: bool = False, **options: Any
) -> Placement:
    """Place every op with a partitioner.

    Parameters
    ----------
    partitioner
        Name in the catalogue (``placelab.partitioners()``), or a decorated function.
    seed
        For partitioners with a random part; the same seed gives the same placement in every process.
    trace
        Record why each op is where it is (``placement.trace``); slower.
    options
        Options of the partitioner.

    Raises
    ------
    InfeasibleError
        No device is left for an op or group; the message says why for each device.
    UnsupportedError
        No such partitioner or option.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(8), pl.Cluster.uniform(2))
    >>> pl.place(problem, "heft")
    Placement(10 ops on 2 of 2 devices)
    """
    expect(problem, Problem, "place")
    function = find(partitioners(), partitioner, "partitioner")
    placement = function(problem, **keywords(function, options, seed=seed, trace=trace))
    if not isinstance(placement, Placement):
        raise PlacelabError(
            f"partitioner {function.name!r} returned {type(placement).__name__}; expected a Placement: return "
            "placelab.Placement(problem, device), one device number per op, or ListScheduler's placement()"
        )
    object.__setattr__(placement, "partitioner", function.name)
    return placement


def solve(
    problem: Problem,
    partitioner: str | Callable = "heft",
    scheduler: str | Callable = "pct",
    *,
    seed: int = 0,
    trace: bool = False,
    oom: str = "mark",
    partitioner_options: Mapping[str, Any] | None = None,
    scheduler_options: Mapping[str, Any] | None = None,
) -> Schedule:
    """:func:`place`, then :func:`placelab.simulate`.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> pl.solve(problem, "heft", "planned").scheduler
    'planned'
    """
    for options in (partitioner_options, scheduler_options):
        expect({} if options is None else options, Mapping, "solve, for the options of a strategy,")
        if reserved := {"seed", "trace", "oom"}.intersection(options or ()):
            raise UnsupportedError(f"{min(reserved)!r} is no option of a strategy; give it to solve itself")
    placement = place(problem, partitioner, seed=seed, trace=trace, **(partitioner_options or {}))
    return simulate(problem, placement, scheduler, seed=seed, oom=oom, **(scheduler_options or {}))
