"""The search for a problem on which the pair shown loses to another one, as the comparison starts it."""

from __future__ import annotations

import pytest
from explorer_hands import message, wait_for

import placelab as pl
from placelab.app.explorer.engine import pairs


@pytest.fixture
def explorer(monkeypatch):
    """Topcuoglu's tasks in the explorer; short searches."""
    monkeypatch.setattr(pairs, "QUICK", dict(restarts=2, steps=40))
    explorer = pl.explore("topcuoglu")
    yield explorer
    explorer.close()


def ask(explorer, kind, partitioner="", scheduler=""):
    """What the browser sends for a click."""
    table = explorer.comparison.table
    table.obey(dict(kind=kind, partitioner=partitioner, scheduler=scheduler))


def test_the_problem_found_is_shown_beside_the_rivals_schedule(explorer):
    """In one step of the history; the code in the copied cell finds it again."""
    before = explorer.state
    ask(explorer, "against", "single", "fifo")
    wait_for(lambda: explorer.state.model.title == "adversary" and explorer.shared.kept is not None)
    kept = explorer.shared.kept
    state = explorer.state
    assert (state.partitioner, state.scheduler) == ("heft", "planned")
    assert explorer.schedule.makespan > kept.makespan and kept.placement.partitioner == "single"
    assert pl.validate(explorer.schedule) == []
    assert state.cluster.speed.tolist() == kept.problem.cluster.speed.tolist()
    wait_for(lambda: "times as long as single + fifo" in message(explorer))
    again = eval(state.model.code, {"pl": pl})
    assert again.compute.tolist() == state.graph.compute.tolist() and again.metadata == state.graph.metadata
    explorer.undo()
    assert explorer.state == before


@pytest.mark.slow
def test_a_search_can_be_ended(explorer, monkeypatch):
    """With the best so far; such a problem cannot be found again by code, so it has none."""
    monkeypatch.setattr(pairs, "QUICK", dict(restarts=1, steps=20_000))
    ask(explorer, "against", "single", "fifo")
    wait_for(lambda: explorer.comparison.table.action == "halt" and "×" in explorer.comparison.table.status)
    ask(explorer, "halt")
    wait_for(lambda: explorer.state.model.title == "adversary")
    assert explorer.state.model.code == ""


def test_a_strategy_that_fails_is_said(explorer):
    """In the table's line; the explorer stays as it was."""

    @pl.partitioner(name="failing")
    def failing(problem):
        """Place nothing."""
        raise ValueError("no such thing")

    ask(explorer, "against", "failing", "fifo")
    wait_for(lambda: "no such thing" in explorer.comparison.table.status)
    assert explorer.state.model.title == "topcuoglu"
