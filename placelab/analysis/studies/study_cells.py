"""Cells of a study, one problem × partitioner × seed × scheduler each: what identifies one, how it is computed and stored."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any
from uuid import uuid4

import numpy as np

from placelab.analysis.comparing import Row, failed, run_pair, several, timed
from placelab.base.errors import FormatError
from placelab.base.files import path_of, save
from placelab.base.interrupts import need
from placelab.planning.lower_bounds import best_bound
from placelab.problem.problem import Problem
from placelab.problem.problem_key import problem_key
from placelab.schedule.catalogue import check_options, find
from placelab.strategies.placing import place_only
from placelab.strategies.preparing.chain import Transformation, Transformations, chain


@dataclass(frozen=True, eq=False)
class Choice:
    """A strategy with options, and its name in the table: ``heft``, or ``heft(insertion=False)``."""

    label: str
    strategy: Any
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Treatment:
    """What is done with each problem."""

    partitioners: tuple[Choice, ...]
    schedulers: tuple[Choice, ...]
    prepare: Transformations


@dataclass(frozen=True)
class Task:
    """One placement and its runs: the problem's name, the partitioner's number, the seed, the schedulers' numbers, keys."""

    problem: str
    partitioner: int
    seed: int
    schedulers: tuple[int, ...]
    keys: tuple[str, ...]


def choices(catalogue: Mapping[str, Any], given: Any, what: str) -> tuple[Choice, ...]:
    """Strategies by name or function, each alone or in a pair with a mapping of its options."""
    found = [_choice(catalogue, one, what) for one in ([given] if _is_pair(given) else several(given))]
    if not found:
        raise FormatError(f"study has no {what}; name at least one")
    labels = [choice.label for choice in found]
    if len(set(labels)) < len(labels):
        raise FormatError(f"{what} {max(labels, key=labels.count)!r} is given twice; name it once")
    return tuple(found)


def _is_pair(one: Any) -> bool:
    return isinstance(one, (tuple, list)) and len(one) == 2 and isinstance(one[1], Mapping)


def _choice(catalogue: Mapping[str, Any], one: Any, what: str) -> Choice:
    strategy, options = one if _is_pair(one) else (one, {})
    function = find(catalogue, strategy, what)
    check_options(function.name, function.options, options)
    inside = ", ".join(f"{name}={value}" for name, value in options.items())
    return Choice(f"{function.name}({inside})" if inside else function.name, function, dict(options))


def run_task(problem: Problem, plan: Treatment, task: Task) -> list[Row]:
    """The rows of a task, each with its key; whatever a strategy raises is the reason in a row."""
    where = plan.partitioners[task.partitioner]
    rows = []
    placement, took, error = timed(
        lambda: place_only(problem, where.strategy, prepare=_step(plan), seed=task.seed, **where.options)
    )
    bound, _, _ = timed(lambda: _bound(problem))
    known = np.nan if bound is None else bound
    for number, key in zip(task.schedulers, task.keys, strict=True):
        when = plan.schedulers[number]
        result = (
            run_pair(problem, placement, when.strategy, task.seed, known, took, options=when.options)
            if placement
            else failed(took, error)
        )
        if placement and placement.problem is problem:
            known = max(known, placement.proven(result["makespan"]))
        rows.append(_cell(plan, task, number, key) | result | dict(bound=known))
    return rows


def lost(plan: Treatment, task: Task, reason: str) -> list[Row]:
    """The rows of a task that no worker could finish."""
    return [
        _cell(plan, task, number, key) | failed(np.nan, reason) | dict(bound=np.nan)
        for number, key in zip(task.schedulers, task.keys, strict=True)
    ]


def _cell(plan: Treatment, task: Task, scheduler: int, key: str) -> Row:
    names = dict(partitioner=plan.partitioners[task.partitioner].label, scheduler=plan.schedulers[scheduler].label)
    return dict(key=key, problem=task.problem, **names, seed=task.seed)


@lru_cache(maxsize=4)  # tasks come problem by problem
def _bound(problem: Problem) -> float:
    return best_bound(problem)


@lru_cache(maxsize=4)
def _step(plan: Treatment) -> Transformation:
    return lru_cache(maxsize=2)(chain(plan.prepare))


# ---------------------------------------------------------------- identity


def key_of(*parts: Any) -> str:
    """A hash of texts and numbers; together with the version of placelab, as results change with it."""
    return blake2b(json.dumps([_version(), *parts]).encode(), digest_size=16).hexdigest()


def choice_key(choice: Choice) -> str:
    """What identifies a strategy with its options; an own one is identified by its source as well."""
    return f"{_identity(choice.strategy)} {sorted(choice.options.items())!r}"


def steps_key(steps: Transformations) -> list[str]:
    """What identifies the transformations before placing."""
    several_ = [steps] if isinstance(steps, str) or callable(steps) else list(steps)
    return [step if isinstance(step, str) else _identity(step) for step in several_]


