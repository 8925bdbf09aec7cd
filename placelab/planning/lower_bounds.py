"""Compute cheap lower bounds on the makespan, and approximation ratios of partitioners whose assumptions a problem meets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from placelab.base.errors import expect
from placelab.base.index_arrays import frozen
from placelab.base.once import computed, once
from placelab.kernels.plan import ranks as kernels
from placelab.planning.favourite_child import infinite_machine_bound
from placelab.planning.input_bound import input_bound, least_exec, witness
from placelab.planning.memory_plan import can_bind
from placelab.planning.plan_arrays import successors, total
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import checked
from placelab.schedule.placement import Placement

if TYPE_CHECKING:
    import pandas as pd


@overload
def bounds(
    problem: Problem,
    placement: Placement | None = None,
    *,
    inputs: bool = ...,
    lp: bool = ...,
    why: Literal[False] = ...,
) -> dict[str, float]: ...


@overload
def bounds(
    problem: Problem, placement: Placement | None = None, *, inputs: bool = ..., lp: bool = ..., why: Literal[True]
) -> pd.DataFrame: ...


@checked
def bounds(
    problem: Problem, placement: Placement | None = None, *, inputs: bool = False, lp: bool = False, why: bool = False
) -> dict[str, float] | pd.DataFrame:
    r"""Lower bounds on the makespan, in seconds, by name; the largest is the best.

    Of every schedule of the problem:

    - ``critical_path``: the longest path when each op takes its least time and transfers take none,
      :math:`\max_{v_1 \to \ldots \to v_j} \sum_i \min_d exec(v_i, d)`;
    - ``total_work``: :math:`\sum_v c_v / \sum_d s_d`; with measured times or restricted ops
      :math:`\sum_v \min_d exec(v, d) / m` with m devices;
    - ``inputs`` (on request, 20 ms at 5,000 ops, 0.1 s at 25,000): an input is awaited, or its producer shares the device with
      the op that reads it (:func:`placelab.planning.input_bound.windows`); at least the two above, and the only one that knows
      transfers and takes no solver. With ``why`` a table is returned instead, which proves it:
      :func:`placelab.planning.input_bound.witness`;
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
    Without ``inputs`` and ``lp`` O(ops + edges), where ops are restricted O(ops × devices), with a placement also O(edges log
    edges). Memory is left out.
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
    if why:
        return witness(problem)
    least = least_exec(problem)
    limits = {"critical_path": critical_length(problem, least), "total_work": _total_work(problem, least)}
    if inputs:
        limits["inputs"] = input_bound(problem)
    if lp and (least_makespan := infinite_machine_bound(problem)) is not None:
        limits["lp"] = least_makespan
    if placement is not None:
        expect(placement, Placement, "bounds")
        if placement.problem is not problem:
            placement = replace(placement, problem=problem, bound=None, notes=())
        limits |= busiest(problem, placement.device, *transfers_of(problem, placement.device))
    return limits


@once
def best_bound(problem: Problem) -> float:
    """The largest of the problem's :func:`placelab.bounds` but ``lp`` [s], worked out once: 0.1 s at 25,000 ops."""
    return max(bounds(problem, inputs=True).values())


def known_bounds(problem: Problem) -> dict[str, float]:
    """The :func:`bounds` of a problem that take no time: ``inputs`` only after :func:`best_bound`, else the cheap ones [s]."""
    return bounds(problem, inputs=is_proven(problem))


def is_proven(problem: Problem) -> bool:
    """Whether :func:`best_bound` is known, so that asking for it takes no time."""
    return computed(best_bound, problem) is not None


def critical_length(problem: Problem, weight: np.ndarray) -> float:
    """Length of the longest path when ops weigh `weight` and edges nothing."""
    graph = problem.graph
    rank = np.empty(problem.graph.n_ops)
    kernels.upward(frozen(weight), successors(graph), 0.0, 0.0, rank)
    return float(rank.max())


def _total_work(problem: Problem, least: np.ndarray) -> float:
    if problem.graph.time is None and not problem.restricted:
        return total(problem.graph.compute) / total(problem.cluster.speed)
    return total(least) / problem.cluster.n_devices


