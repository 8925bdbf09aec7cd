"""Pack a schedule for the browser: columns in one buffer, without a Python object per op; and colours that it cannot work out.

Little endian: a header of eight uint32 (version, ops, transfers, sends, devices, steps of the critical path, idle gaps,
0), then the columns below in order, each starting at a multiple of 8 bytes. Read by ``widgets/gantt/wire/decode.ts``.

=============  ====================================================================================================
makespan       f8, seconds
ops            f4 start, f4 duration, u2 device; row = op number
transfers      f4 start minus its producer's finish, f4 duration, u2 source, u2 destination, u4 producer (op)
sends          f4 start, f4 duration, u2 device, u4 transfer it feeds
critical path  u1 kind (0 op, 1 transfer, 2 wait, 3 Send), u4 row (op; transfer; op that waited; transfer it feeds),
               f4 start, f4 duration
idle gaps      u2 device, f4 start, f4 duration, u1 reason (its place in ``REASONS`` of
               :mod:`placelab.analysis.idle_time`), u4 op waited for
=============  ====================================================================================================

Single precision is enough to draw with: a picture has thousands of columns, not millions. A transfer's start is counted
from its producer's finish, so that the two meet in the picture too (and most of the column is 0, which compresses well).

Memory in use is a buffer of its own, read by ``widgets/gantt/wire/memory.ts``: a header of four uint32 (version, devices,
points of the curves, spans out of memory), then

=============  ====================================================================================================
devices        f4 capacity [bytes], inf: unlimited or not counted; f4 peak [bytes], NaN: not computed;
               u4 first point of its curve
curves         u4 time, u2 bytes in use from then on: each the difference to the point before, modulo 2³² and 2¹⁶;
               summed up, time is the bits of an f4 in seconds, and 65535 stands for the peak of the device
out of memory  u2 device, f4 start, f4 duration, f4 bytes short at most
=============  ====================================================================================================

Differences of neighbours are small numbers, which compress well: the memory of 20,000 ops adds about a sixth to a page.

A kept schedule, read by ``widgets/gantt/scene/kept.ts``: a header of four uint32 (version, ops, devices, 0), f8 makespan, then
u2 device (65535: nowhere), f4 start, f4 finish; row = op number of the schedule on show, ops that it lacks behind them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from placelab.analysis.explanation import slack
from placelab.analysis.idle_time import GAP, idle_gaps
from placelab.base.directions import isolated
from placelab.base.index_arrays import frozen
from placelab.kernels.explain import BY_SEND, TRANSFER
from placelab.kernels.plan import ranks
from placelab.pictures.style import PALETTE, colours_by_work, kind_colours
from placelab.planning.plan_arrays import successors
from placelab.planning.read_orders import replica_column
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import pipeline_of
from placelab.problem.problem import Problem
from placelab.schedule.critical_steps import STEP, critical_steps
from placelab.schedule.schedule import Schedule

VERSION = 1
FULL = 65535  # level of the peak of a device
NOWHERE = 65535  # device of an op that a kept schedule does not place
SEND = 3  # kind of a Send op on the critical path


def pack_schedule(schedule: Schedule, critical: bool = True, idle: bool = True) -> bytes:
    """The columns of a schedule.

    Parameters
    ----------
    critical, idle
        Whether to include the critical path and the idle gaps.

    Returns
    -------
    bytes
        About 25 per op and 20 per transfer.
    """
    problem = schedule.problem
    moved = schedule.transfers
    sends = schedule.sends
    producer = problem.graph.tensor_producer[moved["tensor"]]
    steps = critical_steps(schedule) if critical else np.empty(0, STEP)
    gaps = idle_gaps(schedule) if idle else np.empty(0, GAP)
    counts = [problem.graph.n_ops, len(moved), len(sends), problem.cluster.n_devices, len(steps), len(gaps)]
    kind = np.where((steps["kind"] == TRANSFER) & (steps["cause"] == BY_SEND), SEND, steps["kind"])
    columns = [
        np.array([VERSION, *counts, 0], "<u4"),
        np.array([schedule.makespan], "<f8"),
        *(*_span(schedule.start, schedule.finish), schedule.device.astype("<u2")),
        *((moved["start"] - schedule.finish[producer]).astype("<f4"), (moved["finish"] - moved["start"]).astype("<f4")),
        *(moved["source"].astype("<u2"), moved["destination"].astype("<u2"), producer.astype("<u4")),
        *(*_span(sends["start"], sends["finish"]), sends["source"].astype("<u2"), np.arange(len(sends), dtype="<u4")),
        *(kind.astype("<u1"), steps["row"].astype("<u4"), *_span(steps["start"], steps["finish"])),
        *(gaps["device"].astype("<u2"), *_span(gaps["start"], gaps["finish"])),
        *(gaps["reason"].astype("<u1"), gaps["op"].astype("<u4")),
    ]
    return joined(columns)


def pack_memory(schedule: Schedule, curves: bool = True, most: float = np.inf) -> bytes:
    """Memory in use on each device over time, against what there is.

    Parameters
    ----------
    curves
        Whether to include the curves. Spans out of memory are included in any case; under memory model ``none`` there are
        none, and without curves nothing has to be computed.
    most
        Greatest number of points. Where there are more, the peak of each device is divided into fewer levels, down to 16, and
        a point on the level of the point before is left out. Peaks and spans out of memory do not depend on it.

    Returns
    -------
    bytes
        6 per point; a curve has at most two points per op and four per transfer.
    """
    problem = schedule.problem
    limited = problem.memory != "none"
    capacity = problem.cluster.memory if limited else np.full(problem.cluster.n_devices, np.inf)
    peak = schedule.peak_memory if limited or curves else np.full(len(capacity), np.nan)
    none = np.zeros(len(capacity), "<u4"), *np.empty((2, 0), "<u4")
    first, time, level = _curves(schedule, most) if curves else none
    short = schedule.oom
    columns = [
        np.array([VERSION, len(capacity), len(time), len(short)], "<u4"),
        *(capacity.astype("<f4"), peak.astype("<f4"), first),
        *(_differences(time), _differences(level.astype("<u2"))),
        *(short["device"].astype("<u2"), *_span(short["start"], short["finish"]), short["bytes"].astype("<f4")),
    ]
    return joined(columns)


def _curves(schedule: Schedule, most: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First point of each device, bits of the time of all points, and their levels between 0 and `FULL`."""
    curves = [schedule.memory(d) for d in range(schedule.problem.cluster.n_devices)]
    time = np.concatenate([time for time, _ in curves]).astype("<f4") + np.float32(0)
    share = np.concatenate([size / max(size.max(), 1e-300) for _, size in curves])
    begins = np.cumsum([0, *(len(time) for time, _ in curves[:-1])])
    for levels in (FULL, 2048, 1024, 512, 256, 128, 64, 32, 16):
        level = np.round(share * levels)
        kept = np.append(True, level[1:] != level[:-1])
        kept[begins] = True
        if kept.sum() <= most:
            break
    first = (np.cumsum(kept) - 1)[begins]
    return first.astype("<u4"), time[kept].view("<u4"), np.round(level[kept] * (FULL / levels))


