"""The tab of decisions follows the newest result, only when somebody sees it and no hand drags."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from problems import problems

import placelab as pl
from placelab.app.explorer.engine.solving import Result, place_state, simulate_state
from placelab.app.explorer.panels import decisions_panel as decisions
from placelab.app.explorer.panels.decisions_panel import DecisionsPanel
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.state import initial_state
from placelab.app.widgets.decisions import decided_so_far
from placelab.base.errors import InfeasibleError

TOPCUOGLU = pl.datasets.problem("topcuoglu")


def solved(partitioner: str = "heft", problem: pl.Problem = TOPCUOGLU, **facts) -> Result:
    """The result of a state, without a trace, as a quick partitioner gives it."""
    state = replace(initial_state(problem), partitioner=partitioner, **facts)
    placement, ops = place_state(state, problem)
    state = state if placement.planned is not None else replace(state, scheduler="pct")
    return Result(state, simulate_state(state, placement), None, ops=ops)


@st.composite
def placements_with_traces(draw) -> pl.Placement:
    problem = draw(problems())
    try:
        return pl.place(problem, draw(st.sampled_from(["heft", "etf", "tf-greedy"])), trace=True)
    except InfeasibleError:
        reject()


class Hand:
    """Whether a hand drags."""

    down = False


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def panel(hand):
    shared = Shared(lambda change, key: None, lambda text, tone: None, lambda: hand.down)
    made = DecisionsPanel(shared)
    made.shared = shared
    yield made
    made.close()


def show(panel: DecisionsPanel, result: Result | None) -> None:
    panel.result(result)
    assert panel.settled(30)


def test_it_shows_the_decisions_of_the_newest_result(panel):
    """All of them, with what can be compared, and nothing of the result before."""
    show(panel, solved("heft"))
    assert panel.view.counts == [10, 10] and panel.view.about["strategy"] == "heft"
    assert "cpop" in panel.view.choices and "heft" not in panel.view.choices and "portfolio" not in panel.view.choices
    show(panel, solved("m-topo"))
    assert panel.view.counts == [10, 0] and panel.view.about["score"] == "devices passed over"
    show(panel, None)
    assert panel.view.counts == [0, 0] and panel.view.note == decisions.NOTHING


def test_the_selection_is_shared(panel):
    """A step selects its op everywhere; an op that is selected elsewhere is looked up."""
    show(panel, solved())
    panel.shared.selection = 6
    assert panel.view.step == 7 and panel.view.selection == 6
    panel.view.selection = 3
    assert panel.shared.selection == 3 and panel.view.step == 2


def test_it_waits_for_the_end_of_a_drag(panel, hand):
    """Results during a drag and previews are not traced; the one at its end is, also if it came before the release."""
    show(panel, solved("heft"))
    before = panel.view.generation
    hand.down = True
    last = solved("etf")
    panel.show(last.state, TOPCUOGLU, True)
    show(panel, last)
    assert panel.view.generation == before and panel.view.stale
    hand.down = False
    panel.show(last.state, TOPCUOGLU, False)
    assert panel.settled(30)
    assert panel.view.about["strategy"] == "etf" and not panel.view.stale
    show(panel, replace(solved("cpop"), preview=True))
    assert panel.view.about["strategy"] == "etf"


def test_what_nobody_sees_is_not_computed(panel):
    """Until it is visible, when the result comes again; the same result is not traced twice."""
    panel.visible = False
    result = solved()
    show(panel, result)
    assert panel.view.generation == 0
    panel.visible = True
    show(panel, result)
    shown = panel.view.generation
    assert panel.view.counts[0] == 10
    show(panel, result)
    assert panel.view.generation == shown


def test_two_strategies_side_by_side(panel):
    """The first decision that differs is found; one that fails is named; no comparison is possible, too."""
    show(panel, solved())
    panel.view.against = "cpop"
    assert panel.settled(30)
    assert panel.view.differs == [0, 0] and panel.view.about["against"] == "cpop"
    panel.view.against = ""
    assert panel.settled(30)
    assert panel.view.differs == [-1, -1] and "against" not in panel.view.about

    @pl.partitioner
    def broken(problem, *, trace=False):
        """Fails."""
        raise RuntimeError("<b>no</b>\nmore")

    panel.view.against = "broken"
    assert panel.settled(30)
    assert panel.view.note == "Not compared with broken: RuntimeError: <b>no</b>" and panel.view.counts[0] == 10


def test_a_partitioner_that_exits_is_a_sentence(panel):
    """It is a note beside the decisions of the one shown, as any other failure."""

    @pl.partitioner
    def leaves(problem, *, trace=False):
        """Exits."""
        raise SystemExit(3)

    show(panel, solved("heft"))
    panel.view.against = "leaves"
    assert panel.settled(30)
    assert panel.view.note == "Not compared with leaves: SystemExit: 3" and panel.view.counts[0] == 10


def test_a_partitioner_that_loops_is_left(panel):
    """Choosing another one ends the wait for it."""
    begun = threading.Event()
    end = threading.Event()

    @pl.partitioner
    def loops(problem, *, trace=False):
        """Does not end by itself."""
        begun.set()
        end.wait(60)
        return pl.place(problem, "heft", trace=trace)

    show(panel, solved())
    panel.view.against = "loops"
    assert begun.wait(10)
    panel.view.against = "cpop"
    try:
        assert panel.settled(10) and panel.view.about["against"] == "cpop"
    finally:
        end.set()


def test_a_plan_by_hand_is_not_called_a_search():
    """A puzzle begins with one; nothing has decided it op by op."""
    explorer = pl.explore(pl.puzzles.load("diamond"), tab="Decisions")
    try:
        found = explorer.tabs.panels["Decisions"]
        assert explorer.settled(60) and found.settled(60)
        assert found.view.note == decisions.HAND
    finally:
        explorer.close()


def test_it_says_why_there_are_no_decisions(panel, monkeypatch):
    """A search, a partitioner of one's own that takes no trace, a problem that is too large."""
    show(panel, solved("ilp", pl.Problem(pl.generators.fork_join(1), pl.Cluster.uniform(2))))
    assert panel.view.note == f"ilp records no decisions. {decisions.SEARCHES}"

    @pl.partitioner
    def mine(problem):
        """All on one device."""
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    show(panel, solved("mine"))
    assert panel.view.note == f"mine records no decisions. {decisions.OWN}" and panel.view.counts == [0, 0]
    monkeypatch.setattr(decisions, "MOST", 29)
    show(panel, solved("heft"))
    assert panel.view.note.startswith("29 scores at most")


