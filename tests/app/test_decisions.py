"""The decisions view is sent pages of rows: what it asks for, exactly what the trace has, and no more."""

from __future__ import annotations

import json

import numpy as np
import pytest

import placelab as pl
from placelab.app.widgets.decisions import LEAST, MOST, Decisions, span, why

TOPCUOGLU = pl.datasets.problem("topcuoglu")
LARGE = pl.Problem(pl.generators.layered(2_000, seed=1), pl.Cluster.uniform(3))


def traced(name: str, problem: pl.Problem = TOPCUOGLU) -> pl.Placement:
    return pl.place(problem, name, trace=True)


def header(view: Decisions) -> list[int]:
    """generation, kind, first row, rows, devices, whether compared, terms, bytes of the texts."""
    return np.frombuffer(view.page[:36], "<u4").tolist()[1:]


def texts(view: Decisions) -> dict:
    size = header(view)[-1]
    return json.loads(view.page[-(size + -size % 8) :][:size])


def column(view: Decisions, at: int, kind: str, count: int) -> list:
    return np.frombuffer(view.page, kind, count, at).tolist()


def test_a_small_graph_is_one_page():
    """Topcuoglu's ten tasks: ops, devices, ranks and scores in planning order, and a sentence each."""
    view = Decisions.of(traced("heft"))
    trace = traced("heft").trace
    assert header(view)[:6] == [1, 0, 0, 10, 3, 0] and view.counts == [10, 10]
    assert column(view, 40, "<u4", 10) == trace.op.tolist()
    assert column(view, 80, "<u4", 10) == trace.device.tolist()
    assert column(view, 120, "<f8", 10) == trace.rank.tolist()
    assert column(view, 200, "<f8", 30) == trace.score.reshape(-1).tolist()
    assert texts(view)["names"][:2] == ["T1", "T3"]
    assert texts(view)["why"][1] == "P3: finishes soonest there, 4 before P1."
    assert view.about == {
        "strategy": "heft",
        "times": "finish",
        "score": "planned finish",
        "score_unit": "",
        "rank": "upward rank",
        "rank_unit": "",
        "sums": "upward rank",
        "sums_unit": "",
    }


def test_ranks_come_from_the_exits_on():
    """T10 first, whose rank is its own time; then T9, by way of T10."""
    view = Decisions.of(traced("heft"), mode="ranks")
    assert header(view)[1:5] == [1, 0, 10, 1]
    assert texts(view)["names"] == [f"T{i}" for i in range(10, 0, -1)] and texts(view)["successors"][0] == "T10"
    assert column(view, 40, "<u4", 10) == list(range(9, -1, -1))
    assert column(view, 160, "<f8", 2) == pytest.approx([14.667, 44.333], abs=1e-3)
    view.mode = "decisions"
    assert header(view)[1] == 0


def test_a_large_graph_is_sent_where_it_is_looked_at():
    """Pages are short, hold the row asked for well inside, and end with the list."""
    view = Decisions.of(traced("heft", LARGE))
    assert header(view)[2:4] == [0, MOST] and len(view.page) < 60_000
    view.wanted = 1_000
    assert header(view)[2:4] == [1_000 - MOST // 2, MOST] and view.wanted == -1
    view.wanted = 1_990
    assert header(view)[2:4] == [2_000 - MOST, MOST]
    assert span(500, 20_000, 200) == (500 - LEAST // 2, 500 + LEAST // 2) and span(3, 10, 4) == (0, 10)


def test_the_step_follows_the_selection():
    """Of a group, to the decision about its first op; an op that no decision is about changes nothing."""
    view = Decisions.of(traced("heft"))
    view.selection = 9
    assert view.step == 9
    view.selection = 1
    assert view.step == 3
    grouped = pl.Problem(TOPCUOGLU.graph, TOPCUOGLU.cluster, groups=[("T2", "T7")])
    view.show(pl.place(grouped, "heft", trace=True))
    view.selection = 6
    assert view.step == 3 and "1 more of its group follow" in texts(view)["why"][3]
    single = Decisions.of(traced("single"))
    single.selection = 4
    assert single.step == 0


def test_another_trace_of_the_graph_keeps_the_place():
    """On the selected op where there is one, else on the step, as far as there are that many."""
    view = Decisions.of(traced("heft"))
    view.selection = 1
    view.show(traced("cpop"))
    assert view.step == 1
    view.selection = -1
    view.step = 8
    view.show(traced("single"))
    assert view.step == 0


def test_two_traces_are_matched_op_by_op():
    """Each row has the other's decision about the same op, and what the other decides at that row."""
    heft = traced("heft")
    cpop = traced("cpop")
    view = Decisions.of(heft, cpop)
    assert header(view)[5] == 1 and view.differs == [0, 0] and view.about["against"] == "cpop"
    rows = column(view, 200 + 2 * 240, "<u4", 10)
    assert cpop.trace.op[rows].tolist() == heft.trace.op.tolist()
    assert texts(view)["other_here"][1] == "T2 → P2" and texts(view)["other_why"][1].startswith("P1: finishes soonest")
    alone = Decisions.of(heft, traced("single"))
    assert column(alone, 200 + 2 * 240, "<u4", 10) == [0] + [2**32 - 1] * 9
    assert texts(alone)["other_here"][1] == ""


def test_a_strategy_without_ranks_shows_decisions():
    """The list of ranks closes when there are none."""
    view = Decisions.of(traced("heft"), mode="ranks")
    view.show(traced("tf-greedy"))
    assert view.mode == "decisions" and view.counts == [10, 0] and header(view)[1] == 0
    assert np.isnan(column(view, 120, "<f8", 10)).all()


def test_a_note_takes_the_place_of_rows():
    """Nothing of the old trace is left."""
    view = Decisions.of(traced("heft"))
    view.clear("none")
    assert (view.counts, view.page, view.candidates, view.note) == ([0, 0], b"", [], "none")
    view.wanted = 3
    view.selection = 3
    assert view.page == b""


def test_equal_scores_are_named():
    """No margin is claimed where another device is as good."""
    graph = pl.OpGraph.from_arrays(["a"], [1.0], [])
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0] * 5)), "heft", trace=True)
    assert (
        why(placement.problem, placement.trace, 0)
        == "dev0: finishes soonest there; equal on dev1, dev2, dev3 and more."
    )


def test_it_says_what_it_is():
    """In notebooks that are not trusted, and for nbval."""
    assert repr(Decisions()) == "Decisions(0 decisions)"
    assert repr(Decisions.of(traced("single"))) == "Decisions(1 decision of single)"


def test_a_placement_without_a_trace_is_refused():
    """By a sentence that says how to get one."""
    with pytest.raises(pl.UnsupportedError, match="place with trace=True"):
        Decisions.of(pl.place(TOPCUOGLU, "heft"))
