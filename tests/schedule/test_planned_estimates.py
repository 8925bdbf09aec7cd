"""The simulator reproduces plans: under ``parallel`` transfers the ``planned`` scheduler gives the planned makespan.

They agree to the last bit, for every partitioner with an estimate, except for two things that a plan omits:
Send ops occupy their device (``transfer_ops`` > 0); transfers that queue (``sequential``, ``channel``) queue in the order of
their requests. There, and where memory is short, notes of the placement say so.
"""

from __future__ import annotations

from contextlib import suppress
from math import isclose

import numpy as np
import problems
import pytest
from examples import ALIKE, examples
from hypothesis import given

import placelab as pl
from placelab.analysis.explanation import why
from placelab.app.explorer.panels.numbers import strip
from placelab.kernels import blocks
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS, TransferModel
from placelab.strategies import placing
from placelab.strategies.searches.fallback import Answer

FREE = dict(transfers=("parallel",), transfer_ops=(0,))


QUICK = {"portfolio": dict(moves=100), "cem": dict(samples=50), "policy-gradient": dict(samples=40)}
UNLIMITED = ("etf", "sct")  # plan as if memory were unlimited; m-etf and m-sct do not


def planned(problem, name, **options):
    """The placement, if the partitioner supports the problem and plans it."""
    with suppress(pl.InfeasibleError, pl.UnsupportedError):
        placement = pl.place(problem, name, **options)
        if placement.estimate is not None:
            return placement
    return None


@pytest.mark.parametrize("name", pl.partitioners())
def test_the_planned_makespan_is_the_simulated_one(name):
    """On random problems without memory limits."""

    @examples(20 if name in ALIKE else 10 if pl.partitioners()[name].slow else 60)
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
def test_a_plan_in_any_memory_model_runs_as_long_as_planned(name, monkeypatch):
    """The order is kept, and what waited for memory waits again.

    Where a partitioner is stuck, and all that is tried in its stead, too, cp-sat is not asked: it searches for seconds.
    """
    monkeypatch.setattr("placelab.strategies.searches.fallback._by_cp_sat", lambda *_: Answer(None, ""))
    for i, problem in enumerate(
        problems.many(20 if name in ALIKE else 60, seed=91, memory=tuple(MEMORY_MODELS), **FREE)
    ):
        if (placement := planned(problem, name)) is not None:
            assert pl.simulate(problem, placement, "planned").makespan == placement.estimate, i


