"""What a newcomer can do first lies on no message: hints step aside, and wait for what they are about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect
from support import bare_page
from support.boxes import box_of

import placelab as pl

NOTE = "Twelve ops have no measured time: the peak speed of their device stands in for it, so that bars are shorter."


@pytest.fixture(scope="module")
def explorer() -> Iterator[pl.app.explorer.Explorer]:
    found = pl.explore("topcuoglu", tab="Difference")
    assert found.settled(60)
    yield found
    found.close()


def hinted(page: Page, explorer, width: int) -> Locator:
    """The explorer with its hints, without a message."""
    page.set_viewport_size({"width": width, "height": 720})
    explorer.message.say("")
    bare_page.show(page, explorer)
    explorer.hints += 1
    bare_page.receive(page, explorer, "hints")
    expect(page.locator(".pl-hint-end")).to_be_visible()
    return page.locator(".placelab-explorer")


def apart(one: Locator, other: Locator) -> bool:
    a, b = box_of(one), box_of(other)
    beside = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
    return beside or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]


COMES = """async (news) => {  // whether it lies where the end of the hints does, and over it
  const end = document.querySelector(".pl-hint-end").getBoundingClientRect();
  model.receive(news);
  await new Promise((done) => setTimeout(done, 1));  // it is drawn
  const message = document.querySelector(".pl-message");
  const {y, height} = message.getBoundingClientRect();
  return [height > 20 && y < end.bottom, message.contains(document.elementFromPoint(end.x + end.width / 2, y + 8))];
}"""


@pytest.mark.parametrize("tone", ["note", "bad"])
@pytest.mark.parametrize("width", [820, 1280])
def test_a_message_is_read_though_hints_are_shown(page: Page, explorer, width: int, tone: str, screenshot):
    """It lies over them as soon as it comes, and then they lie beside it; so they do of the sentence of an empty tab."""
    root = hinted(page, explorer, width)
    sentence = root.locator(".pl-difference .summary")
    assert [hint.inner_text() for hint in root.locator(".pl-hint").all() if not apart(hint, sentence)] == []
    explorer.message.say(NOTE, tone)
    assert page.evaluate(COMES, bare_page.plain(explorer)) == [True, True]
    page.wait_for_timeout(600)  # hints look for their places four times a second
    screenshot("aside")
    assert apart(root.locator(".pl-hint-end"), root.locator(".pl-message"))


def test_a_hint_waits_for_its_place(page: Page, explorer):
    """In a narrow page a tab lies over the cluster: nobody is to pull a value there until the cluster is seen."""
    root = hinted(page, explorer, 820)
    pull = root.locator(".pl-hint", has_text="Pull a value")
    expect(root.locator(".pl-hint")).to_have_count(2)
    expect(pull).to_have_count(0)
    root.locator(".pl-titles button", has_text="Cluster").click()
    expect(pull).to_have_count(1)
