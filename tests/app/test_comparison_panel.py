"""The panel that compares all pairs, without a browser: what it computes, when, and what it sends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explorer_hands import CLUSTER, wait_for

import placelab as pl
from placelab.app.explorer.engine import pairs
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels import comparison as panel
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.state import initial_state
from placelab.base.progress import never
from placelab.base.units import percent
from placelab.schedule import catalogue as strategies


class Hand:
    """An explorer of one panel: a state that the panel and the hand change, and whether the hand drags."""

    def __init__(self, given: Any = None, cluster: pl.Cluster | None = CLUSTER) -> None:
        self.dragging = False
        self.state = initial_state(given or pl.generators.layered(60, seed=3), cluster)
        self.problem = self.state.problem()
        self.shared = Shared(self.change, lambda text, tone: None, lambda: self.dragging)
        self.panel = Comparison(self.shared)

    def change(self, change: Any, key: str = "") -> None:
        """Show another state, as the explorer does: equal rules are the same problem."""
        before, self.state = self.state, change(self.state)
        if self.state.rules != before.rules:
            self.problem = self.state.problem()
        self.show()

    def show(self) -> None:
        self.shared.follow(self.problem)
        self.panel.show(self.state, self.problem, self.dragging)

    def drag(self, bandwidth: float) -> None:
        """One move of the hand on all links."""
        self.dragging = True
        self.change(lambda state: replace(state, cluster=state.cluster.replace(bandwidth=bandwidth)))

    def release(self) -> None:
        self.dragging = False
        self.show()

    def ask(self, kind: str, partitioner: str = "", scheduler: str = "") -> None:
        """What the browser sends for a click."""
        self.panel.table.obey(dict(kind=kind, partitioner=partitioner, scheduler=scheduler))

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.panel.table.rows if row["name"] == name)

    def cell(self, partitioner: str, scheduler: str) -> dict[str, Any] | None:
        return self.row(partitioner)["cells"][self.panel.table.schedulers.index(scheduler)]


class Clock:
    """By which a step is late: time passes in those that take too long alone, on a busy machine, too."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self) -> bool:
        """Let a moment pass."""
        time.sleep(0.01)
        self.now += 0.03
        return True


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """The clock of all steps; nothing may take longer than 0.3 seconds of it."""
    made = Clock()
    monkeypatch.setattr(pairs, "monotonic", made)
    monkeypatch.setattr(panel, "LATE", 0.3)
    return made


class Gate:
    """A partitioner that waits at a gate; it knows how often it was called, and can be stopped if it is said to be slow."""

    def __init__(self, name: str, slow: bool = False) -> None:
        self.calls: list[pl.Problem] = []
        self.open = threading.Event()

        @pl.partitioner(name=name, slow=slow)
        def gate(problem: pl.Problem, *, cancel=never) -> pl.Placement:
            self.calls.append(problem)
            while not self.open.wait(0.01) and not cancel():
                pass
            return pl.place(problem, "single")


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    """Begin at once, and leave out the product's own strategies but three."""
    monkeypatch.setattr(panel, "PAUSE", 0.0)
    few = {name: strategies._partitioners[name] for name in ("hash", "single", "heft")}
    monkeypatch.setattr(strategies, "_partitioners", few)


@pytest.fixture
def hands() -> Iterator[Any]:
    """Make explorers; close them at the end."""
    made: list[Hand] = []

    def make(*given: Any) -> Hand:
        made.append(Hand(*given))
        return made[-1]

    yield make
    for hand in made:
        hand.panel.close()


def settle(hand: Hand) -> None:
    assert hand.panel.settled(60)


def test_the_frame_is_what_compare_says(hands):
    """All pairs with their peak memory and bytes moved; the best one; the same numbers in the table."""
    hand = hands()
    hand.show()
    settle(hand)
    frame = hand.panel.frame
    expected = pl.compare(hand.problem)
    assert frame["partitioner"].tolist() == expected["partitioner"].tolist()
    for column in ("makespan", "bound_gap", "valid", "oom", "error"):
        assert frame[column].equals(expected[column])
    schedule = pl.solve(hand.problem, "heft", "fifo")
    assert hand.cell("heft", "fifo") == {
        "makespan": schedule.makespan,
        "gap": pytest.approx(pl.metrics(schedule)["bound_gap"]),
        "memory": schedule.peak_memory.max(),
        "moved": pl.metrics(schedule)["bytes_moved"],
        "flaw": "",
        "error": "",
        "stale": False,
    }
    best = pl.best_pairs(frame)
    assert hand.panel.best == list(zip(best["partitioner"], best["scheduler"], strict=True)) != []
    assert not hand.panel.running and hand.panel.table.status == ""


