"""Pictures of schedules and placements at the end of a cell.

`html` picks the picture of any object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from placelab.kernels.explain import OP, TRANSFER, WAIT
from placelab.pictures.problem_cells import show_cluster, show_graph, show_problem
from placelab.pictures.schedule_chart import Entry, gantt
from placelab.pictures.style import (
    CRITICAL,
    MOST_ROWS,
    PALETTE,
    amount,
    aside,
    bar,
    counted,
    legend,
    percent,
    picture,
    swatch,
    table,
    text,
)
from placelab.planning.lower_bounds import known_bounds
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule, busy_time

NOTES = 4  # sentences shown


def show_schedule(schedule: Schedule) -> str:
    """The schedule as HTML, at most 100 KB. O((ops + transfers) log + edges)."""
    steps = critical_steps(schedule)
    chart = gantt(schedule, steps)
    made_by = " + ".join(filter(None, (schedule.placement.partitioner, schedule.scheduler)))
    about = [schedule.problem.graph.title, counted(schedule.problem.graph.n_ops, "op")]
    names = " · ".join(text(part) for part in [*about, made_by or "given"])
    return picture(
        f"makespan {schedule.problem.cluster.units.time(schedule.makespan)}",
        _numbers(schedule, steps),
        aside(names),
        chart.svg,
        entries(chart.key),
    )


def _numbers(schedule: Schedule, steps: np.ndarray) -> Iterator[str]:
    problem = schedule.problem
    makespan = schedule.makespan
    moved = schedule.transfers
    if makespan > 0:
        yield f"devices busy {percent(float(busy_time(schedule).mean()) / makespan)}"
        spent = np.bincount(steps["kind"], steps["finish"] - steps["start"], minlength=3) / makespan
        words = ((OP, "ops"), (TRANSFER, "transfers"), (WAIT, "waiting"))
        yield "critical path " + ", ".join(f"{percent(float(spent[kind]))} {word}" for kind, word in words)
    size = float(problem.graph.tensor_bytes[moved["tensor"]].sum())
    yield f"{counted(len(moved), 'transfer')}, {amount(size, 'B', problem.cluster.units)}"
    if bound := schedule.placement.proven(makespan):
        bound = max(bound, *known_bounds(problem).values())
        yield f"at most {percent(max(makespan / bound - 1, 0.0))} above the optimum"
    if problem.memory != "none":
        yield _memory(schedule)


def _memory(schedule: Schedule) -> str:
    """Peak memory of the device that is fullest, or the devices that are out of memory."""
    names = schedule.problem.cluster.names
    capacity = schedule.problem.cluster.memory
    peak = schedule.peak_memory
    short = np.unique(schedule.oom["device"]).tolist()
    if short:
        more = f" and {len(short) - 3} more" if len(short) > 3 else ""
        return (
            f'<b style="color:{CRITICAL}">out of memory: {", ".join(text(names[d], 22) for d in short[:3])}{more}</b>'
        )
    written = schedule.problem.cluster.units
    fullest = int(np.argmax(peak / capacity)) if np.isfinite(capacity).any() else int(np.argmax(peak))
    of = f" of {amount(capacity[fullest], 'B', written)}" if np.isfinite(capacity[fullest]) else ""
    return f"peak memory {amount(peak[fullest], 'B', written)}{of}"


def entries(key: Iterable[Entry]) -> str:
    """The legend of the chart, as HTML."""
    return legend((swatch(colour, height) if colour else "", words) for colour, height, words in key)


def show_placement(placement: Placement) -> str:
    """The placement as HTML, at most 100 KB. O(ops + edges log edges)."""
    problem = placement.problem
    used = len(np.unique(placement.device))
    return picture(
        f"{text(problem.graph.title)} on {used:,} of {counted(problem.cluster.n_devices, 'device')}",
        _facts(placement),
        *(aside(text(note, 300)) for note in placement.notes[:NOTES]),
        table(
            ("device", "ops", "compute", "time", "share of time", _kept(placement)[0]), _rows(placement), (1, 2, 3, 5)
        ),
    )


def _facts(placement: Placement) -> Iterator[str]:
    yield text(placement.partitioner or "by hand")
    if placement.estimate is not None:
        yield f"expects {placement.problem.cluster.units.time(placement.estimate)}"
    if placement.optimal:
        yield "proven optimal"
    elif placement.bound:
        yield f"at least {placement.problem.cluster.units.time(placement.bound)} proven"
    moved, size = _cut(placement)
    yield f"{counted(moved, 'transfer')}, {amount(size, 'B', placement.problem.cluster.units)}"


def _cut(placement: Placement) -> tuple[int, float]:
    """Number and bytes of transfers: pairs of a tensor and another device that needs it."""
    graph = placement.problem.graph
    device = placement.device
    k = placement.problem.cluster.n_devices
    target = device[graph.consumer]
    away = device[graph.producer] != target
    pairs = np.sort(graph.edge_tensor[away].astype(np.int64) * k + target[away])
    tensor = pairs[np.diff(pairs, prepend=-1) > 0] // k
    return len(tensor), float(graph.tensor_bytes[tensor].sum())


def _kept(placement: Placement) -> tuple[str, np.ndarray]:
    """Bytes of each op that stay for the whole run, with their name: what the memory model reserves, else parameters."""
    problem = placement.problem
    if problem.memory == "reserved":
        return "reserved", problem.lasting
    return "parameters", problem.graph.persistent


def _rows(placement: Placement) -> list[tuple[str, ...]]:
    problem = placement.problem
    device = placement.device
    k = problem.cluster.n_devices
    limit = problem.capacity
    written = problem.cluster.units
    ops = np.bincount(device, minlength=k)
    work = np.bincount(device, problem.graph.compute, minlength=k)
    time = np.bincount(device, problem.exec_times(device), minlength=k)
    kept = np.bincount(device, _kept(placement)[1], minlength=k)

    def row(label: str, of: np.ndarray) -> tuple[str, ...]:
        size = kept[of].sum()
        room = limit[of].sum()
        share = f" ({percent(size / room)} of {amount(room, 'B', written)})" if size > 0 and np.isfinite(room) else ""
        busy = bar(time[of].sum() / time.sum() if time.sum() > 0 else 0.0, PALETTE[0])
        sums = amount(work[of].sum(), "FLOP", written), written.time(float(time[of].sum()))
        return label, f"{ops[of].sum():,}", *sums, busy, amount(size, "B", written) + share

    shown = k if k <= MOST_ROWS else MOST_ROWS - 1
    rows = [row(text(problem.cluster.names[d], 32), np.array([d])) for d in range(shown)]
    return rows if shown == k else [*rows, row(f"{k - shown:,} more devices", np.arange(shown, k))]


DRAWN: dict[type, Callable[[Any], str]] = {
    Cluster: show_cluster,
    OpGraph: show_graph,
    Problem: show_problem,
    Placement: show_placement,
    Schedule: show_schedule,
}


def html(shown: Any) -> str:
    """The picture of an object as HTML."""
    return next(draw(shown) for kind, draw in DRAWN.items() if isinstance(shown, kind))
