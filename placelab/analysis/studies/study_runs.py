"""Compare strategies on many problems, on several processes or a Dask cluster, in steps that a kill does not undo."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.comparing import COLUMNS, Row, fitting_schedulers, seeds_of, several
from placelab.analysis.measures import gap_to
from placelab.analysis.studies.over_values import OF_DEVICES, OF_LINKS, Parameter
from placelab.analysis.studies.study_cells import Rows, Task, Treatment, choices, tasks_of
from placelab.analysis.studies.study_workers import Done, in_processes, in_this_process, on_cluster
from placelab.base.errors import FormatError, PlacelabError, count, expect
from placelab.base.fields import read_from
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS
from placelab.schedule.catalogue import checked
from placelab.schedule.catalogue import partitioners as all_partitioners
from placelab.schedule.catalogue import schedulers as all_schedulers
from placelab.strategies.preparing.chain import Transformations, chain

if TYPE_CHECKING:
    import pandas as pd


MOST_SEED = 2**63 - 1  # columns of Parquet hold no larger one


@checked
def study(
    problems: Any,
    partitioners: Any = None,
    schedulers: Any = None,
    *,
    seeds: int | Iterable[int] = 1,
    prepare: Transformations = (),
    path: Any = None,
    client: Any = None,
    processes: int | None = None,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """Compare strategies on many problems; go on where an earlier call with the same path ended.

    Parameters
    ----------
    problems
        :func:`placelab.grid`, a mapping name → problem, or an iterable of problems or of pairs (name, problem).
    partitioners, schedulers
        Names or decorated functions, each alone or in a pair with its options, ``("heft", {"insertion": False})``; default: as
        for :func:`placelab.compare`, which by default includes partitioners that search for seconds on each problem.
    seeds, prepare
        As for :func:`placelab.compare`.
    path
        A folder, ``study.parquet`` say, made if it is not there. Finished rows are added to it as Parquet files, within a
        second at first and later within a hundredth of the time the study has taken so far. Rows that are there are not computed
        again: the same problem, strategies, options, seed and version of placelab. ``pandas.read_parquet(path)`` reads it.
    client
        A ``dask.distributed.Client`` or the address of a scheduler; its workers need placelab. Default: processes of this
        machine.
    processes
        Number of processes without a client; 0 is this one. Default: as many as there are processors.
    progress
        Called after each row with a :class:`placelab.base.progress.Progress`: the share that is done, and the ``row``.
    cancel
        Called several times a second; when it returns True, tasks under way are given up and the complete rows returned.

    Returns
    -------
    DataFrame
        One row per (problem, partitioner, seed, scheduler), in this order: ``problem``, the columns that describe it, then those
        of :func:`placelab.compare`. ``bound_gap`` is relative to the best lower bound that any row of the problem proves.

    Raises
    ------
    FormatError, UnsupportedError
        No problems, no such strategy or option; a path or a client without the packages of the extra ``placelab[studies]``.
    PlacelabError
        The Dask cluster is gone; the same call goes on with the rows in `path`.

    Notes
    -----
    A task is one placement and its runs. What a strategy raises is a row with the reason; so is a task that ends its process
    three times. Another worker that is killed costs its tasks a second run. Each problem is sent to a process once, to a Dask
    cluster once, and between its workers by Dask. A task that is given up ends with its process; on a Dask cluster
    its worker ends it first. A script that uses processes needs ``if __name__ == "__main__":``.

    Examples
    --------
    >>> import placelab as pl
    >>> problems = pl.grid(pl.generators.fork_join(3), [2, 4])
    >>> study(problems, ["single", "heft"], "fifo", processes=0)[["devices", "partitioner", "valid"]]
       devices partitioner  valid
    0        2      single   True
    1        2        heft   True
    2        4      single   True
    3        4        heft   True
    """
    work = planned(problems, partitioners, schedulers, seeds, prepare, path, processes)
    return run(work, client, processes, progress or silent, cancel or never)


@dataclass(frozen=True, eq=False)
class StudyTasks:
    """All tasks of a study, where their rows go, and the rows that were there, by key."""

    problems: Problems
    plan: Treatment
    tasks: list[Task]
    rows: Rows
    known: dict[str, Row]


def planned(
    problems: Any,
    partitioners: Any,
    schedulers: Any,
    seeds: int | Iterable[int],
    prepare: Transformations,
    path: Any,
    processes: int | None,
) -> StudyTasks:
    """What :func:`study` is to do; raises what is wrong with its arguments."""
    named = named_problems(problems)
    if not named:
        raise FormatError("study has no problems; give it at least one")
    if processes is not None:
        count(processes, "processes", 0)
    where = choices(all_partitioners(), all_partitioners() if partitioners is None else partitioners, "partitioner")
    when = choices(all_schedulers(), all_schedulers() if schedulers is None else schedulers, "scheduler")
    with read_from("prepare"):
        chain(prepare)  # raises what is wrong with it before the work
    plan = Treatment(where, when, prepare)
    starts = seeds_of(seeds)
    if max(starts) > MOST_SEED:
        raise FormatError(f"seeds has {max(starts)}; a study can keep seeds up to {MOST_SEED}")
    tasks = tasks_of(named, plan, starts, lambda p: _fitting(plan, p, schedulers is None))
    rows = Rows(path)
    return StudyTasks(named, plan, tasks, rows, rows.by_key())


def run(work: StudyTasks, client: Any, processes: int | None, report: Report, stop: Callable[[], bool]) -> pd.DataFrame:
    """Compute the rows that are missing, and return those of the study."""
    todo = _missing(work.tasks, work.known)
    total = sum(len(task.keys) for task in work.tasks)
    done = total - sum(len(task.keys) for task in todo)

    def tick() -> bool:
        work.rows.write_if_due()
        return stop()

    running = _running(todo, work.problems, work.plan, tick, client, processes)
    try:
        for _, fresh in running:
            work.rows.add(fresh)
            for row in fresh:
                done += 1
                pair = f"{row['problem']}: {row['partitioner']} + {row['scheduler']}"
                report(Progress(pair, done / total, row=row))
    finally:
        work.rows.write()
        running.close()
    return _frame(work, work.rows.by_key())


def _fitting(plan: Treatment, problem: Problem, by_default: bool) -> list[int]:
    """Numbers of the schedulers for a problem: those asked for, or those that fit its graph."""
    fit = set(fitting_schedulers(problem.graph))
    return [i for i, choice in enumerate(plan.schedulers) if not by_default or choice.label in fit]


def _missing(tasks: list[Task], known: dict[str, Row]) -> list[Task]:
    """The tasks without what is known, and without what occurs again."""
    seen = set(known)
    left = []
    for task in tasks:
        pairs = [pair for pair in zip(task.schedulers, task.keys, strict=True) if pair[1] not in seen]
        if pairs:
            seen.update(key for _, key in pairs)
            schedulers, keys = zip(*pairs, strict=True)
            left.append(task if keys == task.keys else replace(task, schedulers=schedulers, keys=keys))
    return left


def _running(
    todo: list[Task], problems: Problems, plan: Treatment, stop: Callable[[], bool], client: Any, processes: int | None
) -> Done:
    needed = {task.problem: problems[task.problem] for task in todo}
    if client is not None:
        return on_cluster(todo, needed, plan, stop, client)
    most = os.cpu_count() or 1 if processes is None else processes
    if most == 0 or not todo:
        return in_this_process(todo, needed, plan, stop)
    return in_processes(todo, needed, plan, stop, min(most, len(todo)))


def rows_of_study(work: StudyTasks, known: Mapping[str, Row]) -> Iterator[Row]:
    """The rows of a study, in its order, of those that are known by key; a strategy has the study's name for it."""
    for task in work.tasks:
        for scheduler, key in zip(task.schedulers, task.keys, strict=True):
            if key in known:
                cell = dict(
                    partitioner=work.plan.partitioners[task.partitioner].label,
                    scheduler=work.plan.schedulers[scheduler].label,
                )
                yield known[key] | dict(problem=task.problem, seed=task.seed) | cell


