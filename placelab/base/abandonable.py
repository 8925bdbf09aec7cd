"""Run calls in a thread that can be left: whatever a strategy does, its caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing, suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, TypeVar

from placelab.base.leavable import End, end
from placelab.base.worker import PREFIX

T = TypeVar("T")
POLL = 0.05  # seconds between two calls of `stop`
GRACE = 0.5  # seconds that a call has to end by itself after `stop` has returned True
MAX_ABANDONED = 3  # abandoned calls of one key that may run on; with so many, the next call of that key waits
_left: list[tuple[Any, threading.Thread]] = []


class Abandoned(Exception):
    """The call was left; its result is discarded."""


class Caller:
    """A thread that runs one call after the other.

    Notes
    -----
    An abandoned call keeps its thread, and the next one gets another. An exception ends it if it is Python; compiled code, a
    sleep or the solver of a linear program runs on to its end. Handing a call over and its result back takes some 30 µs.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
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
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the thread after its call."""
        self._calls.put(None)
        self._thread = None

    def _start(self) -> threading.Thread:
        self._calls, self._outcomes = SimpleQueue(), SimpleQueue()
        name = f"{PREFIX}calls"
        thread = threading.Thread(target=_serve, args=(self._calls, self._outcomes), name=name, daemon=True)
        thread.start()
        self._thread = thread
        return thread

    def _leave(self, thread: threading.Thread, key: Any) -> None:
        self.close()
        _left.append((key, thread))
        threading.Thread(target=end, args=(thread, _serve.__code__), name=f"{PREFIX}ending a call", daemon=True).start()


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
