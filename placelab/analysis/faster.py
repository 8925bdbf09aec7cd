"""What a faster op kind, op, device or link would save: the schedule run again for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import in_batches
from placelab.problem.cluster import with_bandwidth
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, checked
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import makespans_of, run_again

if TYPE_CHECKING:
    import pandas as pd

NONE = np.empty((0, 2), int)
DRAWN = 3  # hosts that the cluster canvas joins two by two; more hang on one network
COLUMNS = ("what", "name", "makespan", "saved")


class Part(NamedTuple):
    """A part of a schedule that could be faster.

    Attributes
    ----------
    what, name : str
        ``kind``, ``device``, ``op`` or ``link``, or several ``devices`` or ``links``; and which: the columns of :func:`what_if`.
    ops : ndarray of int
        Ops that would take less time; none of links.
    devices : tuple of int
        Their numbers.
    pairs : ndarray of int, shape (n, 2)
        From where to where links lead, or the pairs that share one.
    shared : bool
        Whether it is a link of ``Cluster.links``.
    """

    what: str
    name: str
    ops: np.ndarray = NONE[:, 0]
    devices: tuple[int, ...] = ()
    pairs: np.ndarray = NONE
    shared: bool = False


@checked
def what_if(
    schedule: Schedule,
    *,
    factor: float = 1.1,
    k: Annotated[int, Limits(0)] = 20,
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
        (``""``: ops without one, where others have one), all devices, links that carry something: under ``fair`` those that
        several pairs share (``Cluster.links``), by name, and those of a pair, ``source → destination``. ``saved`` is negative
        where faster parts make the whole slower (Graham's anomalies). ``makespan`` is NaN where the faster run lacks memory that
        it waits for in vain.

    Raises
    ------
    UnsupportedError
        The schedule was not made by a scheduler of the catalogue.

    Notes
    -----
    Exact: each row is what ``simulate`` gives for a problem with these costs, to the last bit; a scheduler that looks at costs
    sees the changed ones. One simulation per row, on all cores; a user's own scheduler runs in one thread.

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

    return in_batches(some, todo, cancel, schedule.problem.graph.n_ops, run.settings.scheduler)


def parts(schedule: Schedule, k: int = 20) -> list[Part]:
    """What could be faster: kinds by time, devices, the `k` largest ops, links by bytes; ties as in the problem."""
    return [*_kinds(schedule), *_devices(schedule), *_largest(schedule, k), *_shared(schedule), *_pairs(schedule)]


def things(schedule: Schedule, k: int = 20) -> list[Part]:
    """What somebody could buy: all devices of a type, too, and instead of pairs of devices the links in and between hosts."""
    links = [*_shared(schedule), *_between_hosts(schedule)]
    return [*_kinds(schedule), *_devices(schedule), *_types(schedule), *_largest(schedule, k), *links]


def _kinds(schedule: Schedule) -> list[Part]:
    """Each kind, the one that takes most time first; none where no op has a kind."""
    graph = schedule.problem.graph
    took = schedule.finish - schedule.start
    names, index = np.unique(graph.kind.astype(str), return_inverse=True)
    if not names.any():
        return []
    order = np.argsort(-np.bincount(index, took), kind="stable")
    return [Part("kind", str(names[i]), np.flatnonzero(index == i)) for i in order]


def _devices(schedule: Schedule) -> list[Part]:
    names = schedule.problem.cluster.names
    return [Part("device", name, np.flatnonzero(schedule.device == d), (d,)) for d, name in enumerate(names)]


def _types(schedule: Schedule) -> list[Part]:
    """All devices of each type, where several of them run something."""
    types = np.array(schedule.problem.cluster.types)
    used = np.unique(schedule.device)
    of_type = [(kind, np.flatnonzero(types == kind)) for kind in dict.fromkeys(types[used].tolist())]
    return [
        Part("devices", f"all {kind}", np.flatnonzero(np.isin(schedule.device, devices)), tuple(devices.tolist()))
        for kind, devices in of_type
        if np.isin(used, devices).sum() > 1
    ]


def _largest(schedule: Schedule, k: int) -> list[Part]:
    """The ops that take most time."""
    order = np.argsort(schedule.start - schedule.finish, kind="stable")[:k]
    return [Part("op", str(schedule.problem.graph.names[v]), np.array([v])) for v in order]


def _shared(schedule: Schedule) -> list[Part]:
    """Links that several pairs share and that carry something, the one with most bytes first."""
    links = schedule.problem.cluster.links if schedule.problem.transfer_model.shared else ()
    return _carrying(schedule, [Part("link", x.name, pairs=np.array(x.pairs), shared=True) for x in links])


def _pairs(schedule: Schedule) -> list[Part]:
    """Links between two devices that carry something, the one with most bytes first."""
    names = schedule.problem.cluster.names
    used = np.argwhere(_transfers(schedule))
    return _carrying(schedule, [Part("link", f"{names[i]} → {names[j]}", pairs=np.array([[i, j]])) for i, j in used])


def _between_hosts(schedule: Schedule) -> list[Part]:
    """Links inside each host and between hosts that carry something, both directions together, as the canvas draws them."""
    hosts = np.array(schedule.problem.cluster.hosts)
    here = hosts[:, None]
    there = hosts[None, :]
    names = list(dict.fromkeys(hosts.tolist()))
    found = {f"inside {a}": (here == a) & (there == a) for a in names}
    if len(names) > DRAWN:
        found |= {f"of {a} to other hosts": ((here == a) | (there == a)) & (here != there) for a in names}
        found["between hosts"] = here != there
    else:
        for a, b in combinations(names, 2):
            found[f"between {a} and {b}"] = ((here == a) & (there == b)) | ((here == b) & (there == a))
    apart = ~np.eye(len(hosts), dtype=bool)
    return _carrying(schedule, [Part("links", name, pairs=np.argwhere(on & apart)) for name, on in found.items()])


def _transfers(schedule: Schedule) -> np.ndarray:
    """Number of transfers between devices, shape (n_devices, n_devices)."""
    moved = schedule.transfers
    k = schedule.problem.cluster.n_devices
    return np.bincount(moved["source"].astype(np.int64) * k + moved["destination"], minlength=k * k).reshape(k, k)


def _carrying(schedule: Schedule, parts: list[Part]) -> list[Part]:
    """The links that carry something, the one with most bytes first."""
    moved = schedule.transfers
    k = schedule.problem.cluster.n_devices
    count = _transfers(schedule)
    carried = np.zeros((k, k))
    np.add.at(carried, (moved["source"], moved["destination"]), schedule.problem.graph.tensor_bytes[moved["tensor"]])
    used = [part for part in parts if count[tuple(part.pairs.T)].any()]
    return sorted(used, key=lambda part: -carried[tuple(part.pairs.T)].sum())


def faster(schedule: Schedule, part: Part, factor: float) -> Problem:
    """The schedule's problem, one part of it `factor` times as fast."""
    problem = schedule.problem
    graph = schedule.problem.graph
    cluster = schedule.problem.cluster
    if part.shared:
        now = next(link.bandwidth for link in cluster.links if link.name == part.name)
        return problem.with_costs(cluster=cluster.replace(links=with_bandwidth(cluster.links, part.name, now * factor)))
    if len(part.pairs):
        bandwidth = _scaled(cluster.bandwidth, tuple(part.pairs.T), factor)
        return problem.with_costs(cluster=cluster.replace(bandwidth=bandwidth))
    if part.devices:
        speed = _scaled(cluster.speed, list(part.devices), factor)
        return problem.with_costs(graph=_timed(schedule, part, factor), cluster=cluster.replace(speed=speed))
    time = graph.time if graph.time is None else _divided(graph.time, part.ops, factor)
    return problem.with_costs(graph=graph.replace(compute=_divided(graph.compute, part.ops, factor), time=time))


def _timed(schedule: Schedule, part: Part, factor: float) -> OpGraph:
    """The graph with less of those times on a part's devices that hold at any speed."""
    graph = schedule.problem.graph
    cluster = schedule.problem.cluster
    time = schedule.problem.graph.time
    for d in part.devices:
        column = graph.time_column(cluster.names[d], cluster.types[d])
        if time is not None and column >= 0 and np.isnan(graph.time_speed[column]):
            time = _divided(time, (part.ops[schedule.device[part.ops] == d], column), factor)
    return graph if time is graph.time else graph.replace(time=time)


def _scaled(values: np.ndarray, where: Any, factor: float) -> np.ndarray:
    changed = values.copy()
    changed[where] *= factor
    return changed


def _divided(values: np.ndarray, where: Any, factor: float) -> np.ndarray:
    changed = values.copy()
    changed[where] /= factor
    return changed
