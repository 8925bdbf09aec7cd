"""The explorer works for a user without rights, without a network, where one folder alone can be written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.chromium import find as find_chromium

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
NOBODY = 65534

# Makes all mounts read-only but that of the folder, and its network the loopback alone; then runs a command as that user,
# without capabilities.
PRISON = """
import ctypes, fcntl, os, socket, struct, subprocess, sys
user, folder, *command = sys.argv[1:]
mount = lambda *words: subprocess.run(["mount", *words], check=True)
mount("--make-rprivate", "/")
mount("--bind", folder, folder)
for line in open("/proc/self/mounts").read().splitlines():
    place = line.split()[1].encode().decode("unicode_escape")
    if place != folder and not place.startswith(("/proc", "/sys", "/dev")):
        subprocess.run(["mount", "-o", "remount,bind,ro", place], capture_output=True)
with socket.socket() as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
for capability in range(64):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: not even root gets it back
os.setgroups([]); os.setgid(int(user)); os.setuid(int(user))
os.chdir(folder)
os.execvp(command[0], command)
"""

# In the prison: a server as the image starts it answers; a kernel opens the explorer, and the explorer has a schedule.
WALK = """
import json, os, socket, subprocess, sys, time, urllib.request
from jupyter_client.manager import start_new_kernel
for place in (sys.argv[1], os.path.expanduser("~"), "/tmp"):
    try:
        open(os.path.join(place, "written"), "w")
    except OSError:
        continue
    raise SystemExit(f"{place} can be written")
with socket.socket() as any:
    assert any.connect_ex(("192.0.2.1", 80)), "there is a network"
with socket.socket() as any:
    any.bind(("127.0.0.1", 0))
    port = any.getsockname()[1]
command = [word.replace("8888", str(port)) for word in json.loads(sys.argv[2])]
server = subprocess.Popen([sys.executable, "-m", *command, "--IdentityProvider.token=word"])
code = '''
import placelab as pl
explorer = pl.explore("topcuoglu")
assert explorer.settled(60), "not settled"
assert explorer.result.schedule.makespan == pl.solve(explorer.result.schedule.problem, "heft", "planned").makespan
'''
try:
    manager, client = start_new_kernel(startup_timeout=120)
    reply = client.execute_interactive(code, timeout=180, allow_stdin=False)
    assert reply["content"]["status"] == "ok", reply["content"]
    manager.shutdown_kernel(now=True)
    for _ in range(300):
        assert server.poll() is None, "the server has ended"
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/lab/tree/00_tour.ipynb?token=word", timeout=60)
            break
        except OSError:
            time.sleep(0.5)
    assert page.status == 200 and b"JupyterLab" in page.read()
    if len(sys.argv) > 3:
        subprocess.run([sys.executable, "-c", sys.argv[4], sys.argv[3], str(port)], check=True, timeout=300)
finally:
    server.terminate()
    server.wait(60)
print("walked")
"""

# In the prison, too: a browser opens a notebook of that server, runs its cell, and drags a bandwidth of the explorer in it.
DRAG = """
import json, sys
from pathlib import Path
from playwright.sync_api import expect, sync_playwright
code = "import placelab as pl; explorer = pl.explore('inception_v3'); explorer"
cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": code}
kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
Path("drag.ipynb").write_text(json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
with sync_playwright() as playwright:
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=flags)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(100_000)
    expect.set_options(timeout=100_000)
    page.goto(f"http://127.0.0.1:{sys.argv[2]}/doc/tree/drag.ipynb?token=word")
    expect(page.get_by_text("| Idle")).to_be_visible()  # a cell that is run before its kernel is there does nothing
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    chart = page.locator(".pl-gantt[data-makespan]")
    expect(chart).to_be_visible()
    before = chart.get_attribute("data-makespan")
    assert float(before) > 0
    pill = page.locator('.cluster [data-key^="bandwidth"]').first
    pill.scroll_into_view_if_needed()
    while not (box := pill.bounding_box()):  # the canvas draws anew
        page.wait_for_timeout(50)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 150, y, steps=5)
    expect(chart).not_to_have_attribute("data-makespan", before)
    page.mouse.up()
    browser.close()
print("dragged", flush=True)
"""


def variables() -> dict[str, str]:
    """What the Dockerfile sets in the environment."""
    block = re.search(r"^ENV (.*?[^\\])$", DOCKERFILE, re.MULTILINE | re.DOTALL)[1]
    return dict(pair.split("=") for pair in block.replace("\\\n", " ").split())


def command() -> list[str]:
    """What the Dockerfile starts."""
    return json.loads(re.search(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[1])


def test_the_image_writes_into_its_volume_alone():
    """Each folder that Jupyter, IPython, numba and Python's temporary files take lies in the one volume; the user is not root."""
    assert set(re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)) == {"/keep"}
    assert all(value.startswith("/keep/") for value in variables().values())
    assert {"JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "NUMBA_CACHE_DIR", "TMPDIR"} <= set(variables())
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[-1:] == ["placelab"]


def stranger() -> int:
    """A user who owns nothing; where such a one cannot run this Python, root, whom the prison takes all rights."""
    try:
        subprocess.run(
            [sys.executable, "-c", "import placelab"],
            user=NOBODY,
            extra_groups=[],
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
    except (PermissionError, subprocess.CalledProcessError):
        return 0
    return NOBODY


@pytest.mark.slow
def test_the_explorer_runs_where_one_folder_can_be_written():
    """A server, a kernel and the explorer: all else read-only, no network, no rights, the Dockerfile's variables and command."""
    unshare = shutil.which("unshare")
    may = unshare and not subprocess.run([unshare, "--mount", "--net", "true"], capture_output=True).returncode
    if not may or os.geteuid():
        pytest.skip("this takes unshare and root: no file system is made read-only here")
    user = stranger()
    keep = tempfile.mkdtemp()
    try:
        (Path(keep) / "tmp").mkdir()
        shutil.copy(ROOT / "notebooks" / "00_tour.ipynb", keep)
        for path in (keep, f"{keep}/tmp", f"{keep}/00_tour.ipynb"):
            os.chown(path, user, user)
        given = {name: value.replace("/keep", keep) for name, value in variables().items()}
        passed = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        given |= passed | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/root"}
        walk = [sys.executable, "-c", WALK, str(ROOT), json.dumps(command() + ["--allow-root"] * (user == 0))]
        if chromium := find_chromium():
            walk += [chromium, DRAG]
        ran = subprocess.run(
            [unshare, "--mount", "--net", sys.executable, "-c", PRISON, str(user), keep, *walk],
            env=given,
            capture_output=True,
            text=True,
            timeout=500,
        )
    finally:
        shutil.rmtree(keep)
    assert ran.returncode == 0 and ran.stdout.endswith("walked\n"), (ran.stdout + ran.stderr)[-3000:]
    if not chromium:
        pytest.skip("there is no Chromium here: the explorer was opened, and nothing was dragged")
    assert "dragged\n" in ran.stdout
