"""The mode By hand of the explorer's chart: what is held follows, what is set is a step, what is illegal is named."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest
from explorer_hands import CLUSTER, drag, figures, look, message, pick, release, reproduces, wait_for

import placelab as pl
from placelab.app.explorer import Explorer
from placelab.app.widgets.graph_view import NOWHERE
from placelab.problem.resource_models import TRANSFER_MODELS

GRIPS = count(1)


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    """The ten tasks, HEFT's plan turned into one by hand."""
    explorer = pl.explore("topcuoglu")
    look(explorer)
    assert explorer.settled(60)
    explorer.gantt.by_hand = True
    assert explorer.settled(60)
    yield explorer
    explorer.close()


def hold(explorer: Explorer, op: str, device: str, time: float, grip: int | None = None, **more: object) -> int:
    """Hold an op over a device, as a pointer does; more: ``swap``, or the ``ops`` that move together."""
    grip = next(GRIPS) if grip is None else grip
    at = dict(op=explorer.problem.graph.index(op), device=explorer.problem.cluster.index(device), time=time)
    explorer.gantt.hold = dict(kind="hold", grip=grip, **at, **more)
    return grip


def say(explorer: Explorer, grip: int, op: str, kind: str, **what: object) -> None:
    """A command of the page on what is held."""
    explorer.gantt.obey(dict(kind=kind, grip=grip, op=explorer.problem.graph.index(op), **what))


def ask(explorer: Explorer, what: str) -> int:
    """Press a button that helps, and wait for the answer."""
    grip = next(GRIPS)
    explorer.gantt.obey(dict(kind=what, grip=grip))
    assert explorer.by_hand.settled(60) and explorer.settled(60)
    return grip


def move(explorer: Explorer, op: str, device: str, time: float) -> None:
    """Drag an op to a place and set it there."""
    say(explorer, hold(explorer, op, device, time), op, "set")


def test_the_mode_makes_a_plan_of_what_is_shown(explorer):
    """Devices and times stay HEFT's; the picker says by hand; it is one step, and what is copied makes the same."""
    assert explorer.schedule.makespan == 80 and pl.validate(explorer.schedule) == []
    assert explorer.pickers.partitioner.value == "by hand" and explorer.state.scheduler == "planned"
    assert repr(explorer) == "Explorer(topcuoglu: 10 ops on 3 devices, by hand + planned: 80)"
    assert len(explorer.steps.past) == 1 and reproduces(explorer)
    explorer.undo()
    assert not explorer.gantt.by_hand and explorer.pickers.partitioner.value == "heft"


def test_what_is_held_is_shown_and_what_is_set_is_one_step(explorer):
    """The schedule follows each place; only the last one is in the history, and undo leads back before all."""
    grip = hold(explorer, "T6", "P1", 41)
    assert explorer.schedule.makespan == 76 and len(explorer.steps.past) == 1
    hold(explorer, "T6", "P3", 60, grip)
    assert explorer.schedule.makespan != 76 and len(explorer.steps.past) == 1
    hold(explorer, "T6", "P1", 41, grip)
    say(explorer, grip, "T6", "set")
    assert explorer.schedule.makespan == 76 and pl.validate(explorer.schedule) == []
    assert len(explorer.steps.past) == 2 and reproduces(explorer)
    explorer.undo()
    assert explorer.schedule.makespan == 80 and explorer.gantt.by_hand
    explorer.redo()
    assert explorer.schedule.makespan == 76


def test_the_note_on_an_edit_goes_with_the_edit(explorer):
    """What Undo has taken back is no longer offered to be undone, which would undo the edit before it, but to be done again."""
    move(explorer, "T6", "P1", 41)
    done = lambda: explorer.commands.palette.done  # noqa: E731
    wait_for(lambda: done().get("effect") == "80 → 76")
    explorer.undo()
    wait_for(lambda: done()["effect"] == "76 → 80")
    assert done()["redo"] and done()["text"].startswith("Undo: ")


