"""Schedules by hand in the explorer: bars dragged with the mouse, ops moved by keys alone, what is illegal says why."""

from __future__ import annotations

import os
import signal

import pytest
from browser.test_explorer import OPEN, RESTING, Hand
from playwright.sync_api import expect
from support.boxes import box_of


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
    stage = box_of(chart.locator(".stage"))
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


@pytest.mark.slow
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


def lane(hand: Hand, device: str) -> list[str]:
    """Names of the ops of a device in their order, as the kernel has them."""
    order = f"pl.by_hand(explorer.schedule).order({device!r})"
    return hand.notebook.value(f"explorer.problem.graph.names[{order}].tolist()")


@pytest.mark.slow
def test_two_bars_change_places(hand, screenshot):
    """With Alt a bar is put on another one; the chart follows, Undo leads back; and by keys."""
    hand.page.keyboard.down("Alt")
    drag(hand, "T6", "P1", 30, drop=False)
    expect(hand.root.locator(".pl-gantt .tooltip")).to_contain_text("T6 and T2 change places")
    screenshot("exchanged")
    hand.page.mouse.up()
    hand.page.keyboard.up("Alt")
    hand.becomes("pl.by_hand(explorer.schedule).order('P1').tolist()", [5, 7])
    assert lane(hand, "P2")[1] == "T2"
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []
    hand.button("↶").click()
    makespan(hand, 80)
    x, y = point(hand, "P3", hand.notebook.value("float(explorer.schedule.start[2])") + 1)
    hand.page.mouse.click(x, y)
    hand.page.keyboard.press("Alt+ArrowRight")
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("T3 and T5 change places")
    hand.page.keyboard.press("Enter")
    hand.becomes("pl.by_hand(explorer.schedule).order('P3').tolist()", [0, 4, 2, 6])


@pytest.mark.slow
def test_several_ops_move_together(hand, screenshot):
    """A box chooses two bars, which are dragged as one; then keys choose them and move them; Undo leads back."""
    starts, ends = (
        [hand.notebook.value(f"float(explorer.schedule.{what}[{v}])") for v in (4, 6)] for what in ("start", "finish")
    )
    begin = point(hand, "P3", min(starts) - 1)
    end = point(hand, "P3", max(ends) + 1)
    hand.page.keyboard.down("Shift")
    hand.page.mouse.move(*begin)
    hand.page.mouse.down()
    hand.page.mouse.move(end[0], end[1], steps=4)
    hand.page.mouse.up()
    hand.page.keyboard.up("Shift")
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("2 ops chosen to move together")
    drag(hand, "T7", "P1", 12, drop=False)
    expect(hand.root.locator(".pl-gantt .tooltip")).to_contain_text("2 ops, P1, before T2")
    screenshot("together")
    hand.page.mouse.up()
    hand.becomes("pl.by_hand(explorer.schedule).order('P1').tolist()", [4, 6, 1, 7])
    hand.button("↶").click()
    makespan(hand, 80)
    stage = hand.root.locator(".pl-gantt .stage")
    stage.focus()
    hand.page.keyboard.press("Escape")
    for op in ("T5", "T7"):
        hand.root.locator(".pl-gantt .find").fill(op)
        hand.root.locator(".pl-gantt .find").press("Enter")
        stage.focus()
        hand.page.keyboard.press("x")
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("2 ops chosen")
    hand.page.keyboard.press("ArrowUp")
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("2 ops, P2")
    hand.page.keyboard.press("Enter")
    hand.becomes("{4, 6} <= set(pl.by_hand(explorer.schedule).order('P2').tolist())", True)
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []


@pytest.mark.slow
def test_the_plan_is_a_row_of_the_comparison(hand):
    """It stands first; a click on it shows it again after another pair."""
    hand.button("Comparison").click()
    hand.compared()
    row = hand.root.locator(".pl-comparison tbody tr").first
    expect(row.locator("th")).to_have_text("by hand")
    expect(row.locator("td.shown")).to_contain_text("80")
    hand.root.locator(".pl-comparison tbody tr", has_text="cpop").locator("td").nth(3).click()
    hand.becomes("explorer.gantt.by_hand", False)
    row.locator("td", has_text="80").click()
    hand.becomes("explorer.state.placer", "by hand")
    makespan(hand, 80)


