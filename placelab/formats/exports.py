"""Write a schedule as a trace or table, a placement for its framework, a graph as a file.

In tables, text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return gets an apostrophe in front, since a spreadsheet
would take it for a formula and names of ops may come from an untrusted file. Spreadsheets hide the apostrophe; ``as_it_is``
omits it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.files import path_of, save
from placelab.formats import catalogue
from placelab.formats.tensorflow.devices import write as write_graph_def
from placelab.formats.torch import device_map, schedule_table
from placelab.formats.trace_events import trace_json
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import checked
from placelab.schedule.placement import Placement
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
        producer = graph.tensor_producer[tensor]
        control = graph.tensor_control[tensor].tolist()
        output = (tensor - graph.op_tensor_ptr[producer]).tolist()
        yield _text(
            [
                _cells(graph.names[producer].tolist(), as_it_is),
                ["control" if c else str(n) for c, n in zip(control, output, strict=True)],
                *([devices[d] for d in some[end].tolist()] for end in ("source", "destination")),
                *(_numbers(column) for column in (graph.tensor_bytes[tensor], some["start"], some["finish"])),
            ]
        )


def columns_csv(columns: Mapping[str, Any]) -> str:
    """A table as CSV, a column per head: texts, numbers, truth values; what is not known is empty."""
    heads = [[head] for head in _cells(list(columns), False)]
    return _text(heads) + _text([_column(np.asarray(column)) for column in columns.values()])


def _column(values: np.ndarray) -> list[str]:
    if values.dtype.kind == "f":
        return _numbers(values, unknown="")
    return _cells(["" if value is None or value != value else str(value) for value in values.tolist()], False)


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
    # Tells 0.0 from -0.0.
    bits, back = np.unique(np.ascontiguousarray(column, float).view(np.int64), return_inverse=True)
    texts = [unknown if text == "nan" else text for text in map(repr, bits.view(np.float64).tolist())]
    return np.array(texts, object)[back].tolist()


TABLES = {"ops": ops_csv, "transfers": transfers_csv}


def chrome_trace(schedule: Schedule, path: str | Path) -> Path:
    """Write a schedule in the Trace Event format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

    The events are described in :mod:`placelab.formats.trace_events`. Times are microseconds, rounded to nanoseconds. The file is
    written as it is made: about 300 bytes per op and 800 per transfer, which do not pass through memory all at once.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.

    References
    ----------
    Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    """
    expect(schedule, Schedule, "export.chrome_trace")
    return save(trace_json(schedule), path)


@checked
def csv(schedule: Schedule, path: str | Path, *, table: str = "ops", as_it_is: bool = False) -> Path:
    """Write a table of a schedule as CSV: UTF-8, a first line of names with units, SI.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.
    table
        ``"ops"``, a row per op with its costs, device and times, or ``"transfers"``, a row per transfer.
    as_it_is
        Write names that a spreadsheet would take for formulas (``=…``, ``@…``) unchanged; by default they get an apostrophe.
    """
    expect(schedule, Schedule, "export.csv")
    if not isinstance(table, str) or table not in TABLES:
        raise FormatError(f"there is no table {table!r:.80}; there are {' and '.join(TABLES)}")
    return save(TABLES[table](schedule, as_it_is=as_it_is), path)


def placement(placement: Placement, path: str | Path) -> Path:
    """Write a placement as JSON, op name → device name, which :func:`placelab.schedule.placement.read` reads.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.
    """
    expect(placement, Placement, "export.placement")
    path = path_of(path)
    if not path.name.lower().removesuffix(".gz").endswith(".json"):
        raise FormatError(
            f"{path} cannot hold a placement, which is written as JSON; end its name in .json or .json.gz"
        )
    return placement.save(path)


def tensorflow(
    placement: Placement, graph_file: str | Path, path: str | Path, *, devices: Mapping[str, str] | None = None
) -> Path:
    """Write a copy of a TensorFlow graph file with ``device`` set to the placement.

    Parameters
    ----------
    graph_file
        The ``.pb`` or ``.pbtxt`` file that the placed graph came from.
    path
        File to write, of the same kind.
    devices
        Device of the cluster → TensorFlow's name; default: ``/device:GPU:0`` for the first device of type ``gpu``, and so on.

    Notes
    -----
    :func:`placelab.formats.tensorflow.devices.write` specifies what is kept and when TensorFlow accepts the file.
    """
    expect(placement, Placement, "export.tensorflow")
    return write_graph_def(graph_file, placement, path, devices=devices)


def torch_device_map(placement: Placement, path: str | Path, *, devices: Mapping[str, int | str] | None = None) -> Path:
    """Write a placement as a device map of modules for Accelerate's ``dispatch_model``; warn of modules that are split.

    Parameters
    ----------
    path
        JSON file to write.
    devices
        Device of the cluster → PyTorch's name; default: ``"cpu"``, and numbers from 0 for the others.

    Notes
    -----
    :func:`placelab.formats.torch.device_map.device_map` specifies the map and its limits.
    """
    expect(placement, Placement, "export.torch_device_map")
    return device_map.write(placement, path, devices=devices)


def torch_schedule(schedule: Schedule, path: str | Path) -> Path:
    """Write the order of a pipelined training step as a table of ``torch.distributed.pipelining``: ``0F0,0F1,0B0``.

    Parameters
    ----------
    path
        CSV file to write, gzipped when its name ends in ``.gz``; schedules of PyTorch read it with ``_load_csv``, format
        ``compute_only``.

    Notes
    -----
    :mod:`placelab.formats.torch.schedule_table` specifies the table; :func:`placelab.load_schedule_table` reads it.
    """
    expect(schedule, Schedule, "export.torch_schedule")
    return save(schedule_table.dumps(schedule), path)


def graph(graph: OpGraph, path: str | Path) -> Path:
    """Write a graph in the format of the file's suffix: ``.json``, ``.dot``, ``.gv``, ``.stg``, each also with ``.gz``.

    placelab JSON and DOT hold the whole graph. A Standard Task Graph holds only a cost per op and edge; a graph with a table of
    times is refused.
    """
    expect(graph, OpGraph, "export.graph")
    path = path_of(path)
    known = catalogue.writers(catalogue.GRAPH)
    if (suffix := catalogue.suffix_of(path.name)) not in known:
        raise FormatError(f"{path} has no format to write a graph in; files end in {', '.join(known)}")
    catalogue.written(known[suffix], graph, path)
    return path
