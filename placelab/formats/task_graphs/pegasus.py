"""Read the abstract workflows of Pegasus 5 in YAML: jobs become ops, files become tensors.

An op is a job, named by its ``id``; its ``kind`` is the job's ``name``, or its ``type`` where it has none, as workflows in a
workflow. Its ``compute`` is the profile ``pegasus: runtime`` [s] × 10¹³ operations/s. A file's size is its ``size``, also in
``metadata``, where the job uses it, or else in the ``replicaCatalog``. ``stdout`` and ``stderr`` are files that the job
writes, ``stdin`` one that it reads. Edges, tensors and counts of what is missing or wrong are those of
:mod:`placelab.formats.task_graphs.workflows`.

PyYAML only splits the text into events; no object of Python is made by a tag, and an alias counts as often as it is used.

References
----------
https://pegasus.isi.edu/documentation/reference-guide/pegasus-lib.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, nonempty, one_line, read_from, record, records, text, texts, title
from placelab.base.files import MAX_DEPTH, MAX_OPS, narrow, text_of
from placelab.base.interrupts import need
from placelab.formats.building import build
from placelab.formats.task_graphs.workflows import SPEED, WorkflowJob, columns, numbers_of
from placelab.problem.graph import OpGraph

EXPECTED = "a workflow of Pegasus 5 in YAML"
VERSION = re.compile(r"5(\.\d{1,3}){0,3}")
MAX_VALUES = 3_000_000  # texts, lists and objects, those of aliases each time they are used
BEGIN = re.compile(rb"\s*+(?:\xef\xbb\xbf)?(?:[#\w%\"'{]|---|x-)")  # of YAML; XML begins with a bracket
LINKS = {"stdin": "input", "stdout": "output", "stderr": "output"}


def is_one(data: bytes) -> bool:
    """Whether bytes that may be XML look like YAML of Pegasus."""
    start = narrow(data[: 1 << 16])
    return BEGIN.match(start) is not None and b"pegasus" in start


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a workflow, gzipped or not; `where` names it in messages."""
    content = text_of(data, where, EXPECTED)
    with read_from(where):
        return _graph(yaml_of(content), where)


# -------------------------------------------------------------------- YAML


def yaml_of(content: str) -> Any:
    """The document in a YAML text, in which each scalar is a text; FormatError beyond limits on depth and number of values."""
    need("yaml")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = _Document()
    try:
        for event in yaml.parse(content, Loader=loader):
            document.take(event, type(event).__name__.removesuffix("Event"))
    except yaml.YAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if getattr(error, "problem_mark", None) else ""
        raise FormatError(
            f"it is not YAML: {line}{one_line(getattr(error, 'problem', None) or str(error)):.100}"
        ) from None
    return document.root


class _Document:
    """A document that grows event by event: lists and objects in it are open until their end comes."""

    def __init__(self) -> None:
        self.root: Any = None
        self.open: list[tuple[Any, str, int]] = []  # lists and objects, their anchors, and the values before them
        self.keys: list[Any] = []  # of each open container: the key that waits for its value
        self.known: dict[str, tuple[Any, int]] = {}  # anchor → value, and how many values are in it
        self.values = 0
        self.documents = 0

    def take(self, event: Any, kind: str) -> None:
        """Enter one event."""
        line = event.start_mark.line + 1 if event.start_mark else 0
        if kind == "DocumentStart":
            self.documents += 1
            if self.documents > 1:
                raise FormatError(f"line {line}: a second document begins; expected one")
        elif kind == "Scalar":
            self._put(event.value, 1, line, event.anchor)
        elif kind == "Alias":
            if event.anchor not in self.known:
                raise FormatError(f"line {line}: {event.anchor!r:.60} is used before its value ends")
            self._put(*self.known[event.anchor], line)
        elif kind in ("MappingStart", "SequenceStart"):
            container: Any = {} if kind == "MappingStart" else []
            self._put(container, 1, line)
            self.open.append((container, event.anchor or "", self.values))
            self.keys.append(None)
            if len(self.open) > MAX_DEPTH:
                raise FormatError(f"line {line} nests more than {MAX_DEPTH} lists and objects in each other")
        elif kind in ("MappingEnd", "SequenceEnd"):
            container, anchor, before = self.open.pop()
            self.keys.pop()
            if anchor:
                self.known[anchor] = container, self.values - before + 1

    def _put(self, value: Any, count: int, line: int, anchor: str | None = None) -> None:
        """Enter a value into the container that is open."""
        self.values += count
        if self.values > MAX_VALUES:
            raise FormatError(f"line {line}: it has more than {MAX_VALUES:,} values; such files are not read")
        if anchor:
            self.known[anchor] = value, count
        if not self.open:
            self.root = value
        elif isinstance(container := self.open[-1][0], list):
            container.append(value)
        elif self.keys[-1] is None:
            if not isinstance(value, str):
                raise FormatError(f"line {line}: a list or an object is a key; expected a text")
            if value in container:
                raise FormatError(f"line {line} gives {value!r:.80} twice in one object; once is expected")
            self.keys[-1] = value
        else:
            container[self.keys[-1]] = value
            self.keys[-1] = None


