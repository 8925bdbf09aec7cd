"""Texts of the explorer are whole where it is small: presented at 1280 × 720, beside a long note, in a plan's plane."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect
from support import bare_page

import placelab as pl
from placelab.app.widgets.decisions import Decisions
from placelab.app.widgets.graph_view import ModelGraph
from placelab.app.widgets.tab_views import ComparisonTable, LayerStrip, PlanBoard

WHOLE = "part => part.scrollWidth <= part.clientWidth + 1 && part.scrollHeight <= part.clientHeight + 1"
NOTE = """() => {  // as a warning has it
  const note = document.querySelector(".pl-warning");
  note.style.display = "";
  note.innerHTML = `<div class="pl-content"><div>${"twelve ops have no measured time ".repeat(4)}</div></div>`;
}"""
pytestmark = pytest.mark.own_page  # which goes on the whole screen
LONGEST = "gradients/mixed_6a/branch_0/0_conv_3x3/Conv2D_grad/Conv2DBackpropFilter"


@pytest.fixture(scope="module")
def explorer() -> Iterator[pl.app.explorer.Explorer]:
    found = pl.explore("convolutional_network", partitioner="round-robin")
    assert found.settled(60) and found.comparison.settled(100)
    yield found
    found.close()


def opened(page: Page, explorer, width: int, height: int) -> Locator:
    page.set_viewport_size({"width": width, "height": height})
    bare_page.show(page, explorer)
    page.add_style_tag(content="body { margin: 0 !important } .placelab-explorer { height: 100vh }")
    bare_page.still(page)
    return page.locator(".placelab-explorer")


@pytest.mark.parametrize(("width", "note"), [(853, False), (1012, True), (1168, True)])
def test_the_best_known_is_whole_beside_a_long_note(page: Page, explorer, width: int, note: bool, screenshot):
    """The picture beside its words gives way, and the note; at 853 pixels, as 150 % has them, numbers do."""
    root = opened(page, explorer, width, 590)
    if note:
        page.evaluate(NOTE)
    root.locator(".pl-chip").evaluate(
        "chip => { chip.textContent = '★ 1.04 s best known · within 29 % of what is possible' }"
    )
    screenshot("note")
    assert root.locator(".pl-chip").evaluate("chip => chip.scrollWidth <= chip.clientWidth")


def test_presented_in_a_small_window(page: Page, explorer, screenshot):
    """The best pair and the names of jobs; of an op with a long name the three lines below the chart."""
    root = opened(page, explorer, 1280, 720)
    root.get_by_role("button", name="Present: larger type, and nothing but the views").click()
    page.wait_for_function("() => document.fullscreenElement?.getBoundingClientRect().height === innerHeight")
    bare_page.still(page)
    screenshot("presented")
    assert root.locator(".show-best .pair").evaluate(WHOLE)
    said = root.locator(".pl-gantt .said")
    said.locator(".status").evaluate("(status, text) => { status.innerText = text }", "\n".join([LONGEST] * 3))
    assert said.evaluate(WHOLE)
    root.locator(".pl-titles button", has_text="Job").click()
    for button in root.locator(".pl-job-head > button:visible").all():
        assert button.evaluate(WHOLE), button.inner_text()


def test_the_best_pair_is_named_in_a_small_window(page: Page):
    """Both names can be read beside the buttons, on two lines, and so can the schedulers' names over their columns."""
    cell = dict(makespan=0.273, gap=0.1, memory=5.0, moved=7.0, flaw="", error="", stale=False)
    schedulers = ["static-rank", "pct", "random-reads", *pl.schedulers()]
    rows = [
        dict(name="round-robin", state="done", cells=[cell] * 2 + [dict(cell, makespan=1.0)] * (len(schedulers) - 2))
    ]
    table = ComparisonTable(schedulers=schedulers, rows=rows, shown=["heft", "pct"], action="search")
    page.set_viewport_size({"width": 590 + 24, "height": 200})
    bare_page.show(page, table)
    expect(page.locator(".show-best")).to_have_text("★ round-robin + static-rank 273 ms, 2 tie", use_inner_text=True)
    for part in page.locator(".show-best .pair, thead th + th").all():
        assert part.evaluate(WHOLE), part.inner_text()


