"""Minimum cut: as few bytes between devices as possible, equal work on each; the model the thesis argues against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.kernels.blocks import UnitLinks
from placelab.kernels.plan.unit_by_unit import settle_parts
from placelab.planning.capacity import Assignment, Units
from placelab.planning.ranks import mean_exec, mean_transfer, relative_speed
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement

if TYPE_CHECKING:
    from scipy.sparse import csr_array

REASONS = ("in this device's part of the cut", "its part's device may not or cannot hold it; cut off least there")
WHOLE = 2**26  # weights become whole numbers that add up to about this much


@partitioner(
    name="min-cut", source="Srivastava 2018 §3.3.1; Karypis, Kumar 1998 (METIS)", packages=("scipy", "pymetis")
)
def min_cut(
    problem: Problem,
    *,
    balance: Literal["compute", "memory"] = "compute",
    imbalance: Annotated[float, Limits(0.001, 1000)] = 0.03,
    seed: int = 0,
    trace: bool = False,
) -> Placement:
    r"""Balanced minimum cut: the least transfer time between devices that work in proportion to their speed.

    .. math:: \min_p \sum_{\{a, b\}: p_a \ne p_b} c_{ab} \quad \text{with} \quad
              \sum_{a: p_a = d} w_a \le (1 + \varepsilon) \, \frac{s_d}{\sum_e s_e} \sum_a w_a

    What it does not see is *when* anything happens. Two chains of four ops of 1 s, linked by tensors that take 1 s from
    ``a0`` to ``b0`` and from ``a3`` to ``b3``, as all tensors do. On two devices both cuts below give each device four ops
    and cut two tensors, but in the second one device begins when the other has done half its work (Thesis Fig. 3.1)::

        a0 → a1 → a2 → a3      by chain:  {a0 a1 a2 a3} {b0 b1 b2 b3}   makespan 6 s
        ↓              ↓
        b0 → b1 → b2 → b3      by time:   {a0 a1 b0 b1} {a2 a3 b2 b3}   makespan 7 s

    Parameters
    ----------
    balance
        w is an op's time (:func:`placelab.planning.ranks.mean_exec`), the target
        :func:`placelab.planning.ranks.relative_speed`; or its ``memory`` as the ``reserved`` model
        counts it, the target the device's capacity (equal where one is unlimited).
    imbalance
        ε, what METIS may exceed a target by, in thousandths.

    Notes
    -----
    METIS bisects the units, colocation groups and single ops, as the devices are bisected in the middle, and so on; hosts of
    equal size are cut apart first. :math:`c_{ab}` is the mean transfer time, over all pairs of devices, of the tensors
    between a and b. METIS cuts edges, while a tensor travels once per device: one that several ops read is an edge to each
    of them, counted several times where they share a device. Weights are rounded to whole numbers.

    METIS ignores allowed devices and capacities. Its parts are assigned to devices so that the work that may not run where
    it is, and the work beyond a target, is least (ties: part d to device d). Then each unit that still may not run where it
    is, or has no room, goes to the device with the strongest edges to it (ties: the lower). Of the links only the mean
    counts. Nearly linear in (ops + edges) log devices, plus devices³.
    """
    assignment = Assignment(problem, trace)
    weight, share = _balanced(problem, assignment.units, balance)
    links = unit_links(problem, assignment.units)
    part = _parts(links, weight, share, imbalance, seed)
    home = _devices(assignment, part, weight, share, imbalance)[part].astype(np.int32)
    rows = frozen(links.indptr.astype(np.int32))
    neighbours = frozen(links.indices.astype(np.int32))
    edges = UnitLinks(rows, neighbours, frozen(links.data))
    placed = settle_parts(*assignment.arguments, frozen(home), edges, np.zeros(problem.cluster.n_devices))
    return assignment.placement(placed, REASONS, "transfers cut [s]")


def unit_links(problem: Problem, units: Units) -> csr_array:
    """Mean transfer time [s] of the tensors between two units, each once per unit that reads it; symmetric, 0 diagonal."""
    need("scipy.sparse")
    from scipy.sparse import csr_array

    graph = problem.graph
    n = units.n
    latency, per_byte = mean_transfer(problem)
    maker = units.of[graph.producer]
    reader = units.of[graph.consumer]
    _, once = np.unique(graph.edge_tensor.astype(np.int64) * n + reader, return_index=True)
    once = once[maker[once] != reader[once]]
    links = csr_array((latency + graph.edge_bytes[once] * per_byte, (maker[once], reader[once])), shape=(n, n))
    links = (links + links.T).tocsr()
    links.eliminate_zeros()  # what costs nothing to cut is no edge
    links.sort_indices()
    return links


def _balanced(problem: Problem, units: Units, balance: str) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each unit, and each device's share of the weight."""
    if balance == "compute":
        return units.total(mean_exec(problem)), relative_speed(problem)
    capacity = problem.cluster.memory
    limited = np.isfinite(capacity).all() and capacity.sum() > 0
    return units.total(problem.graph.memory), capacity if limited else np.ones(len(capacity))


