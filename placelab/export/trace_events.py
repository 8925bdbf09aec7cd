"""The events of a schedule in Chrome's Trace Event format, which ``placelab.export.chrome_trace`` writes.

Times are whole nanoseconds until they are written: a viewer nests slices that overlap, if only by rounding.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

from placelab.schedule.schedule import Schedule

Event = dict[str, Any]
OPS = 0  # thread of the ops; transfers in follow from IN on, transfers out from OUT on
IN, OUT = 1, 1001


def trace_events(schedule: Schedule) -> list[Event]:
    """All events of a schedule.

    A process per device, in it a thread of ops (Send ops included) and threads of transfers, as many as overlap; a flow
    for each transfer, from its producer over its way to the first consumer there; the memory in use as a counter.
    """
    moved = schedule.transfers
    incoming = IN + _stack(moved["destination"], moved["start"], moved["finish"])
    outgoing = OUT + _stack(moved["source"], moved["start"], moved["finish"])
    return [
        *_names(schedule, incoming, outgoing),
        *_ops(schedule),
        *_sends(schedule),
        *_transfers(schedule, incoming, outgoing),
        *_flows(schedule, incoming),
        *_memory(schedule),
    ]


def _ns(seconds: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def _slice(name: str, category: str, device: int, thread: int, start: int, finish: int, **args: Any) -> Event:
    times = {"ts": int(start) / 1000, "dur": int(finish - start) / 1000}
    return {"ph": "X", "name": name, "cat": category, "pid": int(device), "tid": int(thread), **times, "args": args}


def _names(schedule: Schedule, incoming: np.ndarray, outgoing: np.ndarray) -> Iterator[Event]:
    """Names of processes and threads, and the order they are shown in."""
    moved = schedule.transfers
    used = {(int(d), int(t), "in") for d, t in zip(moved["destination"], incoming, strict=True)}
    used |= {(int(d), int(t), "out") for d, t in zip(moved["source"], outgoing, strict=True)}
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
    graph, start, finish = schedule.problem.graph, _ns(schedule.start), _ns(schedule.finish)
    for v in np.lexsort((finish, start)):
        yield _slice(graph.names[v], "op", schedule.device[v], OPS, start[v], finish[v], op=int(v), kind=graph.kind[v])


def _sends(schedule: Schedule) -> Iterator[Event]:
    graph, sends = schedule.problem.graph, schedule.sends
    start, finish = _ns(sends["start"]), _ns(sends["finish"])
    for i, send in enumerate(sends):
        producer = graph.names[graph.tensor_producer[send["tensor"]]]
        yield _slice(f"Send {producer}", "send", send["source"], OPS, start[i], finish[i])


def _transfers(schedule: Schedule, incoming: np.ndarray, outgoing: np.ndarray) -> Iterator[Event]:
    """Each transfer twice: as it leaves and as it arrives."""
    graph, devices, moved = schedule.problem.graph, schedule.problem.cluster.names, schedule.transfers
    start, finish = _ns(moved["start"]), _ns(moved["finish"])
    for i in np.lexsort((finish, start)):
        tensor, source, destination = (int(moved[column][i]) for column in ("tensor", "source", "destination"))
        name = graph.names[graph.tensor_producer[tensor]]
        args = {"from": devices[source], "to": devices[destination], "bytes": float(graph.tensor_bytes[tensor])}
        yield _slice(name, "transfer", source, outgoing[i], start[i], finish[i], **args)
        yield _slice(name, "transfer", destination, incoming[i], start[i], finish[i], **args)


def _flows(schedule: Schedule, incoming: np.ndarray) -> Iterator[Event]:
    graph, moved = schedule.problem.graph, schedule.transfers
    op_start, began = _ns(schedule.start), _ns(moved["start"])
    for i, (tensor, there) in enumerate(zip(moved["tensor"], moved["destination"], strict=True)):
        producer = graph.tensor_producer[tensor]
        consumers = graph.consumer[graph.tensor_ptr[tensor] : graph.tensor_ptr[tensor + 1]]
        consumers = consumers[schedule.device[consumers] == there]
        first = consumers[np.argmin(op_start[consumers])]
        yield _flow("s", i, schedule.device[producer], OPS, op_start[producer])
        yield _flow("t", i, there, incoming[i], began[i])
        yield {**_flow("f", i, there, OPS, op_start[first]), "bp": "e"}


def _flow(phase: str, number: int, device: int, thread: int, at: int) -> Event:
    where = {"pid": int(device), "tid": int(thread), "ts": int(at) / 1000}
    return {"ph": phase, "cat": "transfer", "name": "transfer", "id": number, **where}


def _memory(schedule: Schedule) -> Iterator[Event]:
    for d in range(schedule.problem.cluster.n_devices):
        times, sizes = schedule.memory(d)
        for t, size in zip(_ns(times), sizes, strict=True):
            yield {"ph": "C", "name": "memory", "pid": d, "tid": 0, "ts": int(t) / 1000, "args": {"bytes": float(size)}}


def _stack(device: np.ndarray, start: np.ndarray, finish: np.ndarray) -> np.ndarray:
    """Thread of each transfer among those of its device: the lowest that is free when it starts."""
    begin, end = _ns(start), _ns(finish)
    thread = np.zeros(len(device), np.int64)
    busy: dict[int, list[tuple[int, int]]] = {}  # of each device: until when which thread
    free: dict[int, list[int]] = {}
    for i in np.lexsort((end, begin)):
        d = int(device[i])
        running, idle = busy.setdefault(d, []), free.setdefault(d, [])
        while running and running[0][0] <= begin[i]:
            heapq.heappush(idle, heapq.heappop(running)[1])
        thread[i] = heapq.heappop(idle) if idle else len(running)
        heapq.heappush(running, (int(end[i]), int(thread[i])))
    return thread