def test_a_partitioner_of_ones_own_with_a_trace_is_shown(panel):
    """As the sentence says: trace handed to the list scheduler."""

    @pl.partitioner
    def mine(problem, *, trace=False):
        """Ops in order, each where it finishes soonest."""
        s = pl.ListScheduler(problem, trace=trace)
        for op in range(problem.graph.n_ops):
            s.place(op, min(s.feasible(op), key=lambda d: s.eft(op, d)))
        return s.placement()

    show(panel, solved("mine"))
    assert panel.view.counts == [10, 0] and panel.view.about["times"] == "finish"


def test_merged_ops_are_said_to_be_decided_as_one(panel):
    """A graph that was made smaller before it was placed."""
    chain = pl.Problem(
        pl.OpGraph.from_arrays(list("abc"), [1.0, 2.0, 4.0], [(0, 1), (1, 2)], edge_bytes=1.0), pl.Cluster.uniform(2)
    )
    result = replace(solved(problem=chain, prepare=("coplace",)), ops=1)
    show(panel, result)
    assert panel.view.note == decisions.MERGED and panel.view.counts == [3, 0]


def test_the_chart_is_told_what_is_decided_so_far(panel):
    """Up to the step, without it while a prediction is awaited; everything on request, and when the tab is left."""
    told: list = []
    panel.on_step = lambda schedule, so_far: told.append(so_far)
    result = solved("heft")
    show(panel, result)
    names = result.schedule.problem.graph.names
    panel.view.step = 3
    decided, n, mask = told[-1]
    assert (decided, n, names[mask[:10]].tolist()) == (4, 10, ["T1", "T2", "T3", "T4"])
    panel.view.hides = True
    assert told[-1][0] == 3
    panel.view.whole = True
    assert told[-1] is None
    panel.view.whole = False
    panel.view.candidates = [{"device": 0, "start": 1.0, "finish": 2.0}]  # as the page sets them
    panel.visible = False
    assert told[-1] is None and panel.view.candidates == []
    panel.visible = True
    panel.result(solved("cpop"))
    assert told[-1] is None or panel.settled(30)  # never the decisions of one plan over another
    assert panel.settled(30) and told[-1][0] == panel.view.step


def test_it_goes_to_where_two_partitioners_part(panel):
    """The step is the first that differs, which the chart is told to mark; nothing is marked of an unseen tab."""
    told = []
    panel.on_part = lambda schedule, row, op: told.append((row, op))
    show(panel, solved("cpop"))
    assert told[-1] == (-1, -1)
    for step in (7, 9):  # the same again, when the comparison is there already
        panel.view.step = step
        panel.beside("heft")
        assert panel.settled(30)
        row = panel.view.differs[0]
        assert 0 <= row == panel.view.step and told[-1] == (row, panel.view.op_of(row))
    panel.visible = False
    assert told[-1] == (-1, -1)


@given(placements_with_traces())
def test_what_is_decided_grows_to_the_whole(placement):
    """Op by op and transfer by transfer; a transfer comes with its producer and one of its readers there, never before."""
    problem = placement.problem
    schedule = pl.simulate(problem, placement)
    rows = placement.trace.rows(problem)
    graph = problem.graph
    before = decided_so_far(schedule, rows, 0)
    assert not before.any()
    for many in range(1, len(placement.trace.op) + 1):
        mask = decided_so_far(schedule, rows, many)
        assert not (before & ~mask).any()
        ops = mask[: graph.n_ops]
        for moved, drawn in zip(schedule.transfers, mask[graph.n_ops :], strict=True):
            edges = np.flatnonzero(graph.edge_tensor == moved["tensor"])
            readers = graph.consumer[edges]
            there = readers[schedule.device[readers] == moved["destination"]]
            assert drawn == (ops[graph.tensor_producer[moved["tensor"]]] and ops[there].any())
        before = mask
    assert before.all()
