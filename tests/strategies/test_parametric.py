"""The parametric list scheduler: its named members, and the other rules by hand."""

from __future__ import annotations

import problems
import pytest
from same_placement import same

import placelab as pl

MEMBERS = {
    "heft": {},
    "cpop": {"priority": "cpop", "pin_critical_path": True},
}


@pytest.mark.parametrize("name", MEMBERS)
def test_named_members_are_equal_to_the_last_bit(name):
    """On problems of every memory and transfer model; HEFT appended, too."""
    for problem in problems.many(80, seed=86):
        try:
            placement = pl.place(problem, name)
        except pl.InfeasibleError:
            continue
        assert same(placement, pl.place(problem, "parametric", **MEMBERS[name]))
        if name == "heft":
            appended = pl.place(problem, "heft", insertion=False)
            assert same(appended, pl.place(problem, "parametric", insertion=False))


def test_topological_and_eft_without_insertion_is_mct():
    """Ops by number, each where it finishes soonest at the end."""
    for problem in problems.many(40, seed=87, memory=("none",)):
        s = pl.ListScheduler(problem)
        for v in range(problem.graph.n_ops):
            s.place(v, min(s.feasible(v), key=lambda d, v=v: s.eft(v, d)))
        assert same(s.placement(), pl.place(problem, "parametric", priority="topological", insertion=False))


def test_sufferage_lets_the_op_go_first_that_would_lose_more():
    """a comes first by rank, but b loses 8 on the slow device, a only 2."""
    time = {"p": [3.0, 2.0], "q": [5.0, 10.0]}
    graph = pl.OpGraph.from_arrays(["a", "b"], [4.0, 2.0], [], time=time)
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0, names=["p", "q"]))
    assert pl.place(problem, "parametric", priority="topological").device.tolist() == [0, 0]
    placement = pl.place(problem, "parametric", priority="topological", sufferage=True, trace=True)
    assert placement.trace.op.tolist() == [1, 0]
    assert placement.estimate == 5


def test_quickest_looks_at_the_op_alone():
    """All ops go to the fast device, however long its queue is."""
    problem = pl.Problem(pl.generators.fork_join(6), pl.Cluster([1.0, 1.01], bandwidth=1e9))
    assert set(pl.place(problem, "parametric", place="quickest").device) == {1}


@pytest.mark.parametrize("sufferage", [False, True])
def test_starts_that_were_compared_are_told_as_times(sufferage):
    """The trace says when each op would run on each device, and so on its own, however ops are ordered."""
    problem = pl.datasets.problem("topcuoglu")
    placement = pl.place(problem, "parametric", place="est", sufferage=sufferage, trace=True)
    trace = placement.trace
    row = range(problem.graph.n_ops)
    schedule = pl.simulate(problem, placement, "planned")
    start, finish = trace.spans(problem)
    assert trace.times == "start"
    assert start[row, trace.device].tolist() == schedule.start[trace.op].tolist()
    assert finish[row, trace.device].tolist() == schedule.finish[trace.op].tolist()


def test_all_members_keep_the_contract():
    """All 72 plan legally within groups, restrictions and memory."""
    for problem in problems.many(6, seed=88, ops=9):
        members = pl.list_members(problem)
        assert len(members) == 72
        assert members["error"].eq("").any() or members["error"].str.contains("room|memory|bytes").all()
        for options in members[members["error"] == ""].iloc[:, :5].to_dict("records"):
            schedule = pl.simulate(problem, pl.place(problem, "parametric", trace=True, **options), "planned")
            assert {violation.kind for violation in pl.validate(schedule)} <= {"memory"}
