"""Read WfFormat 1.5 and 1.6, the workflows of WfCommons: tasks become ops, files become tensors.

An op is a task, named by its ``id``; its ``kind`` is the task's ``name`` without a trailing number. Its ``compute`` is
``runtimeInSeconds`` × 10¹³ operations/s × the speed of the machine that ran it relative to the median machine (1 if the
file lacks it), so that a device of 10¹³ operations/s takes the measured time; ``temporary`` is ``memoryInBytes``. A task
occupies one device, however many cores it used.

A file is a tensor of the task that writes it, with an edge to each task that reads it; if several tasks write it, from the
one that is the reader's parent. A parent that passes no file has a control edge. Files that no task writes exist from the
beginning. ``metadata["costs"]`` counts files without a size as ``unsized``.

``metadata["cluster"]`` has one device per machine. The format has no links: 10 Gbit/s and 50 µs are assumed.

References
----------
https://github.com/wfcommons/WfFormat
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.fields import cost, nonempty, read_from, record, records, text, texts
from placelab.base.limits import json_of
from placelab.formats.building import build
from placelab.problem.graph import OpGraph

EXPECTED = "a WfFormat workflow"
VERSIONS = ("1.5", "1.6")
SPEED = 1e13  # operations/s of the median machine
BANDWIDTH, LATENCY = 1.25e9, 50e-6  # assumed between machines
MAX_MACHINES = 2_000
NONE: frozenset[int] = frozenset()
SPARSE = 512  # tasks per entry of a set; from there on, a set takes less memory and time than a bit mask of all tasks


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a WfFormat file, gzipped or not; `where` names it in messages."""
    return graph_of(json_of(data, where, EXPECTED), where)


def matches(document: Any) -> bool:
    """Whether parsed JSON is a WfCommons workflow of any version."""
    return isinstance(document, dict) and "workflow" in document and "schemaVersion" in document


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    if not matches(document):
        raise FormatError(f"{where} is not {EXPECTED}: expected schemaVersion and workflow at the top")
    if document["schemaVersion"] not in VERSIONS:
        raise FormatError(
            f"{where} has schemaVersion {document['schemaVersion']!r:.40}; this placelab reads WfFormat "
            f"{' and '.join(VERSIONS)}: WfCommons' wfcommons-migrate-instance converts older files"
        )
    with read_from(where):
        return _graph(document)


@dataclass(frozen=True)
class _Task:
    name: str
    parents: set[int]
    reads: list[str]
    writes: list[str]


def _graph(document: dict[str, Any]) -> OpGraph:
    workflow = record(document["workflow"], "workflow")
    specification = record(workflow.get("specification"), "workflow.specification")
    execution = record(workflow.get("execution", {}), "workflow.execution")
    given = nonempty(records(specification.get("tasks"), "specification.tasks"), "tasks")
    tasks = _tasks(given)
    size = _sizes(specification)
    speeds = _speeds(execution)
    runs = _runs(execution)
    measured = [_measured(task, runs, speeds) for task in tasks]
    writes = [numbered(task.writes) for task in tasks]
    edges = workflow_edges([task.reads for task in tasks], writes, {v: task.parents for v, task in enumerate(tasks)})
    return build(
        [task.name for task in tasks],
        [compute for compute, _ in measured],
        **edges.columns(writes, size),
        temporary=[memory for _, memory in measured],
        kind=[_kind(text(task.get("name", ""), f"name of task {i}")) for i, task in enumerate(given)],
        metadata=_metadata(document, execution, speeds, unsized(writes, size)),
    )


def _tasks(given: list[dict[str, Any]]) -> list[_Task]:
    names = [text(task.get("id"), f"id of task {i}") for i, task in enumerate(given)]
    number = {name: v for v, name in enumerate(names)}
    parents: list[set[int]] = [set() for _ in names]
    for v, task in enumerate(given):
        parents[v].update(_numbers(task, "parents", names[v], number))
        for child in _numbers(task, "children", names[v], number):
            parents[child].add(v)

    def listed(task: dict[str, Any], name: str, key: str) -> list[str]:
        return texts(task.get(key, []), f"{key} of task {name!r}")

    return [
        _Task(name, parents[v], listed(task, name, "inputFiles"), listed(task, name, "outputFiles"))
        for v, (name, task) in enumerate(zip(names, given, strict=True))
    ]


