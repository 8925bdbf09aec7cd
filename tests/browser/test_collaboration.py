"""Two browsers on one notebook, by jupyter-collaboration: one explorer, in both. Skipped where that is not installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from browser.conftest import ARTIFACTS, blank_page, heard, nothing_amiss
from browser.test_explorer import OPEN, RESTING, Hand
from playwright.sync_api import Browser, Locator, Page, expect
from support import lab_server
from support.boxes import box_of
from support.lab_server import Notebook

pytest.importorskip("jupyter_server_ydoc")

# A page asks the kernel for the state of its widgets over a comm of ipywidgets' own, and JupyterLab logs in the other page that
# it has no such comm; any slider does it. Numbers made in a page have dashes, which those of widgets lack.
COMM_OF_THE_OTHER = re.compile(r"Comm not found for comm id \w{8}(-\w{4}){3}-\w{12}$")
DROP = (
    f"() => {{ for (const output of [...{lab_server.PANEL}.content.widgets[0].outputArea.widgets]) output.dispose(); }}"
)


@pytest.fixture
def pages(browser: Browser) -> Iterator[list[Page]]:
    """A page each of two browsers, which share no storage; fails on what ``page`` fails on."""
    errors: list[str] = []
    opened = [blank_page(browser) for _ in range(2)]
    note = lambda text: None if COMM_OF_THE_OTHER.match(text) else errors.append(text)  # noqa: E731
    with heard(opened[0], note) as asked, heard(opened[1], note) as asked_by_other:
        yield opened
    for page in opened:
        page.context.close()
    nothing_amiss(errors, asked + asked_by_other)


@pytest.fixture
def share(pages: list[Page], lab: lab_server.Lab, label: str) -> Iterator[Callable[[str], list[Hand]]]:
    """``share(arguments)`` opens one explorer in both pages; its kernel ends with the test."""

    def open_in_both(arguments: str) -> list[Hand]:
        page, other = pages
        name = f"{label}.ipynb"
        first = Hand(lab_server.open_notebook(page, lab, name, [OPEN.format(arguments=arguments)]))
        other.goto(f"{lab.url}/{lab_server.JUPYTERLAB}/{name}?token={lab.token}&reset")
        other.wait_for_function(lab_server.OPENED)
        return [first, Hand(Notebook(other))]

    yield open_in_both
    lab.close_sessions()


def test_two_browsers_have_one_explorer(share):
    """What one picks, drags or undoes is in the other at once; the first goes on when the other has left."""
    first, second = share(f"'topcuoglu', tab={RESTING!r}")
    charts = [hand.root.locator(".pl-gantt") for hand in (first, second)]

    def both_show(partitioner: str, makespan: str) -> None:
        for hand, chart in zip((first, second), charts, strict=True):
            expect(chart).to_have_attribute("data-makespan", makespan)
            expect(hand.menu("Partitioner")).to_have_value(partitioner)

    both_show("heft", "80")
    first.menu("Partitioner").select_option("cpop")
    both_show("cpop", "86")
    second.button("↶").click()
    both_show("heft", "80")
    second.root.locator(".cluster [data-key^=bandwidth]").first.press("PageDown")
    expect(charts[0]).not_to_have_attribute("data-makespan", "80")
    expect(charts[1]).to_have_attribute("data-makespan", charts[0].get_attribute("data-makespan"))
    first.button("↶").click()
    both_show("heft", "80")
    for hand, name in ((first, "first"), (second, "second")):
        hand.page.screenshot(path=ARTIFACTS / f"two-browsers-{name}.png")
    first.notebook.execute("seen = []; explorer.observe(lambda change: seen.append(change.new), 'views')")
    second.page.evaluate(DROP)
    first.becomes("seen", [0, 1])  # the other shows it no more; this one still does
    first.menu("Partitioner").select_option("cpop")
    expect(charts[0]).to_have_attribute("data-makespan", "86")


def hold(page: Page, handle: Locator) -> Callable[[float], None]:
    """Press the button on a handle; what is returned moves it sideways, counted from there."""
    box = box_of(handle)
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    return lambda dx: page.mouse.move(x + dx, y)


def test_two_browsers_drag_at_once(share):
    """Charts follow both hands, and at the end both pages have both values; a browser closed amid a drag holds nothing up."""
    first, second = share("'convolutional_network'")
    charts = [hand.root.locator(".pl-gantt") for hand in (first, second)]
    keys = ["bandwidth:inside server", "speed:0"]
    values = [[hand.root.locator(f".cluster [data-key='{key}'] text") for key in keys] for hand in (first, second)]

    def alike() -> str:
        """The makespan of both, when both show the newest."""
        first.settled()
        makespan = first.notebook.execute("print(f'{explorer.schedule.makespan!r}')").strip()
        for chart in charts:
            expect(chart).to_have_attribute("data-makespan", makespan)
        return makespan

    began = alike()
    texts = [found.text_content() for found in values[0]]
    moves = [
        hold(hand.page, hand.root.locator(f".cluster [data-key='{key}']"))
        for hand, key in zip((first, second), keys, strict=True)
    ]
    for dx in range(-5, -65, -5):
        for move in moves:
            move(dx)
    assert alike() != began
    first.page.mouse.up()
    moves[1](-90)
    second.page.mouse.up()
    first.becomes("explorer.canvas.dragging", False)
    alike()
    for here, there, text in zip(*values, texts, strict=True):
        expect(here).not_to_have_text(text)
        expect(there).to_have_text(here.text_content())

    hold(second.page, second.root.locator(f".cluster [data-key='{keys[1]}']"))(60)
    first.becomes("explorer.canvas.dragging", True)
    second.page.close()
    first.menu("Partitioner").select_option("critical-path")
    first.becomes("explorer.canvas.dragging", False)
    first.compared()
    first.shows("explorer.schedule")