def _differences(column: np.ndarray) -> np.ndarray:
    """Each entry minus the one before, in the column's own unsigned arithmetic."""
    return np.diff(column, prepend=column.dtype.type(0))


def pack_names(names: np.ndarray) -> bytes:
    """Op names, utf-8, joined by newlines; a newline inside a name becomes a space."""
    text = "\n".join(names.tolist())
    if text.count("\n") != len(names) - 1:
        text = "\n".join(" ".join(name.split("\n")) for name in names)
    return isolated(text).encode()


def pack_kept(kept: Schedule, shown: Problem) -> bytes:
    """A schedule to compare with, its ops and devices numbered as those of the same names in the problem on show.

    Ops that the problem on show lacks come behind its own; ops that were not there, and devices that are gone, have no device.
    """
    graph = kept.problem.graph
    n = shown.graph.n_ops
    there = {name: d for d, name in enumerate(shown.cluster.names)}
    device = np.array([there.get(name, NOWHERE) for name in kept.problem.cluster.names], "<u2")[kept.device]
    row = np.arange(n)
    if graph is not shown.graph:
        number = {name: op for op, name in enumerate(shown.graph.names)}
        row = np.array([number.get(name, -1) for name in graph.names])
        row[row < 0] = n + np.arange((row < 0).sum())
    size = max(n, int(row.max()) + 1)
    place, start, finish = np.full(size, NOWHERE, "<u2"), *np.zeros((2, size), "<f4")
    place[row] = device
    start[row] = kept.start
    finish[row] = kept.finish
    header = np.array([VERSION, size, shown.cluster.n_devices, 0], "<u4")
    columns = header, np.array([kept.makespan], "<f8"), place, start + np.float32(0), finish
    return joined(columns)


