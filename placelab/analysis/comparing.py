"""Compare all pairs of partitioner and scheduler on a problem, and all members of the parametric list scheduler."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from placelab.analysis.measures import gap_to
from placelab.analysis.validation import validate
from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.base.interrupts import need
from placelab.base.leaving import made_apart
from placelab.base.progress import COMPILING, Progress, Report, never, silent
from placelab.base.seeds import seed_number
from placelab.planning.lower_bounds import best_bound
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Partitioner, Scheduler, checked, find
from placelab.schedule.catalogue import partitioners as all_partitioners
from placelab.schedule.catalogue import schedulers as all_schedulers
from placelab.schedule.known_schedules import offer
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.partitioning.parametric import Place, Priority
from placelab.strategies.placing import place_only
from placelab.strategies.preparing.chain import Transformation, Transformations, chain

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("partitioner", "scheduler", "seed", "makespan", "bound_gap", "valid", "oom", "seconds", "error")
MOST_SEEDS = 10_000_000
Row = dict[str, Any]
Measure = Callable[[Schedule], Mapping[str, Any]]


def fitting_schedulers(graph: OpGraph) -> tuple[str, ...]:
    """Names of the schedulers that need nothing the graph lacks; those of pipelines need stages and micro-batches."""
    return tuple(
        name for name, function in all_schedulers().items() if not function.needs or function.needs in graph.metadata
    )


@checked
def compare(
    problem: Problem,
    partitioners: Iterable[str | Partitioner] | None = None,
    schedulers: Iterable[str | Scheduler] | None = None,
    *,
    seeds: int | Iterable[int] = 1,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
    prepare: Transformations = (),
    measure: Measure | None = None,
) -> pd.DataFrame:
    """Place with each partitioner, run each placement under each scheduler, for each seed.

    Parameters
    ----------
    partitioners, schedulers
        Names or decorated functions; default: the whole catalogue, of schedulers those that fit the graph. They run with their
        default options, those that search for seconds by design (``slow``) last.
    seeds
        A number of seeds, counted from 0, or the seeds themselves.
    progress
        Called after each pair with a :class:`placelab.base.progress.Progress`: the share of pairs that are done, the least
        makespan and the best bound so far, and the pair's ``row``; also while kernels are compiled, without a row.
    cancel
        Called before each pair and several times a second; when it returns True, the pair under way is given up and the complete
        ones are returned.
    prepare
        Transformations before every partitioner, as for :func:`placelab.place`; applied once.
    measure
        Called with each schedule, as :func:`placelab.metrics` could be; what it returns are further columns.

    Returns
    -------
    DataFrame
        One row per (partitioner, seed, scheduler): ``makespan`` [s]; ``bound_gap``, makespan over the best lower
        bound minus 1, bounds included that a partitioner proved; ``valid``: the independent validator finds nothing
        wrong but memory; ``oom``: some device is short of memory at some time; ``seconds`` for placing and running,
        without preparing; ``error``: why there is no result (makespan NaN then), else ``""``. Columns of `measure` follow; they
        are NaN where there is no result.

    Notes
    -----
    A pair that does not fit together (``planned`` after a partitioner without a plan), an infeasible placement and a
    strategy that fails each give a row with the reason. A placement is made once per partitioner and seed. All this happens in
    a thread of its own, so that an interrupt is heard at once. ``frame.pivot_table("makespan", "partitioner", "scheduler")`` is
    the table of all pairs, means over seeds.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> compare(problem, ["single", "round-robin"], ["fifo"])["valid"].all()
    np.True_
    """
    need("pandas")
    import pandas as pd

    expect(problem, Problem, "compare")
    where = [find(all_partitioners(), p, "partitioner") for p in _given(partitioners, tuple(all_partitioners()))]
    when = [find(all_schedulers(), s, "scheduler") for s in _given(schedulers, fitting_schedulers(problem.graph))]
    each = seeds_of(seeds)
    rows: list[Row] = []
    bound = np.nan
    step = chain(prepare)
    report = _reporting(progress or silent, len(where) * len(when) * len(each))
    found = made_apart(
        lambda left: _rows(problem, where, when, each, left, step, measure or _nothing),
        cancel or never,
        lambda: report(rows, bound, compiling=True),
    )
    for row, bound in found:
        rows.append(row)
        report(rows, bound)
    proven = [row | {"bound_gap": gap_to(row["makespan"], bound)} for row in rows]
    frame = pd.DataFrame(proven, columns=list(dict.fromkeys([*COLUMNS, *itertools.chain.from_iterable(rows)])))
    frame.attrs["si"] = problem.cluster.units.si
    return frame


def best_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """The pairs of least makespan in what :func:`placelab.compare` found: all that tie, in its order.

    Parameters
    ----------
    frame
        Its result, or some of its rows.

    Returns
    -------
    DataFrame
        The rows whose makespan is the least, to the last bit, of those that are legal and within memory; none where none is.

    Examples
    --------
    >>> import placelab as pl
    >>> found = pl.compare(pl.datasets.problem("topcuoglu"), ["heft", "cpop"], ["planned", "fifo"])
    >>> best_pairs(found)[["partitioner", "scheduler"]].to_numpy().tolist()
    [['heft', 'planned'], ['heft', 'fifo']]
    """
    need("pandas")
    import pandas as pd

    expect(frame, pd.DataFrame, "best_pairs")
    good = frame[frame["valid"].astype(bool) & ~frame["oom"].astype(bool) & frame["makespan"].notna()]
    return good[good["makespan"] == good["makespan"].min()]


def _nothing(schedule: Schedule) -> Row:
    return {}


def _reporting(progress: Callable, total: int) -> Callable[..., None]:
    """A function that reports the last row."""

    def report(rows: list[Row], bound: float, compiling: bool = False) -> None:
        row = None if compiling else rows[-1]
        known = [each["makespan"] for each in rows if each["makespan"] == each["makespan"]]
        doing = f"{row['partitioner']} + {row['scheduler']}" if row else COMPILING
        progress(Progress(doing, len(rows) / total, min(known, default=None), bound if bound > 0 else None, row))

    return report


def seeds_of(seeds: int | Iterable[int]) -> list[int]:
    """A number of seeds, counted from 0, or the seeds themselves, as a list."""
    if isinstance(seeds, (int, np.integer)):
        found = list(range(seed_number(seeds))) if seeds <= MOST_SEEDS else []
    else:
        found = [] if isinstance(seeds, Mapping) else list(map(seed_number, several(seeds)))
    if not found:
        raise FormatError(f"seeds is {seeds!r:.60}; expected a number from 1 to {MOST_SEEDS:,}, or seeds")
    return found


def _given(names: Any, catalogue: Iterable) -> Iterable:
    return catalogue if names is None else several(names)


def several(value: Any) -> Iterable:
    """The value if it is a collection, else a list of it alone."""
    single = isinstance(value, str) or getattr(value, "ndim", 1) == 0
    return value if isinstance(value, Iterable) and not single else [value]


def _rows(
    problem: Problem,
    where: list[Partitioner],
    when: list[Scheduler],
    seeds: list[int],
    cancel: Callable[[], bool],
    prepare: Transformation,
    measure: Measure,
) -> Iterator[tuple[Row, float]]:
    """Rows, each with the best lower bound known by then."""
    bound = best_bound(problem)
    prepare = cache(prepare)
    timed(lambda: prepare(problem))
    for partitioner in sorted(where, key=lambda p: p.slow):
        for seed in seeds:
            if cancel():
                return
            placement, took, error = timed(
                lambda: place_only(problem, partitioner, prepare=prepare, seed=seed, cancel=cancel)  # noqa: B023
            )
            for row, found in rows_under(
                problem, partitioner.name, when, seed, (placement, took, error), cancel, measure
            ):
                bound = max(bound, found)
                yield row | {"bound_gap": gap_to(row["makespan"], bound)}, bound


def rows_under(
    problem: Problem,
    partitioner: str,
    when: Iterable[Scheduler],
    seed: int,
    placed: tuple[Placement | None, float, str],
    cancel: Callable[[], bool] = never,
    measure: Measure = _nothing,
) -> Iterator[tuple[Row, float]]:
    """The rows of a placement under schedulers, each with the best lower bound known by then.

    `placed` is the placement, or None, the time [s] it took, and why there is none.
    """
    placement, took, error = placed
    bound = best_bound(problem)
    for scheduler in when:
        if cancel():
            return
        row = dict(partitioner=partitioner, scheduler=scheduler.name, seed=seed)
        found = failed(took, error)
        if placement is not None:
            found = run_pair(problem, placement, scheduler, seed, bound, took, measure)
            if placement.problem is problem:
                bound = max(bound, placement.proven(found["makespan"]))
        yield row | found, bound


def run_pair(
    problem: Problem,
    placement: Placement,
    scheduler: Scheduler,
    seed: int,
    bound: float,
    placing: float,
    measure: Measure = _nothing,
    options: Mapping[str, Any] | None = None,
) -> Row:
    """The columns from ``makespan`` on of a placement under a scheduler; `placing` is the time [s] that it took to place."""
    schedule, took, error = timed(lambda: simulate(problem, placement, scheduler, seed=seed, **(options or {})))
    if schedule is None:
        return failed(placing + took, error)
    makespan = schedule.makespan
    legal = not validate(schedule, memory=False)
    if legal:
        offer(schedule)
    return {**measure(schedule)} | dict(
        makespan=makespan,
        bound_gap=gap_to(makespan, max(bound, placement.proven(makespan))),
        valid=legal,
        oom=bool(len(schedule.oom)),
        seconds=placing + took,
        error="",
    )


def failed(seconds: float, error: str) -> Row:
    """The same columns where there is no result."""
    return dict(makespan=np.nan, bound_gap=np.nan, valid=False, oom=False, seconds=seconds, error=error)


def timed(call: Callable[[], Any]) -> tuple[Any, float, str]:
    """Result (None if it raised), seconds it took, error message. A user's strategy may raise anything."""
    began = perf_counter()
    try:
        return call(), perf_counter() - began, ""
    except Exception as error:
        return None, perf_counter() - began, str(error) or type(error).__name__


