"""A plan as a schedule: ops at their planned times, each transfer as soon as its producer ends."""

from __future__ import annotations

import numpy as np

from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TRANSFER, Schedule


def planned_schedule(
    problem: Problem,
    device: np.ndarray,
    start: np.ndarray,
    finish: np.ndarray,
    times: tuple[np.ndarray, np.ndarray] | None = None,
) -> Schedule:
    """A plan as a Schedule, for checks of its memory.

    Parameters
    ----------
    device, start, finish
        Of each op, shape (n_ops,); seconds.
    times
        When each tensor leaves for a device and is there, shape (n_tensors * n_devices,) each, if transfers wait for links;
        without them a transfer leaves when its producer ends.

    Returns
    -------
    Schedule
        Transfers leave when their producer ends, with ``transfer_ops`` one Send later; the Sends themselves are left out.
    """
    graph, cluster = problem.graph, problem.cluster
    source, destination = device[graph.producer], device[graph.consumer]
    leaves = np.flatnonzero(source != destination)
    key = graph.edge_tensor[leaves].astype(np.int64) * cluster.n_devices + destination[leaves]
    edge = leaves[np.unique(key, return_index=True)[1]]
    transfers = np.empty(len(edge), TRANSFER)
    transfers["tensor"], transfers["source"], transfers["destination"] = (
        graph.edge_tensor[edge],
        source[edge],
        destination[edge],
    )
    link = (source[edge], destination[edge])
    transfers["start"] = finish[graph.producer[edge]] + problem.transfer_ops / cluster.speed[source[edge]]
    transfers["finish"] = transfers["start"] + cluster.latency[link] + graph.edge_bytes[edge] / cluster.bandwidth[link]
    if times is not None:
        transfers["start"], transfers["finish"] = (time[np.unique(key)] for time in times)
    return Schedule(Placement(problem, device), start, finish, transfers, np.empty(0, TRANSFER), "plan")