def test_slower_is_whole_in_a_plane(page: Page):
    """Columns in which no plan was run have room for that word."""
    cell = lambda text, seconds=None: dict(seconds=seconds, text=text, why="", row=-1, shown=False)  # noqa: E731
    row = [cell("dp 8", 0.0376), cell("slower"), cell("slower"), cell("✗")]
    plane = dict(x=["tp 1", "tp 2", "tp 4", "tp 8"], y=["pp 1"], cells=[row])
    page.set_viewport_size({"width": 1362, "height": 300})
    bare_page.show(page, PlanBoard(page="plane", plane=plane))
    page.add_style_tag(content="body > div { container-type: size; height: 800px } .plane { width: 248px }")
    bare_page.still(page)
    for button in page.locator(".cells button").all():
        assert button.evaluate(WHOLE), button.inner_text()


def test_names_over_the_layers_lie_beside_each_other(page: Page):
    """A device whose layers' sum has no room is named alone; no name leaves the strip."""
    names = [f"gpu:{d}" for d in range(8)]
    strip = LayerStrip(
        devices=names, sizes=[2.2, *[0.5] * 12, 2.0], borders=[0, 1, 3, 5, 7, 9, 11, 13, 14], limits=[[0, 14]] * 7
    )
    page.set_viewport_size({"width": 614, "height": 300})
    bare_page.show(page, strip)
    expect(page.locator(".strip [data-block]")).to_have_count(14)
    places = page.locator(".strip g:not(.handle) > text:not(.cell)").evaluate_all(
        "texts => texts.map((text) => text.getBoundingClientRect()).map(({left, right}) => [left, right])"
    )
    left = page.locator(".strip").bounding_box()["x"]
    assert places[0][0] >= left - 0.5 and len(places) > 5
    assert all(end <= begin for (_, end), (begin, _) in pairwise(places))


