"""Grade copies, each in a process of its own with limits on time and memory.

What is run is a stranger's code, with the rights of who grades: it can read and write that account's files, use the network and
start processes. The limits stop loops and memory leaks by accident; they are no sandbox. A copy that sets out to can report any
points, as its checks run in its own process. Grade as a user without rights, in a container or a virtual machine without network.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from placelab.app.grading.submitted import Copy, exercises
from placelab.base.files import PACKAGE

LARGEST_FILE = 1 << 28  # bytes that a copy may write into one file


@dataclass(frozen=True)
class Grade:
    """What a copy's run came to: for each exercise "" where it is right, or why not; `remark` is of the whole copy."""

    copy: Copy
    sentences: tuple[str, ...]
    remark: str = ""

    @property
    def points(self) -> list[int]:
        """1 for a right answer, 0 for others."""
        return [int(not sentence) for sentence in self.sentences]


def graded(copy: Copy, seconds: float, memory: float) -> Grade:
    """Run a copy and collect what its checks say.

    Parameters
    ----------
    copy
        What was handed in.
    seconds
        After these the process and all that it has started are killed; exercises that were checked by then keep their points.
    memory
        Bytes of address space of the process, where the system can limit it (Linux does, Windows does not).
    """
    if copy.lesson is None:
        return Grade(copy, (), copy.remark)
    with TemporaryDirectory(prefix="placelab-grade-") as folder:
        verdicts = Path(folder, "verdicts.jsonl")
        verdicts.touch()
        module = "placelab.app.grading.one_copy"
        command = [sys.executable, "-m", module, *map(str, (copy.lesson, copy.path.resolve(), verdicts))]
        remark = _run(command, folder, seconds, memory)
        found = _verdicts(verdicts)
    wanted = len(exercises(copy.lesson))
    if len(found) < wanted and not remark:
        remark = "the process ended before all exercises were checked"
    left = [f"not checked: {remark}"] * (wanted - len(found))
    return Grade(copy, tuple([*found, *left][:wanted]), f"{copy.path.name}: {remark}" if remark else "")


def _run(command: list[str], folder: str, seconds: float, memory: float) -> str:
    """Run a command in a folder until it ends or its time is over; why it did not end well, or nothing."""
    own = {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)}
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | own,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
        preexec_fn=_limits(memory),
    )
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds:g} s"
    finally:
        _kill(process)
    return f"the process ended with status {status}" if status else ""


def _limits(memory: float) -> Callable[[], None] | None:
    """What to call in a new process before it runs anything; None where the system knows no such limits."""
    try:
        import resource
    except ImportError:
        return None

    def limit() -> None:
        for what, most in ((resource.RLIMIT_AS, int(memory)), (resource.RLIMIT_FSIZE, LARGEST_FILE)):
            with suppress(ValueError, OSError):  # a lower limit of the account's own stays
                resource.setrlimit(what, (most, most))

    return limit


def _kill(process: subprocess.Popen) -> None:
    """End a process and those that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _verdicts(path: Path) -> list[str]:
    """The sentences that the process has written, "" for a right answer; a line that was cut off is none."""
    found = []
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            verdict = json.loads(line)
        except ValueError:
            break
        found.append("" if verdict is None else str(verdict))
    return found
