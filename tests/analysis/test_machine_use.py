"""How much devices and links are used: seconds and bytes add up to what a schedule has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import placed

import placelab as pl
from placelab.analysis.measures import covered, device_use, link_load, link_use


def test_two_tensors_on_one_way_at_once_count_once():
    """By hand: from 1 to 3 and to 5 under `parallel`, 4 seconds and 6 bytes; the receiver computes for 2 of 7."""
    graph = pl.OpGraph.from_arrays(["a", "x", "y"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=[2.0, 4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 1.0], bandwidth=1.0), memory="dynamic")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 1]))
    (used,) = link_use(schedule)
    assert (used.name, used.pairs, used.busy, used.carried) == ("", {("dev0", "dev1")}, 4.0, 6.0)
    assert link_load(schedule)[0, 1] == 4.0 / schedule.makespan
    use = device_use(schedule)
    assert use["dev1"][:2] == (2.0, schedule.makespan - 2.0) and use["dev2"] == (0.0, schedule.makespan, 0.0)
    assert use["dev0"][2] == schedule.peak_memory[0]


def test_a_shared_link_stands_for_the_ways_over_it():
    """Under `fair`, a bus of all pairs is one row; another model has no shared links, and a row per way."""
    graph = pl.OpGraph.from_arrays(["a", "x", "y"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=[2.0, 2.0])
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, links={"bus": (1.0, pairs)})
    names = {}
    for model in ("fair", "parallel"):
        problem = pl.Problem(graph, cluster, transfers=model)
        used = link_use(pl.simulate(problem, pl.Placement(problem, [0, 1, 2])))
        names[model] = [(link.name, len(link.pairs), link.busy, link.carried) for link in used]
    assert names == {"fair": [("bus", 6, 4.0, 4.0)], "parallel": [("", 1, 2.0, 2.0)] * 2}


def test_a_shared_link_counts_what_goes_over_it_alone():
    """Its pairs have a direction, what goes elsewhere has a row of its own, and a link that carries nothing has none."""
    graph = pl.OpGraph.from_arrays(["a", "x", "y"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=[2.0, 3.0])
    links = {"bus": (1.0, [(0, 1)]), "idle": (1.0, [(2, 1)])}
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0, links=links), transfers="fair")
    used = link_use(pl.simulate(problem, pl.Placement(problem, [0, 1, 2])))
    assert [(link.name, link.pairs, link.carried) for link in used] == [
        ("bus", {("dev0", "dev1")}, 2.0),
        ("", {("dev0", "dev2")}, 3.0),
    ]


def test_a_link_is_free_while_the_latency_only_follows():
    """Where it holds the link, it is busy for 2 seconds of bytes and 5 of latency; where it follows, for 2."""
    graph = pl.OpGraph.from_arrays(["a", "x"], [1.0] * 2, [(0, 1)], edge_bytes=[2.0])
    cluster = pl.Cluster([1.0] * 2, bandwidth=1.0, latency=5.0)
    for rule, busy in (("holds", 7.0), ("follows", 2.0)):
        problem = pl.Problem(graph, cluster, latency=rule)
        schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]))
        assert [link.busy for link in link_use(schedule)] == [busy]
        assert link_load(schedule)[0, 1] == busy / schedule.makespan


def test_a_run_that_takes_no_time_keeps_no_link_busy():
    """No share of nothing is divided."""
    graph = pl.OpGraph.from_arrays(["a", "x"], [0.0] * 2, [(0, 1)], edge_bytes=[0.0])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=1.0))
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]))
    assert schedule.makespan == 0 and not link_load(schedule).any()


def test_no_device_is_idle_for_less_than_nothing():
    """By rounding, 0.1 + 0.7 + 0.2 s of ops are longer than a run of them in another order."""
    graph = pl.OpGraph.from_arrays(list("abc"), [0.1, 0.7, 0.2], [])
    problem = pl.Problem(graph, pl.Cluster([1.0]))
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 0, 0]), "depth-first")
    ((busy, idle, _),) = device_use(schedule).values()
    assert busy > schedule.makespan and idle == 0


@given(placed())
def test_no_second_and_no_byte_is_lost(placement):
    """Busy and idle make up the makespan; what links carry is what is moved; none is busier than the run is long."""
    schedule = pl.simulate(placement.problem, placement)
    for busy, idle, _ in device_use(schedule).values():
        assert busy + idle == pytest.approx(schedule.makespan)
    links = link_use(schedule)
    size = placement.problem.graph.tensor_bytes[schedule.transfers["tensor"]].sum()
    if len({pair for link in links for pair in link.pairs}) == sum(len(link.pairs) for link in links):
        assert sum(link.carried for link in links) == pytest.approx(size)
    assert all(0 <= link.busy <= schedule.makespan * (1 + 1e-9) for link in links)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 5)), max_size=12))
def test_spans_that_overlap_count_once(spans):
    """As many seconds as there are seconds in any of a key's spans."""
    key, start, length = np.array(spans, int).reshape(-1, 3).T
    seconds = covered(key, start.astype(float), (start + length).astype(float), 3)
    for k in range(3):
        inside = {s for i, b, n in spans if i == k for s in range(b, b + n)}
        assert seconds[k] == pytest.approx(len(inside))
