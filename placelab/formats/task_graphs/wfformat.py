"""Read WfFormat 1.5 and 1.6, the workflows of WfCommons: tasks become ops, files become tensors.

An op is a task, named by its ``id``; its ``kind`` is the task's ``name`` without a trailing number. Its ``compute`` is
``runtimeInSeconds`` × 10¹³ operations/s × the speed of the machine that ran it relative to the median machine (1 if the
file lacks it), so that a device of 10¹³ operations/s takes the measured time; ``temporary`` is ``memoryInBytes``. A task
occupies one device, however many cores it used.

Edges and tensors are those of :mod:`placelab.formats.task_graphs.workflows`. A file has one size, whoever writes it; a
negative one counts without its sign. A file without ``schemaVersion`` is read as one of version 1.6 if it has that version's
parts.

``metadata["cluster"]`` has one device per machine. The format has no links: 10 Gbit/s and 50 µs are assumed.

References
----------
https://github.com/wfcommons/WfFormat
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import cost, nonempty, read_from, record, records, text, texts
from placelab.base.files import json_of
from placelab.formats.building import build
from placelab.formats.task_graphs.workflows import SPEED, WorkflowJob, columns
from placelab.problem.graph import OpGraph

EXPECTED = "a WfFormat workflow"
VERSIONS = ("1.5", "1.6")
# Assumed between machines
BANDWIDTH = 1.25e9
LATENCY = 50e-6
MAX_MACHINES = 2_000
PARTS = {"specification", "tasks", "jobs"}  # of a workflow: where its tasks stand, in versions up to 1.4 directly
MIGRATE = "WfCommons' wfcommons-migrate-instance converts older files"


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a WfFormat file, gzipped or not; `where` names it in messages."""
    return graph_of(json_of(data, where, EXPECTED), where)


def matches(document: Any) -> bool:
    """Whether parsed JSON is a WfCommons workflow of any version."""
    if not isinstance(document, dict) or "workflow" not in document:
        return False
    return "schemaVersion" in document or not PARTS.isdisjoint(_parts(document))


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    if not matches(document):
        raise FormatError(f"{where} is not {EXPECTED}: expected schemaVersion and workflow at the top")
    known = f"this placelab reads WfFormat {' and '.join(VERSIONS)}: {MIGRATE}"
    if "schemaVersion" in document and document["schemaVersion"] not in VERSIONS:
        raise FormatError(f"{where} has schemaVersion {document['schemaVersion']!r:.40}; {known}")
    if "schemaVersion" not in document and "specification" not in _parts(document):
        raise FormatError(f"{where} has no schemaVersion, and tasks where WfFormat 1.4 and older have them; {known}")
    with read_from(where):
        return _graph(document)


def _parts(document: dict[str, Any]) -> set[str]:
    """Keys of the workflow."""
    return set(document["workflow"]) if isinstance(document["workflow"], dict) else set()


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
    size, negative = _sizes(specification)
    speeds = _speeds(execution)
    runs = _runs(execution)
    measured = [_measured(task, runs, speeds) for task in tasks]
    jobs = [
        WorkflowJob(task.name, "", 0.0, {f: size.get(f) for f in task.reads}, {f: size.get(f) for f in task.writes})
        for task in tasks
    ]
    edges, counts = columns(jobs, {v: task.parents for v, task in enumerate(tasks)})
    counts |= {"negative": negative} if negative else {}
    return build(
        [task.name for task in tasks],
        [compute for compute, _ in measured],
        **edges,
        temporary=[memory for _, memory in measured],
        kind=[_kind(text(task.get("name", ""), f"name of task {i}")) for i, task in enumerate(given)],
        metadata=_metadata(document, execution, speeds, counts),
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


def _sizes(specification: dict[str, Any]) -> tuple[dict[str, float], int]:
    """Bytes of each file, and how many are negative."""
    size: dict[str, float] = {}
    negative = 0
    for file in records(specification.get("files", []), "specification.files"):
        name = text(file.get("id"), "id of a file")
        if name in size:
            raise FormatError(f"two files have the id {name!r:.80}; ids must be unique")
        given: Any = file.get("sizeInBytes")
        below = isinstance(given, (int, float)) and given < 0
        negative += below
        size[name] = cost(-given if below else given, f"sizeInBytes of file {name!r:.80}")
    return size, negative


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
    document: dict[str, Any], execution: dict[str, Any], speeds: dict[str, float], counts: dict[str, Any]
) -> dict[str, Any]:
    metadata = {
        "name": text(document.get("name", "workflow"), "name"),
        "reference_speed": SPEED,
        "provenance": f"WfFormat {document.get('schemaVersion', 'without a version')}",
        "costs": counts,
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
