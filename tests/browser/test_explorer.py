"""The explorer in a real JupyterLab: a hand drags, picks, clicks, plays, undoes, copies and exports."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from browser.jupyterlab import Notebook
from playwright.sync_api import Locator, Page, expect

import placelab as pl

OPEN = "import placelab as pl\nexplorer = pl.explore({arguments})\nexplorer"
UPDATE = 400  # ms from the hand's move to the repainted chart; generous, the figures are in benchmarks
FRAMES = 25  # per second while playing, likewise

# Milliseconds from each move of the hand to the second frame after the chart has its schedule.
WATCH = """() => {
  window.updates = [];
  let moved = 0;
  document.addEventListener('pointermove', () => { moved ||= performance.now(); }, true);
  new MutationObserver(() => {
    const begun = moved;
    moved = 0;
    if (begun) requestAnimationFrame(() => requestAnimationFrame(() => updates.push(performance.now() - begun)));
  }).observe(document.querySelector('.pl-gantt'), {attributes: true, attributeFilter: ['data-makespan']});
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
    """What a user can see and do."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.root = self.page.locator(".placelab-explorer")
        expect(self.root.locator(".numbers dd").first).to_be_visible()

    def menu(self, label: str) -> Locator:
        return self.root.get_by_label(label, exact=True)

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def number(self, key: str) -> str:
        return self.root.locator(f".numbers [data-key={key}] dd").inner_text()

    def settled(self) -> None:
        """Wait until Python and the chart are done with what was asked."""
        self.notebook.execute("explorer.settled(60)")
        expect(self.root.locator(".pl-gantt")).to_have_attribute("data-stale", "false")

    def compared(self) -> None:
        """Wait for the heat map of what is shown."""
        self.notebook.execute("explorer.comparison.settled(120)")
        expect(self.root.locator(".pl-comparison td.best")).to_be_visible()
        expect(self.root.locator(".pl-comparison td.stale")).to_have_count(0)

    def becomes(self, expression: str, value: object) -> None:
        """A Python expression takes a value: what a hand does reaches the kernel beside what a cell asks it."""
        until = time.monotonic() + 10
        while (found := self.notebook.value(expression)) != value:
            assert time.monotonic() < until, f"{expression} is {found!r}, not {value!r}"
            self.page.wait_for_timeout(50)
        self.settled()

    def shows(self, code: str) -> None:
        """The chart's makespan is exactly that of the schedule the code ends in, the strip says it, too."""
        made = self.notebook.execute(f"made = {code}\nprint(repr(made.makespan))")
        self.settled()
        expect(self.root.locator(".pl-gantt")).to_have_attribute("data-makespan", re.sub(r"\.0$", "", made.strip()))
        expect(self.root.locator(".numbers [data-key=makespan] dd")).to_have_text(pl.units.seconds(float(made)))
        assert self.notebook.value("bool((explorer.schedule.start == made.start).all())")

    def pull(self, handle: Locator, dx: float, steps: int = 12, hold: int = 0) -> None:
        """Drag a handle sideways."""
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        for i in range(steps):
            self.page.mouse.move(x + dx * (i + 1) / steps, y)
            self.page.wait_for_timeout(hold)
        self.page.mouse.up()
        self.becomes("[explorer.canvas.dragging, len(explorer.steps.past) > 0]", [False, True])


@pytest.fixture
def explore(open_notebook):
    """``explore(arguments)`` opens the explorer in a notebook and gives the hand that drives it."""
    return lambda arguments="": Hand(open_notebook([OPEN.format(arguments=arguments)]))


def key(hand: Hand, name: str) -> Locator:
    """The part of the canvas that keeps this name."""
    return hand.root.locator(f'[data-key="{name}"]')


def played(hand: Hand) -> float:
    """Frames per second while the chart plays, the best of several looks: the machine may be busy with something else."""
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "ops", "partitioner"), [("convolutional_network", 367, "tf-greedy"), ("dynamic_rnn", 5333, "heft")]
)
def test_a_link_pulled_to_ten_times_its_bandwidth(explore, screenshot, model, ops, partitioner):
    """The chart follows the hand; in the end it shows what the library says of the new cluster; undo takes it back."""
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


