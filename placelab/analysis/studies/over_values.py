"""The makespan over one parameter of the cluster, value by value: speed, memory, bandwidth or latency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from placelab.analysis.comparing import several
from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.index_arrays import floats
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import in_batches
from placelab.problem.cluster import Cluster, with_bandwidth
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import (
    Partitioner,
    Scheduler,
    Strategy,
    check_options,
    checked,
    find,
    partitioners,
    schedulers,
)
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import simulate_all
from placelab.simulation.event_simulation import RunRequest
from placelab.strategies.placing import run_to_solve
from placelab.strategies.preparing.chain import Transformations

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("partitioner", "scheduler", "over", "value", "relative", "makespan", "oom", "error")
Row = dict[str, Any]
Pair = tuple[Partitioner, Scheduler | None]


@checked
def sensitivity(
    problem: Problem,
    partitioner: str | Partitioner | Iterable[tuple[str | Partitioner, str | Scheduler | None]] = "heft",
    scheduler: str | Scheduler | None = None,
    *,
    over: str = "bandwidth",
    of: Any = None,
    values: Any = None,
    prepare: Transformations = (),
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
        it; a pair: the links between two devices, hosts or types, in both directions; a link that several pairs share, by its
        name in ``Cluster.links`` (bandwidth, ``transfers="fair"``). Default: all but shared links.
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

    Warns
    -----
    UserWarning
        No time depends on the speeds that are varied (``problem.speed_matters``), so that the makespans may be all the same.

    Notes
    -----
    Placed and simulated anew for each value, on all cores where placelab's own strategies do so within seconds. A shared link
    keeps its bandwidth unless it is the one that is meant.

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
    pairs = _pairs(partitioner, scheduler)
    meant = parameter(problem, over, of)
    if over == "speed" and not (meant.where & problem.speed_matters).any():
        named = "any device" if of is None else f"{of!r:.60}"
        warn(
            f"no time depends on the speed of {named}: the graph's times were measured on devices of unknown speed, and "
            "hold at any; OpGraph.time_speed says at which speed they were",
            stacklevel=2,
        )
    common: Row = dict(prepare=prepare, seed=seed, preview=preview, cancel=cancel or never)
    common |= dict(partitioner_options=partitioner_options, scheduler_options=scheduler_options)
    for pair in pairs:
        for strategy, options in zip(pair, (partitioner_options, scheduler_options), strict=True):
            if strategy is not None and isinstance(options, Mapping):
                check_options(strategy.name, strategy.options, options)
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
    single = isinstance(partitioner, str) or callable(partitioner)
    given = [(partitioner, scheduler)] if single else list(several(partitioner))
    if given and scheduler is not None and isinstance(partitioner, Iterable) and not single:
        raise FormatError(f"scheduler is {scheduler!r:.60} beside a list of pairs; name the scheduler in each pair")
    if not given or any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in given):
        raise FormatError(f"partitioner is {partitioner!r:.60}; expected a name, or pairs like ('heft', 'planned')")
    return [
        (find(partitioners(), p, "partitioner"), None if s is None else find(schedulers(), s, "scheduler"))
        for p, s in given
    ]


def _values(meant: Parameter, problem: Problem, values: Any) -> list[float]:
    if values is None:
        return meant.around(problem).tolist()
    try:
        column = floats(values)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"values are {values!r:.60}; expected numbers") from None
    if column.ndim != 1 or not len(column):
        raise FormatError(f"values have shape {column.shape}; expected one number or more, in a list")
    return column.tolist()


def _strategies(pairs: list[Pair]) -> list[Strategy]:
    return [strategy for pair in pairs for strategy in pair if strategy is not None]


def _run(
    problem: Problem, meant: Parameter, pair: Pair, value: float, common: Mapping[str, Any]
) -> RunRequest | Exception:
    """The run for a value; a user's strategy may raise anything."""
    try:
        return run_to_solve(meant.put(problem, value), *pair, **common)
    except Exception as error:
        return error


def _solved(runs: list[RunRequest | Exception]) -> list[Schedule | Exception]:
    schedules = iter(simulate_all([run for run in runs if isinstance(run, RunRequest)]))
    return [next(schedules) if isinstance(run, RunRequest) else run for run in runs]


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


OF_LINKS = ("bandwidth", "latency")
OF_DEVICES = ("speed", "memory")
STEPS = 31  # default values
SPAN = 10.0  # how many times the present value the largest of them is


