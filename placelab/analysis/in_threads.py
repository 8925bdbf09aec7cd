"""Call a function for many arguments in threads, and hand out the results as they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from placelab.kernels.cores import cores
from placelab.strategies import Strategy

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def results(
    call: Callable[[Argument], Result], arguments: Sequence[Argument], cancel: Callable[[], bool], *, threads: int = 1
) -> Iterator[tuple[int, Result]]:
    """Pairs (position of the argument, result), in any order; ends early when `cancel` returns True.

    `cancel` is called in the caller's thread, before each pair. An exception of a call is raised here, and ends the others.
    With one thread, all calls are made in the caller's.
    """
    if threads <= 1 or len(arguments) <= 1:
        for i, argument in enumerate(arguments):
            if cancel():
                return
            yield i, call(argument)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix=threading.current_thread().name) as pool:
        try:
            places = {pool.submit(call, argument): i for i, argument in enumerate(arguments)}
            for done in as_completed(places):
                if cancel():
                    return
                yield places[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def threads_for(*strategies: Any) -> int:
    """All cores where the strategies are placelab's own, whose kernels run side by side; 1 where a user wrote one of them."""
    return cores() if all(map(_is_own, strategies)) else 1


def _is_own(strategy: Strategy) -> bool:
    return getattr(strategy, "__module__", "").startswith("placelab.")
