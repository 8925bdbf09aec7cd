"""Compute cheap lower bounds on the makespan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placelab.base.errors import expect
from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.kernels.plan import ranks as kernels
from placelab.planning.favourite_child import infinite_machine_bound
from placelab.planning.plan_arrays import successors
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement


def bounds(problem: Problem, placement: Placement | None = None, *, lp: bool = False) -> dict[str, float]:
    r"""Lower bounds on the makespan, in seconds, by name; the largest is the best.

    Of every schedule of the problem:

    - ``critical_path``: the longest path when each op takes its least time and transfers take none,
      :math:`\max_{v_1 \to \ldots \to v_j} \sum_i \min_d exec(v_i, d)`;
    - ``total_work``: :math:`\sum_v c_v / \sum_d s_d`; with measured times or restricted ops
      :math:`\sum_v \min_d exec(v, d) / m` with m devices;
    - ``lp`` (on request, seconds at 22,000 ops): the makespan on any number of machines of SCT's linear program with the least
      exec over devices and the least transfer over links (:func:`placelab.planning.favourite_child.infinite_machine_bound`).
      Absent where it is no bound: when some transfer takes longer than some op.

    Of every schedule of `placement`, the busiest resource of each kind:

    - ``busiest_device``: the time its ops, and with ``transfer_ops`` its Sends, take;
    - ``busiest_channel`` (``channel`` transfers only): the time an ordered pair of devices carries transfers;
    - ``busiest_port`` (``sequential`` only): the time a device's port does; in and out are one port, two with ``duplex``; a
      latency that follows (:class:`placelab.Problem`) counts for neither;
    - ``busiest_link`` (``fair`` only): the time that the bytes on a link between two devices, or on a shared one, take together.

    Parallel transfers do not queue, so links are no bound under ``parallel``.

    Notes
    -----
    O(ops + edges), where ops are restricted O(ops × devices); with a placement also O(edges log edges). Memory is left out.
    ``lp`` is at least ``critical_path``: its paths include a share of the transfers, because no placement avoids all of them.

    References
    ----------
    Topcuoglu et al. (2002) §5 (critical path at least costs); Hashemi et al. (2018) §1 (busiest resource); Hanen, Munier
    (1995) (linear program).

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], []), pl.Cluster([1.0, 1.5]))
    >>> bounds(problem)
    {'critical_path': 2.0, 'total_work': 2.0}
    """
    expect(problem, Problem, "bounds")
    least = least_exec(problem)
    limits = {"critical_path": critical_length(problem, least), "total_work": _total_work(problem, least)}
    if lp and (least_makespan := infinite_machine_bound(problem)) is not None:
        limits["lp"] = least_makespan
    if placement is not None:
        expect(placement, Placement, "bounds")
        if placement.problem is not problem:
            placement = replace(placement, problem=problem, bound=None, notes=())
        limits |= busiest(problem, placement.device, *transfers_of(problem, placement.device))
    return limits


def best_bound(problem: Problem) -> float:
    """The largest of the problem's :func:`bounds` [s]."""
    return max(bounds(problem).values())


@once
def least_exec(problem: Problem) -> np.ndarray:
    """Least time of each op over the devices it may run on [s], shape (n_ops,)."""
    if problem.restricted:
        return frozen(problem.exec_table(otherwise=np.inf).min(axis=1))
    fastest = np.zeros(problem.columns)
    np.maximum.at(fastest, problem.column, problem.divisor)
    return frozen((problem.cost_table / fastest).min(axis=1))


def critical_length(problem: Problem, weight: np.ndarray) -> float:
    """Length of the longest path when ops weigh `weight` and edges nothing."""
    graph, rank = problem.graph, np.empty(problem.graph.n_ops)
    kernels.upward(frozen(weight), successors(graph), 0.0, 0.0, rank)
    return float(rank.max())


def _total_work(problem: Problem, least: np.ndarray) -> float:
    if problem.graph.time is None and not problem.restricted:
        return float(problem.graph.compute.sum() / problem.cluster.speed.sum())
    return float(least.sum() / problem.cluster.n_devices)


def transfers_of(problem: Problem, device: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(tensor, destination) of the transfers that a placement needs: one per tensor and device, however many consumers."""
    graph, k = problem.graph, problem.cluster.n_devices
    moves = device[graph.producer] != device[graph.consumer]
    key = np.unique(graph.edge_tensor[moves].astype(np.int64) * k + device[graph.consumer[moves]])
    return key // k, key % k


def busiest(problem: Problem, device: np.ndarray, tensor: np.ndarray, destination: np.ndarray) -> dict[str, float]:
    """Seconds that the busiest resource of each kind is in use under a placement with these transfers."""
    cluster, k = problem.cluster, problem.cluster.n_devices
    source = device[problem.graph.tensor_producer[tensor]]
    work = np.bincount(device, problem.exec_times(device), minlength=k)
    work += np.bincount(source, minlength=k) * problem.transfer_ops / cluster.speed
    limits = {"busiest_device": float(work.max())}
    model, queues = problem.transfer_model, problem.transfer_model.queues(k, problem.duplex)
    if queues:
        ends, used = (
            model.occupied(source, destination, k, problem.duplex),
            queue_times(problem, tensor, source, destination),
        )
        busy = sum((np.bincount(end, used, minlength=queues) for end in ends), np.zeros(queues))
        limits[f"busiest_{model.queue}"] = float(busy.max())
    for link in cluster.links if model.shared else ():
        size, (here, there) = np.zeros((k, k)), np.array(link.pairs).T
        np.add.at(size, (source, destination), problem.graph.tensor_bytes[tensor])
        limits["busiest_link"] = max(limits["busiest_link"], float(size[here, there].sum() / link.bandwidth))
    return limits


def transfer_times(problem: Problem, tensor: np.ndarray, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Seconds each transfer takes once it runs; where links are shared, alone."""
    cluster, size = problem.cluster, problem.graph.tensor_bytes[tensor]
    bandwidth = cluster.narrowest if problem.transfer_model.shared else cluster.bandwidth
    return cluster.latency[source, destination] + size / bandwidth[source, destination]


def queue_times(problem: Problem, tensor: np.ndarray, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Seconds for which each transfer keeps others from its port or channel; of a shared link those of its bytes alone."""
    if problem.latency == "holds" and not problem.transfer_model.shared:
        return transfer_times(problem, tensor, source, destination)
    return problem.graph.tensor_bytes[tensor] / problem.cluster.bandwidth[source, destination]