def test_what_decides_is_named_in_a_small_window(page: Page):
    """The op and its rank are whole, what the scores are stands below them; where nothing can be compared, no menu says so."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.preset("rtx2080ti_box"))
    view = Decisions.of(pl.place(problem, "heft", trace=True))
    page.set_viewport_size({"width": 580, "height": 260})
    bare_page.show(page, view)
    expect(page.locator(".detail h3 b")).not_to_be_empty()
    for part in page.locator(".detail h3 :is(.tail, .extra, small)").all():
        assert part.evaluate(WHOLE), part.inner_text()
    expect(page.get_by_label("Compare with")).to_be_hidden()


def test_the_names_of_fifty_devices_leave_room_for_the_graph(page: Page):
    """Two lines of them are shown above it, and all in their tooltip."""
    problem = pl.Problem(pl.costs.mayer(pl.load("convolutional_network")), pl.clusters.mayer50(), memory="none")
    page.set_viewport_size({"width": 580, "height": 200})
    bare_page.show(page, ModelGraph.of(pl.solve(problem, "heft", "planned")))
    legend = page.locator(".legend")
    expect(legend).to_have_attribute("title", re.compile("dev0, dev1, .*dev49"))
    assert legend.bounding_box()["height"] <= 28


def test_without_plans_what_to_do_is_whole(page: Page):
    """It has the room of the plans; no heads stand over rows that are not there."""
    said = "Search looks for the fastest plans that use all devices."
    page.set_viewport_size({"width": 1300, "height": 300})
    bare_page.show(page, PlanBoard(page="degrees", status=said))
    page.add_style_tag(
        content="""body > div { container-type: size; height: 800px; display: grid; width: 640px }
        .pl-plans { display: grid; grid-template: "said winners plane" / 292px 1.5fr 1fr }
        body > div { width: 1280px } .pl-plans { width: 700px }"""
    )
    bare_page.still(page)
    expect(page.locator("th").first).to_be_hidden()
    status = page.locator(".status")
    expect(status).to_be_visible()
    assert status.evaluate(WHOLE) and status.evaluate("e => getComputedStyle(e).gridRowStart") == "winners"


LOOK = """part => {
  const {fontSize, lineHeight, color} = getComputedStyle(part), {x} = part.getBoundingClientRect();
  return {fontSize, lineHeight, color, x};
}"""


def test_sentences_of_empty_tabs_look_alike(page: Page, explorer):
    """In their letters, in their colour, at the same place, and whole."""
    looks = []
    for tab, where in (
        ("Decisions", ".pl-decisions .note"),
        ("Difference", ".pl-difference .summary"),
        ("Job", ".pl-job-numbers p"),
        ("Layers", ".pl-layers p"),
    ):
        explorer.tabs.open(tab)
        assert explorer.tabs.panels[tab].settled(60)
        if tab == "Decisions":
            explorer.tabs.panels[tab].view.clear("cp-sat records no decisions: it searches.")
        sentence = opened(page, explorer, 1280, 720).locator(where)
        expect(sentence).to_be_visible()
        assert sentence.evaluate(WHOLE), tab
        looks.append(sentence.evaluate(LOOK))
    assert looks == [looks[0]] * len(looks)
    assert (looks[0]["fontSize"], looks[0]["lineHeight"]) == ("12px", "16px")


def test_a_view_keeps_its_size_of_letters_beside_others(page: Page, explorer):
    """Each brings the colours of all along, and those that come last are not to change the letters of one before."""
    root = opened(page, explorer, 1280, 720)
    wanted = {"Comparison": ".pl-comparison", "Graph": ".pl-graph", "Difference": ".pl-difference"}
    for _ in range(2):
        for tab, where in wanted.items():
            root.locator(".pl-titles button", has_text=tab).click()
            expect(root.locator(where)).to_be_visible()
            assert root.locator(where).evaluate("view => getComputedStyle(view).fontSize") == "12px", tab


def test_a_plan_is_whole_where_the_window_is_wide_and_low(page: Page, screenshot):
    """As a laptop of 1366 × 768 shows it: all pages of a plan at once would leave no room for the bars of its stages."""
    explorer = pl.explore(pl.models.read("gpt2"), pl.costs.cluster("h100", 4), tab="Job")
    try:
        job = explorer.tabs.panels["Job"]
        assert explorer.settled(60)
        job.to_plan.click()
        assert job.settled(60) and explorer.settled(60)
        root = opened(page, explorer, 1290, 720)
        screenshot("plan")
        tab = root.locator(".pl-tabs").bounding_box()
        for part in (".pl-plans .stage", ".pl-plans .said", ".pl-plans .legend", ".pl-plan-controls select"):
            for box in [each.bounding_box() for each in root.locator(part).all()]:
                assert box["height"] > 10 and box["y"] + box["height"] <= tab["y"] + tab["height"], part
    finally:
        explorer.close()


def test_tables_have_the_colour_of_their_page(page: Page):
    """On a page without a doctype a browser gives tables its own: in the dark a rejection's devices were black on black."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1e9, 1e9], [(0, 1)], persistent=[6e9, 0])
    explorer = pl.explore(pl.Problem(graph, pl.Cluster([1e12], memory=5e9), memory="dynamic"), tab="Difference")
    try:
        with pytest.raises(pl.InfeasibleError):
            explorer.schedule  # noqa: B018
        assert explorer.rejection.settled(60)
        bare_page.show(page, explorer, "dark")
        assert page.evaluate("document.compatMode") == "BackCompat"
        colours = "row => [row, row.closest('.placelab-explorer')].map((e) => getComputedStyle(e).color)"
        inside, around = page.locator(".pl-rejection td").first.evaluate(colours)
        assert inside == around
    finally:
        explorer.close()


def test_a_host_that_takes_its_height_away_does_not_hide_the_explorer(page: Page, explorer):
    """Its content gives it no height: it would be a line."""
    bare_page.show(page, explorer)
    page.add_style_tag(content=".placelab-explorer { height: auto !important; }")
    assert page.locator(".placelab-explorer").bounding_box()["height"] >= 360


WIDTHS = (760, 961, 980, 1040, 1100, 1280)
OUTSIDE = """bar => {  // what can be pressed or set in a bar, and cannot be seen as a whole
  const box = bar.getBoundingClientRect();
  const right = Math.min(box.right, innerWidth);
  return [...bar.querySelectorAll("button, select, input")]
    .filter((each) => each.checkVisibility({visibilityProperty: true}))
    .map((each) => [each.textContent || each.title, each.getBoundingClientRect()])
    .filter(([, at]) => at.width && (at.x < box.x - 1 || at.right > right + 1 || at.bottom > box.bottom + 1))
    .map(([name]) => name);
}"""


def cut(page: Page, explorer, *bars: str) -> list[tuple[int, str]]:
    """What is outside its bar, with the width of the page."""
    found = []
    for width in WIDTHS:
        root = opened(page, explorer, width, 700)
        found += [(width, name) for bar in bars for name in root.locator(bar).evaluate(OUTSIDE)]
    return found