def test_what_is_put_back_leaves_nothing(explorer):
    """Escape shows the plan as it was, in no step; a message that comes after it is ignored."""
    before = explorer.steps
    grip = hold(explorer, "T6", "P1", 41)
    say(explorer, grip, "T6", "return")
    assert explorer.schedule.makespan == 80 and explorer.steps == before
    hold(explorer, "T6", "P1", 41.5, grip)
    assert explorer.schedule.makespan == 80 and not explorer.by_hand.holding


def test_an_illegal_place_says_who_forbids_it(explorer):
    """An op stops at the nearest legal place; the sentence names the op that must run first, or later."""
    grip = hold(explorer, "T10", "P3", 0)
    assert explorer.gantt.hand["said"] == "T10 cannot run before T7, which must run first"
    assert pl.validate(explorer.schedule) == []
    say(explorer, grip, "T10", "return")
    hold(explorer, "T1", "P2", 70)
    assert explorer.gantt.hand["said"] == "T1 cannot run behind T4, which must run later"
    assert pl.validate(explorer.schedule) == []


def test_the_op_that_forbids_a_place_is_marked(explorer):
    """The chart hatches its lane up to its end, from its start on, or it alone; nothing once the op is held where it may be."""
    index = explorer.problem.graph.index
    barred = lambda: explorer.gantt.hand["barred"]  # noqa: E731
    grip = hold(explorer, "T10", "P3", 0)
    assert barred() == [index("T7"), -1]
    hold(explorer, "T10", "P3", 60, grip)
    assert barred() == []
    hold(explorer, "T10", "P3", 0, grip)
    hold(explorer, "T10", "P3", 1, grip, swap=True)
    assert barred() == [index("T1"), 0]
    hold(explorer, "T10", "P3", 99, grip, swap=True)
    assert "No bar" in explorer.gantt.hand["said"] and barred() == []
    say(explorer, grip, "T10", "return")
    hold(explorer, "T1", "P2", 70)
    assert barred() == [index("T4"), 1]


def test_a_forbidden_device_says_why():
    """A device constraint refuses its lane in words, and the op stays where it was legal last."""
    graph = pl.datasets.load("topcuoglu")
    problem = pl.Problem(graph, pl.Cluster(**graph.metadata["cluster"])).pin({"T6": ["P1", "P2"]})
    explorer = pl.explore(problem)
    look(explorer)
    assert explorer.settled(60)
    explorer.gantt.by_hand = True
    grip = hold(explorer, "T6", "P1", 41)
    device = explorer.schedule.device.copy()
    hold(explorer, "T6", "P3", 41, grip)
    said = "op 'T6' may only run on P1, P2, not on 'P3'"
    assert explorer.gantt.hand["refused"] == ["", "", said] and explorer.gantt.hand["said"] == said
    assert np.array_equal(explorer.schedule.device, device)
    explorer.close()


def test_arrow_keys_move_by_one_place_and_one_device(explorer):
    """Up is the device above, in the first gap that is long enough; left is one place back; Enter sets."""
    grip = next(GRIPS)
    say(explorer, grip, "T6", "step", way="up")
    lane = lambda: [str(name) for name in explorer.problem.graph.names[pl.by_hand(explorer.schedule).order("P1")]]  # noqa: E731
    assert lane() == ["T2", "T6", "T8"] and explorer.schedule.makespan == 76
    say(explorer, grip, "T6", "step", way="left")
    assert lane() == ["T6", "T2", "T8"]
    say(explorer, grip, "T6", "step", way="right")
    say(explorer, grip, "T6", "step", way="right")
    assert lane() == ["T2", "T6", "T8"] and "cannot run behind T8" in explorer.gantt.hand["said"]
    say(explorer, grip, "T6", "set")
    assert lane() == ["T2", "T6", "T8"] and len(explorer.steps.past) == 2


