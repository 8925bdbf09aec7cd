"""Run what can be left: whatever a strategy does, and however long it computes, its caller goes on."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from types import CodeType, FrameType
from typing import Any, TypeVar

from placelab.base.progress import compiling, patient
from placelab.base.threads import PREFIX, beside, ending

T = TypeVar("T")
TICK = 0.1  # seconds between two looks at whether to stop
GRACE = 0.5  # seconds that a thread which is left has to end by itself
AGAIN = 1.0  # seconds between two attempts to end it
FRAGILE = ("numba", "importlib", "_frozen_importlib")  # an exception in the midst of these would leave them damaged
STARTING = threading.Thread.start.__code__


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
    may = threading.Semaphore(ahead - 1)
    made = SimpleQueue[tuple[Any, BaseException | None]]()
    left = threading.Event()
    arguments = (_make_items, make, may, made, left)
    name = threading.current_thread().name
    thread = _Endable(copy_context().run, arguments, name, _make_items.__code__)
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
        beside(_leave, thread, name=name)


def _taken(made: SimpleQueue) -> tuple | None:
    with suppress(Empty):
        return made.get(timeout=TICK)
    return None


def _make_items(make: Callable, may: threading.Semaphore, made: SimpleQueue, left: threading.Event) -> None:
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


def _leave(thread: _Endable) -> None:
    thread.join(GRACE)
    thread.end()


class _Endable(threading.Thread):
    """A thread that another one can end.

    Parameters
    ----------
    target, arguments, name
        As of a thread.
    bottom
        `End` is raised above the frame that runs this code.

    Notes
    -----
    A thread's number is given to a new one as soon as it has ended. The exception would end that one, perhaps before it has said
    that it has started, which its maker awaits for ever. So a thread does not end while another is about to raise in it.
    """

    def __init__(self, target: Callable, arguments: tuple, name: str, bottom: CodeType) -> None:
        super().__init__(target=target, args=arguments, name=name, daemon=True)
        self._bottom = bottom
        self._over = False  # it runs no call any more
        self._aimed_at = False  # another thread has seen what it runs, and raises in it

    def run(self) -> None:
        """Run the call, then wait for who is about to end it."""
        try:
            super().run()
        finally:
            self._finish()

    def _finish(self) -> None:
        while True:
            try:
                self._over = True
                while self._aimed_at:
                    sleep(0.001)
                sleep(0.0)  # a call: what was raised meanwhile comes here
                return
            except End:
                pass

    def end(self) -> None:
        """Raise `End` in the thread's Python code until it has ended, even if it catches everything, or until Python ends."""
        while self.is_alive() and not ending():
            self._aimed_at = True
            frame = None if self._over else sys._current_frames().get(self.ident or 0)
            if _may_be_ended(frame, self._bottom):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(End))
            self._aimed_at = False
            self.join(AGAIN)


def _may_be_ended(frame: FrameType | None, bottom: CodeType) -> bool:
    """Whether a thread whose innermost frame this is runs a call, and in it no import, no compilation and no start of a thread.

    A thread that starts another lends it its number until that one runs. The exception would reach the new one, which would never
    say that it has started, and the first would wait for ever, with the lock of all thread pools.
    """
    if frame is None or frame.f_code is bottom:
        return False
    while frame is not None and frame.f_code is not bottom:
        if frame.f_code is STARTING or frame.f_globals.get("__name__", "").partition(".")[0] in FRAGILE:
            return False
        frame = frame.f_back
    return frame is not None


POLL = 0.05  # seconds between two calls of `stop`
MAX_ABANDONED = 3  # abandoned calls of one key that may run on; with so many, the next call of that key waits
_left: list[tuple[Any, threading.Thread]] = []


class Abandoned(Exception):
    """The call was left; its result is discarded."""


def for_good(stop: Callable[[], bool]) -> Callable[[], bool]:
    """`stop` that stays True once it was: an abandoned call may ask much later."""
    stopped = False

    def stopped_or_stop() -> bool:
        nonlocal stopped
        stopped = stopped or stop()
        return stopped

    return stopped_or_stop


class Caller:
    """A thread that runs one call after the other.

    Notes
    -----
    An abandoned call keeps its thread, and the next one gets another. An exception ends it if it is Python; compiled code, a
    sleep or the solver of a linear program runs on to its end. Handing a call over and its result back takes some 30 µs.
    """

    def __init__(self) -> None:
        self._thread: _Endable | None = None
        self._closed = False
        self._calls: SimpleQueue = SimpleQueue()
        self._outcomes: SimpleQueue = SimpleQueue()

    def run(self, call: Callable[[], T], stop: Callable[[], bool], key: Any = None) -> T:
        """Return what `call` returns, raise what it raises; raise Abandoned when it ignores `stop`.

        Parameters
        ----------
        call
            Computes and changes nothing.
        stop
            Polled while the call runs. A call that runs on for `GRACE` seconds after it has become True is abandoned.
        key
            What is called, so that few abandoned calls of it run at once; None for any number.
        """
        until = _Patience(stop)
        while key is not None and sum(other == key for other, _ in _alive()) >= MAX_ABANDONED:
            until.check()
            sleep(POLL)
        thread = self._thread or self._start()
        self._calls.put(call)
        while True:
            with suppress(Empty):
                value, error = self._outcomes.get(timeout=POLL)
                break
            try:
                until.check()
            except Abandoned:
                self._leave(thread, key)
                raise
        if self._closed:
            self._end()
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the thread after its call; that of a call which comes later, from a thread that ends, too, ends with it."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        self._calls.put(None)
        self._thread = None

    def _start(self) -> _Endable:
        self._calls = SimpleQueue()
        self._outcomes = SimpleQueue()
        thread = _Endable(_serve, (self._calls, self._outcomes), f"{PREFIX}calls", _serve.__code__)
        thread.start()
        self._thread = thread
        return thread

    def _leave(self, thread: _Endable, key: Any) -> None:
        self._end()
        _left.append((key, thread))
        beside(thread.end, name=f"{PREFIX}ending a call")


def run_abandonable(call: Callable[[], T], stop: Callable[[], bool]) -> T:
    """Run one call in a thread of its own, as :meth:`Caller.run`."""
    with closing(Caller()) as caller:
        return caller.run(call, stop)


class _Patience:
    """Raise Abandoned once `stop` has been True for `GRACE` seconds."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._since: float | None = None

    def check(self) -> None:
        self._since = (self._since or monotonic()) if self._stop() else None
        if self._since and monotonic() - self._since > GRACE:
            raise Abandoned


def _serve(calls: SimpleQueue, outcomes: SimpleQueue) -> None:
    """Run calls until None comes, or until one of them is ended."""
    with suppress(End):
        while (call := calls.get()) is not None:
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = call(), None
            except End:
                raise
            except BaseException as error:  # also an exit, which a strategy may ask for
                outcome = None, error
            outcomes.put(outcome)
            del call, outcome  # a result may be large, and the next call may be long in coming


def _alive() -> list[tuple[Any, threading.Thread]]:
    """The abandoned calls that run on."""
    _left[:] = [(key, thread) for key, thread in _left if thread.is_alive()]
    return _left
