"""Lower bounds: never above what is possible, and tight where they should be."""

from __future__ import annotations

import numpy as np
import problems
import pytest
from brute_force import optimum

import placelab as pl


def test_no_bound_is_above_the_optimum():
    """Every placement, every order of small problems with groups, restrictions and measured times."""
    for problem in problems.many(
        150, seed=31, ops=6, devices=3, transfers=("parallel",), memory=("none",), transfer_ops=(0,)
    ):
        best = optimum(problem)
        for name, bound in pl.bounds(problem).items():
            assert bound <= best * (1 + 1e-9), name


def test_no_bound_of_a_placement_is_above_a_run_of_it():
    """Busiest device, channel and port, under every transfer model, with and without Send ops, in any order of ops."""
    seen = set()
    for i, problem in enumerate(problems.many(300, seed=32)):
        placement = pl.place(problem.replace(memory="none"), "random", seed=i)
        schedule = pl.simulate(problem, placement, "random", seed=i)
        bounds = pl.bounds(problem, placement)
        seen |= set(bounds)
        for name, bound in bounds.items():
            assert bound <= schedule.makespan * (1 + 1e-9), name
    assert seen == {"critical_path", "total_work", "busiest_device", "busiest_channel", "busiest_port"}


def test_bounds_by_hand():
    """a→b, both on dev0; c on dev1 reads a: each bound is counted by hand."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"], [4.0, 2.0, 6.0], [(0, 1), (0, 2)], edge_bytes=[3.0, 3.0], edge_output=[0, 0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0], bandwidth=1.0, latency=0.5), transfer_ops=1)
    placement = pl.Placement(problem, [0, 0, 1])
    assert pl.bounds(problem) == {"critical_path": 5.0, "total_work": 4.0}
    assert pl.bounds(problem, placement)["busiest_device"] == 7.0  # 4 + 2 and the Send's 1
    ports = pl.bounds(problem.replace(transfers="sequential"), placement)
    assert ports["busiest_port"] == 3.5
    assert "busiest_port" not in pl.bounds(problem, placement)
    assert pl.bounds(problem.replace(transfers="channel"), placement)["busiest_channel"] == 3.5


def test_a_port_is_busy_both_ways_unless_duplex():
    """dev1 receives 3 bytes and sends 2: five seconds of one port, three of two."""
    graph = pl.OpGraph.from_arrays(list("abc"), [0.0] * 3, [(0, 1), (1, 2)], edge_bytes=[3.0, 2.0])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3), transfers="sequential")
    placement = pl.Placement(problem, [0, 1, 2])
    assert pl.bounds(problem, placement)["busiest_port"] == 5.0
    assert pl.bounds(problem.replace(duplex=True), placement)["busiest_port"] == 3.0


def test_a_tensor_counts_once_per_device():
    """Two consumers on one device are one transfer of a channel, two devices are two."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"), [0.0] * 4, [(0, v) for v in (1, 2, 3)], edge_bytes=[2.0] * 3, edge_output=[0] * 3
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3), transfers="sequential")
    assert pl.bounds(problem, pl.Placement(problem, [0, 1, 1, 2]))["busiest_port"] == 4.0


def test_restricted_ops_and_measured_times_count_at_their_least():
    """With restrictions the work bound is Σ least exec / m, and a slow device that an op is tied to counts."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [4.0, 4.0], [], devices={0: ["dev0"]})
    assert pl.bounds(pl.Problem(graph, pl.Cluster([1.0, 4.0]))) == {"critical_path": 4.0, "total_work": 2.5}
    timed = pl.OpGraph.from_arrays(["a", "b"], [np.nan, np.nan], [], time={"x": [3.0, 1.0], "y": [2.0, 9.0]})
    assert pl.bounds(pl.Problem(timed, pl.Cluster([1.0, 1.0], types=["x", "y"]))) == {
        "critical_path": 2.0,
        "total_work": 1.5,
    }


def test_identical_ops_meet_the_work_bound():
    """Eight equal independent ops on four equal devices: round-robin is optimal, and the bound says so."""
    problem = pl.Problem(pl.OpGraph.from_arrays([f"op{v}" for v in range(8)], [3.0] * 8, []), pl.Cluster([1.0] * 4))
    assert pl.solve(problem, "round-robin", "fifo").makespan == pytest.approx(max(pl.bounds(problem).values()))
