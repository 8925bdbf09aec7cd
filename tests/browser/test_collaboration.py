"""Two browsers on one notebook, by jupyter-collaboration: one explorer, in both. Skipped where that is not installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.conftest import blank_page
from browser.test_explorer import OPEN, RESTING, Hand
from playwright.sync_api import Browser, Page, expect
from support import lab_server
from support.lab_server import Notebook

pytest.importorskip("jupyter_server_ydoc")


DROP = (
    f"() => {{ for (const output of [...{lab_server.PANEL}.content.widgets[0].outputArea.widgets]) output.dispose(); }}"
)


@pytest.fixture
def pages(browser: Browser) -> Iterator[list[Page]]:
    """A page each of two browsers, which share no storage; JupyterLab logs "Comm not found" in them for what the other asks."""
    opened = [blank_page(browser) for _ in range(2)]
    yield opened
    for page in opened:
        page.context.close()


def test_two_browsers_have_one_explorer(pages: list[Page], lab: lab_server.Lab):
    """What one picks, drags or undoes is in the other at once; the first goes on when the other has left."""
    page, other = pages
    name = "shared.ipynb"
    first = Hand(lab_server.open_notebook(page, lab, name, [OPEN.format(arguments=f"'topcuoglu', tab={RESTING!r}")]))
    other.goto(f"{lab.url}/{lab_server.JUPYTERLAB}/{name}?token={lab.token}&reset")
    other.wait_for_function(lab_server.OPENED)
    second = Hand(Notebook(other))
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
    first.notebook.execute("seen = []; explorer.observe(lambda change: seen.append(change.new), 'views')")
    other.evaluate(DROP)
    first.becomes("seen", [0, 1])  # the other shows it no more; this one still does
    first.menu("Partitioner").select_option("cpop")
    expect(charts[0]).to_have_attribute("data-makespan", "86")
