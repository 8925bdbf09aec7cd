"""Fixtures of the browser tests: JupyterLab and Chromium.

Every test that takes ``page`` (or what is built on it) also proves that no error was logged and that no
request went to another machine. Screenshots go to ``tests/artifacts``, that of a failed test by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, expect, sync_playwright
from support import chromium, lab_server

ARTIFACTS = Path(__file__).resolve().parents[1] / "artifacts"
LOOPBACK = re.compile(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|file:|data:|blob:|about:")
TIMEOUT = 30_000  # ms; how long an expected thing may take to appear
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=LocalNetworkAccessChecks",  # of pages that a test itself answers for, to a server of this machine
)
# Notebook 7.6's shortcuts, on a page without placelab, too; and a race of its start on a busy machine.
NOTEBOOKS_OWN = (
    "Cannot read properties of undefined (reading 'schema')",
    "Command 'filebrowser:open-path' not registered.",
)
JUPYTERS_SCRIPTS = re.compile(r"/static/(lab|notebook)/|/voila/|/embed-amd\.js")
VERSIONS = re.compile("of shared (singleton )?module @")
PRELOADED = "was preloaded using link preload"  # marimo's pictures
expect.set_options(timeout=TIMEOUT)
FAILED = pytest.StashKey[bool]()
# Set when a test has left its notebook: JupyterLab cancels what still waits for the kernel, and logs that as errors.
LEFT = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last: Playwright keeps an event loop running, in which no other test could start its own."""
    items.sort(key=lambda item: item.path.is_relative_to(Path(__file__).parent))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Tell fixtures at their end whether the test failed."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Without one the tests are skipped, or fail in continuous integration."""
    executable = chromium.find()
    if executable is None:
        message = f"There is no Chromium for the browser tests. {chromium.REMEDY}"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab_server.Lab]:
    """One JupyterLab for all browser tests."""
    with lab_server.running(tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("jupyter")) as lab:
        yield lab


@pytest.fixture
def label(request: pytest.FixtureRequest) -> str:
    """The test's name as a part of a file name."""
    return re.sub(r"\W+", "-", request.node.name).strip("-")


def blank_page(browser: Browser) -> Page:
    """A page of a browser that has shown the explorer's first hints: they lie over what tests click."""
    context = browser.new_context()
    context.add_init_script("try { localStorage.setItem('placelab-hints', 'shown') } catch {}")
    return context.new_page()


@pytest.fixture(scope="session")
def jupyters_page(browser: Browser) -> Page:
    """The page on which one test after the other opens its notebook."""
    return blank_page(browser)


@pytest.fixture(scope="session")
def widgets_page(browser: Browser) -> Page:
    """The page on which one test after the other shows a widget: a process of its own for each took most of their time."""
    return blank_page(browser)


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest, label: str) -> Iterator[Page]:
    """A page, 1400 × 1000; fails on logged errors, uncaught exceptions and requests that leave the machine.

    Tests with notebooks share one, which they leave empty if they fail, and the others share one, which is empty, with the
    pointer in its corner. The marker ``own_page`` is for tests that measure the page, or change it for good.
    """
    shared = not request.node.get_closest_marker("own_page")
    notebook = "open_notebook" in request.fixturenames
    which = "jupyters_page" if notebook else "widgets_page"
    page: Page = request.getfixturevalue(which) if shared else blank_page(browser)
    page.mouse.move(0, 0)
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.context.set_default_timeout(TIMEOUT)
    errors: list[str] = []
    with heard(page, lambda error: errors.append(error) if LEFT not in request.node.stash else None) as asked:
        yield page
        failed = request.node.stash.get(FAILED, False)
        if failed:
            page.screenshot(path=ARTIFACTS / f"{label}-failed.png")
    if not shared:
        page.context.close()
    elif failed or errors or not notebook:
        page.goto("about:blank")
    nothing_amiss(errors, asked)


@contextmanager
def heard(page: Page, note: Callable[[str], object]) -> Iterator[list[str]]:
    """The addresses that the page asks, in a list that grows; what it logs as an error goes to `note`."""
    asked: list[str] = []
    listeners: dict[str, Callable[..., object]] = {
        "pageerror": lambda error: None if is_notebooks_own(error) else note(f"{error}\n{error.stack}"),
        "console": lambda message: note(message.text) if is_complaint(message) else None,
        "request": lambda request: asked.append(request.url),
        "websocket": lambda socket: asked.append(socket.url),
    }
    for event, hear in listeners.items():
        page.on(event, hear)
    yield asked
    for event, hear in listeners.items():
        page.remove_listener(event, hear)


def nothing_amiss(errors: list[str], asked: list[str]) -> None:
    """Fail where a page has logged errors, or asked another machine."""
    assert not errors, f"the page logged errors: {errors}"
    strayed = [url for url in asked if not LOOPBACK.match(url)]
    assert not strayed, f"the page asked other machines: {strayed}"


def is_complaint(message: ConsoleMessage) -> bool:
    """Whether a message is an error, or a warning that is not of the host's scripts, versions and pictures."""
    text = message.text
    hosts = JUPYTERS_SCRIPTS.search(message.location["url"]) or VERSIONS.search(text) or PRELOADED in text
    return message.type == "error" or (message.type == "warning" and not hosts)


def is_notebooks_own(error: Error) -> bool:
    """Whether Notebook 7, or JupyterLab itself, has made the error.

    Once in a hundred tests on a busy machine two messages of the kernel arrive as one, with text on stderr in the midst of it;
    JupyterLab cannot read it, and goes on. Nothing of placelab stands between the kernel and JupyterLab's parser.
    """
    stack = error.stack or ""
    merged = str(error).startswith("Kernel message validation error") and "deserializeV1KernelWebsocket" in stack
    return merged or (str(error) in NOTEBOOKS_OWN and "/static/notebook/" in stack)


@pytest.fixture
def screenshot(page: Page, label: str) -> Callable[..., Path]:
    """``screenshot(name, of=None)`` keeps a picture of the page, or of one locator, as ``<test>-<name>.png``."""

    def keep(name: str, of: Locator | None = None) -> Path:
        path = ARTIFACTS / f"{label}-{name}.png"
        (page if of is None else of).screenshot(path=path)
        return path

    return keep


@pytest.fixture
def open_notebook(
    page: Page, lab: lab_server.Lab, label: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., lab_server.Notebook]]:
    """``open_notebook(cells, place)`` runs the cells in a new notebook on ``page``; its kernel ends with the test."""
    yield lambda cells, *place: lab_server.open_notebook(page, lab, f"{label}.ipynb", cells, *place)
    page.wait_for_timeout(0)  # hear what the page has logged so far
    request.node.stash[LEFT] = True
    lab_server.close_notebook(page)
    lab.close_sessions()
