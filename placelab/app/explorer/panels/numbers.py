"""The numbers of a schedule, those of a training job among them, and the row under the top bar that shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from placelab.analysis import worker_measures as workers
from placelab.analysis.measures import bubbles, metrics_by, stages
from placelab.analysis.validation import Violation
from placelab.analysis.worker_measures import arrival_skew
from placelab.app.explorer.panels.panel import OPTIMAL, Item, Puzzle, at_most, item
from placelab.app.widgets import controls as w
from placelab.base.units import Units, percent
from placelab.planning.lower_bounds import busiest, is_proven, known_bounds, ratios, transfers_of
from placelab.planning.read_orders import replica_column
from placelab.problem.cluster import Cluster
from placelab.problem.coverage import SAID, little_known
from placelab.problem.pipeline_columns import pipeline_of, required
from placelab.schedule.placement import PROVEN
from placelab.schedule.schedule import Schedule
from placelab.strategies.placing import contends, misjudged, shortage, waits_for_memory

LISTED = 32  # devices that a tooltip names
EFFICIENCY = (
    "Ordering efficiency E = (U − t) / (U − L) of the worker where it is least: U its computing and communication one after the "
    "other, L its busiest resource alone, t its end less its waits for others. 1: perfect overlap; 0: none."
)
STRAGGLING = "How long the first worker waits for the last one, over the last one's end."
BUBBLE = "Makespan less the time of the busiest stage's ops"
SPAN = (
    "The longest span of a stage, from its first op to its last, less the busy time: what papers on zero bubbles count."
)
HELD = "The most micro-batches that a stage has in flight at a time, each from its forward pass until its backward pass has ended"
SKEW = "Latest less earliest instant at which workers are ready for the all-reduce of a bucket"


def job_items(schedule: Schedule) -> list[Item]:
    """The most important numbers of a job; none for one step of a model."""
    graph = schedule.problem.graph
    if pipeline_of(graph) is not None:
        return _pipeline(schedule)
    return [] if replica_column(graph, "worker") is None else _replicas(schedule)


def job_details(schedule: Schedule) -> list[Item]:
    """More numbers of a job."""
    graph = schedule.problem.graph
    if pipeline_of(graph) is not None:
        return [*_stages(schedule), *_summed(schedule)]
    return _summed(schedule)


def _summed(schedule: Schedule) -> list[Item]:
    bucket = replica_column(schedule.problem.graph, "bucket")
    return [] if bucket is None or bucket.max() < 0 else _buckets(schedule)


def _replicas(schedule: Schedule) -> list[Item]:
    units = schedule.problem.cluster.units
    group = workers.workers_of(schedule.placement)
    most, least = workers.work(schedule, group)
    end, waited, late = (measure(schedule, group) for measure in (workers.ends, workers.waits, workers.lateness))
    each = workers.efficiency(most, least, end - waited)
    gain = workers.potential(most, least).min()
    listed = ", ".join(f"{name} {e:.2f}" for name, e in zip(group.names[:8], each[:8], strict=True))
    wait = workers.straggling(end)
    title = f"{EFFICIENCY} {listed}. A perfect overlap would gain {percent(gain)} over none."
    ends = f"{STRAGGLING} Ends: {units.time(end.min())} to {units.time(end.max())}"
    if late.any():
        ends += f". {group.names[late.argmax()]} computes longest, {units.time(late.max())} after the first"
    return [
        item("efficiency", "E", f"{each.min():.2f}", title, "good" if each.min() >= 0.9 else ""),
        item("straggling", "Straggling", percent(wait), ends, "bad" if wait >= 0.1 else ""),
    ]


def _pipeline(schedule: Schedule) -> list[Item]:
    units = schedule.problem.cluster.units
    idle = bubbles(schedule)
    after = _exposed(schedule)
    bubble = max(idle["bubble"] - after, 0.0)
    share = bubble / ((schedule.makespan - after) or 1.0)
    title = f"{BUBBLE}: {units.time(bubble)}. {SPAN} {units.time(idle['bubble_span'])}"
    title += f". After all passes gradients are sent for {units.time(after)}, which do not count" * (after > 0)
    return [
        item("bubble", "Bubble", percent(share), title, "bad" if share >= 0.25 else ""),
        item("activations", "Micro-batches held", f"{idle['peak_activations']:.0f}", f"{HELD}: the most of any stage"),
    ]


def _exposed(schedule: Schedule) -> float:
    """Seconds of a pipelined step in which nothing is left but sums of gradients that no op waits for."""
    sent = required(schedule.problem.graph, "a bubble").phase == "AR"
    return schedule.makespan - float(schedule.finish[~sent].max())


def _stages(schedule: Schedule) -> list[Item]:
    """Of each stage; where there are replicas, the most of any of them."""
    units = schedule.problem.cluster.units
    table = stages(schedule)
    names = table["device"].tolist()
    replicas = int(table["replica"].max()) + 1
    shares = (100 * table["busy"] / (schedule.makespan or 1.0)).to_numpy()

    def row(key: str, label: str, values: np.ndarray, text: Callable[[float], str], says: str, short: str = "") -> Item:
        worst = values.reshape(replicas, -1).max(axis=0)
        value = short or shortened([text(x) for x in worst.tolist()])
        listed = ", ".join(f"{name} {text(x)}" for name, x in zip(names[:LISTED], values.tolist(), strict=False))
        return item(key, label, value, f"{says}: {listed}{', …' * (len(names) > LISTED)}")

    span = units.time(bubbles(schedule)["bubble_span"])
    most = f"{'most of any replica, ' * (replicas > 1)}from the first stage on"
    items = [
        item("span", "Bubble in spans", span, SPAN),
        row("held", "Held, by stage", table["activations"].to_numpy(), "{:.0f}".format, f"{HELD}; {most}"),
        row(
            "busy",
            "Busy, by stage",
            shares,
            lambda x: f"{x:.0f} %",
            f"Share of the step in which a stage runs its passes, without updates; {most}",
        ),
    ]
    if schedule.problem.memory != "none":
        peaks = table["memory"].to_numpy()
        worst = peaks.reshape(replicas, -1).max(axis=0)
        amounts = units.amounts(worst.tolist(), "B")
        text = lambda x: units.amount(x, "B")  # noqa: E731
        items.append(row("peaks", "Peak, by stage", peaks, text, f"Most bytes in use on a device; {most}", amounts))
    return items


def shortened(texts: Sequence[str]) -> str:
    """Texts in a row; a unit that all have is written once, at the end.

    >>> shortened(["42 %", "7 %"]), shortened(["4", "3"])
    ('42 7 %', '4 3')
    """
    units = {text.partition(" ")[2] for text in texts}
    if len(units) > 1:
        return " ".join(texts)
    return " ".join([*(text.partition(" ")[0] for text in texts), *(units - {""})])


def _buckets(schedule: Schedule) -> list[Item]:
    units = schedule.problem.cluster.units
    table = arrival_skew(schedule)
    skew = table["skew"].to_numpy()
    each = zip(table["bucket"][:12], skew[:12], table["worker"][:12], strict=True)
    listed = ", ".join(f"bucket {b} {units.time(s)}" + f" ({last} last)" * bool(last) for b, s, last in each)
    worst = int(np.argmax(skew))
    last = float((table["end"] - table["latest"]).max())
    return [
        item("buckets", "Buckets", f"{len(table)}", "Gradients that are summed together"),
        item("skew", "Arrival skew", f"≤ {units.time(float(skew[worst]))}", f"{SKEW}: {listed}"),
        item(
            "reduce",
            "All-reduce",
            f"≤ {units.time(last)}",
            "The longest, from the last worker's readiness until all have the sum",
        ),
    ]


LATER = "…"  # of a number that a hand that drags does not wait for


def is_outstanding(items: Sequence[Item]) -> bool:
    """Whether a number among these is still to come."""
    return any(each["value"] == LATER for each in items)


def strip(schedule: Schedule, violations: Sequence[Violation] | None) -> tuple[list[Item], str]:
    """The numbers above the chart, from ``metrics``, ``bounds`` and ``validate``, and the warning ("" for none).

    The gap waits where :func:`placelab.planning.lower_bounds.best_bound` has not been worked out for the problem: a hand that
    drags does not wait for it.
    """
    m = metrics_by(schedule, max(known_bounds(schedule.problem).values()))
    warnings = (
        _worse(m, schedule),
        _short(schedule),
        _misjudged(schedule),
        _refuted(schedule),
        _little_known(schedule),
    )
    return numbers(schedule, m, violations), " ".join(text for text in warnings if text)


def numbers(schedule: Schedule, m: dict[str, float], violations: Sequence[Violation] | None) -> list[Item]:
    """One item for each figure; `m` is the dictionary of :func:`placelab.metrics`."""
    job = job_items(schedule)
    written = schedule.problem.cluster.units
    return [
        item("makespan", "Makespan", written.time(m["makespan"]), "When the last op has finished"),
        *([] if job and np.isnan(m["speedup"]) else [_speedup(m["speedup"], schedule)]),  # no device runs a job alone
        _gap(m["bound_gap"], schedule),
        *_by_order(schedule),
        _critical(m, written),
        *job,
        item("moved", "Moved", written.amount(m["bytes_moved"], "B"), f"{m['transfers']:,} transfers between devices"),
        *_memory(schedule),
        _legal(schedule, violations),
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
    known = max(*known_bounds(schedule.problem).values(), schedule.placement.proven(schedule.makespan))
    if not known < bound <= schedule.makespan * (1 + PROVEN):
        return list(items)
    gap = schedule.makespan / bound - 1
    least = schedule.problem.cluster.units.time(bound)
    title = f"No schedule of this problem is faster than {least}, as another pair of strategies has proven."
    text, tone = ("proven optimal", "good") if gap < OPTIMAL else (at_most(gap), "")
    proven = item("gap", "Above optimum", text, title, tone)
    return [proven if each["key"] == "gap" else each for each in items]


def with_held(items: Sequence[Item], held: np.ndarray, cluster: Cluster) -> list[Item]:
    """The numbers, memory by the bytes that a spread decoder holds on each device, of which its pipeline may know nothing."""
    if np.isinf(cluster.memory).all():
        return list(items)
    d = int(np.argmax(held / cluster.memory))
    share = percent(float(held[d] / cluster.memory[d]))
    short = held[d] > cluster.memory[d]
    size, limit = (cluster.units.amount(float(amount), "B") for amount in (held[d], cluster.memory[d]))
    title = f"{cluster.names[d]} comes closest to its capacity of {limit}, all that the decoder holds there"
    memory = item("memory", "Peak memory", f"{size} · {share}", title, "bad" if short else "")
    legal = item("legal", "Validator", f"✓ legal · ✗ memory {share}", "Every rule holds but memory", "bad")
    others = [each for each in items if each["key"] != "memory"]
    if not short:
        return [*others, memory]
    return [*(legal if each["key"] == "legal" and each["tone"] == "good" else each for each in others), memory]


def with_order(items: Sequence[Item], names: Sequence[str]) -> list[Item]:
    """The numbers, with the published orders of pipelines that a schedule has, where it has one."""
    if not names:
        return list(items)
    text = " = ".join(ORDERS[name] for name in names)
    title = (
        "Each device runs its forward and backward ops in this published order, micro-batches of equal cost renumbered"
    )
    return [*items, item("order", "Order", text, title)]


def with_stars(items: Sequence[Item], puzzle: Puzzle | None, stars: int) -> list[Item]:
    """The numbers, with the stars that a plan of a puzzle earns; a negative number is not known yet."""
    if puzzle is None or stars < 0:
        return list(items)
    title = f"{puzzle.task} One star for a legal plan, two for one as short as HEFT's, three for one that reaches par"
    return [*items, item("stars", "Stars", "★" * stars + "☆" * (3 - stars), title, "good" if stars == 3 else "")]


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
    placement = schedule.placement
    problem = schedule.problem
    known = {name.replace("_", " "): value for name, value in known_bounds(problem).items()}
    if bound := placement.proven(schedule.makespan):
        known[f"proven by {placement.partitioner}"] = bound
        gap = np.fmin(gap, schedule.makespan / bound - 1)
    listed = "; ".join(f"{name} {problem.cluster.units.time(value)}" for name, value in known.items())
    title = " ".join(
        [f"No schedule of this problem is faster than its lower bounds: {listed}.", _ratio(schedule)]
    ).strip()
    if gap < OPTIMAL:
        return item("gap", "Above optimum", "proven optimal", title, "good")
    if not is_proven(problem):
        return item("gap", "Above optimum", LATER, f"A better bound follows on release. {title}")
    return item("gap", "Above optimum", at_most(gap) if np.isfinite(gap) else "–", title)


def _by_order(schedule: Schedule) -> list[Item]:
    """What another order of the placement may save, where a busy channel, port or device is more of a bound than the rest."""
    problem = schedule.problem
    if problem.transfers == "parallel" or not schedule.makespan:  # nothing queues: the other bounds are as good
        return []
    device = schedule.placement.device
    busy = busiest(problem, device, *transfers_of(problem, device))
    name = max(busy, key=busy.__getitem__)
    if busy[name] <= NEARER * max(known_bounds(problem).values()):
        return []
    saved = 1 - busy[name] / schedule.makespan
    title = (
        f"With these devices no order of ops and transfers is faster than {problem.cluster.units.time(busy[name])}: "
        f"so long is the {name.replace('_', ' ')} in use"
    )
    return [item("reorder", "Another order saves", "nothing" if saved < OPTIMAL else at_most(saved), title)]


NEARER = 1.005  # times the bound of every placement


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
    capacity = schedule.problem.cluster.memory
    names = schedule.problem.cluster.names
    if schedule.problem.memory == "none" or np.isinf(capacity).all():
        return []
    d = int(np.argmax(schedule.peak_memory / capacity))
    written = schedule.problem.cluster.units
    peak = schedule.peak_memory[d]
    tone = "bad" if len(schedule.oom) else ""
    limit = written.amount(capacity[d], "B")
    title = f"{names[d]} comes closest to its capacity of {limit}, memory model {schedule.problem.memory}"
    return [item("memory", "Peak memory", f"{written.amount(peak, 'B')} · {percent(peak / capacity[d])}", title, tone)]


def _legal(schedule: Schedule, violations: Sequence[Violation] | None) -> Item:
    if violations is None:
        return item("legal", "Validator", LATER, "Checked on release")
    if not violations and len(schedule.oom):
        share = percent(float((schedule.peak_memory / schedule.problem.cluster.memory).max()))
        title = "Every rule of the problem holds but memory, checked from raw times"
        return item("legal", "Validator", f"✓ legal · ✗ memory {share}", title, "bad")
    if not violations:
        return item("legal", "Validator", "✓ legal", "Every rule of the problem holds, checked from raw times", "good")
    return item("legal", "Validator", f"✗ {len(violations)} broken", "; ".join(v.detail for v in violations[:3]), "bad")


def _worse(m: dict[str, float], schedule: Schedule) -> str:
    if not m["speedup"] < 0.995:
        return ""
    return f"One device alone would be faster: {schedule.problem.cluster.units.time(m['speedup'] * m['makespan'])}, memory aside."


def _little_known(schedule: Schedule) -> str:
    """A sentence on costs of which less than nine tenths are known, unless it is among the placement's notes."""
    said = little_known(schedule.problem.graph, SAID)
    return f"{said[0].upper()}{said[1:]}." if said and said not in schedule.placement.notes else ""