def test_rows_are_filled_one_by_one(hands):
    """While one partitioner runs, what the others are under the scheduler shown is there; the frame comes when all is."""
    gate = Gate("gate")
    hand = hands()
    hand.show()
    wait_for(lambda: gate.calls and hand.row("gate")["state"] == "running")
    table = hand.panel.table
    shown = hand.state.scheduler
    assert all(hand.cell(name, shown) for name in ("hash", "single", "heft"))
    assert hand.cell("gate", shown) is None and hand.cell("heft", "fifo" if shown != "fifo" else "pct") is None
    pairs = 4 * len(table.schedulers)
    wait_for(lambda: (table.action, table.status, table.fraction) == ("halt", percent(3 / pairs), 3 / pairs))
    assert hand.panel.frame is None and hand.panel.running
    gate.open.set()
    settle(hand)
    assert hand.row("gate")["state"] == "done" and len(hand.panel.frame) == 4 * sum(
        not f.needs for f in pl.schedulers().values()
    )


def test_the_quickest_come_first_the_next_time(hands):
    """A partitioner that took long holds up none of the others."""
    order = []

    @pl.partitioner
    def aa(problem: pl.Problem) -> pl.Placement:
        order.append("aa")
        time.sleep(0.6)  # longer than bb takes on a busy machine
        return pl.place(problem, "single")

    @pl.partitioner
    def bb(problem: pl.Problem) -> pl.Placement:
        order.append("bb")
        return pl.place(problem, "single")

    hand = hands()
    for seed in (0, 1):
        hand.change(lambda state: replace(state, seed=seed))  # noqa: B023
        settle(hand)
    assert order == ["aa", "bb", "bb", "aa"]


def shows(hand: Hand, **changes: Any) -> Result:
    """The full result of the hand's state, which its panel gets as from the explorer."""
    schedule = pl.solve(hand.problem, hand.state.partitioner, hand.state.scheduler)
    result = replace(Result(hand.state, schedule, pl.validate(schedule, memory=False)), **changes)
    hand.panel.result(result)
    return result


def test_what_is_shown_is_in_its_cell_at_once(hands):
    """Also of a partitioner that searches, whose plan is run under the other schedulers without another search."""
    gate = Gate("gate", slow=True)
    gate.open.set()
    hand = hands()
    hand.change(lambda state: replace(state, partitioner="gate", scheduler="fifo"))
    settle(hand)
    assert hand.row("gate")["state"] == "search"
    hand.panel.visible = False
    makespan = shows(hand).schedule.makespan
    assert hand.cell("gate", "fifo")["makespan"] == makespan and len(gate.calls) == 1
    hand.panel.visible = True
    settle(hand)
    assert hand.row("gate")["state"] == "done" and len(gate.calls) == 1
    expected = pl.compare(hand.problem, "single").set_index("scheduler")["makespan"]
    row = {s: hand.cell("gate", s)["makespan"] for s in expected.index if s != "planned"}
    assert row == expected[list(row)].to_dict()
    assert "gate" in set(hand.panel.frame["partitioner"])
    hand.change(lambda state: replace(state, seed=1))
    settle(hand)
    assert hand.row("gate")["state"] == "search"  # of the problem before


def test_a_strategy_that_is_defined_anew_loses_what_was_shown(hands):
    """The plan of the one before is in no cell any more, whatever is shown until the new one's result is there."""
    gate = Gate("gate", slow=True)
    gate.open.set()
    hand = hands()
    hand.change(lambda state: replace(state, partitioner="gate", scheduler="fifo"))
    shows(hand)
    settle(hand)
    assert hand.row("gate")["state"] == "done"
    hand.panel.again()
    hand.change(lambda state: replace(state, scheduler="pct"))
    settle(hand)
    assert hand.row("gate")["state"] == "search"


