"""What the drawer of the Gantt chart says of what was clicked: facts, bars to compare, the chain to the root cause. Data only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from placelab.analysis.explanation import slack
from placelab.analysis.idle_time import (
    MOST_TRIED,
    REASONS,
    idle_gaps,
    said_of_cost,
    said_of_gap,
    said_of_lack,
    steps_of_gap,
    visit,
)
from placelab.app.widgets.decisions import why
from placelab.app.widgets.details_parts import (
    Details,
    Figure,
    bars_of,
    by_reason,
    chain_of,
    device_said,
    longest_of,
    of_area,
    of_link,
    span_said,
    with_figures,
)
from placelab.app.widgets.graph_scopes import separator_of
from placelab.base.errors import escaped
from placelab.base.progress import never
from placelab.base.units import apart, counted, percent
from placelab.costs import describe_op
from placelab.costs.descriptions import open_sizes
from placelab.kernels import explain as kernels
from placelab.problem.graph import OpGraph
from placelab.schedule.critical_steps import StepsBack
from placelab.schedule.schedule import Schedule
from placelab.schedule.trace import Trace

MOST_BARS = 12
MOST_OUTPUTS = 6  # sizes and shapes of tensors that are told
MOST_INPUTS = 3  # shapes of them
NO_SHAPE = "unknown shape"


class Subject(NamedTuple):
    """What was clicked, by number, -1 for nothing. A click on a gap or a transfer selects an op, too; another op ends that.

    Attributes
    ----------
    op
        Number of the op.
    gap
        Row of the idle gap, in :func:`placelab.analysis.idle_time.idle_gaps`.
    transfer
        Row of the transfer, in the schedule's `transfers`.
    lane
        Number of the device whose name was clicked.
    area
        What was brushed: start and finish [s], then the numbers of its devices; () for nothing.
    value
        What was chosen on the cluster canvas, of which all others are forgotten: ``kind``, ``label``, and ``device``, ``pairs``
        or ``link``; {} for nothing.
    """

    op: int = -1
    gap: int = -1
    transfer: int = -1
    lane: int = -1
    area: tuple[float, ...] = ()
    value: Mapping[str, Any] = MappingProxyType({})


def details_of(
    schedule: Schedule,
    subject: Subject,
    trace: Trace | None = None,
    *,
    most: int = MOST_TRIED,
    cancel: Callable[[], bool] = never,
) -> Details:
    """What there is to say of a subject; empty for none.

    Parameters
    ----------
    trace
        The decisions of the partitioner. Default: those that the placement carries.
    most, cancel
        As for :func:`placelab.analysis.idle_time.said_of_gap`.

    Returns
    -------
    dict
        As ``widgets/gantt/wire/details.ts`` has it.

    Notes
    -----
    O((ops + transfers) log), as a walk along the critical path.
    """
    return with_figures(_told(schedule, subject, trace, most, cancel), schedule.problem.cluster.units)


def _told(schedule: Schedule, subject: Subject, trace: Trace | None, most: int, cancel: Callable[[], bool]) -> Details:
    if subject.value:
        return _of_value(schedule, subject.value)
    if len(subject.area) > 2 and subject.op < 0:
        return of_area(schedule, subject.area)
    if subject.gap >= 0 and _waits_for(schedule, subject.gap, subject.op):
        return _of_gap(schedule, subject.gap, most, cancel)
    if 0 <= subject.transfer < len(schedule.transfers) and _maker(schedule, subject.transfer) == subject.op:
        return _of_transfer(schedule, subject.transfer)
    if 0 <= subject.lane < schedule.problem.cluster.n_devices and subject.op < 0:
        return _of_device(schedule, subject.lane, most, cancel)
    if 0 <= subject.op < schedule.problem.graph.n_ops:
        return _of_op(schedule, subject.op, schedule.placement.trace if trace is None else trace)
    return {}


def _waits_for(schedule: Schedule, row: int, op: int) -> bool:
    """Whether there is such a gap, and a click on it selects that op."""
    gaps = idle_gaps(schedule)
    return row < len(gaps) and int(gaps["op"][row]) == op


# -------------------------------------------------------------------- an op


def _of_op(schedule: Schedule, op: int, trace: Trace | None) -> Details:
    graph = schedule.problem.graph
    name = str(graph.names[op])
    return {
        "figures": list(_figures_of_op(schedule, op)),
        "title": name,
        "note": f"op {op + 1:,} of {graph.n_ops:,}",
        "facts": list(_facts_of_op(schedule, op)),
        "bars": _candidates(schedule, op, trace),
        "chain": chain_of(schedule, StepsBack(schedule).to(op)[::-1], "why then: back to the root cause"),
    }


def _facts_of_op(schedule: Schedule, op: int) -> Iterable[tuple[str, str]]:
    problem = schedule.problem
    graph = problem.graph
    units = problem.cluster.units
    began = float(schedule.start[op])
    ended = float(schedule.finish[op])
    if graph.kind[op]:
        yield "kind", str(graph.kind[op])
    mark = separator_of(graph.names.tolist())
    if mark and (scope := str(graph.names[op]).rpartition(mark)[0]):
        yield "scope", scope
    if made := _makes(graph, op):
        yield "makes", made
    members = len(problem.members(op))
    if members > 1:
        yield "group", f"{counted(members, 'op')} that stay together"
    yield "device", device_said(schedule, int(schedule.device[op]))
    yield "runs", f"{span_said(schedule, began, ended)}, {units.time(ended - began)}"
    if cost := cost_of(schedule, op):
        yield "cost", cost
    elif graph.compute[op]:
        yield "cost", f"{units.amount(float(graph.compute[op]), 'FLOP')} at the device's speed"
    if outputs := _outputs(schedule, op):
        yield "outputs", outputs
    spare = float(slack(schedule)[op])
    yield "slack", units.time(spare) if spare else "none: if it ran later, the makespan would be longer"
    sizes = [
        ("in", _read(schedule, op)),
        ("out", float(graph.outputs[op])),
        ("kept for the whole run", float(graph.persistent[op])),
        ("while it runs", float(graph.temporary[op])),
    ]
    if any(size for _, size in sizes):
        yield "memory", " · ".join(f"{units.amount(size, 'B')} {what}" for what, size in sizes if size)
    if read := _reads(graph, op):
        yield "reads", read
    if any(graph.shapes_of(op)) and (taken := open_sizes(graph)):
        yield "open sizes", escaped(taken)


def _figures_of_op(schedule: Schedule, op: int) -> Iterable[Figure]:
    problem = schedule.problem
    graph = problem.graph
    yield "op", str(graph.names[op]), ""
    yield "kind", str(graph.kind[op]), ""
    yield "device", problem.cluster.names[schedule.device[op]], ""
    yield "start", float(schedule.start[op]), "s"
    yield "finish", float(schedule.finish[op]), "s"
    yield "time", float(schedule.finish[op] - schedule.start[op]), "s"
    yield "operations", float(graph.compute[op]), "FLOP"
    yield "slack", float(slack(schedule)[op]), "s"
    yield "inputs", _read(schedule, op), "B"
    for tensor in np.flatnonzero((graph.tensor_producer == op) & ~graph.tensor_control).tolist():
        yield "output", float(graph.tensor_bytes[tensor]), "B"
        if shape := graph.shape_of(tensor):
            yield "shape of output", shape, ""
    yield "kept for the whole run", float(graph.persistent[op]), "B"
    yield "held while it runs", float(graph.temporary[op]), "B"


def _outputs(schedule: Schedule, op: int) -> str:
    """Bytes of the tensors that an op makes, the largest first, and how many ops read each."""
    graph = schedule.problem.graph
    made = np.flatnonzero((graph.tensor_producer == op) & ~graph.tensor_control)
    readers = [len(np.unique(graph.consumer[graph.edge_tensor == tensor])) for tensor in made]
    alike = Counter(zip(graph.tensor_bytes[made].tolist(), readers, strict=True))
    told = []
    for (size, read), times in sorted(alike.items(), reverse=True)[:MOST_OUTPUTS]:
        tensor = schedule.problem.cluster.units.amount(size, "B")
        by = counted(read, "op") if read else "none"
        told.append(f"{times:,} × {tensor}, each read by {by}" if times > 1 else f"{tensor} read by {by}")
    more = [f"{len(alike) - MOST_OUTPUTS} other sizes"] if len(alike) > MOST_OUTPUTS else []
    return " · ".join([*told, *more])


def _makes(graph: OpGraph, op: int) -> str:
    """Element types and sizes of what an op makes; "" in graphs that hold none."""
    if graph.tensor_shape is None:
        return ""
    made = Counter(shape or NO_SHAPE for shape in graph.shapes_of(op))
    told = [f"{times:,} × {shape}" if times > 1 else shape for shape, times in made.items()]
    more = [f"{len(told) - MOST_OUTPUTS} more"] if len(told) > MOST_OUTPUTS else []
    return " · ".join([*told[:MOST_OUTPUTS], *more])


def _reads(graph: OpGraph, op: int) -> str:
    """Element types and sizes of the first inputs of an op, with their makers; "" if none is known."""
    edges = graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]
    tensors = [t for t in dict.fromkeys(graph.edge_tensor[edges].tolist()) if not graph.tensor_control[t]]
    shown = [(graph.shape_of(t), graph.names[graph.tensor_producer[t]]) for t in tensors[:MOST_INPUTS]]
    if not any(shape for shape, _ in shown):
        return ""
    more = [f"{len(tensors) - MOST_INPUTS} more"] if len(tensors) > MOST_INPUTS else []
    return " · ".join([*(f"{shape or NO_SHAPE} of {name}" for shape, name in shown), *more])


def cost_of(schedule: Schedule, op: int) -> str:
    """The source of the op's seconds where it ran, in graphs that have times; "" in others."""
    graph = schedule.problem.graph
    cluster = schedule.problem.cluster
    if graph.time is None:
        return ""
    d = schedule.device[op]
    return describe_op(graph, op, cluster.names[d] if cluster.names[d] in graph.time_types else cluster.types[d])