@pytest.mark.slow
def test_a_bar_is_dragged_while_the_kernel_is_silent(hand, screenshot):
    """The chart goes on in the page, from the plan by hand, and the kernel has the same plan once it is back."""
    hand.notebook.execute("assert explorer.saved.settled(60)")
    kernel = hand.notebook.value("__import__('os').getpid()")
    (x, y), to = point(hand, "P2", 27), point(hand, "P1", 42)
    chart = hand.root.locator(".pl-gantt")
    os.kill(kernel, signal.SIGSTOP)
    try:
        hand.page.mouse.move(x, y)
        hand.page.mouse.down()
        hand.page.mouse.move(*to, steps=8)
        expect(hand.page.locator(".pl-goon")).to_contain_text("Canvas and chart go on in this page")
        hand.page.mouse.move(to[0] + 1, to[1])
        expect(chart).to_have_attribute("data-makespan", "76")
        hand.page.mouse.up()
        expect(hand.page.locator(".pl-goon")).to_contain_text("76 ▼ 5 % from 80")
        screenshot("alone")
    finally:
        os.kill(kernel, signal.SIGCONT)
    makespan(hand, 76)
    expect(hand.page.locator(".pl-goon")).to_have_count(0)
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []


@pytest.mark.slow
def test_a_tray_while_the_kernel_is_silent(hand, screenshot):
    """*Empty* and the first ops placed in the page; a part of a plan goes on there, too; the kernel has it once it is back."""
    chips = hand.root.locator(".pl-gantt .tray .op")
    # Of a plan that is not begun nothing is placed: commands of the page come beside cells, which may be quicker.
    placed = "(placed := explorer.state.own_plan.placed) is not None and int(placed.sum())"
    kernel = hand.notebook.value("__import__('os').getpid()")
    for begun in (0, 2):  # taken off in the page, then by the kernel
        hand.notebook.execute("assert explorer.saved.settled(60)")
        os.kill(kernel, signal.SIGSTOP)
        try:
            if not begun:
                hand.button("Empty").click()
            else:
                chips.first.focus()
                hand.page.keyboard.press("ArrowDown")
            expect(hand.page.locator(".pl-goon")).to_contain_text("Canvas and chart go on in this page")
            if begun:
                expect(hand.root.locator(".pl-gantt .status")).to_contain_text("T3: P1")
                hand.page.keyboard.press("Escape")
            expect(chips).to_have_count(10 - begun)
            for left in (9 - begun, 8 - begun):
                chips.first.focus()
                for _ in range(2):
                    hand.page.keyboard.press("ArrowDown")
                expect(hand.root.locator(".pl-gantt .status")).to_contain_text("P2, ")
                hand.page.keyboard.press("Enter")
                expect(chips).to_have_count(left)
            expect(hand.page.locator(".pl-goon")).to_contain_text(f"{2 + begun} of 10 ops placed")
            screenshot(f"{begun} placed before")
        finally:
            os.kill(kernel, signal.SIGCONT)
        hand.becomes(placed, 2 + begun)
        expect(hand.page.locator(".pl-goon")).to_have_count(0)
        expect(chips).to_have_count(8 - begun)
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []


def test_a_plan_is_made_from_nothing(hand, screenshot):
    """Empty takes all ops off; T1 is dragged from the tray to a lane, the next ones are placed by keys; Undo leads back."""
    hand.button("Empty").click()
    chips = hand.root.locator(".pl-gantt .tray .op")
    expect(chips).to_have_count(10)
    expect(chips.first).to_contain_text("T1")
    expect(hand.root.locator(".pl-gantt .tray .count")).to_have_text("10 ops · 1 ready")
    box = box_of(chips.first)
    hand.page.mouse.move(box["x"] + 8, box["y"] + 8)
    hand.page.mouse.down()
    hand.page.mouse.move(*point(hand, "P3", 2), steps=6)
    expect(hand.root.locator(".pl-gantt .tooltip")).to_contain_text("T1: P3, 0 to 9")
    screenshot("from the tray")
    hand.page.mouse.up()
    expect(chips).to_have_count(9)
    chip = lambda name: hand.root.locator(f'.pl-gantt .tray .op[title^="{name}:"]')  # noqa: E731
    chip("T3").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        hand.page.keyboard.press(key)
    expect(hand.root.locator(".pl-gantt .status")).to_contain_text("T3: P3, after T1, 9 to 28")
    hand.page.keyboard.press("Enter")
    expect(chips).to_have_count(8)
    expect(chips.first).to_be_focused()
    screenshot("two placed")
    hand.button("Predict first").click()
    chip("T2").focus()
    hand.page.keyboard.press("ArrowDown")
    expect(hand.root.locator(".pl-gantt .status")).to_have_text("P1")
    hand.page.keyboard.press("Enter")
    expect(hand.root.locator(".pl-message")).to_contain_text("T2 on P1: 27 to 40. Nowhere does it end earlier.")
    assert hand.notebook.value("int(explorer.state.own_plan.placed.sum())") == 3
    hand.button("↶").click()
    expect(chips).to_have_count(8)