def test_the_best_move_is_offered_and_taken(explorer):
    """HEFT's plan has one, of T6 to P1; nothing changes before Enter; then there is none, which is said."""
    grip = ask(explorer, "best")
    offered = explorer.gantt.hand
    assert offered["offer"] and offered["device"] == 0 and offered["start"] == 40 and "saves 4" in offered["said"]
    assert explorer.schedule.makespan == 80 and len(explorer.steps.past) == 1 and not explorer.by_hand.holding
    say(explorer, grip, "T6", "set")
    assert explorer.schedule.makespan == 76 and len(explorer.steps.past) == 2
    ask(explorer, "best")
    assert explorer.gantt.hand == {} and "No single move" in message(explorer)


def lane(explorer: Explorer, device: str) -> list[str]:
    """Names of the ops of a device in their order, in the plan that is shown."""
    return explorer.problem.graph.names[pl.by_hand(explorer.schedule).order(device)].tolist()


def test_two_bars_change_places(explorer):
    """With Alt an op changes places with the bar that it is put on, as `swap` has it; beside the bars nothing changes."""
    plan = pl.by_hand(explorer.schedule)
    grip = hold(explorer, "T6", "P1", 30, swap=True)
    assert explorer.schedule.makespan == plan.swap("T6", "T2").makespan
    assert "T6 and T2 change places" in explorer.gantt.hand["said"]
    assert set(explorer.gantt.hand["moving"]) == {explorer.problem.graph.index(op) for op in ("T2", "T6")}
    hold(explorer, "T6", "P1", 1, grip, swap=True)
    assert explorer.schedule.makespan == 80 and "No bar is here" in explorer.gantt.hand["said"]
    hold(explorer, "T6", "P1", 30, grip, swap=True)
    say(explorer, grip, "T6", "set")
    assert lane(explorer, "P1")[0] == "T6" and "T2" in lane(explorer, "P2") and pl.validate(explorer.schedule) == []
    assert len(explorer.steps.past) == 2 and reproduces(explorer)
    explorer.undo()
    assert explorer.schedule.makespan == 80


def test_a_change_of_places_that_is_illegal_says_why(explorer):
    """T1 comes before all others: the sentence names the ops that would wait for each other, and nothing moves."""
    before = explorer.schedule.makespan
    grip = hold(explorer, "T1", "P2", 75, swap=True)
    said = explorer.gantt.hand["said"]
    assert (
        said.startswith("T1 and T10 cannot change places: each of these ops would wait")
        and explorer.gantt.hand["stopped"]
    )
    say(explorer, grip, "T1", "set")
    assert explorer.schedule.makespan == before and len(explorer.steps.past) == 1


def test_keys_change_places(explorer):
    """Alt and an arrow: with the next op of the device, then the one behind that, or one of the next device."""
    before = lane(explorer, "P3")
    assert before == ["T1", "T3", "T5", "T7"]
    grip = next(GRIPS)
    say(explorer, grip, "T3", "step", way="right", swap=True)
    assert lane(explorer, "P3") == ["T1", "T5", "T3", "T7"]
    say(explorer, grip, "T3", "step", way="right", swap=True)
    assert "cannot change places" in explorer.gantt.hand["said"] and lane(explorer, "P3") == ["T1", "T5", "T3", "T7"]
    say(explorer, grip, "T3", "step", way="left", swap=True)
    say(explorer, grip, "T3", "return")
    assert lane(explorer, "P3") == before
    grip = next(GRIPS)
    say(explorer, grip, "T3", "step", way="up", swap=True)
    assert "T3" in lane(explorer, "P2") and pl.validate(explorer.schedule) == []


def test_several_ops_move_together(explorer):
    """They stand one behind the other in their order; where another must run between them, it is named."""
    number = explorer.problem.graph.index
    ops = [number("T5"), number("T7")]
    grip = hold(explorer, "T7", "P1", 0, ops=ops)
    assert lane(explorer, "P1")[:2] == ["T5", "T7"] and pl.validate(explorer.schedule) == []
    assert explorer.gantt.hand["moving"] == ops and "2 ops, P1, before T2" in explorer.gantt.hand["said"]
    say(explorer, grip, "T7", "set")
    assert len(explorer.steps.past) == 2 and reproduces(explorer)
    explorer.undo()
    assert explorer.schedule.makespan == 80
    hold(explorer, "T1", "P3", 0, ops=[number("T1"), number("T7")])
    assert "2 ops have no place together on P3: T3 must run between them" in explorer.gantt.hand["said"]
    assert explorer.gantt.hand["refused"] == ["", "", explorer.gantt.hand["said"]]
    assert explorer.schedule.makespan == 80 and pl.validate(explorer.schedule) == []


