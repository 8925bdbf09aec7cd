"""Calls that are left: a thread that is to be ended is ended itself, and no other one that gets its number."""

from __future__ import annotations

import sys
import threading
from time import monotonic, sleep

from placelab.base import leaving


def test_a_thread_does_not_end_while_another_raises_in_it(monkeypatch):
    """Else its number may belong to a new thread by then, whose maker would await its start for ever."""
    begun = threading.Event()
    may = threading.Event()
    alive = []

    def call() -> None:
        begun.set()
        may.wait()

    thread = leaving._Endable(call, (), "call", call.__code__)

    def look(*_: object) -> bool:
        may.set()
        sleep(0.2)  # the call is over
        alive.append(thread.is_alive())
        return True

    monkeypatch.setattr(leaving, "_may_be_ended", look)
    thread.start()
    begun.wait()
    thread.end()
    assert alive == [True] and not thread.is_alive()


def test_a_thread_that_starts_another_is_not_ended_then(monkeypatch):
    """Until the new one runs it has the number of the first, so that the exception would reach it, and the first would hang."""
    starts = threading.Event()
    may = threading.Event()
    begin = threading._start_new_thread
    seen = []

    def slowly(*given: object) -> int:
        if threading.current_thread() is thread:
            starts.set()
            may.wait()
        return begin(*given)

    def call() -> None:
        threading.Thread(target=lambda: None).start()
        while len(seen) < 2:
            sleep(0.001)

    bottom = lambda: call()  # noqa: E731

    def looked() -> bool:
        return leaving._may_be_ended(sys._current_frames()[thread.ident], bottom.__code__)

    monkeypatch.setattr(threading, "_start_new_thread", slowly)
    thread = threading.Thread(target=bottom, daemon=True)
    thread.start()
    starts.wait()
    seen.append(looked())
    may.set()
    until = monotonic() + 10
    while not looked() and monotonic() < until:
        sleep(0.001)
    seen.append(looked())
    thread.join(10)
    assert seen == [False, True]


def test_a_call_after_the_end_leaves_no_thread():
    """As of an explorer that is closed while its worker is about to have something computed."""
    caller = leaving.Caller()
    assert caller.run(lambda: 1, lambda: False) == 1
    caller.close()
    before = {*threading.enumerate()}
    assert caller.run(lambda: 2, lambda: False) == 2
    until = monotonic() + 10
    while {*threading.enumerate()} - before and monotonic() < until:
        sleep(0.01)
    assert not {*threading.enumerate()} - before


def test_what_catches_everything_is_ended():
    """Within some attempts, a second apart."""
    begun = threading.Event()
    ended = threading.Event()

    def call() -> None:
        for _ in range(2):
            try:
                begun.set()
                while True:
                    sleep(0.01)
            except BaseException:
                pass
        ended.set()

    bottom = lambda: call()  # noqa: E731
    thread = leaving._Endable(bottom, (), "call", bottom.__code__)
    thread.start()
    begun.wait()  # before that, nothing catches what ends it
    thread.end()
    assert ended.is_set()
