"""No text of the explorer's views is smaller than 11 pixels, with four devices and with fifty; none is cut at 150 %."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from support import bare_page
from support.boxes import box_of

import placelab as pl
from placelab.app.explorer.panels.training_run import TrainingRun
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.decisions import Decisions
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.graph_view import ModelGraph
from placelab.app.widgets.tab_views import ComparisonTable, WhatMattersTable

LEAST = 11
WATCH = """() => {  // the sizes of all texts that canvases draw, in CSS pixels
  window.drawn = [];
  for (const way of ["fillText", "strokeText"]) {
    const draw = CanvasRenderingContext2D.prototype[way];
    CanvasRenderingContext2D.prototype[way] = function (text, ...at) {
      const {a, b} = this.getTransform(), {width} = this.canvas.getBoundingClientRect();
      const pixels = parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * Math.hypot(a, b) * (width / this.canvas.width || 1);
      if (String(text).trim()) window.drawn.push([String(text), pixels]);
      return draw.call(this, text, ...at);
    };
  }
}"""
SIZES = """() => {  // those, and the texts of elements that are seen, scaled as their SVG is
  const found = [...window.drawn], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, element = node.parentElement, range = document.createRange();
    range.selectNodeContents(node);
    if (!node.data.trim() || element.closest("style, title, script") || !range.getBoundingClientRect().width) continue;
    const scale = element.getScreenCTM ? Math.hypot(element.getScreenCTM().a, element.getScreenCTM().b) : 1;
    found.push([node.data, parseFloat(getComputedStyle(element).fontSize) * scale]);
  }
  return found;
}"""
SHOWS_ITS_CHOICE = """select => {  // its arrow takes some 20 pixels
  const context = document.createElement("canvas").getContext("2d");
  context.font = getComputedStyle(select).font;
  return context.measureText(select.selectedOptions[0].text).width + 20 <= select.getBoundingClientRect().width;
}"""


@pytest.mark.parametrize("devices", [pytest.param(4, marks=pytest.mark.slow), 50])
@pytest.mark.parametrize("view", ["cluster", "gantt", "graph", "decisions", "matters", "comparison", "job"])
def test_no_text_is_small(page: Page, devices: int, view: str, screenshot):
    """Text on canvases and in elements, where the view has about the room that the explorer gives it at 1280 × 720."""
    cluster = pl.clusters.mayer50(devices=devices).replace(memory=5000.0)
    problem = pl.Problem(pl.costs.mayer(pl.generators.layered(120, seed=1)), cluster, memory="dynamic")
    placement = pl.place(problem, "heft", trace=True)
    schedule = pl.simulate(problem, placement, "planned")
    rows = [dict(what="device", name=name, op=-1, saved=1.0, stale=False) for name in cluster.names]
    cell = dict(makespan=3.0, gap=0.1, memory=5.0, moved=7.0, flaw="", error="", stale=False)
    widget = {
        "cluster": lambda: ClusterCanvas(cluster, embedded=True),
        "gantt": lambda: Gantt.of(schedule, memory_shown=True, links_shown=True, height=254),
        "graph": lambda: ModelGraph.of(schedule),
        "decisions": lambda: Decisions.of(placement),
        "matters": lambda: WhatMattersTable(rows=rows, makespan=9.0, unitless=True),
        "comparison": lambda: compared(cell),
        "job": lambda: trained(schedule),
    }[view]()
    page.set_viewport_size({"width": 1200 if view == "gantt" else 580, "height": 260})
    page.evaluate(WATCH)
    bare_page.show(page, widget)
    page.wait_for_function(f"least => ({SIZES})().length > least", arg=8 if view == "job" else 10)
    bare_page.still(page)
    screenshot("whole")
    sizes = page.evaluate(SIZES)
    small = [(text, round(pixels, 2)) for text, pixels in sizes if pixels < LEAST - 0.01]
    assert not small


def trained(schedule):
    """A run with failures."""
    page = TrainingRun()
    page.follow(schedule, True)
    page.chart.layout.height = "120px"
    return page.chart


def compared(cell):
    """A comparison that is complete."""
    rows = [dict(name=name, state="done", cells=[cell, cell]) for name in ("heft", "m-etf", "single")]
    return ComparisonTable(schedulers=["fifo", "pct"], rows=rows, shown=["heft", "pct"], unitless=True)


@pytest.mark.own_page  # of another scale
@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "size", [pytest.param((1280, 720), id="1280"), pytest.param((853, 480), id="853", marks=pytest.mark.slow)]
)
def test_nothing_is_cut_at_150_percent(browser: Browser, size: tuple[int, int], theme: str):
    """In a window of 1920 × 1080 or 1280 × 720 pixels: the best known, the bound, the colour's name, an empty tab's sentence."""
    explorer = pl.explore("convolutional_network", tab="Layers")
    assert explorer.settled(60)
    width, height = size
    context = browser.new_context(device_scale_factor=1.5, viewport={"width": width, "height": height})
    context.add_init_script("try { localStorage.setItem('placelab-hints', 'shown') } catch {}")
    page = context.new_page()
    try:
        bare_page.show(page, explorer, theme)
        page.evaluate(
            "() => { document.body.style.margin = 0; document.querySelector('.placelab-explorer').style.height = '100vh'; }"
        )
        bare_page.still(page)
        root = page.locator(".placelab-explorer")
        bound = root.locator(".proof .bound")
        expect(bound).to_contain_text("≥")
        parts = [root.locator(".pl-best"), root.locator(".pl-search"), bound, root.locator(".pl-layers p")]
        for part in parts:
            expect(part).to_be_visible()
            box = box_of(part)
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, part
        assert root.locator(".pl-chip").evaluate("chip => chip.scrollWidth <= chip.clientWidth")
        tab, sentence = (box_of(root.locator(where)) for where in (".pl-layers-tab", ".pl-layers p"))
        assert sentence["y"] + sentence["height"] <= tab["y"] + tab["height"] and sentence["y"] < tab["y"] + 60
        colour = root.locator(".pl-gantt .toolbar select").filter(has_text="colour: kind")
        assert colour.evaluate(SHOWS_ITS_CHOICE)
    finally:
        context.close()
        explorer.close()


MISSING = """() => {  // parts of the cluster canvas that end outside its body
  const body = document.querySelector(".cluster > .body").getBoundingClientRect();
  return [...document.querySelectorAll(".cluster > .body :is(.plate, .pill rect, .matrix canvas, .matrix select, .legend)")]
    .map((part) => [part.closest("[data-key]")?.dataset.key ?? part.className, part.getBoundingClientRect()])
    .filter(([, box]) => box.right > body.right + 1 || box.bottom > body.bottom + 1 || box.x < body.x - 1)
    .map(([name]) => String(name));
}"""


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("cluster", "size"),
    [
        (pl.clusters.two_nodes(2), (590, 204)),
        (pl.clusters.two_nodes(2), (470, 204)),  # as *Present* has it
        (pl.clusters.two_nodes(4), (590, 204)),
        (pl.clusters.preset("parameter_server"), (590, 204)),
        (pl.costs.cluster("h100", 8), (405, 276)),  # beside a plan at 1440 × 900
    ],
    ids=["two", "presented", "eight", "servers", "plan"],
)
def test_few_hosts_are_seen_at_once_and_their_text_is_not_small(page: Page, cluster, size, theme, screenshot):
    """Hosts stand so that all of them lie in the canvas of a small window, at full size."""
    in_canvas(page, ClusterCanvas(cluster, embedded=True), size, theme)
    screenshot("whole")
    sizes = page.evaluate(SIZES)
    assert len(sizes) > 10
    assert not [(text, round(pixels, 2)) for text, pixels in sizes if pixels < LEAST - 0.01]
    assert page.evaluate(MISSING) == []
    for host in page.locator(".host").all():
        assert box_of(host.locator("text"))["y"] >= box_of(host.locator("rect"))["y"], host


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((590, 204), id="1280"),
        pytest.param((670, 276), id="1440", marks=pytest.mark.slow),
        pytest.param((910, 348), id="1920", marks=pytest.mark.slow),
    ],
)
def test_the_matrix_of_fifty_devices_is_not_cut(page: Page, size, screenshot):
    """It is seen as a whole, with its controls and its scale."""
    in_canvas(page, ClusterCanvas(pl.clusters.mayer50(), embedded=True), size)
    screenshot("whole")
    assert not [name for name in page.evaluate(MISSING) if not name.startswith(("card", "speed"))]
    links, controls = box_of(page.locator(".matrix canvas")), box_of(page.locator(".matrix select").first)
    assert links["x"] + links["width"] + 4 <= controls["x"] or controls["y"] + controls["height"] <= links["y"]


def test_a_hint_lies_on_no_button(page: Page):
    """On a page that recomputes, as wide as a phone, what the canvas says ends before its buttons."""
    in_canvas(page, ClusterCanvas(pl.clusters.two_nodes(1), embedded=True), (358, 300))
    page.locator(".cluster").evaluate("root => root.classList.add('values-only')")
    said = box_of(page.locator(".status"))
    assert said["width"] > 60
    assert said["x"] + said["width"] <= box_of(page.locator("[data-action=graph]"))["x"] + 1


def test_names_of_streams_stay_apart(page: Page):
    """On the smallest cards, too, where there is no room for all of a name."""
    names = [f"worker:{d}{part}" for part in ("", "/stream") for d in range(8)]
    hosts = [f"node{d // 4}" for d in range(8)] * 2
    cluster = pl.Cluster([1e12] * 16, names=names, hosts=hosts)
    in_canvas(page, ClusterCanvas(cluster, embedded=True), (590, 204))
    shown = page.locator(".card text.name").evaluate_all("texts => texts.map((text) => text.firstChild.data)")
    assert len(shown) == len(set(shown)) == 16 and any("…" in name for name in shown), shown


def test_what_the_canvas_hides_is_counted(page: Page, screenshot):
    """Below a few of fifty cards the explorer says how many more there are; scrolled to the last one, it says nothing."""
    explorer = pl.explore("topcuoglu", pl.clusters.mayer50(), tab="Difference")
    try:
        assert explorer.settled(60)
        page.set_viewport_size({"width": 1202, "height": 599})
        bare_page.show(page, explorer)
        page.add_style_tag(content="body { margin: 0 !important } .placelab-explorer { height: 100vh !important }")
        rest = page.locator(".pl-rest")
        expect(rest).to_have_text("and 44 more")
        screenshot("more")
        page.locator(".cluster .frame").evaluate("frame => frame.scrollTo(0, 1e4)")
        expect(rest).to_be_hidden()
    finally:
        explorer.close()


def in_canvas(page: Page, canvas: ClusterCanvas, size: tuple[int, int], theme: str = "light") -> None:
    """Show the canvas in a place of this size, as the explorer has one."""
    width, height = size
    page.set_viewport_size({"width": 1280, "height": 400})
    page.evaluate(WATCH)
    bare_page.show(page, canvas, theme)
    page.add_style_tag(
        content=f""".cluster {{ display: flex; flex-direction: column; box-sizing: border-box }}
        .cluster {{ width: {width}px; height: {height}px }}
        .cluster > .body {{ flex: 1 1 0; min-height: 0; overflow: auto }}"""
    )
    page.locator(".cluster .card").first.wait_for()
    bare_page.still(page)
    page.wait_for_timeout(100)
    bare_page.still(page)
