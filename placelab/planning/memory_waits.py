"""Ops of a finished plan that waited for memory: those that start after their inputs and their device were there."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.planning.plan_arrays import transfer_delay
from placelab.problem.problem import Problem


def memory_waits(
    problem: Problem,
    device: np.ndarray,
    start: np.ndarray,
    finish: np.ndarray,
    planned: np.ndarray,
    there: np.ndarray | None = None,
) -> np.ndarray | None:
    """When the plan lets each op start that waited for memory, 0 for the others, shape (n_ops,) [s]; None where none waited.

    Parameters
    ----------
    device, start, finish
        Of each op, shape (n_ops,); seconds. Nothing but inputs, devices and memory delayed an op.
    planned
        Ops in planned order, shape (n_ops,).
    there
        When each tensor is on a device, shape (n_tensors * n_devices,), if transfers waited for links; without it a transfer
        leaves when its producer ends.

    Notes
    -----
    Times are added up as planners do, so that they are compared to the last bit. O(n_ops log n_ops + n_edges).
    """
    graph, cluster = problem.graph, problem.cluster
    _, delay = transfer_delay(problem)
    link = home, destination = device[graph.producer], device[graph.consumer]
    came = finish[graph.producer] + delay[link] + graph.edge_bytes / cluster.bandwidth[link]
    if there is not None:
        copy = graph.edge_tensor.astype(np.int64) * cluster.n_devices + destination
        came = np.where(home == destination, came, there[copy])
    possible = np.zeros(graph.n_ops)
    np.maximum.at(possible, graph.consumer, came)
    by_device = planned[np.argsort(device[planned], kind="stable")]
    before, after = by_device[:-1], by_device[1:]
    same = device[before] == device[after]
    possible[after[same]] = np.maximum(possible[after[same]], finish[before[same]])
    waited = start > possible
    return frozen(np.where(waited, start, 0.0)) if waited.any() else None