@pytest.mark.parametrize("what", ["preview", "stopped", "options", "seed"])
def test_what_is_shown_may_be_no_cell(hands, what):
    """Previews, searches that were stopped, other options than the table's, results of a seed before."""
    gate = Gate("gate", slow=True)
    gate.open.set()
    hand = hands()
    hand.change(lambda state: replace(state, partitioner="gate", scheduler="fifo"))
    if what == "options":
        hand.change(lambda state: state.with_options("partitioner", {"effort": 2}))
    settle(hand)
    seed = replace(hand.state, seed=1)
    shows(hand, **({"state": seed} if what == "seed" else {what: True} if what != "options" else {}))
    settle(hand)
    assert hand.row("gate")["state"] == "search" and hand.cell("gate", "fifo") is None
    assert hand.panel.table.other_options == (what == "options")


def test_the_row_and_the_column_of_what_is_shown_come_first(hands):
    """All of the row, then the scheduler under the other partitioners, then the other pairs; each is placed once."""
    gate = Gate("gate")
    gate.open.set()
    hand = hands()
    taken = []
    hand.panel._pairs.take = lambda row, take=hand.panel._pairs.take: (  # what the table gets, in this order
        taken.append((row["partitioner"], row["scheduler"])),
        take(row),
    )
    hand.panel.visible = False
    hand.change(lambda state: replace(state, partitioner="heft", scheduler="pct"))
    shows(hand)
    hand.panel.visible = True
    settle(hand)
    columns = len(hand.panel.table.schedulers)
    assert taken[:2] == [("heft", "pct")] * 2  # as it was shown, and with the time that it takes
    assert {name for name, _ in taken[1 : columns + 1]} == {"heft"}
    assert {*taken[columns + 1 : columns + 4]} == {(name, "pct") for name in ("hash", "single", "gate")}
    assert len(taken) == 1 + 4 * columns and len(gate.calls) == 1


def test_a_drag_does_not_restart(hands):
    """A run waits while a hand drags; after the release it goes on if nothing has changed, and begins again if something has."""
    gate = Gate("gate")
    hand = hands()
    hand.show()
    wait_for(lambda: gate.calls)
    hand.dragging = True
    gate.open.set()
    wait_for(lambda: hand.row("gate")["state"] == "running")
    time.sleep(0.1)
    assert hand.panel.running and hand.row("gate")["state"] == "running"  # its pairs wait
    hand.release()
    settle(hand)
    assert len(gate.calls) == 1 and hand.row("gate")["state"] == "done"
    first = hand.panel.frame
    for bandwidth in (1e9, 2e9, 3e9):
        hand.drag(bandwidth)
        assert hand.cell("heft", "fifo")["stale"]
    settle(hand)
    assert len(gate.calls) == 1 and hand.panel.frame is first
    hand.release()
    settle(hand)
    assert gate.calls[1:] == [hand.problem] and hand.panel.frame is not first
    assert not any(cell["stale"] for row in hand.panel.table.rows for cell in row["cells"])


def test_a_run_that_a_drag_outdates_begins_again(hands):
    """Its partitioner is left within a second, whether or not it listens."""
    gate = Gate("gate")
    hand = hands()
    hand.show()
    wait_for(lambda: gate.calls)
    hand.drag(1e9)
    hand.release()
    wait_for(lambda: len(gate.calls) == 2)
    assert gate.calls[1] is hand.problem
    gate.open.set()
    settle(hand)
    assert hand.panel.frame["makespan"].notna().any()


def test_a_proof_is_known_to_all(hands):
    """What a partitioner proves is shared; a bound of another view counts for every gap; a new problem knows neither."""
    hand = hands()

    @pl.partitioner(slow=True)
    def oracle(problem: pl.Problem) -> pl.Placement:
        best = pl.place(problem, "heft")
        return replace(best, bound=pl.simulate(problem, best, "planned").makespan)

    hand.show()
    settle(hand)
    before = hand.cell("heft", "planned")
    assert before["gap"] > 0 and hand.row("oracle")["state"] == "search"
    bound = (before["makespan"] + before["makespan"] / (1 + before["gap"])) / 2
    hand.shared.prove(hand.problem, bound)
    assert hand.cell("heft", "planned")["gap"] == pytest.approx(before["makespan"] / bound - 1)
    assert hand.panel.frame["bound_gap"].min() < before["gap"]
    hand.ask("search", "oracle")
    settle(hand)
    assert hand.shared.bound == pytest.approx(before["makespan"])
    assert hand.cell("heft", "planned")["gap"] == pytest.approx(0.0)
    hand.drag(1e6)
    hand.release()
    settle(hand)
    assert hand.cell("heft", "planned")["gap"] > 0.01


