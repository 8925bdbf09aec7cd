"""Approximation ratios: computed by hand, given only where they are proven, and kept by the strategies they hold for."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import problems
import pytest
from brute_force import optimum
from examples import fewer

import placelab as pl
from placelab.planning.lower_bounds import claim, sct_ratio

FORK = pl.OpGraph.from_arrays(["u", "a", "b"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[1, 1])
PROVEN = [name for name in ("etf", "m-etf", "sct", "m-sct") if name in pl.partitioners()]
PLAIN = dict(
    transfers=("parallel",), memory=("none",), transfer_ops=(0,), groups=False, restricted=False, identical=True
)


def on(graph: pl.OpGraph, devices: int, bandwidth: float = 1.0, **rules) -> pl.Problem:
    """The graph on equal devices."""
    return pl.Problem(graph, pl.Cluster([1.0] * devices, bandwidth=bandwidth), **rules)


def test_ratios_by_hand():
    """ρ = 1, m = 2: 2 + 1 - 1/2, 7/3 - 4/6, 4/3; ρ = 1/2: 2 + 1/2 - 1/2, 5.5/2.5 - 3/5, 3/2.5."""
    far = pl.ratios(on(FORK, 2))
    near = pl.ratios(on(FORK, 2, bandwidth=2.0))
    assert (far["etf"], far["sct"], far["sct, infinite machines"]) == pytest.approx((2.5, 5 / 3, 4 / 3))
    assert (near["etf"], near["sct"], near["sct, infinite machines"]) == pytest.approx((2.0, 1.6, 1.2))
    assert far["m-etf"] == far["etf"] and far["m-sct"] == far["sct"]


def test_one_device_leaves_no_choice():
    """On one device every order takes equally long, so all ratios are 1 for any ρ."""
    assert set(pl.ratios(on(FORK, 1, bandwidth=1e-3)).values()) == {1.0}


def test_beyond_the_sct_assumption_only_etf_is_left():
    """ρ = 4: ETF's ratio grows with ρ, the others are not proven; and with ρ = ∞ nothing is."""
    assert pl.ratios(on(FORK, 4, bandwidth=0.25)) == {"etf": 5.75, "m-etf": 5.75}
    instant = pl.OpGraph.from_arrays(["a", "b"], [0, 1], [(0, 1)], edge_bytes=[1])
    assert pl.ratios(on(instant, 2)) == {}


@pytest.mark.parametrize(
    "change",
    [
        dict(cluster=pl.Cluster([1.0, 2.0])),
        dict(cluster=pl.Cluster([1.0] * 3, bandwidth=[[1, 1, 2], [1, 1, 1], [1, 1, 1]])),
        dict(cluster=pl.Cluster([1.0, 1.0], latency=[[0, 1], [0.5, 0]])),
        dict(transfers="sequential"),
        dict(transfers="channel"),
        dict(transfer_ops=1.0),
        dict(groups=[("u", "a")]),
        dict(allowed={"a": ["dev0"]}),
    ],
)
def test_nothing_is_proven_beyond_the_assumptions(change):
    """Uneven devices or links, contention, Send ops, groups or restrictions: each alone leaves no ratio."""
    assert pl.ratios(on(FORK, 2).replace(**change)) == {}


def test_measured_times_are_identical_where_the_numbers_are():
    """A time table with equal columns counts as identical devices."""
    timed = lambda b: pl.OpGraph.from_arrays(["a", "b"], [np.nan] * 2, [], time={"x": [3.0, 1.0], "y": [3.0, b]})  # noqa: E731
    two = pl.Cluster([1.0, 5.0], types=["x", "y"])
    assert pl.ratios(pl.Problem(timed(1.0), two))["etf"] == 1.5
    assert pl.ratios(pl.Problem(timed(2.0), two)) == {}


def test_memory_leaves_the_published_ratio_of_m_sct():
    """K = 3, m = 2, ρ = 1: 5/3 + (1 + 2/3)/2 under ``reserved``; none under other models, nor with K ≤ 1."""
    graph = pl.OpGraph.from_arrays(["u", "a", "b"], [1] * 3, [(0, 1), (0, 2)], edge_bytes=[1, 1], memory=[1, 1, 2])
    limited = lambda size, model: pl.Problem(graph, pl.Cluster([1.0] * 2, memory=[size] * 2), memory=model)  # noqa: E731
    assert pl.ratios(limited(3.0, "reserved")) == {"m-sct": pytest.approx(5 / 3 + (1 + 2 / 3) / (6 / 4 - 1))}
    assert pl.ratios(limited(2.0, "reserved")) == {}
    assert pl.ratios(limited(1.0, "dynamic")) == {}
    assert pl.ratios(limited(6.0, "reserved"))["m-sct"] == pytest.approx(5 / 3 + (1 + 2 / 3) / (12 / 4 - 1))


