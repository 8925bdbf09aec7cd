"""The tab "What matters": rows are what-ifs, they fill while nothing is dragged, and a click selects the largest op."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels import what_matters
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.panels.what_matters import WAITS, WhatMatters
from placelab.app.explorer.state import initial_state
from placelab.schedule import catalogue as strategies

PATIENCE = 60
STATE = initial_state("topcuoglu")  # whose key is asked for; the panels read no more of it


class Hand:
    """What says whether something is dragged."""

    down = False

    def __call__(self) -> bool:
        return self.down


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def panel(hand):
    panel = WhatMatters(Shared(lambda change, key: None, lambda text, tone: None, hand))
    yield panel
    panel.close()


@pytest.fixture
def result():
    """A small network on four GPUs."""
    return solved("heft")


def solved(partitioner: str, scheduler: str | None = None, preview: bool = False) -> Result:
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4))
    return Result(STATE, pl.solve(problem, partitioner, scheduler), None, preview=preview)


def saved(panel) -> dict[tuple[str, str], float]:
    return {(row["what"], row["name"]): row["saved"] for row in panel.view.rows}


def expected(schedule: pl.Schedule, factor: float) -> dict[tuple[str, str], float]:
    """What all kinds, devices, ops and, together, links save."""
    frame = pl.what_if(schedule, factor=factor)
    frame = frame[frame["what"] != "link"]
    problem = schedule.problem
    cluster = schedule.problem.cluster
    saved = dict(zip(zip(frame["what"], frame["name"], strict=True), frame["saved"], strict=True))
    for key, changes in {
        ("devices", "all gpu"): dict(speed=cluster.speed * factor),
        ("links", "inside server"): dict(bandwidth=cluster.bandwidth * factor),
    }.items():
        faster = problem.replace(cluster=cluster.replace(**changes))
        saved[key] = schedule.makespan - pl.simulate(faster, schedule.placement, schedule.scheduler).makespan
    return saved


def test_rows_are_what_ifs(panel, result):
    """All of them, to the last bit, also after the slider was moved."""
    panel.result(result)
    assert panel.settled(PATIENCE)
    assert saved(panel) == expected(result.schedule, 1.1)
    assert (panel.view.makespan, panel.view.fraction, panel.view.stale) == (result.schedule.makespan, 1.0, False)
    panel.view.percent = 50
    assert panel.settled(PATIENCE)
    assert saved(panel) == expected(result.schedule, 1.5)
    assert not any(row["stale"] for row in panel.view.rows)


def test_each_row_selects_its_largest_op(panel, result):
    """A kind's, a device's, the op itself, the op that sends most over links; what is selected elsewhere is known here."""
    panel.result(result)
    assert panel.settled(PATIENCE)
    schedule = result.schedule
    graph = result.schedule.problem.graph
    names = result.schedule.problem.cluster.names
    took = schedule.finish - schedule.start
    for row in panel.view.rows:
        op = row["op"]
        if row["what"] == "op":
            assert graph.names[op] == row["name"]
        elif row["what"] == "links":
            tensor = schedule.transfers["tensor"]
            assert op == graph.tensor_producer[tensor[np.argmax(graph.tensor_bytes[tensor])]]
        else:
            mine = np.ones(graph.n_ops, bool)
            if row["what"] != "devices":
                mine = (
                    graph.kind == row["name"] if row["what"] == "kind" else schedule.device == names.index(row["name"])
                )
            assert op == (np.flatnonzero(mine)[np.argmax(took[mine])] if mine.any() else -1)
    panel.view.selection = 7
    assert panel._shared.selection == 7
    panel._shared.selection = 3
    assert panel.view.selection == 3


def test_a_drag_stops_it_and_a_release_begins_it(panel, hand, result):
    """Nothing is simulated while a hand drags: old rows stay, marked; after the release all are new."""
    panel.result(result)
    assert panel.settled(PATIENCE)
    before = panel.view.rows
    hand.down = True
    other = solved("tf-greedy")
    panel.show(None, other.schedule.problem, True)
    assert panel.view.stale
    panel.result(other)
    assert not panel.settled(0.5)
    assert (panel.view.rows, panel.view.status, panel.view.stale) == (before, WAITS, True)
    hand.down = False
    assert panel.settled(PATIENCE)
    assert saved(panel) == expected(other.schedule, 1.1)
    assert not panel.view.stale


def test_rows_of_before_stay_until_theirs_are_new(panel, monkeypatch):
    """They come one by one; those whose turn has not come are marked."""
    monkeypatch.setattr(what_matters, "OFTEN", 0.0)
    seen = []
    panel.result(solved("heft"))
    assert panel.settled(PATIENCE)
    panel.view.observe(lambda change: seen.append([row["stale"] for row in change["new"]]), "rows")
    panel.result(solved("tf-greedy"))
    assert panel.settled(PATIENCE)
    assert any(any(stale) and not all(stale) for stale in seen)
    assert not any(seen[-1])


def test_nobody_sees_it_so_it_costs_nothing(panel, result):
    """Hidden, it simulates nothing; shown again, it catches up; a second look at the same result is free."""
    panel.visible = False
    panel.show(None, result.schedule.problem, False)
    panel.result(result)
    assert panel._worker._thread is None
    panel.visible = True
    panel.result(result)
    assert panel.settled(PATIENCE)
    rows = panel.view.rows
    assert len(rows)
    panel.result(result)
    assert panel.settled(PATIENCE)
    assert panel.view.rows is rows


def test_a_preview_and_no_result_leave_the_rows_stale(panel, result):
    """The numbers of a preview would be none of the strategy that is shown."""
    panel.result(result)
    assert panel.settled(PATIENCE)
    rows = panel.view.rows
    panel.show(None, solved("single").schedule.problem, False)
    panel.result(solved("single", preview=True))
    assert panel.view.stale and panel.view.rows is rows
    panel.result(None)
    assert panel.view.stale and panel.view.rows is rows


def test_a_scheduler_that_fails_is_a_sentence(panel):
    """A user's rule that raises does not end the thread."""

    @pl.scheduler
    def first_in_the_test(state, device, ready):
        """The first."""
        return ready[0]

    result = solved("single", "first-in-the-test")
    try:

        @pl.scheduler(name="first-in-the-test")
        def fails(state, device, ready):
            """Fails."""
            raise ValueError("no such luck")

        panel.result(result)
        assert panel.settled(PATIENCE)
    finally:
        del strategies._schedulers["first-in-the-test"]
    assert panel.view.status == "no such luck"
    good = solved("heft")
    panel.result(good)
    assert panel.settled(PATIENCE)
    assert saved(panel) == expected(good.schedule, 1.1)


