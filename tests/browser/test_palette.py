"""Commands that the page itself follows: what is typed presses the button that does it."""

from __future__ import annotations

from browser.bare_page import heard, show
from playwright.sync_api import Page, expect

import placelab as pl
from placelab.app.explorer.panels.everyday import BUTTONS


def test_each_button_that_a_command_presses_is_there(page: Page) -> None:
    """Once, so that the command means one thing; *pause* while something plays."""
    explorer = pl.explore("topcuoglu")
    assert explorer.settled(60)
    show(page, explorer)
    root = page.locator(".placelab-explorer")
    for phrase, _, press, _ in BUTTONS:
        if phrase != "pause":
            expect(root.locator(press), phrase).to_have_count(1)
    for typed, there in (("zoom", "[aria-label='Play']"), ("play", "[aria-label='Pause']")):
        root.locator(".stage").focus()
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        heard(page)
        expect(root.locator(".pl-palette [role=option]").first).to_contain_text(typed)
        page.keyboard.press("Enter")
        expect(root.locator(".pl-palette")).to_be_hidden()
        expect(root.locator(there)).to_have_count(1)
    page.keyboard.press("Control+k")
    page.keyboard.type("search")
    heard(page)
    page.keyboard.press("Enter")
    expect(root.locator(".pl-gantt .find")).to_be_focused()
    explorer.close()
