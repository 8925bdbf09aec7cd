"""Place a problem with a partitioner, and simulate the placement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from placelab.base.errors import PlacelabError, UnsupportedError, expect
from placelab.base.progress import Report, never, silent
from placelab.planning.lower_bounds import claim
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import RESERVED, Partitioner, Scheduler, find, keywords, partitioners
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import Run, run_of, simulated
from placelab.strategies.preparing.chain import Steps, pipeline
from placelab.strategies.preparing.held_back import held_back


def place(
    problem: Problem,
    partitioner: str | Partitioner = "heft",
    *,
    prepare: Steps = (),
    seed: int = 0,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
    **options: Any,
) -> Placement:
    """Place every op with a partitioner.

    Parameters
    ----------
    partitioner
        Name in the catalogue (``placelab.partitioners()``), or a decorated function.
    prepare
        Transformations that make the problem smaller first, ``("coplace", "fuse")`` say: names in
        ``placelab.transforms.catalogue()`` or functions. The partitioner places the smaller problem; the result is a placement
        of `problem`, and a note says how many ops were placed.
    seed
        For partitioners with a random part; the same seed gives the same placement in every process.
    trace
        Record why each op is where it is (``placement.trace``); slower.
    preview
        Accept a quick approximation from partitioners that have one; a note of the placement says so.
    progress
        Called with the :class:`placelab.base.progress.Progress` of a partitioner that searches.
    cancel
        Called by such partitioners now and then; when it returns True they return the best placement so far.
    options
        Options of the partitioner.

    Raises
    ------
    InfeasibleError
        No device is left for an op or group; the message says why for each device.
    UnsupportedError
        No such partitioner or option.

    Notes
    -----
    A plan whose run is short of memory because transfers contend or Send ops run, which planners leave out, gets later
    ``not_before`` times where these help (:func:`placelab.strategies.preparing.held_back.held_back`).

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(8), pl.Cluster.uniform(2))
    >>> pl.place(problem, "heft")
    Placement(10 ops on 2 of 2 devices)
    """
    expect(problem, Problem, "place")
    function = find(partitioners(), partitioner, "partitioner")
    reserved = dict(seed=seed, trace=trace, preview=preview, progress=progress, cancel=cancel)
    small, expand = pipeline(prepare)(problem)
    placement = function(small, **keywords(function, options, **reserved))
    if not isinstance(placement, Placement):
        raise PlacelabError(
            f"partitioner {function.name!r} returned {type(placement).__name__}; expected a Placement: return "
            "placelab.Placement(problem, device), one device number per op, or ListScheduler's placement()"
        )
    if placement.problem is not small:
        raise PlacelabError(
            f"partitioner {function.name!r} returned a placement of another problem; expected one of the problem that it is given"
        )
    proven = small is problem and not cancel() and _is_as_proven(function, options, preview)
    sentence = claim(problem, function.name) if proven else ""
    notes = (*placement.notes, sentence) if sentence else placement.notes
    return held_back(expand(replace(placement, partitioner=function.name, notes=notes)), cancel)


def _is_as_proven(function: Partitioner, options: Mapping[str, Any], preview: bool) -> bool:
    """Whether this is placelab's own partitioner with its default options, which alone the proofs cover."""
    own = function.__module__.startswith("placelab.strategies.partitioning.")
    return own and not preview and all(value == function.options[name][1] for name, value in options.items())


def solve(
    problem: Problem,
    partitioner: str | Partitioner = "heft",
    scheduler: str | Scheduler | None = None,
    *,
    prepare: Steps = (),
    seed: int = 0,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
    oom: str = "mark",
    partitioner_options: Mapping[str, Any] | None = None,
    scheduler_options: Mapping[str, Any] | None = None,
) -> Schedule:
    """:func:`place`, then :func:`placelab.simulate`, with its default scheduler: ``planned`` if there is a plan, else ``pct``.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> pl.solve(problem, "heft", "fifo").scheduler
    'fifo'
    >>> pl.solve(problem, "heft").scheduler, pl.solve(problem, "single").scheduler
    ('planned', 'pct')
    """
    run = run_to_solve(
        problem,
        partitioner,
        scheduler,
        oom=oom,
        partitioner_options=partitioner_options,
        scheduler_options=scheduler_options,
        **dict(prepare=prepare, seed=seed, trace=trace, preview=preview, progress=progress, cancel=cancel),
    )
    return simulated(*run)


def run_to_solve(
    problem: Problem,
    partitioner: str | Partitioner,
    scheduler: str | Scheduler | None,
    *,
    oom: str = "mark",
    partitioner_options: Mapping[str, Any] | None = None,
    scheduler_options: Mapping[str, Any] | None = None,
    **common: Any,
) -> Run:
    """The placement of :func:`solve`, and how it is to be run; `common`: what :func:`place` takes as well."""
    for options in (partitioner_options, scheduler_options):
        expect({} if options is None else options, Mapping, "solve, for the options of a strategy,")
        if reserved := {*RESERVED, "oom", "prepare"}.intersection(options or ()):
            raise UnsupportedError(f"{min(reserved)!r} is no option of a strategy; give it to solve itself")
    placement = place(problem, partitioner, **common, **(partitioner_options or {}))
    return run_of(problem, placement, scheduler, common["seed"], oom, scheduler_options or {})
