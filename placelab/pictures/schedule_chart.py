"""The static Gantt chart of a schedule as SVG, of bounded size however many ops there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf, log10
from typing import NamedTuple

import numpy as np

from placelab.base.units import TIMES, Units
from placelab.kernels.explain import OP
from placelab.pictures.style import (
    CRITICAL,
    PALETTE,
    columns_of,
    counted,
    ink_on,
    kind_colours,
    percent,
    svg,
    text,
)
from placelab.schedule.schedule import Schedule, busy_time

PIXELS = 720  # of the time axis
# Pixels of the narrowest bar that is drawn apart, and columns for all that is narrower; the first that fits `MOST_BYTES`.
LEVELS = (
    *((0.5, 720), (1, 720), (2, 720), (4, 360), (8, 240), (16, 180), (32, 120), (64, 90), (128, 60), (256, 40)),
    *((inf, 24), (inf, 16)),
)
MOST_BYTES = 90_000  # of lanes and bars
RUN_BYTES = 6  # of a bar at least
MOST_LANES = 200  # of more devices, neighbours share a lane
NAME = 22  # columns of text of a device's name
FONT = 11  # pixels at least
LETTER = 7  # pixels of a letter, about the widest digit of a common font
SEND = len(PALETTE)  # colour of Send ops, after those of kinds
COLOURS = (*PALETTE, "#64748B")
TRACE = 1e-3  # share of a column that each op takes at least, so that short ones are seen
PALE = ' stroke-opacity=".45"'
FINE = 10  # parts of a pixel to which ends of bars are rounded
RUN = np.dtype([("lane", "i4"), ("column", "i4"), ("length", "i4"), ("colour", "i4")])
Entry = tuple[str, int, str]  # of the legend: colour, "" for words alone; pixels of its patch's height; words, escaped


class Chart(NamedTuple):
    """A chart, and the legend of what is drawn on it."""

    svg: str
    key: list[Entry]


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
        widest = max(map(columns_of, self.names)) + (3 + NAME // 2) * (self.n < len(self.names))
        return 14 + LETTER * min(NAME + 3, widest)


@dataclass(frozen=True)
class Spans:
    """What runs on the lanes, in seconds: ops, then sends."""

    start: np.ndarray
    finish: np.ndarray
    lane: np.ndarray
    colour: np.ndarray  # index into `COLOURS`
    op: np.ndarray  # -1 for a send

    def where(self, chosen: np.ndarray) -> Spans:
        """Those of a mask."""
        return Spans(*(getattr(self, name)[chosen] for name in ("start", "finish", "lane", "colour", "op")))


def gantt(
    schedule: Schedule, steps: np.ndarray, *, drawn: np.ndarray | None = None, with_legend: bool = False
) -> Chart:
    """The chart: a lane per device, ops in the colours of their kinds, the critical path `steps` as a line below them.

    A bar of half a pixel or more stands for one op, and has its name where there is room. Of the ops that are narrower, each
    column of pixels has the colour of the kind that takes most of it; it is pale where they take less than half of what wider
    bars leave of it. `drawn` is a mask of the ops of a plan that is not whole; sends are left out of it, and `steps`, which end
    with the last op, should be. With `with_legend` the image has its legend below it.
    """
    problem = schedule.problem
    lanes = Lanes(problem.cluster.names)
    width = lanes.left + PIXELS + 60
    height = lanes.n * lanes.pitch
    rows = "".join(_lanes(schedule, lanes, steps, drawn))
    bars, key = _bars(schedule, lanes, steps, MOST_BYTES - len(rows.encode()), drawn)
    below, words = _legend(key if with_legend else (), width, height + 24)
    n = counted(problem.graph.n_ops, "op")
    k = counted(problem.cluster.n_devices, "device")
    image = svg(
        (width, below),
        f"Gantt chart of {n} on {k}, makespan {problem.cluster.units.time(schedule.makespan)}",
        rows,
        f'<g transform="translate({lanes.left} 0)">{"".join(_axis(schedule.makespan, height, problem.cluster.units))}</g>',
        bars,
        *words,
    )
    return Chart(image, key)


def _legend(key: Iterable[Entry], width: int, top: int) -> tuple[int, list[str]]:
    """Where the legend ends; its patches and words, in lines of 20 pixels from `top` on."""
    x = 0
    y = top
    drawn: list[str] = []
    for colour, size, words in key:
        wide = 32 + LETTER * columns_of(words)
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


def _bars(
    schedule: Schedule, lanes: Lanes, steps: np.ndarray, most: int, mask: np.ndarray | None
) -> tuple[str, list[Entry]]:
    """Bars, names and the line of the critical path, in as much detail as `most` bytes allow, and what they mean."""
    spans = _spans(schedule, lanes, mask)
    width = (spans.finish - spans.start) * _scale(schedule)
    alone = lanes.devices[spans.lane] == 1  # on other lanes bars of several devices would cover each other
    drawn = ""
    for narrowest, columns in LEVELS:
        apart = alone & (width >= narrowest)
        if apart.sum() * RUN_BYTES > most:
            continue
        wide = spans.where(apart)
        bars = _apart(wide, _scale(schedule))
        merged = _runs(_colours(spans.where(~apart), wide, lanes, columns, schedule.makespan))
        line = _runs(_critical(schedule, lanes, steps, columns))
        if (len(bars) + len(merged) + len(line)) * RUN_BYTES > most and columns != LEVELS[-1][1]:
            continue
        drawn = _drawn(lanes, columns, bars, merged, line)
        if len(drawn) <= most:
            break
    names = _names(schedule, lanes, wide, most - len(drawn))
    shared = "" if alone.all() else " or of devices that share a lane"
    size = f" narrower than {'½' if narrowest < 1 else narrowest} px" if narrowest < inf else ""
    together = int((spans.op[~apart] >= 0).sum())
    said = [f"drawn together: {counted(together, 'op')}{size}{shared}"] if together else []
    pale = ["pale: less than half busy"] if (merged["colour"] % 2).any() else []
    colours = np.union1d(bars["colour"] // 2, merged["colour"] // 2)
    key = [*_key(schedule, colours, len(line) > 0), *(("", 0, words) for words in [*said, *pale])]
    return drawn + names, key


def _scale(schedule: Schedule) -> float:
    """Pixels of a second."""
    return PIXELS / schedule.makespan if schedule.makespan > 0 else 0.0


def _spans(schedule: Schedule, lanes: Lanes, mask: np.ndarray | None) -> Spans:
    """Ops and sends; of a mask of ops, these alone."""
    sends = schedule.sends
    n = len(schedule.start)
    all_spans = Spans(
        np.append(schedule.start, sends["start"]),
        np.append(schedule.finish, sends["finish"]),
        lanes.of[np.append(schedule.device, sends["source"])],
        np.append(kind_colours(schedule.problem.graph)[0], np.full(len(sends), SEND, np.uint8)),
        np.append(np.arange(n), np.full(len(sends), -1)),
    )
    return all_spans if mask is None else all_spans.where(np.flatnonzero(mask))


def _apart(wide: Spans, scale: float) -> np.ndarray:
    """A run per bar, in parts of a pixel, with twice its colour. A seam of a pixel or less keeps it from the next one."""
    begin = np.rint(FINE * wide.start * scale).astype(np.int64)
    length = np.rint(FINE * wide.finish * scale).astype(np.int64) - begin
    runs = np.empty(len(begin), RUN)
    runs["lane"] = wide.lane
    runs["column"] = begin
    runs["length"] = length - np.minimum(length // 4, FINE)
    runs["colour"] = 2 * wide.colour.astype(np.int32)
    return runs[np.lexsort((begin, wide.lane))]


def _colours(narrow: Spans, wide: Spans, lanes: Lanes, columns: int, makespan: float) -> np.ndarray:
    """Twice the colour of each column of each lane, 1 more where it is pale; -1 where nothing narrow runs."""
    if not len(narrow.start):
        return np.full((lanes.n, columns), -1)
    used, index = np.unique(narrow.colour, return_inverse=True)
    row = narrow.lane * len(used) + index
    rows = lanes.n * len(used)
    shape = lanes.n, len(used), columns
    share = covered(narrow.start, narrow.finish, row, rows, makespan, columns).reshape(shape)
    share += TRACE * touched(narrow.start, row, rows, makespan, columns).reshape(shape)
    busy = share.sum(axis=1)
    left = lanes.devices[:, None] - covered(wide.start, wide.finish, wide.lane, lanes.n, makespan, columns)
    found = 2 * used.astype(np.int32)[share.argmax(axis=1)] + (busy < left / 2)
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


def _drawn(lanes: Lanes, columns: int, bars: np.ndarray, merged: np.ndarray, line: np.ndarray) -> str:
    """Columns, bars on them, and the line of the critical path below."""
    middle = lanes.bar // 2
    below = lanes.bar + (lanes.pitch > 8) + lanes.line / 2
    place = f'transform="translate({lanes.left} %g) scale(%g 1)" fill="none" pointer-events="none"'
    crisp = f'<g {place % (middle, PIXELS // columns)} stroke-width="{lanes.bar}" shape-rendering="crispEdges">'
    fine = f'<g {place % (middle, 1 / FINE)} stroke-width="{lanes.bar}">'
    path = f'<path {place % (below, PIXELS // columns)} stroke-width="{lanes.line}" stroke="{CRITICAL}" '
    parts = (
        f"{crisp}{_paths(merged, lanes.pitch)}</g>" if len(merged) else "",
        f"{fine}{_paths(bars, lanes.pitch)}</g>" if len(bars) else "",
        f'{path}d="{_path(line, lanes.pitch)}"/>' if len(line) else "",
    )
    return "".join(parts)


def _paths(runs: np.ndarray, pitch: int) -> str:
    """A path per colour."""
    return "".join(
        f'<path stroke="{COLOURS[c // 2]}"{PALE * (c % 2)} d="{_path(runs[runs["colour"] == c], pitch)}"/>'
        for c in np.unique(runs["colour"]).tolist()
    )


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


def _names(schedule: Schedule, lanes: Lanes, wide: Spans, most: int) -> str:
    """Names of ops on bars with room for them, the widest first, in `most` bytes."""
    if lanes.bar <= FONT:
        return ""
    scale = _scale(schedule)
    names = schedule.problem.graph.names
    width = (wide.finish - wide.start) * scale
    chosen = np.flatnonzero((width >= 2 * LETTER) & (wide.op >= 0))
    written: dict[str, list[str]] = {}
    for i in chosen[np.argsort(-width[chosen], kind="stable")].tolist():
        label = _label(names[wide.op[i]], int(width[i] - 5) // LETTER)
        if not label:
            continue
        x = lanes.left + wide.start[i] * scale + 3
        y = wide.lane[i] * lanes.pitch + lanes.bar // 2 + 4
        part = f'<text x="{x:.1f}" y="{y}">{label}</text>'
        most -= len(part.encode())
        if most < 200:  # what the groups around them take
            break
        written.setdefault(ink_on(COLOURS[wide.colour[i]]), []).append(part)
    return "".join(
        f'<g font-size="{FONT}" fill="{ink}" pointer-events="none">{"".join(parts)}</g>'
        for ink, parts in written.items()
    )


def _label(name: str, room: int) -> str:
    """A name in so many columns, escaped: whole, its last parts, or the last one with its middle left out; "" without room.

    >>> _label("block/conv/Conv2D", 20), _label("block/conv/Conv2D", 14), _label("block/conv/Conv2D", 6), _label("relu", 3)
    ('block/conv/Conv2D', '…/conv/Conv2D', 'Conv2D', '')
    """
    if len(name) <= room and _letters(name) <= room:
        return text(name)
    _, *parts = name[-room:].split("/")
    endings = ("/".join(["…", *parts[i:]]) for i in range(len(parts)))
    last = name.rpartition("/")[2]
    for shorter in (*endings, last[: room + 1]):
        if _letters(shorter) <= room:
            return text(shorter)
    begin = last[:room]
    fits = int(room * columns_of(begin) / max(_letters(begin), 1))
    return text(last, fits) if fits >= 5 else ""


def _letters(name: str) -> float:
    """Columns of a text, where the widest letters take half a column more."""
    return columns_of(name) + sum(map(name.count, "MWmw@%")) / 2


def _key(schedule: Schedule, colours: np.ndarray, critical: bool) -> list[Entry]:
    """What the colours that are drawn mean."""
    kinds = kind_colours(schedule.problem.graph)[1]
    key = [(COLOURS[i], 11, "Send" if i == SEND else text(kinds[i], 24)) for i in colours.tolist()]
    return [*key, (CRITICAL, 3, "critical path")] if critical else key


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
