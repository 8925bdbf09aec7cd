"""The explorer in JupyterLab with slow strategies and with infeasible problems."""

from __future__ import annotations

import re

import pytest
from browser.test_explorer import LIBRARY, RESTING, Hand, explore, key  # noqa: F401
from playwright.sync_api import Locator, expect
from support.boxes import box_of

PATIENT = """
import time
import numpy as np
from placelab.base.progress import Progress, never, silent

@pl.partitioner(slow=True, source="a test of placelab")
def patient(problem, *, seconds: float = 60.0, progress=silent, cancel=never):
    "Improves for a minute what HEFT begins with."
    best = pl.place(problem, "heft")
    length, begun = pl.simulate(problem, best, "planned").makespan, time.monotonic()
    while (spent := time.monotonic() - begun) < seconds and not cancel():
        progress(Progress("improving the best placement", spent / seconds, length, length / 1.25))
        time.sleep(0.001)
    return pl.Placement(problem, best.device, best.planned, bound=length / 1.25, notes=("It was patient.",))

@pl.partitioner
def sketch(problem, *, preview: bool = False):
    "HEFT, or for a hand that waits everything on the first device."
    if preview:
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))
    time.sleep(0.3)
    return pl.place(problem, "heft")
"""


def line(hand: Hand) -> Locator:
    """The line above the chart."""
    return hand.root.locator(".pl-line")


def running(hand: Hand) -> Locator:
    """The message of what runs, over the chart."""
    return hand.root.locator(".pl-running")


def height_of_chart(hand: Hand) -> float:
    """How far below the explorer's upper edge the chart begins: the page may be scrolled."""
    return box_of(hand.root.locator(".pl-gantt"))["y"] - box_of(hand.root)["y"]


def test_a_search_shows_progress_and_is_cancelled(explore, screenshot):  # noqa: F811
    """Bar, best plan and gap are shown; a drag does not wait; Stop shows the best plan; nothing moves."""
    hand = explore('"convolutional_network"', tab=RESTING)
    hand.notebook.execute(PATIENT)
    hand.menu("Partitioner").select_option("patient")
    expect(running(hand).get_by_role("button", name="Stop")).to_be_visible()
    top = height_of_chart(hand)
    expect(running(hand)).to_contain_text(re.compile(r"[≤<] [\d.]+ % above optimum"))
    expect(running(hand)).to_contain_text(re.compile(r"improving the best placement · best .*s · bound .*s"))
    screenshot("searching")
    box = box_of(key(hand, "bandwidth:inside server"))
    hand.page.mouse.move(box["x"] + 10, box["y"] + 8)
    hand.page.mouse.down()
    hand.page.mouse.move(box["x"] + 60, box["y"] + 8, steps=6)
    expect(running(hand)).to_be_hidden()
    hand.page.mouse.up()
    expect(running(hand)).to_contain_text(re.compile(r"[≤<] [\d.]+ % above optimum"))
    running(hand).get_by_role("button", name="Stop").click()
    expect(line(hand)).to_contain_text("Stopped by hand: this is the best so far. It was patient.")
    hand.settled()
    assert height_of_chart(hand) == top
    hand.shows("pl.solve(explorer.problem, 'heft', 'planned')")
    screenshot("stopped")


HOLDS = """
import ctypes
import time
import numpy as np

@pl.partitioner(slow=True)
def holds(problem):
    "One call of C for six seconds, in which no other thread of Python gets a turn, as where a solver builds its model."
    time.sleep(1)
    ctypes.PyDLL(None).sleep(6)
    return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))
"""


@pytest.mark.slow
def test_seconds_go_on_while_the_kernel_says_nothing(explore):  # noqa: F811
    """The page counts them."""
    hand = explore('"topcuoglu"', tab=RESTING)
    hand.notebook.execute(HOLDS)
    hand.menu("Partitioner").select_option("holds")
    for seconds in ("[23]", "[4-7]"):
        expect(running(hand)).to_contain_text(re.compile(f"holds is running · {seconds} s"))
    expect(running(hand)).to_be_hidden()


