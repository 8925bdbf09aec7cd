"""``placelab compile`` compiles every kernel, and first those that a first drag needs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from explorer_hands import CLUSTER, drag, wait_for

import placelab as pl
from placelab.app import cli
from placelab.app.cli import compile_command, warming
from placelab.app.explorer.panels.comparison import Comparison
from placelab.kernels import jit


@pytest.fixture
def called(monkeypatch):
    """Names of the kernels that are called from now on, in plain Python."""
    names: set[str] = set()
    monkeypatch.setenv("PLACELAB_JIT", "0")
    for method in ("__call__", "bind"):
        real = getattr(jit.kernel, method)
        monkeypatch.setattr(
            jit.kernel, method, lambda self, *a, real=real: (names.add(self.__name__), real(self, *a))[1]
        )
    return names


def test_every_kernel_is_compiled(called, monkeypatch):
    """No kernel is left for a user to wait for."""
    monkeypatch.setattr(jit, "only", frozenset())
    warming.compile_all()
    assert called == {kernel.__name__ for kernel in warming.every()} and len(called) > 30


def test_a_first_drag_needs_no_other_kernel(called, monkeypatch):
    """Opening the explorer, dragging a link and selecting an op call only what was compiled first."""
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    explorer = pl.explore(pl.Problem(pl.load("topcuoglu"), CLUSTER, memory="dynamic"))
    assert explorer.schedule
    drag(explorer, 1e9, 2e9)
    explorer.gantt.selection = 5
    first = {name for names in compile_command.FIRST for name in names}
    of_others = {"join_across_borders"}  # where ranks lie at the border of a step
    wait_for(lambda: explorer.gantt.detail and called >= first - of_others)  # the picture has a thread of its own
    explorer.close()
    assert called | of_others == first


def test_the_command_compiles_in_processes_of_its_own(monkeypatch, capfd):
    """Each process waits for the compiler; a process that fails is one sentence; plain Python compiles nothing."""
    ran = []
    monkeypatch.setattr(compile_command, "FIRST", (("place",), ("show",)))
    real = subprocess.Popen

    def popen(command, env):
        ran.append((command[-1], env["PLACELAB_JIT"]))
        return real([sys.executable, "-c", f"raise SystemExit({int(command[-1] == failing)})"])

    monkeypatch.setattr(subprocess, "Popen", popen)
    failing = ""
    monkeypatch.setenv("PLACELAB_JIT", "1")
    cli.main(["compile", "--first"])
    assert ran == [("place", "wait"), ("show", "wait")] and "once for this machine" in capfd.readouterr().out
    failing = "show"
    with pytest.raises(SystemExit, match="placelab: a kernel could not be compiled"):
        cli.main(["compile", "--first"])
    monkeypatch.setenv("PLACELAB_JIT", "0")
    ran.clear()
    cli.main(["compile"])
    assert "Nothing to compile" in capfd.readouterr().out and not ran


def test_the_first_explorer_compiles_where_nobody_has(monkeypatch, capfd):
    """With a line on stderr, once; a failure or Control-C does not keep the explorer from opening."""
    started = []
    lacking = {"upward", "carriers"}
    end = "pass"

    def process(share):
        started.append(share)
        lacking.clear()
        return subprocess.Popen([sys.executable, "-c", end])

    monkeypatch.setattr(compile_command, "_process", process)
    monkeypatch.setattr(jit.kernel, "lacks_code", lambda self: self.__name__ in lacking)
    monkeypatch.setenv("PLACELAB_JIT", "0")
    compile_command.at_first()
    assert not started and capfd.readouterr() == ("", "")
    monkeypatch.setenv("PLACELAB_JIT", "1")
    compile_command.at_first()
    out, log = capfd.readouterr()
    assert (
        started == list(compile_command.FIRST)
        and "once for this machine" in log
        and log.endswith("Compiled.\n")
        and not out
    )
    compile_command.at_first()
    assert len(started) == 2
    lacking = {"upward"}
    end = "raise SystemExit(1)"
    compile_command.at_first()
    assert "could not be compiled; the explorer works without" in capfd.readouterr().err
    lacking = {"upward"}
    end = "import time; time.sleep(1)"
    monkeypatch.setattr(compile_command, "sleep", lambda seconds: (_ for _ in ()).throw(KeyboardInterrupt))
    compile_command.at_first()
    assert "works without, slower at first" in capfd.readouterr().err


def test_what_is_compiled_is_not_compiled_in_the_background(monkeypatch):
    """A server that starts leaves a process to it while a kernel lacks code, and none afterwards."""
    started = []
    lacking = {"upward"}
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command[-2:]))
    monkeypatch.setattr(jit.kernel, "lacks_code", lambda self: self.__name__ in lacking)
    monkeypatch.setenv("PLACELAB_JIT", "1")
    compile_command.in_background()
    assert started == [["compile", "--gently"]]
    lacking.clear()
    compile_command.in_background()
    assert len(started) == 1


@pytest.mark.slow
def test_what_is_lacking_is_what_no_process_has_compiled(tmp_path, monkeypatch):
    """A kernel lacks code until a process has kept some, and never where nothing can be kept."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PLACELAB_JIT": "wait"}
    ask = "from placelab.kernels.plan import ranks; print(ranks.upward.lacks_code(), ranks.downward.lacks_code())"

    def asked(**changed):
        command = [sys.executable, "-c", ask]
        return subprocess.run(command, env=environment | changed, capture_output=True, text=True, check=True).stdout

    assert asked() == "True True\n"
    subprocess.run(
        [sys.executable, "-m", "placelab.app.cli.warming", "upward"], env=environment, timeout=120, check=True
    )
    assert asked() == "False True\n"


@pytest.mark.slow
def test_a_process_compiles_what_it_is_asked_for(tmp_path):
    """And nothing else, in the types that a real problem has."""
    environment = {**os.environ, "PLACELAB_JIT": "wait", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "placelab.app.cli.warming", "upward", "first_fit"]
    subprocess.run(command, env=environment, timeout=120, check=True)
    assert {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")} == {"ranks.upward", "unit_by_unit.first_fit"}
    code = (
        "import placelab as pl; p = pl.Problem(pl.load('convolutional_network'), pl.clusters.pcie_box(4));"
        "pl.upward_rank(p); from placelab.kernels.plan import ranks; assert ranks.upward.compiled and not ranks.downward.compiled"
    )
    subprocess.run([sys.executable, "-c", code], env={**environment, "PLACELAB_JIT": "1"}, timeout=60, check=True)
