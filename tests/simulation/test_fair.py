"""Transfers share links max-min fairly: worked examples, and what the model is equal to when nothing, or one port, is shared."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from problems import many, placement
from reference_fair import fair_rates

import placelab as pl
from placelab.analysis.explanation import why
from placelab.app.widgets.gantt_chart import gantt_traits

PAIRS = [(d, d + 3) for d in range(3)]  # three flows, each between two devices of its own


def sent(flows, *, devices=6, links=None, bandwidth=2.0, latency=0.0, **options):
    """Transfers of ops that end at given times: flows are (source, destination, bytes, time at which the bytes are there)."""
    n = len(flows)
    edges = [(i, n + i) for i in range(n)]
    size = [flow[2] for flow in flows]
    time = [[float(flow[3]) for flow in flows] + [0.0] * n]
    names = [f"op{i}" for i in range(2 * n)]
    graph = pl.OpGraph.from_arrays(names, time[0], edges, edge_bytes=size)
    cluster = pl.Cluster([1.0] * devices, bandwidth=bandwidth, latency=latency, links=links)
    problem = pl.Problem(graph, cluster, transfers="fair", **options)
    where = [flow[0] for flow in flows] + [flow[1] for flow in flows]
    schedule = pl.simulate(problem, pl.Placement(problem, where), "fifo")
    assert pl.validate(schedule) == []
    return schedule


def finishes(*arguments, **options):
    """When the transfers of :func:`sent` end."""
    return sent(*arguments, **options).transfers["finish"].tolist()


def test_two_flows_share_what_lies_between_their_devices():
    """4 and 2 bytes at 1 byte/s each; when the short one is there, the long one has the 2 bytes/s of the pair for its rest."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"], [0.0] * 3, [(0, 1), (0, 2)], edge_output=[0, 1], edge_bytes=[4.0, 2.0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=2.0), transfers="fair")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 1]), "fifo")
    assert schedule.transfers["start"].tolist() == [0.0, 0.0] and schedule.transfers["finish"].tolist() == [3.0, 2.0]


def test_two_flows_share_an_uplink():
    """Between four devices, on one link of 3 bytes/s: 1.5 bytes/s each from 1 on, when the first has 2 of 5 bytes."""
    uplink = {"uplink": (3.0, [(0, 3), (1, 4)])}
    assert finishes([(0, 3, 5.0, 0), (1, 4, 3.0, 1)], links=uplink) == [3.0, 3.0]
    assert finishes([(0, 3, 5.0, 0), (1, 4, 3.0, 1)]) == [2.5, 2.5]


def test_three_flows_on_two_links():
    """One flow uses both links and is held to 1 byte/s by the narrow one; the flow beside it on the wide one has the other 3.

    When that has its 3 bytes, at 1, nothing changes, for the narrow link is still full; the other two end at 4.
    """
    links = {"narrow": (2.0, [(0, 3), (1, 4)]), "wide": (4.0, [(0, 3), (2, 5)])}
    assert finishes([(0, 3, 4.0, 0), (1, 4, 4.0, 0), (2, 5, 3.0, 0)], links=links, bandwidth=8.0) == [4.0, 4.0, 1.0]


def test_three_flows_of_which_one_leaves_bandwidth_to_the_others():
    """Of 6 bytes/s the first flow can use 1, its own pair's; the others have 2.5 each, and after 2 s the last has its own 4."""
    bandwidth = np.full((6, 6), 4.0)
    bandwidth[0, 3] = 1.0
    links = {"switch": (6.0, PAIRS)}
    flows = [(0, 3, 4.0, 0), (1, 4, 5.0, 0), (2, 5, 13.0, 0)]
    assert finishes(flows, links=links, bandwidth=bandwidth) == [4.0, 2.0, 4.0]


def test_latency_comes_first_and_takes_no_bandwidth():
    """Bytes share a link after 1 s of latency; before, others have it. What has no bytes, or an infinite link, takes latency."""
    links = {"uplink": (2.0, [(0, 3), (1, 4)])}
    flows = [(0, 3, 4.0, 0), (1, 4, 1.0, 1), (2, 5, 0.0, 1)]
    assert finishes(flows, links=links, latency=1.0) == [3.5, 3.0, 2.0]
    assert finishes([(0, 3, 4.0, 0)], bandwidth=np.inf, latency=1.0) == [1.0]
    assert finishes([(0, 3, 4.0, 0)], bandwidth=np.inf, links=links, latency=1.0) == [3.0]


@pytest.mark.parametrize("seed", range(40))
def test_equals_parallel_when_no_two_transfers_meet(seed):
    """To the last bit, if under ``parallel`` no two transfers of a pair of devices are under way at once and latencies hold."""
    for problem in many(40, seed=seed, transfers=["parallel"], latency=["holds"], ops=8):
        where = placement(Random(seed).randint, problem)
        plain = pl.simulate(problem, where, "fifo")
        moved = np.sort(plain.transfers, order=["source", "destination", "start"])
        same = (moved["source"][1:] == moved["source"][:-1]) & (moved["destination"][1:] == moved["destination"][:-1])
        if not (same & (moved["start"][1:] < moved["finish"][:-1])).any():
            shared = pl.simulate(problem.replace(transfers="fair"), where, "fifo")
            for column in ("start", "finish", "transfers", "sends"):
                np.testing.assert_array_equal(getattr(shared, column), getattr(plain, column))