def test_of_many_links_the_busiest_are_tried(panel, monkeypatch, result):
    """The others are counted in the status; both directions between two hosts are one row."""
    monkeypatch.setattr(what_matters, "LINKS", 2)
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.two_nodes(2))
    panel.result(Result(STATE, pl.solve(problem, "round-robin", "fifo"), None))
    assert panel.settled(PATIENCE)
    rows = [row["name"] for row in panel.view.rows if row["what"] == "links"]
    assert len(rows) == 2 and {*rows} < {"inside node0", "inside node1", "between node0 and node1"}
    assert panel.view.status.startswith("1 links")


def test_a_shared_link_is_a_row(panel):
    """By its name, beside the links that it joins; a click selects the op that sends most over it."""
    cluster = pl.Cluster([1.0] * 3, bandwidth=100.0, links={"nic": (1.0, [(0, "*")])})
    graph = pl.OpGraph.from_arrays(list("abcd"), [1.0] * 4, [(0, 2), (1, 3)], edge_bytes=[4.0, 5.0])
    problem = pl.Problem(graph, cluster, transfers="fair")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 0, 1, 2]), "fifo")
    panel.result(Result(STATE, schedule, None))
    assert panel.settled(PATIENCE)
    (row,) = [row for row in panel.view.rows if row["name"] == "nic"]
    frame = pl.what_if(schedule).set_index("name")
    assert (row["what"], row["op"], row["saved"]) == ("link", 1, frame["saved"]["nic"])
