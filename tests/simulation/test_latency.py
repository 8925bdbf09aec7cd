"""A latency holds its port or channel, or follows the bytes: worked examples, and where the two rules are one."""

from random import Random

import numpy as np
import pytest
from problems import many, placement

import placelab as pl
from placelab.analysis.explanation import why
from placelab.problem.resource_models import LATENCIES, TRANSFER_MODELS

BOTH = pytest.mark.parametrize("latency", LATENCIES)


def tensors(n: int, size: float) -> pl.OpGraph:
    """An op that takes no time and has a tensor for each of n others."""
    edges = [(0, i + 1) for i in range(n)]
    names = ["from", *(f"to {i}" for i in range(n))]
    return pl.OpGraph.from_arrays(names, [0.0] * (n + 1), edges, edge_bytes=[size] * n, edge_output=list(range(n)))


def sent(n=2, size=2.0, device=None, *, bandwidth=1.0, delay=3.0, links=None, scheduler="fifo", **rules):
    """The run in which the tensors travel from the first device to the second, or to those of `device`."""
    where = [0, *([1] * n if device is None else device)]
    cluster = pl.Cluster([1.0] * (max(where) + 1), bandwidth=bandwidth, latency=delay, links=links)
    problem = pl.Problem(tensors(n, size), cluster, **rules)
    schedule = pl.simulate(problem, pl.Placement(problem, where), scheduler)
    assert pl.validate(schedule) == []
    return schedule


def times(schedule: pl.Schedule) -> list[tuple[float, float]]:
    """Start and arrival of each transfer."""
    return list(zip(schedule.transfers["start"].tolist(), schedule.transfers["finish"].tolist(), strict=True))


@pytest.mark.parametrize(("transfers", "held"), [("channel", 20.8e-3), ("sequential", 20.8e-3), ("fair", 0.82e-3)])
def test_a_thousand_small_tensors(transfers, held):
    """10 kB each over 12.5 GB/s take 0.8 µs, and 20 µs of latency that follow them: all together .82 ms instead of 20.8."""
    network = dict(n=1000, size=1e4, bandwidth=12.5e9, delay=20e-6, transfers=transfers)
    assert sent(**network).makespan == pytest.approx(held, rel=1e-9)
    assert sent(**network, latency="follows").makespan == pytest.approx(0.82e-3, rel=1e-9)


@pytest.mark.parametrize(("transfers", "duplex"), [("channel", False), ("sequential", False), ("sequential", True)])
def test_the_next_transfer_leaves_when_the_bytes_have_left(transfers, duplex):
    """2 bytes at 1 byte/s and 3 s of latency: the second tensor leaves at 5, or at 2 where the latency follows."""
    rules = dict(transfers=transfers, duplex=duplex)
    assert times(sent(**rules)) == [(0.0, 5.0), (5.0, 10.0)]
    assert times(sent(**rules, latency="follows")) == [(0.0, 5.0), (2.0, 7.0)]


