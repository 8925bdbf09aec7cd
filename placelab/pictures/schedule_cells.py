"""Pictures of schedules and placements at the end of a cell; the chart is of bounded size, however many ops.

`html` picks the picture of any object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log10
from typing import Any

import numpy as np

from placelab.base.units import TIMES, Units
from placelab.kernels.explain import OP, TRANSFER, WAIT
from placelab.pictures.problem_cells import show_cluster, show_graph, show_problem
from placelab.pictures.style import (
    CRITICAL,
    MOST_ROWS,
    PALETTE,
    amount,
    aside,
    bar,
    columns_of,
    counted,
    kind_colours,
    legend,
    percent,
    picture,
    svg,
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

PIXELS = 720  # of the time axis
COLUMNS = (720, 360, 240, 180, 120, 90, 60, 40, 24, 16)  # the first that fits `MOST_BYTES`
MOST_BYTES = 90_000  # of lanes and bars
RUN_BYTES = 6  # of a bar at least
MOST_LANES = 200  # of more devices, neighbours share a lane
NAME = 22  # columns of text of a device's name
FONT = 11  # pixels at least
SEND = len(PALETTE)  # colour of Send ops, after those of kinds
COLOURS = (*PALETTE, "currentColor")
TRACE = 1e-3  # share of a column that each op takes at least, so that short ones are seen
PALE = ' stroke-opacity=".45"'
RUN = np.dtype([("lane", "i4"), ("column", "i4"), ("length", "i4"), ("colour", "i4")])
NOTES = 4  # sentences shown


@dataclass(frozen=True)
class Lanes:
    """Which device is in which lane, and where lanes are."""

    names: tuple[str, ...]  # of devices

    @cached_property
    def of(self) -> np.ndarray:
        """Lane of each device."""
        k = len(self.names)
        return np.arange(k) * min(k, MOST_LANES) // k

    @cached_property
    def devices(self) -> np.ndarray:
        """Number of devices in each lane."""
        return np.bincount(self.of)

    @property
    def n(self) -> int:
        """Number of lanes."""
        return len(self.devices)

    @property
    def pitch(self) -> int:
        """Pixels from one lane to the next."""
        return 26 if self.n <= 12 else int(np.clip(PIXELS // self.n, 4, 18))

    @property
    def line(self) -> int:
        """Pixels of the line of the critical path."""
        return 3 if self.pitch > 18 else 2 if self.pitch > 8 else 1

    @property
    def bar(self) -> int:
        """Pixels of a bar, an even number; between it and the line is one pixel where there is room."""
        return (self.pitch - self.line - (6 if self.pitch > 18 else 3 if self.pitch > 8 else 0)) // 2 * 2

    @cached_property
    def labels(self) -> list[str]:
        """Name of each lane's device, or of its first and last, escaped."""
        last = np.cumsum(self.devices) - 1
        first = last - self.devices + 1
        return [
            text(self.names[a], NAME)
            if a == b
            else f"{text(self.names[a], NAME // 2)} – {text(self.names[b], NAME // 2)}"
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]

    @cached_property
    def left(self) -> int:
        """Pixels to the left of the bars."""
        return 14 + 7 * min(NAME + 3, max(map(columns_of, self.names)) + (3 + NAME // 2) * (self.n < len(self.names)))


def gantt(
    schedule: Schedule,
    steps: np.ndarray,
    key: Iterable[tuple[str, int, str]] = (),
    drawn: np.ndarray | None = None,
) -> str:
    """The chart as SVG: a lane per device, ops in the colours of their kinds, the critical path `steps` as a line below them.

    A column of pixels has the colour of the kind that takes most of its time. It is pale where devices are busy for less than
    half of it. `key` is the legend: colours, heights of their patches, and words. `drawn` is a mask of the ops of a plan that is
    not whole; sends are left out of it, and `steps`, which end with the last op, should be.
    """
    problem = schedule.problem
    lanes = Lanes(problem.cluster.names)
    width = lanes.left + PIXELS + 60
    height = lanes.n * lanes.pitch
    below, words = _legend(key, width, height + 24)
    rows = "".join([*_lanes(schedule, lanes, steps, drawn), *words])
    n = counted(problem.graph.n_ops, "op")
    k = counted(problem.cluster.n_devices, "device")
    return svg(
        (width, below),
        f"Gantt chart of {n} on {k}, makespan {problem.cluster.units.time(schedule.makespan)}",
        rows,
        f'<g transform="translate({lanes.left} 0)">{"".join(_axis(schedule.makespan, height, problem.cluster.units))}</g>',
        _bars(schedule, lanes, steps, MOST_BYTES - len(rows.encode()), drawn),
    )


def _legend(key: Iterable[tuple[str, int, str]], width: int, top: int) -> tuple[int, list[str]]:
    """Where the legend ends; its patches and words, in lines of 20 pixels from `top` on."""
    x = 0
    y = top
    drawn: list[str] = []
    for colour, size, words in key:
        wide = 32 + 7 * columns_of(words)
        if not drawn or x + wide > width:
            x = 0
            y += 20
        patch = f'<rect x="{x}" y="{y - 9 - size / 2:g}" width="11" height="{size}" fill="{colour}"/>' if colour else ""
        drawn.append(f'{patch}<text x="{x + 16 * bool(colour)}" y="{y - 5}">{words}</text>')
        x += wide
    return y, drawn


def _lanes(schedule: Schedule, lanes: Lanes, steps: np.ndarray, drawn: np.ndarray | None) -> list[str]:
    """Background, name, share of busy time, and tooltip of each lane."""
    of = lanes.of
    busy = np.bincount(of, busy_time(schedule)) / lanes.devices
    device = schedule.device
    if drawn is not None:
        device = device[drawn]
        took = (schedule.finish - schedule.start)[drawn]
        busy = np.bincount(of[device], took, minlength=lanes.n) / lanes.devices
    ops = np.bincount(of[device], minlength=lanes.n)
    on_path = steps[steps["kind"] == OP]
    critical = np.bincount(of[schedule.device[on_path["row"]]], on_path["finish"] - on_path["start"], minlength=lanes.n)
    every = ceil((FONT + 2) / lanes.pitch)  # lanes that have a name
    y = max(lanes.bar // 2 + 4, FONT)
    font = "" if lanes.pitch > 18 else f' font-size="{FONT}"'
    found = []
    for i, label in enumerate(lanes.labels):
        share = percent(busy[i] / schedule.makespan if schedule.makespan > 0 else 0.0)
        written = (
            f'<text x="{lanes.left - 8}" y="{y}" text-anchor="end"{font}>{label}</text>'
            f'<text x="{lanes.left + PIXELS + 6}" y="{y}"{font}>{share}</text>'
        )
        found.append(
            f'<g transform="translate(0 {i * lanes.pitch})"><title>{label}: busy {share}, {counted(int(ops[i]), "op")}, '
            f"{schedule.problem.cluster.units.time(float(critical[i]))} on the critical path</title>"
            f'<rect x="{lanes.left}" width="{PIXELS}" height="{lanes.bar}" opacity=".08"/>'
            f"{'' if i % every else written}</g>"
        )
    return found


def _axis(makespan: float, height: int, written: Units) -> list[str]:
    """Grid lines and times."""
    ticks, unit, scale = _ticks(makespan, [(size, f" {unit}") for size, unit in TIMES] if written.si else ((1.0, ""),))
    at = [round(t / makespan * PIXELS) if makespan > 0 else 0 for t in ticks]
    grid = "".join(f"M{x} 0V{height + 4}" for x in at)
    labels = [
        f'<text x="{x}" y="{height + 18}" text-anchor="middle">{t / scale:.6g}{unit}</text>'
        for x, t in zip(at, ticks, strict=True)
    ]
    return [f'<path d="{grid}" stroke="currentColor" stroke-opacity=".2" shape-rendering="crispEdges"/>', *labels]


def _ticks(span: float, sizes: Sequence[tuple[float, str]]) -> tuple[list[float], str, float]:
    """Round times from 0 to `span`, four to eleven; their unit and its size, of `sizes`."""
    scale, unit = next(((scale, unit) for scale, unit in sizes if span >= scale), sizes[-1] if span > 0 else sizes[0])
    if not span > 0:
        return [0.0], unit, scale
    size = 10.0 ** floor(log10(span / 5))
    step = next(size * m for m in (1, 2, 5, 10) if size * m * 10 >= span or m == 10)
    return [i * step for i in range(floor(span / step * (1 + 1e-9)) + 1)], unit, scale


def _bars(schedule: Schedule, lanes: Lanes, steps: np.ndarray, most: int, mask: np.ndarray | None) -> str:
    """Bars and the line of the critical path, in as many columns as `most` bytes allow; `mask`: of these ops."""
    drawn = ""
    for columns in COLUMNS:
        bars = _runs(_colours(schedule, lanes, columns, mask))
        line = _runs(_critical(schedule, lanes, steps, columns))
        if (len(bars) + len(line)) * RUN_BYTES > most and columns != COLUMNS[-1]:
            continue
        middle = lanes.bar // 2
        below = lanes.bar + (lanes.pitch > 8) + lanes.line / 2
        paths = [
            f'<path stroke="{COLOURS[c // 2]}"{PALE * (c % 2)} d="{_path(bars[bars["colour"] == c], lanes.pitch)}"/>'
            for c in np.unique(bars["colour"]).tolist()
        ]
        place = f'transform="translate({lanes.left} %g) scale({PIXELS // columns} 1)" fill="none" pointer-events="none"'
        drawn = (
            f'<g {place % middle} stroke-width="{lanes.bar}" shape-rendering="crispEdges">{"".join(paths)}</g>'
            f'<path {place % below} stroke-width="{lanes.line}" stroke="{CRITICAL}" d="{_path(line, lanes.pitch)}"/>'
        )
        if len(drawn) <= most:
            break
    return drawn


def _colours(schedule: Schedule, lanes: Lanes, columns: int, mask: np.ndarray | None) -> np.ndarray:
    """Twice the colour of each column of each lane, 1 more where it is pale; -1 where nothing runs, or nothing of the mask."""
    sends = schedule.sends
    span = schedule.makespan
    start = np.append(schedule.start, sends["start"])
    finish = np.append(schedule.finish, sends["finish"])
    lane = lanes.of[np.append(schedule.device, sends["source"])]
    colour = np.append(kind_colours(schedule.problem.graph)[0], np.full(len(sends), SEND, np.uint8))
    if mask is not None:
        at = np.flatnonzero(mask)
        start, finish, lane, colour = start[at], finish[at], lane[at], colour[at]
    used, index = np.unique(colour, return_inverse=True)
    row = lane * len(used) + index
    rows = lanes.n * len(used)
    shape = lanes.n, len(used), columns
    share = covered(start, finish, row, rows, span, columns).reshape(shape)
    share += TRACE * touched(start, row, rows, span, columns).reshape(shape)
    busy = share.sum(axis=1)
    found = 2 * used.astype(np.int32)[share.argmax(axis=1)] + (busy < lanes.devices[:, None] / 2)
    return np.where(busy < TRACE / 2, -1, found)


def _critical(schedule: Schedule, lanes: Lanes, steps: np.ndarray, columns: int) -> np.ndarray:
    """0 in each column of each lane where an op of the critical path runs, else -1."""
    ops = steps[steps["kind"] == OP]
    row = lanes.of[schedule.device[ops["row"]]]
    share = covered(ops["start"], ops["finish"], row, lanes.n, schedule.makespan, columns)
    return np.where((share > TRACE) | touched(ops["start"], row, lanes.n, schedule.makespan, columns), 0, -1)


def _runs(colour: np.ndarray) -> np.ndarray:
    """Columns of one colour side by side, by lane; those of colour -1 are left out."""
    lanes, columns = colour.shape
    begins = np.ones(colour.shape, bool)
    begins[:, 1:] = colour[:, 1:] != colour[:, :-1]
    at = np.flatnonzero(begins)
    runs = np.empty(len(at), RUN)
    runs["lane"] = at // columns
    runs["column"] = at % columns
    runs["length"] = np.diff(at, append=lanes * columns)
    runs["colour"] = colour.ravel()[at]
    return runs[runs["colour"] >= 0]


def _path(runs: np.ndarray, pitch: int) -> str:
    """Runs of one colour as horizontal lines, as short as SVG can write them."""
    parts = []
    lane = -1
    end = 0
    for row, column, length, _ in runs.tolist():
        parts.append(f"m{column - end} 0h{length}" if row == lane else f"M{column} {row * pitch}h{length}")
        lane = row
        end = column + length
    return "".join(parts)


def covered(start: np.ndarray, finish: np.ndarray, row: np.ndarray, rows: int, span: float, columns: int) -> np.ndarray:
    """How much of each column of a picture spans of time cover.

    Parameters
    ----------
    start, finish
        Spans within [0, `span`] [s].
    row
        Row of each span, from 0 to `rows` - 1.
    span, columns
        The picture's width, in seconds and in columns.

    Returns
    -------
    ndarray, shape (rows, columns)
        Widths of columns that are covered, added up over the spans of a row: 1 where one span covers the column.

    Notes
    -----
    O(spans + rows · columns). From time t on, a span that begins at t covers the rest of t's column and all columns after it;
    a span is what begins at its start minus what begins at its finish, so that two differences and one running sum do.
    """
    wide = columns + 2
    difference = np.zeros(rows * wide)
    scale = columns / span if span > 0 else 0.0
    for time, sign in ((start, 1.0), (finish, -1.0)):
        at = np.minimum(time * scale, columns)
        first = at.astype(np.int64)
        place = row * wide + first
        rest = first + 1 - at
        difference += np.bincount(place, sign * rest, minlength=rows * wide)
        difference += np.bincount(place + 1, sign * (1 - rest), minlength=rows * wide)
    return np.cumsum(difference.reshape(rows, wide), axis=1)[:, :columns]


def touched(start: np.ndarray, row: np.ndarray, rows: int, span: float, columns: int) -> np.ndarray:
    """Whether a span starts in each column, so that spans too short to cover anything can be drawn; shape (rows, columns)."""
    scale = columns / span if span > 0 else 0.0
    at = np.minimum((start * scale).astype(np.int64), columns - 1)
    return np.bincount(row * columns + at, minlength=rows * columns).reshape(rows, columns) > 0


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


def entries(schedule: Schedule) -> str:
    """The legend of the chart, as HTML."""
    return legend((swatch(colour, height) if colour else "", words) for colour, height, words in key(schedule))


def key(schedule: Schedule) -> Iterator[tuple[str, int, str]]:
    """What colours of the chart mean: colour, pixels of its patch's height, and words, escaped."""
    colour, kinds = kind_colours(schedule.problem.graph)
    for i in np.unique(colour).tolist():
        yield PALETTE[i], 11, text(kinds[i], 24)
    if len(schedule.sends):
        yield "currentColor", 11, "Send"
    yield CRITICAL, 3, "critical path"
    yield "", 0, "pale: less than half busy"


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
