"""Two schedules of one graph: every op is matched by name, and every second of both makespans is charged to an op."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import placements, problems

import placelab as pl


@pytest.fixture(scope="module")
def d():
    """One GPU, then four."""
    problem = pl.Problem(pl.load("recurrent_network"), pl.clusters.pcie_box(4))
    return pl.difference(pl.solve(problem, "single"), pl.solve(problem, "heft"))


@given(data=st.data())
def test_saved_minus_lost_is_what_the_makespan_lost(data):
    """By kind, by scope at any depth and by part of the path; every model, Send ops, waits for memory."""
    problem = data.draw(problems(ops=12))
    a, b = (
        pl.simulate(problem, data.draw(placements(problem)), data.draw(st.sampled_from(["fifo", "pct", "msr"])))
        for _ in "ab"
    )
    d = pl.difference(a, b, match=False)
    assert d.saved == a.makespan - b.makespan
    assert d.path["saved"].sum() == pytest.approx(d.saved, abs=1e-9)
    for table in (d.by_kind(), d.by_scope(), d.by_scope(2)):
        assert (table["saved"] - table["lost"]).sum() == pytest.approx(d.saved, abs=1e-9)
        assert table["critical_a"].sum() == pytest.approx(a.makespan)
        assert table["critical_b"].sum() == pytest.approx(b.makespan)
        assert table["ops"].sum() == problem.graph.n_ops
        assert table["moved"].sum() == (a.device != b.device).sum()
        assert (table[["saved", "lost"]] >= 0).all(axis=None)
    assert d.ops["name"].tolist() == problem.graph.names.tolist()
    for side, schedule in (("a", a), ("b", b)):
        assert np.array_equal(d.ops[f"start_{side}"], schedule.start)
        assert np.array_equal(d.ops[f"finish_{side}"], schedule.finish)
    assert np.array_equal(d.ops["moved"], a.device != b.device)
    assert d.moved["name"].tolist() == problem.graph.names[a.device != b.device].tolist()


def test_each_second_is_charged_to_what_happens_then():
    """An op in the way of another, the way of a tensor, and a link that carries another tensor first."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "x", "y"], [1.0, 2.0, 1.0, 1.0], [(0, 2), (1, 3)], edge_bytes=[4.0, 5.0], kind=["A", "B", "X", "Y"]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0]), transfers="channel")
    together = pl.simulate(problem, pl.Placement(problem, [0, 0, 0, 0]), "fifo")
    apart = pl.simulate(problem, pl.Placement(problem, [0, 0, 1, 1]), "fifo")
    d = pl.difference(together, apart)
    ops = d.ops.set_index("name")
    assert (together.makespan, apart.makespan) == (5.0, 11.0)
    assert ops["critical_a"].to_dict() == {"a": 1.0, "b": 2.0, "x": 1.0, "y": 1.0}
    assert ops["critical_b"].to_dict() == {"a": 5.0, "b": 5.0, "x": 0.0, "y": 1.0}  # a's tensor leaves at 1, b's at 5
    assert d.by_kind()["kind"].tolist()[:2] == ["A", "B"]


def test_nothing_differs_from_itself(d):
    """No op moved, nothing saved or lost."""
    same = pl.difference(d.a, d.a)
    assert not len(same.moved)
    assert not same.by_kind()[["saved", "lost"]].to_numpy().any()
    assert "0 of" in repr(same) and "0 s less" in repr(same)


def test_ops_are_matched_by_name_not_by_number():
    """The same ops given in another order, on a cluster whose devices have another order."""
    names = ["a", "b", "c"]
    first = pl.Problem(pl.OpGraph.from_arrays(names, [1.0, 2.0, 3.0], []), pl.Cluster([1.0, 1.0], names=["x", "y"]))
    second = pl.Problem(
        pl.OpGraph.from_arrays(names[::-1], [3.0, 2.0, 1.0], []), pl.Cluster([1.0, 1.0], names=["y", "x"])
    )
    a = pl.simulate(first, pl.Placement.from_mapping(first, {"a": "x", "b": "x", "c": "y"}), "fifo")
    b = pl.simulate(second, pl.Placement.from_mapping(second, {"a": "x", "b": "y", "c": "y"}), "fifo")
    ops = pl.difference(a, b).ops.set_index("name")
    assert ops["moved"].to_dict() == {"a": False, "b": True, "c": False}
    assert ops["start_a"].to_dict() == {"a": 0.0, "b": 1.0, "c": 0.0}
    assert ops["start_b"].to_dict() == {"a": 0.0, "b": 3.0, "c": 0.0}


def test_ops_of_one_graph_alone():
    """They have no times on the other side, have not moved, and are charged all the same."""
    one = pl.OpGraph.from_arrays(["a", "b"], [1.0, 2.0], [(0, 1)])
    two = pl.OpGraph.from_arrays(["a", "c"], [1.0, 5.0], [(0, 1)])
    a, b = (pl.solve(pl.Problem(graph, pl.Cluster([1.0])), "single", "fifo") for graph in (one, two))
    d = pl.difference(a, b)
    assert d.ops["name"].tolist() == ["a", "b", "c"]
    assert d.ops["finish_b"].isna().tolist() == [False, True, False]
    assert d.ops["finish_a"].isna().tolist() == [False, False, True]
    assert not d.ops["moved"].any()
    table = d.by_kind().iloc[0]
    assert (table["saved"], table["lost"], d.saved) == (2.0, 5.0, -3.0)
    other = pl.OpGraph.from_arrays(["z"], [1.0], [])
    with pytest.raises(pl.FormatError, match="no op in common"):
        pl.difference(a, pl.solve(pl.Problem(other, pl.Cluster([1.0])), "single", "fifo"))
    with pytest.raises(pl.FormatError, match="Schedule"):
        pl.difference(a, one)


def test_scopes_are_the_first_components_of_names(d):
    """TensorFlow's slashes; PyTorch's dots where no name has a slash; the largest change comes first."""
    assert set(d.by_scope()["scope"]) == {name.rpartition("/")[0].split("/")[0] for name in d.a.problem.graph.names}
    assert len(d.by_scope(2)) > len(d.by_scope()) > len(d.by_scope(0)) == 1
    change = (d.by_scope()["saved"] - d.by_scope()["lost"]).abs()
    assert change.is_monotonic_decreasing and change.iloc[0] > 0
    graph = pl.OpGraph.from_arrays(["encoder.layer.0", "encoder.layer.1", "loss"], [1.0] * 3, [])
    schedule = pl.solve(pl.Problem(graph, pl.Cluster([1.0])), "single")
    assert sorted(pl.difference(schedule, schedule).by_scope(2)["scope"]) == ["", "encoder.layer"]
