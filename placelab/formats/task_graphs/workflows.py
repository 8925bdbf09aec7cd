"""What readers of workflows share: jobs that read and write files become ops, files become tensors.

A file is a tensor of the job that writes it, with an edge to each job that reads it; if several jobs write it, from the first
that is the reader's parent. A parent that passes no file has a control edge. Files that no job writes exist from the
beginning and cost nothing to read. The bytes of a tensor are those that its writer gives: of several writers of a file each
has its own. Only where the writer gives none do readers count, the largest.

``metadata["costs"]`` counts ``unsized`` files that jobs write and ``untimed`` jobs; where there are any, also ``negative``
sizes, which count without their sign, files ``sized_by_readers``, ``other_sizes`` that readers give, ``external`` files that
no job writes, their ``external_bytes``, and ``unparented`` readings of a file of several writers none of which is a parent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text

SPEED = 1e13  # operations/s of a device that takes the runtimes in the file
NONE: frozenset[int] = frozenset()
SPARSE = 512  # tasks per entry of a set; from there on, a set takes less memory and time than a bit mask of all tasks
Files = dict[str, float | None]  # with their bytes, None where they are not given


@dataclass
class WorkflowJob:
    """A job, with the files that it reads and writes, as it gives their sizes."""

    name: str
    kind: str = ""
    seconds: float | None = None
    reads: Files = field(default_factory=dict)
    writes: Files = field(default_factory=dict)
    negative: int = 0  # sizes

    def use(self, file: str, link: str, size: str | None, what: str) -> None:
        """Enter a file of the job.

        Parameters
        ----------
        link
            ``input``, ``output`` or ``inout``; files with another link are not passed on.
        size
            Bytes; None or "" if they are not given.
        what
            Names the size in messages.
        """
        found = None
        if size:
            found = cost_of_text(size.strip().removeprefix("-"), what)
            self.negative += size.strip().startswith("-") and found > 0
        for side, links in ((self.reads, ("input", "inout")), (self.writes, ("output", "inout"))):
            if link in links:
                side[file] = found if side.get(file) is None else max(side[file] or 0.0, found or 0.0)


def numbers_of(pairs: Iterable[tuple[str, str]], jobs: Mapping[str, Any]) -> dict[int, set[int]]:
    """Job → its parents, as numbers; FormatError if a (parent, child) is not in `jobs`."""
    number = {name: v for v, name in enumerate(jobs)}
    parents: dict[int, set[int]] = {}
    for pair in pairs:
        for name in pair:
            if name not in number:
                raise FormatError(f"{name!r:.80} is called a parent or child, but is not the id of a job")
        parents.setdefault(number[pair[1]], set()).add(number[pair[0]])
    return parents


def columns(jobs: Sequence[WorkflowJob], parents: Mapping[int, set[int]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of ``build`` for the edges and the files that no edge carries, and what the metadata count.

    Parameters
    ----------
    parents
        Job → jobs that precede it, by number.
    """
    number = [{file: k for k, file in enumerate(job.writes)} for job in jobs]
    edges = workflow_edges([job.reads for job in jobs], number, parents)
    read = _largest(job.reads for job in jobs)
    size = [{f: read.get(f, 0.0) if own is None else own for f, own in job.writes.items()} for job in jobs]
    carried = set(zip(edges.producer, edges.file, strict=True))
    ends = list(zip(edges.producer, edges.consumer, edges.file, strict=True))
    written = [(file, own) for job in jobs for file, own in job.writes.items()]
    external = {file for job in jobs for file in job.reads} - {file for file, _ in written}
    counts = {
        "negative": sum(job.negative for job in jobs),
        "sized_by_readers": sum(own is None and file in read for file, own in written),
        "other_sizes": sum(f is not None and jobs[v].reads[f] not in (None, size[u][f]) for u, v, f in ends),
        "external": len(external),
        "external_bytes": sum(read.get(file, 0.0) for file in external),
        "unparented": edges.unparented,
    }
    given = {
        "edges": np.array([edges.producer, edges.consumer], dtype=np.int64).T,
        "edge_bytes": [0.0 if f is None else size[u][f] for u, _, f in ends],
        "edge_output": [0 if f is None else number[u][f] for u, _, f in ends],
        "edge_control": [f is None for f in edges.file],
        "outputs": [
            (u, k, size[u][file])
            for u, files in enumerate(number)
            for file, k in files.items()
            if (u, file) not in carried
        ],
    }
    unsized = sum(own is None and file not in read for file, own in written)
    untimed = sum(job.seconds is None for job in jobs)
    always: dict[str, Any] = {"compute": f"seconds × {SPEED:g}", "unsized": unsized, "untimed": untimed}
    always |= {key: count for key, count in counts.items() if count}
    return given, always


def _largest(sides: Iterable[Files]) -> dict[str, float]:
    """File → the largest size that is given for it."""
    largest: dict[str, float] = {}
    for files in sides:
        for file, size in files.items():
            if size is not None:
                largest[file] = max(size, largest.get(file, 0.0))
    return largest


class Edges(NamedTuple):
    """Columns with an entry for each edge."""

    producer: list[int]
    consumer: list[int]
    file: list[str | None]  # None for a parent that passes no file
    unparented: int = 0  # readings of a file of several writers, none of them a parent


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
    unparented = 0
    for v, files in enumerate(reads):
        joined: set[int] = set()
        for file in dict.fromkeys(files):
            found = writers.get(file, ())
            u = first.parent(file, v) if len(found) > 1 else next(iter(found), None)
            unparented += u is None and len(found) > 1
            if u is not None and u != v:
                edges.producer.append(u)
                edges.file.append(file)
                joined.add(u)
        edges.producer.extend(sorted(parents.get(v, NONE) - joined))
        edges.consumer.extend([v] * (len(edges.producer) - len(edges.consumer)))
        edges.file.extend([None] * (len(edges.producer) - len(edges.file)))
    return edges._replace(unparented=unparented)


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