def _read(schedule: Schedule, op: int) -> float:
    """Bytes of the tensors that an op reads, each once."""
    graph = schedule.problem.graph
    edges = graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]
    return float(graph.tensor_bytes[np.unique(graph.edge_tensor[edges])].sum())


def _candidates(schedule: Schedule, op: int, trace: Trace | None) -> Details:
    """The scores that the partitioner compared, the chosen device first."""
    problem = schedule.problem
    if trace is None:
        by = schedule.placement.partitioner or "the placement"
        return bars_of("why here", [], f"{by} recorded no decisions")
    row = int(trace.rows(problem)[op])
    if row < 0:
        return bars_of("why here", [], "no decision about it was recorded")
    score = trace.score[row]
    chosen = int(trace.device[row])
    order = sorted(np.flatnonzero(np.isfinite(score)).tolist(), key=lambda d: (d != chosen, score[d], d))
    shown = order[:MOST_BARS]
    head = f"why here: {trace.score_name.partition(' [')[0]}"
    foot = [why(problem, trace, row)]
    if int(trace.op[row]) != op:
        foot.append(f"Decided with {problem.graph.names[trace.op[row]]} of its group.")
    if len(order) > len(shown):
        foot.append(f"{counted(len(order) - len(shown), 'device')} more.")
    if none := problem.cluster.n_devices - len(order):
        foot.append(f"{counted(none, 'device')} no candidate.")
    texts = apart(score[shown].tolist(), trace.text_of(problem))
    rows = [
        (
            d,
            problem.cluster.names[d],
            float(score[d]),
            text,
            _behind(score[d] - score[chosen], trace, schedule),
            d == chosen,
        )
        for d, text in zip(shown, texts, strict=True)
    ]
    return bars_of(head, rows, " ".join(foot), unit=trace.score_name.partition(" [")[2].removesuffix("]"))