@pytest.mark.slow
def test_a_preview_while_a_hand_drags(explore, screenshot):  # noqa: F811
    """A drag shows a labelled preview, its release the full result."""
    hand = explore('"convolutional_network"', tab=RESTING)
    hand.notebook.execute(PATIENT)
    hand.menu("Partitioner").select_option("sketch")
    hand.menu("Scheduler").select_option("fifo")
    hand.becomes("[explorer.state.partitioner, explorer.state.scheduler]", ["sketch", "fifo"])
    hand.settled()
    box = box_of(key(hand, "bandwidth:inside server"))
    hand.page.mouse.move(box["x"] + 10, box["y"] + 8)
    hand.page.mouse.down()
    hand.page.mouse.move(box["x"] + 60, box["y"] + 8, steps=6)
    expect(line(hand)).to_contain_text("Preview: a quick stand-in for sketch; the result follows on release.")
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-stale", "false")
    screenshot("preview")
    hand.page.mouse.up()
    expect(line(hand)).not_to_contain_text("Preview")
    hand.shows("pl.solve(explorer.problem, 'heft', 'fifo')")


@pytest.mark.slow
def test_no_room_is_explained_over_the_chart(explore, screenshot):  # noqa: F811
    """The text names the group or op and each device's reason; buttons show the op, undo, or change the memory model."""
    hand = explore('"dynamic_rnn", pl.clusters.pcie_box(4)', tab=RESTING)
    hand.notebook.execute("explorer.change(lambda s: s.with_cluster(s.cluster.replace(memory=1e3), s.layout))")
    panel = hand.root.locator(".pl-rejection")
    expect(panel).to_be_visible()
    expect(panel.get_by_role("alert")).to_contain_text(re.compile(r"fits on no device \(memory model dynamic\)"))
    expect(panel).to_contain_text(re.compile(r"gpu:0\s*short by [\d.]+ (B|kB|MB)"))
    screenshot("light")
    hand.notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
    hand.notebook.set_theme("JupyterLab Light")
    panel.get_by_role("button", name=re.compile("^Show ")).click()
    expect(hand.root.locator(".pl-gantt").get_by_role("status").last).to_contain_text("Placeholder on gpu")
    assert hand.notebook.value("explorer.canvas.peak") == []
    panel.get_by_role("button", name="Ignore memory").click()
    expect(panel).to_be_hidden()
    hand.becomes("explorer.problem.memory", "none")
    hand.shows(LIBRARY)


@pytest.mark.slow
def test_a_graph_made_smaller_first(explore, screenshot):  # noqa: F811
    """Two toggles prepare the graph; button and count show the result."""
    hand = explore(tab=RESTING)
    hand.seldom()
    hand.button("Prepare…").click()
    for name in ("coplace", "fuse"):
        hand.root.get_by_role("button", name=name, exact=True).click()
    hand.becomes("list(explorer.state.prepare)", ["coplace", "fuse"])
    expect(hand.button("Prepare: coplace → fuse")).to_be_visible()
    expect(hand.root.locator(".pl-prepare")).to_contain_text(re.compile(r"5,230 → [\d,]+ ops"))
    hand.shows("pl.solve(explorer.problem, 'heft', 'planned', prepare=['coplace', 'fuse'])")
    screenshot("prepared")


@pytest.mark.slow
def test_cp_sat_searches_is_cancelled_and_proves(explore, screenshot):  # noqa: F811
    """With a hundred ops it shows progress and can be cancelled; with ten it proves the optimum, in the heat map, too."""
    hand = explore("pl.generators.layered(100, seed=1), pl.clusters.pcie_box(4)")
    hand.menu("Partitioner").select_option("cp-sat")
    expect(running(hand)).to_contain_text(re.compile(r"searching · best .*s · bound .*s · [≤<] [\d.]+ % above optimum"))
    screenshot("searching")
    running(hand).get_by_role("button", name="Stop").click()
    expect(line(hand)).to_contain_text("Stopped by hand")
    hand.settled()
    assert hand.notebook.value("explorer.placement.partitioner") == "cp-sat"
    hand.menu("Model").select_option("topcuoglu")
    expect(hand.root.locator(".pl-figures [data-key=gap] b")).to_have_text("proven optimal")
    expect(hand.root.locator(".pl-figures [data-key=makespan] b")).to_have_text("73")
    hand.compared()
    expect(hand.root.locator(".pl-comparison .head")).to_contain_text("73")
    screenshot("optimal")


