"""Compute measures of each worker of a data-parallel job: waits, ordering efficiency, straggling."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.analysis.measures import ROUNDING
from placelab.base.errors import UnsupportedError, expect
from placelab.base.interrupts import need
from placelab.planning.lower_bounds import queue_times, transfer_times
from placelab.planning.read_orders import SERVER, replica_column
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd


COMPUTING = ("forward", "backward")  # roles of ops that are copies of a model's


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
        One row per worker. ``worker``: the name of its device; ``end`` [s]: when its last op or transfer ends, t; ``waited``
        [s]: for how long before that it waited for others, w; ``late`` [s]: how much later than the first worker it has
        computed an iteration, the most of all iterations; ``potential``: :math:`(U - L) / L`, what a perfect overlap would
        gain over none; ``efficiency``: :math:`E = (U - (t - w)) / (U - L)`, from 0, nothing overlaps, to 1, as much as can; 1
        if U = L up to rounding. U is the sum of its ops, Sends and transfers, in and out, L its busiest device, channel or port.

    Notes
    -----
    Workers are those of ``graph.metadata["replica"]`` (:func:`placelab.transforms.model_replica`), each with the devices of its
    ops; without it each device that runs an op. Devices of type ``ps`` are servers, unless there are no others. A worker waits
    for others, workers or servers, while it runs no op and no Send and none of its transfers is under way. Under ``fair`` a
    transfer that others slow down is under way for the share of the time that it takes alone. E of the whole graph
    (:func:`placelab.metrics`) tends to 1 with the number of workers, these do not.

    References
    ----------
    Hashemi et al. (2018) §1, per worker; there without waits, so that E of a worker that waits is negative.
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "worker_metrics")
    workers = workers_of(schedule.placement)
    most, least = work(schedule, workers)
    end = ends(schedule, workers)
    waited = waits(schedule, workers)
    columns = dict(worker=workers.names, end=end, waited=waited, late=lateness(schedule, workers))
    columns |= dict(potential=potential(most, least))
    return pd.DataFrame(columns | dict(efficiency=efficiency(most, least, end - waited)))


def workers_of(placement: Placement) -> Workers:
    """The workers of a placement, see :func:`worker_metrics`."""
    problem = placement.problem
    device = placement.device
    cluster = problem.cluster
    k = problem.cluster.n_devices
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
    problem = schedule.problem
    moved = schedule.transfers
    source = moved["source"]
    destination = moved["destination"]
    took, used = (times(problem, moved["tensor"], source, destination) for times in (transfer_times, queue_times))
    busy = _device_work(problem, schedule)
    model = problem.transfer_model
    n_queues = model.number_of_queues(problem.cluster, problem.duplex)
    queues = model.occupied(source, destination, problem.cluster, problem.duplex) if n_queues else ()
    most = np.empty(len(workers.owns))
    least = np.empty(len(workers.owns))
    for w, own in enumerate(workers.owns):
        mine = own[source] | own[destination]
        most[w] = busy[own].sum() + took[mine].sum()
        carried = sum((np.bincount(queue[mine], used[mine], minlength=n_queues) for queue in queues), np.zeros(1))
        least[w] = max(busy[own].max(), carried.max(initial=0.0))
    return np.maximum(most, least), least  # sums in different orders


def _device_work(problem: Problem, schedule: Schedule) -> np.ndarray:
    """Seconds of ops and Sends on each device."""
    k = problem.cluster.n_devices
    ops = np.bincount(schedule.device, problem.exec_times(schedule.device), minlength=k)
    return ops + np.bincount(schedule.transfers["source"], minlength=k) * problem.transfer_ops / problem.cluster.speed


def ends(schedule: Schedule, workers: Workers) -> np.ndarray:
    """When each worker's last op or transfer ends [s], shape (n_workers,)."""
    end = np.zeros(schedule.problem.cluster.n_devices)
    moved = schedule.transfers
    np.maximum.at(end, schedule.device, schedule.finish)
    np.maximum.at(end, moved["source"], moved["finish"])
    np.maximum.at(end, moved["destination"], moved["finish"])
    return np.where(workers.owns, end, 0.0).max(axis=1)


def waits(schedule: Schedule, workers: Workers) -> np.ndarray:
    """Seconds before each worker's end in which it waits for others [s], shape (n_workers,); see :func:`worker_metrics`."""
    problem = schedule.problem
    sends = schedule.sends
    moved = schedule.transfers
    source = moved["source"]
    destination = moved["destination"]
    start, finish = (
        np.concatenate([getattr(schedule, label), sends[label], moved[label]]) for label in ("start", "finish")
    )
    pace = np.ones(len(start))
    if problem.transfer_model.shared:
        alone = transfer_times(problem, moved["tensor"], source, destination)
        took = moved["finish"] - moved["start"]
        np.divide(alone, took, out=pace[len(start) - len(moved) :], where=took > alone)
    order = np.argsort(np.concatenate([start, finish]), kind="stable")
    time = np.concatenate([start, finish])[order]
    change = np.concatenate([pace, -pace])[order]
    passed = np.diff(time, prepend=0.0)
    waited = np.empty(len(workers.owns))
    for w, own in enumerate(workers.owns):
        mine = np.concatenate([own[schedule.device], own[sends["source"]], own[source] | own[destination]])
        mine = np.tile(mine, 2)[order]
        n = len(mine) - int(mine[::-1].argmax())  # events up to its last one
        running = np.cumsum(np.where(mine[: n - 1], change[: n - 1], 0.0)).clip(max=1.0)
        waited[w] = min(passed[0] + ((1.0 - running) * passed[1:n]).sum(), time[n - 1])
    return waited


