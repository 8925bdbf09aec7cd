"""Write an exception as one sentence for the explorer, and the part of its traceback that concerns a user."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from placelab.app.explorer.state import State
from placelab.base.errors import LONGEST, PlacelabError
from placelab.base.places import PACKAGE

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
        HTML, for a ``<pre>``: the calls from the first line outside placelab on, of all where that is none; "" for errors of
        placelab that no such line has raised.
    """

    error: Exception
    sentence: str
    traceback: str

    @property
    def details(self) -> str:
        """HTML of the traceback, closed at first; "" where there is none."""
        text = f"<pre>{self.traceback}</pre>"
        return f'<details class="pl-traceback"><summary>Traceback</summary>{text}</details>' if self.traceback else ""


def failure_of(error: BaseException, state: State) -> Failure:
    """The failure of the strategies of a state; an exit or an interrupt that they ask for is a bug like others."""
    known = isinstance(error, PlacelabError)
    lines = traceback.extract_tb(error.__traceback__)
    first = next((i for i, line in enumerate(lines) if _is_users(line.filename)), None)
    text = sentence(error)
    if not known:
        where = [line for line in lines if _is_users(line.filename)][-1:]
        text = f"{state.partitioner} + {state.scheduler}: {text}" + "".join(
            f" in line {line.lineno} of {line.name}" for line in where
        )
    shown = "" if known and first is None else _trace(error, lines[first or 0 :])
    return Failure(error if isinstance(error, Exception) else PlacelabError(text), text, shown)


def sentence(error: BaseException) -> str:
    """The message of an error, with its class unless it is a PlacelabError."""
    if isinstance(error, PlacelabError):
        return str(error)
    text = " ".join("".join(traceback.format_exception_only(error)).split())  # also of one whose text cannot be made
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _trace(error: BaseException, lines: Sequence[traceback.FrameSummary]) -> str:
    causes = traceback.format_exception(error.__cause__) if error.__cause__ else []
    text = "".join([*causes, *traceback.format_list(lines), *traceback.format_exception_only(error)])
    return escape(text if len(text) <= LONGEST_TRACEBACK else f"… {text[-LONGEST_TRACEBACK:]}")


def _is_users(file: str) -> bool:
    """Whether a file is neither placelab's nor of an installed library, nor text that one has compiled, as dataclasses do."""
    return not file.startswith((str(PACKAGE), *INSTALLED, "<frozen", "<string>"))
