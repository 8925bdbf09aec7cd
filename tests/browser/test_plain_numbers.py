"""The explorer on problems in plain numbers, in JupyterLab: no unit, no text below 11 pixels, no drag without effect."""

from __future__ import annotations

import re

import pytest
from browser.test_explorer import RESTING
from browser.test_text_size import LEAST, SIZES, WATCH
from playwright.sync_api import Locator, Page, expect
from support.boxes import box_of
from support.lab_server import Notebook

OPEN = "import placelab as pl\nexplorer = pl.explore({})\nexplorer"
UNIT = re.compile(r"\d\s?(?:[kMGTPmµn]?(?:s|B|B/s|FLOP|FLOP/s))\b")
CLOCK = re.compile(r" is running · \d+ s$")  # of the wall, whatever the problem's numbers are
SAID = """() => [...document.querySelectorAll(".placelab-explorer :not(style, option)")].flatMap((e) =>
  [e.title, e.getAttribute("aria-label"), e.getAttribute("aria-valuetext"),
    [...e.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("")]
    .filter((text) => typeof text === "string" && text.trim()))"""
pytestmark = pytest.mark.own_page  # which notes every text that is drawn
PROBLEMS = {"topcuoglu": "'topcuoglu'", "mayer50": "pl.generators.layered(60, seed=1), pl.clusters.mayer50()"}


def explorer_of(open_notebook, page: Page, arguments: str) -> tuple[Notebook, Locator]:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.add_init_script(f"({WATCH})()")
    notebook = open_notebook([OPEN.format(arguments)])
    root = page.locator(".placelab-explorer")
    expect(root.locator(".pl-figures b").first).to_be_visible()
    return notebook, root


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["topcuoglu", "mayer50"])
def test_no_unit_and_no_small_text(open_notebook, page: Page, screenshot, problem: str):
    """Every tab, by its texts, tooltips and names for screen readers, light and dark; hands that play and step."""
    notebook, root = explorer_of(open_notebook, page, PROBLEMS[problem])
    notebook.execute("explorer.settled(60) and explorer.comparison.settled(200)")
    assert notebook.value("explorer.problem.cluster.units.si") is False
    root.get_by_role("button", name="Next event").click()
    for tab in ("Comparison", "Graph", "Decisions", "What matters"):
        root.locator(".pl-tabs button", has_text=re.compile(f"^{tab}$")).first.click()
        page.wait_for_timeout(1500)
        screenshot(f"{tab.split()[0]}-light")
        texts = page.evaluate(SAID) + [text for text, _ in page.evaluate("() => window.drawn")]
        wrong = [text[:200] for text in texts if UNIT.search(CLOCK.sub("", text))]
        assert len(texts) > 100 and not wrong, sorted(set(wrong), key=len)[:5]
        small = [(text[:60], size) for text, size in seen(page, root) if size < LEAST - 0.01]
        assert not small, small[:8]
    notebook.set_theme("JupyterLab Dark")
    page.wait_for_timeout(1500)
    screenshot("dark")


def seen(page: Page, root: Locator) -> list[tuple[str, float]]:
    """Texts of the explorer and of its canvases, and their sizes."""
    here = SIZES.replace("document.body", "document.querySelector('.placelab-explorer')")
    return [(text, size) for text, size in page.evaluate(here)]


@pytest.mark.slow
def test_a_speed_that_changes_nothing_cannot_be_dragged(open_notebook, page: Page):
    """Topcuoglu's processors have given times: the pill says so and stays; his links can be dragged as ever."""
    notebook, root = explorer_of(open_notebook, page, f"{PROBLEMS['topcuoglu']}, tab={RESTING!r}")
    pill = root.locator('.pill[data-key="speed:0"]')
    expect(pill).to_have_text(re.compile("timed"))
    expect(pill).to_have_attribute("aria-disabled", "true")
    for handle, changes in ((pill, False), (root.locator('.pill[data-key^="bandwidth"]').first, True)):
        before = notebook.value("[explorer.problem.cluster.speed.tolist(), explorer.problem.cluster.bandwidth[0, 1]]")
        box = box_of(handle)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2, steps=8)
        page.mouse.up()
        page.wait_for_timeout(500)
        notebook.execute("explorer.settled(60)")
        after = notebook.value("[explorer.problem.cluster.speed.tolist(), explorer.problem.cluster.bandwidth[0, 1]]")
        assert (before != after) == changes
