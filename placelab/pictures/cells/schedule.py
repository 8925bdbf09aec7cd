"""A schedule as it shows itself at the end of a notebook cell: its numbers, and a static Gantt chart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.kernels.explain.explain import OP, TRANSFER, WAIT
from placelab.pictures.cells.gantt import gantt
from placelab.pictures.cells.markup import amount, aside, counted, legend, percent, picture, swatch, text
from placelab.pictures.kind_colours import CRITICAL, PALETTE, kind_colours
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.schedule import Schedule, busy_time


def show_schedule(schedule: Schedule) -> str:
    """The schedule as HTML, at most 100 KB. O((ops + transfers) log + edges)."""
    steps = critical_steps(schedule)
    made_by = " + ".join(filter(None, (schedule.placement.partitioner, schedule.scheduler)))
    about = [schedule.problem.graph.title, counted(schedule.problem.graph.n_ops, "op")]
    names = " · ".join(text(part) for part in [*about, made_by or "given"])
    return picture(
        f"makespan {schedule.problem.cluster.units.time(schedule.makespan)}",
        _numbers(schedule, steps),
        aside(names),
        gantt(schedule, steps),
        entries(schedule),
    )


def _numbers(schedule: Schedule, steps: np.ndarray) -> Iterator[str]:
    problem, makespan, moved = schedule.problem, schedule.makespan, schedule.transfers
    if makespan > 0:
        yield f"devices busy {percent(float(busy_time(schedule).mean()) / makespan)}"
        spent = np.bincount(steps["kind"], steps["finish"] - steps["start"], minlength=3) / makespan
        words = ((OP, "ops"), (TRANSFER, "transfers"), (WAIT, "waiting"))
        yield "critical path " + ", ".join(f"{percent(float(spent[kind]))} {word}" for kind, word in words)
    size = float(problem.graph.tensor_bytes[moved["tensor"]].sum())
    yield f"{counted(len(moved), 'transfer')}, {amount(size, 'B', problem.cluster.units)}"
    if bound := schedule.placement.proven(makespan):
        yield f"at most {percent(max(makespan / bound - 1, 0.0))} above the optimum"
    if problem.memory != "none":
        yield _memory(schedule)


def _memory(schedule: Schedule) -> str:
    """Peak memory of the device that is fullest, or the devices that are out of memory."""
    names, capacity, peak = schedule.problem.cluster.names, schedule.problem.cluster.memory, schedule.peak_memory
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


def entries(schedule: Schedule) -> str:
    """The legend of the chart, as HTML."""
    return legend(_legend(schedule))


def _legend(schedule: Schedule) -> Iterator[tuple[str, str]]:
    colour, kinds = kind_colours(schedule.problem.graph)
    for i in np.unique(colour).tolist():
        yield swatch(PALETTE[i]), text(kinds[i], 24)
    if len(schedule.sends):
        yield swatch("currentColor"), "Send"
    yield swatch(CRITICAL, 3), "critical path"
    yield "", "pale: less than half busy"
