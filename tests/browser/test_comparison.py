"""The table that compares all pairs, in a real browser on a bare page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from support import bare_page
from support.boxes import box_of

from placelab.app.widgets.tab_views import ComparisonTable

SCHEDULERS = ["fifo", "pct", "planned"]
HOSTILE = "<img src=x onerror=alert(1)>"
CONTRASTS = """() => {  // of the text of every cell, button and name, as WCAG 2 counts it
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (...colours) => {
    for (const colour of ["#fff", ...colours]) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const page = getComputedStyle(document.body).backgroundColor;
  return [...document.querySelectorAll("td:not(.wide), th, button, .status, .measures span")].map((element) => {
    const { color, backgroundColor } = getComputedStyle(element);
    const [a, b] = [light(page, backgroundColor), light(page, backgroundColor, color)];
    return [element.textContent, Math.max(a / b, b / a)];
  });
}"""


def cell(makespan: float | None, **more: Any) -> dict[str, Any]:
    """A pair whose lower bound is 2 seconds."""
    known = makespan is not None
    numbers = {"gap": makespan / 2 - 1, "memory": makespan * 1e9, "moved": 9e6 / makespan} if known else {}
    cell = {"makespan": makespan, "gap": None, "memory": None, "moved": None} | numbers
    return cell | {"flaw": "", "error": "", "stale": False} | more


def row(name: str, *cells: dict[str, Any] | None, state: str = "done") -> dict[str, Any]:
    return {"name": name, "state": state, "cells": list(cells)}


ROWS = [
    row("hash", cell(4.0), cell(6.0), cell(None, error="hash makes no plan")),
    row("heft", cell(3.0), cell(2.0), cell(2.5)),
    row("single", cell(1.0, flaw="out of memory"), cell(40.0, stale=True), cell(9.0)),
    row(HOSTILE, None, None, None, state="pending"),
    row("cp-sat", None, None, None, state="search"),
]


@pytest.fixture
def shown(page: Page) -> Callable[..., ComparisonTable]:
    """``shown(theme, height)`` puts a table of five partitioners on the page, as high as a tab."""

    def show(theme: str = "light", height: int = 170) -> ComparisonTable:
        table = ComparisonTable(
            schedulers=SCHEDULERS,
            rows=ROWS,
            shown=["heft", "planned"],
            status="33 %",
            fraction=0.75,
            action="halt",
        )
        page.set_viewport_size({"width": 584, "height": height + 24})
        bare_page.show(page, table, theme)
        page.evaluate("height => { document.body.lastElementChild.style.height = `${height}px` }", height)
        return table

    return show


def at(page: Page, partitioner: str, scheduler: str) -> Locator:
    """The cell of a pair."""
    return page.get_by_role("row", name=partitioner).locator("td").nth(SCHEDULERS.index(scheduler))


def names(page: Page) -> list[str]:
    """The partitioners from top to bottom."""
    return page.locator("tbody th").all_text_contents()


def asked(page: Page) -> dict[str, Any]:
    """What the browser asked for last."""
    bare_page.heard(page)
    return page.evaluate("model.sent.at(-1)")


def focus(page: Page) -> str:
    return page.evaluate("document.activeElement.textContent")


def test_the_progress_is_whole_beside_a_long_pair(page: Page, shown) -> None:
    """The name of the best pair gives way where two lines are too few, its tooltip has it; its number never does."""
    table = shown()
    table.rows = [row("hierarchical-search" + "-of-some-length" * 4, cell(4.0), cell(1.0), cell(None))]
    bare_page.show(page, table, "light")
    status = page.locator(".status")
    expect(status).to_have_text("33 %")
    assert status.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.locator(".show-best .pair").evaluate(
        "e => Math.max(e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth) > 0"
    )
    value = page.locator(".show-best .value")
    expect(value).to_have_text("1 s")
    button = box_of(page.locator(".show-best"))
    assert box_of(value)["x"] + box_of(value)["width"] <= button["x"] + button["width"]


def test_the_keyboard_reaches_everything(page: Page, shown) -> None:
    """Tab leads to one cell, arrows, Home and End from cell to cell, Enter shows the pair, a button in the grid is pressed."""
    shown()
    expect(page.locator("tbody [tabindex='0']")).to_have_count(1)
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Find a small problem")).to_be_focused()
    page.keyboard.press("Tab")  # the measures
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Gap")).to_be_checked()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    assert focus(page) == "3 s"
    for key, text in (
        ("ArrowRight", "★\u20092 s\u2009✓"),
        ("End", "2.5 s"),
        ("ArrowRight", "2.5 s"),
        ("ArrowDown", "–"),
        ("Home", "4 s"),
        ("Control+End", "Search"),
        ("ArrowUp", "…"),
        ("Control+Home", "3 s"),
    ):
        page.keyboard.press(key)
        assert focus(page) == text, key
        expect(page.locator("tbody [tabindex='0']")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert asked(page) == {"kind": "show", "partitioner": "heft", "scheduler": "pct"}
    page.keyboard.press("Shift+Enter")
    assert asked(page) == {"kind": "against", "partitioner": "heft", "scheduler": "pct"}
    page.keyboard.press("Control+End")
    page.keyboard.press("Enter")
    assert asked(page) == {"kind": "search", "partitioner": "cp-sat"}


def test_clicks_ask_for_what_they_hit(page: Page, shown) -> None:
    """A cell, the best pair, a search, and each action of the button; the same click twice asks twice."""
    table = shown()
    for _ in range(2):
        count = page.evaluate("model.sent.length")
        at(page, "hash", "pct").click()
        assert asked(page) == {"kind": "show", "partitioner": "hash", "scheduler": "pct"}
        assert page.evaluate("model.sent.length") == count + 1
    page.get_by_role("button", name="★ heft").click()
    assert asked(page) == {"kind": "show", "partitioner": "heft", "scheduler": "pct"}
    page.get_by_role("button", name="Find a small problem").click()
    assert asked(page) == {"kind": "against", "partitioner": "heft", "scheduler": "pct"}
    at(page, "hash", "fifo").click(modifiers=["Shift"])
    assert asked(page) == {"kind": "against", "partitioner": "hash", "scheduler": "fifo"}
    page.get_by_role("button", name="cp-sat: search").click()
    assert asked(page) == {"kind": "search", "partitioner": "cp-sat"}
    for action, text in (("halt", "Cancel"), ("compare", "Compare"), ("search", "Search all")):
        table.action = action
        bare_page.receive(page, table, "action")
        page.get_by_role("button", name=text, exact=True).click()
        assert asked(page) == {"kind": action}
    table.action = ""
    bare_page.receive(page, table, "action")
    expect(page.get_by_role("button", name="Search all")).to_have_count(0)


def test_cells_say_what_they_are(page: Page, shown) -> None:
    """By their names for screen readers, and in a box beside the pointer; hostile names are text."""
    shown(height=260)
    assert names(page) == ["heft", "hash", "single", HOSTILE, "cp-sat"]
    best = at(page, "heft", "pct")
    expect(best).to_have_attribute(
        "aria-label", "heft, pct: 2 s. The best, proven optimal. 2 GB peak memory, 4.5 MB moved"
    )
    expect(at(page, "heft", "planned")).to_have_attribute("aria-selected", "true")
    expect(page.locator("td[aria-selected=true]")).to_have_count(1)
    tip = page.locator(".tip")
    for partitioner, scheduler, text in (
        ("hash", "planned", "hash makes no plan"),
        ("single", "fifo", "Out of memory"),
        ("single", "pct", "Of the problem before the change"),
        ("heft", "planned", "Shown now"),
        (HOSTILE, "fifo", "Not compared yet"),
    ):
        at(page, partitioner, scheduler).hover()
        expect(tip).to_contain_text(text)
        expect(tip).to_contain_text(f"{partitioner} + {scheduler}")
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    assert page.locator("img").count() == 0


def test_few_cells_cut_their_text(page: Page, shown) -> None:
    """Only those with a long one: a browser puts what is cut together anew in each frame of a drag."""
    table = shown()
    cut = "cells => cells.filter(cell => getComputedStyle(cell).overflow !== 'visible').map(cell => cell.textContent)"
    assert page.locator("td").evaluate_all(cut) == []
    table.rows = [row("heft", cell(3.0), cell(1.23e9), cell(2.5))]
    bare_page.receive(page, table, "rows")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.locator("td").evaluate_all(cut) == ["1,230,000,000 s"]


def test_measures_change_numbers_and_order(page: Page, shown) -> None:
    """Each is a radio button; Python knows which."""
    table = shown()
    for label, measure, text, first in (
        ("Gap", "gap", "optimal", "heft"),
        ("Peak", "memory", "2 GB", "heft"),
        ("Moved", "moved", "4.5 MB", "single"),
        ("Makespan", "makespan", "★ 2 s ✓", "heft"),
    ):
        page.get_by_text(label, exact=True).click()
        expect(at(page, "heft", "pct")).to_contain_text(text)
        assert names(page)[0] == first
        bare_page.heard(page)
        assert table.measure == measure


def test_rows_come_while_somebody_is_there(page: Page, shown) -> None:
    """The focused cell keeps the focus when rows are sorted anew; under a pointer no row moves until it has left."""
    table = shown(height=260)
    at(page, "hash", "pct").focus()
    better = [
        row("hash", cell(2.0), cell(2.1), cell(None, error="no plan")),
        *ROWS[1:3],
        row(HOSTILE, *[cell(8.0)] * 3),
    ]
    table.rows = [*better, ROWS[4]]
    bare_page.receive(page, table, "rows")
    assert names(page)[:2] == ["hash", "heft"] and focus(page) == "2.1 s"
    expect(page.locator("tbody [tabindex='0']")).to_have_text("2.1 s")
    at(page, "heft", "pct").hover()
    table.rows = ROWS
    bare_page.receive(page, table, "rows")
    assert names(page)[:2] == ["hash", "heft"]
    page.mouse.move(5, 5)
    assert names(page)[:2] == ["heft", "hash"] and focus(page) == "6 s"


def test_a_row_that_takes_long_can_be_left_out(page: Page, shown) -> None:
    """It has a button after a second; a search has one at any time, and the focus stays on it."""
    table = shown(height=260)
    search = page.get_by_role("button", name="cp-sat: search")
    search.focus()
    table.rows = [*ROWS[:3], row(HOSTILE, None, None, None, state="running"), ROWS[4]]
    bare_page.receive(page, table, "rows")
    stop = page.get_by_role("button", name=f"{HOSTILE}: stop")
    expect(stop).to_contain_text("Stop · 1 s")
    assert focus(page) == "Search"
    stop.click()
    assert asked(page) == {"kind": "halt", "partitioner": HOSTILE}


def test_what_was_left_as_it_takes_long_can_be_stopped(page: Page, shown) -> None:
    """Its row says after how long, with a button; a cell of a scheduler that takes long says it, too, and why when asked."""
    table = shown(height=260)
    table.rows = [
        ROWS[0],
        row("heft", None, cell(5.0), cell(6.0), state="pending") | {"over": [5, 0, 0]},
        ROWS[2],
        row(HOSTILE, None, None, None, state="pending") | {"over": [10, 5, 5]},
        ROWS[4],
    ]
    bare_page.receive(page, table, "rows")
    expect(page.locator("tbody tr", has_text="heft").locator("td").first).to_have_text("> 5 s")
    page.locator("tbody tr", has_text="heft").locator("td").first.hover()
    expect(page.locator(".tip")).to_contain_text("others come first")
    stop = page.get_by_role("button", name=f"{HOSTILE}: stop")
    expect(stop).to_have_text("Stop · over 5 s")
    expect(stop).to_have_attribute(
        "title", re.compile("left after 5 s.* behind them, with twice the time.* leaves it out")
    )
    stop.click()
    assert asked(page) == {"kind": "halt", "partitioner": HOSTILE}
    left = row(HOSTILE, None, None, None, state="search") | {"over": [10, 5, 5], "quick": True}
    table.rows = [*ROWS[:3], left, ROWS[4]]
    bare_page.receive(page, table, "rows")
    again = page.get_by_role("button", name=f"{HOSTILE}: compare")
    expect(again).to_have_attribute("title", re.compile("left after 5 s.* you stopped it: compare it again"))
    again.click()
    assert asked(page) == {"kind": "search", "partitioner": HOSTILE}


def test_names_stay_in_sight(page: Page, shown) -> None:
    """The schedulers' names above and the partitioners' at the left do not scroll away."""
    table = shown(height=110)
    table.schedulers = [f"scheduler-{i}" for i in range(20)]
    table.rows = [row(f"partitioner-{i}", *[cell(2.0 + i)] * 20) for i in range(30)]
    bare_page.receive(page, table, "schedulers", "rows")
    head = page.locator("thead th").nth(19)
    name = page.locator("tbody th").nth(25)
    page.locator("tbody tr").nth(25).locator("td").nth(18).focus()
    scrolled = page.locator(".scroll").evaluate("e => [e.scrollLeft, e.scrollTop]")
    assert min(scrolled) > 100
    around = box_of(page.locator(".scroll"))
    assert abs(box_of(head)["y"] - around["y"]) < 3 and abs(box_of(name)["x"] - around["x"]) < 3
    focused = box_of(page.locator("td:focus"))
    assert focused["y"] >= box_of(head)["y"] + box_of(head)["height"]
    assert focused["x"] >= box_of(name)["x"] + box_of(name)["width"]


def test_another_pair_is_scrolled_to(page: Page, shown) -> None:
    """When a menu has chosen it, below or above what is in sight."""
    table = shown(height=110)
    table.rows = [row(f"partitioner-{i}", *[cell(2.0 + i)] * 3) for i in range(30)]
    bare_page.receive(page, table, "rows")
    around = box_of(page.locator(".scroll"))
    for name in ("partitioner-25", "partitioner-3"):
        table.shown = [name, "pct"]
        bare_page.receive(page, table, "shown")
        found = box_of(page.locator("td.shown"))
        head = box_of(page.locator("thead th").first)
        assert found["y"] >= head["y"] + head["height"] - 1
        assert found["y"] + found["height"] <= around["y"] + around["height"] + 1


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_text_can_be_read(page: Page, shown, screenshot, theme: str) -> None:
    """Its contrast is at least 4.5 in every state of a cell, and it has at least 11 pixels."""
    shown(theme, 170)
    screenshot("small")
    for measure in ("Gap", "Peak", "Moved", "Makespan"):
        page.get_by_text(measure, exact=True).click()
        poor = [(text, ratio) for text, ratio in page.evaluate(CONTRASTS) if ratio < 4.5]
        assert not poor
    sizes = (
        "() => [...document.querySelectorAll('.pl-comparison *')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(page.evaluate(sizes)) >= 11
    page.set_viewport_size({"width": 1224, "height": 424})
    page.evaluate("() => { document.body.lastElementChild.style.height = '400px' }")
    screenshot("large")


def test_a_cell_says_that_the_pair_is_shown_with_other_options(page: Page, shown):
    """Its number is of the default options, with which a click shows it."""
    table = shown()
    cell = page.locator("td.shown")
    expect(cell).to_have_attribute("aria-label", re.compile("[Ss]hown now"))
    table.other_options = True
    bare_page.receive(page, table, "other_options")
    expect(cell).to_have_attribute("aria-label", re.compile("[Ww]ith default options; others are shown now"))
