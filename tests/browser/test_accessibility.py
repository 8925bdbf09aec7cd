"""axe-core, Deque's accessibility checker, finds nothing serious in the explorer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from browser import bare_page
from browser.test_explorer import explore  # noqa: F401
from playwright.sync_api import expect

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
