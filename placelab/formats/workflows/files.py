"""Edges of a workflow from the files that its tasks write and read: what DAX and WfFormat have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

NONE: frozenset[int] = frozenset()
SPARSE = (
    512  # tasks for each entry of a set, from which on a set takes less memory and time than a bit mask of all tasks
)


class Edges(NamedTuple):
    """Columns with an entry for each edge."""

    producer: list[int]
    consumer: list[int]
    file: list[str | None]  # None where a parent passes none

    @property
    def pairs(self) -> np.ndarray:
        """(producer, consumer), shape (edges, 2)."""
        return np.array([self.producer, self.consumer], dtype=np.int64).T

    def outputs(self, numbers: Sequence[Mapping[str, int]], size: Mapping[str, float]) -> list[tuple[int, int, float]]:
        """(task, number, bytes) of the files that no edge carries; `numbers` has those of each task's files."""
        read = set(zip(self.producer, self.file, strict=True))
        return [
            (u, k, size.get(file, 0.0))
            for u, written in enumerate(numbers)
            for file, k in written.items()
            if (u, file) not in read
        ]


def workflow_edges(
    reads: Sequence[Iterable[str]], writes: Sequence[Iterable[str]], parents: Mapping[int, set[int]]
) -> Edges:
    """The edges of a workflow: files that go from task to task, and parents that pass none.

    Parameters
    ----------
    reads, writes
        Files of each task; the same file may be named twice.
    parents
        Task → tasks that come before it.

    Returns
    -------
    Edges
        By consumer: its files in its order, then the parents that it has none from. A file without a writer, or whose only
        writer is the reader, has no edge. Of several writers the reader's first parent among them counts; there is no edge
        where none is a parent.

    Notes
    -----
    O(reads + writes + parents) with one writer per file. Looking for a parent among several writers takes a bit per task and
    read, or the smaller set's size where that is less.
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
    """The first writer of a file that is a parent of a reader."""

    def __init__(self, writers: Mapping[str, Collection[int]], parents: Mapping[int, set[int]], n: int) -> None:
        self.writers, self.parents, self.n = writers, parents, n
        self.of_file: dict[str, int] = {}  # masks
        self.of_reader: tuple[int, int] = (-1, 0)  # of the reader that was looked at last, and its parents' mask

    def parent(self, file: str, v: int) -> int | None:
        """The writer; None where none is a parent."""
        writers, parents = self.writers[file], self.parents.get(v, NONE)
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
