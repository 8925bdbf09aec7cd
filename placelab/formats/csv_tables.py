"""Write a schedule as tables: a row per op or a row per transfer, with units in the names of the columns.

Text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return gets an apostrophe in front, since a spreadsheet would take
it for a formula and names of ops may come from an untrusted file. Spreadsheets hide the apostrophe; ``as_it_is`` omits it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from placelab.schedule.schedule import Schedule

OPS = (
    *("op", "kind", "group", "device", "start [s]", "finish [s]", "compute [operations]"),
    *("persistent [bytes]", "temporary [bytes]", "outputs [bytes]"),
)
TRANSFERS = ("producer", "output", "source", "destination", "size [bytes]", "start [s]", "finish [s]")
ROWS = 1 << 10  # rows held as Python objects at once
FORMULA = ("=", "+", "-", "@", "\t", "\r")
UNUSUAL = re.compile(r"""^[=+\-@\t]|[,"\r]""", re.MULTILINE)  # in lines of cells: some are formulas or need quotes

Columns = Sequence[Sequence[str]]


def ops_csv(schedule: Schedule, *, as_it_is: bool = False) -> Iterator[str]:
    """A row per op, in the order of the graph: its costs, its device, and when it runs; in pieces of text."""
    yield _text([[name] for name in OPS])
    graph = schedule.problem.graph
    groups = _cells([*graph.group_names, ""], as_it_is)
    devices = _cells(schedule.problem.cluster.names, as_it_is)
    for i in range(0, graph.n_ops, ROWS):
        some = slice(i, i + ROWS)
        yield _text(
            [
                *(_cells(column[some].tolist(), as_it_is) for column in (graph.names, graph.kind)),
                [groups[g] for g in graph.group[some].tolist()],
                [devices[d] for d in schedule.device[some].tolist()],
                *(_numbers(column[some]) for column in (schedule.start, schedule.finish)),
                _numbers(graph.compute[some], unknown=""),
                *(_numbers(column[some]) for column in (graph.persistent, graph.temporary, graph.outputs)),
            ]
        )


def transfers_csv(schedule: Schedule, *, as_it_is: bool = False) -> Iterator[str]:
    """A row per transfer: which output of which op, from where to where, and when; in pieces of text."""
    yield _text([[name] for name in TRANSFERS])
    graph = schedule.problem.graph
    devices = _cells(schedule.problem.cluster.names, as_it_is)
    for i in range(0, len(schedule.transfers), ROWS):
        some = schedule.transfers[i : i + ROWS]
        tensor = some["tensor"]
        producer, control = graph.tensor_producer[tensor], graph.tensor_control[tensor].tolist()
        output = (tensor - graph.op_tensor_ptr[producer]).tolist()
        yield _text(
            [
                _cells(graph.names[producer].tolist(), as_it_is),
                ["control" if c else str(n) for c, n in zip(control, output, strict=True)],
                *([devices[d] for d in some[end].tolist()] for end in ("source", "destination")),
                *(_numbers(column) for column in (graph.tensor_bytes[tensor], some["start"], some["finish"])),
            ]
        )


def _text(columns: Columns) -> str:
    """Rows of cells; lines end in CRLF (RFC 4180), so that a name with either character is quoted."""
    return "\r\n".join([*map(",".join, zip(*columns, strict=True)), ""])


def _cells(texts: Sequence[str], as_it_is: bool) -> list[str]:
    """Texts as they stand in the file; only where some text is unusual is each looked at."""
    lines = "\n".join(texts)
    if lines.count("\n") < max(len(texts), 1) and not UNUSUAL.search(lines):
        return list(texts)
    return [_quoted(text if as_it_is or not text.startswith(FORMULA) else f"'{text}") for text in texts]


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""')) if any(mark in text for mark in ',"\r\n') else text


def _numbers(column: np.ndarray, unknown: str = "nan") -> list[str]:
    """Numbers as Python writes them; one that is there often is written once."""
    bits, back = np.unique(
        np.ascontiguousarray(column, float).view(np.int64), return_inverse=True
    )  # tells 0.0 from -0.0
    texts = [unknown if text == "nan" else text for text in map(repr, bits.view(np.float64).tolist())]
    return np.array(texts, object)[back].tolist()
