"""The lane that says why no schedule is faster: its segments fill the time to the bound, and are those of the proof."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from explorer_hands import wait_for
from hypothesis import given
from problems import problems

import placelab as pl
from placelab.app.widgets.gantt_chart import MOST, Gantt, proof_of


@given(problems())
def test_segments_fill_the_time_to_the_bound(problem):
    """Without a hole, in order, from 0; each names an op of its steps; all of it is JSON."""
    proof = proof_of(problem)
    bound = pl.bounds(problem, inputs=True)["inputs"]
    assert json.dumps(proof, allow_nan=False)
    if bound == 0:
        return
    assert proof[0]["start"] == 0 and proof[-1]["finish"] == pytest.approx(bound)
    for before, after in itertools.pairwise(proof):
        assert before["finish"] == pytest.approx(after["start"])
    steps = pl.bounds(problem, why=True)
    named = {op for ops in steps.ops for op in ops}
    assert {str(problem.graph.names[op]) for each in proof for op in [each["op"], *each["ops"]]} <= named
    assert {each["kind"] for each in proof} <= {"compute", "transfer", "share", "work"}


def test_ops_of_a_scope_are_one_segment():
    graph = pl.OpGraph.from_arrays(["a/x", "a/y", "b/z"], [1.0, 2.0, 3.0], [(0, 1), (1, 2)])
    proof = proof_of(pl.Problem(graph, pl.Cluster([1.0, 1.0])))
    assert [(each["label"], each["start"], each["finish"], each["op"]) for each in proof] == [
        ("a", 0, 3, 1),
        ("z", 3, 6, 2),
    ]
    assert proof[0]["said"] == "2 ops of a run one after the other: at least 3, 0 to 3."
    assert [each["ops"] for each in proof] == [[0, 1], [2]]


def test_a_long_proof_is_short_enough_to_be_drawn():
    n = 4 * MOST
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)], [1.0 + v % 3 for v in range(n)], [(v, v + 1) for v in range(n - 1)]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0]))
    proof = proof_of(problem)
    assert len(proof) == MOST and proof[-1]["finish"] == pytest.approx(graph.compute.sum())


def test_the_proof_of_another_problem_is_not_shown():
    graph = pl.generators.fork_join(3)
    problem, other = (pl.Problem(graph, pl.Cluster([speed] * 2)) for speed in (1.0, 2.0))
    chart = Gantt.of(pl.solve(problem))
    chart.prove(other, proof_of(other))
    assert chart.proof == []
    chart.prove(problem, proof_of(problem))
    assert chart.proof
    chart.show(pl.solve(problem, "single"))
    assert chart.proof
    chart.show(pl.solve(other))
    assert chart.proof == []


def test_the_lane_of_a_plan_that_a_cheap_bound_proves_is_drawn():
    """Where the longest path alone proves the makespan nothing else asks for the bound that the lane shows."""
    explorer = pl.explore(pl.models.read("gpt2"), pl.costs.cluster("h100", 8), tab="Job")
    try:
        assert explorer.settled(60)
        explorer.tabs.panels["Job"].to_plan.click()
        assert explorer.settled(60)
        plan = pl.Plan(dp=8, zero=3)
        explorer.shared.change(lambda state: state.with_spread(replace(state.planned, plan=plan)))
        assert explorer.settled(60)
        wait_for(lambda: explorer.gantt.proof)
        assert explorer.gantt.proof[-1]["finish"] == pytest.approx(explorer.schedule.makespan)
    finally:
        explorer.close()