@pytest.mark.parametrize("tab", ["Decisions", "Comparison"])
def test_the_charts_bar_has_all_its_buttons(page: Page, tab: str, screenshot):
    """With the two ways to play, and with the tools of moves by hand."""
    explorer = pl.explore("inception_v3", pl.clusters.rtx2080ti_box(4), tab=tab)
    try:
        assert explorer.settled(120) and explorer.tabs.panels[tab].settled(120)
        explorer.gantt.by_hand = tab == "Comparison"
        assert explorer.settled(60)
        assert cut(page, explorer, ".pl-gantt .toolbar", ".pl-titles") == []
        screenshot("bar")
    finally:
        explorer.close()


def test_the_menus_of_rules_are_read_in_a_narrow_page(page: Page, screenshot):
    """Where channels have a rule for latencies, too, its menu is no single letter, and no menu lies over another control."""
    explorer = pl.explore("convolutional_network", tab="Difference")
    try:
        explorer.change(lambda state: replace(state, transfers="channel"))
        assert explorer.settled(60)
        for width in WIDTHS:
            root = opened(page, explorer, width, 700)
            screenshot(str(width))
            menus = root.locator(".pl-top > .pl-group:nth-child(3) select:visible").all()
            assert [menu.bounding_box()["width"] >= 44 for menu in menus] == [True] * 3, [
                menu.bounding_box() for menu in menus
            ]
            boxes = [part.bounding_box() for part in root.locator(".pl-top > div > :visible").all()]
            ends = {(box["x"], box["y"]): box["x"] + box["width"] for box in boxes if box["width"] > 2}
            lines = [sorted((x, end) for (x, y), end in ends.items() if (y > 34) == lower) for lower in (False, True)]
            assert all(end <= begin + 1 for line in lines for (_, end), (begin, _) in pairwise(line)), width
            assert max(ends.values()) <= width + 1
    finally:
        explorer.close()


@pytest.mark.parametrize("phase", ["decode", "train"])
def test_the_bar_over_the_layers_has_all_its_buttons(page: Page, phase: str, screenshot):
    """*Launch* among them, in a second line where there is no room in one."""
    explorer = pl.explore(pl.models.read("llama-3-8b"), pl.clusters.rtx2080ti_box(4), tab="Layers")
    try:
        panel = explorer.tabs.panels["Layers"]
        panel.phase.value = phase
        assert explorer.settled(60) and panel.settled(60)
        assert cut(page, explorer, ".pl-layers-tab > .pl-layers-head", ".pl-tabs") == []
        screenshot("layers")
    finally:
        explorer.close()


def test_the_bar_over_a_job_has_all_its_buttons(page: Page, screenshot):
    """Those of jobs with their whole names, and those of a plan."""
    explorer = pl.explore(pl.models.read("gpt2"), pl.costs.cluster("h100", 4), tab="Job")
    try:
        job = explorer.tabs.panels["Job"]
        assert explorer.settled(60)
        assert cut(page, explorer, ".pl-job-head") == []
        for width in (961, 1280):
            root = opened(page, explorer, width, 700)
            assert all(name.evaluate(WHOLE) for name in root.locator(".pl-job-head > button:visible").all()), width
        job.to_plan.click()
        assert job.settled(60) and explorer.settled(60)
        assert cut(page, explorer, ".pl-job-head") == []
    finally:
        explorer.close()


NOTICE = """notice => {  // how wide its text is, and its sign
  const content = notice.querySelector(".pl-content");
  return [content.firstElementChild.offsetWidth, parseFloat(getComputedStyle(content, "::before").width)];
}"""


@pytest.mark.parametrize("width", [853, 980, 1100, 1280])
def test_a_notice_has_words_or_a_sign(page: Page, width: int, screenshot):
    """Never a letter, also beside another one; under the pointer it is seen whole, and stays where it is."""
    explorer = pl.explore("topcuoglu", partitioner="random", scheduler="pct", tab="Difference")
    try:
        assert explorer.settled(60)
        explorer.keep(explorer.schedule)
        for notes in [[], ["planned has no order to follow, so that another one decides"]]:
            explorer.line.rest(notes)
            root = opened(page, explorer, width, 720)
            screenshot(f"{len(notes)}")
            for notice in root.locator(":is(.pl-warning, .pl-line):has(.pl-content > div)").all():
                text, sign = notice.evaluate(NOTICE)
                assert (text >= 80 and not sign) or (not text and sign == 20)
            warning = root.locator(".pl-warning")
            before = warning.bounding_box()
            warning.hover()
            assert warning.bounding_box() == before
            said = "One device alone would be faster"
            whole = warning.locator(".pl-content > div").evaluate("e => getComputedStyle(e, '::after').content")
            assert said in whole, whole
    finally:
        explorer.close()