def test_what_searches_runs_on_request(hands):
    """One row, or all; each can be stopped by itself, and the rest goes on."""
    first = Gate("first", slow=True)
    second = Gate("second", slow=True)
    hand = hands()
    hand.show()
    settle(hand)
    assert hand.panel.table.action == "search" and not first.calls and hand.panel.frame is not None
    hand.ask("search", "second")
    wait_for(lambda: hand.row("second")["state"] == "running")
    assert not first.calls
    hand.ask("halt", "second")
    settle(hand)
    assert hand.row("second")["state"] == "search" and hand.panel.table.action == "search"
    hand.ask("search")
    wait_for(lambda: first.calls)
    hand.ask("halt", "first")
    wait_for(lambda: len(second.calls) == 2)
    second.open.set()
    settle(hand)
    assert [hand.row(name)["state"] for name in ("first", "second")] == ["search", "done"]
    assert "second" in set(hand.panel.frame["partitioner"])


def test_what_searches_runs_by_itself_on_small_graphs(hands):
    """A search on a few ops ends in about a second."""
    gate = Gate("gate", slow=True)
    gate.open.set()
    hand = hands(pl.generators.fork_join(4))
    hand.show()
    settle(hand)
    assert gate.calls and hand.panel.table.action == ""


def test_a_run_can_be_stopped_and_resumed(hands):
    """Cancel keeps what is known; Compare does the rest; another problem begins by itself."""
    gate = Gate("gate")
    hand = hands()
    hand.show()
    wait_for(lambda: hand.row("gate")["state"] == "running" if hand.panel.table.rows else False)
    hand.ask("halt")
    settle(hand)
    table = hand.panel.table
    assert (table.action, table.status) == ("compare", "Stopped.") and not hand.panel.running
    assert hand.cell("heft", hand.state.scheduler) and hand.panel.frame is None
    gate.open.set()
    hand.ask("search", partitioner="nobody's")  # a strategy that is gone: nothing goes on for it
    assert hand.panel.table.status == "Stopped."
    hand.ask("compare")
    settle(hand)
    assert hand.panel.frame is not None
    hand.panel.halt()
    hand.change(lambda state: replace(state, seed=1))
    settle(hand)
    assert set(hand.panel.frame["seed"]) == {1}


def test_a_quick_partitioner_that_loops_can_be_left_out(hands):
    """It never listens; the others are compared nevertheless, and it has a button."""
    end = threading.Event()

    @pl.partitioner
    def loops(problem: pl.Problem) -> pl.Placement:
        end.wait(60)
        return pl.place(problem, "single")

    Gate("zz").open.set()
    hand = hands()
    hand.show()
    wait_for(lambda: hand.panel.table.rows and hand.row("loops")["state"] == "running")
    hand.ask("halt", "loops")
    settle(hand)
    assert hand.row("loops")["state"] == "search" and hand.row("zz")["state"] == "done"
    assert hand.panel.table.action == "search"
    end.set()


def test_a_partitioner_that_never_ends_holds_up_no_other(hands, clock):
    """It is left after a while, the others come first; then it begins anew, with twice the time, as long as nobody stops it.

    A comparison without it can be downloaded then. In the next problem it comes last.
    """
    calls: list[pl.Problem] = []

    @pl.partitioner
    def aa(problem: pl.Problem, *, cancel=never) -> pl.Placement:
        calls.append(problem)
        while clock.pass_by():
            while cancel():  # no second of another's
                time.sleep(0.01)

    Gate("zz").open.set()
    hand = hands()
    hand.show()
    wait_for(lambda: hand.panel.table.rows and hand.row("zz")["state"] == "done" and len(calls) > 1)
    wait_for(lambda: hand.row("heft")["state"] == "done")  # the table follows a tenth of a second later
    assert hand.panel.frame is None
    wait_for(lambda: min(hand.row("aa")["over"]) >= 0.6)
    assert hand.row("zz")["over"] == [0] * len(hand.panel.table.schedulers)
    json.dumps(hand.panel.table.rows)
    hand.ask("halt", "aa")
    settle(hand)
    assert hand.row("aa")["state"] == "search" and "aa" not in set(hand.panel.columns()["partitioner"])
    assert hand.row("aa")["quick"] and min(hand.row("aa")["over"]) >= 0.6
    calls.clear()
    hand.change(lambda state: replace(state, seed=1))
    wait_for(lambda: calls)
    assert all(hand.cell(name, hand.state.scheduler) for name in ("hash", "single", "heft", "zz"))