def test_a_device_dragged_to_another_host(explore, screenshot):
    """Its links become that host's; undo brings place and links back."""
    hand = explore('"recurrent_network", pl.clusters.two_nodes(2)')
    card, other = key(hand, "card:0"), hand.root.locator('.host[data-host="node1"] rect').first
    at, box, goal = card.get_attribute("transform"), card.bounding_box(), other.bounding_box()
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
    """Every picker says what is computed; a cell of the heat map is a pick, too."""
    hand = explore('"convolutional_network"')
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
    hand.menu("Seed").fill("5")
    hand.menu("Seed").press("Enter")
    hand.menu("Partitioner").select_option("heft")
    hand.root.get_by_label("insertion").uncheck()
    hand.becomes("[explorer.state.seed, explorer.state.options_of('partitioner')]", [5, {"insertion": False}])
    hand.compared()
    hand.root.locator(".pl-comparison tr", has_text="critical-path").locator("td").first.click()
    hand.becomes("(explorer.state.partitioner, explorer.state.scheduler) == ('heft', 'fifo')", False)
    hand.shows(LIBRARY)
    assert hand.menu("Partitioner").input_value() and hand.menu("Scheduler").input_value()
    hand.root.locator(".pl-comparison .show-best").click()
    frame = "explorer.comparison.frame"
    hand.becomes("explorer.schedule.makespan", hand.notebook.value(f"{frame}[{frame}.valid].makespan.min()"))
    screenshot("best")


def test_keys_stay_in_the_explorer(explore):
    """What is typed with the chart, a menu or a button in focus is no shortcut of the notebook."""
    hand = explore('"topcuoglu"')
    count = "() => jupyterapp.shell.currentWidget.content.widgets.length"
    cells = hand.page.evaluate(count)
    for part in (hand.root.locator(".pl-gantt [tabindex='0']").first, hand.root.get_by_role("button", name="Play")):
        part.focus()
        for pressed in ("b", "a", "j"):
            hand.page.keyboard.press(pressed)
    assert hand.page.evaluate(count) == cells
    hand.menu("Partitioner").focus()
    hand.page.keyboard.type("m-sct")  # `m` would make the cell a Markdown cell
    hand.becomes("explorer.state.partitioner", "m-sct")
    hand.button("Prepare…").focus()
    hand.page.keyboard.type("bdd")
    assert hand.page.evaluate(count) == cells


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


def test_the_copied_cell_reproduces_what_is_shown(explore, page, screenshot):
    """The clipboard holds the text that is shown in place; running it gives the same schedule."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hand = explore()
    hand.pull(key(hand, "speed:1"), 60)
    hand.menu("Scheduler").select_option("msr")
    hand.settled()
    hand.button("Copy as code").click()
    text = hand.root.locator(".pl-code pre").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == text == hand.notebook.value("explorer.code")
    screenshot("code")
    page.keyboard.press("Escape")
    expect(hand.root.locator(".pl-code pre")).to_be_hidden()
    hand.notebook.execute(text)
    assert hand.notebook.value("[schedule.makespan, bool((schedule.start == explorer.schedule.start).all())]") == [
        hand.notebook.value("explorer.schedule.makespan"),
        True,
    ]


def upload(hand: Hand, path: Path) -> None:
    """Choose a file of the browser's machine."""
    with hand.page.expect_file_chooser() as chooser:
        hand.root.get_by_role("button", name="Upload").click()
    chooser.value.set_files(path)


def test_files_good_and_bad(explore, lab, screenshot):
    """A path and an upload open a graph; what is none says so in place and loses nothing."""
    pl.generators.fork_join(6).save(lab.root / "mine.json.gz")
    (lab.root / "bad.json").write_text('{"ops": []}')
    hand = explore('"topcuoglu"')
    hand.button("Open file…").click()
    path = hand.root.get_by_label("Path on the kernel's machine")
    path.fill("bad.json")
    path.press("Enter")
    expect(hand.root.get_by_role("alert")).to_contain_text("bad.json is JSON of another kind")
    assert hand.menu("Model").input_value() == "topcuoglu" and hand.number("makespan") == "80 s"
    screenshot("bad")
    path.fill("mine.json.gz")
    path.press("Enter")
    expect(hand.root.get_by_role("alert")).to_have_count(0)
    hand.becomes("explorer.problem.graph.n_ops", 8)
    hand.button("Open file…").click()
    upload(hand, lab.root / "bad.json")
    expect(hand.root.get_by_role("alert")).to_contain_text("bad.json is JSON of another kind")
    upload(hand, lab.root / "mine.json.gz")
    expect(hand.menu("Model")).to_have_value("mine.json.gz")
    assert hand.notebook.value("explorer.problem.graph.n_ops") == 8


