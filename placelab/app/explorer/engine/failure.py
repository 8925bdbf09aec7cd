"""Why there is no result: a sentence, and the part of the traceback that concerns a user."""

from __future__ import annotations

import linecache
import os
import sysconfig
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from placelab.app.explorer.state import State
from placelab.base.errors import LONGEST, PlacelabError
from placelab.base.files import PACKAGE

INSTALLED = tuple({sysconfig.get_path(scheme) for scheme in ("stdlib", "platstdlib", "purelib", "platlib")})
LONGEST_TRACEBACK = 10_000  # characters


@dataclass(frozen=True, eq=False)
class Failure:
    """Why there is no result.

    Attributes
    ----------
    error
        What a cell that asks for the schedule gets.
    sentence
        What went wrong, on one line.
    traceback
        The calls from the first line outside placelab on, of all where that is none; "" for errors of
        placelab that no such line has raised.
    place
        Function and file of the last line outside placelab; "" for none.
    code
        Number and text of that line, which is the one marked, and of those around it.
    cell
        Text of the cell that it is in; "" where it is in none.
    """

    error: Exception
    sentence: str
    traceback: str
    place: str = ""
    code: tuple[tuple[int, str, bool], ...] = ()
    cell: str = ""

    @property
    def where(self) -> dict[str, object]:
        """Text and line of the cell; {} for none."""
        line = next((n for n, _, marked in self.code if marked), 1)
        return {"source": self.cell, "line": line} if self.cell else {}

    @property
    def shown(self) -> dict[str, object]:
        """What the page shows, as :class:`placelab.app.widgets.controls.Failed` has it."""
        lines = [list(line) for line in self.code]
        return dict(
            sentence=self.sentence, place=self.place, lines=lines, traceback=self.traceback, cell=bool(self.cell)
        )


def failure_of(error: BaseException, state: State) -> Failure:
    """The failure of the strategies of a state; an exit or an interrupt that they ask for is a bug like others."""
    known = isinstance(error, PlacelabError)
    lines = traceback.extract_tb(error.__traceback__)
    first = next((i for i, line in enumerate(lines) if _is_users(line.filename)), None)
    text = sentence(error)
    if not known:
        where = [line for line in lines if _is_users(line.filename)][-1:]
        text = f"{state.placer} + {state.scheduler}: {text}" + "".join(
            f" in line {line.lineno} of {line.name}" for line in where
        )
    shown = "" if known and first is None else _trace(error, lines[first or 0 :])
    last = next((line for line in reversed(lines) if _is_users(line.filename)), None)
    place, code = ("", ()) if last is None else (_place(last), _code_around(last))
    cell = "".join(linecache.getlines(last.filename)) if last is not None and _is_cell(last.filename) else ""
    return Failure(error if isinstance(error, Exception) else PlacelabError(text), text, shown, place, code, cell)


AROUND = 2  # lines shown before the one that failed; one is after it
WIDEST = 200  # characters of a line


def _place(line: traceback.FrameSummary) -> str:
    """Where a line is: its function, and its file unless that is a cell."""
    return f"in {line.name}, {'in a cell' if _is_cell(line.filename) else os.path.basename(line.filename)}"


def _is_cell(filename: str) -> bool:
    """Whether a file name is that of a cell, as IPython and ipykernel make them up."""
    return os.path.basename(filename).startswith("<ipython-input") or f"{os.sep}ipykernel_" in filename


def _code_around(line: traceback.FrameSummary) -> tuple[tuple[int, str, bool], ...]:
    """The line and those around it; nothing where its source is not known."""
    if line.lineno is None or not linecache.getline(line.filename, line.lineno):
        return ()
    numbers = range(max(line.lineno - AROUND, 1), line.lineno + 2)
    texts = [(n, linecache.getline(line.filename, n)) for n in numbers]
    return tuple((n, text.rstrip()[:WIDEST], n == line.lineno) for n, text in texts if text)


def sentence(error: BaseException) -> str:
    """The message of an error, with its class unless it is a PlacelabError."""
    if isinstance(error, PlacelabError):
        return str(error)
    text = " ".join("".join(traceback.format_exception_only(error)).split())  # also of one whose text cannot be made
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _trace(error: BaseException, lines: Sequence[traceback.FrameSummary]) -> str:
    causes = traceback.format_exception(error.__cause__) if error.__cause__ else []
    text = "".join([*causes, *traceback.format_list(lines), *traceback.format_exception_only(error)])
    return text if len(text) <= LONGEST_TRACEBACK else f"… {text[-LONGEST_TRACEBACK:]}"


def _is_users(file: str) -> bool:
    """Whether a file is neither placelab's nor of an installed library, nor text that one has compiled, as dataclasses do."""
    folders = (f"{folder}{os.sep}" for folder in (PACKAGE, *INSTALLED))
    return not file.startswith((*folders, "<frozen", "<string>"))
