"""The simulator reproduces plans: under ``parallel`` transfers the ``planned`` scheduler gives the planned makespan.

They agree to the last bit, for every partitioner with an estimate, except for three things that a plan omits:
Send ops occupy their device (``transfer_ops`` > 0); transfers that queue (``sequential``, ``channel``) queue in the order of
their requests; and an order does not say that an op waits for memory, so such an op starts at once when the order is replayed.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import problems
import pytest
from hypothesis import given, settings

import placelab as pl
from placelab.problem.resource_models import MEMORY_MODELS

FREE = dict(transfers=("parallel",), transfer_ops=(0,))


def planned(problem, name):
    """The placement, if the partitioner supports the problem and plans it."""
    with suppress(pl.InfeasibleError, pl.UnsupportedError):
        placement = pl.place(problem, name)
        if placement.estimate is not None:
            return placement
    return None


@pytest.mark.parametrize("name", pl.partitioners())
def test_the_planned_makespan_is_the_simulated_one(name):
    """On random problems without memory limits."""

    @settings(max_examples=10 if pl.partitioners()[name].slow else 60)
    @given(problem=problems.problems(ops=9, memory=("none",), **FREE))
    def on_any(problem):
        if (placement := planned(problem, name)) is not None:
            assert pl.simulate(problem, placement, "planned").makespan == placement.estimate

    on_any()


def test_ops_of_no_time_run_in_the_order_they_were_appended():
    """x waits on dev0 for its input until 2, and y, of lower number, is appended: both take no time at 2, y second."""
    names = ["u", "w", "y", "x", "z"]
    graph = pl.OpGraph.from_arrays(
        names, [1, 0, 0, 0, 0], [(0, 2), (1, 3), (2, 4)], edge_bytes=[0, 2, 1], devices={1: ["dev1"], 4: ["dev1"]}
    )
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1)).pin({name: "dev0" for name in "uxy"})
    placement = planned(problem, "tf-greedy")
    schedule = pl.simulate(problem, placement, "planned")
    assert schedule.makespan == placement.estimate == 3
    order = placement.planned.tolist()
    assert order.index(graph.index("x")) < order.index(graph.index("y"))


@pytest.mark.parametrize("name", [name for name, function in pl.partitioners().items() if not function.slow])
def test_a_plan_within_memory_never_runs_longer(name):
    """In every memory model, an op starts no later than in the plan, because the order is kept."""
    for i, problem in enumerate(problems.many(60, seed=91, memory=tuple(MEMORY_MODELS), **FREE)):
        if (placement := planned(problem, name)) is not None:
            assert pl.simulate(problem, placement, "planned").makespan <= placement.estimate, i


def test_an_order_does_not_wait_for_memory():
    """a is planned at 5, when b's output has left dev0; dev0's order has only a, so the run starts it at 0, short of memory."""
    graph = pl.OpGraph.from_arrays(
        list("abc"), [1, 0, 0], [(1, 2)], edge_bytes=[5], temporary=[5, 0, 0], persistent=[0, 0, 1]
    )
    cluster = pl.Cluster([1, 1], bandwidth=1, memory=[5, np.inf])
    problem = pl.Problem(graph, cluster, memory="dynamic").pin({"a": "dev0"})
    placement = planned(problem, "heft")
    schedule = pl.simulate(problem, placement, "planned")
    assert (placement.estimate, schedule.makespan) == (6, 5)
    assert len(schedule.oom) == 1


def test_the_planners_are_known():
    """The list of planning partitioners, so that none loses its estimate unnoticed."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    known = {"cpop", "etf", "heft", "m-etf", "tf-greedy"}
    assert known <= {name for name in pl.partitioners() if planned(problem, name)}
