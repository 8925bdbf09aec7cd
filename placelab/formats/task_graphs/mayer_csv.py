"""Read Mayer's published CSV: an op per line, with its neighbours' numbers separated by semicolons.

Columns: id; successors; predecessors; colocated ops; tensor size; operations; RAM; device constraint (NO, CPU, GPU); name. The
last three may be missing. An op's name is its number: names in the file are not unique. One output tensor goes to all
successors; predecessors repeat them and are ignored. A constraint holds on clusters with devices of that type. ``memory`` is
the RAM column. Units: :mod:`placelab.formats.building`.

References
----------
Mayer, Mayer, Laich (2017), *The TensorFlow Partitioning and Scheduling Problem: It's the Critical Path!*;
https://github.com/mayerrn/tensorflowPartitioningAndScheduling
"""

from __future__ import annotations

import re

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, nonempty, read_from, title
from placelab.base.files import MAX_OPS, text_of
from placelab.formats.building import build, unit_metadata
from placelab.problem.graph import OpGraph

EXPECTED = "a graph in Mayer's CSV"
ID = 0
SUCCESSORS = 1
COLOCATED = 3
SIZE = 4
OPERATIONS = 5
RAM = 6
CONSTRAINT = 7
NAME = 8
NUMBERED = re.compile(r"_\d+$")  # MatMul_2 is the third MatMul
CONSTRAINTS = ("CPU", "GPU")


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a CSV file, gzipped or not; `where` names it in messages."""
    lines = [
        (f"line {i}", line) for i, line in enumerate(text_of(data, where, EXPECTED).splitlines(), 1) if line.strip()
    ]
    with read_from(where):
        if not lines or not lines[0][1].lstrip().startswith("Id,"):
            raise FormatError("the first line does not name the columns: expected Id,(Outgoing) node,(Incoming) node,…")
        return _graph(
            [(number, line.split(",")) for number, line in lines[1:]],
            title(where, "graph"),
        )


def _graph(rows: list[tuple[str, list[str]]], name: str) -> OpGraph:
    for where, row in nonempty(rows, "ops"):
        if len(row) <= OPERATIONS:
            raise FormatError(f"{where} has {len(row)} columns; expected at least {OPERATIONS + 1}")
    ids = [_id(row[ID], where) for where, row in rows]
    order = sorted(range(len(rows)), key=ids.__getitem__)  # the published files are not sorted
    rows = [rows[v] for v in order]
    ids = [ids[v] for v in order]
    number = {op: v for v, op in enumerate(ids)}
    listed = [[_numbers(row, column, where, number) for where, row in rows] for column in (SUCCESSORS, COLOCATED)]
    edges = [(u, v) for u, successors in enumerate(listed[0]) for v in successors]

    def column(i: int, what: str) -> list[float]:
        return [cost_of_text(_cell(row, i) or "0", f"{what} in {where}") for where, row in rows]

    size = column(SIZE, "tensor size")
    return build(
        [str(op) for op in ids],
        column(OPERATIONS, "operations"),
        edges,
        edge_bytes=[size[u] for u, _ in edges],
        edge_output=[0] * len(edges),
        memory=column(RAM, "RAM"),
        kind=[NUMBERED.sub("", _cell(row, NAME).rpartition("/")[2]) for _, row in rows],
        groups=[[v, *others] for v, others in enumerate(listed[1]) if others],
        devices={
            v: [_cell(row, CONSTRAINT), "*"] for v, (_, row) in enumerate(rows) if _cell(row, CONSTRAINT) in CONSTRAINTS
        },
        metadata={"name": name, "provenance": EXPECTED, **unit_metadata()},
    )


def _cell(row: list[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""


def _id(text: str, where: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise FormatError(f"{where} names op {text!r:.40}; expected a whole number below {10**9:,}")
    return int(text)


def _numbers(row: list[str], column: int, where: str, number: dict[int, int]) -> list[int]:
    ops = [_id(text, where) for text in row[column].split(";") if text.strip()]
    for op in ops:
        if op not in number:
            raise FormatError(f"{where} names op {op}, which has no line of its own")
    if len(number) > MAX_OPS:
        raise FormatError(f"there are {len(number):,} ops; graphs of more than {MAX_OPS:,} are not read")
    return [number[op] for op in ops]