@pytest.mark.parametrize("name", [name for name in pl.partitioners() if name not in UNLIMITED])
def test_a_plan_of_whole_costs_runs_within_memory_as_long_as_planned(name):
    """Slow partitioners included, on devices that hold half to all of what there is."""
    count = 10 if pl.partitioners()[name].slow else 20 if name in ALIKE else 60
    memory = ("edges", "dynamic")
    for i, problem in enumerate(problems.many(count, seed=17, ops=6, devices=2, memory=memory, whole=True, **FREE)):
        graph = problem.graph
        k = problem.cluster.n_devices
        most = graph.tensor_bytes.sum() + (problem.memory == "dynamic") * (graph.persistent + graph.temporary).sum()
        some = [max(1, (5 + (i + d) % 6) * most // 10) for d in range(k)]
        tight = problem.replace(cluster=problem.cluster.replace(memory=some))
        placement = planned(tight, name, **QUICK.get(name, {}))
        if placement is not None and "every plan that was found is out of memory at some time" not in placement.notes:
            schedule = pl.simulate(tight, placement, "planned", oom="raise")
            assert schedule.makespan == placement.estimate and pl.validate(schedule) == [], i


@pytest.mark.slow
def test_plans_within_memory_run_within_memory(monkeypatch):
    """On devices with a part of what the plan without limits holds; without the times, some of the runs are marked.

    Where a partitioner is stuck, and all that is tried in its stead, too, cp-sat is not asked: it searches for seconds.
    """
    monkeypatch.setattr("placelab.strategies.searches.fallback._by_cp_sat", lambda *_: Answer(None, ""))
    waited = marked = 0
    for i, problem in enumerate(problems.many(400, seed=6, ops=25, devices=3, memory=("edges", "dynamic"), **FREE)):
        free = pl.place(problem.replace(memory="none"), "heft")
        peaks = pl.simulate(problem, pl.Placement(problem, free.device, free.planned)).peak_memory
        some = problem.cluster.replace(memory=[(0.55 + 0.05 * (i % 9)) * peak or 1e-3 for peak in peaks.tolist()])
        tight = problem.replace(cluster=some)
        for name in ("heft", "cpop", "tf-greedy", "m-etf", "m-sct"):
            if (placement := planned(tight, name)) is None:
                continue
            schedule = pl.simulate(tight, placement, "planned")
            assert schedule.makespan == pytest.approx(placement.estimate, rel=1e-11), (i, name)
            assert not len(schedule.oom), (i, name)
            if placement.not_before is not None:
                assert pl.validate(schedule) == []
                waited += 1
                marked += bool(len(pl.simulate(tight, pl.Placement(tight, placement.device, placement.planned)).oom))
    assert waited >= 8 and marked >= 4


def test_an_op_that_waits_for_memory_starts_when_planned():
    """a is planned at 5, when b's output has left dev0; dev0's order has only a, which would start at 0, short of memory."""
    graph = pl.OpGraph.from_arrays(
        list("abc"), [1, 0, 0], [(1, 2)], edge_bytes=[5], temporary=[5, 0, 0], persistent=[0, 0, 1]
    )
    cluster = pl.Cluster([1, 1], bandwidth=1, memory=[5, np.inf])
    problem = pl.Problem(graph, cluster, memory="dynamic").pin({"a": "dev0"})
    placement = planned(problem, "heft")
    schedule = pl.simulate(problem, placement, "planned")
    assert placement.not_before.tolist() == [5, 0, 0]
    assert placement.estimate == schedule.makespan == 6 and not len(schedule.oom)
    at_once = pl.simulate(problem, pl.Placement(problem, placement.device, placement.planned), "planned")
    assert at_once.makespan == 5 and len(at_once.oom) == 1
    assert "kept for 5: no room in memory" in why(schedule, "a")


BUS = TransferModel(
    "bus",
    "one at a time of all",
    "",
    blocks.CHANNEL,
    blocks.PARALLEL,
    "bus",
    lambda cluster, duplex: 1,
    lambda source, destination, cluster, duplex: (0 * source,),
)


@pytest.mark.parametrize("name", pl.partitioners())
def test_notes_say_where_a_run_leaves_its_plan(name, monkeypatch):
    """That it takes another time, that memory is short, and neither where it is not so; a user's model of transfers included."""
    monkeypatch.setattr("placelab.strategies.searches.fallback._by_cp_sat", lambda *_: Answer(None, ""))
    monkeypatch.setitem(TRANSFER_MODELS, "bus", BUS)
    slow = pl.partitioners()[name].slow
    count = 10 if slow else 15 if name in ALIKE else 40
    few = {**QUICK, "cp-sat": dict(effort=0.2)}.get(name, {})
    some = problems.many(count, seed=5, ops=6 if slow else 14, transfers=tuple(TRANSFER_MODELS))
    for i, problem in enumerate(some):
        graph = problem.graph
        most = graph.tensor_bytes.sum() + (problem.memory == "dynamic") * (graph.persistent + graph.temporary).sum()
        capacity = [(3 + (i + d) % 6) * max(1, most) / 10 for d in range(problem.cluster.n_devices)]
        tight = problem.replace(cluster=problem.cluster.replace(memory=capacity))
        with suppress(pl.InfeasibleError, pl.UnsupportedError):
            placement = pl.place(tight, name, **few)
            if placement.planned is None:
                continue
            run = pl.simulate(tight, placement, "planned")
            told = " / ".join(placement.notes)
            met = placement.estimate is None or isclose(placement.estimate, run.makespan)
            assert ("the plan expects" in told) == (not met), i
            assert ("run as planned, " in told) == bool(len(run.oom)), i
            assert name not in ("heft", "m-topo") or pl.solve(tight, name).placement.notes == placement.notes, i


def test_a_note_has_both_times_and_the_cause():
    """Both tensors leave at 1 and 2 and take 4: the second waits for the first, from 2 to 5. A Send takes 1 of its device."""
    graph = pl.OpGraph.from_arrays(list("abxy"), [1, 1, 0, 0], [(0, 2), (1, 3)], edge_bytes=[4, 4])
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1)).pin(dict(a=0, b=0, x=1, y=1))
    assert pl.place(problem, "heft").notes == ()
    turns = "transfers take turns as they are asked for"
    for model, takes, cause in (
        ("channel", "9", turns),
        ("sequential", "9", turns),
        ("fair", "9", "transfers share links"),
    ):
        (note,) = pl.place(problem.replace(transfers=model), "heft").notes
        assert note == f"the plan expects 6, run as planned it takes {takes}: {cause}, which is not planned"
    (note,) = pl.place(problem.replace(transfer_ops=1), "heft").notes
    assert note == "the plan expects 7, run as planned it takes 8: Send ops occupy their devices, which is not planned"


