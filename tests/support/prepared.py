"""Python programs in forks of a process that has imported what they need, which takes longer than many of them do."""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

PART = 1 << 16  # bytes of a request that are read at once


class Prepared:
    """A process that has run some code once; :meth:`run` is ``subprocess.run`` for programs that find it done.

    For tests of what a program does. Those of how it starts, or what it imports, start a Python of their own.
    """

    def __init__(self, code: str) -> None:
        self._line, other = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno()), code], pass_fds=[other.fileno()], start_new_session=True
        )
        other.close()

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.wait()

    def run(
        self,
        command: Sequence[object],
        *,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        check: bool = False,
        capture_output: bool = True,
        cwd: str | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``[sys.executable, -c CODE | -m MODULE | FILE, arguments…]``; other options of Python are left out."""
        _, *words = (str(word) for word in command if word != "-P")
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(input)
            given.seek(0)
            asked = {
                "words": words,
                "environment": dict(os.environ if env is None else env),
                "folder": cwd or os.getcwd(),
            }
            socket.send_fds(
                self._line, [json.dumps(asked).encode() + b"\n"], [file.fileno() for file in (given, out, err)]
            )
            self._line.settimeout(timeout)
            try:
                status = int(self._line.recv(PART))
            except TimeoutError:
                os.killpg(self._process.pid, signal.SIGKILL)  # the program, too
                raise subprocess.TimeoutExpired(list(map(str, command)), timeout or 0.0) from None
            for file in (out, err):
                file.seek(0)
            done = subprocess.CompletedProcess(command, status, out.read(), err.read())
        if check:
            done.check_returncode()
        return done


def serve(line: socket.socket) -> None:
    """Fork for each request, one after the other, until the other end is closed."""
    while True:
        data, files, _, _ = socket.recv_fds(line, PART, 3)
        if not data:
            return
        while not data.endswith(b"\n"):
            data += line.recv(PART)
        child = os.fork()
        if child == 0:
            line.close()
            become(json.loads(data), files)
        for file in files:
            os.close(file)
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def become(asked: dict, files: list[int]) -> None:
    """Be the program that is asked for; never returns."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    status: object = 0
    try:
        start(*asked["words"])
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    if not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def start(first: str, *others: str) -> None:
    """Run a file, a module or code, as Python's command line does."""
    if first == "-c":
        sys.argv = ["-c", *others[1:]]
        exec(compile(others[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.argv = list(others)
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *others]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    number, code = sys.argv[1:]
    sys.path.remove(str(Path(__file__).parent))
    exec(code, {"__name__": "prepared"})
    serve(socket.socket(fileno=int(number)))
