"""Seconds that ops take on devices, one column for all devices with equal ones; checks that none is missing or too large."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import frozen
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph

if TYPE_CHECKING:
    from placelab.problem.problem import Problem


def time_table(graph: OpGraph, cluster: Cluster) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """cost, column, divisor, columns: seconds where the graph has them, else compute / speed.

    Seconds of a column that holds for a known speed are scaled to the device's.
    """
    k = cluster.n_devices
    if graph.time is None:
        return graph.compute, frozen(np.zeros(k, dtype=np.int32)), cluster.speed, 1
    known, complete = graph.time_speed, ~np.isnan(graph.time).any(axis=0)
    keys: dict[tuple, int] = {}
    column, divisor = np.zeros(k, dtype=np.int32), np.ones(k)
    for d, (name, kind) in enumerate(zip(cluster.names, cluster.types, strict=True)):
        j = graph.time_column(name, kind)
        faster = cluster.speed[d] / known[j] if j >= 0 and known[j] == known[j] else 1.0
        shared = j >= 0 and complete[j]
        divisor[d] = faster if shared else 1.0
        column[d] = keys.setdefault((j, None, None) if shared else (j, cluster.speed[d], faster), len(keys))
    table = np.empty((graph.n_ops, len(keys)))
    for (j, speed, faster), c in keys.items():
        seconds = graph.time[:, j] / (faster or 1.0) if j >= 0 else np.nan
        table[:, c] = seconds if speed is None else np.where(np.isnan(seconds), graph.compute / speed, seconds)
    return frozen(table.reshape(-1)), frozen(column), frozen(divisor), len(keys)


def speed_matters(problem: Problem) -> np.ndarray:
    """Whether the speed of each device changes how long an op takes, shape (n_devices,).

    It does not where the graph has a time for every op that may run there, taken on a device of unknown speed
    (:attr:`OpGraph.time_speed` NaN): those seconds hold at any speed. Send and Receive ops always depend on it.
    """
    graph, cluster = problem.graph, problem.cluster
    if graph.time is None or (problem.transfer_ops and graph.n_edges):
        return np.ones(cluster.n_devices, bool)
    column = [graph.time_column(name, kind) for name, kind in zip(cluster.names, cluster.types, strict=True)]
    missing = np.isnan(graph.time)
    return np.array(
        [
            j < 0 or bool(np.isfinite(graph.time_speed[j]) or (missing[:, j] & problem.may_run[:, d]).any())
            for d, j in enumerate(column)
        ]
    )


def check_range(problem: Problem) -> None:
    """Refuse problems whose times or sizes could add up to more than a float can hold."""
    graph, cluster = problem.graph, problem.cluster
    k, sends = cluster.n_devices, 2 * problem.transfer_ops * graph.n_edges
    with np.errstate(over="ignore"):
        longest, largest = np.fmax.reduce(problem.cost, initial=1.0), graph.tensor_bytes.max(initial=1.0)
        work = longest * graph.n_ops / problem.divisor.min()
        narrowest = cluster.narrowest if problem.transfer_model.shared else cluster.bandwidth
        moved = k * graph.n_tensors * (cluster.latency.max() + largest / narrowest.min())
        held = sum(column.max() for column in (graph.persistent, graph.temporary, graph.memory)) * graph.n_ops
        totals = {
            "times of ops [s]": work + sends / cluster.speed.min(),
            "times of transfers [s]": moved,
            "bytes": held + k * graph.n_tensors * largest,
            "speeds [operations/s]": cluster.speed.max() * k,
        }
    for what, total in totals.items():
        if not total * k < sys.float_info.max:
            raise FormatError(f"{what} of this problem may add up to more than a float can hold; use smaller numbers")


def check_times(problem: Problem) -> None:
    """Refuse an op without a time on a device that it may run on."""
    if problem.graph.time is None:
        return
    unknown = np.isnan(problem.cost_table)
    for d in range(problem.cluster.n_devices):
        missing = np.flatnonzero(unknown[:, problem.column[d]] & problem.may_run[:, d])
        if len(missing):
            raise FormatError(
                f"op {problem.graph.names[missing[0]]!r} has no time for device {problem.cluster.names[d]!r}; give it compute, "
                "a time for that device or its type, or restrict its devices"
            )