def _parts(links: csr_array, weight: np.ndarray, share: np.ndarray, imbalance: float, seed: int) -> np.ndarray:
    """Device of each unit by recursive bisection of the units and of the devices, in the middle; shape (n_units,)."""
    part = np.zeros(len(weight), dtype=np.int32)
    devices = np.flatnonzero(share > 0)
    levels = np.ceil(np.log2(max(len(devices), 2)))
    thousandths = max(round(((1 + imbalance) ** (1 / levels) - 1) * 1000), 1)
    left = [(np.arange(len(weight)), devices)]
    while left:
        units, devices = left.pop()
        if len(units) <= 1 or len(devices) == 1:
            part[units] = devices[np.argmax(share[devices])]
            continue
        halves = np.array_split(devices, 2)
        target = share[halves[0]].sum() / share[devices].sum()
        second = _bisect(links[units][:, units], weight[units], target, thousandths, seed)
        left += [(units[~second], halves[0]), (units[second], halves[1])]
    return part


def _bisect(links: csr_array, weight: np.ndarray, target: float, thousandths: int, seed: int) -> np.ndarray:
    """Whether each vertex is in METIS' second part, where the first is to have the share `target` of the weight."""
    need("pymetis")
    import pymetis

    whole = pymetis.zero_copy_dtype()
    options = pymetis.Options(seed=seed % 2**31, ufactor=thousandths)
    target = min(max(target, 1e-6), 1 - 1e-6)
    _, part = pymetis.part_graph(
        2,
        pymetis.CSRAdjacency(links.indptr.astype(whole), links.indices.astype(whole)),
        vweights=_whole(weight).astype(whole),
        eweights=_whole(links.data).astype(whole),
        tpwgts=[target, 1 - target],
        options=options,
    )
    return np.asarray(part) == 1


def _whole(weight: np.ndarray) -> np.ndarray:
    """Weights as whole numbers of at least 1, as METIS requires, in proportion; all 1 where they are all 0."""
    total = weight.sum()
    return np.maximum(np.rint(weight * (WHOLE / total)), 1) if total > 0 else np.ones(len(weight))


def _devices(
    assignment: Assignment, part: np.ndarray, weight: np.ndarray, share: np.ndarray, imbalance: float
) -> np.ndarray:
    """Device of each part, shape (n_devices,): least weight where it may not run or beyond the target; itself at a tie."""
    need("scipy.optimize")
    from scipy.optimize import linear_sum_assignment

    k = len(share)
    weight = _whole(weight) / WHOLE
    allowed = np.broadcast_to(assignment.needs.allowed.reshape(-1, k), (len(part), k))
    load = np.bincount(part, weight, minlength=k)[:, None]
    may = np.stack([np.bincount(part, weight * column, minlength=k) for column in allowed.T], axis=1)
    over = np.maximum(load - load.sum() * share / share.sum() * (1 + imbalance), 0.0)
    return linear_sum_assignment(load - may + over - 1e-9 * np.eye(k))[1]