def _frame(work: StudyTasks, known: Mapping[str, Row]) -> pd.DataFrame:
    need("pandas")
    import pandas as pd

    bounds: dict[str, float] = {}
    rows = list(rows_of_study(work, known))
    for row in rows:
        bounds[row["problem"]] = max(bounds.get(row["problem"], 0.0), row["bound"])
    columns = work.problems.columns
    described = dict.fromkeys(name for one in columns.values() for name in one)
    proven = [
        columns[row["problem"]] | row | {"bound_gap": gap_to(row["makespan"], bounds[row["problem"]])} for row in rows
    ]
    frame = pd.DataFrame(proven, columns=["problem", *described, *COLUMNS])
    frame.attrs["si"] = all(problem.cluster.units.si for problem in work.problems.values())
    return frame


# ---------- its problems, with the columns that describe them: all combinations of graphs, devices and parameters, or given ones

PARAMETERS = (*OF_LINKS, *OF_DEVICES)
RULES = {
    **{label: label for label in ("transfers", "duplex", "transfer_ops")},
    "memory_model": "memory",  # without `model`, those of the cluster
    "latency_rule": "latency",
}
CHOICES: dict[str, Collection[str]] = {
    "transfers": TRANSFER_MODELS,
    "memory_model": MEMORY_MODELS,
    "latency_rule": LATENCIES,
}
Named = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problems(Mapping[str, Problem]):
    """Problems by name, and what describes each.

    Attributes
    ----------
    problems : dict of Problem
        By name.
    columns : dict of dict
        For each name the values of its describing columns: numbers, texts, True or False.
    """

    problems: dict[str, Problem]
    columns: dict[str, dict[str, Any]]

    def __getitem__(self, name: str) -> Problem:
        return self.problems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __repr__(self) -> str:
        return f"Problems({len(self)}: {', '.join(self)[:60]} …)" if self else "Problems(0)"


