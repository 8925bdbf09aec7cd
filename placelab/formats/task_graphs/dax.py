"""Read DAX, the abstract workflows of Pegasus in XML: jobs become ops, files become tensors.

An op is a job, named by its ``id``; its ``kind`` is the job's ``name``. Its ``compute`` is ``runtime`` [s] × 10¹³
operations/s, so that a device of that speed takes the time in the file; a profile ``pegasus::runtime`` is read, too. Edges,
tensors and counts of what is missing or wrong are those of :mod:`placelab.formats.task_graphs.workflows`. A ``.dax`` may also
be YAML of Pegasus 5, which :mod:`placelab.formats.task_graphs.pegasus` reads.

References
----------
https://pegasus.isi.edu/schema/dax-3.6.xsd
"""

from __future__ import annotations

from dataclasses import dataclass, field

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, one_line, read_from, title
from placelab.base.files import MAX_OPS, parse_xml, unzipped
from placelab.formats.building import build
from placelab.formats.task_graphs import pegasus
from placelab.formats.task_graphs.workflows import SPEED, WorkflowJob, columns, numbers_of
from placelab.problem.graph import OpGraph

EXPECTED = "a DAX workflow of Pegasus"
MAX_EDGES = 5_000_000
MAX_NUMBER = 1000  # characters


@dataclass
class _Workflow:
    """The part of a workflow that has been read."""

    name: str = ""
    version: str = ""
    jobs: dict[str, WorkflowJob] = field(default_factory=dict)
    parents: list[tuple[str, str]] = field(default_factory=list)  # (parent, child)
    job: WorkflowJob = field(default_factory=lambda: WorkflowJob(""))  # the last one that began
    child: str = ""
    runtime: str | None = None  # text of the open runtime profile
    path: list[str] = field(default_factory=list)  # open elements


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a DAX file, gzipped or not; `where` names it in messages."""
    data = unzipped(data, where)
    if pegasus.is_one(data):
        return pegasus.loads(data, where)
    with read_from(where):
        return _graph(_parsed(data), where)


def _parsed(data: bytes) -> _Workflow:
    workflow = _Workflow()
    parse_xml(
        data,
        lambda *element: _start(workflow, *element),
        lambda line: _end(workflow, line),
        lambda t: _text(workflow, t),
    )
    return workflow


def _start(workflow: _Workflow, tag: str, attributes: dict[str, str], line: int) -> None:
    if not workflow.path and tag != "adag":
        raise FormatError(f"its first element is {tag!r:.60}; expected 'adag'")
    workflow.path.append(tag)
    read_it = READERS.get("/".join(workflow.path[1:]))
    if read_it:
        read_it(workflow, attributes, line)
    elif len(workflow.path) == 1:
        workflow.name = attributes.get("name", "")
        workflow.version = attributes.get("version", "")


def _text(workflow: _Workflow, text: str) -> None:
    if workflow.runtime is not None and len(workflow.runtime) < MAX_NUMBER:
        workflow.runtime += text


def _end(workflow: _Workflow, line: int) -> None:
    workflow.path.pop()
    if workflow.runtime is not None:
        what = f"line {line}: runtime of job {workflow.job.name!r:.80}"
        workflow.job.seconds = cost_of_text(workflow.runtime, what)
        workflow.runtime = None


def _job(workflow: _Workflow, attributes: dict[str, str], line: int) -> None:
    name = _named(attributes, "id", "a job", line)
    if name in workflow.jobs:
        raise FormatError(f"line {line}: two jobs have the id {name!r:.80}; ids must be unique")
    if len(workflow.jobs) >= MAX_OPS:
        raise FormatError(f"it has more than {MAX_OPS:,} jobs; such workflows are not read")
    given = attributes.get("runtime")
    seconds = None if given is None else cost_of_text(given, f"line {line}: runtime of job {name!r:.80}")
    workflow.job = workflow.jobs[name] = WorkflowJob(name, attributes.get("name", ""), seconds)


def _uses(workflow: _Workflow, attributes: dict[str, str], line: int) -> None:
    """Read a file of the job; its name is ``file`` up to version 2, ``name`` from version 3 on."""
    file = attributes.get("file") or _named(attributes, "name", "a file", line)
    size = attributes.get("size")
    link = attributes.get("link", "").lower()
    workflow.job.use(file, link, size, f"line {line}: size of file {file!r:.80}")


def _profile(workflow: _Workflow, attributes: dict[str, str], line: int) -> None:
    if attributes.get("namespace") == "pegasus" and attributes.get("key") == "runtime":
        workflow.runtime = ""


def _child(workflow: _Workflow, attributes: dict[str, str], line: int) -> None:
    workflow.child = _named(attributes, "ref", "a child", line)


def _parent(workflow: _Workflow, attributes: dict[str, str], line: int) -> None:
    workflow.parents.append((_named(attributes, "ref", "a parent", line), workflow.child))
    if len(workflow.parents) > MAX_EDGES:
        raise FormatError(f"it has more than {MAX_EDGES:,} parents; such workflows are not read")


READERS = {  # elements that are read, by their path; jobs of all kinds are ops
    **{job: _job for job in ("job", "dag", "dax")},
    **{f"{job}/uses": _uses for job in ("job", "dag", "dax")},
    **{f"{job}/profile": _profile for job in ("job", "dag", "dax")},
    "child": _child,
    "child/parent": _parent,
}


def _named(attributes: dict[str, str], key: str, what: str, line: int) -> str:
    if not attributes.get(key):
        raise FormatError(f"line {line}: {what} has no {key}")
    return attributes[key]


# -------------------------------------------------------------------- from jobs to a graph


def _graph(workflow: _Workflow, where: str) -> OpGraph:
    jobs = list(workflow.jobs.values())
    if not jobs:
        raise FormatError("it has no job")
    edges, counts = columns(jobs, numbers_of(workflow.parents, workflow.jobs))
    return build(
        [job.name for job in jobs],
        [(job.seconds or 0.0) * SPEED for job in jobs],
        **edges,
        kind=[one_line(job.kind) for job in jobs],
        metadata={
            "name": one_line(workflow.name) or title(where, "workflow"),
            "reference_speed": SPEED,
            "provenance": one_line(f"DAX {workflow.version:.20}"),
            "costs": counts,
        },
    )