def take_off(explorer: Explorer) -> None:
    """Press *Empty*."""
    explorer.gantt.obey(dict(kind="empty", grip=next(GRIPS)))
    assert explorer.settled(60)


def waiting(explorer: Explorer, ready: bool) -> list[str]:
    """Names of what is in the tray and can be placed now, or cannot."""
    return [row["name"] for row in explorer.gantt.tray if row["ready"] == ready]


def test_a_plan_is_made_from_nothing(explorer):
    """Only ops whose inputs are placed can be; what is not placed is not drawn and holds up nothing; all placed, it is a plan."""
    take_off(explorer)
    assert waiting(explorer, True) == ["T1"] and len(waiting(explorer, False)) == 9
    assert not any(explorer.gantt.decided) and "0 of 10 ops" in figures(explorer)
    with pytest.raises(AssertionError, match="is not complete: 10 ops wait in the tray, 'T1' first"):
        pl.testing.check_by_hand(explorer)
    hold(explorer, "T2", "P1", 0)
    assert explorer.gantt.hand == {} and not explorer.by_hand.holding
    target = pl.solve(explorer.problem, "cp-sat", "planned")
    number = explorer.problem.graph.index
    for op in np.argsort(target.start, kind="stable").tolist():
        name = str(explorer.problem.graph.names[op])
        assert name in waiting(explorer, True)
        device = explorer.problem.cluster.names[target.device[op]]
        grip = hold(explorer, name, device, 1e6)
        ghosts = {ghost["device"]: ghost for ghost in explorer.gantt.candidates}
        assert ghosts[target.device[op]]["finish"] <= explorer.schedule.finish[op] and explorer.gantt.decided[
            op : op + 1
        ] in (b"\1", b"")
        say(explorer, grip, name, "set")
        assert explorer.gantt.candidates == [] and explorer.schedule.start[op] == target.start[op]
    assert explorer.gantt.tray == [] and explorer.schedule.makespan == target.makespan == 73
    pl.testing.check_by_hand(explorer, at_most=73)
    explorer.undo()
    assert explorer.settled(60)
    assert waiting(explorer, True) == ["T10"] and explorer.gantt.decided[number("T10")] == 0
    for _ in range(10):
        explorer.undo()
    assert explorer.gantt.tray == [] and explorer.schedule.makespan == 80


def test_placed_ops_move_among_those_that_are_placed(explorer):
    """A bar does not go behind what waits, and moves no other op that is drawn."""
    take_off(explorer)
    for name, device in (("T1", "P3"), ("T4", "P2"), ("T3", "P3")):
        grip = hold(explorer, name, device, 1e6)
        say(explorer, grip, name, "set")
    grip = hold(explorer, "T3", "P2", 1e6)
    assert explorer.gantt.hand["said"] == "P2, after T4"
    say(explorer, grip, "T3", "set")
    assert lane(explorer, "P2")[:2] == ["T4", "T3"] and lane(explorer, "P3")[0] == "T1" and reproduces(explorer)
    ask(explorer, "best")
    assert "First place all ops" in message(explorer)


def test_what_is_predicted_is_shown_afterwards(explorer):
    """No ghosts, no bar while it is held; then where it runs, and where it would have ended first."""
    take_off(explorer)
    explorer.gantt.predicts = True
    grip = hold(explorer, "T1", "P1", 0)
    assert explorer.gantt.candidates == [] and not any(explorer.gantt.decided) and explorer.gantt.hand["said"] == "P1"
    say(explorer, grip, "T1", "set")
    assert message(explorer).count("T1 on P1: 0 to 14. On P3 it would end at 9.")
    grip = next(GRIPS)
    say(explorer, grip, "T3", "step", way="up")
    say(explorer, grip, "T3", "set")
    assert "T3 on P3: 26 to 45. On P1 it would end at 25." in message(explorer)


