"""A problem as it shows itself at the end of a notebook cell: its graph, its cluster, its rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.pictures.cells.cluster import cluster_drawing
from placelab.pictures.cells.graph import graph_rows, layers
from placelab.pictures.cells.markup import amount, counted, picture, side_by_side, table, text
from placelab.problem.problem import Problem
from placelab.problem.resource_models import LATENCIES


def show_problem(problem: Problem) -> str:
    """The problem as HTML, at most 100 KB. O(ops · devices + edges)."""
    graph, cluster = problem.graph, problem.cluster
    facts = counted(graph.n_ops, "op"), *_alone(problem)
    return picture(
        f"{text(graph.title)} on {counted(cluster.n_devices, 'device')}",
        facts,
        side_by_side(
            table(("graph", ""), graph_rows(graph, layers(graph), cluster.units)), table(("rules", ""), _rules(problem))
        ),
        cluster_drawing(cluster),
    )


def _alone(problem: Problem) -> Iterator[str]:
    """Time of all ops on the best device alone, memory aside."""
    total = problem.cost_table.sum(axis=0)[problem.column] / problem.divisor
    if problem.runs_all.any():
        best = int(np.argmin(np.where(problem.runs_all, total, np.inf)))
        yield f"{problem.cluster.units.time(float(total[best]))} on {text(problem.cluster.names[best], 24)} alone"


def _rules(problem: Problem) -> Iterator[tuple[str, str]]:
    memory, transfers = problem.memory_model, problem.transfer_model
    yield "memory", f"{memory.name}: {memory.about}"
    one_way = ", duplex" if problem.duplex and transfers.duplex else ""
    yield "transfers", f"{transfers.name}{one_way}: {transfers.about}"
    if problem.latency != "holds":
        yield "latency", f"{problem.latency}: {LATENCIES[problem.latency]}"
    if problem.transfer_ops:
        yield "Send, Receive", f"ops of {amount(problem.transfer_ops, 'FLOP', problem.cluster.units)} each"
    if problem.n_groups:
        largest = int(np.diff(problem.group_ptr).max())
        yield "colocation", f"{counted(problem.n_groups, 'group')}, the largest of {counted(largest, 'op')}"
    if problem.restricted:
        free = problem.may_run.sum(axis=1)
        yield "only some devices", counted(int((free < problem.cluster.n_devices).sum()), "op")
        yield "only one device", counted(int((free == 1).sum()), "op")
