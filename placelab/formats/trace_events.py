"""The events of a schedule in Chrome's Trace Event format, which ``placelab.export.chrome_trace`` writes.

Times are whole nanoseconds until they are written: a viewer nests slices that overlap, if only by rounding.
Events come one at a time, and columns become Python numbers a thousand rows at a time, so that a trace of a million ops needs
little more memory than its schedule.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from placelab.schedule.schedule import Schedule, carriers

Event = dict[str, Any]
OPS = 0  # thread of the ops; transfers in follow from IN on, transfers out from OUT on
IN = 1
OUT = 1001
ROWS = 1 << 10  # rows or events held as Python objects at once


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
    """
    moved = schedule.transfers
    incoming = IN + _stack(moved["destination"], moved["start"], moved["finish"])
    outgoing = OUT + _stack(moved["source"], moved["start"], moved["finish"])
    return chain(
        _names(schedule, incoming, outgoing),
        _ops(schedule),
        _sends(schedule),
        _transfers(schedule, incoming, outgoing),
        _flows(schedule, incoming),
        _memory(schedule),
    )


def _rows(*columns: np.ndarray) -> Iterator[tuple]:
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
    used = {(d, thread, "in") for d, thread in _rows(moved["destination"], incoming)}
    used |= {(d, thread, "out") for d, thread in _rows(moved["source"], outgoing)}
    for d, name in enumerate(schedule.problem.cluster.names):
        yield _meta("process_name", d, 0, name=name)
        yield _meta("process_sort_index", d, 0, sort_index=d)
        yield _meta("thread_name", d, OPS, name="ops")
    for d, thread, way in sorted(used):
        yield _meta("thread_name", d, thread, name=f"transfers {way}")
        yield _meta("thread_sort_index", d, thread, sort_index=thread)


def _meta(what: str, device: int, thread: int, **args: Any) -> Event:
    return {"ph": "M", "name": what, "pid": device, "tid": thread, "args": args}


def _ops(schedule: Schedule) -> Iterator[Event]:
    graph = schedule.problem.graph
    start = _ns(schedule.start)
    finish = _ns(schedule.finish)
    order = np.lexsort((finish, start))
    for v, device, begin, end in _rows(order, schedule.device[order], start[order], finish[order]):
        yield _slice(graph.names[v], "op", device, OPS, begin, end, op=v, kind=graph.kind[v])


def _sends(schedule: Schedule) -> Iterator[Event]:
    graph = schedule.problem.graph
    sends = schedule.sends
    made_by = graph.tensor_producer[sends["tensor"]]
    for producer, source, begin, end in _rows(made_by, sends["source"], _ns(sends["start"]), _ns(sends["finish"])):
        yield _slice(f"Send {graph.names[producer]}", "send", source, OPS, begin, end)


def _transfers(schedule: Schedule, incoming: np.ndarray, outgoing: np.ndarray) -> Iterator[Event]:
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
    for a, b, leaves, enters, producer, size, begin, end in _rows(*ends, *what, start[order], finish[order]):
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
    for i, home, there, thread, made, began, used in _rows(*columns):
        yield _flow("s", i, home, OPS, made)
        yield _flow("t", i, there, thread, began)
        yield {**_flow("f", i, there, OPS, used), "bp": "e"}


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
        for t, size in _rows(_ns(times), sizes):
            yield {"ph": "C", "name": "memory", "pid": d, "tid": 0, "ts": t / 1000, "args": {"bytes": size}}


def _stack(device: np.ndarray, start: np.ndarray, finish: np.ndarray) -> np.ndarray:
    """Thread of each transfer among those of its device: the lowest that is free when it starts."""
    begin = _ns(start)
    end = _ns(finish)
    order = np.lexsort((end, begin))
    thread = np.zeros(len(device), np.int64)
    busy: dict[int, list[tuple[int, int]]] = {}  # of each device: until when which thread
    free: dict[int, list[int]] = {}
    for i, d, starts, ends in _rows(order, device[order], begin[order], end[order]):
        running = busy.setdefault(d, [])
        idle = free.setdefault(d, [])
        while running and running[0][0] <= starts:
            heapq.heappush(idle, heapq.heappop(running)[1])
        thread[i] = mine = heapq.heappop(idle) if idle else len(running)
        heapq.heappush(running, (ends, mine))
    return thread