def _short(schedule: Schedule) -> str:
    said = shortage(schedule)
    return said and f"{said}."


def _refuted(schedule: Schedule) -> str:
    placement = schedule.placement
    written = schedule.problem.cluster.units
    if not placement.bound or placement.proven(schedule.makespan):
        return ""
    return (
        f"{placement.partitioner} claims that no schedule is shorter than {written.time(placement.bound)}: "
        "this one is, and the bound is ignored."
    )


def _misjudged(schedule: Schedule) -> str:
    estimate = schedule.placement.estimate
    makespan = schedule.makespan
    if estimate is None or abs(makespan - estimate) <= 0.01 * makespan:
        return ""
    if not contends(schedule.problem) and not waits_for_memory(schedule):
        return ""
    said = misjudged(schedule)
    return f"{said[0].upper()}{said[1:]}."


ORDERS = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved": "interleaved 1F1B",
    "zb-h1": "ZB-H1",
    "zb-h2": "ZB-H2",
    "zb-v": "ZB-V",
}
ORDER = (  # without room, the last drop out
    "decided",
    "latest",
    "makespan",
    "stars",
    "order",
    "legal",
    "gap",
    "memory",
    "reorder",
    "speedup",
    "critical",
    "moved",
)
LABELS = {"makespan": "", "order": "", "critical": "Path", "memory": "Peak", "legal": ""}  # shorter ones, for one line


