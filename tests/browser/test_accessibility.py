"""axe-core, Deque's accessibility checker, finds nothing serious in the explorer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from browser.test_explorer import explore  # noqa: F401
from playwright.sync_api import Page, expect
from support import bare_page

import placelab as pl
from placelab.app.explorer import Explorer

AXE = Path(__file__).resolve().parents[2] / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
CHECK = """async ([part, options]) => (await axe.run(part, {resultTypes: ['violations'], ...options})).violations
  .filter(({impact}) => impact === 'serious' || impact === 'critical')
  .flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) => `${id}: ${target}: ${failureSummary}`))"""


@pytest.fixture
def axe() -> str:
    """The checker's source. Without it the test is skipped, or fails in continuous integration."""
    if not AXE.exists():
        message = "axe-core is not installed; run npm ci in widgets"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return AXE.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["topcuoglu", "dynamic_rnn"])
def test_nothing_serious(explore, screenshot, axe, model):  # noqa: F811
    """With each tab and each panel open, in both themes, no violation has the impact serious or critical.

    The themes differ in colours only, so that the second one needs no other rule.
    """
    hand = explore(repr(model))
    hand.settled()
    hand.page.evaluate(f"() => {{ {axe} }}")
    found = []
    for theme, options in (("Light", {}), ("Dark", {"runOnly": ["color-contrast"]})):
        hand.notebook.set_theme(f"JupyterLab {theme}")
        for tab in hand.root.locator(".pl-titles button:visible").all():
            tab.click()
            hand.page.wait_for_timeout(300)  # what it shows has come
            bare_page.still(hand.page)
            lines = hand.page.evaluate(CHECK, [".placelab-explorer", options])
            found += [f"{theme}, {tab.inner_text()}: {line}" for line in lines]
            screenshot(f"{theme}-{tab.inner_text()}")
        for opener in hand.root.locator(".pl-opens").all():
            opener.click()
            expect(hand.root.locator(".pl-popover:visible")).to_have_count(1)
            bare_page.still(hand.page)
            lines = hand.page.evaluate(CHECK, [".pl-top", options])
            found += [f"{theme}, {opener.get_attribute('title')}: {line}" for line in lines]
            hand.page.keyboard.press("Escape")
    hand.notebook.set_theme("JupyterLab Light")
    assert not found, "\n".join(found)


def of_small(**options) -> Explorer:
    return pl.explore("topcuoglu", **options)


def without_room() -> Explorer:
    graph = pl.OpGraph.from_arrays(list("abc"), [1e9] * 3, [(0, 1), (1, 2)], persistent=[1e9, 6e9, 1e9])
    return pl.explore(graph, pl.Cluster([1e12] * 2, memory=[2e9, 4e9], names=["big", "small"]))


def with_failure() -> Explorer:
    @pl.partitioner
    def breaks(problem: pl.Problem) -> pl.Placement:
        return {}["no such key"]

    return of_small(partitioner="breaks")


def gpus() -> pl.Cluster:
    return pl.costs.cluster("h100", 4)


def with_job() -> Explorer:
    return pl.explore(pl.models.read("gpt2"), gpus(), tab="Job")


def with_layers() -> Explorer:
    return pl.explore(pl.models.read("gpt2"), gpus(), tab="Layers")


STATES: dict[str, tuple[Callable[[], Explorer], Callable[[Page, Explorer], object], str]] = {
    "details of an op": (of_small, lambda _, e: e.gantt.take(selection=5, drawer=True), ".pl-gantt .drawer"),
    "a device's details": (of_small, lambda _, e: e.gantt.take(lane=1, drawer=True), ".pl-gantt .drawer"),
    "commands": (of_small, lambda page, _: page.keyboard.press("Control+k"), ".pl-palette"),
    "opening a file": (of_small, lambda _, e: e.pickers.models.ask(), ".pl-zone"),
    "no room": (without_room, lambda *_: None, ".pl-rejection"),
    "a failure": (with_failure, lambda *_: None, "[role=alert]"),
    "what an edit did": (of_small, lambda _, e: e.change(lambda s: s.with_strategy("partitioner", "cpop")), ".pl-note"),
    "a decision": (lambda: of_small(tab="Decisions"), lambda *_: None, ".pl-decisions"),
    "a plan": (with_job, lambda _, e: e.tabs.panels["Job"].to_plan.click(), ".pl-plans .stage"),
    "layers": (with_layers, lambda *_: None, ".pl-layers .row"),
}


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_nothing_serious_in_what_opens(page: Page, screenshot, axe, state: str, theme: str):
    """Details, commands, messages and the views of a training job, each in both themes."""
    make, act, there = STATES[state]
    explorer = make()
    explorer.settled(60)
    page.set_viewport_size({"width": 1280, "height": 720})
    bare_page.show(page, explorer, theme)
    page.locator(".pl-gantt .stage").focus()
    act(page, explorer)
    explorer.settled(60)
    parts = {name: bare_page.portable(value) for name, value in explorer.get_state().items() if "." in name}
    page.evaluate("news => model.receive(news)", parts)
    expect(page.locator(f"{there}:visible").first).to_be_visible()
    bare_page.still(page)
    screenshot(f"{state.replace(' ', '-')}-{theme}")
    page.evaluate(f"() => {{ {axe} }}")
    found = page.evaluate(CHECK, [".placelab-explorer", {}])
    explorer.close()
    assert not found, "\n".join(found)
