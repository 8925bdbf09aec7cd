"""The table of what differs from the kept schedule, on a bare page."""

from __future__ import annotations

from browser import bare_page
from browser.boxes import box_of
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