FLAGS = ("insertion", "pin_critical_path", "sufferage")


@checked
def list_members(
    problem: Problem, scheduler: str | Scheduler = "planned", *, cancel: Callable[[], bool] | None = None
) -> pd.DataFrame:
    """The makespans of all 72 members of the partitioner ``parametric``.

    Parameters
    ----------
    scheduler
        Name or decorated function; runs each placement.
    cancel
        Called before each member; when it returns True, the members so far are returned.

    Returns
    -------
    DataFrame
        A row per member: its options, ``makespan`` [s], ``ratio`` to the least of them, and ``error``: why there is no plan
        (makespan NaN then), else ``""``.

    Examples
    --------
    >>> import placelab as pl
    >>> rows = list_members(pl.datasets.problem("topcuoglu"))
    >>> len(rows), float(rows["makespan"].min())
    (72, 76.0)
    """
    need("pandas")
    import pandas as pd

    expect(problem, Problem, "list_members")
    rows = []
    stopped = cancel or never
    for priority, where, *flags in product(get_args(Priority), get_args(Place), *[(True, False)] + [(False, True)] * 2):
        if stopped():
            break
        options: dict[str, Any] = {"priority": priority, "place": where, **dict(zip(FLAGS, flags, strict=True))}
        try:
            makespan = simulate(problem, place_only(problem, "parametric", **options), scheduler).makespan
            error = ""
        except InfeasibleError as refusal:
            makespan = float("nan")
            error = str(refusal)
        rows.append({**options, "makespan": makespan, "error": error})
    frame = pd.DataFrame(rows, columns=["priority", "place", *FLAGS, "makespan", "error"])
    frame.insert(len(frame.columns) - 1, "ratio", frame["makespan"] / frame["makespan"].min())
    return frame
