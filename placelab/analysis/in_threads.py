"""Call a function for many arguments in threads, and hand out the results as they come.

Whatever simulates one problem many times does it through :func:`results`: ``makespans``, ``what_if``, ``sensitivity``,
``iterations``, the partitioner ``portfolio``. Kernels run side by side; what Python does around them takes turns.

Placements of one problem under one order share their arrays in one kernel call (``makespans``, ``cem``, ``policy-gradient``:
81 to 95 % of the rate of a C program). The others change costs or orders, each run is a call of its own: of processor time
kernels took 73 % (100 what-ifs of 20,000 ops), 74 % (31 values of a parameter, ``heft`` and ``pct``, 20,000 ops) and 12 % (1,000
iterations of 605 ops: most is drawing orders and measuring workers). Arrays shared from one run to the next saved at
most 1 % of ``what_if`` and 3 % of ``iterations``, so they are not shared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from placelab.kernels.cores import cores
from placelab.strategies import Strategy

LEAST = 2_000  # ops of a simulation below which threads would wait for each other, as Python runs in one at a time
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


def threads_for(*strategies: Any, ops: int = LEAST) -> int:
    """All cores where strategies are placelab's own, whose kernels run side by side; 1 for a user's, and for runs of few ops."""
    return cores() if ops >= LEAST and all(map(_is_own, strategies)) else 1


def _is_own(strategy: Strategy) -> bool:
    return getattr(strategy, "__module__", "").startswith("placelab.")
