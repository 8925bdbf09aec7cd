"""Seconds that ops take on devices, one column for all devices with equal ones; checks that none is missing or too large."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import frozen
from placelab.kernels.costs import speed_ups
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph

INSTANT = 1e-9  # seconds


class Times(NamedTuple):
    """``exec(v, d) = cost[v * columns + column[d]] / divisor[d]``."""

    cost: np.ndarray
    column: np.ndarray
    divisor: np.ndarray
    columns: int

    @property
    def table(self) -> np.ndarray:
        """`cost` as a table: a view of shape (n_ops, columns)."""
        return self.cost.reshape(-1, self.columns)


def time_table(graph: OpGraph, cluster: Cluster) -> Times:
    """Seconds where the graph has them, else compute / speed.

    Seconds of a column that holds for a known speed are scaled to the device's.
    """
    k = cluster.n_devices
    if graph.time is None:
        return Times(graph.compute, frozen(np.zeros(k, dtype=np.int32)), cluster.speed, 1)
    known = graph.time_speed
    complete = ~np.isnan(graph.time).any(axis=0)
    keys: dict[tuple, int] = {}
    column = np.zeros(k, dtype=np.int32)
    divisor = np.ones(k)
    measured = [graph.time_column(name, kind) for name, kind in zip(cluster.names, cluster.types, strict=True)]
    factor = np.empty(k)
    speed_ups(cluster.speed, frozen(np.array(measured, np.int32)), frozen(known), factor)
    for d, (j, faster) in enumerate(zip(measured, factor.tolist(), strict=True)):
        shared = j >= 0 and complete[j]
        divisor[d] = faster if shared else 1.0
        column[d] = keys.setdefault((j, None, None) if shared else (j, cluster.speed[d], faster), len(keys))
    table = np.empty((graph.n_ops, len(keys)))
    for (j, speed, faster), c in keys.items():
        seconds = graph.time[:, j] / (faster or 1.0) if j >= 0 else np.nan
        table[:, c] = seconds if speed is None else np.where(np.isnan(seconds), graph.compute / speed, seconds)
    return Times(frozen(table.reshape(-1)), frozen(column), frozen(divisor), len(keys))


def check_range(graph: OpGraph, cluster: Cluster, times: Times, transfer_ops: float, bandwidth: np.ndarray) -> None:
    """Refuse problems whose times or sizes could add up to more than a float can hold; `bandwidth` is the least of each pair."""
    k = cluster.n_devices
    sends = 2 * transfer_ops * graph.n_edges
    with np.errstate(over="ignore"):
        longest = np.fmax.reduce(times.cost, initial=1.0)
        largest = graph.tensor_bytes.max(initial=1.0)
        work = longest * graph.n_ops / times.divisor.min()
        moved = k * graph.n_tensors * (cluster.latency.max() + largest / bandwidth.min())
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


def check_times(graph: OpGraph, cluster: Cluster, times: Times, may_run: np.ndarray) -> None:
    """Refuse an op without a time on a device that it may run on."""
    if graph.time is None:
        return
    unknown = np.isnan(times.table)
    for d in range(cluster.n_devices):
        missing = np.flatnonzero(unknown[:, times.column[d]] & may_run[:, d])
        if len(missing):
            raise FormatError(
                f"op {graph.names[missing[0]]!r} has no time for device {cluster.names[d]!r}; give it compute, "
                "a time for that device or its type, or restrict its devices"
            )


def said_of_units(graph: OpGraph, cluster: Cluster) -> str:
    """A sentence where costs look like seconds that were given as operations; "" where they do not.

    No op of a model takes less than a nanosecond on every device: the launch of a kernel alone takes a thousand times as long.

    >>> from placelab.problem.graph import OpGraph
    >>> graph = OpGraph.from_arrays(["a", "b"], [60.0, 5.0], [(0, 1)])
    >>> said_of_units(graph, Cluster.uniform(2))  # doctest: +ELLIPSIS
    'the longest op takes 6e-12 s: its compute is 60 operations, and the slowest device makes 1e+13 a second. If ...'
    >>> said_of_units(graph, Cluster([1.0, 1.0]))
    ''
    """
    most = float(graph.compute.max())
    slowest = float(cluster.speed.min())
    if graph.time is not None or not 0 < most < INSTANT * slowest:
        return ""
    return (
        f"the longest op takes {most / slowest:.3g} s: its compute is {most:.3g} operations, and the slowest device makes "
        f"{slowest:.3g} a second. If the costs are seconds, use devices of speed 1: placelab.Cluster(speed=[1.0, …])"
    )