def grid(graph: Any, devices: Any, **axes: Any) -> Problems:
    """All combinations of graphs, clusters and parameters, as named problems for :func:`placelab.study`.

    Parameters
    ----------
    graph
        A graph, a list of graphs, or a mapping name → graph.
    devices
        Numbers of equal devices, names of presets (``placelab.clusters.PRESETS``) or clusters; one, a list, or a mapping from
        names.
    axes
        One value or a list for each of ``bandwidth`` [bytes/s], ``latency`` [s], ``speed`` [operations/s], ``memory`` [bytes]:
        devices or links that differ keep their ratios, and the largest gets the value, as in :func:`placelab.sensitivity`; a
        mapping names the values. And of ``transfers``, ``duplex``, ``transfer_ops``, ``memory_model``, ``latency_rule``, as
        :class:`placelab.Problem` takes them (the last two as ``memory`` and ``latency``).

    Returns
    -------
    Problems
        A mapping from names such as ``"fft, devices=2, bandwidth=1e+09"`` to problems, in the order of the lists, the
        last one changing fastest; its ``columns`` has ``graph``, ``devices`` and the axes of each.

    Raises
    ------
    FormatError
        No such axis; an empty list; a value that no problem can have.

    Examples
    --------
    >>> import placelab as pl
    >>> problems = grid(pl.generators.fork_join(3), [2, 4], bandwidth=[1e9, 1e10])
    >>> len(problems), list(problems.columns.values())[1]
    (4, {'graph': 'fork-join 3 x 1', 'devices': 2, 'bandwidth': 10000000000.0})
    """
    known = (*PARAMETERS, *RULES)
    if unknown := sorted(set(axes) - set(known)):
        raise FormatError(f"grid has no axis {unknown[0]!r}; there are graph, devices, {', '.join(known)}")
    every: dict[str, Named] = dict(graph=_graphs(graph), devices=_values("devices", devices))
    every |= {axis: _values(axis, values) for axis, values in axes.items()}
    shown = [axis for axis, values in every.items() if len(values) > 1 and axis != "graph"]
    problems = {}
    columns = {}
    for labels in product(*every.values()):
        described = dict(zip(every, labels, strict=True))
        name = ", ".join([str(described["graph"]), *(f"{axis}={_text(described[axis])}" for axis in shown)])
        problems[name] = _problem(name, {axis: every[axis][label] for axis, label in described.items()})
        columns[name] = described
    return Problems(problems, columns)


