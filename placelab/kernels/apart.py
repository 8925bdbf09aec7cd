"""Compile a kernel in a process of its own: within this one, numba's compiler would hold up all other Python code."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading

AT_ONCE = 2  # processes
PROGRAM = "import sys; from placelab.kernels.jit import compile_asked; compile_asked(sys.stdin.buffer.read())"
GENTLY = "import os; getattr(os, 'nice', int)(19); "
_turn = threading.Semaphore(AT_ONCE)
_running: set[subprocess.Popen] = set()


def compile_apart(asked: bytes, gently: bool, folder: str | None) -> None:
    """Have a kernel compiled and put on disk; nothing happens where there can be no such process.

    Parameters
    ----------
    asked
        The kernel's module, its name and the types of its arguments, pickled.
    gently
        Whether at low priority, as nobody waits for it.
    folder
        Where to put it; None: where this process would.
    """
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder} if folder else None
    with _turn:
        try:
            command = [sys.executable, "-c", (GENTLY if gently else "") + PROGRAM]
            process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        except OSError:
            return
        _running.add(process)
        process.communicate(asked)
        _running.discard(process)


@atexit.register
def _end() -> None:
    for process in list(_running):
        process.terminate()