def _behind(difference: float, trace: Trace, schedule: Schedule) -> str:
    """How far a candidate is behind the chosen one, as "+7.9 ms"; nothing for that itself."""
    if not difference:
        return ""
    return f"{'+' if difference > 0 else '−'}{trace.text_of(schedule.problem)(abs(float(difference)), 3)}"


# -------------------------------------------------------------------- a gap, a transfer, a device


def _of_gap(schedule: Schedule, row: int, most: int, cancel: Callable[[], bool]) -> Details:
    gap = idle_gaps(schedule)[row]
    d = int(gap["device"])
    units = schedule.problem.cluster.units
    names = schedule.problem.graph.names
    began = float(gap["start"])
    ended = float(gap["finish"])
    facts = [
        ("device", device_said(schedule, d)),
        ("idle", f"{span_said(schedule, began, ended)}, {units.time(ended - began)}"),
        ("reason", REASONS[gap["reason"]]),
    ]
    if gap["op"] >= 0:
        waits = gap["reason"] in (kernels.FOR_MEMORY, kernels.LEFT_WAITING)
        facts.append(("the op that waits" if waits else "the op upstream", str(names[gap["op"]])))
    if lacked := said_of_lack(schedule, row):
        facts.append(("it found", lacked))
    if gap["next"] >= 0:
        facts.append(("ended by", str(names[gap["next"]])))
    unused = gap["reason"] == kernels.NEVER_CHOSEN
    if unused:
        facts.append(("", said_of_gap(schedule, row, most=most, cancel=cancel)))
    why_then = chain_of(schedule, steps_of_gap(schedule, row)[::-1], "why: back to the root cause")
    figures: list[Figure] = [
        ("device", schedule.problem.cluster.names[d], ""),
        ("start", began, "s"),
        ("finish", ended, "s"),
        ("time", ended - began, "s"),
        ("reason", REASONS[gap["reason"]], ""),
        *((("op upstream or waiting", str(names[gap["op"]]), ""),) if gap["op"] >= 0 else ()),
        *((("ended by", str(names[gap["next"]]), ""),) if gap["next"] >= 0 else ()),
    ]
    return {
        "figures": figures,
        "title": f"{schedule.problem.cluster.names[d]} idle",
        "note": f"{units.time(ended - began)} of {units.time(_idle(schedule, d))}",
        "facts": facts,
        "idle": _idle_bars(schedule, d),
        "chain": _best_visit(schedule, d, most, cancel) if unused else why_then,
    }


