"""Place a problem with a partitioner, and simulate the placement.

Ops of a plan are held back where its run is short of memory through what planners leave out: contention and Send ops. Where a run
still takes another time than planned, or is short of memory, notes of the placement say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import isclose
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import InfeasibleError, PlacelabError, UnsupportedError, expect
from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.base.progress import Report, never, silent
from placelab.planning.lower_bounds import claim
from placelab.planning.memory_plan import can_bind
from placelab.problem.coverage import NOTED, little_known
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import (
    PLANNED,
    RESERVED,
    Partitioner,
    Scheduler,
    checked,
    find,
    keywords,
    partitioners,
    schedulers,
)
from placelab.schedule.independent_checks import HeldBytes
from placelab.schedule.known_schedules import offer, prove
from placelab.schedule.placement import Placement, signed
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import RunRequest, run_of, simulate, simulated
from placelab.strategies.preparing.chain import Transformations, chain
from placelab.strategies.searches.fallback import instead

LEAST = 8  # rounds, at least
MOST = 24  # at most
WORK = 100_000  # rounds times ops, between these: large graphs get few, as a hand may be waiting
SHIFTS = 2  # how often an op starts later by the length of a shortage
HOLDS = 4  # and at all


@checked
def place(
    problem: Problem,
    partitioner: str | Partitioner = "heft",
    *,
    prepare: Transformations = (),
    seed: int = 0,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
    fallback: bool = True,
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
    fallback
        Whether another plan stands in where the partitioner is stuck for want of memory; False shows the partitioner alone.
    options
        Options of the partitioner.

    Raises
    ------
    InfeasibleError
        No device is left for an op or group; the message says why for each device. ``error.stuck``: it is not proven that there
        is no plan, and ``error.suffices`` has the bytes on each device with which the depth-first plan runs, None where `cancel`
        came before these were known.
    UnsupportedError
        No such partitioner or option.

    Notes
    -----
    A plan whose run is short of memory because transfers contend or Send ops run, which planners leave out, gets later
    ``not_before`` times where these help (:func:`placelab.strategies.placing.held_back`).

    Where the run of a plan by ``planned`` does not take as long as its estimate, or is short of memory, notes say so. For them a
    plan is run once, but only where transfers contend, Send ops run, or memory over time may be short.

    Where a partitioner is stuck for want of memory, another plan stands in, and a note of the placement says which (but for
    ``single``, which would not be single): see :func:`placelab.strategies.searches.fallback.instead`.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(8), pl.Cluster.uniform(2))
    >>> pl.place(problem, "heft")
    Placement(10 ops on 2 of 2 devices)
    """
    placement = place_only(
        problem,
        partitioner,
        prepare=prepare,
        seed=seed,
        trace=trace,
        preview=preview,
        progress=progress,
        cancel=cancel,
        fallback=fallback,
        **options,
    )
    if not _may_leave_plan(placement):
        return placement
    with suppress(InfeasibleError):  # a plan that contradicts the edges; simulate says so when it is run
        return _noted(placement, simulate(problem, placement, "planned"))
    return placement


def place_only(
    problem: Problem,
    partitioner: str | Partitioner = "heft",
    *,
    prepare: Transformations = (),
    seed: int = 0,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
    fallback: bool = True,
    **options: Any,
) -> Placement:
    """As :func:`place`, for those who run the placement themselves: without notes on its run."""
    expect(problem, Problem, "place")
    function = find(partitioners(), partitioner, "partitioner")
    reserved = dict(seed=seed, trace=trace, preview=preview, progress=progress, cancel=cancel)
    small, expand = chain(prepare)(problem)
    given = keywords(function, options, **reserved)
    placement = _of_partitioner(small, function, given, reserved) if fallback else function(small, **given)
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
    unknown = little_known(problem.graph, NOTED)
    notes = (*placement.notes, *filter(None, (sentence, unknown)))
    held = held_back(expand(signed(placement, function.name, notes)), cancel)
    prove(problem, held.bound)
    return held


def _of_partitioner(
    small: Problem, function: Partitioner, given: dict[str, Any], reserved: Mapping[str, Any]
) -> Placement:
    """The partitioner's placement or, where it is stuck, the depth-first plan or what else is found."""
    try:
        return function(small, **given)
    except InfeasibleError as error:
        if not error.stuck:
            raise
        shared = {name: reserved[name] for name in ("trace", "progress", "cancel")}
        return instead(small, function.name, error, **shared)


