"""Read Chrome traces of ``torch.profiler``: seconds by op.

Events are matched with ops in one of two ways. Traces that :mod:`placelab.costs.measuring` records have a range around each
op, named after it. Other traces only have kinds, such as ``aten::addmm``: the runs of a kind are matched in order with the
graph's ops of that kind, if their numbers agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import PurePath
from statistics import median as middle
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.files import json_of, read_file
from placelab.formats.op_kinds import name_of
from placelab.formats.profiles import Profile, median
from placelab.problem.graph import OpGraph

EXPECTED = "a Chrome trace of torch.profiler"
RANGE = "user_annotation"
HOST = "cpu_op"
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
STEP = "ProfilerStep#"
MAX_EVENTS = 5_000_000
SOME = 10_000  # events that are looked at to tell the format
MAX_TIME = 1e18  # microseconds; time since the epoch is about 10¹⁵
MICROSECOND = 1e-6
LEAST_SHARE = 0.5  # of the graph's FLOP, in ops that are matched


class Event(NamedTuple):
    """An event of the trace; times in microseconds."""

    name: str
    category: str
    thread: tuple[str, str]
    start: float
    end: float
    external: int | None  # id that an op shares with the kernels it launched
    device: str


def read_profile(*paths: Any, graph: OpGraph | None = None) -> Profile:
    """Read traces of ``torch.profiler.profile(…).export_chrome_trace``, gzipped or not.

    Parameters
    ----------
    paths
        Files; costs are each op's median over the runs in a file, then over the files.
    graph
        Graph of the profiled model. Not needed if the trace has ranges named after ops.

    Returns
    -------
    Profile
        Seconds of an op's kernels if the trace has kernels, 0 for an op that launched none; else seconds of the op on its
        thread. Ops without events are left out.

    Raises
    ------
    FormatError
        Another format, or a trace that does not fit the graph.

    Notes
    -----
    O(n log n) in events.
    """
    return median(loads(read_file(path, EXPECTED), str(path), graph) for path in paths)


def loads(data: bytes, where: str = "the upload", graph: OpGraph | None = None) -> Profile:
    """The profile in the bytes of one trace; `where` names it in messages."""
    return profile_of(json_of(data, where, EXPECTED), where, graph)


def matches(document: Any) -> bool:
    """Whether parsed JSON looks like a trace of ``torch.profiler``."""
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        return False
    if not {"deviceProperties", "schemaVersion"}.isdisjoint(document):
        return True
    some = islice(document["traceEvents"], SOME)  # a trace of one device's threads may have neither
    return any(isinstance(row, dict) and row.get("cat") in (HOST, "kernel") for row in some)


def profile_of(document: Any, where: str, graph: OpGraph | None = None) -> Profile:
    """The profile in a parsed trace; `where` names it in messages."""
    if graph is not None:
        expect(graph, OpGraph, "read_profile")
    events = sorted(_events(document, where), key=lambda e: (e.thread, e.start, -e.end))
    parents = _parents(events)
    owned = _by_range(events, parents, graph) or _by_order(events, parents, graph, where)
    return _summed(events, parents, owned, where)


# -------------------------------------------------------------------- events


def _events(document: Any, where: str) -> Iterator[Event]:
    rows = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise FormatError(f"{where} is not {EXPECTED}: expected a list of events called 'traceEvents'")
    if len(rows) > MAX_EVENTS:
        raise FormatError(f"{where} has {len(rows):,} events; traces of more than {MAX_EVENTS:,} are not read")
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise FormatError(f"event {i} of {where} is {row!r:.40}; expected an object")
        if row.get("ph") == "X" and row.get("cat") in (RANGE, HOST, *ON_DEVICE):
            yield _event(row, f"event {i} of {where}")


def _event(row: Mapping[str, Any], which: str) -> Event:
    name = row.get("name")
    args = row.get("args", {})
    if not isinstance(name, str) or not isinstance(args, dict):
        raise FormatError(f"{which} has name {name!r:.40} and args {args!r:.40}; expected a text and an object")
    start, length = (_microseconds(row.get(key), key, which) for key in ("ts", "dur"))
    if length < 0:
        raise FormatError(f"{which}, {name!r:.80}, has dur {length:g}; expected 0 or more")
    external = args.get("External id")
    thread = (str(row.get("pid"))[:80], str(row.get("tid"))[:80])
    device = f"cuda:{args['device']}"[:80] if type(args.get("device")) is int else ""
    external = external if type(external) is int else None
    return Event(name, row["cat"], thread, start, start + length, external, device)


def _microseconds(value: Any, key: str, which: str) -> float:
    number = value
    if isinstance(value, str):
        with suppress(ValueError):
            number = float(value)
    if isinstance(number, (bool, str)) or not isinstance(number, (int, float)) or not -MAX_TIME < number < MAX_TIME:
        raise FormatError(f"{which} has {key} {value!r:.40}; expected microseconds")
    return float(number)


def _parents(events: Sequence[Event]) -> list[int]:
    """Index of the innermost host event or range around each event on its thread; -1 if there is none."""
    parents = list[int]()
    around = list[int]()
    for i, event in enumerate(events):
        while around and not _within(event, events[around[-1]]):
            around.pop()
        parents.append(around[-1] if around else -1)
        if event.category in (RANGE, HOST):
            around.append(i)
    return parents


def _within(event: Event, other: Event) -> bool:
    return event.thread == other.thread and event.start < other.end


# -------------------------------------------------------------------- matching events with ops


def _by_range(events: Sequence[Event], parents: Sequence[int], graph: OpGraph | None) -> dict[int, str]:
    """Events that are ranges named after an op; without a graph, all innermost ranges."""
    ranges = [i for i, event in enumerate(events) if event.category == RANGE and not event.name.startswith(STEP)]
    if graph is not None:
        return {i: events[i].name for i in ranges if events[i].name in graph._index}
    outer = {parents[i] for i in ranges}
    return {i: events[i].name for i in ranges if i not in outer}


def _by_order(events: Sequence[Event], parents: Sequence[int], graph: OpGraph | None, where: str) -> dict[int, str]:
    """Match the runs of each kind with the graph's ops in order, if the trace has a multiple of their number."""
    if graph is None:
        raise FormatError(f"{where} has no ranges named after ops; give graph= to go by kinds and their order")
    ran = _runs(events, parents)
    ops: dict[str, list[int]] = {}
    for v, kind in enumerate(graph.kind.tolist()):
        if kind.startswith("aten."):
            ops.setdefault(name_of(kind), []).append(v)
    times = _repetitions(ran, ops)
    fit = [kind for kind in ops if len(ran.get(kind, ())) == times * len(ops[kind]) > 0]
    flop = np.nan_to_num(graph.compute)
    matched = sum(flop[ops[kind]].sum() for kind in fit)
    if not fit or matched < LEAST_SHARE * flop.sum():
        raise FormatError(f"{where} does not fit {graph.title}: {_misfit(ran, ops, graph)}")
    return {event: str(graph.names[ops[kind][i % len(ops[kind])]]) for kind in fit for i, event in enumerate(ran[kind])}


