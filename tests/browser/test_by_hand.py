"""Schedules by hand in the explorer: bars dragged with the mouse, ops moved by keys alone, what is illegal says why."""

from __future__ import annotations

import pytest
from browser.test_explorer import OPEN, Hand
from playwright.sync_api import expect


@pytest.fixture
def hand(open_notebook) -> Hand:
    """HEFT's plan of the ten tasks, in the mode By hand."""
    hand = Hand(open_notebook([OPEN.format(arguments="'topcuoglu'")]))
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
