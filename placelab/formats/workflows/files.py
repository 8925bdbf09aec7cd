"""Edges and tensors of a workflow, from the files that its tasks read and write; shared by DAX and WfFormat."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

NONE: frozenset[int] = frozenset()
SPARSE = 512  # tasks per entry of a set; from there on, a set takes less memory and time than a bit mask of all tasks


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
        self.writers, self.parents, self.n = writers, parents, n
        self.of_file: dict[str, int] = {}  # masks
        self.of_reader: tuple[int, int] = (-1, 0)  # the last reader, and the mask of its parents

    def parent(self, file: str, v: int) -> int | None:
        """The first writer of `file` that is a parent of task `v`; None if no writer is."""
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