def test_a_note_stays_true_under_another_scheduler():
    """It is of the placement, and says of which run it is; that by fifo, which takes 12, is another one."""
    graph = pl.OpGraph.from_arrays(list("abxy"), [1, 1, 0, 3], [(0, 2), (1, 3)], edge_bytes=[4, 4])
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1), transfers="channel").pin(dict(a=0, b=0, x=1, y=1))
    schedule = pl.simulate(problem, pl.place(problem, "heft"), "fifo")
    (note,) = schedule.placement.notes
    assert schedule.makespan == 12 and note.startswith("the plan expects 8, run as planned it takes 9: ")


def test_ops_that_wait_for_memory_are_a_cause(monkeypatch):
    """Under oom="wait" c waits until b has read a's output: here what c makes is sent on; other runs name no such cause."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [1, 3, 1, 0], [(0, 1), (2, 3)], edge_bytes=[2, 1], persistent=[0] * 4)
    free = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1, memory=[2, 3]), memory="dynamic")
    turns = "transfers take turns as they are asked for"
    for problem, causes in ((free, ""), (free.replace(transfers="channel"), f"{turns} and ")):
        placement = pl.Placement(problem, [0, 1, 0, 1], planned=[0, 2, 1, 3], estimate=1.0)
        waits = pl.simulate(problem, placement, "planned", oom="wait")
        said = f"run as planned it takes {waits.makespan:g}: {causes}ops wait for room in memory, which is not planned."
        assert said in strip(waits, [])[1]
        assert "wait for room" not in strip(pl.simulate(problem, placement, "planned"), [])[1]
        with monkeypatch.context() as patch:  # a drag asks again and again
            patch.setattr(placing, "simulate", None)
            assert said in strip(waits, [])[1]
    roomy = free.replace(cluster=pl.Cluster([1, 1], bandwidth=1, memory=[9, 9]))
    assert "expects" not in strip(pl.simulate(roomy, placement, "planned", oom="wait"), [])[1]


def test_a_partitioner_that_places_by_another_one_says_it_once():
    """Its placement has the note of that one already."""

    @pl.partitioner
    def like_heft(problem: pl.Problem) -> pl.Placement:
        """What heft does."""
        return pl.place(problem, "heft")

    graph = pl.OpGraph.from_arrays(list("abxy"), [1, 1, 0, 0], [(0, 2), (1, 3)], edge_bytes=[4, 4])
    free = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1)).pin(dict(a=0, b=0, x=1, y=1))
    problem = free.replace(transfers="channel")
    assert pl.place(problem, "like-heft").notes == pl.place(problem, "heft").notes
    assert pl.solve(problem, "like-heft").placement.notes == pl.place(problem, "heft").notes


def test_the_explorer_says_it_of_every_scheduler():
    """Beside the numbers, as its own runs add no notes; another scheduler is named, and a hundredth is not worth a word."""
    graph = pl.OpGraph.from_arrays(list("abxy"), [1, 1, 0, 0], [(0, 2), (1, 3)], edge_bytes=[4, 4])
    free = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1)).pin(dict(a=0, b=0, x=1, y=1))
    assert strip(pl.solve(free, "heft"), [])[1] == ""
    problem = free.replace(transfers="channel")
    cause = "transfers take turns as they are asked for, which is not planned."
    placement = pl.place(problem, "heft")
    for scheduler, begin in (
        ("planned", "run as planned it takes 9: "),
        ("fifo", "its run by fifo takes 9: fifo has an order of its own and "),
    ):
        warning = strip(pl.simulate(problem, placement, scheduler), [])[1]
        assert f"The plan expects 6, {begin}{cause}" in warning
    sends = free.replace(transfer_ops=1)
    said = "run as planned it takes 8: Send ops occupy their devices, which is not planned."
    assert said in strip(pl.solve(sends, "heft"), [])[1]
    nearly = pl.Placement(problem, placement.device, placement.planned, estimate=8.95)
    assert "expects" not in strip(pl.simulate(problem, nearly), [])[1]


@pytest.mark.parametrize("transfers", ["parallel", "channel"])
def test_a_plan_without_times_says_where_it_is_short_of_memory(transfers):
    """m-topo counts each op's bytes alone, and not that b runs while a's output waits for c."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1, 1, 1], [(0, 2), (1, 2)], edge_bytes=[4, 4], persistent=[0, 0, 0])
    problem = pl.Problem(graph, pl.Cluster([1], memory=6), memory="dynamic", transfers=transfers)
    assert pl.place(problem, "m-topo").notes == ("run as planned, dev0 is out of memory at 1, 2 short",)


def test_the_planners_are_known():
    """The list of planning partitioners, so that none loses its estimate unnoticed."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    known = {"cpop", "etf", "heft", "m-etf", "tf-greedy"}
    assert known <= {name for name in pl.partitioners() if planned(problem, name)}