@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_what_waits_holds_no_link_and_no_memory(transfers):
    """Under every transfer model, with memory for which the whole plan is too large: what is placed is legal, and fits."""
    graph = pl.generators.fork_join(3)
    graph = graph.replace(compute=np.ones(5), persistent=np.full(5, 4.0), tensor_bytes=np.full(graph.n_tensors, 2.0))
    cluster = pl.Cluster([1.0, 1.0], bandwidth=1.0, memory=[12.0, 24.0])
    problem = pl.Problem(graph, cluster, memory="dynamic", transfers=transfers, transfer_ops=float(transfers == "fair"))
    explorer = pl.explore(pl.by_hand(pl.Placement(problem, [1] * 5)))
    try:
        look(explorer)
        assert explorer.settled(60)
        explorer.gantt.by_hand = True
        take_off(explorer)
        assert explorer.schedule.makespan == 0 and explorer.schedule.peak_memory.tolist() == [0, 0]
        hand = pl.by_hand(explorer.placement, placed=[])
        for op, device in enumerate([0, 1, 0, 1]):
            name = str(graph.names[op])
            grip = hold(explorer, name, f"dev{device}", 1e6)
            say(explorer, grip, name, "set")
            hand = hand.move(name, device)
            assert explorer.schedule.makespan == hand.makespan and pl.validate(explorer.schedule) == []
            assert explorer.result.violations == [] and f"{op + 1} of 5 ops" in figures(explorer)
            assert explorer.placement.problem is explorer.problem
        assert explorer.schedule.peak_memory.tolist() == hand.schedule.peak_memory.tolist()
    finally:
        explorer.close()


def test_a_pin_of_what_waits_is_no_violation(explorer):
    """An op in the tray that is pinned elsewhere than it stood waits on, and goes there."""
    take_off(explorer)
    for device in ("P1", "P2", "P3"):
        explorer.shared.change(lambda state, device=device: state.with_pin(["T1"], device))
        assert explorer.settled(60) and len(explorer.gantt.tray) == 10 and explorer.schedule.makespan == 0
    grip = hold(explorer, "T1", "P1", 0)
    assert "may only run on P3" in explorer.gantt.hand["said"]
    hold(explorer, "T1", "P3", 0, grip)
    say(explorer, grip, "T1", "set")
    assert explorer.schedule.makespan == 9 and pl.validate(explorer.schedule) == []


def test_what_waits_is_in_no_file_and_no_comparison(explorer):
    """A part of a plan is not kept, and not written; the graph's boxes of what waits have no device."""
    explorer.tabs.open("Graph")
    take_off(explorer)
    explorer.actions.keep.value = True
    assert "First place all ops" in message(explorer) and not explorer.actions.keep.value
    assert explorer.shared.kept is None
    explorer.actions.downloads.buttons["Ops"].click()
    assert "First place all ops" in message(explorer)
    grip = hold(explorer, "T1", "P3", 0)
    say(explorer, grip, "T1", "set")
    view = explorer.tabs.panels["Graph"].view
    wait_for(lambda: view.result_of == explorer.now)
    device = np.frombuffer(view.values, "<u2", 10, 104)
    assert device.tolist() == [2] + [NOWHERE] * 9