def _best_visit(schedule: Schedule, d: int, most: int, cancel: Callable[[], bool]) -> Details:
    """The op that is best moved to a device that was never chosen, as the only link of a chain: where it runs now."""
    problem = schedule.problem
    op, makespan = visit(schedule, d, most, cancel)
    if op < 0:
        return {"head": "", "rows": [], "left": 0, "after": 0, "root": False}
    began = float(schedule.start[op])
    on = f"on {problem.cluster.names[schedule.device[op]]}"
    row = (str(problem.graph.names[op]), on, problem.cluster.units.time(began), began, float(schedule.finish[op]), op)
    head = f"the best op for it would {said_of_cost(schedule, makespan)}"
    return {"head": head, "rows": [row], "left": 0, "after": 0, "root": False}


def _maker(schedule: Schedule, row: int) -> int:
    """The op whose output a transfer brings."""
    return int(schedule.problem.graph.tensor_producer[schedule.transfers["tensor"][row]])


def _of_transfer(schedule: Schedule, row: int) -> Details:
    problem = schedule.problem
    graph = problem.graph
    units = problem.cluster.units
    moved = schedule.transfers[row]
    tensor, source, target = (int(moved[label]) for label in ("tensor", "source", "destination"))
    maker = _maker(schedule, row)
    size = float(graph.tensor_bytes[tensor])
    shape = graph.shape_of(tensor)
    began = float(moved["start"])
    ended = float(moved["finish"])
    readers = np.unique(graph.consumer[(graph.edge_tensor == tensor)])
    there = readers[schedule.device[readers] == target]
    made = float(schedule.sends["finish"][row] if len(schedule.sends) else schedule.finish[maker])
    facts = [
        ("tensor", f"{f'{shape}, ' if shape else ''}{units.amount(size, 'B')}, an output of {graph.names[maker]}"),
        ("way", f"{problem.cluster.names[source]} → {problem.cluster.names[target]}"),
        ("travels", f"{span_said(schedule, began, ended)}, {units.time(ended - began)}"),
        ("in line for the link", units.time(began - made) if began > made else "not at all"),
        ("read there by", f"{counted(len(there), 'op')}, {graph.names[there[0]]} first" if len(there) else "no op"),
    ]
    if size and ended > began:
        facts.insert(3, ("on average", units.amount(size / (ended - began), "B/s")))
    reader = int(there[np.argmin(schedule.start[there])]) if len(there) else -1
    steps = StepsBack(schedule).to(maker if reader < 0 else reader)
    until = f"why {graph.names[reader]} starts then" if reader >= 0 else f"why {graph.names[maker]} runs then"
    figures: list[Figure] = [
        ("output of", str(graph.names[maker]), ""),
        ("from", problem.cluster.names[source], ""),
        ("to", problem.cluster.names[target], ""),
        ("tensor", size, "B"),
        *((("shape", shape, ""),) if shape else ()),
        ("start", began, "s"),
        ("finish", ended, "s"),
        ("time", ended - began, "s"),
        ("in line for the link", began - made, "s"),
        ("read there by", len(there), "ops"),
    ]
    return {
        "figures": figures,
        "title": f"transfer of {graph.names[maker]}",
        "note": f"{problem.cluster.names[source]} → {problem.cluster.names[target]}",
        "facts": facts,
        "bars": bars_of("", [], ""),
        "chain": chain_of(schedule, steps[::-1], f"{until}: back to the root cause"),
    }


