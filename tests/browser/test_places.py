"""What the explorer must do wherever it is shown: in JupyterLab, in Notebook 7, in marimo, and alone, by ``placelab explore``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from browser.test_explorer import OPEN, Hand, key
from playwright.sync_api import Page, expect
from support import lab_server
from support.boxes import box_of
from support.lab_server import Notebook

import placelab as pl

pytestmark = pytest.mark.own_page  # of another address, which keeps things

MODEL = "convolutional_network"
ALONE = "alone"
WINDOW = {"width": 1280, "height": 720}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, psutil.Process, Path]]:
    """Address and process of ``placelab explore``, and the file with what it prints of errors."""
    command = [sys.executable, "-c", "from placelab.app.cli import main; main()", "explore", MODEL, "--no-browser"]
    command += ["--port", str(lab_server.free_port())]
    environment = lab_server.environment(tmp_path_factory.mktemp("jupyter"), "")
    folder = tmp_path_factory.mktemp("work")
    printed = tmp_path_factory.mktemp("printed") / "errors.txt"
    with printed.open("w") as errors:
        server = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        lab_server.wait_until_listening(int(re.search(r":(\d+)/", url)[1]), server)
        yield url, psutil.Process(server.pid), printed
    finally:
        lab_server.end(server)
        server.stdout.close()


@pytest.fixture
def hand_in(page: Page, open_notebook, request):
    """``hand_in(place)`` opens the explorer there."""
    page.set_viewport_size(WINDOW)

    def open_in(place: str) -> Hand:
        if place != ALONE:
            return Hand(open_notebook([OPEN.format(arguments=repr(MODEL))], place))
        page.goto(request.getfixturevalue("alone")[0])
        return Hand(Notebook(page))

    return open_in


def makespan(hand: Hand) -> str:
    """The makespan that the chart shows, once it is up to date."""
    chart = hand.root.locator(".pl-gantt")
    expect(chart).to_have_attribute("data-stale", "false")
    return chart.get_attribute("data-makespan")


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [lab_server.JUPYTERLAB, lab_server.NOTEBOOK, ALONE], ids=["jupyterlab", "notebook", "alone"]
)
def test_the_core(hand_in, page: Page, screenshot, tmp_path, place):
    """One screen; the chart follows a dragged bandwidth; a cell of the comparison picks its pair; a download arrives."""
    hand = hand_in(place)
    before = makespan(hand)
    hand.root.evaluate("root => root.scrollIntoView({block: 'end'})")
    box = box_of(hand.root)
    assert box["height"] >= 590 and box["y"] >= 0 and box["y"] + box["height"] <= WINDOW["height"]
    screenshot("open")

    handle = key(hand, "bandwidth:inside server")
    chart = hand.root.locator(".pl-gantt")
    # Half of it; the strategy's first call, which loads kernels, may have been too slow for a drag.
    handle.press("PageDown")
    expect(chart).not_to_have_attribute("data-makespan", before)
    before = makespan(hand)
    pill = box_of(handle)
    page.mouse.move(pill["x"] + 10, pill["y"] + 8)
    page.mouse.down()
    page.mouse.move(pill["x"] - 90, pill["y"] + 8, steps=8)
    expect(chart).not_to_have_attribute("data-makespan", before)
    expect(hand.root.locator(".ruler path.curve")).to_be_visible()
    page.mouse.up()
    expect(hand.button("↶")).to_be_enabled()
    assert box_of(hand.root) == box
    dragged = makespan(hand)

    hand.root.locator(".pl-comparison tr", has_text="critical-path").locator("td").first.click()
    expect(hand.menu("Partitioner")).to_have_value("critical-path")
    expect(chart).not_to_have_attribute("data-makespan", dragged)

    hand.open("Download")
    with page.expect_download() as begun:
        hand.button("Page .html").click()
    saved = tmp_path / begun.value.suggested_filename
    begun.value.save_as(saved)
    assert saved.name.startswith(f"{MODEL}-critical-path-") and saved.suffix == ".html"
    screenshot("end")
    shown = makespan(hand)
    page.goto(saved.as_uri())
    expect(page.locator(".pl-gantt")).to_have_attribute("data-makespan", shown)


@pytest.mark.slow
def test_the_page_alone_logs_nothing(alone, page: Page):
    """From its opening until it is left, also anew, the console has no warning and no error, the terminal no error."""
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("warning", "error") else None)
    for _ in range(2):
        page.goto(alone[0])
        expect(page.locator(".pl-gantt")).to_have_attribute("data-stale", "false")
        page.locator(".pl-figures [data-key=makespan] b").click()
    page.goto("about:blank")
    page.wait_for_timeout(1000)  # what is said of a connection that is lost is said now
    assert not said and "Error" not in alone[2].read_text()


@pytest.fixture
def behind_a_prefix(tmp_path) -> Iterator[lab_server.Lab]:
    """JupyterLab as a hub starts it for a user, without the hub."""
    root = tmp_path / "notebooks"
    home = tmp_path / "jupyter"
    root.mkdir()
    home.mkdir()
    with lab_server.running(root, home, "/user/ada") as lab:
        yield lab


@pytest.mark.slow
def test_behind_a_prefix(behind_a_prefix, page: Page, screenshot):
    """No request misses the prefix: the chart follows a pulled bandwidth, a picked strategy, undo."""
    missed = []
    page.on("response", lambda response: missed.append(response.url) if response.status == 404 else None)
    page.set_viewport_size(WINDOW)
    cells = [OPEN.format(arguments="'topcuoglu'")]
    hand = Hand(lab_server.open_notebook(page, behind_a_prefix, "prefix.ipynb", cells))
    assert makespan(hand) == "80" and "/user/ada/" in page.url
    hand.menu("Partitioner").select_option("cpop")
    expected = pl.solve(pl.datasets.problem("topcuoglu"), "cpop").makespan
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-makespan", f"{expected:g}")
    hand.button("↶").click()
    expect(hand.root.locator(".pl-gantt")).to_have_attribute("data-makespan", "80")
    hand.pull(hand.root.locator(".cluster [data-key^=bandwidth]").first, 60)
    assert makespan(hand) != "80" and not missed
    screenshot("prefix")
    lab_server.close_notebook(page)


MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import placelab as pl
    return mo, pl


@app.cell
def _(mo, pl):
    explorer = pl.explore("topcuoglu")
    {shown}
    return (explorer,)
"""