def _is_as_proven(function: Partitioner, options: Mapping[str, Any], preview: bool) -> bool:
    """Whether this is placelab's own partitioner with its default options, which alone the proofs cover."""
    own = function.__module__.startswith("placelab.strategies.partitioning.")
    return own and not preview and all(value == function.options[name][1] for name, value in options.items())


@checked
def solve(
    problem: Problem,
    partitioner: str | Partitioner = "heft",
    scheduler: str | Scheduler | None = None,
    *,
    prepare: Transformations = (),
    seed: int = 0,
    trace: bool = False,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
    fallback: bool = True,
    oom: str = "mark",
    partitioner_options: Mapping[str, Any] | None = None,
    scheduler_options: Mapping[str, Any] | None = None,
) -> Schedule:
    """:func:`place`, then :func:`placelab.simulate`, with its default scheduler: ``planned`` if there is a plan, else ``pct``.

    Notes
    -----
    Notes on the run of a plan are of this run. There are none where it is not by ``planned``, or ops wait for memory (`oom`).

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
        **dict(
            prepare=prepare,
            seed=seed,
            trace=trace,
            preview=preview,
            progress=progress,
            cancel=cancel,
            fallback=fallback,
        ),
    )
    schedule = simulated(*run)
    if schedule.scheduler == PLANNED and oom != "wait" and _may_leave_plan(schedule.placement):
        noted = _noted(schedule.placement, schedule)
        if noted is not schedule.placement:  # else what the schedule has worked out by now stays
            schedule = replace(schedule, placement=noted)
    offer(schedule)
    return schedule


def run_to_solve(
    problem: Problem,
    partitioner: str | Partitioner,
    scheduler: str | Scheduler | None,
    *,
    oom: str = "mark",
    partitioner_options: Mapping[str, Any] | None = None,
    scheduler_options: Mapping[str, Any] | None = None,
    **common: Any,
) -> RunRequest:
    """The placement of :func:`solve`, without notes on its run, and how it is run; `common`: what :func:`place` takes, too."""
    for options in (partitioner_options, scheduler_options):
        expect({} if options is None else options, Mapping, "solve, for the options of a strategy,")
        if reserved := {*RESERVED, "fallback", "oom", "prepare"}.intersection(options or ()):
            raise UnsupportedError(f"{min(reserved)!r} is no option of a strategy; give it to solve itself")
    placement = place_only(problem, partitioner, **common, **(partitioner_options or {}))
    return run_of(problem, placement, scheduler, common["seed"], oom, scheduler_options or {})


def held_back(placement: Placement, cancel: Callable[[], bool] = never) -> Placement:
    """The placement with ``not_before`` times under which ``planned`` runs within memory, where some are found.

    Parameters
    ----------
    cancel
        Called before each simulation but the first; when it returns True the placement stays as it was.

    Notes
    -----
    Only where transfers contend or Send ops run, and memory may be short: elsewhere a plan within memory runs within it.
    The plan is simulated. For each shortage one op starts later: of those whose bytes the device begins to hold with it the last
    in planned order; where each of them was held back four times, of all whose bytes it holds then. The first two times the op
    starts as much later as the shortage lasts, then when the shortage ends. That is done at most r times, each time with one
    more simulation; r is 100,000 / n_ops, but 24 at most and 8 at least.
    If the last run is short of memory, too, the placement stays as it was: no time helps where an op was planned to take its
    input at once, and another input or a Send op comes between. An estimate that the first run met becomes the new makespan.
    O(r · (a simulation + n_edges log n_edges)).
    """
    problem = placement.problem
    if placement.planned is None or not contends(problem) or not _memory_may_lack(problem):
        return placement
    with suppress(InfeasibleError):  # a plan that contradicts the edges; simulate says so when it is run
        first = run = simulate(problem, placement, "planned")
        held = placement
        times = np.zeros(len(run.start))
        if placement.not_before is not None:
            times += placement.not_before
        often = np.zeros(len(run.start), np.int64)
        for _ in range(max(LEAST, min(MOST, WORK // problem.graph.n_ops))):
            if not len(run.oom) or cancel() or not _hold(run, times, often):
                break
            held = replace(placement, not_before=frozen(times.copy()))
            run = simulate(problem, held, "planned")
        if held is not placement and not len(run.oom):
            met = placement.estimate is not None and isclose(first.makespan, placement.estimate)
            return replace(held, estimate=run.makespan) if met else held
    return placement


def misjudged(run: Schedule) -> str:
    """That a run of a plan takes longer or less than the estimate, with both times and why; "" where it does not."""
    placement = run.placement
    problem = run.problem
    if placement.estimate is None or isclose(placement.estimate, run.makespan):
        return ""
    expected, took = (problem.cluster.units.time(time) for time in (placement.estimate, run.makespan))
    more = "longer" if run.makespan > placement.estimate else "less"
    # As a note of the placement the sentence stays true when another scheduler runs it.
    who = "run as planned it" if run.scheduler == PLANNED else f"its run by {run.scheduler}"
    said = f"the plan expects {expected}, {who} takes {took if took != expected else f'a little {more}'}"
    model = problem.transfer_model
    sharing = "transfers share links" if model.shared else "transfers take turns as they are asked for"
    causes = [f"{run.scheduler} has an order of its own"] * (run.scheduler != PLANNED) + [sharing] * bool(model.queue)
    causes += ["Send ops occupy their devices"] * (problem.transfer_ops > 0)
    causes += ["ops wait for room in memory"] * waits_for_memory(run)
    return said + (f": {' and '.join(causes)}, which is not planned" if causes else "")


@once
def waits_for_memory(run: Schedule) -> bool:
    """Whether ops of a run waited for room in memory, as ``oom="wait"`` lets them: the same run without waits lacks some then."""
    if run.oom_rule != "wait" or run.scheduler not in schedulers():
        return False
    marked = simulate(run.problem, run.placement, run.scheduler, seed=run.seed, **run.options)
    return bool(len(marked.oom))


def shortage(run: Schedule) -> str:
    """Which device lacks most memory in a run, from when on, and how many bytes; "" where it is within memory."""
    if not len(run.oom):
        return ""
    d, began, _, short = run.oom[np.argmax(run.oom["bytes"])].tolist()
    more = f" ({len(run.oom)} such spans in all)" if len(run.oom) > 1 else ""
    cluster = run.problem.cluster
    return f"{cluster.names[d]} is out of memory at {cluster.units.time(began)}, {cluster.units.amount(short, 'B')} short{more}"


def _noted(placement: Placement, run: Schedule) -> Placement:
    """The placement with notes on its run by ``planned``: that it is not as long as planned, that memory is short."""
    short = shortage(run)
    said = (misjudged(run), short and f"run as planned, {short}")
    # A partitioner that has called `place` itself has them already.
    new = [note for note in said if note and note not in placement.notes]
    notes = (*placement.notes, *new)
    return signed(placement, placement.partitioner, notes) if notes != placement.notes else placement


def contends(problem: Problem) -> bool:
    """Whether tensors may leave or arrive later than planners assume: transfers contend, or Send ops run."""
    return bool(problem.transfer_model.queue) or problem.transfer_ops > 0


def _memory_may_lack(problem: Problem) -> bool:
    """Whether a device may run out of memory at some time."""
    return problem.memory_model.timed and can_bind(problem)


def _may_leave_plan(placement: Placement) -> bool:
    """Whether the run of a plan may be another one: some of what it must wait for, or of memory over time, is not planned."""
    if placement.planned is None:
        return False
    problem = placement.problem
    return (placement.estimate is not None and contends(problem)) or _memory_may_lack(problem)


def _hold(run: Schedule, times: np.ndarray, often: np.ndarray) -> bool:
    """Let an op start later for each shortage, in `times`, and count it in `often`; False if none may."""
    place = np.empty(len(times), np.int64)
    before = often.copy()
    held = _held(run)
    place[run.placement.planned] = np.arange(len(times))
    for short in run.oom:
        here = (held.device == short["device"]) & (held.begin <= short["start"]) & (held.end > short["start"])
        for which in (here & (held.begin == short["start"]), here):
            ops = held.op[which]
            ops = ops[before[ops] < HOLDS]
            if len(ops):
                v = ops[place[ops].argmax()]
                if often[v] == before[v]:  # once a round
                    since = (short["start"] - run.start[v]) * (1 - 1e-12)  # so that rounding leaves no shortage
                    times[v] = max(times[v], short["finish"] - (since if often[v] < SHIFTS else 0.0))
                    often[v] += 1
                break
    return bool((often > before).any())


class _Held(NamedTuple):
    """Bytes that come and go: the device that holds them, the op that makes or needs them, and when [s]."""

    device: np.ndarray
    op: np.ndarray
    begin: np.ndarray
    end: np.ndarray


def _held(run: Schedule) -> _Held:
    graph = run.problem.graph
    device, begin, end, size = HeldBytes(run).held()
    made = graph.tensor_producer
    ops = np.arange(graph.n_ops)
    op = np.concatenate([made, made[run.transfers["tensor"]], ops, ops])[: len(device)]  # under `edges` tensors alone
    real = (size > 0) & (begin < end) & np.isfinite(end)
    return _Held(device[real], op[real], begin[real], end[real])
