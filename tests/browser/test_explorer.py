"""The explorer in JupyterLab: drags, pickers, clicks, playback, undo, copied cells and exports."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support import bare_page
from support.boxes import box_of
from support.lab_server import Notebook

import placelab as pl
from placelab.base import units

OPEN = "import placelab as pl\nexplorer = pl.explore({arguments})\nexplorer"
RESTING = "Difference"  # a tab that computes nothing; to compare all strategies takes a fresh kernel three seconds
UPDATE = 400  # ms from the hand's move to the repainted chart; generous, the figures are in benchmarks
FRAMES = 25  # per second while playing, likewise

# Milliseconds from a move of the hand to the second frame after the chart has its schedule. A move counts from three pixels on,
# where a drag begins; one that was answered by the same schedule as before has no new picture, and the next one counts.
WATCH = """() => {
  window.updates = [];
  const chart = document.querySelector('.pl-gantt');
  let moved = 0, origin = 0;
  document.addEventListener('pointerdown', (event) => { origin = event.clientX; moved = 0; }, true);
  document.addEventListener('pointermove', (event) => {
    const same = moved && performance.now() - moved > 200 && chart.dataset.stale === 'false';
    if (event.buttons && Math.abs(event.clientX - origin) >= 3 && (!moved || same)) moved = performance.now();
  }, true);
  new MutationObserver(() => {
    const begun = moved;
    moved = 0;
    if (begun) requestAnimationFrame(() => requestAnimationFrame(() => updates.push(performance.now() - begun)));
  }).observe(chart, {attributes: true, attributeFilter: ['data-makespan']});
}"""
FPS = """async () => {
  const times = [];
  await new Promise(done => requestAnimationFrame(function frame(now) {
    times.push(now);
    times.length < 60 ? requestAnimationFrame(frame) : done();
  }));
  return 1000 * (times.length - 1) / (times.at(-1) - times[0]);
}"""


class Hand:
    """The user's actions and views."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.page = notebook.page
        self.root = self.page.locator(".placelab-explorer")
        expect(self.root.locator(".pl-figures b").first).to_be_visible()

    def menu(self, label: str) -> Locator:
        return self.root.get_by_label(label, exact=True)

    def open(self, tip: str) -> None:
        """Open the panel whose button has this text under the pointer."""
        self.root.locator(f".pl-opens[title^='{tip}']").click()

    def seldom(self) -> None:
        """Open the panel with what is set seldom."""
        self.open("Prepare the graph")

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def number(self, key: str) -> str:
        return self.root.locator(f".pl-figures [data-key={key}] b").inner_text()

    def settled(self) -> None:
        """Wait until Python and the chart have finished."""
        self.notebook.execute("explorer.settled(60)")
        expect(self.root.locator(".pl-gantt")).to_have_attribute("data-stale", "false")

    def compared(self) -> None:
        """Wait for the heat map of the current problem."""
        self.notebook.execute("explorer.comparison.settled(120)")
        expect(self.root.locator(".pl-comparison td.best").first).to_be_visible()  # pairs that tie are all the best
        expect(self.root.locator(".pl-comparison td.stale")).to_have_count(0)

    def becomes(self, expression: str, value: object) -> None:
        """Wait until a Python expression has this value; messages of the browser reach the kernel beside those of cells."""
        until = time.monotonic() + 30
        while (found := self.notebook.value(expression)) != value:
            assert time.monotonic() < until, f"{expression} is {found!r}, not {value!r}"
            self.page.wait_for_timeout(50)
        self.settled()

    def shows(self, code: str) -> None:
        """Check that chart and strip show exactly the makespan of the schedule that the code returns."""
        made = self.notebook.execute(f"made = {code}\nprint(repr(made.makespan))")
        written = self.notebook.execute("print(made.problem.cluster.units.time(made.makespan))").strip()
        self.settled()
        expect(self.root.locator(".pl-gantt")).to_have_attribute("data-makespan", re.sub(r"\.0$", "", made.strip()))
        expect(self.root.locator(".pl-figures [data-key=makespan] b")).to_have_text(written)
        assert self.notebook.value("bool((explorer.schedule.start == made.start).all())")

    def pull(self, handle: Locator, dx: float, steps: int = 12, hold: int = 0) -> None:
        """Drag a handle sideways, and wait until Python has the last of it: on a busy machine a cell may overtake the first."""
        self.notebook.execute("pulled = explorer.state")
        box = box_of(handle)
        x = box["x"] + box["width"] / 2
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        for i in range(steps):
            self.page.mouse.move(x + dx * (i + 1) / steps, y)
            self.page.wait_for_timeout(hold)
        self.page.mouse.up()
        self.becomes("[explorer.canvas.dragging, explorer.state is not pulled]", [False, True])


def at_1280(page: Page, open_notebook: Callable, code: str) -> Hand:
    """The explorer of a cell in JupyterLab at 1280 × 720, light, without the sidebar."""
    page.set_viewport_size(dict(width=1280, height=720))
    hand = Hand(open_notebook([code]))
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    hand.notebook.set_theme("JupyterLab Light")  # the test before may have left the dark one
    hand.settled()
    hand.root.scroll_into_view_if_needed()
    return hand


@pytest.fixture
def explore(open_notebook):
    """``explore(arguments, tab)`` opens the explorer in a notebook, by default at the comparison, and returns its `Hand`."""

    def opened(arguments: str = "", tab: str = "Comparison") -> Hand:
        given = ", ".join(filter(None, (arguments, f"tab={tab!r}" * ("tab=" not in arguments))))
        return Hand(open_notebook([OPEN.format(arguments=given)]))

    return opened


def key(hand: Hand, name: str) -> Locator:
    """The part of the canvas with this name."""
    return hand.root.locator(f'[data-key="{name}"]')


def played(hand: Hand) -> float:
    """Frames per second while the chart plays, the best of several measurements, because the machine may be busy."""
    frames = 0.0
    for _ in range(5):
        if (play := hand.root.get_by_role("button", name="Play")).is_visible():  # not yet, or it has come to the end
            play.click()
        frames = max(frames, hand.page.evaluate(FPS))
        if frames > FRAMES:
            break
    if (pause := hand.root.get_by_role("button", name="Pause")).is_visible():
        pause.click()
    return frames


