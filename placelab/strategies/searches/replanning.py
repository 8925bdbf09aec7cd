"""List scheduling once more, by what a plan has shown: how long it takes from each op to the end, and where its consumers ran."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import by_falling, path_computation_time, rounded
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement

MOST = 5_000_000  # ops · devices up to which a table with a row for each op is no burden
TYPICAL = 1e6  # bytes of a transfer by which links are compared


def replanned(problem: Problem, device: np.ndarray, random: np.random.Generator | None = None) -> Placement:
    r"""Put each op anew where its way to the end is shortest, if its consumers ran where they are in the given placement.

    .. math:: p_v = \arg\min_d EFT(v, d) + \max_{s \in succ(v)} (trans(\tau, d, p'_s) + PCT'(s))

    By falling PCT, both of the given placement p'. HEFT knows only the mean transfer in its rank, and nothing about what follows
    in its choice; here both are those of a plan that exists. With `random` each score is up to the mean time of an op larger,
    so that another plan comes of the same placement. O(edges · devices) beside the list scheduling.
    """
    rank, _ = path_computation_time(problem, device, transfers=False)
    order, _ = by_falling(rounded(rank))
    rest = _rest(problem, device, rank)
    if random is not None:
        rest = frozen(rest + random.uniform(0.0, problem.exec_times(device).mean(), len(rest)))
    return in_order(problem, order, aim=plan_arrays.aim(extra=rest))


def _rest(problem: Problem, device: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Seconds from the end of each op to that of the plan, if it ran on each device: of op v on device d at v * k + d."""
    graph = problem.graph
    k = problem.cluster.n_devices
    network = plan_arrays.network(problem)
    rest = np.zeros((graph.n_ops, k))
    ptr = graph.succ_ptr
    sends = np.flatnonzero(ptr[1:] > ptr[:-1])
    if len(sends):
        to = device[graph.consumer]
        after = rank[graph.consumer]
        for d in range(k):
            link = d * k + to
            ways = network.delay[link] + graph.edge_bytes / network.bandwidth[link] + after
            rest[sends, d] = np.maximum.reduceat(ways, ptr[sends])
    return frozen(rest.reshape(-1))


def nearest_halves(cluster: Cluster) -> list[np.ndarray]:
    """Half of the devices, a quarter, and so on down to two: the fastest one with those that it exchanges most quickly with.

    On a machine whose hosts are joined by slower links than devices within one, that is a host, then a part of it.
    """
    speed = cluster.speed
    first = int(np.argmax(speed))
    way = _ways(cluster)[first]
    near = np.lexsort((-speed, way))
    sizes: list[int] = []
    size = len(speed) // 2
    while size >= 2:
        sizes.append(size)
        size //= 2
    return [np.sort(near[:size]) for size in sizes]


def _ways(cluster: Cluster) -> np.ndarray:
    """Seconds of a typical transfer to each device from each, and back; 0 within one."""
    there = cluster.latency + TYPICAL / cluster.bandwidth
    np.fill_diagonal(there, 0.0)
    return there + there.T


def part_of(problem: Problem, devices: np.ndarray) -> Problem:
    """The problem on some of its devices.

    Raises
    ------
    FormatError, InfeasibleError
        Some op can run on none of them.
    """
    cluster = problem.cluster
    among = np.ix_(devices, devices)
    kept = [tuple(values[d] for d in devices) for values in (cluster.names, cluster.types, cluster.hosts)]
    part = Cluster(
        cluster.speed[devices],
        memory=cluster.memory[devices],
        bandwidth=cluster.bandwidth[among],
        latency=cluster.latency[among],
        names=kept[0],
        types=kept[1],
        hosts=kept[2],
    )
    return problem.replace(cluster=part)
