"""Run one copy of a lesson in this process and write a line per exercise: ``python -m placelab.app.grading.one_copy``.

The process is started for one copy, with limits; see :mod:`placelab.app.grading.runs`.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import placelab.testing as testing
from placelab.app.grading.submitted import to_run
from placelab.base.files import PACKAGE

MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)  # lines for IPython and the shell, which are not run
CELL = 60  # seconds of a cell outside checks, whose answers have limits of their own


class Late(BaseException):
    """A cell runs for too long."""


def main(lesson: str, copy: str, verdicts: str) -> None:
    """Run a copy; `verdicts` gets a line of JSON per exercise as soon as it is checked: None for right, or a sentence."""
    shipped = {module: dict(vars(module)) for module in (sys.modules[PACKAGE.name], testing)}
    names: dict[str, Any] = {"__name__": "__main__", "display": print, "get_ipython": lambda: None}
    trouble = ""  # of the newest cell of the student's
    with Path(verdicts).open("w", encoding="utf-8") as file:
        for cell in to_run(Path(lesson), Path(copy)):
            if cell.kind == "student":
                trouble = _trouble(cell.source, names)
                continue
            for module, content in shipped.items():
                vars(module).update(content)
            sentence = _trouble(cell.source, names, limited=cell.kind != "check")
            if cell.kind == "check":
                file.write(json.dumps(trouble or sentence or None) + "\n" if sentence else "null\n")
                file.flush()
                trouble = ""


def _trouble(source: str, names: dict[str, Any], limited: bool = True) -> str:
    """Run a cell; what goes wrong, as a sentence."""
    try:
        with _alarm(CELL if limited else 0):
            exec(compile(MAGIC.sub(r"\1pass", source), "cell", "exec"), names)
    except Late:
        return f"a cell takes longer than {CELL} s"
    except AssertionError as error:
        return str(error).partition("\n")[0] or "an assertion of a cell fails"
    except BaseException as error:  # also an exit
        with suppress(Exception):
            return f"a cell fails with {type(error).__name__}: {error}".partition("\n")[0]
        return f"a cell fails with {type(error).__name__}"
    return ""


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Raise Late in a cell after some time, where the system has such a signal; else the limit of the process must do."""
    if not seconds or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main(*sys.argv[1:])
