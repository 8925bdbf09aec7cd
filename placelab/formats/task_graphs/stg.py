"""Read and write Standard Task Graphs (Kasahara's ``.stg``): times, predecessors and, in newer files, transfers.

The first line has the number of tasks and, in the prototype set, of processors. Each task is its number, processing time,
number of predecessors, and these; with communication costs, each predecessor is followed by its cost. Lines may break
anywhere; ``#`` begins a comment. The two dummy tasks, which the first line does not count, become ops without cost, so that
results can be compared by task number. Op names are task numbers.

Units: :mod:`placelab.formats.building`. Each edge is a tensor of its own, as costs are per edge.

References
----------
Tobita, Kasahara (2002), *A standard task graph set for fair evaluation of multiprocessor scheduling algorithms*;
https://www.kasahara.cs.waseda.ac.jp/schedule/format_e.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, nonempty, read_from, title
from placelab.base.files import MAX_OPS, save, text_of
from placelab.formats.building import MAX_PROCESSORS, build, unit_metadata
from placelab.problem.graph import OpGraph

EXPECTED = "a Standard Task Graph"
DUMMIES = 2
LIMITS = (MAX_OPS, MAX_PROCESSORS)


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a Standard Task Graph file, gzipped or not; `where` names it in messages.

    >>> loads(b"1\\n 0 0 0\\n 1 20 1 0\\n 2 0 1 1\\n").compute.tolist()
    [0.0, 20.0, 0.0]
    """
    lines = (line.partition("#")[0].split() for line in text_of(data, where, EXPECTED).splitlines())
    with read_from(where):
        return _graph([words for words in lines if words], title(where, "standard task graph"))


def dumps(graph: OpGraph) -> str:
    """Serialize a graph as a Standard Task Graph with communication costs; FormatError if it has a table of times.

    Ops are numbered from 0 in topological order. Names, groups, memory, shared tensors and the distinction of control edges
    are lost. Readers that expect dummy tasks may refuse a graph without a single entry and exit.
    """
    if graph.time is not None:
        raise FormatError(f"{graph.title} has a table of times, which Standard Task Graphs have no place for")
    n = graph.n_ops
    size = graph.edge_bytes
    ptr = graph.pred_ptr
    edge = graph.pred_edge
    lines = [f"{max(n - DUMMIES, 0)}"]
    for v in range(n):
        inputs = edge[ptr[v] : ptr[v + 1]]
        lines.append(f"{v} {graph.compute[v]:.17g} {len(inputs)}")
        lines += [f"    {graph.producer[e]} {size[e]:.17g}" for e in inputs]
    return "\n".join(lines) + "\n"


def write(graph: OpGraph, path: Any) -> Path:
    """Write a graph as a Standard Task Graph, gzipped when the name ends in ``.gz``."""
    return save(dumps(graph), path)


@dataclass
class _Parse:
    """The tasks read so far, and the error that ended reading."""

    time: list[float] = field(default_factory=list)
    edges: list[tuple[int, int, float]] = field(default_factory=list)
    fault: str = ""


def _graph(lines: list[list[str]], name: str) -> OpGraph:
    count, processors = _header(lines[0] if lines else [])
    words = [word for line in lines[1:] for word in line]
    first = 1 if words[:1] == ["1"] else 0  # the prototype set has no entry dummy
    plain = _parsed(words, first, with_costs=False)
    costed = _parsed(words, first, with_costs=True) if plain.fault else plain
    best = max(plain, costed, key=lambda parse: (not parse.fault, len(parse.time)))
    if best.fault:
        raise FormatError(best.fault)
    n = len(nonempty(best.time, "tasks"))
    if not count <= n <= count + DUMMIES:
        raise FormatError(f"the first line says {count} tasks, but there are {n}, dummies included")
    return build(
        [str(first + v) for v in range(n)],
        best.time,
        [(u, v) for u, v, _ in best.edges],
        edge_bytes=[size for _, _, size in best.edges],
        metadata={"name": name, "provenance": EXPECTED, **unit_metadata(processors)},
    )


def _header(words: list[str]) -> tuple[int, int | None]:
    """Number of tasks, and of processors if given."""
    if not 1 <= len(words) <= 2:
        raise FormatError(f"the first line holds {len(words)} numbers; expected how many tasks, and perhaps processors")
    counts = [_whole(word, "a number of the first line", limit) for word, limit in zip(words, LIMITS, strict=False)]
    return counts[0], counts[1] if len(counts) > 1 else None


def _parsed(words: list[str], first: int, with_costs: bool) -> _Parse:
    """Read tasks up to the first error."""
    parse = _Parse()
    at = 0
    try:
        while at < len(words):
            at = _task(words, at, first, with_costs, parse)
        last = first + len(parse.time) - 1
        for u, v, _ in parse.edges:
            if u > last - first or u < 0:
                raise FormatError(f"task {first + v} names predecessor {first + u}; tasks are {first} to {last}")
    except FormatError as error:
        parse.fault = str(error)
    return parse


def _task(words: list[str], at: int, first: int, with_costs: bool, parse: _Parse) -> int:
    """Read the task that begins at word `at`; index of the word after it."""
    v = len(parse.time)
    if words[at] != str(first + v):
        raise FormatError(f"after {v} tasks comes {words[at]!r:.40}; expected task {first + v}")
    if len(words) < at + 3:
        raise FormatError(f"task {first + v} ends too early; expected its time and how many predecessors it has")
    time = cost_of_text(words[at + 1], f"time of task {first + v}")
    n = _whole(words[at + 2], f"number of predecessors of task {first + v}", MAX_OPS)
    step = 1 + with_costs
    begin = at + 3
    end = at + 3 + n * step
    if len(words) < end:
        raise FormatError(f"task {first + v} has {n} predecessors, but the file ends before the last")
    parse.time.append(time)
    for i in range(begin, end, step):
        u = _whole(words[i], f"a predecessor of task {first + v}", MAX_OPS) - first
        size = cost_of_text(words[i + 1], f"transfer of task {first + v}") if with_costs else 0.0
        parse.edges.append((u, v, size))
    return end


def _whole(word: str, what: str, high: int) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 9 or int(word) > high:
        raise FormatError(f"{what} is {word!r:.40}; expected a whole number up to {high:,}")
    return int(word)
