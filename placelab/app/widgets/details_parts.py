"""Parts that what the drawer says has in common: a chain of steps, bars to compare, a list of idle gaps. Data only."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.analysis.explanation import described
from placelab.analysis.idle_time import REASONS
from placelab.base.units import apart
from placelab.schedule.held_bytes import HeldBytes
from placelab.schedule.schedule import Schedule

NEWEST, OLDEST = 60, 8  # steps of a long chain that are sent: the newest, and the oldest with the root
LONGEST = 12  # rows of a list
Details = dict[str, Any]


def chain_of(schedule: Schedule, steps: np.ndarray, head: str) -> Details:
    """Steps of a walk back, the newest first, in words; those that take no time only at the ends."""
    takes = steps["finish"] > steps["start"]
    takes[:1] = takes[-1:] = True
    steps = steps[takes]
    kept = steps if len(steps) <= NEWEST + OLDEST else np.concatenate([steps[:NEWEST], steps[-OLDEST:]])
    held = HeldBytes(schedule)
    time = schedule.problem.cluster.units.time
    producer = schedule.problem.graph.tensor_producer
    rows = []
    for step in kept:
        kind, name, device, began, ended, reason = described(schedule, step, held)
        moves = kind == "transfer"
        op = int(producer[schedule.transfers[step["by"]]["tensor"]]) if moves else int(step["row"])
        what = f"transfer of {name}" if moves else f"{name} waits" if kind == "wait" else str(name)
        told = f"on {device}" if kind == "op" else reason
        rows.append((what, f"{time(ended - began)} · {told}", time(began), float(began), float(ended), op))
    left = len(steps) - len(kept)
    return {"head": head, "rows": rows, "left": left, "after": OLDEST if left else 0, "root": len(rows) > 0}


def bars_of(head: str, rows: list[tuple], foot: str, from_zero: bool = False) -> Details:
    """Bars with an origin below the least value, so that the digits that decide are seen."""
    values = [row[2] for row in rows]
    least, most = min(values, default=0.0), max(values, default=0.0)
    origin = 0.0 if from_zero or most <= least else max(0.0, 2 * least - most)
    lengths = [(value - origin) / (most - origin) if most > origin else 1.0 for value in values]
    drawn = [(*row[:2], length, *row[3:]) for row, length in zip(rows, lengths, strict=True)]
    return {"head": head, "rows": drawn, "foot": foot, "origin": origin > 0}


def device_said(schedule: Schedule, d: int) -> str:
    cluster = schedule.problem.cluster
    return f"{cluster.names[d]} ({cluster.types[d]})" if cluster.types[d] != cluster.names[d] else cluster.names[d]


def span_said(schedule: Schedule, began: float, ended: float) -> str:
    """Two times with the digits that tell them apart."""
    units = schedule.problem.cluster.units
    first, last = apart([began, ended], lambda value, digits: units.time(value, digits))
    return f"{first} to {last}"


def longest_of(schedule: Schedule, gaps: np.ndarray, lasted: np.ndarray, head: str) -> Details:
    """The gaps that last longest, by these seconds of theirs."""
    units = schedule.problem.cluster.units
    names = schedule.problem.graph.names
    order = np.argsort(-lasted, kind="stable")
    order = order[lasted[order] > 0]
    rows = []
    for gap in gaps[order[:LONGEST]]:
        began, ended, op = float(gap["start"]), float(gap["finish"]), int(gap["op"])
        what = f"{REASONS[gap['reason']]}: {names[op]}" if op >= 0 else REASONS[gap["reason"]]
        rows.append((what, units.time(ended - began), units.time(began), began, ended, op))
    left = max(len(order) - len(rows), 0)
    return {"head": head, "rows": rows, "left": left, "after": 0, "root": False}
