"""The tab "Difference": rows are those of `pl.difference`, a click selects an op, other models compare by numbers only."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.difference_panel import GROUPS, HINT, SAME, DifferencePanel, contents
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.state import initial_state

PATIENCE = 60
STATE = initial_state("topcuoglu")  # whose key is asked for; the panels read no more of it


@pytest.fixture
def shared():
    return Shared(lambda change, key: None, lambda text, tone: None, lambda: False)


@pytest.fixture
def panel(shared):
    panel = DifferencePanel(shared)
    yield panel
    panel.close()


def solved(partitioner: str, model: str = "convolutional_network") -> pl.Schedule:
    return pl.solve(pl.Problem(pl.load(model), pl.clusters.pcie_box(4)), partitioner)


def give(panel, schedule: pl.Schedule | None, preview: bool = False) -> None:
    panel.result(None if schedule is None else Result(STATE, schedule, None, preview=preview))
    assert panel.settled(PATIENCE)


def of(rows, what: str) -> list[dict]:
    return [row for row in rows if row["what"] == what]


def test_nothing_is_kept(panel, shared):
    """Without a kept schedule the tab says how to keep one; with the one on show, that nothing differs."""
    schedule = solved("heft")
    give(panel, schedule)
    assert (panel.view.summary, panel.view.rows) == (HINT, [])
    shared.kept = schedule
    assert panel.settled(PATIENCE)
    assert (panel.view.summary, panel.view.rows) == (SAME, [])


def test_rows_are_those_of_the_library(panel, shared):
    """Groups and ops have the times of `pl.difference`, and what is saved adds up to the change of the makespan."""
    before = solved("single")
    after = solved("heft")
    shared.kept = before
    give(panel, after)
    rows = panel.view.rows
    found = pl.difference(before, after)
    for what, table in (("kind", found.by_kind()), ("op", found.ops)):
        change = {row["name"]: row["saved"] for row in of(rows, what)}
        exact = dict(
            zip(table["kind" if what == "kind" else "name"], table["critical_a"] - table["critical_b"], strict=True)
        )
        assert change and all(change[name] == pytest.approx(exact[name], abs=1e-15) for name in change)
    for what in ("kind", "scope"):
        assert sum(row["saved"] for row in of(rows, what)) == pytest.approx(found.saved)
    assert f"{int(found.ops['moved'].sum()):,} of {len(found.ops):,} ops moved" in panel.view.summary
    assert np.all(np.diff([abs(row["saved"]) for row in of(rows, "op")]) <= 0)
    assert panel.view.groups == GROUPS and len(of(rows, "scope")) >= 2


def test_identical_devices_that_stand_for_one_another_are_named(panel, shared):
    """A schedule whose two GPUs have changed places moved nothing, which the sentence says, and no row has an arrow."""
    before = solved("heft")
    swapped = before.placement.device.copy()
    swapped[before.placement.device == 0] = 1
    swapped[before.placement.device == 1] = 0
    after = pl.simulate(before.problem, pl.Placement(before.problem, swapped), "fifo")
    shared.kept = before
    give(panel, after)
    names = before.problem.cluster.names
    assert f"; 0 of {before.problem.graph.n_ops:,} ops moved; 2 devices matched\n" in panel.view.summary
    assert f"{names[1]} counts as {names[0]}" in panel.view.summary
    assert not [row for row in of(panel.view.rows, "op") if "→" in row["moved"]]


def test_a_row_names_an_op_that_all_views_know(panel, shared):
    """The number of an op row is that op's in the graph on show; that of a group belongs to an op of the group."""
    shared.kept = solved("single")
    after = solved("heft")
    give(panel, after)
    graph = after.problem.graph
    for row in panel.view.rows:
        if row["what"] == "op":
            assert graph.names[row["op"]] == row["name"]
        elif row["what"] == "kind":
            assert graph.kind[row["op"]] == row["name"]
        elif row["what"] == "scope":
            assert str(graph.names[row["op"]]).startswith(row["name"])


def test_another_model_compares_by_numbers_only(panel, shared):
    """Schedules of graphs without a common op: the sentence says so, and the numbers of both are there."""
    shared.kept = solved("heft")
    give(panel, pl.solve(pl.datasets.problem("topcuoglu"), "heft"))
    assert panel.view.summary.startswith("Another model is kept")
    assert panel.view.groups == ["number"] == [panel.view.group]
    assert {row["what"] for row in panel.view.rows} == {"number"}
    assert panel.view.rows[0]["name"] == "makespan" and panel.view.rows[0]["after"] == "80"


def test_a_preview_and_a_failure_leave_the_rows(panel, shared):
    """Rows stay, as stale ones, until there is a full result."""
    shared.kept = solved("single")
    after = solved("heft")
    give(panel, after)
    rows = panel.view.rows
    give(panel, solved("single"), preview=True)
    give(panel, None)
    panel.show(None, after.problem, True)
    assert rows and panel.view.rows == rows and panel.view.stale


def test_ops_in_no_scope_have_a_row_without_a_name():
    """So that the rows of scopes add up, too, where some ops are in none."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    _, _, rows = contents(pl.solve(problem, "single"), pl.solve(problem, "heft"))
    assert "" in [row["name"] for row in of(rows, "scope")]


def test_decisions_can_be_laid_beside_those_of_the_kept_partitioner(panel, shared):
    """Where both record them and they are two; the button then asks with the kept one's name."""
    asked = []
    panel.on_part = asked.append
    shared.kept = solved("heft")
    give(panel, solved("heft"))
    assert panel.view.beside == ""
    own = solved("heft")
    give(panel, pl.simulate(own.problem, pl.Placement(own.problem, own.device), "fifo"))  # nobody's in particular
    assert panel.view.beside == ""
    give(panel, solved("etf"))
    assert panel.view.beside == "heft"
    panel.view._handle_custom_msg({"part": True}, [])
    assert asked == ["heft"]
