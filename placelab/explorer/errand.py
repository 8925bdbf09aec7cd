"""Who waits for a call that does not hear that it shall stop? Nobody: it is left behind, and what it brings is dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from placelab.explorer.worker import PREFIX

T = TypeVar("T")
LOOK = 0.05  # seconds between two looks at whether to stop
DEAF = 0.4  # seconds that a call has to hear it
MOST = 3  # calls left behind that may go on at once; with so many, the next one is waited for
_left: list[threading.Thread] = []


class LeftBehind(Exception):
    """The call goes on, and nobody waits for it."""


def send(call: Callable[[], T], stop: Callable[[], bool]) -> T:
    """What `call` returns or raises; LeftBehind when it goes on although `stop` has said True for a while.

    Notes
    -----
    For calls that compute and change nothing. The solver of a linear program, say, can be asked to stop before and after, not
    in between.
    """
    answer: dict[str, Any] = {}
    thread = threading.Thread(target=_run, args=(call, answer), name=f"{PREFIX}errand", daemon=True)
    thread.start()
    told = None
    while _goes_on(thread):
        told = (told or monotonic()) if stop() else None
        if told and monotonic() - told > DEAF and _may_leave(thread):
            raise LeftBehind
    if "error" in answer:
        raise answer["error"]
    return answer["value"]


def _goes_on(thread: threading.Thread) -> bool:
    thread.join(LOOK)
    return thread.is_alive()


def _run(call: Callable[[], Any], answer: dict[str, Any]) -> None:
    try:
        answer["value"] = call()
    except BaseException as error:
        answer["error"] = error


def _may_leave(thread: threading.Thread) -> bool:
    _left[:] = [other for other in _left if other.is_alive()]
    if len(_left) >= MOST:
        return False
    _left.append(thread)
    return True
