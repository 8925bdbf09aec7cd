"""The row of numbers at 1112 pixels, in Chromium: whole figures only, and the warning beside them whole."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from support.bare_page import show

import placelab as pl
from placelab.app.explorer.panels.numbers import ORDER, Numbers, strip, with_change, with_order, with_stars
from placelab.app.explorer.panels.panel import Message
from placelab.app.explorer.readable import Readable
from placelab.app.widgets import controls as w

CUT = """() => [...document.querySelectorAll(".pl-figures [data-key]")].map((figure) => {
  const row = document.querySelector(".pl-figures").getBoundingClientRect(), box = figure.getBoundingClientRect();
  return [figure.dataset.key, box.top < row.bottom - 1, box.right <= row.right + 0.5];
})"""


@pytest.mark.parametrize("warning", ["", "One device alone would be faster: 89.4 ms, memory aside."])
def test_figures_fit_or_drop_out_whole(page: Page, warning: str, screenshot):
    """With a kept schedule, the longest row; what comes first is there, and the first figure's tooltip holds all."""
    graph = pl.generators.layered(200, seed=1)
    problem = pl.Problem(graph, pl.Cluster.uniform(4, memory=16e9), memory="dynamic", transfers="sequential")
    before = pl.solve(problem, "single", "fifo")
    schedule = pl.solve(problem, "heft", "planned")
    pl.metrics(schedule)  # with it the better bound
    items, _ = strip(schedule, [])
    items = with_stars(with_order(items, ["gpipe", "1f1b"]), pl.puzzles.load("diamond"), 2)
    numbers = Numbers(Message())
    numbers.show(with_change(items, schedule, before), warning, "")
    page.set_viewport_size({"width": 1112, "height": 300})
    show(page, Readable([numbers.box]))
    page.locator(".placelab-explorer").evaluate("row => (row.style.cssText = 'width: 1112px; margin: -12px')")
    screenshot("row")
    figures = page.evaluate(CUT)
    seen = [key for key, visible, _ in figures if visible]
    order = [key for key in ORDER if key not in ("decided", "latest")]  # those two are of a plan that is not complete
    assert [key for key, *_ in figures] == order
    assert all(whole for _, visible, whole in figures if visible)
    assert seen == order[: len(seen)] and len(seen) >= (4 if warning else 6)
    tip = page.locator("[data-key=makespan]").get_attribute("title")
    assert all(item["value"].split(" ▼")[0] in tip for item in items)
    if warning:
        text = page.locator(".pl-warning div[role=status]")
        assert text.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_a_long_notice_gives_way_before_the_best_known(page: Page, screenshot):
    """The notice is a sentence that can be read under the pointer; what is best known is whole, as is what is legal."""
    schedule = pl.solve(pl.datasets.problem("topcuoglu"), "heft", "planned")
    chip = w.Button(description="★ 365.3 best known · within 14 % of what is possible").add_class("pl-chip")
    par = w.Par(bound=62.0, best=73.0, shown=80.0)
    best = w.HBox([chip, par, w.ToggleButton(value=False, description="search").add_class("pl-search")])
    numbers = Numbers(Message(), chip=best.add_class("pl-best"))
    numbers.show(
        strip(schedule, [])[0], "Quantities of the cluster are plain numbers: costs are drawn from 1 to 100.", ""
    )
    page.set_viewport_size({"width": 1112, "height": 300})
    show(page, Readable([numbers.box]))
    page.locator(".placelab-explorer").evaluate("row => (row.style.cssText = 'width: 1112px; margin: -12px')")
    screenshot("row")
    assert page.locator(".pl-chip").evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.locator(".pl-warning").bounding_box()["width"] >= 80
    assert {key for key, visible, _ in page.evaluate(CUT) if visible} >= {"makespan", "legal", "gap"}


def test_the_line_of_the_best_known_is_drawn_where_it_has_a_length(page: Page):
    """Where bound, best and shown are one there is no line: its marks would lie on each other."""
    par = w.Par(bound=62.0, best=73.0, shown=80.0, said="three")
    show(page, Readable([par]))
    expect(page.locator(".pl-par svg")).to_have_count(1)
    show(page, Readable([w.Par(bound=73.0, best=73.0 * (1 + 1e-12), shown=73.0, said="one")]))
    expect(page.locator(".placelab-explorer")).to_be_attached()
    expect(page.locator(".pl-par svg")).to_have_count(0)
