"""What a faster op kind, op, device or link would save: the schedule run again for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import in_batches
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import makespans_of, run_again

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("what", "name", "makespan", "saved")


class Part(NamedTuple):
    """A part of a schedule that could be faster.

    Attributes
    ----------
    what, name : str
        ``kind``, ``device``, ``op`` or ``link``, and which one: the columns of :func:`what_if`.
    ops : ndarray of int
        Ops that would take less time; none of a link.
    source, destination : int
        The ends of a link; of a device, `source` is its number. -1 elsewhere.
    """

    what: str
    name: str
    ops: np.ndarray
    source: int = -1
    destination: int = -1


def what_if(
    schedule: Schedule,
    *,
    factor: float = 1.1,
    k: int = 20,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """How much each op kind, device, link and large op matters: the makespan if it alone were faster.

    Parameters
    ----------
    schedule
        Made by :func:`placelab.simulate` or :func:`placelab.solve`. Its placement and its scheduler are kept.
    factor
        How many times as fast, above 0: 1.1 is 10 % faster. An op or kind takes ``1 / factor`` of its compute and its measured
        times, a device has `factor` times its speed, a link `factor` times its bandwidth; its latency stays. Measured times
        that hold at any speed are divided by `factor` for the ops on the device.
    k
        Number of ops, those that take most time.
    progress
        Called after each part with a :class:`placelab.base.progress.Progress`: the share of parts that are done, and the ``row``.
    cancel
        Called before each row; when it returns True, the complete rows are returned.

    Returns
    -------
    DataFrame
        ``what`` (``kind``, ``device``, ``op``, ``link``), ``name``, ``makespan`` [s] and ``saved`` [s], the schedule's makespan
        minus that. Most saved first; ties by kind, device, op, link, and then as the schedule has them. Kinds of the graph
        (``""``: ops without one, where others have one), all devices, links that carry something, ``source → destination``.
        ``saved`` is negative where faster parts make the whole slower (Graham's anomalies). ``makespan`` is NaN where the
        faster run lacks memory that it waits for in vain.

    Raises
    ------
    UnsupportedError
        The schedule was not made by a scheduler of the catalogue.

    Notes
    -----
    Exact: each row is what ``simulate`` gives for a problem with these costs, to the last bit; a scheduler that looks at costs
    sees the changed ones. Links that several pairs share (``Cluster.links``) keep their bandwidth. One simulation per row, on all
    cores; a user's own scheduler runs in one thread.

    References
    ----------
    Graham (1969), Bounds on multiprocessing timing anomalies.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.OpGraph.from_arrays(["a", "b"], [4.0, 2.0], [(0, 1)]), pl.Cluster([1.0]))
    >>> what_if(pl.solve(problem, "single"), factor=2.0)
         what  name  makespan  saved
    0  device  dev0       3.0    3.0
    1      op     a       4.0    2.0
    2      op     b       5.0    1.0
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "what_if")
    expect(k, (int, np.integer), "k, the number of ops,")
    todo = parts(schedule, k)
    report = progress or silent
    rows: dict[int, dict[str, Any]] = {}
    for i, makespan in makespans(schedule, todo, factor, cancel or never):
        what, name, *_ = todo[i]
        rows[i] = dict(what=what, name=name, makespan=makespan, saved=schedule.makespan - makespan)
        report(Progress(f"{what} {name}", len(rows) / len(todo), row=rows[i]))
    frame = pd.DataFrame([rows[i] for i in sorted(rows)], columns=list(COLUMNS))
    return frame.sort_values("saved", ascending=False, kind="stable", ignore_index=True)


def makespans(
    schedule: Schedule, todo: list[Part], factor: float, cancel: Callable[[], bool]
) -> Iterator[tuple[int, float]]:
    """Pairs (position in `todo`, makespan if that part were `factor` times as fast), as they come; NaN: infeasible."""
    expect(factor, (int, float, np.number), "factor")
    if not 0 < factor < np.inf:
        raise FormatError(f"factor is {factor!r}; expected a finite number above 0, like 1.1 for 10 % faster")
    run = run_again(schedule)

    def some(parts: Sequence[Part]) -> list[float]:
        return makespans_of([run.on(faster(schedule, part, factor)) for part in parts])

    return in_batches(some, todo, cancel, schedule.problem.graph.n_ops, run.way.scheduler)


def parts(schedule: Schedule, k: int = 20) -> list[Part]:
    """What could be faster: kinds by time, devices, the `k` largest ops, links by bytes; ties as in the problem."""
    graph, cluster, took = schedule.problem.graph, schedule.problem.cluster, schedule.finish - schedule.start
    kinds = [Part("kind", name, ops) for name, ops in _kinds(graph, took)]
    devices = [Part("device", name, np.flatnonzero(schedule.device == d), d) for d, name in enumerate(cluster.names)]
    largest = [Part("op", str(graph.names[v]), np.array([v])) for v in np.argsort(-took, kind="stable")[: max(k, 0)]]
    return [*kinds, *devices, *largest, *_links(schedule)]


def _kinds(graph: OpGraph, took: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Name and ops of each kind, the one that takes most time first; none where no op has a kind."""
    names, index = np.unique(graph.kind.astype(str), return_inverse=True)
    if not names.any():
        return []
    order = np.argsort(-np.bincount(index, took), kind="stable")
    return [(str(names[i]), np.flatnonzero(index == i)) for i in order]


def _links(schedule: Schedule) -> list[Part]:
    """Links that carry something, the one with most bytes first."""
    n, names, moved = schedule.problem.cluster.n_devices, schedule.problem.cluster.names, schedule.transfers
    pair, index = np.unique(moved["source"].astype(np.int64) * n + moved["destination"], return_inverse=True)
    carried = np.bincount(index, schedule.problem.graph.tensor_bytes[moved["tensor"]], minlength=len(pair))
    none = np.empty(0, int)
    ends = [divmod(int(p), n) for p in pair[np.argsort(-carried, kind="stable")]]
    return [Part("link", f"{names[i]} → {names[j]}", none, i, j) for i, j in ends]


def faster(schedule: Schedule, part: Part, factor: float) -> Problem:
    """The schedule's problem, one part of it `factor` times as fast."""
    problem, (what, _, ops, d, e) = schedule.problem, part
    graph, cluster = problem.graph, problem.cluster
    if what == "link":
        bandwidth = cluster.bandwidth.copy()
        bandwidth[d, e] *= factor
        return problem.with_costs(cluster=cluster.replace(bandwidth=bandwidth))
    if what == "device":
        speed = cluster.speed.copy()
        speed[d] *= factor
        column = graph.time_column(cluster.names[d], cluster.types[d])
        if graph.time is not None and column >= 0 and np.isnan(graph.time_speed[column]):
            graph = graph.replace(time=_divided(graph.time, (ops, column), factor))
        return problem.with_costs(graph=graph, cluster=cluster.replace(speed=speed))
    time = graph.time if graph.time is None else _divided(graph.time, ops, factor)
    return problem.with_costs(graph=graph.replace(compute=_divided(graph.compute, ops, factor), time=time))


def _divided(values: np.ndarray, where: Any, factor: float) -> np.ndarray:
    changed = values.copy()
    changed[where] /= factor
    return changed