def never_ending(under: tuple[str, ...], tried: list[str]) -> None:
    """Enter a scheduler that never ends under these partitioners, and runs as fifo under the others."""

    @pl.scheduler
    def aa(state, device: int, ready: list[int]) -> int:
        if state.placement.partitioner in under:
            tried.append(state.placement.partitioner)
            while True:
                time.sleep(0.01)
        return ready[0]


def test_a_scheduler_that_never_ends_holds_up_no_other(hands, monkeypatch):
    """All other columns are filled in all rows, and each of its own cells is tried before one has twice the time."""
    monkeypatch.setattr(panel, "LATE", 0.3)
    monkeypatch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
    tried: list[str] = []
    never_ending(("hash", "single", "heft"), tried)
    hand = hands()
    hand.show()
    wait_for(lambda: hand.panel.table.rows and sum(row["cells"].count(None) for row in hand.panel.table.rows) == 3)
    overs = lambda: {over for row in hand.panel.table.rows for over in row["over"]}  # noqa: E731
    wait_for(lambda: min(overs()) == 0.0 and max(overs()) >= 0.6)
    assert all(hand.cell(name, "aa") is None for name in ("hash", "single", "heft"))
    assert sorted(tried[:3]) == ["hash", "heft", "single"]
    hand.ask("halt")
    settle(hand)
    assert set(hand.panel.columns()["scheduler"]) == {*hand.panel.table.schedulers} - {"aa"}


def test_a_scheduler_that_never_ends_under_one_partitioner_fills_the_rest_of_its_column(hands, monkeypatch):
    """That cell alone stays open, and says after how long it was left; so it is if it is the pair shown."""
    monkeypatch.setattr(panel, "LATE", 0.3)
    monkeypatch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
    never_ending(("hash",), [])
    hand = hands()
    hand.change(lambda state: replace(state, partitioner="hash", scheduler="aa"))
    wait_for(lambda: hand.panel.table.rows and sum(row["cells"].count(None) for row in hand.panel.table.rows) == 1)
    wait_for(lambda: max(hand.row("hash")["over"]) >= 0.6)
    at = hand.panel.table.schedulers.index("aa")
    assert hand.cell("hash", "aa") is None and [i for i, over in enumerate(hand.row("hash")["over"]) if over] == [at]
    assert not any(hand.row("single")["over"]) and hand.row("heft")["state"] == "done"
    hand.ask("halt")
    settle(hand)


def test_a_partitioner_that_is_late_does_not_wait_for_a_column_that_never_ends(hands, monkeypatch):
    """Who has taken less time in vain comes first: its second try comes before the scheduler's third."""
    monkeypatch.setattr(panel, "LATE", 0.3)
    monkeypatch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
    tried: list[str] = []
    never_ending(("hash", "single", "heft"), tried)
    before: list[int] = []

    @pl.partitioner
    def ab(problem: pl.Problem) -> pl.Placement:
        before.append(len(tried))
        time.sleep(0.45)
        return pl.place(problem, "single")

    hand = hands()
    hand.show()
    wait_for(lambda: len(tried) >= 3 and len(before) >= 2)
    assert before[1] <= 2
    hand.ask("halt")
    settle(hand)


def test_a_partitioner_that_ends_when_it_is_asked_to_is_late_itself(hands, clock):
    """Not the scheduler that would have been next, whose column would wait in its place."""

    @pl.partitioner
    def aa(problem: pl.Problem, *, cancel=never) -> pl.Placement:
        while not cancel():
            clock.pass_by()
        return pl.place(problem, "single")

    hand = hands()
    hand.show()
    wait_for(lambda: hand.panel.table.rows and max(hand.row("aa")["over"]) > 0)
    hand.ask("halt")
    settle(hand)
    assert min(hand.row("aa")["over"]) > 0 and not any(hand.row("heft")["over"])


