"""Call a function for many arguments in threads, and hand out the results as they come.

Whatever simulates one problem many times does it through :func:`in_batches`, a batch being one call of the simulator's kernel
(:mod:`placelab.simulation.batches`), or through :func:`results`. Kernels run side by side; what Python does around them takes
turns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from placelab.base.cores import cores

LEAST = 2_000  # ops of a simulation below which threads would wait for each other, as Python runs in one at a time
BATCH = 200_000  # ops that a batch of runs has together, at most: 40 to 100 ms
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


def in_batches(
    call: Callable[[Sequence[Argument]], Sequence[Result]],
    arguments: Sequence[Argument],
    cancel: Callable[[], bool],
    ops: int,
    *strategies: Any,
) -> Iterator[tuple[int, Result]]:
    """As :func:`results`, where a call takes several arguments: as many as let it simulate ``BATCH`` ops, of `ops` each.

    Each core gets two batches at least; one core has them all where a strategy is a user's own, or runs are short.
    """
    threads = threads_for(*strategies, ops=ops)
    size = max(1, min(BATCH // ops, -(-len(arguments) // (2 * threads))))
    batches = [arguments[i : i + size] for i in range(0, len(arguments), size)]
    for i, found in results(call, batches, cancel, threads=threads):
        for j, result in enumerate(found):
            if j and cancel():
                return
            yield i * size + j, result


def threads_for(*strategies: Any, ops: int = LEAST) -> int:
    """All cores where strategies are placelab's own, whose kernels run side by side; 1 for a user's, and for runs of few ops."""
    return cores() if ops >= LEAST and all(map(_is_own, strategies)) else 1


def _is_own(strategy: Any) -> bool:
    return getattr(strategy, "__module__", "").startswith("placelab.")