def _identity(function: Callable) -> str:
    name = str(getattr(function, "name", None) or getattr(function, "__qualname__", ""))
    if keywords := getattr(function, "keywords", None):  # functools.partial
        return f"{_identity(function.func)} {sorted(keywords.items())!r}"  # type: ignore[attr-defined]
    if getattr(function, "__module__", "").startswith("placelab."):
        return name
    try:
        return f"{name} {inspect.getsource(inspect.unwrap(function))}"
    except (OSError, TypeError):  # typed at a prompt, or built in
        return name


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return version("placelab")
    except PackageNotFoundError:  # a copy of the folder
        return "0"


def tasks_of(
    names: Mapping[str, Problem], plan: Treatment, seeds: Sequence[int], fitting: Callable[[Problem], Sequence[int]]
) -> list[Task]:
    """All tasks, problem by problem; partitioners that search for seconds by design come last for each."""
    order = sorted(range(len(plan.partitioners)), key=lambda p: plan.partitioners[p].strategy.slow)
    where, when = ([*map(choice_key, some)] for some in (plan.partitioners, plan.schedulers))
    prepare = steps_key(plan.prepare)
    tasks = []
    for name, problem in names.items():
        schedulers = tuple(fitting(problem))
        own = problem_key(problem)
        for p in order:
            for seed in seeds:
                keys = tuple(key_of(own, where[p], when[s], prepare, seed) for s in schedulers)
                tasks.append(Task(name, p, seed, schedulers, keys))
    return tasks


TEXTS = ("key", "problem", "partitioner", "scheduler", "error")
NUMBERS = ("makespan", "bound", "seconds")
FLAGS = ("valid", "oom")
STORED = (*TEXTS, "seed", *NUMBERS, *FLAGS)
PAUSE = 1.0  # seconds after which a part is written …
SHARE = 0.01  # … later after this share of the time so far: few parts for long studies


class Rows:
    """Finished rows, in memory or, with a path, in the files of a folder.

    Every file is written under another name and renamed, so that a kill at any moment leaves whole files; what was not yet
    written is computed again.

    Raises
    ------
    UnsupportedError
        A path without pyarrow, which reads and writes Parquet.
    FormatError
        `path` is a file, or a file in it is none of a study.
    """

    def __init__(self, path: Any = None) -> None:
        self.folder = None if path is None else _folder(path)
        self.begun = self.written = monotonic()
        self.waiting: list[Row] = []

    def add(self, rows: list[Row]) -> None:
        """Take rows over."""
        self.waiting += rows
        self.write_if_due()

    def write_if_due(self) -> None:
        """Write what is waiting if some time has passed since the last part."""
        now = monotonic()
        if now - self.written >= max(PAUSE, SHARE * (now - self.begun)):
            self.write()

    def write(self) -> None:
        """Write what is waiting; without a path it stays in memory."""
        if self.folder is None or not self.waiting:
            return
        pa, parquet = _arrow()
        columns = {name: [row[name] for row in self.waiting] for name in STORED}
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns, schema=_schema(pa)), sink, write_page_checksum=True)
        save(sink.getvalue().to_pybytes(), self.folder / f"{uuid4().hex}.parquet", sync=True)
        self.waiting = []
        self.written = monotonic()

    def by_key(self) -> dict[str, Row]:
        """All rows there are; of two with one key, as two programs at one folder can leave them, one."""
        parts = parts_of(self.folder) if self.folder else []
        rows = {row["key"]: row for path in parts for row in rows_of(path)}
        return rows | {row["key"]: row for row in self.waiting}


def parts_of(folder: Path) -> list[Path]:
    """The files of a study, by name."""
    return sorted(folder.glob("*.parquet"))


def rows_of(part: Path) -> list[Row]:
    """The rows of a file of a study; FormatError when it is none."""
    pa, parquet = _arrow()
    try:
        file = parquet.ParquetFile(part, page_checksum_verification=True)
        return file.read(columns=list(STORED)).select(STORED).cast(_schema(pa)).to_pylist()
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise FormatError(f"{part} is no part of a study; remove it, and its rows are computed again") from None


def _folder(path: Any) -> Path:
    folder = path_of(path)
    _arrow()
    if folder.exists() and not folder.is_dir():
        raise FormatError(f"{folder} is a file; a study needs the path of a folder, new or of the study to go on with")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FormatError(f"{folder} cannot be made: {error.strerror}") from None
    return folder


def _arrow() -> tuple[ModuleType, ModuleType]:
    need("pyarrow", "pyarrow.parquet")
    import pyarrow
    from pyarrow import parquet

    return pyarrow, parquet


def _schema(pa: ModuleType) -> Any:
    kinds = dict.fromkeys(TEXTS, pa.string()) | {"seed": pa.int64()}
    kinds |= dict.fromkeys(NUMBERS, pa.float64()) | dict.fromkeys(FLAGS, pa.bool_())
    return pa.schema([(name, kinds[name]) for name in STORED])
