"""Planning anew by what a plan has shown, and the devices that are nearest to the fastest one."""

from __future__ import annotations

import numpy as np
import problems
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.analysis.validation import validate
from placelab.planning.lower_bounds import best_bound
from placelab.strategies.searches.tried_plans import catalogue_plans, nearest_halves, part_of, replanned

SILENT = dict(progress=lambda one: None, late=lambda: False)


def test_an_op_goes_where_its_consumers_are():
    """A chain of 1 s each, torn by a transfer of 10 s, which is 12 s: the first op follows the second one, and 2 s are left."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=[10.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    torn = np.array([0, 1], np.int32)
    assert pl.simulate(problem, pl.Placement(problem, torn)).makespan == 12.0
    found = replanned(problem, torn)
    assert found.device.tolist() == [1, 1] and found.estimate == 2.0


def test_the_longest_way_goes_first():
    """Of two ops on one device the one goes first whose consumer sits behind a transfer, though op numbers say otherwise."""
    graph = pl.OpGraph.from_arrays(
        ["near", "far", "x", "y"], [2.0, 2.0, 1.0, 1.0], [(0, 2), (1, 3)], edge_bytes=[3.0, 3.0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0)).pin({"near": 0, "far": 0, "x": 0, "y": 1})
    found = replanned(problem, np.array([0, 0, 0, 1], np.int32))
    assert found.planned.tolist()[:2] == [1, 0] and found.estimate == 6.0  # far 2, its transfer 3, y 1


@examples(60)
@given(problem=problems.problems(), seed=st.integers(0, 999))
def test_every_plan_is_legal(problem, seed):
    """In every model, by chance or not, but for memory, which a run may lack where a plan made without contention fits."""
    try:
        device = pl.place(problem, "random", seed=seed).device
        for random in (None, np.random.default_rng(seed)):
            found = replanned(problem, device, random)
            schedule = pl.simulate(problem, found, "planned")
            assert {violation.kind for violation in validate(schedule)} <= {"memory"}
    except pl.InfeasibleError:
        return


def test_parts_are_a_host_and_its_halves():
    """Two nodes of four: one node, then two devices of it. Where devices differ: the fastest one, and what is near it."""
    assert [part.tolist() for part in nearest_halves(pl.clusters.two_nodes())] == [[0, 1, 2, 3], [0, 1]]
    assert [part.tolist() for part in nearest_halves(pl.Cluster([1.0, 2.0, 3.0, 2.5], bandwidth=1.0))] == [[2, 3]]
    assert nearest_halves(pl.Cluster([1.0] * 3)) == []


def test_a_part_has_the_links_of_its_devices():
    """Times between the two that are left are those of before, and what may run nowhere else is refused."""
    cluster = pl.Cluster([1.0, 2.0, 4.0], bandwidth=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], latency=0.5)
    problem = pl.Problem(pl.generators.fork_join(3), cluster)
    part = part_of(problem, np.array([0, 2]))
    assert part.cluster.names == ("dev0", "dev2") and part.cluster.speed.tolist() == [1.0, 4.0]
    assert part.transfer_time(0, 0, 1) == problem.transfer_time(0, 0, 2)
    assert part.transfer_time(0, 1, 0) == problem.transfer_time(0, 2, 0)
    with pytest.raises((pl.FormatError, pl.InfeasibleError)):
        part_of(problem.pin({problem.graph.names[0]: "dev1"}), np.array([0, 2]))


@pytest.mark.slow
def test_transformers_gain_from_planning_anew():
    """Eight layers on four devices with slow links: a third of what the best partitioner is above the bound is saved, or more."""
    problem = pl.Problem(pl.load("llama_8"), pl.clusters.rtx2080ti_box(), memory="none")
    plans, rows = catalogue_plans(problem, 0, **SILENT)
    known = {*pl.partitioners()}
    best = min(row["makespan"] for row in rows if row["partitioner"] in known and not row["error"])
    bound = best_bound(problem)
    assert plans[0].makespan - bound < 2 / 3 * (best - bound)
    assert plans[0].partitioner.endswith(", replanned")
    run = pl.simulate(problem, pl.Placement(problem, plans[0].device, plans[0].order), "planned")
    assert run.makespan == plans[0].makespan and validate(run) == []


@pytest.mark.parametrize(
    ("network", "known"),
    [
        ("recurrent_network", ("heft", "etf", "cpop", "peft", "dls")),
        *(pytest.param(name, None, marks=pytest.mark.slow) for name in ("recurrent_network", "dynamic_rnn")),
    ],
)
@pytest.mark.slow
def test_a_recurrent_network_gains_from_fewer_devices(monkeypatch, network, known):
    """LSTM cells over time are shorter on two of eight devices than where list schedulers spread them on all."""
    known = known or tuple(pl.partitioners())
    few = {name: pl.partitioners()[name] for name in known}
    monkeypatch.setattr("placelab.strategies.searches.tried_plans.partitioners", lambda: few)
    problem = pl.Problem(pl.load(network), pl.clusters.nvlink_box(), memory="none")
    _, rows = catalogue_plans(problem, 0, **SILENT)
    makespan = {row["partitioner"]: row["makespan"] for row in rows if not row["error"]}
    assert makespan["on 2 devices"] < min(seconds for name, seconds in makespan.items() if name in known)


def test_an_op_tied_to_a_far_device_does_not_end_the_search():
    """The smaller machines are left out, and there is a plan."""
    problem = pl.Problem(pl.generators.layered(30, seed=1, ccr=3.0), pl.clusters.nvlink_box(4), memory="none")
    pinned = problem.pin({problem.graph.names[3]: problem.cluster.names[3]})
    plans, rows = catalogue_plans(pinned, 0, **SILENT)
    assert plans and not [row for row in rows if row["partitioner"].startswith("on ")]


@pytest.mark.parametrize(
    "memory", ["edges", *(pytest.param(name, marks=pytest.mark.slow) for name in ("reserved", "dynamic"))]
)
def test_a_plan_that_finds_no_room_anew_ends_alone(memory):
    """Where devices are tight, list scheduling may get stuck from some placements; the other plans go on."""
    graph = pl.generators.layered(150, seed=6)
    graph = graph.replace(persistent=graph.outputs, memory=2 * graph.outputs)
    ample = pl.Problem(graph, pl.Cluster.uniform(4, memory=1e12), memory=memory)
    peak = pl.solve(ample, "heft", "planned").peak_memory.max()
    share = {"edges": 0.6 * peak, "reserved": 0.3 * graph.memory.sum(), "dynamic": 0.85 * peak}
    problem = ample.replace(cluster=pl.Cluster.uniform(4, memory=share[memory]))
    found = pl.place(problem, "portfolio", moves=50)
    schedule = pl.simulate(problem, found, "planned")
    assert not len(schedule.oom) and not validate(schedule)
    assert found.table is not None and "stuck" not in " ".join(found.notes)