def test_a_ratio_stands_in_the_notes_of_the_plan():
    """Notes have a ratio only with default options, for ρ ≤ 1, and from the partitioner for which it is proven."""
    assert claim(on(FORK, 2), "heft") is None
    assert claim(on(FORK, 2, bandwidth=0.25), "etf") is None
    sentence = "proven: the planned order takes at most 2.5 times the optimum (etf, ρ = 1)"
    assert claim(on(FORK, 2), "etf") == sentence
    assert pl.place(on(FORK, 2), "heft").notes == ()
    for name in PROVEN:
        assert any(note.startswith("proven: ") for note in pl.place(on(FORK, 2), name).notes), name


@pytest.mark.parametrize(
    "asked", [dict(preview=True), dict(cancel=lambda: True), dict(threshold=0.1)], ids=lambda asked: next(iter(asked))
)
def test_nothing_is_proven_of_a_stand_in(asked):
    """A preview, a stopped search and Baechi's rounding have no proven ratio."""
    for name in [name for name in PROVEN if "sct" in name]:
        assert not any(note.startswith("proven: ") for note in pl.place(on(FORK, 2), name, **asked).notes)


def test_what_is_proven_of_one_problem_does_not_follow_to_another():
    """A placement keeps its bound and notes on its own problem and loses them on another one."""
    placed = replace(pl.place(on(FORK, 2), "single"), bound=3.0, notes=("proven: it is so",))
    assert pl.simulate(placed.problem, placed, "fifo").placement.bound == 3.0
    other = pl.simulate(on(FORK, 2, bandwidth=0.5), placed, "fifo").placement
    assert (other.bound, other.notes) == (None, ())


@pytest.mark.parametrize("name", PROVEN)
def test_no_plan_is_further_from_the_optimum_than_proven(name):
    """Against every placement and order of small problems: ETF's ratio for any ρ, the others' for ρ ≤ 1."""
    checked = 0
    for problem in problems.many(120, seed=61, ops=6, devices=3, **PLAIN):
        if name in (known := pl.ratios(problem)):
            assert planned(problem, name) <= known[name.removeprefix("m-")] * optimum(problem) * (1 + 1e-9)
            checked += 1
    assert checked > (fewer(80) if "etf" in name else fewer(15))


@pytest.mark.parametrize("name", [name for name in PROVEN if "sct" in name])
def test_sct_keeps_its_ratio_at_every_rho(name):
    """Random graphs with transfers scaled to ρ from 0.2 to 1, where the assumption just holds."""
    for (rho, problem), m in product(short_transfers(count=12), (2, 3)):
        limited = problem.replace(cluster=pl.Cluster([1.0] * m, bandwidth=1.0))
        assert sct_ratio(limited) == pytest.approx(rho)
        assert planned(limited, name) <= pl.ratios(limited)["sct"] * optimum(limited) * (1 + 1e-9)


@pytest.mark.skipif("m-sct" not in PROVEN, reason="the partitioner m-sct is not there")
def test_the_published_ratio_of_m_sct_fails_where_memory_is_indivisible():
    """Two small ops are spread, so a third of 4 units fits on no device, though a placement exists."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0] * 3, [], memory=[1, 1, 4])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[4.0, 4.0]), memory="reserved")
    assert "m-sct" in pl.ratios(problem)
    with pytest.raises(pl.InfeasibleError, match="'c'"):
        pl.partitioners()["m-sct"](problem)
    assert pl.validate(pl.simulate(problem, pl.Placement(problem, [0, 0, 1]), "fifo")) == []


def short_transfers(count: int):
    """(ρ, problem): random problems of at most 6 ops whose longest transfer takes ρ of the shortest op."""
    limits = PLAIN | dict(ops=6, devices=2, zero=False, time_table=False)
    for i, problem in enumerate(problems.many(count, seed=62, **limits)):
        rho = (0.2, 0.5, 0.8, 1.0)[i % 4]
        graph = problem.graph
        if graph.n_edges and graph.edge_bytes.max() > 0:
            scale = rho * graph.compute.min() / graph.edge_bytes.max()
            yield rho, on(graph.replace(tensor_bytes=graph.tensor_bytes * scale), 2)


def planned(problem: pl.Problem, name: str) -> float:
    """Makespan of the partitioner's plan, in a run that the validator accepts."""
    schedule = pl.solve(problem, name, "planned")
    assert pl.validate(schedule) == []
    return schedule.makespan
