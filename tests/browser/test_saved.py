"""What outlives the kernel and the page: the saved notebook, downloads."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from browser.test_explorer import OPEN, RESTING, Hand, key
from nbconvert import HTMLExporter
from playwright.sync_api import FrameLocator, Page, expect
from support import lab_server
from support.boxes import box_of

import placelab as pl
from placelab.app.explorer.readable import saved_html

READY = "() => window.jupyterapp?.shell?.currentWidget?.context?.isReady"
SAVE = "() => window.jupyterapp.commands.execute('docmanager:save')"
DRAWN = "image => image.complete && image.naturalWidth > 500"
LINK = "bandwidth:inside server"


@pytest.fixture
def explore(open_notebook):
    """``explore(model)`` opens the explorer in a notebook, at a tab that computes nothing, and returns its `Hand`."""
    return lambda model="": Hand(open_notebook([OPEN.format(arguments=f"{model or None}, tab={RESTING!r}")]))


def reopen(page: Page, lab: lab_server.Lab, name: str) -> None:
    """Open a notebook whose kernel has ended, and run nothing."""
    for ending in lab.close_sessions():
        ending.join()
    page.goto("about:blank")
    page.goto(f"{lab.url}/doc/tree/{name}?token={lab.token}&reset")
    page.wait_for_function(READY)


@pytest.mark.slow
def test_a_saved_notebook_shows_the_last_state(explore, lab, label):
    """A drag, saved and opened again without its kernel: the chart after it, and a page that recomputes; also untrusted."""
    hand = explore()
    hand.root.evaluate("root => { window.view = root; }")
    before = hand.number("makespan")
    hand.pull(key(hand, LINK), 60)
    hand.settled()
    hand.notebook.execute("assert explorer.saved.settled(60)")
    makespan = hand.number("makespan")
    picture = hand.page.locator("[class^=placelab-saved]")
    expect(picture).to_contain_text(makespan)
    expect(picture).to_be_hidden()  # the live view is there
    assert makespan != before and hand.root.evaluate("root => root === window.view")  # it was not drawn anew
    exact = hand.root.locator(".pl-gantt").get_attribute("data-makespan")
    hand.page.evaluate(SAVE)
    file = lab.root / f"{label}.ipynb"
    hand.page.wait_for_timeout(1000)
    hand.page.goto("about:blank")
    notebook = nbformat.read(file, 4)
    nbformat.validate(notebook)
    assert makespan in file.read_text() and file.stat().st_size < 1e6
    notebook.cells[0].source += "  # changed outside JupyterLab, which no longer trusts it"
    nbformat.write(notebook, lab.root / "untrusted.ipynb")

    page = hand.page
    reopen(page, lab, file.name)
    expect(page.get_by_text(f"Makespan {makespan}")).to_be_visible()
    chart = page.locator("[class^=placelab-saved] img")
    expect(chart).to_be_visible()
    page.wait_for_function(DRAWN, arg=chart.element_handle())
    page.get_by_role("button", name="Recompute here").click()
    inside = page.frame_locator("[class^=placelab-saved] iframe")
    expect(inside.locator(".pl-gantt")).to_have_attribute("data-makespan", exact)
    dragged_on(inside, float(exact))
    inside.get_by_role("button", name="Play", exact=True).click()
    expect(inside.get_by_role("button", name="Pause")).to_be_visible()
    # JupyterLab has a placeholder, and logs no error.
    expect(page.locator(".jp-OutputArea .widget-html")).to_have_count(1)
    expect(page.get_by_text("model not found")).to_have_count(0)
    reopen(page, lab, "untrusted.ipynb")
    expect(page.get_by_text(f"Makespan {makespan}")).to_be_visible()
    page.wait_for_function(DRAWN, arg=page.locator(".jp-OutputArea img").element_handle())
    expect(page.get_by_role("button", name="Recompute here")).to_have_count(0)


def dragged_on(inside: FrameLocator, makespan: float) -> None:
    """Change a bandwidth in a page that a notebook holds, and undo: another makespan, and the one before; nothing is left."""
    shown = inside.locator(".pl-live")
    chart = inside.locator(".pl-gantt")
    expect(shown).to_have_attribute("data-makespan", str(makespan))
    expect(shown).to_have_attribute("data-apart", "true")  # a worker computes, in a notebook's frame, too
    inside.locator('.cluster [data-key^="bandwidth"]').first.press("PageUp")
    expect(shown).not_to_have_attribute("data-makespan", str(makespan))
    expect(chart).to_have_attribute("data-makespan", shown.get_attribute("data-makespan"))
    inside.get_by_role("button", name="Undo").click()
    expect(chart).to_have_attribute("data-makespan", str(makespan))
    expect(inside.get_by_role("button", name="Copy link")).to_have_count(0)


@pytest.mark.slow
def test_a_kernel_that_is_busy_or_gone_is_not_awaited(explore, screenshot):
    """While it holds everything up, and after its end, the last picture goes on as a page that recomputes, and says so."""
    hand = explore()
    hand.settled()
    hand.notebook.execute("assert explorer.saved.settled(60)")
    exact = float(hand.root.locator(".pl-gantt").get_attribute("data-makespan"))
    kernel = int(str(hand.notebook.value("__import__('os').getpid()")))
    inside = hand.page.frame_locator(".pl-without iframe")
    os.kill(kernel, signal.SIGSTOP)
    try:
        hand.root.locator(f'.cluster [data-key="{LINK}"]').press("PageUp")
        expect(hand.page.locator(".pl-goon")).to_contain_text("The kernel is busy")
        screenshot("busy")
        hand.button("Go on in this page").click()
        dragged_on(inside, exact)
        expect(hand.page.locator(".pl-without p")).to_contain_text("Without the kernel")
        hand.page.get_by_role("button", name="Back to the explorer").click()
        expect(hand.root).to_be_visible()
    finally:
        os.kill(kernel, signal.SIGCONT)
    expect(hand.page.locator(".pl-goon")).to_have_count(0)  # it has answered
    hand.settled()
    hand.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(hand.page.locator(".pl-goon")).to_contain_text("The kernel has ended")
    hand.button("Go on in this page").click()
    expect(inside.locator(".pl-live")).to_be_visible()
    screenshot("ended")


# A cell that sleeps, and half a second later lets no other thread run.
HOLDS = "import ctypes, time; time.sleep(0.5); ctypes.PyDLL(None).sleep({seconds})"
RUN = """(code) => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const cell = kernel.requestExecute({code});
  window.cell = "asked";
  cell.onIOPub = ({header}) => { if (header.msg_type === "execute_input") window.cell = "busy"; };
  cell.done.then(() => { window.cell = "done"; });
}"""


# Makespans of the pictures to come.
SHOWN = """() => {
  window.shown = [];
  const chart = document.querySelector(".placelab-explorer .pl-gantt");
  const note = () => shown.push(chart.dataset.makespan);
  new MutationObserver(note).observe(chart, {attributes: true, attributeFilter: ["data-makespan"]});
}"""


def pull(hand: Hand, name: str, dx: float) -> None:
    """Drag a value of the canvas sideways, and ask no kernel what came of it."""
    box = box_of(key(hand, name))
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    hand.page.mouse.move(x, y)
    hand.page.mouse.down()
    hand.page.mouse.move(x + dx, y, steps=8)
    hand.page.mouse.up()


def going_on(hand: Hand, makespan: float) -> float:
    """Wait until the explorer shows what its page has computed for the last of the edits, and return that makespan."""
    chart = hand.root.locator(".pl-gantt")
    bar = hand.page.locator(".pl-goon")
    expect(bar).to_contain_text("Canvas and chart go on in this page:")
    expect(bar).to_have_attribute("aria-busy", "false")
    expect(chart).not_to_have_attribute("data-makespan", str(makespan))
    return float(chart.get_attribute("data-makespan"))


@pytest.mark.slow
def test_a_drag_goes_on_without_the_kernel(explore, screenshot):
    """Canvas and chart go on by themselves while a cell holds the kernel, which then has the same; also after its end."""
    hand = explore()
    hand.settled()
    hand.notebook.execute("assert explorer.saved.settled(60)")
    first = float(hand.root.locator(".pl-gantt").get_attribute("data-makespan"))
    hand.page.evaluate(RUN, HOLDS.format(seconds=15))
    hand.page.wait_for_function("() => cell === 'busy'")
    hand.page.wait_for_timeout(1000)
    pull(hand, LINK, 60)
    second = going_on(hand, first)
    assert [each.url for each in hand.page.workers if each.url.startswith("blob:")], "no worker computes"
    pull(hand, "speed:0", -60)
    third = going_on(hand, second)
    screenshot("busy")
    assert hand.page.evaluate("() => cell") == "busy"
    hand.page.evaluate(SHOWN)
    hand.page.wait_for_function("() => cell === 'done'")
    expect(hand.page.locator(".pl-goon")).to_have_count(0)
    hand.becomes("explorer.schedule.makespan", third)
    hand.settled()
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-makespan", str(third))
    assert set(hand.page.evaluate("shown")) <= {str(third)}, "the chart went back to an edit before the last"
    hand.notebook.execute("assert explorer.saved.settled(60)")
    os.kill(int(str(hand.notebook.value("__import__('os').getpid()"))), signal.SIGKILL)
    bar = hand.page.locator(".pl-goon")
    expect(bar).to_contain_text("The kernel has ended", timeout=60_000)
    hand.page.locator(".jp-Dialog").get_by_role("button").first.click()  # JupyterLab says that the kernel died
    expect(bar).to_contain_text("Canvas and chart go on in this page")
    pull(hand, LINK, -60)
    going_on(hand, third)
    screenshot("ended")


@pytest.mark.own_page
def test_a_notebook_as_html_recomputes(page, tmp_path, screenshot):
    """nbconvert's page in a file, as notebooks are published: the picture, and on demand the page that goes on."""
    schedule = pl.solve(pl.Problem(pl.generators.layered(80, seed=5), pl.clusters.pcie_box(3)), "heft", "planned")
    html = saved_html("layered", schedule, [], "ab")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "gone", "version_major": 2, "version_minor": 0}}
    outputs = [
        nbformat.v4.new_output("display_data", {**view, "text/plain": "Explorer"}),
        nbformat.v4.new_output("display_data", {"text/html": html}),
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("pl.explore()", outputs=outputs)])
    exporter = HTMLExporter(require_js_url="", mathjax_url="", jquery_url="", widget_renderer_url="", mermaid_js_url="")
    (tmp_path / "notebook.html").write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    page.route("https://**", lambda route: route.abort())
    page.emulate_media(color_scheme="dark")  # which the notebook's page, white as it is, does not follow
    page.goto((tmp_path / "notebook.html").as_uri())
    expect(page.get_by_role("img", name="Gantt chart of layered")).to_be_visible()
    page.get_by_role("button", name="Recompute here").click()
    inside = page.frame_locator("[class^=placelab-saved] iframe")
    dragged_on(inside, schedule.makespan)
    screenshot("html")
    expect(inside.locator(".placelab").first).to_have_attribute("data-theme", "light")
    ground = "body => getComputedStyle(body).colorScheme"
    assert inside.locator("html").evaluate(ground) == "light"