# -------------------------------------------------------------------- from jobs to a graph


def _graph(document: Any, where: str) -> OpGraph:
    if not isinstance(document, dict) or "pegasus" not in document:
        raise FormatError(f"it is not {EXPECTED}: expected 'pegasus' and 'jobs' at the top")
    version = text(document["pegasus"], "pegasus")
    if not VERSION.fullmatch(version):
        raise FormatError(
            f"it has version {version!r:.40} of Pegasus; this placelab reads 5, and DAX in XML of 2 and 3"
        )
    size = dict(_catalogued(document))
    jobs: dict[str, WorkflowJob] = {}
    for i, entry in enumerate(nonempty(records(document.get("jobs", []), "jobs"), "jobs")):
        job = _job(entry, i, size)
        if job.name in jobs:
            raise FormatError(f"two jobs have the id {job.name!r:.80}; ids must be unique")
        jobs[job.name] = job
        if len(jobs) > MAX_OPS:
            raise FormatError(f"it has more than {MAX_OPS:,} jobs; such workflows are not read")
    edges, counts = columns(list(jobs.values()), numbers_of(_parents(document), jobs))
    return build(
        list(jobs),
        [(job.seconds or 0.0) * SPEED for job in jobs.values()],
        **edges,
        kind=[job.kind for job in jobs.values()],
        metadata={
            "name": one_line(text(document.get("name", ""), "name")) or title(where, "workflow"),
            "reference_speed": SPEED,
            "provenance": f"Pegasus {version}",
            "costs": counts,
        },
    )


def _job(entry: dict[str, Any], i: int, size: dict[str, str]) -> WorkflowJob:
    """Read a job; `size` has the sizes of files in the replica catalogue."""
    name = text(entry.get("id"), f"id of job {i}")
    what = f"of job {name!r:.80}"
    profiles = record(entry.get("profiles") or {}, f"profiles {what}")
    given = record(profiles.get("pegasus") or {}, f"profiles.pegasus {what}").get("runtime")
    seconds = None if given is None else cost_of_text(text(given, f"runtime {what}"), f"runtime {what}")
    job = WorkflowJob(name, one_line(text(entry.get("name") or entry.get("type", ""), f"name {what}")), seconds)
    for j, file in enumerate(records(entry.get("uses") or [], f"uses {what}")):
        lfn = text(file.get("lfn"), f"lfn of file {j} {what}")
        about = f"size of file {lfn!r:.80} {what}"
        link = text(file.get("type", ""), f"type of file {lfn!r:.80} {what}").lower()
        job.use(lfn, link, text(_size(file) or size.get(lfn, ""), about), about)
    for key, link in LINKS.items():
        if lfn := text(entry.get(key, ""), f"{key} {what}"):
            job.use(
                lfn, link, "" if lfn in job.reads or lfn in job.writes else size.get(lfn, ""), f"size of {key} {what}"
            )
    return job


def _size(file: dict[str, Any]) -> Any:
    about = file.get("metadata")
    return file.get("size") or (about.get("size") if isinstance(about, dict) else None)


def _catalogued(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(file, size) of the files in the replica catalogue that have a size."""
    catalogue = record(document.get("replicaCatalog") or {}, "replicaCatalog")
    for i, file in enumerate(records(catalogue.get("replicas") or [], "replicaCatalog.replicas")):
        if given := _size(file):
            lfn = text(file.get("lfn"), f"lfn of replica {i}")
            yield lfn, text(given, f"size of replica {lfn!r:.80}")


def _parents(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(parent, child) pairs."""
    for i, entry in enumerate(records(document.get("jobDependencies") or [], "jobDependencies")):
        parent = text(entry.get("id"), f"id of entry {i} of jobDependencies")
        for child in texts(entry.get("children") or [], f"children of {parent!r:.80}"):
            yield parent, child