def named_problems(given: Any) -> Problems:
    """Problems as :func:`placelab.study` takes them, with columns: those of a grid, or the sizes of each problem."""
    if isinstance(given, Problems):
        return given
    if isinstance(given, Problem):
        given = [given]
    expect(given, Iterable, "study, for its problems,")
    pairs = list(given.items()) if isinstance(given, Mapping) else [_pair(item) for item in given]
    titles = _distinct([name for name, _ in pairs])
    problems = dict(zip(titles, (problem for _, problem in pairs), strict=True))
    for name, problem in problems.items():
        expect(problem, Problem, f"study, for {name!r},")
    sizes = {name: dict(ops=p.graph.n_ops, devices=p.cluster.n_devices) for name, p in problems.items()}
    return Problems(problems, sizes)


def _pair(item: Any) -> tuple[str, Any]:
    """A name with its problem, or a problem with the title of its graph."""
    if isinstance(item, tuple) and len(item) == 2:
        return item
    expect(item, Problem, "study, for each of its problems,")
    return item.graph.title, item


def _distinct(names: list[Any]) -> list[str]:
    """The names, those that occur again with a number."""
    seen: dict[str, int] = {}
    found = []
    for name in map(str, names):
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found


def _graphs(given: Any) -> dict[str, OpGraph]:
    if isinstance(given, Mapping):
        graphs = {str(name): graph for name, graph in given.items()}
    else:
        listed = [given] if isinstance(given, OpGraph) else list(several(given))
        for graph in listed:
            expect(graph, OpGraph, "grid, for each graph,")
        graphs = dict(zip(_distinct([graph.title for graph in listed]), listed, strict=True))
    if not graphs:
        raise FormatError("grid has no graph; give it at least one")
    for graph in graphs.values():
        expect(graph, OpGraph, "grid, for each graph,")
    return graphs


def _values(axis: str, given: Any) -> Named:
    """Label → value; the label of a number, text or flag is itself, that of a cluster its size."""
    if axis in COLUMNS:
        raise FormatError(f"{axis!r} is a column of results; no axis can have its name")
    listed = list(given.values() if isinstance(given, Mapping) else several(given))
    if not listed:
        raise FormatError(f"grid has no value of {axis}; give it at least one, or leave it out")
    plain = [value.item() if isinstance(value, np.generic) else value for value in listed]
    values = [_value(axis, value) for value in plain]
    if isinstance(given, Mapping):
        return dict(zip(given, values, strict=True))
    labels = [f"{value.n_devices} devices" if isinstance(value, Cluster) else value for value in plain]
    if any(isinstance(label, str) for label in labels):
        labels = _distinct(labels)
    return dict(zip(labels, values, strict=True))


def _value(axis: str, given: Any) -> Any:
    """The value, a cluster for devices; FormatError for what no parameter or rule of that name can be."""
    if axis == "devices":
        with read_from(axis):
            return _cluster(given)
    if axis in CHOICES:
        good = isinstance(given, str) and given in CHOICES[axis]
        wanted = f"one of {', '.join(CHOICES[axis])}"
    elif axis == "duplex":
        good = isinstance(given, bool)
        wanted = "True or False"
    else:
        good = _is_number(given)
        wanted = "a number"
    if not good:
        raise FormatError(f"{axis} is {given!r:.60}; expected {wanted}")
    return given


def _is_number(value: Any) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and (abs(value) == inf or abs(value) <= sys.float_info.max)


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _problem(name: str, values: Named) -> Problem:
    try:
        cluster = values["devices"]
        for over in PARAMETERS:
            if over in values:
                cluster = _put(cluster, over, values[over])
        rules = {RULES[axis]: value for axis, value in values.items() if axis in RULES}
        return Problem(values["graph"], cluster, **rules)
    except PlacelabError as error:
        raise type(error)(f"problem {name!r}: {error}") from None


def _cluster(given: Any) -> Cluster:
    if isinstance(given, Cluster):
        return given
    return clusters.preset(given) if isinstance(given, str) else Cluster.uniform(given)


def _put(cluster: Cluster, over: str, value: float) -> Cluster:
    k = cluster.n_devices
    where = np.ones(k, bool) if over in OF_DEVICES else ~np.eye(k, dtype=bool)
    return Parameter(over, where).put_in(cluster, value) if where.any() else cluster
