"""Run a call in a thread that can be abandoned; its result is then discarded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from placelab.explorer.engine.worker import PREFIX

T = TypeVar("T")
POLL = 0.05  # seconds between two calls of `stop`
GRACE = 0.4  # seconds that a call has to end by itself after `stop` has returned True
MAX_ABANDONED = 3  # abandoned calls that may run at once; with so many, the next call is waited for
_abandoned: list[threading.Thread] = []


class Abandoned(Exception):
    """The call runs on, and its result will be discarded."""


def run_abandonable(call: Callable[[], T], stop: Callable[[], bool]) -> T:
    """Return what `call` returns, raise what it raises; raise Abandoned when it ignores `stop`.

    Parameters
    ----------
    call
        Computes and changes nothing.
    stop
        Polled while the call runs. A call that runs on for `GRACE` seconds after it has become True is abandoned.

    Notes
    -----
    The solver of a linear program, say, can be asked to stop before and after, but not in between.
    """
    outcome: dict[str, Any] = {}
    thread = threading.Thread(target=_run, args=(call, outcome), name=f"{PREFIX}abandonable call", daemon=True)
    thread.start()
    stopped_at = None
    while _runs_on(thread):
        stopped_at = (stopped_at or monotonic()) if stop() else None
        if stopped_at and monotonic() - stopped_at > GRACE and _abandon(thread):
            raise Abandoned
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _runs_on(thread: threading.Thread) -> bool:
    thread.join(POLL)
    return thread.is_alive()


def _run(call: Callable[[], Any], outcome: dict[str, Any]) -> None:
    try:
        outcome["value"] = call()
    except BaseException as error:
        outcome["error"] = error


def _abandon(thread: threading.Thread) -> bool:
    """Enter a thread among the abandoned ones; False when there are too many already."""
    _abandoned[:] = [other for other in _abandoned if other.is_alive()]
    if len(_abandoned) >= MAX_ABANDONED:
        return False
    _abandoned.append(thread)
    return True
