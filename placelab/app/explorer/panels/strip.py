"""Write the numbers above the chart, and the warning beside them, from the measures of a schedule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from placelab.analysis.measures import metrics
from placelab.analysis.validation import Violation
from placelab.app.explorer.panels.item import Item, item
from placelab.app.explorer.panels.job_numbers import job_items
from placelab.base.units import Units, percent
from placelab.planning.approximation import ratios
from placelab.planning.lower_bounds import best_bound, bounds
from placelab.schedule.placement import PROVEN
from placelab.schedule.schedule import Schedule
from placelab.schedule.shared_way import free_again

OPTIMAL = 1e-9  # a makespan this close above its bound differs from it by rounding


def strip(schedule: Schedule, violations: Sequence[Violation] | None) -> tuple[list[Item], str]:
    """The numbers above the chart, from ``metrics``, ``bounds`` and ``validate``, and the warning ("" for none)."""
    m = metrics(schedule)
    warnings = (_worse(m, schedule), _short(schedule), _misjudged(schedule), _refuted(schedule))
    return numbers(schedule, m, violations), " ".join(text for text in warnings if text)


def numbers(schedule: Schedule, m: dict[str, float], violations: Sequence[Violation] | None) -> list[Item]:
    """One item for each figure; `m` is the dictionary of :func:`placelab.metrics`."""
    job = job_items(schedule)
    written = schedule.problem.cluster.units
    return [
        item("makespan", "Makespan", written.time(m["makespan"]), "When the last op has finished"),
        *([] if job and np.isnan(m["speedup"]) else [_speedup(m["speedup"], schedule)]),  # no device runs a job alone
        _gap(m["bound_gap"], schedule),
        _critical(m, written),
        *job,
        item("moved", "Moved", written.amount(m["bytes_moved"], "B"), f"{m['transfers']:,} transfers between devices"),
        *_memory(schedule),
        _legal(violations),
    ]


def with_change(items: Sequence[Item], schedule: Schedule, kept: Schedule | None) -> list[Item]:
    """The numbers, the makespan with its change against a kept schedule of the same graph."""
    if kept is None or kept is schedule or not kept.makespan:
        return list(items)
    change = schedule.makespan / kept.makespan - 1
    sign, tone = ("▼", "good") if change < 0 else ("▲", "bad") if change > 0 else ("=", "")
    text = f"{sign} {percent(abs(change))} of ◈ {kept.problem.cluster.units.time(kept.makespan)}"
    return [
        {**each, "value": f"{each['value']} {text}", "tone": tone} if each["key"] == "makespan" else each
        for each in items
    ]


def with_proof(items: Sequence[Item], schedule: Schedule, bound: float) -> list[Item]:
    """The numbers, the gap by a lower bound [s] that another view has proven, where it is better than those known here."""
    known = max(best_bound(schedule.problem), schedule.placement.proven(schedule.makespan))
    if not known < bound <= schedule.makespan * (1 + PROVEN):
        return list(items)
    gap = schedule.makespan / bound - 1
    least = schedule.problem.cluster.units.time(bound)
    title = f"No schedule of this problem is faster than {least}, as another pair of strategies has proven."
    text, tone = ("proven optimal", "good") if gap < OPTIMAL else (at_most(gap), "")
    proven = item("gap", "Above optimum", text, title, tone)
    return [proven if each["key"] == "gap" else each for each in items]


def link_load(schedule: Schedule) -> np.ndarray:
    """Share of the makespan in which each link is busy, shape (n_devices, n_devices); overlapping transfers count once."""
    k, moved, end = schedule.problem.cluster.n_devices, schedule.transfers, schedule.makespan
    link = moved["source"].astype(np.int64) * k + moved["destination"]
    order = np.lexsort((moved["start"], link))
    link, start, finish = link[order], moved["start"][order], free_again(schedule)[order]
    apart = link * (2.0 * end)  # shifts the links behind each other in time, so that one running maximum serves all
    until = np.maximum.accumulate(finish + apart)[:-1] if len(link) else finish
    begin = np.maximum(start, np.concatenate([[0.0], until])[: len(link)] - apart)
    busy = np.bincount(link, np.maximum(finish - begin, 0.0), minlength=k * k).reshape(k, k)
    return busy / end if end else busy


def at_most(share: float) -> str:
    """A share of which only an upper bound is known.

    >>> at_most(0.297), at_most(2e-4)
    ('≤ 30 %', '< 0.1 %')
    """
    text = percent(share)
    return text if text.startswith("<") else f"≤ {text}"


def _speedup(speedup: float, schedule: Schedule) -> Item:
    if np.isnan(speedup):
        return item("speedup", "Speed-up", "–", "No device may run all ops alone")
    tone = "good" if speedup > 1.005 else "bad" if speedup < 0.995 else ""
    alone = schedule.problem.cluster.units.time(speedup * schedule.makespan)
    return item(
        "speedup", "Speed-up", f"× {speedup:.3g}", f"The best single device would take {alone}, memory aside", tone
    )


def _gap(gap: float, schedule: Schedule) -> Item:
    """Largest possible distance from the optimum, by the best lower bound known, the partitioner's own included."""
    placement, problem = schedule.placement, schedule.problem
    known = {name.replace("_", " "): value for name, value in bounds(problem).items()}
    if bound := placement.proven(schedule.makespan):
        known[f"proven by {placement.partitioner}"] = bound
        gap = np.fmin(gap, schedule.makespan / bound - 1)
    listed = "; ".join(f"{name} {problem.cluster.units.time(value)}" for name, value in known.items())
    title = " ".join(
        [f"No schedule of this problem is faster than its lower bounds: {listed}.", _ratio(schedule)]
    ).strip()
    if gap < OPTIMAL:
        return item("gap", "Above optimum", "proven optimal", title, "good")
    return item("gap", "Above optimum", at_most(gap) if np.isfinite(gap) else "–", title)