def test_a_port_that_receives_is_free_with_the_one_that_sends():
    """Half duplex, a → b → c with 2 bytes each: b's port is free at 2, but b ends at 5 and sends then; d's tensor leaves at 2."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [0.0] * 4, [(0, 1), (1, 2), (0, 3)], edge_bytes=[2.0] * 3)
    problem = pl.Problem(
        graph, pl.Cluster([1.0] * 3, bandwidth=1.0, latency=3.0), transfers="sequential", latency="follows"
    )
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 2, 1]), "fifo")
    assert sorted(times(schedule)) == [(0.0, 5.0), (2.0, 7.0), (5.0, 10.0)]


def test_bytes_of_a_fair_share_come_before_a_latency_that_follows():
    """4 and 1 bytes share 2 bytes/s and a link of 2 from their start on; what has no bytes, or no limit, takes the latency."""
    one = dict(device=[1, 1], bandwidth=2.0, delay=1.0, transfers="fair", latency="follows")
    assert times(sent(**one)) == [(0.0, 3.0), (0.0, 3.0)]
    assert times(sent(**one, size=0.0)) == [(0.0, 1.0), (0.0, 1.0)]
    assert times(sent(**one | dict(bandwidth=np.inf))) == [(0.0, 1.0), (0.0, 1.0)]
    uplink = {"uplink": (2.0, [(0, 1), (0, 2)])}
    assert times(sent(**one | dict(bandwidth=np.inf, device=[1, 2], links=uplink))) == [(0.0, 3.0), (0.0, 3.0)]


def test_unequal_latencies_share_from_the_start_where_they_follow():
    """The far flow takes its half of the link at once; where its latency comes first, the near one has the link alone until 2."""
    delay = np.array([[0.0, 0.0, 2.0]] * 3)
    both = dict(
        device=[1, 2], bandwidth=2.0, delay=delay, links={"card": (2.0, [(0, "*")])}, transfers="fair", size=4.0
    )
    assert times(sent(**both)) == [(0.0, 2.0), (0.0, 4.0)]
    assert times(sent(**both, latency="follows")) == [(0.0, 4.0), (0.0, 6.0)]


@pytest.mark.parametrize("transfers", ["channel", "sequential"])
def test_priorities_are_asked_when_the_link_is_free(transfers):
    """Three transfers wait; the highest priority goes when the bytes of the first have left, not when it has arrived."""

    @pl.scheduler(static=True)
    def last_first(problem: pl.Problem, placement: pl.Placement) -> pl.Order:
        return pl.Order("fifo", transfer=np.arange(problem.graph.n_tensors, dtype=float))

    schedule = sent(3, transfers=transfers, latency="follows", scheduler=last_first)
    assert times(schedule) == [(4.0, 9.0), (2.0, 7.0), (0.0, 5.0)]


def test_zero_bytes_hold_nothing():
    """Tensors of no bytes all leave at once where the latency follows, with and without priorities."""
    assert times(sent(3, 0.0, transfers="channel")) == [(0.0, 3.0), (3.0, 6.0), (6.0, 9.0)]
    assert times(sent(3, 0.0, transfers="channel", latency="follows")) == [(0.0, 3.0)] * 3
    assert times(sent(3, 0.0, transfers="sequential", latency="follows", scheduler="tic")) == [(0.0, 3.0)] * 3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_the_rules_are_one_where_no_latency_keeps_a_link(transfers, seed):
    """To the last bit: under ``parallel``, and under every model where there is no latency."""
    for problem in many(100, seed=seed, transfers=[transfers], latency=["holds"]):
        if transfers != "parallel":
            problem = problem.replace(cluster=problem.cluster.replace(latency=0.0))
        where = placement(Random(seed).randint, problem)
        one, other = (pl.simulate(problem.replace(latency=latency), where, "pct") for latency in LATENCIES)
        for column in ("start", "finish", "transfers", "sends"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@BOTH
@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_many_runs_follow_the_same_rule(transfers, latency):
    """`makespans` and `what_if` have, to the last bit, what a run of its own has."""
    graph = pl.generators.layered(40, seed=2)
    cluster = pl.Cluster([1e12, 2e12, 1e12], bandwidth=1e9, latency=5e-3)
    problem = pl.Problem(graph, cluster, transfers=transfers, latency=latency)
    plans = [pl.place(problem, "random", seed=seed) for seed in range(5)]
    devices = [plan.device for plan in plans]
    assert pl.makespans(problem, devices).tolist() == [pl.simulate(problem, p, "fifo").makespan for p in plans]
    schedule = pl.simulate(problem, plans[0], "fifo")
    links = pl.what_if(schedule, factor=2.0).query("what == 'link'")
    i, j = map(cluster.names.index, links["name"].iloc[0].split(" → "))
    bandwidth = cluster.bandwidth.copy()
    bandwidth[i, j] *= 2
    faster = problem.replace(cluster=cluster.replace(bandwidth=bandwidth))
    again = pl.simulate(faster, pl.Placement(faster, plans[0].device), "fifo")
    assert links["makespan"].iloc[0] == again.makespan


@pytest.mark.parametrize("transfers", ["channel", "sequential"])
def test_the_critical_path_goes_back_over_the_bytes_that_held_the_link(transfers):
    """The second transfer waited until 2, for the first one, which is on its way until 5."""
    schedule = sent(transfers=transfers, latency="follows")
    steps = pl.critical_path(schedule)[["kind", "start", "finish"]]
    assert steps.values.tolist()[-3:] == [["wait", 0.0, 2.0], ["transfer", 2.0, 7.0], ["op", 7.0, 7.0]]
    assert (
        why(schedule, "to 1") == "to 1 on dev1 waited 2 for from from dev0 (transfer 5, after 2 in line for the link)"
    )


def test_what_shares_a_link_is_known_by_its_bytes():
    """The bytes of the first flow are over at 4, when the second begins: they share nothing, though the first arrives at 7."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c", "d"], [0.0, 4.0, 0.0, 0.0], [(0, 2), (1, 3)], edge_bytes=[4.0, 4.0])
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, latency=3.0, links={"card": (1.0, [("*", 2)])})
    problem = pl.Problem(graph, cluster, transfers="fair", latency="follows")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 2, 2]), "fifo")
    assert times(schedule) == [(0.0, 7.0), (4.0, 11.0)]
    assert "shared" not in why(schedule, "d")


@BOTH
@pytest.mark.parametrize("transfers", ["channel", "sequential"])
@pytest.mark.parametrize("name", ["etf", "m-etf", "sct", "m-sct", "portfolio", "cp-sat"])
def test_planners_with_contention_plan_by_the_rule(name, transfers, latency):
    """What these plan is, in a job of small tensors, what the run takes; where the latency follows, it is shorter."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d", "e", "f"],
        [1.0, 1.0, 1.0, 4.0, 4.0, 4.0],
        [(0, 3), (1, 4), (2, 5)],
        edge_bytes=[0.5] * 3,
        devices={v: [f"dev{v // 3}"] for v in range(6)},
    )
    problem = pl.Problem(
        graph, pl.Cluster([1.0, 1.0], bandwidth=1.0, latency=6.0), transfers=transfers, latency=latency
    )
    plan = pl.place(problem, name)
    assert plan.estimate == pl.simulate(problem, plan, "planned").makespan == {"holds": 24.5, "follows": 19.5}[latency]