def _kind(name: str) -> str:
    """A task's name without trailing number: ``mProject`` for ``mProject_ID0000007``."""
    stem = name.rstrip("0123456789")
    return name if stem == name else stem.removesuffix("ID").rstrip("_-")


def _numbers(task: dict[str, Any], key: str, name: str, number: dict[str, int]) -> list[int]:
    """Numbers of a task's parents or children."""
    named = texts(task.get(key, []), f"{key} of task {name!r}")
    for other in named:
        if other not in number:
            raise FormatError(f"{key} of task {name!r} name {other!r:.80}, which is not the id of a task")
    return [number[other] for other in named]


def _sizes(specification: dict[str, Any]) -> dict[str, float]:
    """Bytes of each file."""
    size: dict[str, float] = {}
    for file in records(specification.get("files", []), "specification.files"):
        name = text(file.get("id"), "id of a file")
        if name in size:
            raise FormatError(f"two files have the id {name!r:.80}; ids must be unique")
        size[name] = cost(file.get("sizeInBytes"), f"sizeInBytes of file {name!r:.80}")
    return size


def _runs(execution: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Measurements of each task, by its id."""
    runs: dict[str, dict[str, Any]] = {}
    for run in records(execution.get("tasks", []), "execution.tasks"):
        name = text(run.get("id"), "id of an entry of execution.tasks")
        if name in runs:
            raise FormatError(f"execution.tasks holds task {name!r:.80} twice; once is expected")
        runs[name] = run
    return runs


def _measured(task: _Task, runs: dict[str, dict[str, Any]], speeds: dict[str, float]) -> tuple[float, float]:
    """Operations and bytes of a task."""
    run = runs.get(task.name)
    if run is None or "runtimeInSeconds" not in run:
        raise FormatError(
            f"task {task.name!r} has no runtimeInSeconds in workflow.execution.tasks: its cost is unknown"
        )
    seconds = cost(run["runtimeInSeconds"], f"runtimeInSeconds of task {task.name!r}")
    machines = texts(run.get("machines", [run["machine"]] if "machine" in run else []), f"machines of {task.name!r}")
    speed = speeds.get(machines[0], SPEED) if machines else SPEED
    return seconds * speed, cost(run.get("memoryInBytes", 0), f"memoryInBytes of task {task.name!r}")


def _speeds(execution: dict[str, Any]) -> dict[str, float]:
    """Operations/s of the machines with a known clock rate; the median one has SPEED."""
    clock: dict[str, float] = {}
    for machine in records(execution.get("machines", []), "execution.machines"):
        name = text(machine.get("nodeName"), "nodeName of a machine")
        cpu = record(machine.get("cpu", {}), f"cpu of machine {name!r:.80}")
        mhz = cost(cpu.get("speedInMHz", 0), f"speedInMHz of machine {name!r:.80}")
        if mhz:
            clock[name] = mhz
    middle = median(clock.values()) if clock else 1.0
    return {name: SPEED * (mhz / middle) for name, mhz in clock.items()}


def _metadata(
    document: dict[str, Any], execution: dict[str, Any], speeds: dict[str, float], n_unsized: int
) -> dict[str, Any]:
    metadata = {
        "name": text(document.get("name", "workflow"), "name"),
        "reference_speed": SPEED,
        "provenance": f"WfFormat {document['schemaVersion']}",
        "costs": {"compute": f"seconds × {SPEED:g}", "unsized": n_unsized},
    }
    machines = {machine["nodeName"]: machine for machine in execution.get("machines", [])}
    if not 0 < len(machines) <= MAX_MACHINES:
        return metadata
    memory = [cost(m.get("memoryInBytes", 0), f"memoryInBytes of machine {name!r:.80}") for name, m in machines.items()]
    cluster = {
        "speed": [speeds.get(name, SPEED) for name in machines],
        "memory": [size or None for size in memory],
        "bandwidth": BANDWIDTH,
        "latency": LATENCY,
        "names": list(machines),
        "types": ["machine"] * len(machines),
        "hosts": list(machines),
    }
    return metadata | {"cluster": cluster}


def numbered(files: Iterable[str]) -> dict[str, int]:
    """File → its number among the outputs of the task that writes these files."""
    return {file: k for k, file in enumerate(dict.fromkeys(files))}


def unsized(writes: Iterable[Iterable[str]], size: Mapping[str, float]) -> int:
    """Number of written files without a size."""
    return sum(file not in size for files in writes for file in files)


class Edges(NamedTuple):
    """Columns with an entry for each edge."""

    producer: list[int]
    consumer: list[int]
    file: list[str | None]  # None for a parent that passes no file

    def columns(self, writes: Sequence[Mapping[str, int]], size: Mapping[str, float]) -> dict[str, Any]:
        """Arguments of ``build`` for the edges and for the files that no edge carries.

        Parameters
        ----------
        writes
            The :func:`numbered` files of each task.
        size
            Bytes of the files; others have 0.
        """
        read = set(zip(self.producer, self.file, strict=True))
        return {
            "edges": np.array([self.producer, self.consumer], dtype=np.int64).T,
            "edge_bytes": [0.0 if file is None else size.get(file, 0.0) for file in self.file],
            "edge_output": [
                0 if file is None else writes[u][file] for u, file in zip(self.producer, self.file, strict=True)
            ],
            "edge_control": [file is None for file in self.file],
            "outputs": [
                (u, k, size.get(file, 0.0))
                for u, files in enumerate(writes)
                for file, k in files.items()
                if (u, file) not in read
            ],
        }


def workflow_edges(
    reads: Sequence[Iterable[str]], writes: Sequence[Iterable[str]], parents: Mapping[int, set[int]]
) -> Edges:
    """The edges of a workflow: files that go from task to task, and parents that pass no file.

    Parameters
    ----------
    reads, writes
        Files of each task; a file may be listed twice.
    parents
        Task → tasks that precede it.

    Returns
    -------
    Edges
        Sorted by consumer: first its files in its order, then the parents from which it reads no file. A file has an edge from
        its writer, or, of several writers, from the first one that is a parent of the reader. It has no edge if there is no
        such task, or if the reader is its only writer.

    Notes
    -----
    O(reads + writes + parents) with one writer per file. With several writers, a read also takes a bit per task, or the size
    of the smaller set of writers and parents if that is less.
    """
    writers: dict[str, dict[int, None]] = {}
    for v, files in enumerate(writes):
        for file in files:
            writers.setdefault(file, {})[v] = None
    first = _First({file: found.keys() for file, found in writers.items() if len(found) > 1}, parents, len(writes))
    edges = Edges([], [], [])
    for v, files in enumerate(reads):
        joined: set[int] = set()
        for file in dict.fromkeys(files):
            found = writers.get(file, ())
            u = first.parent(file, v) if len(found) > 1 else next(iter(found), None)
            if u is not None and u != v:
                edges.producer.append(u)
                edges.file.append(file)
                joined.add(u)
        edges.producer.extend(sorted(parents.get(v, NONE) - joined))
        edges.consumer.extend([v] * (len(edges.producer) - len(edges.consumer)))
        edges.file.extend([None] * (len(edges.producer) - len(edges.file)))
    return edges


class _First:
    """Look up the first writer of a file that is a parent of a reader."""

    def __init__(self, writers: Mapping[str, AbstractSet[int]], parents: Mapping[int, set[int]], n: int) -> None:
        self.writers = writers
        self.parents = parents
        self.n = n
        self.of_file: dict[str, int] = {}  # masks
        self.of_reader: tuple[int, int] = (-1, 0)  # the last reader, and the mask of its parents

    def parent(self, file: str, v: int) -> int | None:
        """The first writer of `file` that is a parent of task `v`; None if no writer is."""
        writers = self.writers[file]
        parents = self.parents.get(v, NONE)
        if SPARSE * min(len(writers), len(parents)) < self.n:
            return min(writers & parents, default=None)
        if file not in self.of_file:
            self.of_file[file] = self._mask(writers)
        if self.of_reader[0] != v:
            self.of_reader = v, self._mask(parents)
        both = self.of_file[file] & self.of_reader[1]
        return (both & -both).bit_length() - 1 if both else None

    def _mask(self, tasks: Collection[int]) -> int:
        """An integer with a bit for each task."""
        bits = np.zeros(self.n, dtype=bool)
        bits[np.fromiter(tasks, dtype=np.int64, count=len(tasks))] = True
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
