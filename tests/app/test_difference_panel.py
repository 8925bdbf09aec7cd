"""The tab "Difference": rows are those of `pl.difference`, a click selects an op, other models compare by numbers only."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.measures import device_use, link_use
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


def test_devices_and_links_have_rows_of_their_own(panel, shared):
    """Use as the library has it, in the unit of the head, with the change; the sentence and the groups name them."""
    before = solved("single")
    after = solved("heft")
    shared.kept = before
    give(panel, after)
    assert panel.view.heads == {
        "device": ["busy [ms]", "idle [ms]", "peak memory [MB]"],
        "link": ["busy [ms]", "carried [MB]"],
    }
    matched = pl.difference(before, after).matched
    was = device_use(before)
    devices = {row["name"]: row["cells"] for row in of(panel.view.rows, "device")}
    assert len(devices) == before.problem.cluster.n_devices
    for name, now in device_use(after).items():
        kept = matched.get(name, name)
        cells = devices[kept if kept == name else f"{kept} (now {name})"]
        for i, size in enumerate((1e-3, 1e-3, 1e6)):
            for text, value in zip(cells[3 * i : 3 * i + 2], (was[kept][i], now[i]), strict=True):
                assert number(text) == pytest.approx(value / size, abs=0.51)
            assert number(cells[3 * i + 2]) == pytest.approx((now[i] - was[kept][i]) / size, abs=0.51)
    links = of(panel.view.rows, "link")
    assert len(links) == len(link_use(after)) and {row["cells"][0] for row in links} == {
        "–"
    }  # one device moved nothing
    carried = sum(number(row["cells"][4]) for row in links)
    assert carried == pytest.approx(pl.metrics(after)["bytes_moved"] / 1e6, abs=0.1 * len(links))


def test_things_that_are_there_once_and_links_that_devices_share():
    """A bus is one row, by its name also where a device was added to it, and what one schedule lacks is a dash."""
    graph = pl.OpGraph.from_arrays(["a", "x"], [1e9, 2e9], [(0, 1)], edge_bytes=[2e6])
    made = []
    for n in (2, 3):
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        names = [f"gpu:{i}" for i in range(n)]
        cluster = pl.Cluster([1e12] * n, bandwidth=1e9, names=names, links={"bus": (1e9, pairs)})
        problem = pl.Problem(graph, cluster, transfers="fair")
        made.append(pl.simulate(problem, pl.Placement(problem, [0, n - 1])))
    _, groups, rows, _ = contents(*made)
    assert groups == GROUPS
    assert [(row["name"], row["cells"]) for row in of(rows, "link")] == [("bus", ["2", "2", "0", "2", "2", "0"])]
    assert {row["name"]: row["cells"][:3] for row in of(rows, "device")} == {
        "gpu:0": ["1", "1", "0"],
        "gpu:1 (now gpu:2)": ["2", "2", "0"],
        "gpu:1": ["–", "0", "0"],
    }


def test_small_values_are_not_said_to_be_nothing():
    """Of a column that is written in ms, a nanosecond is not 0; without units heads have none."""
    graph = pl.OpGraph.from_arrays(["a", "x"], [1e9, 1e3], [])
    fast = pl.Problem(graph, pl.Cluster([1e12, 1e12], types=["a", "b"]))
    one, two = (pl.simulate(fast, pl.Placement(fast, [0, d])) for d in (0, 1))
    _, groups, rows, _ = contents(one, two)
    assert groups == [group for group in GROUPS if group != "link"]
    assert {row["name"]: row["cells"][:3] for row in of(rows, "device")} == {
        "dev0": ["1", "1", "≈ 0"],
        "dev1": ["0", "≈ 0", "≈ 0"],
    }
    plain = pl.datasets.problem("topcuoglu")
    _, _, rows, heads = contents(pl.solve(plain, "single"), pl.solve(plain, "heft"))
    assert heads["device"][:2] == ["busy", "idle"] and heads["link"] == ["busy", "carried"]
    assert {row["name"]: row["cells"][1] for row in of(rows, "device")}["P3"] == "49"


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("≈ ", "").replace(",", ""))


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
    _, _, rows, _ = contents(pl.solve(problem, "single"), pl.solve(problem, "heft"))
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
    panel.view.obey({"kind": "beside"})
    assert asked == ["heft"]
