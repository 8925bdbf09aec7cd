"""Run a JupyterLab server for the tests, and open a notebook in it, or in Notebook 7, which the same server has."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import nbformat
from playwright.sync_api import Page
from support import forked_kernels

STARTUP = 180.0  # seconds; a cold or busy machine takes its time
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "IPYTHONDIR": "ipython",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
}

# What JupyterLab adds to its page and to each notebook, and no test looks at.
UNUSED = """
csvviewer debugger extensionmanager htmlviewer hub imageviewer inspector logconsole lsp markdownviewer running toc tooltip
workspaces fileeditor-extension:language-server notebook-extension:language-server notebook-extension:toc"""

JUPYTERLAB = "doc/tree"  # address of its page with one notebook
NOTEBOOK = "notebooks"
# The notebook a test has opened is the one widget of such a page.
PANEL = "window.jupyterapp.shell.currentWidget"
OPENED = f"""() => {PANEL.replace("app.", "app?.")}?.context?.isReady
  && {PANEL}.sessionContext.session?.kernel?.status === 'idle'"""
HERE = "() => location.pathname.startsWith('/doc') && !!window.jupyterapp?.shell"
OPEN_NEXT = """async path => {  // and return nothing: a widget cannot leave the page
  await window.jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
}"""
# A kernel that is only starting would find no notebook, and outputs say goodbye to theirs; true if nothing is left.
CLOSE = f"""async () => {{
  const panel = {PANEL.replace("app.", "app?.")};
  if (!panel?.content?.widgets) return false;
  await Promise.race([panel.sessionContext.ready, new Promise(done => setTimeout(done, 10_000))]);
  for (const cell of panel.content.widgets) cell.model.outputs?.clear();
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  panel.dispose();
  return !document.querySelector('.jp-Dialog, .jp-NotebookPanel') && !document.fullscreenElement;
}}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
SET_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
ERRORS = f"""() => {PANEL}.content.widgets
  .flatMap(cell => cell.model.outputs?.toJSON() ?? [])
  .filter(output => output.output_type === 'error')
  .map(output => output.traceback.join('\\n'))"""
EXECUTE = f"""async code => {{
  const answer = {{text: '', error: ''}};
  const future = {PANEL}.sessionContext.session.kernel.requestExecute({{code, store_history: false}});
  future.onIOPub = ({{header, content}}) => {{
    if (header.msg_type === 'stream' && content.name === 'stdout') answer.text += content.text;
    if (header.msg_type === 'error') answer.error = content.traceback.join('\\n');
  }};
  await future.done;
  return answer;
}}"""


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: folder of its notebooks, address, token, log file."""

    root: Path
    url: str
    token: str
    log: Path

    def request(self, path: str, method: str = "GET") -> bytes:
        """Answer of the server's REST interface."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def close_sessions(self) -> list[Thread]:
        """Have every kernel shut down, so that each test starts with free memory; the threads end when the kernels have."""
        found = json.loads(self.request("/api/sessions"))
        threads = [Thread(target=self._close, args=(session["id"],), daemon=True) for session in found]
        for thread in threads:
            thread.start()
        return threads

    def _close(self, session: str) -> None:
        with suppress(OSError):  # the server itself may be ending
            self.request(f"/api/sessions/{session}", "DELETE")


@dataclass(frozen=True)
class Notebook:
    """A notebook open in JupyterLab, its cells run and its kernel idle."""

    page: Page

    def value(self, expression: str) -> object:
        """Value of a Python expression in the notebook's kernel, by way of JSON; floats arrive exactly."""
        return json.loads(self.execute(f"print(__import__('json').dumps({expression}))"))

    def execute(self, code: str) -> str:
        """Output of the code, run in the notebook's kernel; AssertionError with the traceback if it raises."""
        answer = self.page.evaluate(EXECUTE, code)
        assert not answer["error"], plain(answer["error"])
        return answer["text"]

    def set_theme(self, name: str) -> None:
        """Switch to ``JupyterLab Light`` or ``JupyterLab Dark``."""
        self.page.evaluate(SET_THEME, name)
        self.page.wait_for_selector(f"body[data-jp-theme-name='{name}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")