TIGHT = """ten = pl.datasets.problem('topcuoglu')
graph = ten.graph.replace(persistent=[20.0] * 10)
problem = pl.Problem(graph, ten.cluster.replace(memory=[150.0] * 3), memory='dynamic', transfers='channel')
"""


def test_what_waits_holds_no_channel_and_no_memory(open_notebook, screenshot):
    """One transfer at a time, and no room for all ops on one device: what is placed runs as if it were all, and fits."""
    hand = Hand(
        open_notebook(["import placelab as pl\n" + TIGHT + "explorer = pl.explore(problem, tab='Graph')\nexplorer"])
    )
    hand.settled()
    hand.button("✎ By hand").click()
    hand.becomes("explorer.gantt.by_hand", True)
    hand.button("Empty").click()
    chips = hand.root.locator(".pl-gantt .tray .op")
    expect(chips).to_have_count(10)
    hand.becomes("explorer.schedule.makespan", 0)
    for left, (name, downs, said) in enumerate(
        (
            ("T1", 3, "P3, 0 to 9"),
            ("T3", 3, "P3, after T1, 9 to 28"),
            ("T4", 1, "T4: P1, 18 to 31"),
            ("T2", 1, "T2: P1, after T4, 49 to 62"),
        )
    ):
        hand.root.locator(f'.pl-gantt .tray .op[title^="{name}:"]').focus()
        for _ in range(downs):
            hand.page.keyboard.press("ArrowDown")
        expect(hand.root.locator(".pl-gantt .status")).to_contain_text(said)
        hand.page.keyboard.press("Enter")
        expect(chips).to_have_count(9 - left)
    screenshot("four placed")
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []
    assert hand.notebook.value("explorer.schedule.oom.tolist()") == []


def in_scope(hand: Hand, scope: str) -> set[int]:
    """Numbers of the ops of a scope."""
    begins = f"name.startswith({scope + '/'!r})"
    return set(hand.notebook.value(f"[v for v, name in enumerate(explorer.problem.graph.names) if {begins}]"))


@pytest.mark.slow
def test_a_scope_moves_as_one_block(open_notebook, screenshot):
    """One that is selected in the graph, by a colour of the legend, or in the list of scopes; a key moves it, Undo back."""
    hand = Hand(open_notebook([OPEN.format(arguments="'alexnet', tab='Graph'")]))
    hand.settled()
    graph = hand.root.locator(".pl-graph")
    graph.locator(".stage").focus()
    for _ in range(40):  # before the mode begins
        hand.page.keyboard.press("ArrowRight")
        scope = graph.get_attribute("data-focus")
        if scope and len(in_scope(hand, scope)) > 2:
            break
    ops = in_scope(hand, scope)
    chart = hand.root.locator(".pl-gantt")
    hand.button("✎ By hand").click()
    hand.becomes("explorer.gantt.by_hand", True)
    hand.button("◈ Keep").click()
    expect(chart).to_have_attribute("data-together", str(len(ops)))
    screenshot("gathered")
    chart.locator(".stage").focus()
    moved = f"len(set(explorer.schedule.device[{sorted(ops)}].tolist()))"
    before = hand.notebook.value("explorer.schedule.device.tolist()")
    hand.page.keyboard.press("ArrowDown")
    expect(chart.locator(".status")).to_contain_text(f"{len(ops)} ops, ")
    hand.page.keyboard.press("Enter")
    hand.becomes(moved, 1)
    assert hand.notebook.value("pl.validate(explorer.schedule)") == []
    others = [v for v in range(len(before)) if v not in ops]
    assert hand.notebook.value(f"explorer.schedule.device[{others}].tolist()") == [before[v] for v in others]
    hand.button("Difference").click()
    hand.button("Scopes").click()
    row = hand.root.locator(".pl-difference tbody tr", has_text=scope.split("/")[0]).first
    row.click()
    listed = in_scope(hand, row.locator("td.name").text_content())
    expect(chart).to_have_attribute("data-together", str(len(listed)))
    hand.button("↶").click()
    hand.becomes("explorer.schedule.device.tolist()", before)
    chart.get_by_role("button", name="legend").click()
    colour = chart.locator(".legend button").first
    kind = colour.text_content()
    colour.click()
    alike = hand.notebook.value(f"int((explorer.problem.graph.kind == {kind!r}).sum())")
    expect(chart).to_have_attribute("data-together", str(alike))
    screenshot("by colour")