@pytest.mark.alone
@pytest.mark.slow
def test_m_sct_of_22000_ops_follows_a_hand_by_previews(explore, screenshot):  # noqa: F811
    """The linear program takes seconds: a drag shows matched favourite children, its release those of the program."""
    hand = explore("pl.generators.layered(22_000, seed=1), pl.clusters.pcie_box(4)", tab=RESTING)
    hand.notebook.execute("explorer.comparison.halt()")
    hand.menu("Partitioner").select_option("m-sct")
    hand.becomes("explorer.state.partitioner", "m-sct")
    box = box_of(key(hand, "bandwidth:inside server"))
    hand.page.mouse.move(box["x"] + 10, box["y"] + 8)
    hand.page.mouse.down()
    for i in range(12):
        hand.page.mouse.move(box["x"] + 10 + 5 * i, box["y"] + 8)
        hand.page.wait_for_timeout(150)
    expect(line(hand)).to_contain_text("preview: favourite children matched greedily")
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-stale", "false")
    screenshot("preview")
    hand.page.mouse.up()
    expect(line(hand)).not_to_contain_text("preview", timeout=60_000)
    expect(line(hand)).not_to_contain_text("favourite children", timeout=60_000)
    hand.shows("pl.solve(explorer.problem, 'm-sct', 'planned')")


@pytest.mark.slow
def test_memory_is_pulled_until_it_is_short(explore, screenshot):  # noqa: F811
    """The card's capacity follows the drag; the chart gets memory lanes and red spans, the strip a warning; undo."""
    hand = explore('"dynamic_rnn", pl.clusters.pcie_box(4).replace(memory=6e6)')
    hand.menu("Partitioner").select_option("contiguous")
    hand.menu("Scheduler").select_option("fifo")
    hand.becomes("[explorer.schedule.placement.partitioner, len(explorer.schedule.oom)]", ["contiguous", 0])
    hand.pull(key(hand, "memory:2"), -40)
    hand.shows(LIBRARY)
    assert hand.notebook.value("bool(explorer.problem.cluster.memory[2] < 4.4e6 and len(explorer.schedule.oom) > 0)")
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-memory", "true")
    expect(hand.root.get_by_role("status").filter(has_text="gpu:2 is out of memory at")).to_be_visible()
    hand.page.set_viewport_size({"width": 1400, "height": 1700})
    hand.compared()
    screenshot("light")
    hand.notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
    hand.notebook.set_theme("JupyterLab Light")
    hand.button("↶").click()
    hand.becomes("[explorer.problem.cluster.memory[2], len(explorer.schedule.oom)]", [6e6, 0])


@pytest.mark.slow
def test_the_first_capacity_is_pulled_out_of_none(explore):  # noqa: F811
    """A drag gives a device its first capacity: memory counts from then on, and a note says so."""
    hand = explore('"convolutional_network", pl.clusters.pcie_box(4).replace(memory=None)', tab=RESTING)
    assert hand.menu("Memory").input_value() == "none"
    key(hand, "memory:1").press("Enter")
    hand.page.keyboard.type("2 GB")
    hand.page.keyboard.press("Enter")
    hand.becomes("[explorer.problem.cluster.memory[1], explorer.problem.memory]", [2e9, "dynamic"])
    expect(hand.menu("Memory")).to_have_value("dynamic")
    expect(line(hand)).to_contain_text("Memory model dynamic: a device has a capacity now.")
