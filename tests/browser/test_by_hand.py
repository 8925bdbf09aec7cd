"""Schedules by hand in the explorer: bars dragged with the mouse, ops moved by keys alone, what is illegal says why."""

from __future__ import annotations

import pytest
from browser.test_explorer import OPEN, RESTING, Hand
from playwright.sync_api import expect


@pytest.fixture
def hand(open_notebook) -> Hand:
    """HEFT's plan of the ten tasks, in the mode By hand."""
    hand = Hand(open_notebook([OPEN.format(arguments=f"'topcuoglu', tab={RESTING!r}")]))
    hand.settled()
    hand.button("✎ By hand").click()
    hand.becomes("explorer.gantt.by_hand", True)
    return hand


def point(hand: Hand, device: str, time: float) -> tuple[float, float]:
    """Where in the page an instant is on a device's lane."""
    chart = hand.root.locator(".pl-gantt")
    stage = chart.locator(".stage").bounding_box()
    begin, end = (float(x) for x in chart.get_attribute("data-span").split())
    left = float(chart.locator(".stage .plot").evaluate("plot => parseFloat(plot.style.left)"))
    row = hand.notebook.value("list(explorer.problem.cluster.names)").index(device)
    height = float(chart.get_attribute("data-row"))
    x = stage["x"] + left + (time - begin) / (end - begin) * (stage["width"] - left)
    return x, stage["y"] + 24 + row * height + 8


def drag(hand: Hand, op: str, device: str, time: float, drop: bool = True) -> None:
    """Drag the bar of an op so that it would begin at a time on a device."""
    v = hand.notebook.value(f"int(explorer.problem.graph.index({op!r}))")
    start, home = hand.notebook.value(
        f"[float(explorer.schedule.start[{v}]), explorer.problem.cluster.names[explorer.schedule.device[{v}]]]"
    )
    x, y = point(hand, home, start + 1)
    hand.page.mouse.move(x, y)
    hand.page.mouse.down()
    to = point(hand, device, time + 1)
    for i in range(1, 9):
        hand.page.mouse.move(x + (to[0] - x) * i / 8, y + (to[1] - y) * i / 8)
        hand.page.wait_for_timeout(16)
    if drop:
        hand.page.mouse.up()


def makespan(hand: Hand, value: float) -> None:
    """Wait until chart and kernel show a makespan."""
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-makespan", f"{value:g}")
    hand.becomes("explorer.schedule.makespan", value)


def test_a_bar_is_dragged_to_another_device_and_undone(hand, screenshot):
    """The chart follows while it is held; set, it is legal and one step of the history."""
    drag(hand, "T6", "P1", 41, drop=False)
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-makespan", "76")
    screenshot("held")
    hand.page.mouse.up()
    makespan(hand, 76)
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []
    assert hand.number("makespan") == "76"
    hand.button("↶").click()
    makespan(hand, 80)


MOVES = (  # of HEFT's plan to one of 73: the op, its new device, the op that it comes behind, the makespan afterwards
    ("T6", "P1", "T2", 76),
    ("T7", "P2", "T4", 85),
    ("T3", "P2", "T4", 76),
    ("T2", "P3", "T1", 76),
    ("T4", "P1", "", 73),
)


def test_hefts_plan_of_the_ten_tasks_is_dragged_to_73(hand, screenshot):
    """Five drags by the mouse; the result is legal, and no schedule is shorter."""
    for op, device, behind, after in MOVES:
        begin = f"float(explorer.schedule.finish[explorer.problem.graph.index({behind!r})])" if behind else "0.0"
        drag(hand, op, device, hand.notebook.value(begin))
        makespan(hand, after)
    screenshot("finished")
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []
    hand.notebook.execute("pl.testing.check_by_hand(explorer, at_most=73)")


def test_keys_alone_move_an_op(hand, screenshot):
    """b, an op found by its name, arrows, Enter; then the best move by h and Escape; no pointer."""
    hand.button("✎ By hand").focus()
    hand.page.keyboard.press("Tab")
    stage = hand.root.locator(".pl-gantt .stage")
    hand.root.locator(".pl-gantt .find").focus()
    hand.page.keyboard.type("T6")
    hand.page.keyboard.press("Enter")
    stage.focus()
    hand.page.keyboard.press("ArrowUp")
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-makespan", "76")
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("P1, after T2, before T8 · ▼ 4 · 80 → 76")
    hand.page.keyboard.press("Escape")
    makespan(hand, 80)
    hand.page.keyboard.press("h")
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("Best move: T6 to P1 saves 4")
    screenshot("offered")
    hand.page.keyboard.press("Enter")
    makespan(hand, 76)
    hand.page.keyboard.press("b")
    hand.becomes("explorer.gantt.by_hand", False)


def test_an_illegal_place_says_who_forbids_it(hand, screenshot):
    """An op that is dragged before its input stops behind it, and the words at the pointer name that."""
    drag(hand, "T10", "P3", 0, drop=False)
    words = "T10 cannot run before T7, which must run first"
    expect(hand.root.locator(".pl-gantt .tooltip")).to_contain_text(words)
    screenshot("stopped")
    hand.page.mouse.up()
    hand.settled()
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []
