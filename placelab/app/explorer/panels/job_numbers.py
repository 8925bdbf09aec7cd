"""The numbers of a training job: of workers, pipelines and the sums of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from placelab.analysis import worker_measures as workers
from placelab.analysis.measures import bubbles, stages
from placelab.analysis.worker_measures import arrival_skew
from placelab.app.explorer.panels.panel import Item, item
from placelab.base.units import percent
from placelab.planning.read_orders import replica_column
from placelab.problem.pipeline_columns import pipeline_of, required
from placelab.schedule.schedule import Schedule

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
            f"Share of the step in which a stage computes; {most}",
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
