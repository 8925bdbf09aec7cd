"""Imports and compilations that an interrupt does not end half-way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


def whole(call: Callable[[], T]) -> T:
    """Return what `call` returns; an interrupt is raised here at once, and the call runs on to its end in a thread of its own.

    Python raises KeyboardInterrupt anywhere in the main thread. In the midst of an import or a compilation it would leave modules
    and tables half made, on which every later call fails.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: Future[T] = Future()
    threading.Thread(target=copy_context().run, args=(_settle, outcome, call), daemon=True).start()
    return outcome.result()


def _settle(outcome: Future, call: Callable) -> None:
    try:
        outcome.set_result(call())
    except BaseException as error:
        outcome.set_exception(error)


def need(*modules: str) -> None:
    """Import modules whole, so that the import statement that follows finds them; raise ImportError where one is missing."""
    for name in modules:
        if name not in sys.modules:
            whole(lambda: import_module(name))  # noqa: B023