def lateness(schedule: Schedule, workers: Workers) -> np.ndarray:
    """How much later than the first worker each has computed an iteration [s], at most, shape (n_workers,).

    Computing are forward and backward ops of a job, all ops of other graphs.
    """
    graph = schedule.problem.graph
    role, iteration = (replica_column(graph, label) for label in ("role", "iteration"))
    if role is None or iteration is None:
        ops = np.arange(graph.n_ops)
        step = np.zeros(graph.n_ops, int)
    else:
        roles = enumerate(graph.metadata["replica"].get("roles", ()))
        ops = np.flatnonzero(np.isin(role, [i for i, name in roles if name in COMPUTING]))
        step = np.unique(iteration[ops], return_inverse=True)[1]
    done = np.full((len(workers.owns), step.max(initial=-1) + 1), -np.inf)
    for w, own in enumerate(workers.owns):
        mine = own[schedule.device[ops]]
        np.maximum.at(done[w], step[mine], schedule.finish[ops[mine]])
    first = np.where(done >= 0, done, np.inf).min(axis=0)
    return np.maximum(done - first, 0.0).max(axis=1, initial=0.0)


def efficiency(most: np.ndarray, least: np.ndarray, took: np.ndarray) -> np.ndarray:
    """E = (U − (t − w)) / (U − L) of workers that took t − w, waits left out; 1 where U = L up to rounding."""
    same = most <= least * (1 + ROUNDING)
    return np.where(same, 1.0, (most - np.clip(took, least, most)) / np.where(same, 1.0, most - least))


def potential(most: np.ndarray, least: np.ndarray) -> np.ndarray:
    """(U − L) / L of each worker; 0 where nothing takes time."""
    return (most - least) / np.where(least > 0, least, 1.0)


def straggling(end: np.ndarray) -> float:
    """(max t − min t) / max t over workers: the share of the step for which the first one waits; 0 where nothing takes time."""
    last = float(end.max())
    return (last - float(end.min())) / last if last > 0 else 0.0


def arrival_skew(schedule: Schedule) -> pd.DataFrame:
    """How far apart the workers of an all-reduce job are ready for each bucket.

    Parameters
    ----------
    schedule
        Of a graph of :func:`placelab.transforms.model_replica` with ``sync="allreduce"``, or of
        :func:`placelab.transforms.pipeline_replica`.

    Returns
    -------
    DataFrame
        A row per iteration and bucket, in seconds: ``earliest`` and ``latest``, when the first and the last worker has computed
        the bucket's gradients; ``skew``, their difference; ``end``, when the last worker has the sum; ``worker``, the name of
        the last one as in :func:`placelab.worker_metrics`, "" where all are ready at once. O(n_ops + n_edges).

    Raises
    ------
    UnsupportedError
        The graph has no buckets.

    References
    ----------
    Hashemi et al. (2018) §2.2: workers should reach the synchronisation of each parameter simultaneously.
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "arrival_skew")
    graph = schedule.problem.graph
    replica = graph.metadata.get("replica", {})
    if "bucket" not in replica or len(replica["bucket"]) != graph.n_ops:
        raise UnsupportedError(
            f"{graph.title} has no buckets of gradients; make it with transforms.model_replica(…, sync='allreduce')"
        )
    role, iteration, bucket = (np.array(replica[key]) for key in ("role", "iteration", "bucket"))
    number = {name: i for i, name in enumerate(replica["roles"])}
    of_model = np.isin(role, [number["backward"], number["step"]])
    ready = role == number["ready"]
    part = np.isin(role, [number["ready"], number["reduce"], number["gather"]])
    wanted = np.where(ready[graph.consumer], of_model[graph.producer], True)  # a stream's bucket before is no gradient
    arrival = np.zeros(graph.n_ops)  # the latest finish of each op's inputs
    np.maximum.at(arrival, graph.consumer[wanted], schedule.finish[graph.producer[wanted]])
    found = pd.DataFrame({"iteration": iteration[ready], "bucket": bucket[ready], "at": arrival[ready]})
    arrivals = found.groupby(["iteration", "bucket"])["at"]
    rows = arrivals.agg(earliest="min", latest="max")
    ends = pd.DataFrame({"iteration": iteration[part], "bucket": bucket[part], "end": schedule.finish[part]})
    rows["skew"] = rows["latest"] - rows["earliest"]
    rows["end"] = ends.groupby(["iteration", "bucket"])["end"].max()
    workers = workers_of(schedule.placement)
    owner = workers.owns[:, schedule.device[ready]].argmax(axis=0)[arrivals.idxmax()]
    rows["worker"] = np.where(rows["skew"] > 0, np.array(workers.names, object)[owner], "")
    return rows.reset_index()
