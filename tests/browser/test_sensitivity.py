"""The makespan over a value that is chosen on the canvas, in a real browser: it stays, and covers nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from explorer_hands import wait_for
from playwright.sync_api import Page, expect
from support import bare_page
from support.boxes import box_of

import placelab as pl
from placelab.app.explorer.engine.curve import VALUES

# Whether its box is free of what stands beside and below it, and whether its texts are inside of it.
COVERS = """() => {
  const boxOf = (element) => element.getBoundingClientRect();
  const own = document.querySelector(".pl-over > svg");
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const others = [...document.querySelectorAll(".cluster button, .cluster .diagram > g > *, .cluster .matrix")];
  const texts = [...own.querySelectorAll("text")].filter((text) => text.textContent).map(boxOf);
  const around = boxOf(own);
  return {
    covered: others.map(boxOf).filter(({height}) => height > 0).filter((box) => meets(box, around)).length,
    cut: texts.filter(({left, right, bottom}) => left < around.left || right > around.right || bottom > around.bottom + 2).length,
    meeting: texts.filter((box, i) => texts.some((other, j) => j > i && meets(box, other))).length,
    texts: texts.length,
  };
}"""
SIDE_BY_SIDE = 980  # pixels of the page from which on the canvas is beside the tabs
READABLE = 120  # pixels from the least value to the largest
INSIDE = 1136  # pixels that JupyterLab leaves of 1280, and the margins here
SPEED = {"kind": "speed", "device": 1, "label": "speed of gpu:1"}
BUS = {"kind": "bandwidth", "pairs": [[0, 1]], "label": "bandwidth inside server"}


@pytest.mark.parametrize(
    ("theme", "width", "cluster", "value"),
    [
        ("light", 1280, "rtx2080ti_box", BUS),
        ("light", INSIDE, "rtx2080ti_box", BUS),
        ("dark", 1280, "two_nodes", SPEED),
        ("dark", INSIDE, "two_nodes", SPEED),
        ("light", 1280, "mayer50", SPEED),
        ("light", 1100, "rtx2080ti_box", BUS),
        ("light", 1245, "rtx2080ti_box", BUS),
        ("dark", 990, "two_nodes", SPEED),
        ("light", 760, "rtx2080ti_box", BUS),
    ],
)
def test_the_curve_stays_where_it_covers_nothing(
    page: Page, theme: str, width: int, cluster: str, value: dict[str, Any], screenshot
):
    """With the details closed it has axes and a dot beside the canvas' buttons, in place of the hint, until an op is chosen."""
    page.set_viewport_size({"width": width, "height": 720})
    explorer = pl.explore("convolutional_network" if cluster != "mayer50" else "topcuoglu", cluster=cluster)
    assert explorer.settled(60)
    explorer.views = 1
    explorer.canvas.chosen = value
    wait_for(lambda: len(explorer.sensitivity.curve.get("values", ())) == VALUES)
    assert not explorer.gantt.drawer
    bare_page.show(page, explorer, theme)
    if width < SIDE_BY_SIDE:
        page.get_by_role("button", name="Cluster", exact=True).click()
    over = page.locator(".pl-over")
    expect(over.locator("polyline")).to_be_visible()
    expect(over.locator("circle")).to_be_visible()
    assert box_of(over.locator("polyline"))["width"] >= READABLE
    expect(over.get_by_role("img")).to_have_accessible_name(re.compile(f"^makespan over the {value['label']}: "))
    bare_page.still(page)
    found = page.evaluate(COVERS)
    assert found.pop("texts") >= 3 and found == {"covered": 0, "cut": 0, "meeting": 0}
    assert page.locator(".cluster > .status").evaluate("e => getComputedStyle(e).opacity") == "0"
    screenshot("stays")
    explorer.gantt.value = {}
    wait_for(lambda: explorer.sensitivity.curve == {})
    bare_page.show(page, explorer, theme)
    expect(page.locator(".cluster > .status")).to_have_css("opacity", "1")
    expect(over.locator("svg")).to_have_count(0)
    explorer.close()