def transfers_of(problem: Problem, device: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(tensor, destination) of the transfers that a placement needs: one per tensor and device, however many consumers."""
    graph = problem.graph
    k = problem.cluster.n_devices
    moves = device[graph.producer] != device[graph.consumer]
    key = np.unique(graph.edge_tensor[moves].astype(np.int64) * k + device[graph.consumer[moves]])
    return key // k, key % k


def busiest(problem: Problem, device: np.ndarray, tensor: np.ndarray, destination: np.ndarray) -> dict[str, float]:
    """Seconds that the busiest resource of each kind is in use under a placement with these transfers."""
    cluster = problem.cluster
    k = problem.cluster.n_devices
    source = device[problem.graph.tensor_producer[tensor]]
    work = np.bincount(device, problem.exec_times(device), minlength=k)
    work += np.bincount(source, minlength=k) * problem.transfer_ops / cluster.speed
    limits = {"busiest_device": float(work.max())}
    model = problem.transfer_model
    queues = problem.transfer_model.number_of_queues(cluster, problem.duplex)
    if queues:
        ends = model.occupied(source, destination, cluster, problem.duplex)
        used = queue_times(problem, tensor, source, destination)
        busy = sum((np.bincount(end, used, minlength=queues) for end in ends), np.zeros(queues))
        limits[f"busiest_{model.queue}"] = float(busy.max())
    for link in cluster.links if model.shared else ():
        size = np.zeros((k, k))
        here, there = np.array(link.pairs).T
        np.add.at(size, (source, destination), problem.graph.tensor_bytes[tensor])
        limits["busiest_link"] = max(limits["busiest_link"], float(size[here, there].sum() / link.bandwidth))
    return limits


def transfer_times(problem: Problem, tensor: np.ndarray, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Seconds each transfer takes once it runs; where links are shared, alone."""
    cluster = problem.cluster
    size = problem.graph.tensor_bytes[tensor]
    bandwidth = cluster.narrowest if problem.transfer_model.shared else cluster.bandwidth
    return cluster.latency[source, destination] + size / bandwidth[source, destination]


def queue_times(problem: Problem, tensor: np.ndarray, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Seconds for which each transfer keeps others from its port or channel; of a shared link those of its bytes alone."""
    if problem.latency == "holds" and not problem.transfer_model.shared:
        return transfer_times(problem, tensor, source, destination)
    return problem.graph.tensor_bytes[tensor] / problem.cluster.bandwidth[source, destination]


def ratios(problem: Problem) -> dict[str, float]:
    r"""Proven approximation ratios that apply to a problem: makespan of the planned schedule over the optimum, at most.

    With m devices, ρ the :func:`~placelab.planning.lower_bounds.sct_ratio` and K the memory of all
    devices over the memory that all ops need:

    - ``etf``, ``m-etf``: :math:`2 + ρ - 1/m`, for any finite ρ;
    - ``sct``: :math:`α = \frac{4 + 3ρ}{2 + ρ} - \frac{2 + 2ρ}{m (2 + ρ)}`, for ρ ≤ 1, as the two below;
    - ``sct, infinite machines``: :math:`\frac{2 + 2ρ}{2 + ρ}`, of the rounded LP's schedule when devices abound;
    - ``m-sct``: :math:`α + \left(1 + \frac{2 + 2ρ}{(2 + ρ) m}\right) \frac{1}{K - 1}`, as published, for K > 1.

    Returns
    -------
    dict
        Empty unless devices are identical, links uniform and ``parallel``, transfers without Send ops, and no op is grouped
        or restricted. Where memory may bind (:func:`placelab.planning.memory_plan.can_bind`) only ``m-sct``, and that only under
        ``reserved``, the model it was published for.

    Notes
    -----
    They hold for default options and the ``planned`` scheduler. O(ops).

    The published proof of ``m-sct`` treats memory as divisible. On two devices of 4 units each, three ops of 1, 1 and 4 units
    (K = 4/3) that cost the same and share no edge have a placement, but m-SCT spreads the first two, and the third
    fits nowhere. So it is a ratio only where no device was excluded for want of memory, and there ``sct``'s holds too.

    References
    ----------
    Hwang, Chow, Anger, Lee (1989) (ETF); Hanen, Munier (1995) (SCT); Srivastava (2018) §4.2–4.3, Theorem 4.1. The thesis
    writes that ETF's ratio is 3 "when ρ approaches 2": 1 is meant.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["u", "a", "b"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[1, 1])
    >>> for name, most in ratios(pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1))).items():
    ...     print(f"{name}: {most:.3g}")
    etf: 2.5
    m-etf: 2.5
    sct: 1.67
    sct, infinite machines: 1.33
    m-sct: 1.67
    """
    expect(problem, Problem, "ratios")
    rho = sct_ratio(problem)
    m = problem.cluster.n_devices
    ratio: dict[str, float] = {}
    if not _is_uniform(problem) or rho == np.inf:
        return ratio
    binds = can_bind(problem)
    if not binds:
        ratio |= dict.fromkeys(("etf", "m-etf"), 2 + rho - 1 / m)
    if rho > 1:
        return ratio
    infinite = (2 + 2 * rho) / (2 + rho)
    sct = (4 + 3 * rho) / (2 + rho) - infinite / m
    if not binds:
        ratio |= {"sct": sct, "sct, infinite machines": infinite}
    k = _memory_ratio(problem, binds)
    if k > 1:
        ratio["m-sct"] = sct + (1 + infinite / m) / (k - 1)
    return ratio


def claim(problem: Problem, partitioner: str) -> str | None:
    """The proven ratio of a partitioner's plan, as a sentence; None where none applies, or where ρ > 1."""
    plain = partitioner.removeprefix("m-")  # with room for everything, m-SCT is SCT
    if plain not in ("etf", "sct") or can_bind(problem) or (rho := sct_ratio(problem)) > 1:
        return None
    most = ratios(problem).get(plain)
    sentence = f"proven: the planned order takes at most {{:.3g}} times the optimum ({partitioner}, ρ = {rho:.3g})"
    return None if most is None else sentence.format(most)