def _span(start: np.ndarray, finish: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Start and duration; never -0.0, whose bits would sort last in the browser."""
    return start.astype("<f4") + np.float32(0), (finish - start).astype("<f4")


def joined(columns: Iterable[np.ndarray]) -> bytes:
    """Columns in one buffer, each from a multiple of 8 bytes on."""
    return b"".join(data + b"\0" * (-len(data) % 8) for data in (column.tobytes() for column in columns))


COLOURS = len(PALETTE)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the makespan, between the colours of slack
JOB_WAYS = ("micro-batch", "replica", "phase")  # of graphs that have these
WAYS = ("kind", "scope", "layer", "device", "op", "critical path", "slack", *JOB_WAYS)
PHASES = {
    "F": "forward",
    "B": "backward, inputs",
    "W": "backward, weights",
    "BW": "backward",
    "FB": "forward and backward",
    "RF": "receive, forward",
    "RB": "receive, backward",
    "P": "once, before",
    "AR": "all-reduce",
    "U": "update",
}

Colours = tuple[bytes, list[str]]


def colours_of(way: str, schedule: Schedule) -> Colours:
    """The indices of one way to colour, uint8, and their meanings; nothing for those that the browser works out."""
    if way == "scope":
        return pack_scopes(schedule.problem.graph)
    if way == "layer":
        return pack_layers(schedule.problem.graph)
    if way in JOB_WAYS:
        return pack_job(way, schedule.problem.graph)
    return pack_slack(schedule) if way == "slack" else (b"", [])


def pack_kinds(graph: OpGraph) -> Colours:
    """A colour index for each op, and the meaning of the indices: :func:`placelab.pictures.style.kind_colours`."""
    colour, legend = kind_colours(graph)
    return colour.tobytes(), legend


def pack_scopes(graph: OpGraph) -> Colours:
    """The outermost scopes that are not the same for all ops: those with the most compute, then all others as one."""
    paths = [name.split("/" if "/" in name else ".")[:-1] for name in graph.names]
    scopes = [""] * len(paths)
    for depth in range(1, 1 + max(map(len, paths))):
        scopes = ["/".join(path[:depth]) for path in paths]
        if len(set(scopes) - {""}) > 1:
            break
    found, index = np.unique(scopes, return_inverse=True)
    colour, legend = colours_by_work(found.tolist(), index, graph.compute)
    return colour.tobytes(), legend


def pack_layers(graph: OpGraph) -> Colours:
    """The depth of each op, in at most `COLOURS` steps."""
    depth = depths(graph)
    n = int(depth.max()) + 1
    step = -(-n // COLOURS)
    first = range(0, n, step)
    names = [f"layer {a + 1}" if step == 1 else f"layers {a + 1} to {min(a + step, n)}" for a in first]
    return (depth // step).astype(np.uint8).tobytes(), names


def depths(graph: OpGraph) -> np.ndarray:
    """How many ops come before each op on the longest path to it, shape (n_ops,)."""
    depth = np.empty(graph.n_ops)
    ranks.downward(frozen(np.ones(graph.n_ops)), successors(graph), 0.0, 0.0, depth)
    return depth


def job_ways(graph: OpGraph) -> list[str]:
    """Those of ``JOB_WAYS`` that a graph has: a pipeline's micro-batches, replicas, and phase where there is one of both."""
    has = {"micro-batch": pipeline_of(graph) is not None, "replica": replica_column(graph, "worker") is not None}
    has["phase"] = any(has.values())
    return [way for way in JOB_WAYS if has[way]]


def pack_job(way: str, graph: OpGraph) -> Colours:
    """Micro-batch, worker or phase of each op, each of them with its name; nothing for a graph that has none."""
    if way not in job_ways(graph):
        return b"", []
    if way == "micro-batch":
        return _in_order(pipeline_of(graph).microbatch, "micro-batch", "once per step")  # type: ignore[union-attr]
    if way == "replica":
        worker = replica_column(graph, "worker")
        name = "worker" if pipeline_of(graph) is None else "replica"
        return _in_order(np.asarray(worker), name, f"all {name}s")
    return _by_phase(graph)


def _in_order(number: np.ndarray, name: str, others: str) -> Colours:
    """Seven colours in turn, so that neighbours differ; -1 has the last colour."""
    n = int(number.max()) + 1
    own = COLOURS - 1
    numbers = [[*map(str, range(i, n, own))] for i in range(min(n, own))]
    names = [f"{name} {', '.join(each if len(each) < 3 else [*each[:2], '…'])}" for each in numbers]
    index = np.where(number >= 0, number % own, own)
    return index.astype(np.uint8).tobytes(), [*names, *[""] * (own - len(names)), others]


def _by_phase(graph: OpGraph) -> Colours:
    pipeline = pipeline_of(graph)
    if pipeline is not None:
        present = [phase for phase in PHASES if (pipeline.phase == phase).any()]
        number = {phase: i for i, phase in enumerate(present)}
        return bytes(number[phase] for phase in pipeline.phase.tolist()), [PHASES[phase] for phase in present]
    role = replica_column(graph, "role")
    names = graph.metadata["replica"].get("roles", [])
    if role is None or role.max() >= len(names):
        return b"", []
    found = np.unique(role).tolist()
    index = np.minimum(np.searchsorted(found, role), COLOURS - 1)
    labels = [str(names[i]) for i in found]
    return index.astype(np.uint8).tobytes(), [*labels[: COLOURS - 1], ", ".join(labels[COLOURS - 1 :])][: len(labels)]


def pack_slack(schedule: Schedule) -> Colours:
    """How much later each op could finish without delaying the end, as shares of the makespan."""
    free = slack(schedule)
    index = np.where(free > 0, 1 + np.searchsorted(SHARES, free / (schedule.makespan or 1.0), side="right"), 0)
    names = ["no slack", *(f"slack < {share:.0%}" for share in SHARES), f"slack ≥ {SHARES[-1]:.0%} of the makespan"]
    return index.astype(np.uint8).tobytes(), names