@pytest.mark.parametrize("seed", range(20))
def test_ends_with_sequential_when_one_port_is_shared(seed):
    """No latency, one port that all transfers pass, as wide as the links, requests that wait for no transfer: the last one ends
    at the same time, because either way the port is never idle while bytes wait for it."""
    pick = Random(seed)
    flows = [(0, pick.randint(1, 4), float(pick.randint(1, 9)), pick.randint(0, 3)) for _ in range(12)]
    fair = sent(flows, devices=5, links={"port": (2.0, [(0, "*")])})
    one = pl.simulate(fair.problem.replace(transfers="sequential"), fair.placement, "fifo")
    assert fair.transfers["finish"].max() == pytest.approx(one.transfers["finish"].max(), rel=1e-12)
    assert fair.transfers["start"].tolist() != one.transfers["start"].tolist()


def test_rates_are_max_min_fair():
    """Each flow has a link that is full and on which no flow is faster; no link carries more than it can."""
    for i, problem in enumerate(many(200, seed=9, transfers=["fair"])):
        pick = Random(i).randint
        cluster = problem.cluster
        k = cluster.n_devices
        flows = {(a, b): pick(1, 3) for a in range(k) for b in range(k) if a != b and pick(0, 1)}
        rate = fair_rates(cluster, flows)
        ways = [(cluster.bandwidth[pair], {pair}) for pair in flows]
        ways += [(link.bandwidth, set(link.pairs) & flows.keys()) for link in cluster.links]
        load = [sum(flows[pair] * rate[pair] for pair in used) for _, used in ways]
        assert all(carried <= width * (1 + 1e-9) for (width, _), carried in zip(ways, load, strict=True))
        for pair in flows:
            assert any(
                carried >= width * (1 - 1e-9) and rate[pair] >= max(rate[other] for other in used) * (1 - 1e-9)
                for (width, used), carried in zip(ways, load, strict=True)
                if pair in used
            )


def test_the_validator_finds_transfers_that_are_too_quick_or_too_slow():
    """A transfer that ends elsewhere, or all at the rate of the link as if each were alone."""
    links = {"uplink": (3.0, [(0, 3), (1, 4), (2, 5)])}
    schedule = sent([(0, 3, 5.0, 0), (1, 4, 3.0, 1), (2, 5, 2.0, 0)], links=links)
    late = schedule.start + 9.0 * (schedule.start > 1)
    moved = schedule.transfers

    def faults(finish):
        changed = moved.copy()
        changed["finish"] = finish
        found = pl.validate(
            replace(schedule, start=late, finish=late + (schedule.finish - schedule.start), transfers=changed)
        )
        return {violation.kind for violation in found}

    assert faults(moved["finish"]) == set()
    assert faults(moved["finish"] + [0.0, 0.01, 0.0]) == faults(moved["finish"] - [0.0, 0.01, 0.0]) == {"contention"}
    assert faults(moved["start"] + [2.5, 1.5, 1.0]) == {"contention"}
    assert faults(moved["start"] + 0.1) == {"contention", "transfer time"}


def test_the_busiest_link_is_a_bound():
    """The bytes of all pairs that share a link, at its bandwidth; or of one pair, at its own."""
    schedule = sent([(0, 3, 5.0, 0), (1, 4, 3.0, 0)], links={"uplink": (2.0, [(0, "*"), (1, "*")])})
    assert pl.bounds(schedule.problem, schedule.placement)["busiest_link"] == 4.0 == schedule.makespan
    apart = sent([(0, 3, 5.0, 0), (1, 4, 3.0, 0)])
    assert pl.bounds(apart.problem, apart.placement)["busiest_link"] == 2.5 == apart.makespan


def test_the_chart_knows_shared_links_where_transfers_share():
    """Names and pairs, for the lanes of links; none under a model that does not know them."""
    schedule = sent([(0, 3, 5.0, 0)], links={"card": (2.0, [(0, 3), (1, 4)])})
    assert gantt_traits(schedule)["shared_links"] == [{"name": "card", "pairs": [[0, 3], [1, 4]]}]
    plain = pl.simulate(schedule.problem.replace(transfers="parallel"), schedule.placement, "fifo")
    assert gantt_traits(plain)["shared_links"] == []


def test_an_explanation_names_those_that_share():
    """On the critical path and for an op: how much longer than alone its transfer took, and who was on which link."""
    schedule = sent([(0, 3, 5.0, 0), (1, 4, 3.0, 0), (2, 5, 1.0, 0)], links={"uplink": (2.0, [(0, "*"), (1, "*")])})
    path = pl.critical_path(schedule)
    assert path["reason"][0] == "transfer dev0 → dev3, 1.5 longer than alone: shared with op1 on uplink"
    assert why(schedule, "op3").endswith("from dev0 (transfer 4, 1.5 longer than alone: shared with op1 on uplink)")
    assert why(schedule, "op5").endswith("from dev2 (transfer 0.5)")