def _runs(events: Sequence[Event], parents: Sequence[int]) -> dict[str, list[int]]:
    """Runs of each kind in the order of time; an event inside one of the same kind is not another run."""
    runs: dict[str, list[int]] = {}
    for i in sorted(range(len(events)), key=lambda i: events[i].start):
        if events[i].category == HOST and events[i].name.startswith("aten::"):
            kind = name_of(events[i].name)
            if parents[i] < 0 or name_of(events[parents[i]].name) != kind:
                runs.setdefault(kind, []).append(i)
    return runs


def _repetitions(ran: Mapping[str, list[int]], ops: Mapping[str, list[int]]) -> int:
    """How often the trace ran the graph, by the vote of its ops."""
    votes: Counter[int] = Counter()
    for kind, which in ops.items():
        if ran.get(kind) and len(ran[kind]) % len(which) == 0:
            votes[len(ran[kind]) // len(which)] += len(which)
    return max(votes, key=lambda times: (votes[times], -times), default=0)


def _misfit(ran: Mapping[str, list[int]], ops: Mapping[str, list[int]], graph: OpGraph) -> str:
    """Describe the costliest kind whose numbers differ."""
    if not ops:
        return "the graph has no op of a kind aten.…"
    kind = max(ops, key=lambda kind: (len(ran.get(kind, ())) % len(ops[kind]) > 0, np.nansum(graph.compute[ops[kind]])))
    return f"it ran aten::{kind} {len(ran.get(kind, ())):,} times, and the graph has {len(ops[kind]):,} such ops"


# -------------------------------------------------------------------- seconds


def _summed(events: Sequence[Event], parents: Sequence[int], owned: Mapping[int, str], where: str) -> Profile:
    """Each op's median over its runs, in which kernels, or else the host ops in its range, are summed."""
    owner = _owners(parents, owned)
    launched = {event.external: i for i, event in enumerate(events) if event.category in (HOST, RANGE)}
    kernels = [event for event in events if event.category in ON_DEVICE]
    spent = dict.fromkeys(owned, 0.0)
    device = {} if kernels else dict.fromkeys(owned.values(), "cpu")
    for event in kernels:
        run = owner[launched[event.external]] if event.external in launched else -1
        if run >= 0:
            spent[run] += event.end - event.start
            device.setdefault(owned[run], event.device)
    if not kernels:
        spent = {i: _host_time(events, i) for i in owned if events[i].category == HOST} | _inside(
            events, parents, owned
        )
    runs: dict[str, list[float]] = {}
    for i, name in owned.items():
        runs.setdefault(name, []).append(MICROSECOND * spent[i])
    seconds = {name: middle(times) for name, times in runs.items()}
    return Profile(seconds, device=device, source=f"{PurePath(where).name} (PyTorch)")


def _owners(parents: Sequence[int], owned: Mapping[int, str]) -> list[int]:
    """The matched event that each event belongs to, -1 for none. Parents precede their children."""
    owner: list[int] = []
    for i, parent in enumerate(parents):
        owner.append(i if i in owned else owner[parent] if parent >= 0 else -1)
    return owner


def _host_time(events: Sequence[Event], i: int) -> float:
    return events[i].end - events[i].start


def _inside(events: Sequence[Event], parents: Sequence[int], owned: Mapping[int, str]) -> dict[int, float]:
    """Time of the host ops directly inside each range, without Python's overhead between them."""
    spent = {i: 0.0 for i in owned if events[i].category == RANGE}
    for i, parent in enumerate(parents):
        if events[i].category == HOST and parent in spent:
            spent[parent] += _host_time(events, i)
    return spent