@pytest.mark.slow
def test_after_a_reload_the_explorer_is_live_and_says_what_the_notebook_keeps(explore):
    """With the kernel alive: the same explorer answers a drag; the saved picture, which gets no news, is said to be old."""
    hand = explore()
    hand.settled()
    hand.notebook.execute("assert explorer.saved.settled(60)")
    hand.page.evaluate(SAVE)
    hand.page.wait_for_timeout(1000)
    hand.page.reload()
    hand.page.wait_for_function(lab_server.OPENED)
    expect(hand.root).to_have_count(1)
    expect(hand.page.locator("[class^=placelab-saved]")).to_be_hidden()
    before = hand.number("makespan")
    hand.pull(key(hand, LINK), 60)
    hand.settled()
    assert hand.number("makespan") != before
    expect(hand.root.locator(".pl-message")).to_contain_text("run the cell before you save")


@pytest.mark.slow
def test_a_saved_notebook_with_many_ops_is_small(explore, lab, label):
    """20,000 ops: at most 1 MB, picture and page included."""
    hand = explore('"gnmt_40"')
    hand.settled()
    hand.notebook.execute("explorer.saved.follow()\nassert explorer.saved.settled(60)")
    hand.page.evaluate(SAVE)
    hand.page.wait_for_timeout(1000)
    file = lab.root / f"{label}.ipynb"
    assert hand.number("makespan") in file.read_text() and file.stat().st_size < 1e6


