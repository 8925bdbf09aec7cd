"""Commands that the page itself follows: what is typed presses the button that does it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from support.bare_page import heard, portable, show, still
from support.boxes import box_of

import placelab as pl
from placelab.app.explorer.panels.everyday import BUTTONS
from placelab.app.explorer.panels.pickers import EXAMPLES


@pytest.mark.slow
def test_each_button_that_a_command_presses_is_there(page: Page) -> None:
    """Once, so that the command means one thing; *pause* while something plays."""
    explorer = pl.explore("topcuoglu", tab="Difference")
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


def test_arrows_reach_the_chart_from_anywhere_inside(page: Page) -> None:
    """From beside all controls and from a button they lead along a lane; what needs arrows itself keeps them."""
    explorer = pl.explore("topcuoglu", tab="Comparison")
    assert explorer.settled(60)
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, explorer)
    root = page.locator(".placelab-explorer")
    stage = root.locator(".pl-gantt .stage")

    def selected(key: str) -> int:
        page.keyboard.press(key)
        heard(page)
        return explorer.gantt.selection

    def device() -> int:
        assert explorer.schedule is not None
        return int(explorer.schedule.device[explorer.gantt.selection])

    root.locator(".pl-numbers").click()
    first = selected("ArrowRight")
    assert first >= 0
    expect(stage).to_be_focused()
    for place in (
        root.locator(".pl-titles button").first,
        root.get_by_role("button", name="Commands"),
        root.get_by_role("button", name="Play"),
        root.locator("[data-key^='host:']").first,
    ):
        explorer.gantt.selection = first
        page.evaluate("news => model.receive(news)", {f"{explorer.gantt.model_id}.selection": first})
        place.focus()
        assert selected("ArrowRight") not in (-1, first), place
        expect(stage).to_be_focused()
    lane = device()
    root.locator(".pl-titles button").first.focus()
    selected("ArrowDown" if lane == 0 else "ArrowUp")
    assert device() != lane
    before = explorer.gantt.selection
    for place in (
        root.get_by_label("Colour by"),
        root.locator(".pl-gantt .scrub"),
        root.locator(".pl-gantt .find"),
        root.locator(".pl-canvas [role=slider]").first,
        root.locator("[data-key='card:0']"),
        root.locator(".pl-comparison [role=grid] [tabindex='0']").first,
        root.locator(".pl-comparison [type=radio]:checked"),
        root.locator(".pl-splitter"),
    ):
        place.focus()
        assert selected("ArrowRight") == before, place
        expect(place).to_be_focused()
    explorer.close()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_open_has_a_zone_to_drop_on_and_three_examples(page: Page, screenshot, theme: str) -> None:
    """An example is one click; the panel closes behind it."""
    explorer = pl.explore("dynamic_rnn", tab="Difference")
    assert explorer.settled(60)
    page.set_viewport_size({"width": 1226, "height": 640})
    show(page, explorer, theme)
    root = page.locator(".placelab-explorer")
    explorer.pickers.models.ask()
    state = {name: portable(value) for name, value in explorer.get_state().items() if "." in name}
    page.evaluate("news => model.receive(news)", state)
    zone = root.locator(".pl-zone")
    expect(zone).to_contain_text("Drop a model here")
    expect(root.locator(".pl-examples button")).to_have_text([example.title for example in EXAMPLES])
    screenshot(theme)
    panel = explorer.pickers.models
    panel.examples[0].click()
    assert panel.opening.settled(60)
    assert explorer.state.model.title == "topcuoglu" and not panel.toggle.value
    explorer.close()


def test_a_note_stands_over_the_messages(page: Page, screenshot) -> None:
    """It covers none of them, nor those that come while it is there; without any it is at its place above the foot."""
    explorer = pl.explore("topcuoglu", tab="Difference")
    assert explorer.settled(60)
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, explorer)
    root = page.locator(".placelab-explorer")
    palette = explorer.commands.palette

    def tell(number: int) -> None:
        page.evaluate("news => model.receive(news)", {f"{palette.model_id}.done": {"number": number, "text": "done"}})

    def send() -> None:
        others = {name: value for name, value in explorer.get_state().items() if "." in name}
        news = {name: portable(value) for name, value in others.items() if not name.startswith(f"{palette.model_id}.")}
        page.evaluate("news => model.receive(news)", news)

    def free() -> float:
        """Pixels between the note and the highest message."""
        note, messages = (box_of(root.locator(where)) for where in (".pl-note", ".pl-messages"))
        return messages["y"] - note["y"] - note["height"]

    tell(1)
    expect(root.locator(".pl-note")).to_be_visible()
    low = box_of(root.locator(".pl-note"))["y"]
    explorer._say("A file could not be read", "bad")
    send()
    expect(root.locator(".pl-messages .pl-message")).to_be_visible()
    page.wait_for_timeout(100)
    tell(2)
    assert 0 <= free() <= 12 and box_of(root.locator(".pl-note"))["y"] < low
    screenshot("stacked")
    explorer._say("")
    send()
    page.wait_for_timeout(100)
    assert box_of(root.locator(".pl-note"))["y"] == low
    explorer.close()


def test_a_long_note_keeps_its_effect_and_its_button(page: Page) -> None:
    """What changed is cut, and whole in the tooltip; by how much is not. Of an undo the button does it again."""
    explorer = pl.explore("topcuoglu", tab="Difference")
    assert explorer.settled(60)
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, explorer)
    note = page.locator(".pl-note")
    done = {"number": 1, "text": "<b>mixed</b> " * 30, "effect": "110 → 112 ms", "redo": True}
    page.evaluate("news => model.receive(news)", {f"{explorer.commands.palette.model_id}.done": done})
    effect = note.locator("b")
    expect(effect).to_have_text("110 → 112 ms")
    assert effect.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
    outer, redo = box_of(note), box_of(note.get_by_role("button", name="Redo"))
    assert redo["x"] + redo["width"] < outer["x"] + outer["width"] < 1280
    expect(note.locator("span")).to_have_attribute("title", str(done["text"]))
    explorer.close()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_there_is_one_help_of_all_views(page: Page, screenshot, theme: str) -> None:
    """One `?` whatever tab is open, whole in a window of 1280 × 720, as is what it opens; the key does it, too."""
    explorer = pl.explore("topcuoglu", tab="Comparison")
    assert explorer.settled(60)
    page.set_viewport_size({"width": 1280, "height": 720})
    show(page, explorer, theme)
    root = page.locator(".placelab-explorer")
    asks = root.locator(":is(button, .help):visible").filter(has_text=re.compile(r"^\?$"))
    for title in explorer.tabs.panels:
        root.locator(".pl-titles").get_by_role("button", name=title, exact=True).click()
        heard(page)
        still(page)
        expect(asks, title).to_have_count(1)
        box = box_of(asks)
        assert box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 720
    asks.click()
    dialog = root.get_by_role("dialog", name="Help")
    expect(dialog).to_be_visible()
    for words in (
        "Ctrl+K",
        "op by op, device by device",
        "to another host",
        "close what is around",
        "predict a device",
    ):
        expect(dialog).to_contain_text(words)
    box = box_of(dialog)
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280
    assert box["y"] >= 0 and box["y"] + box["height"] <= 720
    assert dialog.evaluate(
        "each => each.scrollHeight <= each.clientHeight + 1 && each.scrollWidth <= each.clientWidth + 1"
    )
    screenshot(theme)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(asks).to_be_focused()
    root.locator(".pl-numbers").click()
    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    page.keyboard.press("Control+k")
    expect(root.get_by_role("combobox", name="Command", exact=True)).to_be_focused()
    expect(dialog).to_be_hidden()
    explorer.close()


@pytest.mark.slow
def test_keys_stay_where_a_pressed_button_goes(page: Page) -> None:
    """A click that undoes the last step disables its button; the key for redo is heard nevertheless."""
    explorer = pl.explore("topcuoglu", tab="Difference")
    explorer.change(lambda state: state.with_strategy("partitioner", "single"))
    assert explorer.settled(60)
    show(page, explorer)
    root = page.locator(".placelab-explorer")
    undo = root.get_by_role("button", name="↶", exact=True)
    undo.click()
    heard(page)
    expect(undo).to_be_disabled()
    expect(root).to_be_focused()
    assert explorer.state.partitioner != "single"
    page.keyboard.press("Control+Shift+z")
    heard(page)
    assert explorer.state.partitioner == "single"
