"""Topological order within memory: the ops in order on one device until it has its share, then on the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.unit_by_unit import in_shares
from placelab.planning.capacity import Assignment, needs
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASONS = (
    "in order, on the device that is being filled",
    "the device that is being filled may not or cannot hold it; the next one that can",
)


@partitioner(source="Baechi 2020 §2.2, Srivastava 2018 §4.1.3")
def m_topo(problem: Problem, *, rule: Literal["memory", "count"] = "memory", trace: bool = False) -> Placement:
    r"""m-TOPO: ops in topological order on one device until it has its share, then on the next.

    Devices 1 … m are filled one after the other. Of n ops, of which op v needs :math:`q_v` bytes, device i is given ops

    .. math:: \text{memory:} & \text{ as long as it needs at most } \frac{\sum_v q_v}{m} + \max_v q_v \text{ bytes,} \\
              \text{count:} & \text{ until devices } 1 \ldots i \text{ have } \frac{i \, n}{m} \text{ ops together,}

    and in either case only as long as the next op has room there.

    Parameters
    ----------
    rule
        ``"memory"``: Baechi's, the same share of the memory for each device, with room for the largest op on top, so that
        m devices take all. ``"count"``: the thesis', the same number of ops.

    Notes
    -----
    q is what an op needs in the problem's memory model (:func:`placelab.planning.capacity.needs`), under ``none`` its memory as
    ``reserved`` counts it; where nothing needs any memory, ``memory`` is ``count``. A group counts as the sum of its ops and
    goes where its first op would. Devices by number. An op that the device being filled may not run, or that the last one
    has no room for, goes to the first device behind it, round the cluster, that can hold it. It does not advance the device
    being filled: the next ops still go there. O(ops), O(ops × devices) when devices are full.

    For the ``planned`` scheduler each device keeps the topological order (Baechi §2.2); there is no estimate. Tensors that
    wait for their consumers are not counted over time: a run may be short of memory; a note of the placement then says where.

    Departures: the papers' devices are all alike; "full" is by the static room check of planners without times.
    """
    assignment = Assignment(problem, trace)
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    own = assignment.units.total(_bytes(problem))
    share = own.sum() / k + own.max()
    counting = rule == "count" or share == 0
    if counting:
        own = assignment.units.total(np.ones(n))
        share = n / k
    placed = in_shares(*assignment.arguments, frozen(own), float(share), int(counting), np.empty(k))
    return replace(assignment.placement(placed, REASONS, "devices passed over"), planned=np.arange(n))


def _bytes(problem: Problem) -> np.ndarray:
    """Bytes that each op needs, shape (n_ops,)."""
    held, peak = needs(problem)
    return problem.graph.memory if problem.memory == "none" else held + peak