LIBRARY = "pl.solve(explorer.problem, explorer.state.partitioner, explorer.state.scheduler, seed=explorer.state.seed)"


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "ops", "partitioner"), [("convolutional_network", 367, "tf-greedy"), ("dynamic_rnn", 5333, "heft")]
)
def test_a_link_pulled_to_ten_times_its_bandwidth(explore, screenshot, model, ops, partitioner):
    """The chart follows the drag; at its end it shows the library's result for the new cluster; undo reverts it."""
    hand = explore(f"{model!r}, pl.clusters.pcie_box()")
    assert hand.notebook.value("explorer.problem.graph.n_ops") == ops
    hand.shows(f'pl.solve(pl.Problem(pl.load({model!r}), pl.clusters.pcie_box()), "heft", "planned")')
    hand.menu("Partitioner").select_option(partitioner)
    hand.becomes("explorer.state.partitioner", partitioner)
    before = hand.number("makespan")
    screenshot("open")
    hand.page.evaluate(WATCH)
    hand.pull(key(hand, "bandwidth:inside server"), 120, steps=24, hold=90)
    assert hand.notebook.value("explorer.problem.cluster.bandwidth[0, 2]") == pytest.approx(60e9, rel=0.02)
    hand.shows(LIBRARY)
    assert hand.number("makespan") != before
    for _ in range(3):  # the machine may be busy with something else for a while
        updates = sorted(hand.page.evaluate("updates.splice(0)"))
        if len(updates) >= 5 and updates[len(updates) // 2] < UPDATE:
            break
        hand.button("↶").click()
        hand.becomes("explorer.problem.cluster.bandwidth[0, 2]", 6e9)
        hand.pull(key(hand, "bandwidth:inside server"), 120, steps=24, hold=90)
    else:
        pytest.fail(f"in three drags the chart did not follow the hand within {UPDATE} ms; last: {updates}")
    hand.compared()
    screenshot("pulled")
    hand.button("↶").click()
    hand.becomes("explorer.problem.cluster.bandwidth[0, 2]", 6e9)
    assert hand.number("makespan") == before


@pytest.mark.slow
def test_a_device_dragged_to_another_host(explore, screenshot):
    """Its links become those of the new host; undo restores place and links."""
    hand = explore('"recurrent_network", pl.clusters.two_nodes(2)', tab=RESTING)
    card = key(hand, "card:0")
    other = hand.root.locator('.host[data-host="node1"] rect').first
    at = card.get_attribute("transform")
    box = box_of(card)
    goal = box_of(other)
    hand.page.mouse.move(box["x"] + 20, box["y"] + 10)
    hand.page.mouse.down()
    hand.page.mouse.move(goal["x"] + goal["width"] / 2, goal["y"] + goal["height"] / 2, steps=10)
    screenshot("carried")
    hand.page.mouse.up()
    hand.becomes("explorer.problem.cluster.hosts", ["node1", "node0", "node1", "node1"])
    assert hand.notebook.value("explorer.problem.cluster.bandwidth[0].tolist()[1:]") == [12.5e9, 300e9, 300e9]
    hand.shows(LIBRARY)
    hand.button("↶").click()
    hand.becomes("explorer.problem.cluster.hosts[0]", "node0")
    expect(card).to_have_attribute("transform", at)
    assert hand.notebook.value("explorer.problem.cluster.bandwidth[0].tolist()[1:]") == [300e9, 12.5e9, 12.5e9]
    hand.button("↷").click()
    hand.becomes("explorer.problem.cluster.hosts[0]", "node1")


def test_pickers_options_and_the_heat_map(explore, screenshot):
    """Every picker changes the result; a cell of the heat map picks its pair."""
    hand = explore('"convolutional_network"', tab=RESTING)
    for label, value, expression in (
        ("Partitioner", "mite", "explorer.state.partitioner"),
        ("Scheduler", "fifo", "explorer.schedule.scheduler"),
        ("Transfers", "channel", "explorer.problem.transfers"),
        ("Memory", "edges", "explorer.problem.memory"),
        ("Cluster", "nvlink_box", "explorer.state.preset.title"),
        ("Model", "recurrent_network", "explorer.state.model.title"),
    ):
        hand.menu(label).select_option(value)
        hand.becomes(expression, value)
        hand.shows(LIBRARY)
    hand.seldom()
    hand.menu("Seed").fill("5")
    hand.menu("Seed").press("Enter")
    hand.menu("Partitioner").select_option("heft")
    hand.open("What this partitioner does")
    hand.root.get_by_label("insertion").uncheck()
    hand.page.keyboard.press("Escape")
    hand.becomes("[explorer.state.seed, explorer.state.options_of('partitioner')]", [5, {"insertion": False}])
    hand.button("Comparison").click()
    hand.compared()
    hand.root.locator(".pl-comparison tr", has_text="critical-path").locator("td").first.click()
    hand.becomes("(explorer.state.partitioner, explorer.state.scheduler) == ('heft', 'fifo')", False)
    hand.shows(LIBRARY)
    assert hand.menu("Partitioner").input_value() and hand.menu("Scheduler").input_value()
    hand.root.locator(".pl-comparison .show-best").click()
    frame = "explorer.comparison.frame"
    hand.becomes("explorer.schedule.makespan", hand.notebook.value(f"{frame}[{frame}.valid].makespan.min()"))
    screenshot("best")


@pytest.mark.slow
def test_keys_stay_in_the_explorer(explore):
    """Keys typed while the chart, a menu or a button has focus trigger no shortcut of the notebook."""
    hand = explore('"topcuoglu"', tab=RESTING)
    count = "() => jupyterapp.shell.currentWidget.content.widgets.length"
    cells = hand.page.evaluate(count)
    hand.menu("Partitioner").focus()
    hand.page.keyboard.type("m-sct")  # `m` would make the cell a Markdown cell
    hand.becomes("explorer.state.partitioner", "m-sct")
    for part in (hand.root.locator(".pl-gantt [tabindex='0']").first, hand.root.get_by_role("button", name="Play")):
        part.focus()
        for pressed in ("b", "a", "j"):
            hand.page.keyboard.press(pressed)
    assert hand.page.evaluate(count) == cells
    hand.seldom()
    hand.button("Prepare…").focus()
    hand.page.keyboard.type("bdd")
    assert hand.page.evaluate(count) == cells


@pytest.mark.alone
@pytest.mark.slow
def test_play_scrub_and_click(explore, screenshot):
    """The chart plays smoothly and stops; a click explains an op with the decision that placed it."""
    hand = explore()
    assert played(hand) > FRAMES
    scrub = hand.root.locator(".scrub")
    scrub.focus()
    hand.page.keyboard.press("Home")
    expect(hand.root.locator(".time")).to_contain_text("t = 0")
    hand.page.keyboard.press("End")
    stage = hand.root.locator(".stage")
    stage.click(position={"x": 300, "y": 40})
    expect(hand.root.locator(".detail")).to_contain_text(" on gpu:0")
    op = hand.notebook.value("explorer.gantt.selection")
    assert (
        op >= 0
        and hand.notebook.value(f"explorer.problem.graph.names[{op}]") in hand.root.locator(".detail").inner_text()
    )
    screenshot("selected")


def test_commands_in_words_from_anywhere_and_a_note_that_undoes(explore, screenshot):
    """Ctrl+K, a value with its unit, Enter: the cluster has it, a note says so, Undo and Ctrl+Z go back; shortcuts rest."""
    hand = explore(tab=RESTING)
    memory = hand.notebook.value("explorer.state.cluster.memory.tolist()")
    hand.root.locator(".stage").click(position={"x": 300, "y": 8})
    hand.page.keyboard.press("Control+k")
    field = hand.root.get_by_role("combobox", name="Command", exact=True)
    expect(field).to_be_focused()
    field.fill("memory 8 GB")
    first = hand.root.locator(".pl-palette [role='option']").first
    expect(first).to_contain_text("→ 8 GB")
    screenshot("palette")
    hand.page.keyboard.press("Enter")
    expect(hand.root.locator(".pl-palette")).to_be_hidden()
    hand.becomes("explorer.state.cluster.memory.tolist()", [8e9] * len(memory))
    note = hand.root.locator(".pl-note")
    expect(note).to_contain_text("memory")
    screenshot("note")
    note.get_by_role("button", name="Undo").click()
    hand.becomes("explorer.state.cluster.memory.tolist()", memory)
    expect(note).to_contain_text("Undo: memory 8 →")
    expect(note.get_by_role("button", name="Redo")).to_be_visible()
    hand.root.locator(".stage").focus()
    hand.page.keyboard.press("Control+Shift+z")
    hand.becomes("explorer.state.cluster.memory.tolist()", [8e9] * len(memory))
    hand.page.keyboard.press("Control+z")
    hand.becomes("explorer.state.cluster.memory.tolist()", memory)
    hand.page.keyboard.press("Control+k")
    field.fill("no such thing")
    expect(hand.root.locator(".pl-palette")).to_contain_text("Nothing fits")
    hand.page.keyboard.press("Escape")
    expect(hand.root.locator(".stage")).to_be_focused()


def test_why_not_faster(explore, screenshot):
    """A lane up to the proven bound; a click selects an op of the proof; a key hides it, and the chart has its room."""
    hand = explore(tab=RESTING)
    bound = hand.root.locator(".proof .bound")
    least = hand.notebook.value(
        "explorer.problem.cluster.units.time(pl.bounds(explorer.problem, inputs=True)['inputs'])"
    )
    expect(bound).to_have_text(f"≥ {least}")
    segments = hand.root.locator(".proof .plot button")
    named = hand.notebook.value("sorted({op for ops in pl.bounds(explorer.problem, why=True).ops for op in ops})")
    segments.first.click()
    hand.becomes("explorer.gantt.selection >= 0", True)
    op = hand.notebook.value("explorer.gantt.selection")
    assert hand.notebook.value(f"str(explorer.problem.graph.names[{op}])") in named
    chart = hand.root.locator(".pl-gantt")
    for i, ops in enumerate(hand.notebook.value("[each['ops'] for each in explorer.gantt.proof]")[:2]):
        segments.nth(i).click()
        expect(chart).to_have_attribute("data-marked", str(len(ops)))
    screenshot("lane")
    stage = hand.root.locator(".stage")
    high = box_of(stage)["height"]
    stage.focus()
    hand.page.keyboard.press("y")
    expect(hand.root.locator(".proof")).to_be_hidden()
    assert box_of(stage)["height"] == high + 18
    hand.becomes("explorer.gantt.proof_shown", False)


@pytest.mark.slow
def test_the_copied_cell_reproduces_what_is_shown(explore, page, screenshot):
    """The clipboard holds the text that is shown, and running it gives the same schedule."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hand = explore(tab=RESTING)
    hand.pull(key(hand, "speed:1"), 60)
    hand.menu("Scheduler").select_option("msr")
    hand.becomes("explorer.state.scheduler", "msr")
    hand.button("Code").click()
    text = hand.root.locator(".pl-code pre").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == text == hand.notebook.value("explorer.code")
    screenshot("code")
    page.evaluate("navigator.clipboard.writeText('something else')")
    hand.button("Code").click()  # again, while it is open
    expect(hand.root.locator(".pl-code [role=status]").first).to_have_text(re.compile("Copied"))
    page.wait_for_function("async text => await navigator.clipboard.readText() === text", arg=text)
    page.keyboard.press("Escape")
    expect(hand.root.locator(".pl-code pre")).to_be_hidden()
    hand.notebook.execute(text)
    assert hand.notebook.value("[schedule.makespan, bool((schedule.start == explorer.schedule.start).all())]") == [
        hand.notebook.value("explorer.schedule.makespan"),
        True,
    ]


def upload(hand: Hand, path: Path) -> None:
    """Choose a file on the browser's machine."""
    with hand.page.expect_file_chooser() as chooser:
        hand.root.get_by_role("button", name="Upload").click()
    chooser.value.set_files(path)


@pytest.mark.slow
def test_files_good_and_bad(explore, lab, screenshot):
    """A path and an upload open a graph; an invalid file gives an error in place and changes nothing."""
    pl.generators.fork_join(6).save(lab.root / "mine.json.gz")
    (lab.root / "bad.json").write_text('{"ops": []}')
    hand = explore('"topcuoglu"', tab=RESTING)
    hand.button("Open…").click()
    path = hand.root.get_by_label("Path on the kernel's machine")
    path.fill("bad.json")
    path.press("Enter")
    expect(hand.root.get_by_role("alert")).to_contain_text("bad.json is JSON of a different kind")
    assert hand.menu("Model").input_value() == "topcuoglu" and hand.number("makespan") == "80"
    screenshot("bad")
    path.fill("mine.json.gz")
    path.press("Enter")
    expect(hand.root.get_by_role("alert")).to_have_count(0)
    hand.becomes("explorer.problem.graph.n_ops", 8)
    hand.button("Open…").click()
    upload(hand, lab.root / "bad.json")
    expect(hand.root.get_by_role("alert")).to_contain_text("bad.json is JSON of a different kind")
    upload(hand, lab.root / "mine.json.gz")
    expect(hand.menu("Model")).to_have_value("mine.json.gz")
    assert hand.notebook.value("explorer.problem.graph.n_ops") == 8


FAILS = """import placelab as pl

@pl.partitioner
def fails_here(problem):
    rank = pl.upward_rank(problem)
    return rank["no such key"]
"""


@pytest.mark.slow
def test_from_an_error_to_the_cell_that_has_it(open_notebook, page, screenshot):
    """The button scrolls to the cell and marks the line; when the cell has changed, there is no button."""
    cells = [
        FAILS,
        *["# between"] * 12,
        OPEN.format(arguments=f'"topcuoglu", partitioner="fails-here", tab={RESTING!r}'),
    ]
    open_notebook(cells)
    root = page.locator(".placelab-explorer")
    jump = root.get_by_role("button", name="Jump to the cell")
    expect(jump).to_be_visible()
    root.evaluate("root => root.scrollIntoView({block: 'end'})")
    screenshot("failed")
    line = page.locator(".jp-Cell .cm-line", has_text="no such key").first
    jump.click()
    expect(line).to_be_in_viewport()
    expect(line).to_have_css("outline-style", "solid")
    screenshot("jumped")
    expect(line).to_have_css("outline-style", "none")
    page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource('changed = 1')")
    jump.click()
    expect(jump).to_be_hidden()


@pytest.mark.slow
def test_a_strategy_of_ones_own(explore):
    """A cell that defines a partitioner adds it to the menu; its option is a slider."""
    hand = explore('"topcuoglu"', tab=RESTING)
    hand.notebook.execute(
        """
from typing import Annotated
import numpy as np

@pl.partitioner
def everything_there(problem, *, where: Annotated[int, (0, 2)] = 1):
    "All ops on one device."
    return pl.Placement(problem, np.full(problem.graph.n_ops, where))
"""
    )
    hand.menu("Partitioner").select_option("everything-there")
    hand.settled()
    expect(hand.root.get_by_role("status").filter(has_text="plans no order")).to_be_visible()
    assert hand.notebook.value("explorer.placement.device.tolist()") == [1] * 10
    hand.open("What this partitioner does")
    slider = hand.root.locator(".pl-option input[type=range]")
    for _ in range(20):  # until the kernel hears the key: the slider has just been drawn
        slider.press("End")
        if hand.notebook.value("explorer.state.options_of('partitioner')"):
            break
    hand.becomes("explorer.placement.device.tolist()", [2] * 10)
    hand.shows("pl.solve(explorer.problem, 'everything-there', 'pct', partitioner_options={'where': 2})")


BUSY = """  # a cell that runs on for some seconds after it has seen that the menu was heard
import time
until = time.monotonic() + 25
while explorer.state.partitioner != "batch-split" and time.monotonic() < until:
    time.sleep(0.05)
time.sleep(8)
"""


@pytest.mark.slow
def test_a_busy_kernel(explore):
    """While a cell runs, pickers and drags are answered."""
    hand = explore('"convolutional_network"', tab=RESTING)
    hand.menu("Partitioner").select_option("cpop")
    hand.becomes("explorer.state.partitioner", "cpop")
    before = hand.number("makespan")
    hand.page.evaluate(
        """(code) => {
          const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          window.cell = kernel.requestExecute({code});
          window.state = "asked";
          cell.onIOPub = ({header}) => { if (header.msg_type === "execute_input") window.state = "busy"; };
          cell.done.then(() => { window.state = "done"; });
        }""",
        BUSY,
    )
    hand.page.wait_for_function("() => state === 'busy'")
    hand.menu("Partitioner").select_option("batch-split")
    expect(hand.root.locator(".pl-figures [data-key=makespan] b")).not_to_have_text(before)
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-stale", "false")
    assert hand.page.evaluate("() => state") == "busy"
    box = box_of(key(hand, "speed:0"))
    hand.page.mouse.move(box["x"] + 20, box["y"] + 8)
    hand.page.mouse.down()
    hand.page.mouse.move(box["x"] - 60, box["y"] + 8, steps=8)
    hand.page.mouse.up()
    hand.page.evaluate("() => window.cell.done")
    hand.becomes("bool(explorer.problem.cluster.speed[0] < 1e13)", True)
    hand.shows(LIBRARY)


def test_keys_play_and_find_wherever_the_click_was(explore):
    """Space and / reach the chart from a place beside all controls; in a field they are text."""
    hand = explore('"topcuoglu"', tab=RESTING)
    chart = hand.root.locator(".pl-gantt")
    hand.root.locator(".pl-numbers").click()
    before = chart.get_attribute("data-time")
    hand.page.keyboard.press(" ")
    expect(chart).not_to_have_attribute("data-time", before)
    hand.root.locator(".pl-numbers").click()
    hand.page.keyboard.press("/")
    hand.page.keyboard.type("7/ ")
    assert hand.page.evaluate("document.activeElement.value") == "7/ "


@pytest.mark.slow
@pytest.mark.own_page
def test_hints_are_shown_once(explore, page):
    """Three, beside what they are about, each gone when it is done; Ctrl+K brings them again."""
    page.add_init_script("if (!sessionStorage.seen) localStorage.removeItem('placelab-hints')")
    hand = explore('"topcuoglu"', tab=RESTING)
    hints = hand.root.locator(".pl-hint")
    expect(hints).to_have_count(3)
    outer, chip = box_of(hand.root), box_of(hand.root.locator(".pl-best"))
    for hint in hints.all():
        box = box_of(hint)
        assert outer["x"] <= box["x"] and box["x"] + box["width"] <= outer["x"] + outer["width"], hint.inner_text()
        assert box["y"] + box["height"] <= chip["y"] or chip["y"] + chip["height"] <= box["y"], hint.inner_text()
    hand.button("◈ Keep").click()
    expect(hints).to_have_count(2)
    hand.root.locator(".pl-canvas [data-key^='bandwidth']").first.click()
    expect(hints).to_have_count(1)
    hand.button("Got it").click()
    expect(hints).to_have_count(0)
    page.evaluate("sessionStorage.seen = 1")
    assert page.evaluate("localStorage.getItem('placelab-hints')") == "shown"
    hand.root.locator(".pl-gantt .stage").press("Control+k")
    page.keyboard.type("hints")
    expect(hand.root.locator(".pl-palette li").first).to_contain_text("Show what to do first")
    page.keyboard.press("Enter")
    expect(hints).to_have_count(3)


FORGET = "if (!sessionStorage.seen) localStorage.removeItem('placelab-hints')"


@pytest.mark.slow
@pytest.mark.own_page
def test_a_newcomer_begins_with_an_example(open_notebook, page, screenshot):
    """Where nothing was asked for: a place to drop a model on and three examples, then the hints; a press beside them ends it."""
    page.add_init_script(FORGET)
    hand = at_1280(page, open_notebook, OPEN.format(arguments=""))
    begin = hand.root.locator(".pl-begin")
    expect(begin).to_have_count(3)
    expect(hand.root.locator(".pl-hint")).to_have_count(0)
    screenshot("empty")
    page.evaluate("localStorage.setItem('placelab-hints', 'shown')")  # as where the chart is ready before this page
    with page.expect_file_chooser():
        hand.button("Open a file…").click()
    examples = hand.root.locator(".pl-begin-examples > button")
    expect(examples).to_have_text([re.compile("Ten tasks"), re.compile("Llama pipeline"), re.compile("Inception v3")])
    examples.nth(1).click()
    expect(begin).to_have_count(0)
    hand.becomes("explorer.state.planned.plan.pp", 4)
    assert hand.notebook.value("explorer.problem.graph.n_ops") == 64
    expect(hand.root.locator(".pl-hint").first).to_be_visible()
    hand.root.locator(".pl-gantt .stage").press("Control+k")
    page.keyboard.type("examples")
    page.keyboard.press("Enter")
    expect(begin).to_have_count(3)
    hand.root.locator(".pl-titles button").nth(3).click()
    expect(begin).to_have_count(0)
    page.evaluate("sessionStorage.seen = 1")
    hand.notebook.execute("explorer.views = 0\nexplorer.undo()")
    assert page.evaluate("localStorage.getItem('placelab-hints')") == "shown"


@pytest.mark.slow
@pytest.mark.own_page
def test_a_dragged_value_leaves_the_page_to_begin_with(open_notebook, page):
    """What is behind it is live: a pill can be pulled, and the schedule is there at once."""
    page.add_init_script(FORGET)
    hand = at_1280(page, open_notebook, OPEN.format(arguments=""))
    expect(hand.root.locator(".pl-begin")).to_have_count(3)
    hand.pull(key(hand, "bandwidth:inside server"), 60)
    expect(hand.root.locator(".pl-begin")).to_have_count(0)
    hand.shows(LIBRARY)


@pytest.mark.slow
def test_decisions_draw_the_plan_so_far(explore, screenshot):
    """Ops up to the step and no makespan; a prediction gives nothing away; another tab shows the whole plan."""
    hand = explore('"topcuoglu", tab="Decisions"')
    chart = hand.root.locator(".pl-gantt")
    expect(chart).to_have_attribute("data-part", "true")
    panel = hand.root.locator(".pl-decisions")
    for _ in range(3):
        chart.get_by_role("button", name="Next decision").click()
    figures = hand.root.locator(".pl-figures")
    expect(figures).to_contain_text("4 of 10 ops")
    assert "80" not in figures.inner_text()
    chart.get_by_role("button", name="time", exact=True).click()
    expect(chart.locator(".time")).to_have_text("plan so far")
    chart.get_by_role("button", name="decisions", exact=True).click()
    expect(chart.locator(".detail")).to_contain_text("T2 on P1")
    panel.get_by_role("button", name="Predict first").click()
    chart.get_by_role("button", name="Next decision").click()
    expect(panel).to_contain_text("Where does T5 go?")
    expect(chart.locator(".detail")).to_have_text("")
    expect(figures).to_contain_text("4 of 10 ops")
    screenshot("predict")
    panel.press("3")
    expect(figures).to_contain_text("5 of 10 ops")
    hand.button("Comparison").click()
    expect(chart).to_have_attribute("data-part", "false")
    assert hand.number("makespan") == "80"


@pytest.mark.slow
def test_one_transport_plays_time_or_decisions(explore):
    """The chart's buttons, slider and keys move through decisions while these are in sight, else through time."""
    hand = explore('"topcuoglu", tab="Decisions"')
    chart = hand.root.locator(".pl-gantt")
    line = chart.locator(".time")
    expect(line).to_have_text("decision 1 of 10")
    assert not hand.root.locator(".pl-decisions").get_by_role("button", name="Play").is_visible()
    chart.locator(".stage").press(".")
    expect(line).to_have_text("decision 2 of 10")
    chart.get_by_label("Decision", exact=True).fill("10000")
    expect(line).to_have_text("decision 10 of 10")
    chart.get_by_role("button", name="time", exact=True).click()
    expect(line).to_have_text("t = 80 of 80")
    chart.locator(".stage").press("r")
    expect(line).to_have_text("t = 0 of 80")
    chart.get_by_role("button", name="decisions", exact=True).click()
    chart.locator(".stage").press("r")
    expect(line).to_have_text("decision 1 of 10")
    chart.locator(".stage").press("Space")  # one a second
    expect(line).to_have_text("decision 3 of 10")
    expect(chart.get_by_role("button", name="Pause")).to_be_visible()
    hand.button(RESTING).click()
    expect(line).to_have_text("t = 0 of 80")
    expect(chart.get_by_role("group", name="What is played")).to_be_hidden()


@pytest.mark.slow
def test_where_two_partitioners_part(explore, screenshot):
    """From the difference to the kept schedule, in one click: both side by side, marked on the axis."""
    hand = explore('"topcuoglu"', tab=RESTING)
    hand.button("◈ Keep").click()
    hand.menu("Partitioner").select_option("cpop")
    hand.root.get_by_role("button", name="where they part").click()
    panel = hand.root.locator(".pl-decisions")
    expect(panel.get_by_role("region", name="heft")).to_be_visible()
    row = hand.notebook.value(
        "pl.analysis.two_schedules.first_difference(*(pl.place(explorer.problem, p, trace=True) for p in ('cpop', 'heft')))"
    )
    hand.becomes("explorer.tabs.panels['Decisions'].view.step", row)
    hand.becomes("explorer.gantt.mark.get('text', '').split(',')[0]", f"first difference: decision {row + 1}")
    screenshot("parted")
    hand.button(RESTING).click()
    hand.becomes("explorer.gantt.mark", {})


@pytest.mark.slow
def test_the_axis_holds_while_a_hand_drags(explore):
    """Bars shrink under a fixed scale; on release they fill the chart again."""
    hand = explore('"convolutional_network", pl.clusters.pcie_box()', tab=RESTING)
    chart = hand.root.locator(".pl-gantt")
    before = chart.get_attribute("data-span")
    shown = chart.get_attribute("data-makespan")
    box = box_of(key(hand, "bandwidth:inside server"))
    hand.page.mouse.move(box["x"] + 20, box["y"] + 8)
    hand.page.mouse.down()
    hand.page.mouse.move(box["x"] + 160, box["y"] + 8, steps=8)
    expect(chart).not_to_have_attribute("data-makespan", shown)
    hand.page.wait_for_timeout(300)  # some frames
    assert float(chart.get_attribute("data-makespan")) < float(shown)
    assert chart.get_attribute("data-span") == before
    hand.page.mouse.up()
    expect(chart).not_to_have_attribute("data-span", before)


@pytest.mark.slow
def test_an_area_tells_what_is_in_it(explore):
    """Shift and drag: totals in the drawer, which zooms there; Escape and a click elsewhere let go."""
    hand = explore('"topcuoglu"', tab=RESTING)
    stage = hand.root.locator(".pl-gantt .stage")
    box = box_of(stage)
    hand.page.keyboard.down("Shift")
    hand.page.mouse.move(box["x"] + 400, box["y"] + 40)
    hand.page.mouse.down()
    hand.page.mouse.move(box["x"] + 700, box["y"] + box["height"] - 8, steps=4)
    hand.page.mouse.up()
    hand.page.keyboard.up("Shift")
    drawer = hand.root.locator(".drawer")
    expect(drawer.locator("header")).to_contain_text("on P1 to P3")
    start, finish, *devices = hand.notebook.value("explorer.gantt.area")
    assert devices == [0, 1, 2]
    busy = hand.notebook.value(
        f"float((explorer.schedule.finish.clip({start}, {finish}) - explorer.schedule.start.clip({start}, {finish})).sum())"
    )
    facts = hand.notebook.value("explorer.gantt.details['facts']")
    assert abs(float(facts[0][1].split(", ")[1]) / busy - 1) < 0.01
    drawer.get_by_role("button", name="Zoom here").click()
    chart = hand.root.locator(".pl-gantt")
    hand.page.wait_for_timeout(200)  # a frame
    assert chart.get_attribute("data-span").split() == [str(start), str(finish)]
    stage.press("Escape")
    hand.becomes("explorer.gantt.area", [])


@pytest.mark.slow
def test_downloads(explore, page: Page, tmp_path):
    """The browser saves a page that plays without a kernel, a trace, and the ops as a table."""
    hand = explore('"topcuoglu"', tab=RESTING)
    saved = {}
    for name in ("Page .html", "Trace .json", "Ops"):
        hand.open("Download")
        with page.expect_download() as begun:
            hand.button(name).click()
        saved[name] = tmp_path / begun.value.suggested_filename
        begun.value.save_as(saved[name])
    assert saved["Trace .json"].name == "topcuoglu-heft-planned.trace.json" and json.loads(
        saved["Trace .json"].read_text()
    )
    assert len(saved["Ops"].read_text().splitlines()) == 11
    page.goto(saved["Page .html"].as_uri())
    expect(page.locator(".pl-gantt")).to_have_attribute("data-makespan", "80")


BOXES = """root => [...root.children, root.querySelector('.pl-gantt .stage'), root.querySelector('.pl-tabs')]
  .filter(part => part.offsetParent !== null && !part.matches('.pl-splitter'))
  .map(part => part.getBoundingClientRect()).map(({x, y, width, height}) => [x, y, width, height])"""


COLLIDING = """root => {  // controls that cover each other, or that the explorer cuts off
  const whole = root.getBoundingClientRect();
  const parts = [...root.querySelectorAll(".pl-top :is(select, button), .pl-titles button, .pl-gantt .toolbar > *, .pl-popover")]
    .filter(part => part.offsetParent !== null && part.offsetWidth > 2).map(part => [part, part.getBoundingClientRect()]);
  const named = part => part.title || part.ariaLabel || part.textContent || part.className;
  const cut = parts.filter(([, box]) => box.left < whole.left - 1 || box.right > whole.right + 1);
  const flat = parts.filter(([part]) => !part.closest(".pl-popover"));
  const over = flat.flatMap(([, a], i) => flat.slice(i + 1).filter(([, b]) =>
    a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1));
  return [...cut, ...over].map(([part]) => named(part));
}"""


def nothing_collides(hand: Hand) -> None:
    """Check the controls' places, also those of each panel that opens."""
    assert hand.root.evaluate(COLLIDING) == []
    for opener in hand.root.locator(".pl-opens:visible").all():
        opener.click()
        expect(hand.root.locator(".pl-popover:visible")).to_have_count(1)
        assert hand.root.evaluate(COLLIDING) == []
        hand.page.keyboard.press("Escape")
        expect(hand.root.locator(".pl-popover:visible")).to_have_count(0)


@pytest.mark.slow
def test_the_curve_of_a_value_stays_while_it_is_chosen(explore, page: Page, screenshot):
    """A value that has the focus is what the open drawer tells of: what travels, and the makespan over it; a click ends that."""
    page.set_viewport_size({"width": 1280, "height": 720})
    hand = explore('"convolutional_network"', tab=RESTING)
    hand.notebook.execute("explorer.gantt.drawer = True")
    drawer = hand.root.locator(".drawer")
    hand.root.locator(".pill.bandwidth").first.focus()
    expect(drawer.locator("header b")).to_contain_text("bandwidth inside")
    expect(drawer.locator(".overtime .makespan")).to_be_visible()
    hand.becomes("len(explorer.gantt.curve.get('values', ()))", 33)
    screenshot("chosen", hand.root)
    here = drawer.locator(".overtime circle.here title").text_content()
    assert here.split(": ")[0] == hand.root.locator(".pill.bandwidth text").first.text_content()
    page.keyboard.press("PageUp")  # the curve follows the value
    hand.becomes("explorer.gantt.curve.get('now') == float(explorer.problem.cluster.bandwidth[0, 1])", True)
    hand.notebook.execute("explorer.gantt.selection = 3; explorer.gantt.value = {}")
    expect(drawer.locator(".overtime")).to_have_count(0)
    assert hand.notebook.value("explorer.canvas.chosen") == {}


@pytest.mark.parametrize(
    ("width", "height", "tab"),
    [
        (1280, 720, RESTING),
        *(
            pytest.param(*size, "Comparison", marks=pytest.mark.slow)
            for size in ((1280, 720), (1440, 900), (1920, 1080))
        ),
    ],
)
def test_one_screen_on_which_nothing_moves(explore, page: Page, screenshot, width, height, tab):
    """All parts are in the window at once; a drag, a host more, a panel that opens and an error move none by a pixel."""
    page.set_viewport_size({"width": width, "height": height})
    hand = explore('"convolutional_network"', tab=tab)
    hand.root.evaluate("root => root.scrollIntoView({block: 'end'})")
    boxes = lambda: hand.root.evaluate(BOXES)  # noqa: E731
    whole = box_of(hand.root)
    before = boxes()
    assert whole["height"] >= 590 and all(box[3] > 20 for box in before)
    assert all(whole["y"] <= y and y + h <= min(height, whole["y"] + whole["height"]) + 1 for _, y, _, h in before)
    assert all(x + w <= whole["x"] + whole["width"] + 1 for x, _, w, _ in before)
    handle = hand.root.locator(".pill.bandwidth").first
    box = box_of(handle)
    page.mouse.move(box["x"] + 10, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] - 90, box["y"] + 8, steps=6)
    assert boxes() == before
    expect(hand.root.locator(".ruler path.curve")).to_be_visible()
    screenshot("curve")
    page.mouse.up()
    hand.settled()
    expect(hand.root.locator(".pl-over polyline")).to_be_visible()  # while the value is chosen, with the details closed
    assert boxes() == before
    screenshot("curve stays")
    hand.root.locator(".cluster [data-action=host]").click()
    hand.becomes("explorer.problem.cluster.n_devices", 5)
    assert boxes() == before
    hand.seldom()
    assert boxes() == before
    page.keyboard.press("Escape")
    expect(hand.root.locator(".pl-popover:visible")).to_have_count(0)
    hand.notebook.execute("explorer._say('x' * 2000, 'bad')")
    expect(hand.root.get_by_role("alert")).to_be_visible()
    assert boxes() == before
    screenshot("error")
    hand.notebook.execute("explorer._say('')")
    nothing_collides(hand)
    if width == 1280:
        hand.menu("Partitioner").hover()
        expect(hand.menu("Partitioner")).to_have_attribute("title", re.compile("Which device each op runs on"))
        page.set_viewport_size({"width": 853, "height": 720})  # as at 150 %
        narrow(hand)
        screenshot("narrow")