def test_while_kernels_are_compiled_nothing_is_late(monkeypatch):
    """Nor while a run waits for a hand."""
    busy = [True]
    monkeypatch.setattr(pairs, "compiling", lambda: busy[0])
    step = pairs.Step()
    assert not step.late
    step.begin(0.05, "fifo")
    time.sleep(0.1)
    assert not step.late
    busy.clear()
    busy.append(False)
    time.sleep(0.1)
    assert step.late
    step.rest()
    assert not step.late


def test_a_click_shows_the_pair(hands):
    """With default options, as it was compared; names that are no strategies are ignored."""
    hand = hands()
    hand.change(lambda state: state.with_options("partitioner", {"insertion": False}))
    hand.ask("show", "heft", "fifo")
    assert (hand.state.partitioner, hand.state.scheduler) == ("heft", "fifo")
    assert hand.state.options_of("partitioner") == {} and hand.panel.table.shown == ["heft", "fifo"]
    hand.ask("show", "no such", "fifo")
    hand.ask("show", "single", "no such")
    assert hand.panel.table.shown == ["heft", "fifo"]


def test_cells_without_a_schedule_say_why(hands):
    """A failure and a pair that does not fit together; hostile names and texts travel as they are, as valid JSON."""
    name = "<img src=x onerror=alert(1)>"

    @pl.partitioner(name=name)
    def broken(problem: pl.Problem) -> pl.Placement:
        raise RuntimeError("<b>bold</b>")

    hand = hands()
    hand.show()
    settle(hand)
    cell = hand.cell(name, "fifo")
    assert (cell["error"], cell["makespan"], cell["gap"]) == ("<b>bold</b>", None, None)
    assert "planned" in hand.cell("hash", "planned")["error"]
    assert json.loads(json.dumps(hand.panel.table.rows, allow_nan=False))


def test_schedules_that_do_not_count_say_why(hands):
    """Out of memory is a flaw, not an error: the times are there; the pair is not the best."""
    graph = pl.OpGraph.from_arrays(
        list("abc"), [1.0] * 3, [(0, 2), (1, 2)], edge_bytes=[3.0, 3.0], persistent=[1.0] * 3
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[8.0, 8.0]), memory="dynamic")
    hand = hands(problem, None)
    hand.show()
    settle(hand)
    cell = hand.cell("single", "fifo")
    assert cell["flaw"] == "out of memory" and cell["makespan"] == 3.0 and not cell["error"]
    assert hand.panel.best and ("single", "fifo") not in hand.panel.best


def test_pairs_are_compared_as_prepared(hands):
    """The transformations before placing are applied, once for all partitioners."""
    calls = []

    @strategies.transform(name="count")
    def count(problem: pl.Problem) -> Any:
        calls.append(problem)
        return pl.transforms.fuse(problem)

    hand = hands()
    hand.change(lambda state: replace(state, prepare=("count",)))
    settle(hand)
    expected = pl.compare(hand.problem, prepare=["fuse"])
    assert np.array_equal(hand.panel.frame["makespan"], expected["makespan"], equal_nan=True)
    assert len(calls) == 1


def test_a_new_strategy_is_compared(hands):
    """A cell that enters one compares again."""
    hand = hands()
    hand.show()
    settle(hand)
    Gate("new").open.set()
    hand.panel.again()
    settle(hand)
    assert hand.row("new")["state"] == "done"


def test_a_panel_that_nobody_sees_compares_nothing(hands):
    """It does when it is seen."""
    hand = hands()
    hand.panel.visible = False
    hand.show()
    hand.panel.result(None)
    settle(hand)
    assert hand.panel.frame is None
    hand.panel.visible = True
    settle(hand)
    assert hand.panel.frame is not None


def test_progress_without_a_bound_proves_nothing(hands):
    """A graph without work has no lower bound above 0, and no gap."""
    hand = hands(pl.OpGraph.from_arrays(["a"], [0.0], []))
    hand.show()
    settle(hand)
    assert hand.shared.bound == 0.0
    assert hand.cell("single", "fifo")["gap"] == 0.0