class Numbers:
    """The row; its height never changes. Figures for which there is no room are in the tooltip of the others.

    Parameters
    ----------
    chip
        Stands between figures and notices.
    notices
        Widgets that show warnings, notes, errors and progress; those that are empty are hidden. Where they do not fit, they are
        seen whole under the pointer or with the focus.

    Attributes
    ----------
    box
        The row; `figures` are the numbers.
    """

    def __init__(self, *notices: w.Widget, chip: w.Widget | None = None) -> None:
        self.figures = w.Figures().add_class("pl-figures")
        self.warning = w.HTML().add_class("pl-warning")
        self.warning.hidden = True
        said = w.HBox([*notices, self.warning]).add_class("pl-notices")
        beside = [chip] if chip is not None else []
        self.box = w.HBox([self.figures, *beside, said]).add_class("pl-numbers")

    def show(self, items: Sequence[Item], warning: str, of: str) -> None:
        """Show the numbers of the state with the key `of`, as :func:`numbers` writes them, and a warning."""
        first = sorted(items, key=lambda item: ORDER.index(item["key"]) if item["key"] in ORDER else len(ORDER))
        all_of_them = " · ".join(f"{item['label']} {item['value']}" for item in first)
        figures = [_figure(item, all_of_them * (not i)) for i, item in enumerate(first)]
        self.figures.take(result_of=of, items=figures)
        self.warning.value = f'<div role="status" title="{escape(warning)}">{escape(warning)}</div>' if warning else ""
        self.warning.hidden = not warning


