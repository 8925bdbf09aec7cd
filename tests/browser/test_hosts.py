"""Front ends that are not Jupyter's own: a page with html-manager in an iframe, as VS Code and Colab show widgets.

Neither VS Code nor Colab runs here. What they have in common does: ipywidgets' html-manager, anywidget's module by require.js, an
output in a frame of another address, and marks of the theme on that frame's page.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import pytest
from browser.test_explorer import OPEN
from ipywidgets.embed import dependency_state, embed_data
from playwright.sync_api import Frame, Page, expect
from support import forked_kernels
from support.lab_server import Lab

import placelab as pl

ROOT = Path(__file__).resolve().parents[2]
HOSTS = Path(__file__).parent / "hosts"
MODULES = HOSTS / "node_modules"
WINDOW = {"width": 1280, "height": 720}

pytestmark = pytest.mark.own_page  # of another address, which keeps things

# An output's frame is of another address than the page around it; the two hosts here are one machine.
PAGE = """<!doctype html><title>host</title><body style="margin:0">
<iframe src="{frame}" style="border:0;width:100%;height:700px" sandbox="allow-scripts allow-same-origin"></iframe>"""
FRAME = """<!doctype html><meta charset="utf-8"><title>output</title>
<script src="require.js"></script><script>requirejs.config({{paths: {{anywidget: "anywidget"}}}})</script>
<script src="embed-amd.js"></script>{more}<body style="margin:0">{body}"""
STATE = """<script type="application/vnd.jupyter.widget-state+json">{manager_state}</script>"""
VIEW = """<script type="application/vnd.jupyter.widget-view+json">{view}</script>"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of the frame, by name: html-manager as published, anywidget's module for such pages, what starts a kernel."""
    if not (MODULES / "requirejs").is_dir():
        message = "html-manager is missing: npm --prefix tests/browser/hosts ci --ignore-scripts"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    live = tmp_path_factory.mktemp("host") / "live.js"
    esbuild = ROOT / "widgets" / "node_modules" / ".bin" / "esbuild"
    subprocess.run([esbuild, "live.mjs", "--bundle", f"--outfile={live}", "--log-level=error"], cwd=HOSTS, check=True)
    return {
        "require.js": MODULES / "requirejs" / "require.js",
        "embed-amd.js": MODULES / "@jupyter-widgets" / "html-manager" / "dist" / "embed-amd.js",
        "anywidget.js": Path(anywidget.__file__).parent / "nbextension" / "index.js",
        "live.js": live,
    }


@pytest.fixture
def framed(page: Page, scripts: dict[str, Path]) -> Callable[..., Frame]:
    """``framed(body, more)`` returns the frame that shows this body, in a page of another address."""
    page.set_viewport_size(WINDOW)

    def open_in(body: str, more: str = "", server: str = "http://127.0.0.1:9") -> Frame:
        inner = f"{server}/host/"
        outer = inner.replace("127.0.0.1", "localhost")
        texts = {inner: FRAME.format(body=body, more=more), outer: PAGE.format(frame=inner)}
        for address, text in texts.items():
            serve(page, address, body=text, content_type="text/html")
        for name, path in scripts.items():
            serve(page, inner + name, path=path)
        page.goto(outer)
        return page.frames[1]

    return open_in


def serve(page: Page, address: str, **answer: Any) -> None:
    """Answer the page's requests for an address."""
    page.route(address, lambda route: route.fulfill(**answer))


# What a host writes on the page of an output for its theme, and how it is taken back.
MARKS = [
    (f"{on} = dark ? '{name}dark' : '{name}light'", off)
    for on, off, name in [
        ("document.body.dataset.vscodeThemeKind", "delete document.body.dataset.vscodeThemeKind", "vscode-"),
        ("document.documentElement.className", "document.documentElement.className = ''", ""),
        ("document.documentElement.style.colorScheme", "document.documentElement.style.colorScheme = ''", ""),
    ]
]
COLAB = (
    "document.documentElement.setAttribute('theme', dark ? 'dark' : 'light')",
    "document.documentElement.removeAttribute('theme')",
)


@pytest.mark.slow
def test_the_state_that_a_notebook_keeps_is_shown(framed, page: Page, screenshot):
    """Without a kernel: the last schedule plays, and it is said that this is all; every host's mark of its theme counts."""
    explorer = pl.explore("topcuoglu")
    assert explorer.settled(60)
    data = embed_data([explorer], state=dependency_state([explorer], drop_defaults=False))
    explorer.close()
    state = STATE.format(manager_state=json.dumps(data["manager_state"]))
    frame = framed(state + VIEW.format(view=json.dumps(data["view_specs"][0])))
    root = frame.locator(".placelab-explorer")
    chart = frame.locator(".pl-gantt")
    expect(chart).to_have_attribute("data-makespan", "80")
    expect(root).to_contain_class("jupyter-widgets-disconnected")  # "The kernel has ended. What you see still plays"
    root.get_by_role("button", name="Play", exact=True).click()
    expect(root.get_by_role("button", name="Pause")).to_be_visible()
    for preferred in ("light", "dark"):  # a page that says nothing follows the system
        page.emulate_media(color_scheme=preferred)
        expect(chart).to_have_attribute("data-theme", preferred)
        for mark, remove in (*MARKS, COLAB):
            for theme in ("dark", "light"):
                frame.evaluate(f"dark => {{ {mark}; }}", theme == "dark")
                for each in (root, chart):
                    expect(each).to_have_attribute("data-theme", theme)
            frame.evaluate(f"() => {{ {remove}; }}")
            expect(chart).to_have_attribute("data-theme", preferred)
    screenshot("dark")


@pytest.mark.slow
def test_a_kernel_behind_the_frame(framed, page: Page, lab: Lab, screenshot):
    """The same frame with a kernel: a picked strategy gives the library's makespan, undo leads back, a pulled value counts."""
    frame = framed('<div id="out"></div>', '<script src="live.js"></script>', lab.url)
    frame.wait_for_function("() => window.showCell")
    address = {"baseUrl": f"{lab.url}/", "wsUrl": f"{lab.url.replace('http', 'ws')}/", "token": lab.token}
    show = "given => showCell(...given, document.querySelector('#out'))"
    frame.evaluate(show, [{**address, "appendToken": True}, forked_kernels.NAME, OPEN.format(arguments="'topcuoglu'")])
    root = frame.locator(".placelab-explorer")
    chart = frame.locator(".pl-gantt")
    expect(chart).to_have_attribute("data-makespan", "80")
    root.get_by_label("Partitioner", exact=True).select_option("cpop")
    expected = pl.solve(pl.datasets.problem("topcuoglu"), "cpop").makespan
    expect(chart).to_have_attribute("data-makespan", f"{expected:g}")
    screenshot("live")
    root.get_by_role("button", name="↶", exact=True).click()
    expect(chart).to_have_attribute("data-makespan", "80")
    root.locator(".cluster [data-key^=bandwidth]").first.press("PageDown")
    expect(chart).not_to_have_attribute("data-makespan", "80")
    frame.evaluate("() => kernel.shutdown()")