def open_notebook(page: Page, lab: Lab, name: str, cells: list[str], place: str = JUPYTERLAB) -> Notebook:
    """Write a notebook of these cells, open it, run it all; AssertionError with the traceback if a cell raises.

    A page that shows JupyterLab opens it there: to load JupyterLab takes longer than many a test.
    """
    nbformat.write(notebook_of(cells), lab.root / name)
    if place == JUPYTERLAB and page.evaluate(HERE):
        page.evaluate(OPEN_NEXT, name)
    else:
        page.goto(f"{lab.url}/{place}/{name}?token={lab.token}&reset")
    page.wait_for_function(OPENED)
    page.evaluate(RUN_ALL)
    errors = page.evaluate(ERRORS)
    assert not errors, plain("\n".join(errors))
    return Notebook(page)


def close_notebook(page: Page) -> None:
    """Leave the page as it was before its notebook was opened; an empty one if there is none, or a dialog is open."""
    if not (page.evaluate(HERE) and page.evaluate(CLOSE)):
        page.goto("about:blank")


def notebook_of(cells: list[str]) -> nbformat.NotebookNode:
    """Notebook of code cells for the kernel of this environment."""
    kernel = {"name": forked_kernels.NAME, "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells], metadata={"kernelspec": kernel}
    )


def plain(text: str) -> str:
    """Text without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@contextmanager
def running(root: Path, home: Path, prefix: str = "") -> Iterator[Lab]:
    """JupyterLab on a random loopback port with a random token, its settings in ``home``, away from the user's own.

    Its addresses begin with `prefix`, as ``"/user/ada"``.
    """
    port = free_port()
    lab = Lab(root, f"http://127.0.0.1:{port}{prefix}", secrets.token_hex(24), home / "log")
    options = {"ip": "127.0.0.1", "port": port, "port_retries": 0, "root_dir": root, "base_url": f"{prefix}/"}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += [f"--ServerApp.{name}={value}" for name, value in options.items()]
    command += ["--JupyterNotebookApp.expose_app_in_browser=True"]
    variables = environment(home, lab.token)
    with lab.log.open("w") as log, forked_kernels.offered(home, variables):
        server = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until_up(lab, server)
            yield lab
        finally:
            end(server)


def end(server: subprocess.Popen) -> None:
    """End a server; one that waits too long for its kernels, as on a busy machine, is killed."""
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(home: Path, token: str) -> dict[str, str]:
    """Variables that keep JupyterLab's settings in ``home``, and its news pop-up and what is unused off."""
    without = home / FOLDERS["JUPYTER_CONFIG_DIR"] / "labconfig/page_config.json"
    without.parent.mkdir(parents=True)
    unused = [f"@jupyterlab/{name}" if ":" in name else f"@jupyterlab/{name}-extension" for name in UNUSED.split()]
    without.write_text(json.dumps({"disabledExtensions": dict.fromkeys(unused, True)}))
    news = home / FOLDERS["JUPYTERLAB_SETTINGS_DIR"] / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    return {**os.environ, "JUPYTER_TOKEN": token, **{name: str(home / folder) for name, folder in FOLDERS.items()}}


def wait_until_up(lab: Lab, server: subprocess.Popen, asked: str = "/api/status") -> None:
    """Return once the server answers what is asked; RuntimeError with the end of its log when it does not."""
    deadline = time.monotonic() + STARTUP
    while server.poll() is None and time.monotonic() < deadline:
        try:
            lab.request(asked)
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{lab.url} did not start:\n{lab.log.read_text()[-3000:]}")


def wait_until_listening(port: int, server: subprocess.Popen) -> None:
    """Return once something listens at the port; RuntimeError when nothing does."""
    deadline = time.monotonic() + STARTUP
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens at port {port}")