def _of_device(schedule: Schedule, d: int, most: int, cancel: Callable[[], bool]) -> Details:
    problem = schedule.problem
    cluster = problem.cluster
    units = cluster.units
    mine = schedule.device == d
    busy = float((schedule.finish - schedule.start)[mine].sum())
    gaps = idle_gaps(schedule)
    unused = np.flatnonzero((gaps["device"] == d) & (gaps["reason"] == kernels.NEVER_CHOSEN))
    facts = [
        *(("", said_of_gap(schedule, row, most=most, cancel=cancel)) for row in unused.tolist()),
        ("type", cluster.types[d]),
        ("host", cluster.hosts[d]),
        ("speed", units.amount(float(cluster.speed[d]), "FLOP/s")),
    ]
    facts.append(
        ("runs", f"{counted(int(mine.sum()), 'op')}, {units.time(busy)}, {percent(busy / (schedule.makespan or 1.0))}")
    )
    peak = float(schedule.peak_memory[d])
    room = float(cluster.memory[d])
    if np.isfinite(room):
        facts.append(("memory", f"{units.amount(peak, 'B')} of {units.amount(room, 'B')} at most in use"))
    size = problem.graph.tensor_bytes[schedule.transfers["tensor"]]
    sums = [float(size[schedule.transfers[way] == d].sum()) for way in ("destination", "source")]
    facts.append(
        (
            "moved",
            " · ".join(f"{units.amount(total, 'B')} {way}" for total, way in zip(sums, ("in", "out"), strict=True)),
        )
    )
    figures: list[Figure] = [
        ("device", cluster.names[d], ""),
        ("type", cluster.types[d], ""),
        ("host", cluster.hosts[d], ""),
        ("speed", float(cluster.speed[d]), "FLOP/s"),
        ("ops", int(mine.sum()), ""),
        ("time of ops", busy, "s"),
        ("idle", _idle(schedule, d), "s"),
        ("memory in use at most", peak, "B"),
        ("memory", room, "B"),
        *((f"moved {way}", total, "B") for total, way in zip(sums, ("in", "out"), strict=True)),
    ]
    return {
        "figures": figures,
        "title": cluster.names[d],
        "note": f"idle {units.time(_idle(schedule, d))} of {units.time(schedule.makespan)}",
        "facts": facts,
        "idle": _idle_bars(schedule, d),
        "chain": _best_visit(schedule, d, most, cancel) if len(unused) else _longest_gaps(schedule, d),
    }


def _of_value(schedule: Schedule, value: Mapping[str, Any]) -> Details:
    """Of a link's bandwidth or latency, or of a device's speed or memory; nothing of a device that the schedule has not."""
    if value.get("kind") not in ("speed", "memory"):
        return of_link(schedule, value)
    if not 0 <= value.get("device", -1) < schedule.problem.cluster.n_devices:
        return {}
    quick = _of_device(schedule, value["device"], 0, never)  # a hand may be dragging it
    return quick | {"title": value["label"], "idle": bars_of("", [], ""), "over": True}


def _longest_gaps(schedule: Schedule, d: int) -> Details:
    """The longest idle gaps of a device."""
    gaps = idle_gaps(schedule)
    gaps = gaps[gaps["device"] == d]
    return longest_of(schedule, gaps, gaps["finish"] - gaps["start"], "longest idle gaps")


def _idle(schedule: Schedule, d: int) -> float:
    gaps = idle_gaps(schedule)
    mine = gaps["device"] == d
    return float((gaps["finish"] - gaps["start"])[mine].sum())


def _idle_bars(schedule: Schedule, d: int) -> Details:
    """Idle seconds of a device by reason, and their share of the makespan."""
    gaps = idle_gaps(schedule)
    gaps = gaps[gaps["device"] == d]
    head = f"idle time of {schedule.problem.cluster.names[d]} by reason"
    return by_reason(schedule, gaps, gaps["finish"] - gaps["start"], head, schedule.makespan or 1.0)
