"""Threads: how many, calls side by side, one call beside its caller, and a thread that catches up with the newest state.

Whatever simulates one problem many times does it through :func:`in_batches`, a batch being one call of the simulator's kernel
(:mod:`placelab.simulation.batches`), or through :func:`results`. Kernels run side by side; what Python does around them takes
turns.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from importlib import import_module
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakSet

_thread = threading.local()


def cores() -> int:
    """The number of threads that what is called here may start: that of the cores, or what :func:`at_most` says."""
    return getattr(_thread, "most", 0) or os.cpu_count() or 1


@contextmanager
def at_most(most: int) -> Iterator[None]:
    """Let calls in this thread use so many threads at most."""
    before = getattr(_thread, "most", 0)
    _thread.most = most
    try:
        yield
    finally:
        _thread.most = before


def beside(
    call: Callable[..., object], *arguments: Any, name: str | None = None, daemon: bool = True
) -> threading.Thread:
    """Start a thread that makes one call, and return it. With ``daemon=False`` the process ends only after the call.

    What a caller must be able to leave runs by :mod:`placelab.base.leaving`, what follows the newest state by :class:`Worker`.
    Two files start a thread themselves, as they must not import this one: ``base/interrupts.py``, which ``import placelab`` runs,
    and ``kernels/jit.py``, which may compile before Jupyter's kernel has registered what it does at exit: that would then run
    before ``_end_all``, which this file registers.
    """
    thread = threading.Thread(target=call, args=arguments, name=name, daemon=daemon)
    thread.start()
    return thread


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


log = logging.getLogger("placelab")
PREFIX = "placelab worker: "  # of its threads' names


def _is_for_the_log(record: logging.LogRecord) -> bool:
    """Keep worker warnings, as of a kernel that is being compiled, out of cell output; widgets show them."""
    return record.levelno >= logging.ERROR or not (record.threadName or "").startswith(PREFIX)


log.addFilter(_is_for_the_log)
END = 1.0  # seconds that all threads together have to end when Python does
_workers: WeakSet[Worker] = WeakSet()


class Worker:
    """A thread that calls `work` once after it has been woken, and once more if it was woken during the call.

    `work` reads the newest state when it is called, and can check `woken` to see whether that state is already outdated.
    """

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work = work
        self._name = name
        self._change = threading.Condition()
        self._woken = self._busy = self.closed = False
        self._thread: threading.Thread | None = None
        _workers.add(self)

    @property
    def woken(self) -> bool:
        """Whether the worker was woken, or closed, after the present call began."""
        return self._woken or self.closed

    @property
    def active(self) -> bool:
        """Whether a call is under way or due."""
        return self._woken or self._busy

    def wake(self) -> None:
        """Have `work` called soon."""
        with self._change:
            self._woken = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=PREFIX + self._name, daemon=True)
                self._thread.start()
            self._change.notify_all()

    def sleep(self, seconds: float) -> bool:
        """Wait inside `work`; return False as soon as the worker is woken or closed."""
        with self._change:
            self._change.wait_for(lambda: self.woken, seconds)
        return not self.woken

    def settled(self, seconds: float | None = None) -> bool:
        """Wait until no call is under way or due; return False when that takes longer than `seconds`."""
        with self._change:
            return self._change.wait_for(lambda: self.closed or not self.active, seconds)

    def close(self) -> None:
        """End the thread after the present call."""
        with self._change:
            self.closed = True
            self._change.notify_all()

    def join(self, seconds: float) -> None:
        """Wait until the thread of a closed worker has ended, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while self._next():
            try:
                self._work()
            except BaseException:  # an exit, too: the thread must survive to handle the next state
                if not ending():  # else nothing can be begun any more
                    log.exception("%s failed", self._name)
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()

    def _next(self) -> bool:
        with self._change:
            self._change.wait_for(lambda: self.woken)
            self._woken = False
            self._busy = not self.closed
            return self._busy


class Background:
    """A class that computes on the thread of its `_worker`; one that has more to end extends `close`."""

    _worker: Worker

    def settled(self, seconds: float | None = None) -> bool:
        """Wait until nothing is left to be computed; return False when that takes longer."""
        return self._worker.settled(seconds)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()


def ending() -> bool:
    """Whether Python ends: then pages are sent nothing, as a thread may go on after its kernel has closed the sockets.

    Python first waits for pools of threads, which take no calls from then on, and says so to itself alone.
    """
    return getattr(threading, "_SHUTTING_DOWN", False) or not threading.main_thread().is_alive()


if "zmq" in sys.modules:
    # With its first large message pyzmq registers what refuses all others, which must not run before the function below.
    with suppress(ImportError):
        import_module("zmq.utils.garbage")


@atexit.register
def _end_all() -> None:
    """End all threads while ipykernel can still send their messages.

    Functions registered later run first, so this one runs before ipykernel ends the thread that sends all messages. After that,
    every thread sends its own messages, and the parts of two that are sent at once mix, so that no page can read them. What is
    being sent meanwhile has `END` to arrive; nothing else is sent (:func:`ending`).
    """
    workers = list(_workers)
    until = monotonic() + END
    for worker in workers:
        worker.close()
    for worker in workers:
        worker.join(max(0.0, until - monotonic()))
