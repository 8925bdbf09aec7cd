"""Lower bounds never exceed the optimum, and reach it on problems where they should."""

from __future__ import annotations

import numpy as np
import problems
import pytest
from brute_force import optimum
from examples import fewer

import placelab as pl
from placelab.planning.lower_bounds import least_exec


def test_no_bound_is_above_the_optimum():
    """Compared with every placement and order of small problems with groups, restrictions and measured times."""
    for problem in problems.many(
        150, seed=31, ops=6, devices=3, transfers=("parallel",), memory=("none",), transfer_ops=(0,)
    ):
        best = optimum(problem)
        for name, bound in pl.bounds(problem).items():
            assert bound <= best * (1 + 1e-9), name


def test_the_linear_program_is_a_bound_where_it_is_given():
    """With groups, restrictions, uneven devices and links, and transfers of up to a third of an op or a whole one."""
    given = 0
    tighter = 0
    limits = dict(transfers=("parallel",), memory=("none",), transfer_ops=(0,), zero=False)
    uneven = problems.many(80, seed=33, ops=6, devices=3, **limits)
    even = problems.many(80, seed=34, ops=7, devices=3, identical=True, time_table=False, groups=False, **limits)
    for i, problem in enumerate([*uneven, *even]):
        short = with_transfers_of(problem, (0.3, 1.0)[i % 2])
        found = pl.bounds(short, lp=True)
        if "lp" in found:
            assert found["critical_path"] * (1 - 1e-9) <= found["lp"] <= optimum(short) * (1 + 1e-9)
            given += 1
            tighter += found["lp"] > max(found["critical_path"], found["total_work"]) * (1 + 1e-9)
    assert given > fewer(60) and tighter > 0


def with_transfers_of(problem: pl.Problem, ratio: float) -> pl.Problem:
    """The problem with tensors scaled so that the largest takes `ratio` of the shortest op on the fastest link."""
    graph = problem.graph
    rate = problem.cluster.bandwidth
    fastest = rate[np.isfinite(rate)].max(initial=1.0)  # the diagonal is infinite
    scale = ratio * least_exec(problem).min() * fastest / max(graph.tensor_bytes.max(initial=0.0), 1e-9)
    same = dict(cluster=problem.cluster.replace(latency=0.0), groups=problem.groups)
    return problem.replace(graph=graph.replace(tensor_bytes=graph.tensor_bytes * scale * (1 - 1e-12)), **same)


def test_the_linear_program_by_hand():
    """u feeds a and b, all times are 1: w = 2.5 at x = ½; with longer transfers or one device there is no bound."""
    fork = pl.OpGraph.from_arrays(["u", "a", "b"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[1, 1])
    on = lambda m, bandwidth: pl.Problem(fork, pl.Cluster([1.0] * m, bandwidth=bandwidth))  # noqa: E731
    assert pl.bounds(on(2, 1.0), lp=True)["lp"] == pytest.approx(2.5)
    assert "lp" not in pl.bounds(on(2, 1.0))
    assert "lp" not in pl.bounds(on(2, 0.9), lp=True)
    assert "lp" not in pl.bounds(on(1, 1.0), lp=True)


def test_no_bound_of_a_placement_is_above_a_run_of_it():
    """Bounds by busiest device, channel, port and link, under every transfer model, with and without Send ops, in any order."""
    seen = set()
    for i, problem in enumerate(problems.many(300, seed=32)):
        placement = pl.place(problem.replace(memory="none"), "random", seed=i)
        schedule = pl.simulate(problem, placement, "random", seed=i)
        bounds = pl.bounds(problem, placement)
        seen |= set(bounds)
        for name, bound in bounds.items():
            assert bound <= schedule.makespan * (1 + 1e-9), name
    assert seen == {"critical_path", "total_work", "busiest_device", "busiest_channel", "busiest_port", "busiest_link"}


def test_a_placement_of_another_graph_has_no_bounds_here():
    """A placement needs one device per op of the problem's graph."""
    small, large = (pl.Problem(pl.generators.fork_join(n), pl.Cluster.uniform(2)) for n in (2, 3))
    with pytest.raises(pl.FormatError, match="expected one for each of 5 ops"):
        pl.bounds(large, pl.place(small, "heft"))


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


def test_a_latency_that_follows_keeps_nothing_busy():
    """Two tensors of 2 bytes at 1 byte/s: a port and a channel are busy for 4 s, with 3 s of latency each for 10."""
    graph = pl.OpGraph.from_arrays(list("abc"), [0.0] * 3, [(0, 1), (0, 2)], edge_bytes=[2.0, 2.0])
    for transfers, kind in (("sequential", "port"), ("channel", "channel")):
        problem = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=1.0, latency=3.0), transfers=transfers)
        for rule, busy in (("holds", 10.0), ("follows", 4.0)):
            one = problem.replace(latency=rule)
            assert pl.bounds(one, pl.Placement(one, [0, 1, 1]))[f"busiest_{kind}"] == busy


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