def test_a_tray_of_many_ops_lists_those_that_can_be_placed():
    """Of 1,000 ops 200, ready ones first; those behind come up as others are placed, each in one step."""
    large = pl.explore(pl.generators.layered(1000, shape=10, seed=1), CLUSTER)
    look(large)
    large.comparison.halt()
    assert large.settled(60)
    large.gantt.by_hand = True
    take_off(large)
    sources = np.flatnonzero(np.diff(large.problem.graph.pred_ptr) == 0)
    assert len(sources) > 200 and [row["op"] for row in large.gantt.tray] == sources[:200].tolist()
    assert large.gantt.tray_more == 800 and all(row["ready"] for row in large.gantt.tray)
    say(
        large,
        hold(large, large.gantt.tray[0]["name"], large.problem.cluster.names[1], 0.0),
        large.gantt.tray[0]["name"],
        "set",
    )
    assert [row["op"] for row in large.gantt.tray] == sources[1:201].tolist() and large.gantt.tray_more == 799
    assert large.settled(60) and "1 of 1,000 ops" in figures(large)
    large.undo()
    assert large.gantt.tray_more == 800
    large.close()


def test_the_plan_is_a_row_of_the_comparison(explorer):
    """The row follows each move that is set; a click on it brings the plan back after another pair; another model has none."""
    row = lambda: next((r for r in explorer.comparison.table.rows if r["name"] == "by hand"), None)  # noqa: E731
    planned = explorer.comparison.table.schedulers.index("planned")
    assert row()["state"] == "own" and row()["cells"][planned]["makespan"] == 80
    assert row()["cells"][0] is None and row() is explorer.comparison.table.rows[0]
    grip = hold(explorer, "T6", "P1", 41)
    assert explorer.schedule.makespan == 76 and row()["cells"][planned]["makespan"] == 80
    say(explorer, grip, "T6", "set")
    assert row()["cells"][planned]["makespan"] == 76
    pick(explorer, "Partitioner", "cpop")
    assert explorer.schedule.makespan == 86 and row()["cells"][planned]["makespan"] == 76
    explorer.comparison.table.obey(dict(kind="show", partitioner="by hand", scheduler="planned"))
    assert explorer.schedule.makespan == 76 and explorer.pickers.partitioner.value == "by hand"
    pick(explorer, "Model", "alexnet")
    wait_for(lambda: row() is None)


def test_local_search_finishes_the_plan(explorer):
    """It ends at the optimum, 73, in one step of the history, with which undo begins."""
    ask(explorer, "finish")
    assert explorer.schedule.makespan == 73 and pl.validate(explorer.schedule) == []
    assert len(explorer.steps.past) == 2
    ask(explorer, "finish")
    assert explorer.schedule.makespan == 73 and len(explorer.steps.past) == 2
    explorer.undo()
    assert explorer.schedule.makespan == 80


def test_an_explorer_begins_by_hand():
    """The mode is on as soon as there is a schedule."""
    explorer = pl.explore("topcuoglu", by_hand=True)
    look(explorer)
    wait_for(lambda: explorer.state.own_plan is not None)
    assert explorer.gantt.by_hand and explorer.schedule.makespan == 80
    assert explorer.settled(60) and explorer.commands.palette.done == {}
    explorer.close()


def test_an_explorer_of_a_part_shows_that_part():
    """What waits is in the tray, and nothing of it in the schedule."""
    plan = pl.by_hand(pl.solve(pl.datasets.problem("topcuoglu"), "heft"), placed=["T1", "T2"])
    explorer = pl.explore(plan)
    look(explorer)
    assert waiting(explorer, True) == ["T3", "T4", "T5", "T6"] and len(waiting(explorer, False)) == 4
    assert explorer.schedule.makespan == plan.makespan == 40 and list(explorer.gantt.decided[:10]) == [1, 1] + [0] * 8
    assert sum(explorer.schedule.finish > explorer.schedule.start) == 2
    explorer.close()


def test_a_par_of_ones_own_counts_stars():
    """HEFT's 80 earns two of three where par is 73; what is no makespan is refused."""
    explorer = pl.explore("topcuoglu", by_hand=True, par=73)
    look(explorer)
    wait_for(lambda: "★★☆" in figures(explorer))
    assert explorer.schedule.makespan == 80
    explorer.close()
    for wrong in (0, -1.0, float("nan"), float("inf"), "73", True):
        with pytest.raises(pl.UnsupportedError, match="par"):
            pl.explore("topcuoglu", par=wrong)


