"""``placelab compile`` compiles every kernel, and first those that a first drag needs."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys

import pytest
from explorer_hands import CLUSTER, drag, wait_for

import placelab as pl
from placelab import cli, kernels
from placelab.cli import compile_command, warming
from placelab.explorer.panels.comparison import Comparison
from placelab.kernels import jit

EVERY = {
    value.__name__
    for module in pkgutil.iter_modules(kernels.__path__)
    for value in vars(importlib.import_module(f"placelab.kernels.{module.name}")).values()
    if isinstance(value, jit.kernel)
}


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


def test_every_kernel_is_compiled(called):
    """No kernel is left for a user to wait for."""
    for part in warming.PARTS.values():
        part()
    assert called == EVERY


def test_a_first_drag_needs_no_other_kernel(called, monkeypatch):
    """Opening the explorer, dragging a link and selecting an op call only what was compiled first."""
    for part in (name for parts in compile_command.FIRST for name in parts):
        warming.PARTS[part]()
    first = set(called)
    called.clear()
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    explorer = pl.explore(pl.Problem(pl.load("topcuoglu"), CLUSTER, memory="dynamic"))
    assert explorer.schedule
    drag(explorer, 1e9, 2e9)
    explorer.gantt.selection = 5
    wait_for(lambda: explorer.gantt.detail)
    explorer.close()
    assert {"run_events", "upward"} <= called <= first


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


def test_the_parts_run_as_a_program():
    """``python -m placelab.cli.warming`` runs the parts that it is given."""
    plain = {**os.environ, "PLACELAB_JIT": "0"}
    assert (
        subprocess.run([sys.executable, "-m", "placelab.cli.warming", "place"], env=plain, timeout=60).returncode == 0
    )
