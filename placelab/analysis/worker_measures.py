"""Compute measures of each worker of a data-parallel job: ordering efficiency, potential, straggling."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.analysis.measures import ROUNDING
from placelab.base.errors import expect
from placelab.base.interrupts import need
from placelab.planning.lower_bounds import queue_times, transfer_times
from placelab.planning.read_orders import SERVER, replica_column
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd


class Workers(NamedTuple):
    """Who the workers of a placement are.

    Attributes
    ----------
    names : list of str
        Name of each worker's first device.
    owns : ndarray of bool, shape (n_workers, n_devices)
        The devices of each worker.
    """

    names: list[str]
    owns: np.ndarray


def worker_metrics(schedule: Schedule) -> pd.DataFrame:
    r"""How well each worker's computing and communication overlap.

    Returns
    -------
    DataFrame
        One row per worker. ``worker``: the name of its device; ``end`` [s]: when its last op or transfer ends, t;
        ``potential``: :math:`(U - L) / L`, what a perfect overlap would gain over none; ``efficiency``:
        :math:`E = (U - t) / (U - L)`, 1 if U = L up to rounding. U is the sum of its ops, Sends and transfers, in and out, L its
        busiest device, channel or port.

    Notes
    -----
    Workers are those of ``graph.metadata["replica"]`` (:func:`placelab.transforms.model_replica`), each with the devices of its
    ops; without it each device that runs an op. Devices of type ``ps`` are servers, unless there are no others. E of the whole
    graph (:func:`placelab.metrics`) tends to 1 with the number of workers, these do not.

    References
    ----------
    Hashemi et al. (2018) §1, per worker.
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "worker_metrics")
    workers = workers_of(schedule.placement)
    most, least = work(schedule, workers)
    end = ends(schedule, workers)
    columns = dict(worker=workers.names, end=end, potential=potential(most, least))
    return pd.DataFrame(columns | dict(efficiency=efficiency(most, least, end)))


def workers_of(placement: Placement) -> Workers:
    """The workers of a placement, see :func:`worker_metrics`."""
    problem, device = placement.problem, placement.device
    cluster, k = problem.cluster, problem.cluster.n_devices
    server = np.array([kind == SERVER for kind in cluster.types])
    server &= not server[device].all()
    worker = replica_column(problem.graph, "worker")
    if worker is None:
        worker = device
    ops = np.flatnonzero((worker >= 0) & ~server[device])
    number, row = np.unique(worker[ops], return_inverse=True)
    owns = np.zeros((len(number), k), bool)
    owns[row, device[ops]] = True
    return Workers([cluster.names[d] for d in owns.argmax(axis=1)], owns)


def work(schedule: Schedule, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
    """U and L of each worker [s], shape (n_workers,) each; they depend on the placement and the costs alone."""
    problem, moved, k = schedule.problem, schedule.transfers, schedule.problem.cluster.n_devices
    source, destination = moved["source"], moved["destination"]
    took, used = (times(problem, moved["tensor"], source, destination) for times in (transfer_times, queue_times))
    busy = _device_work(problem, schedule)
    model = problem.transfer_model
    n_queues = model.queues(k, problem.duplex)
    queues = model.occupied(source, destination, k, problem.duplex) if n_queues else ()
    most, least = np.empty(len(workers.owns)), np.empty(len(workers.owns))
    for w, own in enumerate(workers.owns):
        mine = own[source] | own[destination]
        most[w] = busy[own].sum() + took[mine].sum()
        carried = sum((np.bincount(queue[mine], used[mine], minlength=n_queues) for queue in queues), np.zeros(1))
        least[w] = max(busy[own].max(), carried.max(initial=0.0))
    return most, least


def _device_work(problem: Problem, schedule: Schedule) -> np.ndarray:
    """Seconds of ops and Sends on each device."""
    k = problem.cluster.n_devices
    ops = np.bincount(schedule.device, problem.exec_times(schedule.device), minlength=k)
    return ops + np.bincount(schedule.transfers["source"], minlength=k) * problem.transfer_ops / problem.cluster.speed


def ends(schedule: Schedule, workers: Workers) -> np.ndarray:
    """When each worker's last op or transfer ends [s], shape (n_workers,)."""
    end, moved = np.zeros(schedule.problem.cluster.n_devices), schedule.transfers
    np.maximum.at(end, schedule.device, schedule.finish)
    np.maximum.at(end, moved["source"], moved["finish"])
    np.maximum.at(end, moved["destination"], moved["finish"])
    return np.where(workers.owns, end, 0.0).max(axis=1)


def efficiency(most: np.ndarray, least: np.ndarray, end: np.ndarray) -> np.ndarray:
    """E = (U − t) / (U − L) of each worker; 1 where U = L up to rounding."""
    same = most <= least * (1 + ROUNDING)
    return np.where(same, 1.0, (most - end) / np.where(same, 1.0, most - least))


def potential(most: np.ndarray, least: np.ndarray) -> np.ndarray:
    """(U − L) / L of each worker; 0 where nothing takes time."""
    return (most - least) / np.where(least > 0, least, 1.0)


def straggling(end: np.ndarray) -> float:
    """(max t − min t) / max t over workers: the share of the step for which the first one waits; 0 where nothing takes time."""
    last = float(end.max())
    return (last - float(end.min())) / last if last > 0 else 0.0