def test_a_puzzle_begins_with_its_start_and_counts_stars():
    """From one star of the start to three, which local search finds; another problem has none."""
    puzzle = pl.puzzles.load("diamond")
    explorer = pl.explore(puzzle)
    look(explorer)
    wait_for(lambda: explorer.gantt.by_hand and "★☆☆" in figures(explorer))
    assert explorer.schedule.makespan == puzzle.start.makespan
    assert repr(explorer).startswith("Explorer(diamond: 4 ops on 2 devices")
    ask(explorer, "finish")
    wait_for(lambda: "★★★" in figures(explorer))
    pl.testing.check_by_hand(explorer, puzzle="diamond")
    pick(explorer, "Transfers", "sequential")
    assert explorer.settled(60)
    wait_for(lambda: "★" not in figures(explorer))
    explorer.close()


def test_a_move_by_hand_takes_no_longer_than_a_drag_of_a_link():
    """At most twice the processor time, at 2,000 ops: both simulate once, one places the ops, the other moves one."""
    explorer = pl.explore(pl.generators.layered(2000, seed=1), CLUSTER)
    look(explorer)
    explorer.comparison.halt()
    assert explorer.settled(60) and explorer.comparison.settled(60)
    link = [seconds(explorer, lambda i=i: drag(explorer, 1e10 + i * 1e9, release=False)) for i in range(9)]
    release(explorer)
    explorer.gantt.by_hand = True
    assert explorer.settled(60)
    grip = next(GRIPS)
    until = explorer.schedule.makespan
    place = lambda i: dict(kind="hold", grip=grip, op=1000, device=i % 4, time=until * i / 9)  # noqa: E731
    bar = [seconds(explorer, lambda i=i: explorer.gantt.set_trait("hold", place(i))) for i in range(9)]
    assert np.median(bar) < 2 * np.median(link)
    explorer.close()


def seconds(explorer: Explorer, act: Callable[[], object]) -> float:
    """Processor time of an act until its result is shown."""
    begun = time.process_time()
    act()
    assert explorer.settled(60)
    return time.process_time() - begun


def test_another_strategy_leaves_the_mode(explorer):
    """A pair from the pickers replaces the plan; an op in the hand is put back first."""
    hold(explorer, "T6", "P1", 41)
    pick(explorer, "Partitioner", "cpop")
    assert explorer.schedule.makespan == 86 and not explorer.gantt.by_hand and not explorer.by_hand.holding
    explorer.undo()
    assert explorer.schedule.makespan == 80 and explorer.state.own_plan is not None


def test_the_plan_stays_while_the_cluster_changes(explorer):
    """Slower links change its times, not its places; with another device the partitioner's plan is there again."""
    move(explorer, "T6", "P1", 41)
    devices = explorer.schedule.device.copy()
    explorer.canvas.edit = {"kind": "bandwidth", "pairs": [[0, 1], [1, 0]], "value": 0.5, "seq": 1, "gesture": 1}
    explorer.canvas.edit = {"kind": "release", "seq": 2, "gesture": 1, "final": True}
    assert explorer.schedule.makespan > 76 and np.array_equal(explorer.schedule.device, devices)
    assert "by hand" in repr(explorer) and not message(explorer).count("error")


def test_a_group_moves_as_one():
    """Where one member of a colocation group is put, the others come, too."""
    graph = pl.generators.fork_join(3)
    problem = pl.Problem(graph, pl.Cluster.uniform(2), memory="none", groups=[list(graph.names[1:3])])
    explorer = pl.explore(problem)
    look(explorer)
    assert explorer.settled(60)
    explorer.gantt.by_hand = True
    first = graph.names[1]
    device = int(explorer.schedule.device[1])
    move(explorer, first, problem.cluster.names[1 - device], 0.0)
    assert explorer.schedule.device[1] == explorer.schedule.device[2] == 1 - device
    assert pl.validate(explorer.schedule) == []
    explorer.close()
