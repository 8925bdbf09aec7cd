"""``placelab explore`` opens the explorer on what is asked for, for this machine and this user only."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from app.test_cli import command_line, first_answer, listeners

import placelab as pl
from placelab.app import cli
from placelab.app.cli import opening_commands


def asked(*arguments: str) -> argparse.Namespace:
    """The parsed arguments, as they reach the page's kernel."""
    options = vars(cli.parser().parse_args(["explore", *arguments]))
    return argparse.Namespace(**json.loads(json.dumps({k: v for k, v in options.items() if k != "command"})))


def test_without_arguments_it_opens_what_a_notebook_does():
    """The state is that of ``pl.explore()``: the copied cell is the same."""
    state = opening_commands.state_of(asked())
    assert [state.model.title, state.preset.title, state.partitioner, state.scheduler] == [
        "inception_v3",
        "rtx2080ti_box",
        "heft",
        "planned",
    ]


def test_everything_that_can_be_asked_for(tmp_path):
    """A file, a cluster in a file, strategies, rules; the name of the file is text, whatever it holds."""
    path = tmp_path / "a\"'); print('{{ 7*7 }}.json.gz"
    pl.generators.fork_join(6).save(path)
    cluster = tmp_path / "cluster.json"
    cluster.write_text('{"speed": [1e9, 2e9, 3e9], "bandwidth": 1e6, "memory": 5e9, "names": ["a", "b", "c"]}')
    given = ["--cluster", str(cluster), "--partitioner", "cpop", "--scheduler", "fifo"]
    given += ["--transfers", "channel", "--latency", "follows"]
    state = opening_commands.state_of(
        asked(str(path), *given, "--memory", "edges", "--seed", "3", "--prepare", "fuse", "--latency", "follows")
    )
    assert state.model.title == str(path) and state.problem().graph.n_ops == 8
    assert state.cluster.names == ("a", "b", "c") and state.cluster.speed.tolist() == [1e9, 2e9, 3e9]
    assert [state.partitioner, state.scheduler, state.seed, state.prepare] == ["cpop", "fifo", 3, ("fuse",)]
    assert [state.transfers, state.memory, state.latency] == ["channel", "edges", "follows"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.onnx"], r"nowhere\.onnx cannot be read: No such file"),
        (["--cluster", "wat"], r"no cluster preset is called 'wat', and there is no such file; presets are uniform, "),
        (["--cluster", "own"], r"comes without processors"),
        (["--partitioner", "wat"], r"no partitioner is called 'wat'"),
        (["--scheduler", "wat"], r"no scheduler is called 'wat'"),
        (
            ["--cluster", "{bad}"],
            r"bad\.json: the cluster is malformed: its key 'velocity' is unknown; there are bandwidth",
        ),
        (["--cluster", "{text}"], r"text\.json is not JSON"),
    ],
)
def test_errors_come_before_anything_starts(tmp_path, monkeypatch, arguments, message):
    """One sentence, and no server, no kernel, no browser."""
    (tmp_path / "bad.json").write_text('{"velocity": [1]}')
    (tmp_path / "text.json").write_text("speed: 1")
    monkeypatch.setattr(opening_commands.socket, "socket", lambda: pytest.fail("a port was looked for"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    files = {name: str(tmp_path / f"{name}.json") for name in ("bad", "text")}
    with pytest.raises(SystemExit, match=f"placelab: .*{message}") as end:
        cli.main(["explore", *(argument.format(**files) for argument in arguments)])
    assert "\n" not in str(end.value)


@pytest.mark.slow
def test_explore_serves_loopback_behind_a_token(tmp_path):
    """Without the token there is no page and no kernel; a configuration in the working folder is not run."""
    (tmp_path / "voila.py").write_text("raise SystemExit('it was run')")
    (tmp_path / "voila.json").write_text('{"Voila": {"ip": "0.0.0.0"}}')
    folders = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    command = [
        sys.executable,
        "-P",
        "-c",
        "from placelab.app.cli import main; main()",
        "explore",
        "topcuoglu",
        "--no-browser",
    ]
    command += ["--port", str(opening_commands.free_port(21500))]
    where = {"env": {**os.environ, **folders}, "cwd": tmp_path}
    server = subprocess.Popen(command, **where, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = re.search(rb"http://\S+", server.stdout.readline())[0].decode()
        address, token = url.split("?token=")
        assert len(token) >= 32
        assert b"rendered_cells" in first_answer(url, server)
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert "/login" in answer.url and b"rendered_cells" not in answer.read()
        kernel = f"{address}api/kernels/00000000-0000-0000-0000-000000000000"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(kernel, timeout=30)
        with pytest.raises(urllib.error.HTTPError, match="403"):  # a name that an attacker lets point here
            urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "example.org"}), timeout=30)
        assert listeners(server.pid) == {"127.0.0.1"}
        assert token not in command_line(server.pid)
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


def test_the_browser_gets_the_token_by_a_file(tmp_path, monkeypatch):
    """As JupyterLab does it: only the user can read the file, and it is gone with the server."""
    from placelab.app.cli import page as server

    opened = []
    browser = argparse.Namespace(open=lambda url, new: opened.append(url))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(server.webbrowser, "get", lambda: browser)
    shown = server.Server(**server.settings(), config=server.config(), ip="127.0.0.1", port=1, token="secret")
    shown.launch_browser()
    path = shown._redirect
    assert path.stat().st_mode & 0o077 == 0
    assert "http://127.0.0.1:1/?token=secret" in path.read_text()
    for _ in range(100):
        if opened:
            break
        server.threading.Event().wait(0.05)
    assert opened == [path.as_uri()] and "secret" not in opened[0]
    monkeypatch.setattr(server.Voila, "stop", lambda self: None)
    shown.stop()
    assert not path.exists()
