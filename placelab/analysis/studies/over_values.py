"""The makespan over one parameter of the cluster, value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.studies.parameter import Parameter, parameter
from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import in_batches
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Partitioner, Scheduler, Strategy, find, partitioners, schedulers
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import simulate_all
from placelab.simulation.event_simulation import Run
from placelab.strategies.placing import run_to_solve
from placelab.strategies.preparing.chain import Steps

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("partitioner", "scheduler", "over", "value", "relative", "makespan", "oom", "error")
Row = dict[str, Any]
Pair = tuple[Partitioner, Scheduler | None]


def sensitivity(
    problem: Problem,
    partitioner: str | Partitioner | Iterable[tuple[str | Partitioner, str | Scheduler | None]] = "heft",
    scheduler: str | Scheduler | None = None,
    *,
    over: str = "bandwidth",
    of: Any = None,
    values: Any = None,
    prepare: Steps = (),
    seed: int = 0,
    preview: bool = False,
    partitioner_options: Mapping[str, Any] | None = None,
    scheduler_options: Mapping[str, Any] | None = None,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """Solve a problem for each value of one parameter of its cluster.

    Parameters
    ----------
    partitioner, scheduler
        As for :func:`placelab.solve`; or a list of pairs (partitioner, scheduler), each of which is tried.
    over
        ``"bandwidth"`` [bytes/s], ``"latency"`` [s], ``"speed"`` [operations/s] or ``"memory"`` [bytes].
    of
        The device whose speed or memory it is, or all of whose links are meant; a host or type: its devices, or the links inside
        it; a pair: the links between two devices, hosts or types, in both directions. Default: all.
    values
        What the parameter is given. Where several devices or links are meant that differ, they keep their ratios, and the largest
        is given the value; what is unlimited stays so. Default: 31 values from a tenth to ten times the present one.
    prepare, seed, preview, partitioner_options, scheduler_options
        As for :func:`placelab.solve`, and the same for each pair.
    progress
        Called after each value with a :class:`placelab.base.progress.Progress`: the share that is done, and the ``row``.
    cancel
        Called before each row, and now and then by partitioners that search, also in threads; when it returns True, the complete
        rows are returned.

    Returns
    -------
    DataFrame
        One row per pair and value, in the order given: ``partitioner``, ``scheduler``, ``over``, ``value``; ``relative``, the
        value over the present one (NaN where that is 0 or unlimited); ``makespan`` [s]; ``oom``: some device is short of
        memory at some time; ``error``: why there is no result (makespan NaN then), else ``""``. Nothing is smoothed: a
        makespan that rises with a faster link is an anomaly of the schedules, as Graham describes them.

    Raises
    ------
    FormatError, UnsupportedError
        No such parameter, device or strategy; the memory of a problem that counts none, or links where there are none. What
        fails for one value is a row.

    Notes
    -----
    Placed and simulated anew for each value, on all cores where placelab's own strategies do so within seconds. Bandwidths are
    those of pairs of devices: links that several pairs share (``Cluster.links``) keep theirs.

    References
    ----------
    Graham (1969), Bounds on multiprocessing timing anomalies.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.OpGraph.from_arrays(["a"], [6.0], []), pl.Cluster([1.0]))
    >>> sensitivity(problem, "single", over="speed", values=[1.0, 2.0, 0.0])[["value", "makespan", "error"]]
       value  makespan                                              error
    0    1.0       6.0
    1    2.0       3.0
    2    0.0       NaN  speed of device 'dev0' is 0 operations/s; expe...
    """
    need("pandas")
    import pandas as pd

    expect(problem, Problem, "sensitivity")
    pairs, meant = _pairs(partitioner, scheduler), parameter(problem, over, of)
    common: Row = dict(prepare=prepare, seed=seed, preview=preview, cancel=cancel or never)
    common |= dict(partitioner_options=partitioner_options, scheduler_options=scheduler_options)
    todo = [(pair, value) for pair in pairs for value in _values(meant, problem, values)]

    def some(cells: Sequence[tuple[Pair, float]]) -> list[Row]:
        runs = [_run(problem, meant, *cell, common) for cell in cells]
        return [_row(problem, meant, *cell, found) for cell, found in zip(cells, _solved(runs), strict=True)]

    report = progress or silent
    rows: dict[int, Row] = {}
    for i, row in in_batches(some, todo, cancel or never, problem.graph.n_ops, *_strategies(pairs)):
        rows[i] = row
        report(Progress(f"{row['partitioner']}, {over} {row['value']:.3g}", len(rows) / len(todo), row=row))
    frame = pd.DataFrame([rows[i] for i in sorted(rows)], columns=list(COLUMNS))
    frame.attrs["si"] = problem.cluster.units.si
    return frame


def _pairs(partitioner: Any, scheduler: Any) -> list[Pair]:
    given = [(partitioner, scheduler)] if isinstance(partitioner, str) or callable(partitioner) else list(partitioner)
    if not given or any(isinstance(pair, str) or len(pair) != 2 for pair in given):
        raise FormatError(f"partitioner is {partitioner!r:.60}; expected a name, or pairs like ('heft', 'planned')")
    return [
        (find(partitioners(), p, "partitioner"), None if s is None else find(schedulers(), s, "scheduler"))
        for p, s in given
    ]


def _values(meant: Parameter, problem: Problem, values: Any) -> list[float]:
    if values is None:
        return meant.around(problem).tolist()
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"values are {values!r:.60}; expected numbers") from None
    if column.ndim != 1 or not len(column):
        raise FormatError(f"values have shape {column.shape}; expected one number or more, in a list")
    return column.tolist()


def _strategies(pairs: list[Pair]) -> list[Strategy]:
    return [strategy for pair in pairs for strategy in pair if strategy is not None]


def _run(problem: Problem, meant: Parameter, pair: Pair, value: float, common: Mapping[str, Any]) -> Run | Exception:
    """The run for a value; a user's strategy may raise anything."""
    try:
        return run_to_solve(meant.put(problem, value), *pair, **common)
    except Exception as error:
        return error


def _solved(runs: list[Run | Exception]) -> list[Schedule | Exception]:
    schedules = iter(simulate_all([run for run in runs if isinstance(run, Run)]))
    return [next(schedules) if isinstance(run, Run) else run for run in runs]


def _row(problem: Problem, meant: Parameter, pair: Pair, value: float, found: Schedule | Exception) -> Row:
    """One row."""
    partitioner, scheduler = pair
    present = meant.of(problem.cluster)
    relative = value / present if 0 < present < np.inf else np.nan
    by = found.scheduler if isinstance(found, Schedule) else scheduler.name if scheduler else ""
    row: Row = dict(partitioner=partitioner.name, scheduler=by, over=meant.over, value=value, relative=relative)
    if isinstance(found, Exception):
        return row | dict(makespan=np.nan, oom=False, error=str(found) or type(found).__name__)
    return row | dict(makespan=found.makespan, oom=bool(len(found.oom)), error="")
