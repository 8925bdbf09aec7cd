"""Compile a kernel in a process of low priority: within this one, numba's compiler would hold up all other Python code."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading

AT_ONCE = 2  # processes
_turn = threading.Semaphore(AT_ONCE)
_running: set[subprocess.Popen] = set()


def compile_apart(name: str) -> None:
    """Have a kernel compiled and put on disk; nothing happens where there can be no such process."""
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "PLACELAB_JIT": "wait"}
    with _turn:
        try:
            command = [sys.executable, "-m", "placelab.cli.warming", "--gently", name]
            process = subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)
        except OSError:
            return
        _running.add(process)
        process.wait()
        _running.discard(process)


@atexit.register
def _end() -> None:
    for process in list(_running):
        process.terminate()
