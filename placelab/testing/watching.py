"""Watch what runs while an answer is called: which of placelab's own strategies, where the exercise is to write one."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from types import CodeType, FrameType
from typing import Any, TypeVar

from placelab.base.errors import FormatError, described
from placelab.base.places import PACKAGE
from placelab.schedule.catalogue import partitioners, schedulers

T = TypeVar("T")
Forbidden = str | Callable
# Studies run strategies in other processes, where these cannot be seen.
ROOMS = {
    "partitioners": (PACKAGE / "strategies" / "partitioning", PACKAGE / "analysis" / "studies"),
    "schedulers": (PACKAGE / "strategies" / "scheduling", PACKAGE / "analysis" / "studies"),
    "simulation": (PACKAGE / "simulation", PACKAGE / "analysis" / "studies"),
}


_watching: ContextVar[Watch | None] = ContextVar("watching", default=None)


class Called(Exception):
    """An answer has called what it must not; the text is the name of that."""


class Watch:
    """Find out whether a call runs what is forbidden, under whatever name it is called and however it was imported.

    Parameters
    ----------
    forbid
        ``"partitioners"``, ``"schedulers"`` or ``"simulation"``, which stand for all that placelab has; the name of one of its
        strategies; or a function, such as ``pl.best_known``.

    Notes
    -----
    Python's profiler hook tells each call in the thread of the answer, and in those that placelab starts for it, which have its
    context; the threads of an explorer have not. An answer that takes the hook away, or starts a thread or process of its own, is
    not found: this finds shortcuts, and is no lock. Calls take up to twice as long.
    """

    def __init__(self, forbid: Iterable[Forbidden]) -> None:
        self._codes: dict[CodeType, str] = {}
        self._folders: list[str] = []
        for what in (forbid,) if isinstance(forbid, str) else forbid:
            self._add(what)
        self._verdicts: dict[CodeType, str] = {}
        self._seen = ""

    def __bool__(self) -> bool:
        return bool(self._codes or self._folders)

    def run(self, call: Callable[[], T]) -> T:
        """What a call returns; Called, if it runs what is forbidden, even if it catches errors or raises one."""
        if not self:
            return call()
        self._seen = ""
        before, of_threads = sys.getprofile(), threading.getprofile()
        context = _watching.set(self)
        sys.setprofile(self._look)
        threading.setprofile(self._look)  # of threads that start from now on
        try:
            result = call()
        except Exception as error:
            if self._seen:
                raise Called(self._seen) from error
            raise
        finally:
            sys.setprofile(before)
            threading.setprofile(of_threads)  # type: ignore[arg-type]
            _watching.reset(context)
        if self._seen:
            raise Called(self._seen)
        return result

    def around(self, function: Callable) -> Any:
        """The function, watched at each call; a strategy keeps its attributes."""

        @functools.wraps(function)
        def watched(*arguments: Any, **options: Any) -> Any:
            return self.run(partial(function, *arguments, **options))

        return watched if self else function

    def _add(self, what: Forbidden) -> None:
        if isinstance(what, str) and what in ROOMS:
            self._folders += map(str, ROOMS[what])
            return
        name = getattr(what, "__name__", what)
        entry = (partitioners().get(what) or schedulers().get(what)) if isinstance(what, str) else what
        code = getattr(inspect.unwrap(entry), "__code__", None) if callable(entry) else None
        if code is None:
            raise FormatError(
                f"forbid has {described(what) if not isinstance(what, str) else repr(what)}; expected {', '.join(ROOMS)}, "
                "the name of a strategy or a function"
            )
        self._codes[code] = str(name)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or self._seen or _watching.get() is not self:
            return
        code = frame.f_code
        verdict = self._verdicts.get(code)
        if verdict is None:
            verdict = self._verdicts[code] = self._name(code)
        self._seen = verdict

    def _name(self, code: CodeType) -> str:
        """What the code is called, if it is forbidden, else ""."""
        if code in self._codes:
            return self._codes[code]
        inside = code.co_filename.startswith(tuple(self._folders))
        return code.co_name.strip("_").replace("_", "-") if inside and not code.co_name.startswith("<") else ""
