"""The table of what differs from the kept schedule, on a bare page."""

from __future__ import annotations

from browser import bare_page
from browser.boxes import box_of
from browser.test_nothing_is_cut import WHOLE
from playwright.sync_api import Page, expect

from placelab.app.widgets.tab_views import DifferenceTable

SAID = "21.6 ms lost; 2,188 of 5,230 ops moved; 4 devices matched"
PAIRS = "gpu:0 counts as gpu:1, gpu:1 counts as gpu:0"
ROW = {"what": "scope", "name": "gradients", "moved": "1 of 2", "before": "1 s", "after": "2 s", "saved": -1.0, "op": 0}


def test_the_headline_is_whole_in_a_small_window(page: Page, screenshot) -> None:
    """Beside all buttons, in the height of their line; a longer one is under the pointer."""
    table = DifferenceTable(
        rows=[ROW], groups=["scope", "kind", "op", "number"], group="scope", summary=f"{SAID}\n{PAIRS}", beside="heft"
    )
    page.set_viewport_size({"width": 569, "height": 194})
    bare_page.show(page, table)
    summary = page.locator(".summary")
    expect(summary).to_have_text(SAID)
    screenshot("small")
    assert summary.evaluate("e => e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth")
    assert box_of(page.locator(".head"))["height"] <= 28
    expect(summary).to_have_attribute("title", f"{SAID}\n{PAIRS}")


def test_names_of_ops_show_their_ends_and_names_of_strategies_are_whole(page: Page) -> None:
    """Ops differ at the ends of their names. Figures have no column of moved ops, and no bar where nothing was saved or lost."""
    names = [f"gradients/mixed_5d/branch_{i}/0_conv_3x3/Conv2D_grad/Conv2DBackpropFilter" for i in range(2)]
    number = ROW | {"what": "number", "name": "strategies", "moved": "", "saved": None, "op": -1}
    rows = [ROW | {"what": "op", "name": name} for name in names]
    rows += [number | {"before": "critical-path + random-reads", "after": "critical-path + planned"}]
    table = DifferenceTable(rows=rows, groups=["op", "number"], group="op", summary=SAID)
    page.set_viewport_size({"width": 640, "height": 194})
    bare_page.show(page, table)
    for cell in page.locator("td.name").all():
        box, text = box_of(cell), box_of(cell.locator("bdi"))
        assert text["x"] < box["x"] and text["x"] + text["width"] <= box["x"] + box["width"]
    table.group = "number"
    bare_page.receive(page, table, "group")
    expect(page.locator("td.number").first).to_have_text("critical-path + random-reads")
    assert page.locator("td.number").evaluate_all(f"cells => cells.every({WHOLE})")
    expect(page.locator(".bar")).to_have_count(0)
