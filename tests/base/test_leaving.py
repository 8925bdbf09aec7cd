"""Calls that are left: a thread that is to be ended is ended itself, and no other one that gets its number."""

from __future__ import annotations

import threading
from time import sleep

from placelab.base import leaving


def test_a_thread_does_not_end_while_another_raises_in_it(monkeypatch):
    """Else its number may belong to a new thread by then, whose maker would await its start for ever."""
    begun, may = threading.Event(), threading.Event()
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


def test_what_catches_everything_is_ended():
    """Within some attempts, a second apart."""
    ended = threading.Event()

    def call() -> None:
        for _ in range(2):
            try:
                while True:
                    sleep(0.01)
            except BaseException:
                pass
        ended.set()

    bottom = lambda: call()  # noqa: E731
    thread = leaving._Endable(bottom, (), "call", bottom.__code__)
    thread.start()
    thread.end()
    assert ended.is_set()