@dataclass(frozen=True)
class Parameter:
    """A parameter of some devices or links.

    Attributes
    ----------
    over : str
        ``bandwidth`` [bytes/s], ``latency`` [s], ``speed`` [operations/s] or ``memory`` [bytes].
    where : ndarray of bool or str
        The devices, shape (n_devices,), or links, shape (n_devices, n_devices), that are meant, or the name of a shared link.
    """

    over: str
    where: np.ndarray | str

    def of(self, cluster: Cluster) -> float:
        """The present value: of several the largest that is finite and not 0; else 0, or infinite."""
        if isinstance(self.where, str):
            return next(link.bandwidth for link in cluster.links if link.name == self.where)
        values = getattr(cluster, self.over)[self.where]
        usable = values[np.isfinite(values) & (values > 0)]
        return float(usable.max() if len(usable) else values.max())

    def put(self, problem: Problem, value: float) -> Problem:
        """The problem with another value; several that differ keep their ratios, and the largest gets the value."""
        return problem.with_costs(cluster=self.put_in(problem.cluster, value))

    def put_in(self, cluster: Cluster, value: float) -> Cluster:
        """The cluster with another value."""
        if isinstance(self.where, str):
            return cluster.replace(links=with_bandwidth(cluster.links, self.where, value))
        column = getattr(cluster, self.over).copy()
        present = self.of(cluster)
        old = column[self.where]
        keeps = np.isfinite(present) and present > 0
        column[self.where] = np.where(old == present, value, old * (value / present)) if keeps else value
        return cluster.replace(**{self.over: column})

    def around(self, problem: Problem) -> np.ndarray:
        """31 values around the present one, which is among them, from a tenth to ten times, equal steps of the logarithm.

        Where that is 0 or unlimited: around what would be felt, the mean time of an op for a latency, the bandwidth at which a
        mean tensor takes that time, or an equal share of what all ops reserve; a latency of 0 is one value more.
        """
        present = self.of(problem.cluster)
        steps = SPAN ** (np.arange(STEPS) / (STEPS // 2) - 1)
        if np.isfinite(present) and present > 0:
            return present * steps
        felt = _felt(problem, self.over)
        return np.append([0.0] if present == 0 else [], (felt if 0 < felt < np.inf else 1.0) * steps)


def _felt(problem: Problem, over: str) -> float:
    """A value that makes a difference."""
    graph = problem.graph
    k = problem.cluster.n_devices
    if over == "memory":
        return float(graph.memory.sum()) / k
    took = float(np.nanmean(problem.cost)) / float(problem.divisor.mean())
    if over == "latency":
        return took
    return float(graph.tensor_bytes.sum()) / max(graph.n_tensors, 1) / took if took > 0 else 0.0


def parameter(problem: Problem, over: str, of: Any = None) -> Parameter:
    """The parameter that :func:`placelab.sensitivity` calls `over` and `of`.

    Raises
    ------
    FormatError
        No such parameter, device, host, type or shared link; a pair of devices where the parameter is a device's.
    UnsupportedError
        No links are meant; memory, or a shared link, where the problem's model does not limit it.
    """
    if over not in (*OF_LINKS, *OF_DEVICES):
        raise FormatError(f"over is {over!r:.60}; expected one of {', '.join((*OF_LINKS, *OF_DEVICES))}")
    if over == "memory" and problem.memory == "none":
        raise UnsupportedError(
            "the problem's memory model is 'none', so that memory makes no difference; give it another"
        )
    if isinstance(of, str) and _means_shared(problem, over, of):
        return Parameter(over, of)
    where = _devices(problem.cluster, over, of) if over in OF_DEVICES else _links(problem.cluster, of)
    if not where.any():
        raise UnsupportedError(f"{over} needs a link between two devices; {of or 'the cluster'!r} has none")
    return Parameter(over, where)


def _means_shared(problem: Problem, over: str, of: str) -> bool:
    """Whether a name is that of a shared link, and not that of a device, type or host."""
    cluster = problem.cluster
    counts = over == "bandwidth" and problem.transfer_model.shared
    if of not in [link.name for link in cluster.links]:
        return False
    if of in (*cluster.names, *cluster.types, *cluster.hosts):
        if counts:
            raise FormatError(
                f"{of!r:.60} is a shared link and a device, type or host; give the link a name of its own"
            )
        return False
    if over != "bandwidth":
        raise FormatError(f"{of!r:.60} is a shared link, which has no {over}; expected over='bandwidth'")
    if not counts:
        raise UnsupportedError(
            f"{of!r:.60} is a shared link, which transfers={problem.transfers!r} does not know; take transfers='fair'"
        )
    return True


def _devices(cluster: Cluster, over: str, of: Any) -> np.ndarray:
    if isinstance(of, (tuple, list)):
        raise FormatError(f"of is {of!r:.60}, but {over} is of devices; expected a device, type, host or None")
    where = np.zeros(cluster.n_devices, bool)
    where[_matching(cluster, of)] = True
    return where


def _links(cluster: Cluster, of: Any) -> np.ndarray:
    """Links of one device; inside a host or type; or between the two of a pair. Both directions."""
    where = np.zeros((cluster.n_devices,) * 2, bool)
    if isinstance(of, (tuple, list)):
        if len(of) != 2:
            raise FormatError(f"of has {len(of)} entries; expected a pair of devices, types or hosts")
        a, b = (_matching(cluster, name) for name in of)
    else:
        a = _matching(cluster, of)
        b = a if len(a) > 1 else np.arange(cluster.n_devices)
    where[np.ix_(a, b)] = where[np.ix_(b, a)] = True
    np.fill_diagonal(where, False)
    return where


def _matching(cluster: Cluster, of: Any) -> np.ndarray:
    """Numbers of the devices that a name, type, host or number means; of None: all."""
    if of is None:
        return np.arange(cluster.n_devices)
    return cluster.matching(of) if isinstance(of, str) else np.array([cluster.index(of)])
