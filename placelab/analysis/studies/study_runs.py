"""Compare strategies on many problems, on several processes or a Dask cluster, in steps that a kill does not undo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from placelab.analysis.comparing import COLUMNS, Row, fitting_schedulers, seeds_of
from placelab.analysis.measures import gap_to
from placelab.analysis.studies.problem_grid import Problems, named_problems
from placelab.analysis.studies.study_cells import Rows, Task, Treatment, choices, tasks_of
from placelab.analysis.studies.study_workers import Done, in_processes, in_this_process, on_cluster
from placelab.base.errors import FormatError, count
from placelab.base.fields import read_from
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.problem.problem import Problem
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