@pytest.mark.slow
def test_the_chart_as_picture(explore, page: Page, tmp_path):
    """PNG and SVG of what is shown: another span of time is another picture; names are text of well-formed SVG."""
    hand = explore('"topcuoglu"')

    def saved(name: str, file: str) -> Path:
        hand.open("Download")
        with page.expect_download() as begun:
            hand.button(name).click()
        assert begun.value.suggested_filename == f"topcuoglu-heft-planned.{name.lower()}"
        begun.value.save_as(tmp_path / file)
        return tmp_path / file

    png = saved("PNG", "a.png").read_bytes()
    svg = saved("SVG", "a.svg").read_text()
    assert png.startswith(b"\x89PNG")
    root = ElementTree.fromstring(svg)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "topcuoglu · heft + planned · 3 devices · makespan 80"
    assert {"P1", "P2", "P3", "critical path"} <= set(texts)
    width, height = (int.from_bytes(png[i : i + 4], "big") for i in (16, 20))
    assert root.get("viewBox") == f"0 0 {width} {height}" and width > 900
    stage = hand.root.locator(".pl-gantt .stage")
    whole = hand.root.locator(".pl-gantt").get_attribute("data-span")
    stage.press("+")
    expect(hand.root.locator(".pl-gantt")).not_to_have_attribute("data-span", whole)
    assert saved("PNG", "b.png").read_bytes() != png
    assert saved("SVG", "b.svg").read_text() != svg


