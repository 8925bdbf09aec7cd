"""The brute-force optimum, against which bounds and solvers are tested, is exact."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from brute_force import optimum
from problems import many
from reference_simulator import simulate

from placelab.base.errors import InfeasibleError
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


def least_makespan(problem: Problem) -> float:
    """Try every placement and every order of the ops, without pruning."""
    n = problem.graph.n_ops
    makespans = []
    for device in product(*(problem.feasible(v) for v in range(n))):
        try:
            placement = Placement(problem, device)
        except InfeasibleError:  # a group apart
            continue
        for order in permutations(range(n)):
            if all(order.index(u) < order.index(v) for u, v in problem.graph.edges.tolist()):
                makespans.append(simulate(placement, Order("planned", np.array(order))).makespan)
    return min(makespans)


def test_fork_of_unit_costs_takes_three():
    """u → {a, b}, all times and transfers 1: 3, on two devices or one."""
    fork = OpGraph.from_arrays(["u", "a", "b"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[1, 1])
    assert optimum(Problem(fork, Cluster([1, 1], bandwidth=1))) == 3
    assert optimum(Problem(fork, Cluster([1], bandwidth=1))) == 3


def test_equals_enumeration_without_pruning():
    """Pruning and the order of appending lose nothing: groups, restrictions and zero-time ops included."""
    limits = dict(ops=4, devices=3, transfers=["parallel"], memory=["none"], transfer_ops=[0])
    for problem in many(80, seed=1, **limits):
        assert optimum(problem) == pytest.approx(least_makespan(problem), rel=1e-12)