NEAR = """x => {
  const now = document.querySelector(".ruler rect.now")?.getBoundingClientRect();
  return now && Math.abs(now.x + now.width / 2 - x) <= 3;
}"""


@pytest.mark.slow
def test_presenting(explore, page: Page, screenshot):
    """The explorer alone, a quarter larger, on the whole screen; pointers still hit a value, a card, a bar of the chart."""
    page.set_viewport_size({"width": 1280, "height": 720})
    hand = explore('"recurrent_network", pl.clusters.two_nodes(2)')
    tall = box_of(hand.button("Comparison"))["height"]
    present = hand.root.get_by_role("button", name="Present: larger type, and nothing but the views")
    present.click()
    page.wait_for_function("() => document.fullscreenElement?.getBoundingClientRect().height === innerHeight")
    expect(hand.root.locator(".cluster")).to_be_visible()
    bare_page.still(page)
    assert box_of(hand.button("Comparison"))["height"] == pytest.approx(1.25 * tall, rel=0.05)
    expect(hand.root.locator(".pl-rest")).to_be_hidden()  # all cards are seen
    titles = hand.root.locator(".pl-titles")
    assert titles.evaluate("titles => titles.scrollWidth <= titles.clientWidth")
    hand.button("Job").click()
    head = box_of(hand.root.locator(".pl-job-head"))
    last = box_of(hand.root.get_by_role("button", name="Training run"))
    assert last["x"] + last["width"] <= head["x"] + head["width"] + 1
    hand.button("Comparison").click()
    handle = key(hand, "bandwidth:inside node0")
    x = (box := box_of(handle))["x"] + box["width"] / 2
    page.mouse.move(x, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(x + 30, box["y"] + box["height"] / 2, steps=6)
    page.wait_for_function(NEAR, arg=x + 30)
    screenshot("pulled")
    page.mouse.up()
    hand.becomes("[explorer.canvas.dragging, len(explorer.steps.past) > 0]", [False, True])
    bandwidth = hand.notebook.value("float(explorer.problem.cluster.bandwidth[0, 1])")
    assert bandwidth == pytest.approx(300e9 * 10 ** (30 / 1.25 / 120), rel=0.02)
    goal = box_of(hand.root.locator('.host[data-host="node1"] rect').first)
    box = box_of(key(hand, "card:0"))
    page.mouse.move(box["x"] + 25, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(goal["x"] + goal["width"] / 2, goal["y"] + goal["height"] / 2, steps=10)
    carried = box_of(key(hand, "card:0"))
    assert carried["x"] + 25 == pytest.approx(goal["x"] + goal["width"] / 2, abs=3)
    page.mouse.up()
    hand.becomes("explorer.problem.cluster.hosts[0]", "node1")
    busiest = "int((explorer.schedule.finish - explorer.schedule.start).argmax())"
    op, device, middle = hand.notebook.value(
        f"(lambda s, v: [v, int(s.device[v]), (s.start[v] + s.finish[v]) / 2 / s.makespan / 1.01])(explorer.schedule, {busiest})"
    )
    stage = box_of(hand.root.locator(".stage"))
    left = 1.25 * hand.root.locator(".stage .plot").evaluate("plot => parseFloat(plot.style.left)")
    rows = [stage["y"] + fraction * stage["height"] for fraction in (0.15, 0.2, 0.35, 0.4, 0.55, 0.6, 0.8, 0.85)]
    for y in rows[2 * device : 2 * device + 2]:
        page.mouse.click(stage["x"] + left + middle * (stage["width"] - left), y)
    hand.becomes("explorer.gantt.selection", op)
    screenshot("selected")
    hand.button("Full screen").click()  # which is left
    expect(present).to_have_attribute("aria-pressed", "false")
    assert box_of(hand.button("Comparison"))["height"] == pytest.approx(tall, rel=0.05)


def narrow(hand: Hand) -> None:
    """The controls are there in more lines, and the canvas is one of the tabs; a tab chosen after it covers it."""
    canvas = hand.root.locator(".cluster")
    expect(canvas).to_be_hidden()
    nothing_collides(hand)
    for tab, is_canvas in (("Cluster", True), ("Graph", False), ("Cluster", True)):
        hand.button(tab).click()
        expect(canvas).to_be_visible(visible=is_canvas)
    hand.pull(hand.root.locator(".pill.bandwidth").first, 60)


@pytest.mark.slow
def test_a_kernel_that_was_restarted(explore, page: Page, screenshot):
    """One line says so, nothing can be picked, canvas and chart go on in the page, and what was drawn still plays."""
    hand = explore('"topcuoglu"', tab=RESTING)
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(hand.root).to_have_class(re.compile("jupyter-widgets-disconnected"))
    said = hand.root.evaluate("root => getComputedStyle(root, '::before').content")
    assert "The kernel has ended" in said and "run the cell again" in said
    badge = hand.root.locator(".badge").evaluate("badge => getComputedStyle(badge, '::after').content")
    assert badge == '"not updated"'  # of a drag that the kernel did not survive
    expect(page.locator(".pl-goon")).to_contain_text("Canvas and chart go on in this page")
    for part, events in ((".pl-top", "none"), (".pl-middle > :not(.pl-canvas)", "none"), (".pl-canvas", "auto")):
        found = hand.root.locator(part).last.evaluate("part => getComputedStyle(part).pointerEvents")
        assert found == events, part
    hand.root.get_by_role("button", name="Back to the start").click()
    expect(hand.root.locator(".time")).to_contain_text("t = 0")
    hand.root.get_by_role("button", name="Play").click()
    expect(hand.root.locator(".time")).not_to_contain_text("t = 0 ")
    screenshot("restarted")


@pytest.mark.slow
def test_a_box_dropped_on_a_card_is_pinned(explore, page: Page, screenshot):
    """Dragging an op of the model graph onto a device pins it there; undo takes the pin away."""
    hand = explore('"topcuoglu"', tab=RESTING)
    hand.button("Graph").click()
    stage = hand.root.locator(".pl-graph .stage")
    stage.wait_for()
    hand.settled()
    whole = box_of(stage)
    points = [
        (whole["x"] + whole["width"] * i / 60, whole["y"] + whole["height"] * j / 12)
        for i in range(60)
        for j in range(12)
    ]
    for point in points:
        page.mouse.move(*point)
        if stage.get_attribute("data-over") == "box":
            break
    card = box_of(hand.root.locator(".card[data-device='2']"))
    page.mouse.down()
    page.mouse.move(card["x"] + 20, card["y"] + 60, steps=8)
    screenshot("over")
    page.mouse.up()
    hand.becomes("len(explorer.state.pins)", 1)
    pinned = hand.notebook.value("list(explorer.state.pins[0])")
    assert hand.notebook.value(
        f"[int(explorer.placement.device[explorer.problem.graph.index(op)]) for op in {pinned}]"
    ) == [2]
    assert f"{pinned[0]!r}" in hand.notebook.execute("print(explorer.code)")
    hand.button("↶").click()
    hand.becomes("len(explorer.state.pins)", 0)


@pytest.mark.slow
def test_light_dark_fifty_devices(explore, page: Page, screenshot):
    """Fifty devices of Mayer with his costs and units; both themes; a narrow window."""
    hand = explore()
    hand.compared()
    hand.menu("Cluster").select_option("mayer50")
    hand.becomes("[explorer.problem.cluster.n_devices, explorer.state.costs]", [50, "mayer"])
    hand.compared()
    screenshot("light")
    hand.notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
    hand.notebook.set_theme("JupyterLab Light")
    page.set_viewport_size({"width": 760, "height": 1000})
    page.wait_for_timeout(300)
    hand.button("Cluster").click()
    root = box_of(hand.root)
    for part in (".pl-gantt", ".cluster", ".pl-tabs"):
        box = box_of(hand.root.locator(part).first)
        assert box["x"] + box["width"] <= root["x"] + root["width"] + 1
    screenshot("narrow")


@pytest.mark.slow
def test_the_picture_of_the_readme(explore, screenshot):
    """The first view of ``pl.explore()``, complete, in 1280 × 720; the README's picture is a copy of it (docs/explorer.png).

    It lies in tests/artifacts then. When the explorer looks different it is to be copied anew, into notebooks/00_tour.ipynb, too.
    """
    hand = explore()
    hand.notebook.set_theme("JupyterLab Light")
    hand.page.set_viewport_size({"width": 1448, "height": 850})  # the rest is JupyterLab's
    hand.settled()
    hand.compared()
    assert hand.number("makespan") == units.seconds(hand.notebook.value("explorer.schedule.makespan"))
    box = box_of(hand.root)
    assert (box["width"], box["height"]) == (1280, 720)
    screenshot("whole", of=hand.root)