def _ratio(schedule: Schedule) -> str:
    """The approximation ratio proven for plans of this partitioner; "" for none."""
    name = schedule.placement.partitioner
    most = ratios(schedule.problem).get(name)
    return "" if most is None else f"Plans of {name} never take more than {most:.3g} times the optimum here."


def _critical(m: dict[str, float], written: Units) -> Item:
    parts = {name: m[f"critical_{name}"] for name in ("compute", "transfer", "wait")}
    value = " · ".join(
        f"{name} {percent(part / m['makespan'] if m['makespan'] else 0.0)}" for name, part in parts.items()
    )
    title = "What the makespan is made of: " + ", ".join(f"{name} {written.time(part)}" for name, part in parts.items())
    return item("critical", "Critical path", value, title)


def _memory(schedule: Schedule) -> list[Item]:
    capacity, names = schedule.problem.cluster.memory, schedule.problem.cluster.names
    if schedule.problem.memory == "none" or np.isinf(capacity).all():
        return []
    d, written = int(np.argmax(schedule.peak_memory / capacity)), schedule.problem.cluster.units
    peak, tone = schedule.peak_memory[d], "bad" if len(schedule.oom) else ""
    limit = written.amount(capacity[d], "B")
    title = f"{names[d]} comes closest to its capacity of {limit}, memory model {schedule.problem.memory}"
    return [item("memory", "Peak memory", f"{written.amount(peak, 'B')} · {percent(peak / capacity[d])}", title, tone)]


def _legal(violations: Sequence[Violation] | None) -> Item:
    if violations is None:
        return item("legal", "Validator", "…", "Checked on release")
    if not violations:
        return item("legal", "Validator", "✓ legal", "Every rule of the problem holds, checked from raw times", "good")
    return item("legal", "Validator", f"✗ {len(violations)} broken", "; ".join(v.detail for v in violations[:3]), "bad")


def _worse(m: dict[str, float], schedule: Schedule) -> str:
    if not m["speedup"] < 0.995:
        return ""
    return f"One device alone would be faster: {schedule.problem.cluster.units.time(m['speedup'] * m['makespan'])}, memory aside."


def _short(schedule: Schedule) -> str:
    if not len(schedule.oom):
        return ""
    d, began, _, short = schedule.oom[np.argmax(schedule.oom["bytes"])].tolist()
    more = f" ({len(schedule.oom)} such spans in all)" if len(schedule.oom) > 1 else ""
    cluster = schedule.problem.cluster
    return f"{cluster.names[d]} is out of memory at {cluster.units.time(began)}, {cluster.units.amount(short, 'B')} short{more}."


def _refuted(schedule: Schedule) -> str:
    placement, written = schedule.placement, schedule.problem.cluster.units
    if not placement.bound or placement.proven(schedule.makespan):
        return ""
    return (
        f"{placement.partitioner} claims that no schedule is shorter than {written.time(placement.bound)}: "
        "this one is, and the bound is ignored."
    )


def _misjudged(schedule: Schedule) -> str:
    estimate, makespan = schedule.placement.estimate, schedule.makespan
    if estimate is None or not schedule.problem.transfer_model.queue or abs(makespan - estimate) <= 0.01 * makespan:
        return ""
    return f"The planner expected {schedule.problem.cluster.units.time(estimate)}: it plans without contention between transfers."
