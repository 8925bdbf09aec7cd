"""The model graph in a real browser, on a bare page with the Python object as its model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support import bare_page
from support.boxes import box_of

import placelab as pl
from placelab.app.widgets.graph_view import ModelGraph

STILL = """() => new Promise((done) => {  // until the view moves no more
  const root = document.querySelector(".pl-graph");
  let last = "", same = 0;
  const look = () => {
    same = root.dataset.camera === last ? same + 1 : 0;
    last = root.dataset.camera;
    if (same > 20) done();
    else requestAnimationFrame(look);
  };
  look();
})"""
CARD = """() => {
  const cluster = document.createElement("div");
  cluster.className = "cluster";
  cluster.innerHTML = '<div data-device="2" style="position:fixed;left:900px;top:500px;width:120px;height:60px">gpu:2</div>';
  document.body.append(cluster);
}"""


@pytest.fixture
def graph(page: Page) -> ModelGraph:
    """AlexNet's graph, whose boxes can be pinned."""
    problem = pl.Problem(pl.load("alexnet"), pl.clusters.pcie_box(4))
    view = ModelGraph.of(pl.solve(problem, "round-robin", "fifo"), can_pin=True)
    view.pins = []
    view.on_pin = lambda ops, device: view.pins.append(([str(view.graph.names[v]) for v in ops], device))
    bare_page.show(page, view)
    page.wait_for_function("() => document.querySelector('.pl-graph').dataset.camera")
    page.evaluate(STILL)
    return view


def stage(page: Page) -> Locator:
    return page.locator(".pl-graph .stage")


def place(page: Page, view: ModelGraph, label: str) -> tuple[float, float]:
    """Where the middle of a box is on the page; of an open one, its title."""
    box = next(box for box in view.scene["boxes"] if box["label"] == label)
    x, y, zoom = map(float, page.locator(".pl-graph").get_attribute("data-camera").split())
    corner = box_of(stage(page))
    across, down = (40, 9) if box["open"] else (box["w"] / 2, box["h"] / 2)
    return corner["x"] + 1 + (box["x"] + across - x) * zoom, corner["y"] + 1 + (box["y"] + down - y) * zoom


def boxes(view: ModelGraph) -> set[str]:
    return {box["label"] for box in view.scene["boxes"]}


def focus(page: Page) -> str:
    return page.locator(".pl-graph").get_attribute("data-focus") or ""


def until(page: Page, holds: Any) -> None:
    """Wait until a message has reached Python."""
    for _ in range(1500):
        if holds():
            return
        page.wait_for_timeout(20)
    raise AssertionError("nothing happened")


def test_shows_the_model_in_both_themes(page, graph, screenshot):
    """A legend of the devices, a drawing with colours, and a tooltip that says what a box holds."""
    expect(page.locator(".pl-graph .legend")).to_have_text("gpu:0gpu:1gpu:2gpu:3")
    page.mouse.move(*place(page, graph, "fc6"))
    expect(page.locator(".pl-graph .tooltip")).to_contain_text("fc6")
    expect(page.locator(".pl-graph .tooltip")).to_contain_text("of all work")
    screenshot("light")
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111' }")
    expect(page.locator(".pl-graph[data-theme=dark]")).to_have_count(1)
    page.mouse.move(0, 0)
    screenshot("dark")


def test_scopes_open_and_close(page, graph):
    """By a double click, by the mark, by keys; what opens fills the view, and a small map shows where that is."""
    page.set_viewport_size({"width": 700, "height": 600})
    page.wait_for_timeout(300)  # until the layout for this width has come
    page.evaluate(STILL)
    page.mouse.dblclick(*place(page, graph, "fc6"))
    until(page, lambda: "MatMul" in boxes(graph))
    expect(page.locator(".pl-graph .said")).to_contain_text("fc6, open scope")
    page.evaluate(STILL)
    expect(page.locator(".pl-graph .minimap")).to_be_visible()
    x, y = place(page, graph, "fc6")
    page.mouse.dblclick(x, y)
    until(page, lambda: "MatMul" not in boxes(graph))
    stage(page).press("Escape")
    stage(page).press("0")
    page.evaluate(STILL)
    expect(page.locator(".pl-graph .minimap")).to_be_hidden()
    page.mouse.click(*place(page, graph, "fc7"))
    assert focus(page) == "fc7"
    stage(page).press("Enter")
    until(page, lambda: "fc7" in {b["label"] for b in graph.scene["boxes"] if b["open"]})
    stage(page).press("Backspace")
    until(page, lambda: "fc7" not in {b["label"] for b in graph.scene["boxes"] if b["open"]})


def test_selection_goes_both_ways_and_arrows_follow_edges(page, graph):
    """A click on an op selects it; an op that is selected elsewhere is in focus, in its scope if that is closed."""
    page.mouse.click(*place(page, graph, "images"))
    until(page, lambda: graph.selection == graph.graph.index("images"))
    stage(page).press("ArrowRight")
    assert "conv1" in focus(page)
    stage(page).press("Escape")
    until(page, lambda: graph.selection == -1)
    graph.selection = graph.graph.index("fc8/MatMul") if "fc8/MatMul" in graph.graph.names else 100
    bare_page.receive(page, graph, "selection")
    assert focus(page).startswith("fc8")