def plan_so_far(schedule: Schedule, decided: int, n_ops: int, drawn: np.ndarray) -> list[Item]:
    """What the first decisions have settled; `drawn` is a mask of ops, then of transfers."""
    units = schedule.problem.cluster.units
    finish = schedule.finish[drawn[:n_ops]]
    size = schedule.problem.graph.tensor_bytes[schedule.transfers["tensor"][drawn[n_ops:]]].sum()
    return [
        item(
            "decided",
            "Plan so far",
            f"{decided:,} of {n_ops:,} ops",
            "What the partitioner has decided up to this step",
        ),
        item("latest", "Latest finish", units.time(float(finish.max(initial=0.0))), "Of the ops that are decided"),
        item("moved", "Moved", units.amount(float(size), "B"), "By transfers between ops that are decided"),
    ]


def no_schedule(pair: str) -> list[Item]:
    """What stands in place of the numbers where a pair of strategies has no schedule."""
    return [
        item(
            "makespan",
            "Makespan",
            f"{pair}: no schedule",
            "The numbers before were of the state before; Undo leads back to it",
            "bad",
        )
    ]


def _figure(item: Item, rest: str) -> Item:
    """A number as the row has it: with a shorter label, and all that is known of it under the pointer."""
    value = item["value"].replace(" % ·", " ·") if item["key"] == "critical" else item["value"]
    title = f"{item['label']}. {item['title']}" + (f"\n{rest}" if rest else "")
    label = "" if value == "proven optimal" else LABELS.get(item["key"], item["label"])  # nothing is above the optimum
    return {**item, "label": label, "value": value, "title": title}