@pytest.fixture(
    params=[
        pytest.param("explorer", id="plain"),
        pytest.param("mo.ui.anywidget(explorer)", id="element"),
    ]
)
def marimo(request, tmp_path) -> Iterator[str]:
    """Address of a marimo app that shows the explorer."""
    with served(MARIMO.format(shown=request.param), tmp_path) as address:
        yield address


@contextmanager
def served(app: str, folder: Path) -> Iterator[str]:
    """Run a marimo app; its address."""
    (folder / "app.py").write_text(app)
    port = lab_server.free_port()
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token", "--port", str(port)]
    server = subprocess.Popen(command, cwd=folder, env=lab_server.environment(folder, ""))
    try:
        lab_server.wait_until_listening(port, server)
        yield f"http://127.0.0.1:{port}"
    finally:
        lab_server.end(server)


@pytest.mark.slow
def test_marimo(marimo, page: Page, screenshot):
    """The chart, a picked strategy and undo, with the numbers of the library."""
    page.set_viewport_size(WINDOW)
    page.goto(marimo)
    hand = Hand(Notebook(page))
    chart = hand.root.locator(".pl-gantt")
    expect(chart).to_have_attribute("data-makespan", "80")
    assert box_of(hand.root)["height"] >= 590
    hand.menu("Partitioner").select_option("cpop")
    expected = pl.solve(pl.datasets.problem("topcuoglu"), "cpop").makespan
    expect(chart).to_have_attribute("data-makespan", f"{expected:g}")
    hand.button("↶").click()
    expect(chart).to_have_attribute("data-makespan", "80")
    expect(hand.menu("Partitioner")).to_have_value("heft")
    screenshot("marimo")


ALONE_IN_MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import placelab as pl
    from placelab.app.widgets import ClusterCanvas, Gantt
    problem = pl.datasets.problem("topcuoglu")
    Gantt.of(pl.solve(problem, "heft", "planned"))
    return ClusterCanvas, problem


@app.cell
def _(ClusterCanvas, problem):
    ClusterCanvas(problem.cluster)
    return
"""


@pytest.mark.slow
def test_a_chart_and_a_canvas_alone_have_a_height_in_marimo(tmp_path, page: Page, screenshot):
    """Without the explorer around them; the console stays empty."""
    with served(ALONE_IN_MARIMO, tmp_path) as address:
        page.goto(address)
        expect(page.locator(".pl-gantt")).to_have_attribute("data-makespan", "80")
        assert box_of(page.locator(".pl-gantt"))["height"] > 200
        assert box_of(page.locator(".cluster").first)["height"] > 200
        screenshot("alone")


def kernels(server: psutil.Process) -> list[psutil.Process]:
    """The kernels that the server runs."""
    found = []
    for child in server.children():
        with suppress(psutil.NoSuchProcess):  # it has ended since
            if child.status() != psutil.STATUS_ZOMBIE and "ipykernel" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.slow
def test_the_page_alone(hand_in, alone, page: Page, screenshot):
    """It fills the window, follows the system's colours, starts in the user's folder, and its kernel ends with it."""
    server = alone[1]
    hand = hand_in(ALONE)
    assert box_of(hand.root) == {"x": 0, "y": 0, **WINDOW}
    assert page.title() == "placelab"
    assert page.evaluate("document.documentElement.scrollHeight") == WINDOW["height"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        expect(hand.root.locator(".pl-gantt").first).to_have_attribute("data-theme", scheme)
        screenshot(scheme)
    hand.button("Code").click()
    code = box_of(hand.root.locator(".pl-code"))
    assert code["x"] >= 0 and code["x"] + code["width"] <= WINDOW["width"]
    assert code["y"] >= 0 and code["y"] + code["height"] <= WINDOW["height"]
    page.keyboard.press("Escape")
    hand.button("Open…").click()
    path = hand.root.get_by_label("Path on the kernel's machine")
    path.fill("nowhere.json")
    path.press("Enter")
    expect(hand.root.get_by_role("alert")).to_contain_text("nowhere.json")
    [kernel] = kernels(server)
    assert kernel.cwd() == server.cwd() and os.path.basename(kernel.cwd()).startswith("work")
    page.goto("about:blank")
    for _ in range(300):
        if not kernels(server):
            break
        page.wait_for_timeout(100)
    assert not kernels(server)
