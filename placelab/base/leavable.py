"""Long work in a thread that can be left, so that neither a cancelled nor an interrupted call waits for what is under way."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from types import CodeType, FrameType
from typing import Any, TypeVar

from placelab.base.compiling import compiling, patient

T = TypeVar("T")
TICK = 0.1  # seconds between two looks at whether to stop
GRACE = 0.5  # seconds that a thread which is left has to end by itself
AGAIN = 1.0  # seconds between two attempts to end it
FRAGILE = ("numba", "importlib", "_frozen_importlib")  # an exception in the midst of these would leave them damaged


class End(BaseException):
    """Raised inside a thread that is left."""


def made_apart(
    make: Callable[[Callable[[], bool]], Iterator[T]],
    stop: Callable[[], bool],
    while_compiling: Callable[[], None] = lambda: None,
    *,
    ahead: int = 1,
) -> Iterator[T]:
    """Items of an iterator that runs in a thread of its own, until `stop` returns True; what is under way then is left.

    Parameters
    ----------
    make
        Takes a function that returns True when the thread is left, and returns the iterator.
    stop
        Called before each item and ten times a second; like the next one in the caller's thread.
    while_compiling
        Called ten times a second while kernels are compiled, for which those of the thread wait.
    ahead
        How many items may be made before they are asked for, but for the first.

    Notes
    -----
    An exception ends a thread that is left if it runs Python; compiled code, a sleep or a solver runs on to its end.
    """
    may, made, left = threading.Semaphore(ahead - 1), SimpleQueue[tuple[Any, BaseException | None]](), threading.Event()
    arguments, name = (_serve, make, may, made, left), threading.current_thread().name
    thread = threading.Thread(target=copy_context().run, args=arguments, name=name, daemon=True)
    thread.start()
    try:
        while not stop():
            may.release()
            while (outcome := _taken(made)) is None:
                if compiling():
                    while_compiling()
                if stop():
                    return
            item, error = outcome
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        left.set()
        may.release()
        threading.Thread(target=_leave, args=(thread,), name=name, daemon=True).start()


def _taken(made: SimpleQueue) -> tuple | None:
    with suppress(Empty):
        return made.get(timeout=TICK)
    return None


def _serve(make: Callable, may: threading.Semaphore, made: SimpleQueue, left: threading.Event) -> None:
    """Make items as long as there may be more."""
    with suppress(End), patient(left.is_set):
        items = make(left.is_set)
        while may.acquire() and not left.is_set():
            try:
                made.put((next(items), None))
            except End:
                raise
            except BaseException as error:  # StopIteration: there are no more
                return made.put((None, error))


def _leave(thread: threading.Thread) -> None:
    thread.join(GRACE)
    end(thread, _serve.__code__)


def end(thread: threading.Thread, bottom: CodeType) -> None:
    """Raise `End` in a thread's Python code, above the frame of `bottom`, until it has ended, even if it catches everything."""
    while thread.is_alive():
        frame = sys._current_frames().get(thread.ident or 0)
        if _may_be_ended(frame, bottom):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(End))
        thread.join(AGAIN)


def _may_be_ended(frame: FrameType | None, bottom: CodeType) -> bool:
    """Whether a thread whose innermost frame this is runs a call, and no import or compilation in it."""
    if frame is None or frame.f_code is bottom:
        return False
    while frame is not None and frame.f_code is not bottom:
        if frame.f_globals.get("__name__", "").partition(".")[0] in FRAGILE:
            return False
        frame = frame.f_back
    return frame is not None
