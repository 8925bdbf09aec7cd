"""Write a schedule as a trace or table, a placement for its framework, a graph as a file.

In tables, text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return gets an apostrophe in front, since a spreadsheet
would take it for a formula and names of ops may come from an untrusted file. Spreadsheets hide the apostrophe; ``as_it_is``
omits it.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.files import path_for, path_of, save
from placelab.formats import catalogue
from placelab.formats.tensorflow.devices import write as write_graph_def
from placelab.formats.torch import device_map, schedule_table
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import checked
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule, carriers

OPS = (
    *("op", "kind", "group", "device", "start [s]", "finish [s]", "compute [operations]"),
    *("persistent [bytes]", "temporary [bytes]", "outputs [bytes]"),
)
TRANSFERS = ("producer", "output", "source", "destination", "size [bytes]", "start [s]", "finish [s]")
ROWS = 1 << 10  # rows held as Python objects at once
FORMULA = ("=", "+", "-", "@", "\t", "\r")
UNUSUAL = re.compile(r"""^[=+\-@\t]|[,"\r]""", re.MULTILINE)  # in lines of cells: some are formulas or need quotes
OPS_THREAD = 0  # of a trace: thread of the ops; transfers in follow from IN on, transfers out from OUT on
IN = 1
OUT = 1001
Columns = Sequence[Sequence[str]]
Event = dict[str, Any]


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
    texts = ["" if value is None or value != value else str(value) for value in values.tolist()]
    numbers = [isinstance(value, float | int) for value in values.tolist()]
    if not any(numbers):
        return _cells(texts, False)
    # A number below 0 among texts is no formula.
    return [text if number else _cells([text], False)[0] for text, number in zip(texts, numbers, strict=True)]


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

    :func:`placelab.formats.exports.trace_events` describes the events. Times are microseconds, rounded to nanoseconds. The file
    is written as it is made: about 300 bytes per op and 800 per transfer, which do not pass through memory all at once.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.

    References
    ----------
    Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    """
    expect(schedule, Schedule, "export.chrome_trace")
    return save(trace_json(schedule), path_for(path, "a trace", "JSON", ".json"))


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
    return save(TABLES[table](schedule, as_it_is=as_it_is), path_for(path, "a table", "CSV", ".csv"))


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
    path = path_for(path, "a schedule table", "CSV", ".csv")
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


def trace_json(schedule: Schedule) -> Iterator[str]:
    """The text of a trace file, piece by piece."""
    encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode
    events = trace_events(schedule)
    joint = ""
    yield '{"displayTimeUnit": "ms", "traceEvents": ['
    while some := list(islice(events, ROWS)):
        yield joint + encode(some)[1:-1]
        joint = ", "
    yield "]}"


def trace_events(schedule: Schedule) -> Iterator[Event]:
    """All events of a schedule.

    A process per device, in it a thread of ops (Send ops included) and threads of transfers, as many as overlap; a flow
    for each transfer, from its producer over its way to the first consumer there; the memory in use as a counter.

    Times are whole nanoseconds until they are written: a viewer nests slices that overlap, if only by rounding. Events come one
    at a time, and columns become Python numbers a thousand rows at a time, so that a trace of a million ops needs little more
    memory than its schedule.
    """
    moved = schedule.transfers
    incoming = IN + _stack(moved["destination"], moved["start"], moved["finish"])
    outgoing = OUT + _stack(moved["source"], moved["start"], moved["finish"])
    return chain(
        _names(schedule, incoming, outgoing),
        _op_events(schedule),
        _sends(schedule),
        _transfer_events(schedule, incoming, outgoing),
        _flows(schedule, incoming),
        _memory(schedule),
    )


def _number_rows(*columns: np.ndarray) -> Iterator[tuple]:
    """Rows of columns of one length, as Python numbers."""
    for i in range(0, len(columns[0]), ROWS):
        yield from zip(*(column[i : i + ROWS].tolist() for column in columns), strict=True)


def _ns(seconds: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def _slice(name: str, category: str, device: int, thread: int, start: int, finish: int, **args: Any) -> Event:
    times = {"ts": start / 1000, "dur": (finish - start) / 1000}
    return {"ph": "X", "name": name, "cat": category, "pid": device, "tid": thread, **times, "args": args}


def _names(schedule: Schedule, incoming: np.ndarray, outgoing: np.ndarray) -> Iterator[Event]:
    """Names of processes and threads, and the order they are shown in."""
    moved = schedule.transfers
    used = {(d, thread, "in") for d, thread in _number_rows(moved["destination"], incoming)}
    used |= {(d, thread, "out") for d, thread in _number_rows(moved["source"], outgoing)}
    for d, name in enumerate(schedule.problem.cluster.names):
        yield _meta("process_name", d, 0, name=name)
        yield _meta("process_sort_index", d, 0, sort_index=d)
        yield _meta("thread_name", d, OPS_THREAD, name="ops")
    for d, thread, way in sorted(used):
        yield _meta("thread_name", d, thread, name=f"transfers {way}")
        yield _meta("thread_sort_index", d, thread, sort_index=thread)


def _meta(what: str, device: int, thread: int, **args: Any) -> Event:
    return {"ph": "M", "name": what, "pid": device, "tid": thread, "args": args}


def _op_events(schedule: Schedule) -> Iterator[Event]:
    graph = schedule.problem.graph
    start = _ns(schedule.start)
    finish = _ns(schedule.finish)
    order = np.lexsort((finish, start))
    for v, device, begin, end in _number_rows(order, schedule.device[order], start[order], finish[order]):
        yield _slice(graph.names[v], "op", device, OPS_THREAD, begin, end, op=v, kind=graph.kind[v])


def _sends(schedule: Schedule) -> Iterator[Event]:
    graph = schedule.problem.graph
    sends = schedule.sends
    made_by = graph.tensor_producer[sends["tensor"]]
    for producer, source, begin, end in _number_rows(
        made_by, sends["source"], _ns(sends["start"]), _ns(sends["finish"])
    ):
        yield _slice(f"Send {graph.names[producer]}", "send", source, OPS_THREAD, begin, end)


def _transfer_events(schedule: Schedule, incoming: np.ndarray, outgoing: np.ndarray) -> Iterator[Event]:
    """Each transfer twice: as it leaves and as it arrives."""
    graph = schedule.problem.graph
    devices = schedule.problem.cluster.names
    moved = schedule.transfers
    start = _ns(moved["start"])
    finish = _ns(moved["finish"])
    order = np.lexsort((finish, start))
    tensor = moved["tensor"][order]
    ends = (moved["source"][order], moved["destination"][order], outgoing[order], incoming[order])
    what = (graph.tensor_producer[tensor], graph.tensor_bytes[tensor])
    for a, b, leaves, enters, producer, size, begin, end in _number_rows(*ends, *what, start[order], finish[order]):
        args = {"from": devices[a], "to": devices[b], "bytes": size}
        yield _slice(graph.names[producer], "transfer", a, leaves, begin, end, **args)
        yield _slice(graph.names[producer], "transfer", b, enters, begin, end, **args)


def _flows(schedule: Schedule, incoming: np.ndarray) -> Iterator[Event]:
    graph = schedule.problem.graph
    moved = schedule.transfers
    op_start = _ns(schedule.start)
    producer = graph.tensor_producer[moved["tensor"]]
    first = _first_consumers(schedule, op_start)
    places = (schedule.device[producer], moved["destination"], incoming)
    columns = (np.arange(len(moved)), *places, op_start[producer], _ns(moved["start"]), op_start[first])
    for i, home, there, thread, made, began, used in _number_rows(*columns):
        yield _flow("s", i, home, OPS_THREAD, made)
        yield _flow("t", i, there, thread, began)
        yield {**_flow("f", i, there, OPS_THREAD, used), "bp": "e"}


def _first_consumers(schedule: Schedule, op_start: np.ndarray) -> np.ndarray:
    """The consumer of each transfer that starts first, ties by edge number; shape (n_transfers,)."""
    carrier = carriers(schedule)
    edges = np.flatnonzero(carrier >= 0)[::-1]  # of several values assigned to one place numpy keeps the last
    carrier = carrier[edges]
    consumer = schedule.problem.graph.consumer[edges]
    begins = np.full(len(schedule.transfers), np.iinfo(np.int64).max)
    first = np.zeros(len(schedule.transfers), np.int32)
    np.minimum.at(begins, carrier, op_start[consumer])
    earliest = op_start[consumer] == begins[carrier]
    first[carrier[earliest]] = consumer[earliest]
    return first


def _flow(phase: str, number: int, device: int, thread: int, at: int) -> Event:
    where = {"pid": device, "tid": thread, "ts": at / 1000}
    return {"ph": phase, "cat": "transfer", "name": "transfer", "id": number, **where}


def _memory(schedule: Schedule) -> Iterator[Event]:
    for d in range(schedule.problem.cluster.n_devices):
        times, sizes = schedule.memory(d)
        for t, size in _number_rows(_ns(times), sizes):
            yield {"ph": "C", "name": "memory", "pid": d, "tid": 0, "ts": t / 1000, "args": {"bytes": size}}


def _stack(device: np.ndarray, start: np.ndarray, finish: np.ndarray) -> np.ndarray:
    """Thread of each transfer among those of its device: the lowest that is free when it starts."""
    begin = _ns(start)
    end = _ns(finish)
    order = np.lexsort((end, begin))
    thread = np.zeros(len(device), np.int64)
    busy: dict[int, list[tuple[int, int]]] = {}  # of each device: until when which thread
    free: dict[int, list[int]] = {}
    for i, d, starts, ends in _number_rows(order, device[order], begin[order], end[order]):
        running = busy.setdefault(d, [])
        idle = free.setdefault(d, [])
        while running and running[0][0] <= starts:
            heapq.heappush(idle, heapq.heappop(running)[1])
        thread[i] = mine = heapq.heappop(idle) if idle else len(running)
        heapq.heappush(running, (ends, mine))
    return thread
