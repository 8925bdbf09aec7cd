"""Write a schedule as tables: a row per op or a row per transfer, with units in the names of the columns.

Text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return gets an apostrophe in front, since a spreadsheet would take
it for a formula and names of ops may come from an untrusted file. Spreadsheets hide the apostrophe; ``as_it_is`` omits it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from placelab.schedule.schedule import Schedule

OPS = (
    *("op", "kind", "group", "device", "start [s]", "finish [s]", "compute [operations]"),
    *("persistent [bytes]", "temporary [bytes]", "outputs [bytes]"),
)
TRANSFERS = ("producer", "output", "source", "destination", "size [bytes]", "start [s]", "finish [s]")
ROWS = 1 << 10  # rows held as Python objects at once
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def ops_csv(schedule: Schedule, *, as_it_is: bool = False) -> Iterator[str]:
    """A row per op, in the order of the graph: its costs, its device, and when it runs; in pieces of text."""
    return _text(OPS, _ops(schedule), as_it_is)


def transfers_csv(schedule: Schedule, *, as_it_is: bool = False) -> Iterator[str]:
    """A row per transfer: which output of which op, from where to where, and when; in pieces of text."""
    return _text(TRANSFERS, _transfers(schedule), as_it_is)


def _ops(schedule: Schedule) -> Iterator[Sequence[Any]]:
    graph, devices = schedule.problem.graph, schedule.problem.cluster.names
    groups = [*graph.group_names, ""]
    for i in range(0, graph.n_ops, ROWS):
        some = slice(i, i + ROWS)
        yield from zip(
            graph.names[some],
            graph.kind[some],
            [groups[g] for g in graph.group[some]],
            [devices[d] for d in schedule.device[some]],
            *(column[some].tolist() for column in (schedule.start, schedule.finish)),
            ["" if np.isnan(x) else x for x in graph.compute[some].tolist()],
            *(column[some].tolist() for column in (graph.persistent, graph.temporary, graph.outputs)),
            strict=True,
        )


def _transfers(schedule: Schedule) -> Iterator[Sequence[Any]]:
    graph, devices = schedule.problem.graph, schedule.problem.cluster.names
    for i in range(0, len(schedule.transfers), ROWS):
        for tensor, source, destination, start, finish in schedule.transfers[i : i + ROWS].tolist():
            producer = graph.tensor_producer[tensor]
            output = "control" if graph.tensor_control[tensor] else tensor - int(graph.op_tensor_ptr[producer])
            size = float(graph.tensor_bytes[tensor])
            yield graph.names[producer], output, devices[source], devices[destination], size, start, finish


def _text(head: Sequence[str], rows: Iterator[Sequence[Any]], as_it_is: bool) -> Iterator[str]:
    rows = chain([head], rows if as_it_is else ([_harmless(cell) for cell in row] for row in rows))
    while some := list(islice(rows, ROWS)):
        file = io.StringIO()
        csv.writer(file).writerows(some)  # lines end in CRLF (RFC 4180), so that a name with either character is quoted
        yield file.getvalue()


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
