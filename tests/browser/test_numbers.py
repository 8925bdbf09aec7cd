"""The row of numbers at 1112 pixels, in Chromium: whole figures only, and the warning beside them whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

import placelab as pl
from placelab.app.explorer import application
from placelab.app.explorer.panels.numbers import ORDER, Numbers, strip, with_best, with_change
from placelab.app.explorer.panels.panel import Message

CSS = (Path(application.__file__).parent / "explorer.css").read_text()
BOX = "display:flex;flex-direction:row;box-sizing:border-box"  # as ipywidgets draws an HBox
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
    items = with_best(items, schedule, 0.9 * schedule.makespan, 0.0)
    numbers = Numbers(Message())
    numbers.show(with_change(items, schedule, before), warning)
    page.set_viewport_size({"width": 1112, "height": 300})
    page.set_content(
        f"<style>{CSS} .widget-html{{display:flex}} .widget-html-content{{flex:1}}</style>"
        '<body style="margin:0;font:13px sans-serif">'
        f'<div class="placelab-explorer" style="width:1112px"><div class="pl-numbers" style="{BOX};height:34px">'
        f'<div class="widget-html pl-figures"><div class="widget-html-content">{numbers.text.value}</div></div>'
        f'<div class="pl-notices" style="{BOX}">'
        f'<div class="widget-html pl-warning"><div class="widget-html-content">{numbers.warning.value}</div></div>'
        "</div></div></div>"
    )
    screenshot("row")
    figures = page.evaluate(CUT)
    seen = [key for key, visible, _ in figures if visible]
    assert [key for key, *_ in figures] == list(ORDER)
    assert all(whole for _, visible, whole in figures if visible)
    assert seen == list(ORDER[: len(seen)]) and len(seen) >= (4 if warning else 6)
    tip = page.locator("[data-key=makespan]").get_attribute("title")
    assert all(item["value"].split(" ▼")[0] in tip for item in items)
    if warning:
        text = page.locator(".pl-warning div[role=status]")
        assert text.evaluate("e => e.scrollWidth <= e.clientWidth")
