"""The table of what differs from the kept schedule, on a bare page."""

from __future__ import annotations

import pytest
from browser.test_nothing_is_cut import WHOLE
from playwright.sync_api import Page, expect
from support import bare_page
from support.boxes import box_of

from placelab.app.widgets.tab_views import DifferenceTable

SAID = "21.6 ms lost; 2,188 of 5,230 ops moved; 4 devices matched"
PAIRS = "gpu:0 counts as gpu:1, gpu:1 counts as gpu:0"
GROUPS = ["scope", "kind", "op", "device", "link", "number"]
ROW = {"what": "scope", "name": "gradients", "moved": "1 of 2", "before": "1 s", "after": "2 s", "saved": -1.0, "op": 0}


def test_the_headline_is_whole_in_a_small_window(page: Page, screenshot) -> None:
    """Below all buttons, which have one line; a longer one is under the pointer."""
    table = DifferenceTable(rows=[ROW], groups=GROUPS, group="scope", summary=f"{SAID}\n{PAIRS}", beside="heft")
    page.set_viewport_size({"width": 569, "height": 194})
    bare_page.show(page, table)
    summary = page.locator(".summary")
    expect(summary).to_have_text(SAID)
    screenshot("small")
    assert summary.evaluate("e => e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth")
    assert box_of(page.locator(".head"))["height"] <= 36
    assert len({box_of(button)["y"] for button in page.locator(".head button").all()}) == 1
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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_heads_say_what_is_compared(page: Page, theme: str, screenshot) -> None:
    """Times on the critical path, or what devices and links do, with units; in a window of 1280 pixels nothing is cut."""
    heads = {"device": ["busy [ms]", "idle [ms]", "peak memory [MB]"], "link": ["busy [ms]", "carried [MB]"]}
    device = {"what": "device", "name": "gpu:0 (now gpu:2)", "cells": ["64.1", "1,260", "+1,196"] * 3, "op": -1}
    way = {"what": "link", "name": "gpu:0 → gpu:2 (now gpu:2 → gpu:1)", "cells": ["2.45", "≈ 0", "−2.26"] * 2, "op": -1}
    table = DifferenceTable(
        rows=[ROW, device, way], heads=heads, groups=GROUPS, group="scope", summary=SAID, beside="heft"
    )
    page.set_viewport_size({"width": 642, "height": 194})
    bare_page.show(page, table, theme)
    over = page.locator("th.over")
    expect(over).to_have_text(["time on the critical path"])
    assert box_of(page.locator(".head"))["height"] <= 28
    for group, name in (("device", "Devices"), ("link", "Links")):
        page.get_by_role("button", name=name).click()
        expect(over).to_have_text(heads[group])
        expect(page.locator("thead tr").last.locator("th")).to_have_text(["Kept", "Now", "Change"] * len(heads[group]))
        cells = page.locator("thead th, td")
        assert cells.evaluate_all(f"cells => cells.every({WHOLE})")
        screenshot(f"{theme}-{group}")
        for head, cell in zip(
            page.locator("thead tr").last.locator("th").all(), page.locator("td.number").all(), strict=True
        ):
            assert abs(right(head) - right(cell)) < 0.5
    page.get_by_role("button", name="Numbers").click()
    expect(over).to_have_count(0)


def right(cell) -> float:
    box = box_of(cell)
    return box["x"] + box["width"]
