"""The longest path on the fastest device; each other op on the device of least load."""

from __future__ import annotations

from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.plan import unit_by_unit as kernels
from placelab.planning import plan_arrays
from placelab.planning.capacity import Assignment
from placelab.planning.ranks import by_speed, operations, operations_before, rounded
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASONS = (
    "on the critical path, which the fastest device with room for all of it runs",
    "on the critical path, which no device can hold; the fastest one with room",
    "least load with it",
)


@partitioner(source="Mayer et al. 2017 §3.2.2, eq. 7")
def critical_path(
    problem: Problem, *, order: Literal["topological", "random"] = "topological", seed: int = 0, trace: bool = False
) -> Placement:
    r"""The critical path to the fastest device, every other op to the device of least load.

    The path ends at the sink of largest :math:`down(v) + c_v` and goes back through the predecessors that attain the
    maximum in :math:`down(v) = \max_u (down(u) + c_u)`. It goes to the fastest device that may run and can hold all
    of it; if there is none, op by op from its source on, each to the fastest device with room. Each other op goes to

    .. math:: \arg\min_d \left( \sum_{p(u) = d} c_u + c_v \right) / s_d .

    Parameters
    ----------
    order
        In which the other ops are placed: ``"topological"``, or ``"random"`` by `seed`, which gives the paper's
        variance.

    Notes
    -----
    Ties: sinks, predecessors and devices by number; ranks are compared :func:`~placelab.planning.ranks.rounded`. Groups as one
    op of their summed compute; a group with a member on the path is on it. Measured times stand for :math:`c_v / s_d` in the
    load where there are any. The published code ranks with mean transfers and speeds, leaves c_v out of eq. 7, and on
    spilling skips every second device; this follows the paper. O(ops × devices + edges).
    """
    assignment = Assignment(problem, trace)
    graph = problem.graph
    n = assignment.units.n
    n_ops = graph.n_ops
    k = problem.cluster.n_devices
    queue = np.arange(n) if order == "topological" else np.random.default_rng(seed).permutation(n)
    done = rounded(operations_before(graph) + operations(graph))
    placed = kernels.critical_path(
        *(*assignment.arguments, assignment.units.of),
        *(plan_arrays.predecessors(graph), plan_arrays.successors(graph), assignment.times),
        *(frozen(done), by_speed(problem), frozen(queue.astype(np.int32))),
        blocks.PathWork(np.zeros(n_ops, np.int32), np.zeros(n, np.uint8), np.zeros(k)),
    )
    return assignment.placement(placed, REASONS, "load with it [s]")