def test_a_strategy_of_ones_own(explore):
    """A cell that defines a partitioner puts it into the menu; its option is a slider."""
    hand = explore('"topcuoglu"')
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
    expect(hand.root.get_by_role("status").first).to_contain_text("plans no order")
    assert hand.notebook.value("explorer.placement.device.tolist()") == [1] * 10
    slider = hand.root.locator(".pl-option .noUi-handle")
    slider.focus()
    hand.page.keyboard.press("ArrowRight")
    hand.becomes("explorer.placement.device.tolist()", [2] * 10)
    hand.shows("pl.solve(explorer.problem, 'everything-there', 'pct', partitioner_options={'where': 2})")


@pytest.mark.slow
def test_a_busy_kernel(explore):
    """While a cell runs, pickers are answered all the same; what is dragged meanwhile is right in the end.

    (JupyterLab sends the first message of each widget behind the running cell, all later ones past it.)
    """
    hand = explore('"convolutional_network"')
    hand.menu("Partitioner").select_option("cpop")
    hand.becomes("explorer.state.partitioner", "cpop")
    before = hand.number("makespan")
    hand.page.evaluate(
        """() => {
          const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          window.cell = kernel.requestExecute({code: "import time\\ntime.sleep(6)\\nbusy_until = time.time()"});
        }"""
    )
    hand.page.wait_for_timeout(300)
    hand.menu("Partitioner").select_option("batch-split")
    expect(hand.root.locator(".numbers [data-key=makespan] dd")).not_to_have_text(before, timeout=4000)
    box = key(hand, "speed:0").bounding_box()
    hand.page.mouse.move(box["x"] + 20, box["y"] + 8)
    hand.page.mouse.down()
    hand.page.mouse.move(box["x"] - 60, box["y"] + 8, steps=8)
    hand.page.mouse.up()
    hand.page.evaluate("() => window.cell.done")
    hand.becomes("bool(explorer.problem.cluster.speed[0] < 1e13)", True)
    hand.shows(LIBRARY)


def test_exports(explore, lab):
    """The page plays without a kernel; the trace is JSON; both paths are shown."""
    hand = explore('"topcuoglu"')
    hand.button("⤓ Trace").click()
    expect(hand.root.get_by_role("status").first).to_contain_text("topcuoglu-heft-planned.trace.json")
    assert json.loads((lab.root / "topcuoglu-heft-planned.trace.json").read_text())
    hand.button("⤓ Page").click()
    expect(hand.root.get_by_role("status").first).to_contain_text("topcuoglu-heft-planned.html")
    hand.page.goto((lab.root / "topcuoglu-heft-planned.html").as_uri())
    expect(hand.page.locator(".pl-gantt")).to_have_attribute("data-makespan", "80")


@pytest.mark.slow
def test_light_dark_fifty_devices(explore, page: Page, screenshot):
    """Four devices leave the chart in sight; Mayer's fifty, his costs in his units; both themes; a narrow window."""
    hand = explore()
    hand.compared()
    canvas, panel, chart = (
        hand.root.locator(part).bounding_box() for part in (".cluster", ".pl-comparison-tab", ".pl-gantt .stage")
    )
    assert canvas["height"] == panel["height"] and chart["y"] < page.viewport_size["height"] - 200
    hand.menu("Cluster").select_option("mayer50")
    hand.becomes("[explorer.problem.cluster.n_devices, explorer.state.costs]", [50, "mayer"])
    hand.compared()
    screenshot("light")
    hand.notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
    hand.notebook.set_theme("JupyterLab Light")
    page.set_viewport_size({"width": 760, "height": 1000})
    page.wait_for_timeout(300)
    root = hand.root.bounding_box()
    for part in (".pl-gantt", ".cluster", ".pl-comparison"):
        box = hand.root.locator(part).first.bounding_box()
        assert box["x"] + box["width"] <= root["x"] + root["width"] + 1
    screenshot("narrow")


@pytest.mark.slow
def test_the_picture_of_the_readme(explore, screenshot):
    """What ``pl.explore()`` opens on, whole and settled; the README's picture is a copy of this one (docs/explorer.png)."""
    hand = explore()
    hand.notebook.set_theme("JupyterLab Light")
    hand.page.set_viewport_size({"width": 1400, "height": 1500})
    hand.settled()
    hand.compared()
    expect(hand.root.locator(".pl-gantt .legend")).to_contain_text("critical path")
    assert hand.number("makespan") == pl.units.seconds(hand.notebook.value("explorer.schedule.makespan"))
    screenshot("whole", of=hand.root)
