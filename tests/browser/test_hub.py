"""JupyterHub: its log-in, its proxy, and JupyterLab that it starts for a user. Skipped where hub or proxy are not installed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from browser.test_explorer import OPEN, Hand
from playwright.sync_api import Page, expect
from support import hub_server, lab_server

import placelab as pl

pytest.importorskip("jupyterhub", reason="JupyterHub is missing: pip install jupyterhub")
pytestmark = pytest.mark.own_page  # of another address, which keeps things


@pytest.fixture
def hub(tmp_path) -> Iterator[hub_server.Hub]:
    """A JupyterHub with nobody logged in."""
    if not hub_server.PROXY.exists():
        message = "JupyterHub's proxy is missing: npm --prefix tests/browser/hosts ci --ignore-scripts"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    root = tmp_path / "notebooks"
    home = tmp_path / "hub"
    root.mkdir()
    home.mkdir()
    with hub_server.running(root, home) as hub:
        yield hub


def test_the_explorer_for_a_user_of_a_hub(hub, page: Page, screenshot):
    """Logged in, the chart follows a picked strategy, undo and a pulled bandwidth; no request misses the user's address."""
    missed = []
    page.on("response", lambda response: missed.append(response.url) if response.status == 404 else None)
    page.set_viewport_size({"width": 1280, "height": 720})
    lab = hub.log_in(page, "ada")
    cells = [OPEN.format(arguments="'topcuoglu'")]
    hand = Hand(lab_server.open_notebook(page, lab, "hub.ipynb", cells))
    assert page.url.startswith(f"{hub.url}/user/ada/")
    chart = hand.root.locator(".pl-gantt")
    expect(chart).to_have_attribute("data-makespan", "80")
    hand.menu("Partitioner").select_option("cpop")
    expected = pl.solve(pl.datasets.problem("topcuoglu"), "cpop").makespan
    expect(chart).to_have_attribute("data-makespan", f"{expected:g}")
    hand.button("↶").click()
    expect(chart).to_have_attribute("data-makespan", "80")
    hand.pull(hand.root.locator(".cluster [data-key^=bandwidth]").first, 60)
    expect(chart).not_to_have_attribute("data-makespan", "80")
    screenshot("dragged")
    assert not missed
    lab_server.close_notebook(page)
