"""The table of what matters, in a real browser on a bare page: sorted, chosen and dragged by mouse and by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support import bare_page

from placelab.app.widgets.tab_views import WhatMattersTable
from placelab.base import units

HOSTILE = "<img src=x onerror=alert(1)>"


def row(what: str, name: str, op: int, saved: float | None, stale: bool = False) -> dict[str, Any]:
    return dict(what=what, name=name, op=op, saved=saved, stale=stale)


ROWS = [
    row("kind", "MatMul", 4, 0.002),
    row("device", "gpu:0", 7, 0.010),
    row("device", "gpu:1", -1, 0.0),
    row("op", HOSTILE, 4, -0.001),
    row("link", "gpu:0 → gpu:1", 2, None, stale=True),
]
SORTED = ["gpu:0", "MatMul", "gpu:1", HOSTILE, "gpu:0 → gpu:1"]


@pytest.fixture
def table(browser):
    """The table on a page of the size that its tab has."""
    page = browser.new_page(viewport=dict(width=584, height=194))
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto("about:blank")
    widget = WhatMattersTable(rows=ROWS, makespan=0.1)
    bare_page.show(page, widget)
    page.evaluate("document.body.lastElementChild.style.height = '170px'")
    yield page, widget
    page.close()
    assert not problems


def names(page: Page) -> list[str]:
    return page.locator("tbody .name").all_inner_texts()


def test_rows_are_sorted_and_say_what_they_save(table):
    """The largest first; shares of the makespan, losses with a sign, failures last; a name stays text."""
    page, _ = table
    assert names(page) == SORTED
    assert page.locator("tbody b").all_inner_texts() == ["10 ms", "2 ms", "0 s", "−1 ms", "fails"]
    assert page.locator("tbody .share").all_inner_texts()[:4] == ["10 %", "2.0 %", "0 %", "−1.0 %"]
    expect(page.locator("tr.longer .name")).to_have_text(HOSTILE)
    expect(page.locator("tr.stale")).to_have_count(1)
    page.get_by_role("button", name="Saved").click()
    assert names(page)[:2] == [HOSTILE, "gpu:1"]
    page.get_by_role("button", name="Name").click()
    assert names(page) == sorted(SORTED)
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "ascending")


def test_times_and_shares_are_written_as_python_writes_them(table):
    """Both stand in one sentence or column: without zeros that only show precision, with the same digits."""
    page, widget = table
    times = [1.25e7, 7514.0, 999.6, 90.0, 10.0, 9.949, 2.0, 1.003, 0.0999, 0.0123456, 9.9994e-4, 5e-6, 1e-7]
    widget.makespan = 100.0
    widget.rows = [row("op", f"{time}", i, time) for i, time in enumerate(times)]
    bare_page.receive(page, widget, "rows", "makespan")
    assert page.locator("tbody b").all_inner_texts() == [*map(units.seconds, times)]
    assert page.locator("tbody .share").all_inner_texts() == [units.percent(time / 100) for time in times]


def test_a_click_and_enter_select_the_op(table):
    """One stop for Tab, arrows between rows; a row without an op selects nothing; what others select is marked."""
    page, widget = table
    page.get_by_text("MatMul").click()
    bare_page.heard(page)
    assert widget.selection == 4
    assert page.locator('tr[aria-selected="true"] .name').all_inner_texts() == ["MatMul", HOSTILE]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    bare_page.heard(page)
    assert widget.selection == 7
    page.keyboard.press("End")
    page.keyboard.press(" ")
    bare_page.heard(page)
    assert widget.selection == 2
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # gpu:1 runs nothing
    bare_page.heard(page)
    assert widget.selection == 2
    assert page.locator("tbody tr[tabindex='0']").count() == 1
    widget.selection = 4
    bare_page.receive(page, widget, "selection")
    expect(page.locator('tr[aria-selected="true"] .name')).to_have_text([HOSTILE])


def test_the_slider_asks_for_another_factor(table):
    """By keyboard; its value is said in words; a value from the kernel moves it."""
    page, widget = table
    slider = page.get_by_role("slider")
    slider.focus()
    for percent in (15, 20, 25):
        page.keyboard.press("ArrowRight")
        expect(page.locator("output")).to_have_text(f"{percent} % faster")
        page.wait_for_function(f"model.get('percent') === {percent}")
    page.wait_for_function("model.get('percent') === 25")
    bare_page.heard(page)
    assert widget.percent == 25
    widget.percent = 50
    bare_page.receive(page, widget, "percent")
    expect(slider).to_have_value("50")


def test_new_rows_leave_the_focus_where_it_is(table):
    """Rows arrive while somebody reads: the focused row moves to its new place and keeps the focus."""
    page, widget = table
    page.get_by_text("MatMul").click()
    widget.rows = [*ROWS[1:], row("kind", "MatMul", 4, 0.02), row("kind", "Add", 9, 0.03)]
    widget.fraction = 0.5
    bare_page.receive(page, widget, "rows", "fraction")
    assert names(page)[:3] == ["Add", "MatMul", "gpu:0"]
    assert page.evaluate("document.activeElement.querySelector('.name').textContent") == "MatMul"
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")


def test_thousands_of_rows_are_cut(table):
    """200 on the page, and how many more there are."""
    page, widget = table
    widget.rows = [row("link", f"gpu:{i} → gpu:0", 1, 1.0 / (i + 1)) for i in range(2450)]
    bare_page.receive(page, widget, "rows")
    assert len(names(page)) == 200
    expect(page.locator(".more")).to_have_text("and 2250 more")