def test_search_finds_and_opens(page, graph):
    """The first found op is revealed in its scope, and in focus; Escape ends it."""
    stage(page).press("/")
    page.keyboard.type("fc6 matmul")
    expect(page.locator(".pl-graph .found")).to_have_text("1")
    page.keyboard.press("Enter")
    until(page, lambda: "MatMul" in boxes(graph))
    page.wait_for_function("() => document.querySelector('.pl-graph').dataset.focus === 'fc6/MatMul'")
    expect(page.locator(".pl-graph .found")).to_have_text("1 of 1")
    page.keyboard.press("Escape")
    expect(page.locator(".pl-graph .found")).to_have_text("")
    bare_page.heard(page)
    assert graph.query == ""


def test_a_box_is_pinned_by_drag_and_by_keys(page, graph):
    """Dropped on a device's card it goes there; dropped elsewhere nothing happens; a menu does the same."""
    page.evaluate(CARD)
    page.mouse.move(*place(page, graph, "fc6"))
    page.mouse.down()
    page.mouse.move(600, 600, steps=3)
    expect(page.locator(".pl-graph-ghost")).to_contain_text("fc6, 6 ops")
    page.mouse.up()
    expect(page.locator(".pl-graph-ghost")).to_have_count(0)
    page.mouse.move(*place(page, graph, "fc6"))
    page.mouse.down()
    page.mouse.move(930, 520, steps=3)
    expect(page.locator("[data-drop]")).to_have_text("gpu:2")
    page.mouse.up()
    until(page, lambda: graph.pins)
    names, device = graph.pins.pop()
    assert device == 2 and len(names) == 6 and all(name.startswith("fc6/") for name in names)
    page.mouse.click(*place(page, graph, "fc7"))
    stage(page).press("p")
    page.get_by_role("menuitem", name="Pin to gpu:1").click()
    until(page, lambda: graph.pins)
    assert graph.pins.pop()[1] == 1
    graph.pinned = np.where(np.arange(graph.graph.n_ops) < 30, 3, -1).astype("<i2").tobytes()
    bare_page.receive(page, graph, "pinned")
    page.get_by_role("button", name="30 ops pinned").click()
    page.get_by_role("menuitem", name="All pins").press("Enter")
    until(page, lambda: graph.pins)
    assert len(graph.pins[0][0]) == graph.graph.n_ops and graph.pins[0][1] == -1


def test_ops_light_up_while_they_run(page, graph):
    """At the playhead's time, told by an event on the page."""
    tell = """(time) => document.querySelector('.pl-graph').dispatchEvent(
        new CustomEvent('placelab-playhead', {bubbles: true, detail: {time, makespan: 1}}))"""
    values = np.frombuffer(graph.values, "<f4", 2 * graph.graph.n_ops, 24)
    start = values[: graph.graph.n_ops]
    duration = values[graph.graph.n_ops + 1 :]
    longest = int(np.argmax(duration))
    page.evaluate(tell, float(start[longest] + duration[longest] / 2))
    running = page.locator(".pl-graph").get_attribute("data-running")
    assert 1 <= int(running) <= 4
    page.evaluate(tell, 0)
    assert page.locator(".pl-graph").get_attribute("data-running") == "0"


def test_hostile_names_stay_text(page):
    """In the tooltip, in a menu, and for screen readers."""
    names = ["<img src=x onerror=alert(1)>/<b>a", "<img src=x onerror=alert(1)>/b", "c"]
    graph = pl.OpGraph.from_arrays(names, [1.0] * 3, [(0, 1), (1, 2)])
    cluster = pl.Cluster([1.0, 1.0], bandwidth=1.0, names=["<i>d", "e"])
    view = ModelGraph.of(pl.solve(pl.Problem(graph, cluster)), can_pin=True)
    view.opened = []
    bare_page.show(page, view)
    page.wait_for_function("() => document.querySelector('.pl-graph').dataset.camera")
    page.evaluate(STILL)
    page.mouse.move(*place(page, view, names[0].split("/")[0]))
    expect(page.locator(".pl-graph .tooltip b")).to_have_text("<img src=x onerror=alert(1)>")
    page.mouse.click(*place(page, view, names[0].split("/")[0]), button="right")
    expect(page.get_by_role("menuitem", name="Pin to <i>d")).to_be_visible()
    assert page.locator(".pl-graph img").count() == 0


@pytest.mark.slow
def test_a_trace_of_long_kinds_has_its_whole_legend(page: Page):
    """In half of a page of 1,920 pixels and in a narrow tab: all kinds are seen, the controls above stay in one row."""
    kinds = [f"aten::cudnn_convolution_backward_{i}" for i in range(9)]
    graph = pl.OpGraph.from_arrays([f"op{i}" for i in range(9)], [1.0] * 9, [(i, i + 1) for i in range(8)], kind=kinds)
    view = ModelGraph.of(pl.solve(pl.Problem(graph, pl.Cluster([1.0, 1.0])), "heft"))
    for width in (950, 630, 420):
        page.set_viewport_size({"width": width, "height": 500})
        bare_page.show(page, view)
        page.locator(".pl-graph select").select_option("kind")
        items = page.locator(".pl-graph .legend span")
        expect(items).to_have_count(8)  # the last is of the rest
        legend = box_of(page.locator(".pl-graph .legend"))
        for item in items.all():
            box = box_of(item)
            assert box["x"] >= legend["x"] and box["x"] + box["width"] <= legend["x"] + legend["width"]
            assert legend["y"] <= box["y"] and box["y"] + box["height"] <= legend["y"] + legend["height"] + 1
        rows = {round(box_of(part)["y"] / 8) for part in page.locator(".pl-graph .toolbar > :is(select, input)").all()}
        assert len(rows) == 1
        assert legend["y"] + legend["height"] <= box_of(stage(page))["y"]
