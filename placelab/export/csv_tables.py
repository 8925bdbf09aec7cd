"""Write a schedule as tables: a row per op or a row per transfer, with units in the names of the columns.

Text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return gets an apostrophe in front, since a spreadsheet would take
it for a formula and names of ops may come from an untrusted file. Spreadsheets hide the apostrophe; ``as_it_is`` omits it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from placelab.schedule.schedule import Schedule

OPS = (
    *("op", "kind", "group", "device", "start [s]", "finish [s]", "compute [operations]"),
    *("persistent [bytes]", "temporary [bytes]", "outputs [bytes]"),
)
TRANSFERS = ("producer", "output", "source", "destination", "size [bytes]", "start [s]", "finish [s]")
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def ops_csv(schedule: Schedule, *, as_it_is: bool = False) -> str:
    """A row per op, in the order of the graph: its costs, its device, and when it runs."""
    return _text(OPS, _ops(schedule), as_it_is)


def transfers_csv(schedule: Schedule, *, as_it_is: bool = False) -> str:
    """A row per transfer: which output of which op, from where to where, and when."""
    return _text(TRANSFERS, _transfers(schedule), as_it_is)


def _ops(schedule: Schedule) -> Iterator[Sequence[Any]]:
    graph, devices = schedule.problem.graph, schedule.problem.cluster.names
    groups = [*graph.group_names, ""]
    yield from zip(
        graph.names,
        graph.kind,
        [groups[g] for g in graph.group],
        [devices[d] for d in schedule.device],
        *(column.tolist() for column in (schedule.start, schedule.finish)),
        ["" if np.isnan(x) else x for x in graph.compute.tolist()],
        *(column.tolist() for column in (graph.persistent, graph.temporary, graph.outputs)),
        strict=True,
    )


def _transfers(schedule: Schedule) -> Iterator[Sequence[Any]]:
    graph, devices = schedule.problem.graph, schedule.problem.cluster.names
    for tensor, source, destination, start, finish in schedule.transfers.tolist():
        producer = graph.tensor_producer[tensor]
        output = "control" if graph.tensor_control[tensor] else tensor - int(graph.op_tensor_ptr[producer])
        size = float(graph.tensor_bytes[tensor])
        yield graph.names[producer], output, devices[source], devices[destination], size, start, finish


def _text(head: Sequence[str], rows: Iterable[Sequence[Any]], as_it_is: bool) -> str:
    file = io.StringIO()
    table = csv.writer(file)  # lines end in CRLF (RFC 4180), so that a name with either character is quoted
    table.writerow(head)
    table.writerows(rows if as_it_is else ([_harmless(cell) for cell in row] for row in rows))
    return file.getvalue()


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
