"""``placelab lab`` opens JupyterLab on the tour, for this machine and this user only."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import psutil
import pytest

from placelab.app import cli
from placelab.app.cli import opening_commands
from placelab.base.errors import FormatError

EMPTY = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def checkout(tmp_path):
    """Folder with a tour of its own, where a checkout has it."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / opening_commands.TOUR).write_text(EMPTY)
    return tmp_path


def test_a_checkout_opens_its_own_tour(checkout):
    """If notebooks/00_tour.ipynb exists, that file is opened and nothing is written."""
    assert opening_commands.tour_in(checkout) == checkout / "notebooks" / "00_tour.ipynb"
    assert [path.name for path in checkout.iterdir()] == ["notebooks"]


def test_elsewhere_the_tour_is_copied_once(tmp_path):
    """The first start copies the tour; the second keeps the user's changes."""
    copy = opening_commands.tour_in(tmp_path)
    assert copy == tmp_path / "00_tour.ipynb"
    assert copy.read_bytes() == opening_commands.shipped(opening_commands.TOUR).read_bytes()
    copy.write_text(EMPTY)
    assert opening_commands.tour_in(tmp_path).read_text() == EMPTY


def test_a_missing_folder_is_one_sentence(tmp_path, capsys):
    """A missing folder ends the command with its name and a remedy, without a traceback."""
    with pytest.raises(SystemExit, match=r"placelab: .*nowhere is not a folder; make it first"):
        cli.main(["lab", "--directory", str(tmp_path / "nowhere")])


def test_port_in_use_is_passed_over():
    """If the requested port is in use, another free one is found."""
    with opening_commands.socket.socket() as taken:
        taken.bind((opening_commands.LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port < opening_commands.free_port(port) < port + 100


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_a_number_that_is_no_port_is_a_sentence(port):
    """The address that is printed is the one that the server listens on."""
    with pytest.raises(FormatError, match=f"--port is {port}; expected a number from 1 to 65535"):
        opening_commands.free_port(port)


def test_lab_serves_loopback_behind_a_token(checkout):
    """The server answers at the printed address only: not without the token, not on another interface."""
    home = checkout / "home"
    folders = {name: str(home / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    command = [sys.executable, "-c", "from placelab.app.cli import main; main()", "lab", "--no-browser"]
    command += ["--directory", str(checkout), "--port", str(opening_commands.free_port(21000))]
    server = subprocess.Popen(command, env={**os.environ, **folders}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = re.search(rb"http://\S+", server.stdout.readline())[0].decode()
        address, token = url.split("?token=")
        assert address.endswith("/lab/tree/notebooks/00_tour.ipynb")
        assert len(token) >= 32
        status = f"{address.partition('/lab/')[0]}/api/contents/notebooks/00_tour.ipynb"
        assert json.loads(first_answer(f"{status}?token={token}", server))["name"] == "00_tour.ipynb"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(status, timeout=30)
        assert listeners(server.pid) == {"127.0.0.1"}
        assert token not in command_line(server.pid)
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


def first_answer(url: str, server: subprocess.Popen) -> bytes:
    """First answer of a server that is starting."""
    deadline = time.monotonic() + 180  # a cold or busy machine takes its time
    while server.poll() is None and time.monotonic() < deadline:
        try:
            return urllib.request.urlopen(url, timeout=30).read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            time.sleep(0.1)
    pytest.fail("the server did not come up")


def listeners(pid: int) -> set[str]:
    """Local addresses on which the process accepts connections."""
    connections = psutil.Process(pid).net_connections("inet")
    return {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}


def command_line(pid: int) -> str:
    """Command line of the process, as every user of the machine can see it."""
    return " ".join(psutil.Process(pid).cmdline())