def test_numbers_keep_their_units_in_half_a_narrow_page(page: Page, screenshot):
    """In *Difference* and *What matters* at 980 pixels: a time without its unit, or a share without its sign, is another one."""
    explorer = pl.explore("inception_v2", pl.clusters.two_nodes(2), tab="Difference")
    try:
        assert explorer.settled(60)
        explorer.keep(explorer.schedule)
        explorer.change(lambda state: replace(state, partitioner="etf"))
        difference = explorer.tabs.panels["Difference"]
        assert explorer.settled(60) and difference.settled(60)
        root = opened(page, explorer, 980, 700)
        for group in ("Scopes", "Ops", "Devices", "Links", "Numbers"):
            root.locator(".pl-difference .choice").get_by_role("button", name=group, exact=True).click()
            bare_page.still(page)
            screenshot(group)
            cut = "cells => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"
            assert root.locator(".pl-difference :is(td.number, .change b)").evaluate_all(cut) == [], group
        explorer.tabs.open("What matters")
        assert explorer.tabs.panels["What matters"].settled(60)
        root = opened(page, explorer, 980, 700)
        assert "< 0.1 %" in root.locator(".pl-matters .share").all_inner_texts()
        assert root.locator(".pl-matters :is(.share, b)").evaluate_all(cut) == []
    finally:
        explorer.close()


@pytest.mark.parametrize(("name", "makespan"), [("round-robin", 3.55e-3), ("cem", 73.0)])
def test_pairs_that_tie_are_whole_in_half_a_narrow_page(page: Page, name: str, makespan: float, screenshot):
    """The best pair has its names beside how many tie, and a proven best time its unit and its mark."""
    cell = dict(makespan=makespan, gap=0.0, memory=5.0, moved=7.0, flaw="", error="", stale=False)
    schedulers = ["fifo", *(f"scheduler {i}" for i in range(8))]
    names = [name, *(f"partitioner {i}" for i in range(40 if makespan < 1 else 2))]
    rows = [dict(name=name, state="done", cells=[cell] * len(schedulers)) for name in names]
    table = ComparisonTable(
        schedulers=schedulers, rows=rows, shown=[name, "fifo"], action="search", unitless=makespan > 1
    )
    page.set_viewport_size({"width": 470 + 24, "height": 200})
    bare_page.show(page, table)
    expect(page.locator(".show-best")).to_contain_text(f"{name} + fifo")
    screenshot("tie")
    assert (
        page.locator(".show-best .pair").bounding_box()["height"] <= page.locator(".show-best").bounding_box()["height"]
    )
    assert page.locator("td.best").first.evaluate(WHOLE)
    pair, value = (page.locator(f".show-best .{part}") for part in ("pair", "value"))
    words = "part => { const all = document.createRange(); all.selectNodeContents(part); return all.getBoundingClientRect() }"
    assert pair.evaluate(words)["right"] + 3 <= value.evaluate(words)["left"]


KEEPS_ITS_END = """name => {  // though there is no room for its beginning
  const whole = document.createRange();
  whole.selectNodeContents(name);
  const [text, box] = [whole, name].map((each) => each.getBoundingClientRect());
  return text.width > box.width && text.right <= box.right + 1;
}"""


def test_names_of_devices_end_as_they_do_beside_their_layers(page: Page):
    """Those of a node begin alike; what the colours mean is whole."""
    explorer = pl.explore(pl.models.read("llama-3-8b"), pl.clusters.two_nodes(4), tab="Layers")
    try:
        panel = explorer.tabs.panels["Layers"]
        panel.phase.value = "train"
        assert explorer.settled(60) and panel.settled(60)
        root = opened(page, explorer, 980, 700)
        name = root.locator(".pl-layers .row[data-device] .name").first
        assert name.evaluate(KEEPS_ITS_END)
        last = root.locator(".pl-layers .legend > span").last
        right = root.locator(".pl-layers").bounding_box()
        assert last.bounding_box()["x"] + last.bounding_box()["width"] <= right["x"] + right["width"] + 1
    finally:
        explorer.close()
