"""Parts of what the drawer says, and totals made of them. Data only.

A part is a chain of steps, bars to compare, or a list of idle gaps; totals are those of a span of time on some devices, and of a
link: sums over what runs or travels there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from placelab.analysis.explanation import KINDS, described
from placelab.analysis.idle_time import REASONS, idle_gaps
from placelab.base.units import Units, apart, counted, percent
from placelab.problem.cluster import Cluster
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.independent_checks import HeldBytes
from placelab.schedule.schedule import Schedule

NEWEST = 60  # steps of a long chain that are sent: the newest
OLDEST = 8  # and the oldest with the root
LONGEST = 12  # rows of a list
Details = dict[str, Any]
Figure = tuple[str, str | float, str]  # name, value, unit
PHYSICAL = ("s", "B", "B/s", "FLOP", "FLOP/s")


def with_figures(said: Details, units: Units) -> Details:
    """The details with all raw numbers in one list, those of facts, then of bars; what is not finite is not told.

    Where quantities are plain numbers, times, bytes and rates have no unit.
    """
    bars = [each for each in (said.get("bars"), said.get("idle")) if each]
    told = [*said.get("figures", ()), *(figure for each in bars for figure in each.pop("figures"))]
    finite = [
        (name, value, unit if units.si or unit not in PHYSICAL else "")
        for name, value, unit in told
        if isinstance(value, str) or np.isfinite(value)
    ]
    return {**said, "figures": finite} if said else said


def chain_of(schedule: Schedule, steps: np.ndarray, head: str) -> Details:
    """Steps of a walk back, the newest first, in words; those that take no time only at the ends."""
    takes = steps["finish"] > steps["start"]
    takes[:1] = takes[-1:] = True
    steps = steps[takes]
    kept = steps if len(steps) <= NEWEST + OLDEST else np.concatenate([steps[:NEWEST], steps[-OLDEST:]])
    held = HeldBytes(schedule)
    time = schedule.problem.cluster.units.time
    producer = schedule.problem.graph.tensor_producer
    begins = apart(kept["start"].tolist(), schedule.problem.cluster.units.time)
    rows = []
    for step, begin in zip(kept, begins, strict=True):
        kind, name, device, began, ended, reason = described(schedule, step, held)
        moves = kind == "transfer"
        op = int(producer[schedule.transfers[step["by"]]["tensor"]]) if moves else int(step["row"])
        what = f"transfer of {name}" if moves else f"{name} waits" if kind == "wait" else str(name)
        told = f"on {device}" if kind == "op" else reason
        rows.append((what, f"{time(ended - began)} · {told}", begin, float(began), float(ended), op))
    left = len(steps) - len(kept)
    return {"head": head, "rows": rows, "left": left, "after": OLDEST if left else 0, "root": len(rows) > 0}


def bars_of(head: str, rows: list[tuple], foot: str, from_zero: bool = False, unit: str = "s") -> Details:
    """Bars with an origin below the least value, so that the digits that decide are seen; `figures`: values in this unit."""
    values = [row[2] for row in rows]
    least = min(values, default=0.0)
    most = max(values, default=0.0)
    origin = 0.0 if from_zero or most <= least else max(0.0, 2 * least - most)
    lengths = [(value - origin) / (most - origin) if most > origin else 1.0 for value in values]
    drawn = [(*row[:2], length, *row[3:]) for row, length in zip(rows, lengths, strict=True)]
    figures = [(f"{head}: {row[1]}", value, unit) for row, value in zip(rows, values, strict=True)]
    return {"head": head, "rows": drawn, "foot": foot, "origin": origin > 0, "figures": figures}


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
        began = float(gap["start"])
        ended = float(gap["finish"])
        op = int(gap["op"])
        what = f"{REASONS[gap['reason']]}: {names[op]}" if op >= 0 else REASONS[gap["reason"]]
        rows.append((what, units.time(ended - began), units.time(began), began, ended, op))
    left = max(len(order) - len(rows), 0)
    return {"head": head, "rows": rows, "left": left, "after": 0, "root": False}


MOST_KINDS = 12
FEW = 6  # devices of an area that are told one by one


def of_area(schedule: Schedule, area: tuple[float, ...]) -> Details:
    """Totals of a span of time on some devices: what ops, transfers and gaps have of it."""
    cluster = schedule.problem.cluster
    units = cluster.units
    chosen = np.zeros(cluster.n_devices, bool)
    chosen[[int(d) for d in area[2:] if 0 <= d < cluster.n_devices]] = True
    devices = np.flatnonzero(chosen).tolist()
    began = max(area[0], 0.0)
    ended = min(area[1], schedule.makespan)
    within = lambda rows: np.maximum(  # noqa: E731
        np.minimum(rows["finish"], ended) - np.maximum(rows["start"], began), 0.0
    )
    runs = np.maximum(np.minimum(schedule.finish, ended) - np.maximum(schedule.start, began), 0.0)
    runs[~chosen[schedule.device]] = 0.0
    all_gaps = idle_gaps(schedule)
    gaps = all_gaps[chosen[all_gaps["device"]]]
    idle = within(gaps)
    moved = schedule.transfers
    here = chosen[moved["source"]] | chosen[moved["destination"]]
    here &= (moved["start"] < ended) & (moved["finish"] > began)
    size = float(schedule.problem.graph.tensor_bytes[moved["tensor"][here]].sum())
    sending = np.zeros(cluster.n_devices)
    if len(schedule.sends):  # their devices compute nothing meanwhile
        sending += np.bincount(moved["source"], within(schedule.sends), minlength=cluster.n_devices)
    path = critical_steps(schedule)
    of_path = np.bincount(path["kind"], within(path), minlength=len(KINDS))
    total = max((ended - began) * len(devices), 1e-300)
    facts = [
        ("ops", f"{int((runs > 0).sum()):,}, {units.time(float(runs.sum()))}, {percent(float(runs.sum()) / total)}"),
        ("Send ops", _nonzero(units, float(sending[chosen].sum()), total)),
        ("idle", f"{units.time(float(idle.sum()))}, {percent(float(idle.sum()) / total)}"),
        ("moved", f"{units.amount(size, 'B')} in {counted(int(here.sum()), 'transfer')}, each counted whole"),
        (
            "critical path",
            " · ".join(f"{kind} {units.time(t)}" for kind, t in zip(KINDS, of_path, strict=True) if t > 0),
        ),
        *_shares(schedule, devices, runs, sending, gaps, idle, ended - began),
    ]
    figures: list[Figure] = [
        ("start", began, "s"),
        ("finish", ended, "s"),
        *(("device", cluster.names[d], "") for d in devices),
        ("ops", int((runs > 0).sum()), ""),
        ("time of ops", float(runs.sum()), "s"),
        ("time of Send ops", float(sending[chosen].sum()), "s"),
        ("idle", float(idle.sum()), "s"),
        ("moved", size, "B"),
        ("transfers", int(here.sum()), ""),
        *((f"critical path: {kind}", float(t), "s") for kind, t in zip(KINDS, of_path, strict=True)),
        *((f"busy: {cluster.names[d]}", float(runs[schedule.device == d].sum() + sending[d]), "s") for d in devices),
    ]
    return {
        "figures": figures,
        "title": f"{span_said(schedule, began, ended)} on {_named(cluster, devices)}",
        "note": f"{units.time(max(ended - began, 0.0))} × {counted(len(devices), 'device')}",
        "facts": [(label, text) for label, text in facts if text],
        "bars": _kinds(schedule, runs),
        "idle": by_reason(schedule, gaps, idle, "idle time by reason", total),
        "chain": longest_of(schedule, gaps, idle, "longest idle gaps in it"),
        "area": True,
    }


def _named(cluster: Cluster, devices: list[int]) -> str:
    """Devices in words: neighbours as "a to b", and a few others one by one."""
    names = [cluster.names[d] for d in devices]
    if len(devices) > 1 and devices[-1] - devices[0] == len(devices) - 1:
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names) if len(names) <= FEW else f"{', '.join(names[:FEW])} and {len(names) - FEW} more"


def _shares(
    schedule: Schedule,
    devices: list[int],
    runs: np.ndarray,
    sending: np.ndarray,
    gaps: np.ndarray,
    idle: np.ndarray,
    span: float,
) -> Iterable[tuple[str, str]]:
    """How each of the first few devices spends a span of time: busy, and idle by reason."""
    names = schedule.problem.cluster.names
    for d in devices[:FEW]:
        busy = float(runs[schedule.device == d].sum() + sending[d])
        mine = gaps["device"] == d
        total = np.bincount(gaps["reason"][mine], idle[mine], minlength=len(REASONS))
        waits = [f"{percent(total[r] / span)} {REASONS[r]}" for r in np.argsort(-total, kind="stable") if total[r] > 0]
        yield names[d], " · ".join([f"{percent(busy / span)} busy", *waits]) if span > 0 else ""
    if left := len(devices[FEW:]):
        yield "", f"{counted(left, 'device')} more"


def _nonzero(units: Units, time: float, total: float) -> str:
    """Seconds and their share; "" for none."""
    return f"{units.time(time)}, {percent(time / total)}" if time else ""


def by_reason(schedule: Schedule, gaps: np.ndarray, lasted: np.ndarray, head: str, total: float) -> Details:
    """Idle seconds by reason, the most first, with their share of a total; the number of a row is that of its reason."""
    seconds = np.bincount(gaps["reason"], lasted, minlength=len(REASONS))
    count = np.bincount(gaps["reason"], lasted > 0, minlength=len(REASONS))
    time = schedule.problem.cluster.units.time
    rows = [
        (
            r,
            REASONS[r],
            float(seconds[r]),
            time(seconds[r]),
            f"{percent(seconds[r] / total)} · {counted(int(count[r]), 'gap')}",
            False,
        )
        for r in np.argsort(-seconds, kind="stable").tolist()
        if seconds[r] > 0
    ]
    return bars_of(head, rows, "", from_zero=True)


def _kinds(schedule: Schedule, runs: np.ndarray) -> Details:
    """Device time by kind of op, the most first."""
    kinds, of = np.unique(schedule.problem.graph.kind, return_inverse=True)
    total = np.bincount(of, runs, minlength=len(kinds))
    count = np.bincount(of, runs > 0, minlength=len(kinds))
    order = [k for k in np.argsort(-total, kind="stable").tolist() if total[k] > 0]
    time = schedule.problem.cluster.units.time
    rows = [
        (-1, str(kinds[k]) or "op", float(total[k]), time(total[k]), counted(int(count[k]), "op"), False)
        for k in order[:MOST_KINDS]
    ]
    left = counted(len(order) - len(rows), "kind") + " more" if len(order) > len(rows) else ""
    return bars_of("device time by kind", rows, left, from_zero=True)


# -------------------------------------------------------------------- a link


def pairs_of(cluster: Cluster, value: Mapping[str, Any]) -> np.ndarray:
    """Source and destination of each pair of devices whose transfers a value of links concerns; those that are there."""
    if value["kind"] == "shared":
        pairs = [pair for link in cluster.links if link.name == value.get("link") for pair in link.pairs]
    else:
        pairs = value.get("pairs", [])
    ends = np.array(pairs, int).reshape(-1, 2)
    return ends[(ends < cluster.n_devices).all(1)]


def of_link(schedule: Schedule, value: Mapping[str, Any]) -> Details:
    """What travels between the pairs of devices of a value, when it waits, and the longest transfers."""
    problem = schedule.problem
    units = problem.cluster.units
    pairs = pairs_of(problem.cluster, value)
    moved = schedule.transfers
    ours = np.zeros((problem.cluster.n_devices,) * 2, bool)
    ours[tuple(pairs.T)] = True
    rows = np.flatnonzero(ours[moved["source"], moved["destination"]])
    took = moved["finish"][rows] - moved["start"][rows]
    size = problem.graph.tensor_bytes[moved["tensor"][rows]]
    path = critical_steps(schedule)
    on_path = path[(path["kind"] == KINDS.index("transfer"))]
    on_path = on_path[np.isin(on_path["by"], rows) & (on_path["finish"] > on_path["start"])]
    facts = [
        ("carries", f"{units.amount(float(size.sum()), 'B')} in {counted(len(rows), 'transfer')}"),
        ("they take", units.time(float(took.sum())) if len(rows) else ""),
        ("in line for it", _in_line(schedule, rows)),
        ("critical path", _on_path(schedule, on_path)),
        *_directions(schedule, rows, took),
    ]
    figures: list[Figure] = [
        ("carried", float(size.sum()), "B"),
        ("transfers", len(rows), ""),
        ("time of transfers", float(took.sum()), "s"),
        ("time on the critical path", float((on_path["finish"] - on_path["start"]).sum()), "s"),
    ]
    return {
        "figures": figures,
        "title": str(value.get("label", value["kind"])),
        "note": counted(len(pairs), "directed pair"),
        "facts": [(label, text) for label, text in facts if text],
        "chain": _longest_transfers(schedule, rows, took),
        "over": True,
    }


def _in_line(schedule: Schedule, rows: np.ndarray) -> str:
    """How long outputs waited for the link after their ops had ended, or their sends."""
    moved = schedule.transfers[rows]
    maker = schedule.problem.graph.tensor_producer[moved["tensor"]]
    made = schedule.sends["finish"][rows] if len(schedule.sends) else schedule.finish[maker]
    waited = np.maximum(moved["start"] - made, 0.0)
    if not len(rows) or not waited.max() > 0:
        return "nothing waits" if len(rows) else ""
    time = schedule.problem.cluster.units.time
    return f"{time(float(waited.mean()))} on average, {time(float(waited.max()))} at most"


def _on_path(schedule: Schedule, steps: np.ndarray) -> str:
    total = float((steps["finish"] - steps["start"]).sum())
    if not total:
        return "nothing of it"
    time = schedule.problem.cluster.units.time
    return f"{time(total)} of it, {percent(total / schedule.makespan)}, in {counted(len(steps), 'transfer')}"


def _directions(schedule: Schedule, rows: np.ndarray, took: np.ndarray) -> Iterable[tuple[str, str]]:
    """The pairs of devices whose transfers take longest."""
    cluster = schedule.problem.cluster
    moved = schedule.transfers[rows]
    of = moved["source"].astype(int) * cluster.n_devices + moved["destination"]
    total = np.bincount(of, took, minlength=cluster.n_devices**2)
    size = np.bincount(of, schedule.problem.graph.tensor_bytes[moved["tensor"]], minlength=len(total))
    for pair in np.argsort(-total, kind="stable")[:FEW].tolist():
        if total[pair] > 0:
            source, target = divmod(pair, cluster.n_devices)
            way = f"{cluster.names[source]} → {cluster.names[target]}"
            yield way, f"{cluster.units.amount(float(size[pair]), 'B')}, {cluster.units.time(float(total[pair]))}"


def _longest_transfers(schedule: Schedule, rows: np.ndarray, took: np.ndarray) -> Details:
    graph = schedule.problem.graph
    cluster = schedule.problem.cluster
    units = cluster.units
    order = np.argsort(-took, kind="stable")[:LONGEST]
    listed = []
    for row in schedule.transfers[rows[order]]:
        began = float(row["start"])
        ended = float(row["finish"])
        op = int(graph.tensor_producer[row["tensor"]])
        way = f"{cluster.names[row['source']]} → {cluster.names[row['destination']]}"
        size = units.amount(float(graph.tensor_bytes[row["tensor"]]), "B")
        listed.append(
            (
                f"output of {graph.names[op]}",
                f"{units.time(ended - began)} · {size} · {way}",
                units.time(began),
                began,
                ended,
                op,
            )
        )
    return {
        "head": "longest transfers",
        "rows": listed,
        "left": max(len(rows) - len(listed), 0),
        "after": 0,
        "root": False,
    }