@pytest.mark.slow
def test_pictures_for_a_paper(explore, page: Page, tmp_path):
    """As wide as asked, 300 pixels per inch, light on a dark page; PDF is printed on a page of that size."""
    hand = explore('"topcuoglu"')
    hand.notebook.set_theme("JupyterLab Dark")

    def press(name: str) -> None:
        hand.open("Download")
        width = hand.root.get_by_role("spinbutton", name="mm")
        width.fill("85")
        width.press("Enter")
        hand.becomes("explorer.actions.downloads.width.value", 85)
        hand.button(name).click()

    def saved(name: str) -> bytes:
        with page.expect_download() as begun:
            press(name)
        begun.value.save_as(tmp_path / "picture")
        return (tmp_path / "picture").read_bytes()

    png = saved("PNG, 300 dpi")
    assert int.from_bytes(png[16:20], "big") == round(85 / 25.4 * 300) and png[37:41] == b"pHYs"
    svg = saved("SVG, in mm").decode()
    root = ElementTree.fromstring(svg)
    assert root.get("width") == "85mm" and float(root.get("height").removesuffix("mm")) > 20
    assert "#ffffff" in svg and "#111111" in svg
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"P1", "P2", "P3", "critical path"} <= set(texts) and not any("makespan" in text for text in texts)
    page.evaluate("() => { window.print = () => {} }")
    press("PDF")
    printed = page.locator("iframe.pl-printed")
    expect(printed).to_have_attribute("srcdoc", re.compile(r"@page\{size:85mm \d+mm;margin:0\}.*<svg", re.DOTALL))


@pytest.mark.slow
def test_what_differs_from_the_kept_schedule(explore, screenshot):
    """Keep, drag: the tab names the scopes and ops that changed; Enter on a row selects its op in the chart."""
    hand = explore('"convolutional_network", pl.clusters.pcie_box()')
    hand.button("Difference").click()
    table = hand.root.locator(".pl-difference")
    expect(table).to_contain_text("Keep a schedule with")
    hand.button("◈ Keep").click()
    hand.pull(key(hand, "bandwidth:inside server"), 60)
    hand.settled()
    expect(table.locator(".summary")).to_contain_text("ops moved")
    table.get_by_role("button", name="Ops").click()
    first = table.locator("tbody tr").first
    name = first.locator(".name").inner_text()
    first.focus()
    hand.page.keyboard.press("ArrowDown")
    hand.page.keyboard.press("ArrowUp")
    hand.page.keyboard.press("Enter")
    expect(first).to_have_attribute("aria-selected", "true")
    hand.becomes("str(explorer.problem.graph.names[explorer.shared.selection])", name)
    screenshot("light")
    hand.notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
    hand.notebook.set_theme("JupyterLab Light")