def sct_ratio(problem: Problem) -> float:
    """ρ = longest transfer of a tensor between two devices over the shortest op on a device it may run on.

    0 when nothing is ever sent or a transfer takes no time; inf when an op takes no time and a transfer some.
    """
    graph = problem.graph
    cluster = problem.cluster
    if not graph.n_edges or cluster.n_devices == 1:
        return 0.0
    longest = float((cluster.latency + graph.edge_bytes.max() / cluster.bandwidth).max())  # 0 on the diagonal
    shortest = float(least_exec(problem).min())
    if longest == 0.0:
        return 0.0
    return longest / shortest if shortest > 0 else np.inf


def _is_uniform(problem: Problem) -> bool:
    """Whether every ratio's assumptions hold: equal devices, equal links, unrestricted ops, and no queues for links."""
    cluster = problem.cluster
    free = not problem.restricted and not problem.n_groups
    plain = not problem.transfer_model.queue and not problem.transfer_ops
    apart = ~np.eye(cluster.n_devices, dtype=bool)
    links = all((matrix[apart] == matrix[0, -1]).all() for matrix in (cluster.latency, cluster.bandwidth))
    return bool(free and plain and links and _are_identical(problem))


def _are_identical(problem: Problem) -> bool:
    """Whether every op takes as long on each device."""
    if (problem.divisor != problem.divisor[0]).any():
        return False
    table = problem.cost_table
    return bool((table == table[:, :1]).all())


def _memory_ratio(problem: Problem, binds: bool) -> float:
    """K of :func:`ratios`; inf where memory cannot bind, 0 where m-SCT's ratio does not cover the memory model."""
    if problem.memory == "none" or (not binds and problem.memory != "reserved"):
        return np.inf
    memory = problem.cluster.memory
    needed = problem.graph.memory.sum()
    if problem.memory != "reserved" or not (memory == memory[0]).all():
        return 0.0
    return float(memory.sum() / needed) if needed else np.inf
