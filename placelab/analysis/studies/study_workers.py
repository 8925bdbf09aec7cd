"""Where the tasks of a study run: in this process, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import Counter, deque
from collections.abc import Callable, Container, Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from itertools import chain, islice, takewhile
from time import monotonic
from typing import Any

from placelab.analysis.comparing import Row
from placelab.analysis.studies.study_cells import Task, Treatment, lost, run_task
from placelab.base.errors import PlacelabError, UnsupportedError
from placelab.base.interrupts import need
from placelab.base.leaving import made_apart
from placelab.base.progress import patient
from placelab.base.threads import at_most, beside
from placelab.problem.problem import Problem

TICK = 0.2  # seconds between two looks at `cancel`
LOOK = 1.0  # seconds between two looks at the workers of a cluster
DEATHS = 3  # of workers that ran a task, before it is given up
AHEAD = 2  # batches of tasks per worker that are handed out, so that none waits for the next
FEW = 8  # tasks that a worker gets at once, at first
MANY = 256  # at most
GROWTH = 4  # by what they grow …
BRIEF = 0.2  # … and seconds after which it gives back those that it has not begun
Stop = Callable[[], bool]
Done = Generator[tuple[Task, list[Row]], None, None]


def in_this_process(tasks: Iterable[Task], problems: Mapping[str, Problem], plan: Treatment, stop: Stop) -> Done:
    """One task after the other."""
    yield from made_apart(lambda left: ((task, run_task(problems[task.problem], plan, task)) for task in tasks), stop)


def _completed(
    submit: Callable[[list[Task]], Future],
    queue: deque[Task],
    running: dict[Future, list[Task]],
    most: Callable[[], int],
    stop: Stop,
    take: Callable[[Future, list[Task]], list[list[Row]]],
    alone: Container[Task] = (),
) -> Done:
    """Tasks and their rows as they finish, with at most so many batches handed out; `running` has the tasks of each.

    `take` gives the rows of a batch's first tasks; the others are handed out again. Batches grow while workers complete them in
    time. Tasks in `alone` have one each; so have the last few, so that no worker waits for another one's batch.
    """
    size = FEW
    while (queue or running) and not stop():
        room = most()
        while queue and len(running) < room:
            some = list(islice(queue, max(1, min(size, len(queue) // room))))
            some = list(takewhile(lambda task: task not in alone, some)) or some[:1]
            running[submit(some)] = some
            for _ in some:
                queue.popleft()
        for future in wait(running, timeout=TICK, return_when=FIRST_COMPLETED).done:
            given = running[future]
            done = take(future, given)
            size = min(MANY, GROWTH * len(done)) if len(done) == len(given) else len(done)
            queue.extendleft(reversed(given[len(done) :]))
            yield from zip(given, done, strict=False)
            del running[future]


# ---------------------------------------------------------------- processes


def in_processes(
    tasks: Iterable[Task], problems: Mapping[str, Problem], plan: Treatment, stop: Stop, processes: int
) -> Done:
    """On a pool of processes, to each of which every problem is sent once.

    A pool breaks when one of its processes is killed. What it had been given then runs again, each task alone, so that one that
    ends its process is known; it is given up after ``DEATHS`` of them.
    """
    # This protocol keeps arrays read-only, for which the kernels are compiled.
    packed = _dumps(plan), {name: pickle.dumps(problem, pickle.HIGHEST_PROTOCOL) for name, problem in problems.items()}
    queue = deque(tasks)
    suspects = deque[Task]()
    deaths = Counter[Task]()
    while (queue or suspects) and not stop():
        alone = bool(suspects)
        running = dict[Future, list[Task]]()
        pool = ProcessPoolExecutor(
            1 if alone else processes, multiprocessing.get_context("spawn"), initializer=_start, initargs=packed
        )
        left, most = (suspects, lambda: 1) if alone else (queue, lambda: AHEAD * processes)
        try:
            yield from _completed(
                lambda some: pool.submit(_run_here, some),  # noqa: B023
                *(left, running, most, stop, lambda future, _: future.result(), tuple(suspects)),
            )
        except BrokenProcessPool:
            if not running:
                raise PlacelabError(
                    "the processes of a study end as they start; a script needs the line "
                    "if __name__ == '__main__': before what it runs"
                ) from None
            for task in chain.from_iterable(running.values()):
                deaths[task] += alone
                if deaths[task] == DEATHS:
                    yield task, lost(plan, task, f"the process that ran it ended {DEATHS} times, as if killed")
                else:
                    suspects.append(task)
        finally:
            _leave(pool, bool(running))


def _leave(pool: ProcessPoolExecutor, busy: bool) -> None:
    """End a pool; kill its processes where they are busy with tasks that are given up."""
    for process in list((pool._processes or {}).values()) if busy else ():  # from Python 3.14 on: pool.kill_workers
        process.kill()
    pool.shutdown(wait=not busy, cancel_futures=True)


_plan: Treatment | None = None
_packed: Mapping[str, bytes] = {}


def _start(plan: bytes, packed: Mapping[str, bytes]) -> None:
    """Keep what tasks refer to, and end when the process that started this one is gone."""
    global _plan, _packed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the pool
    _plan = pickle.loads(plan)  # made by the parent, as the next
    _packed = packed
    beside(_end_with_parent)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run_here(tasks: list[Task]) -> list[list[Row]]:
    assert _plan is not None
    return _brief(_problem, _plan, tasks)


def _brief(problem: Callable[[str], Problem], plan: Treatment, tasks: list[Task]) -> list[list[Row]]:
    """The rows of the first tasks, as many as begin within ``BRIEF`` seconds, one at least."""
    began = monotonic()
    rows = []
    for task in tasks:
        rows.append(_on_one_core(problem(task.problem), plan, task))
        if monotonic() > began + BRIEF:
            break
    return rows


def _on_one_core(problem: Problem, plan: Treatment, task: Task) -> list[Row]:
    """Run a task without threads of its own, since there are as many workers as cores, and when its kernels are compiled."""
    with at_most(1), patient():
        return run_task(problem, plan, task)


@lru_cache(maxsize=4)  # tasks come problem by problem
def _problem(name: str) -> Problem:
    return pickle.loads(_packed[name])


def _dumps(plan: Treatment) -> bytes:
    """Pickled for the own processes, by cloudpickle if it is there, which knows functions of a notebook."""
    try:
        import cloudpickle

        return cloudpickle.dumps(plan)
    except ImportError:
        try:
            return pickle.dumps(plan, pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UnsupportedError(
                f"a strategy or step cannot be sent to other processes ({error}); run pip install 'placelab[studies]'"
            ) from None


# ---------------------------------------------------------------- Dask


def on_cluster(
    tasks: Iterable[Task], problems: Mapping[str, Problem], plan: Treatment, stop: Stop, client: Any
) -> Done:
    """On a Dask cluster, given by client or address, which schedules, retries and moves data.

    Problems are results of tasks, which Dask computes again where a worker takes its copy along; those that a batch is the
    first to need are one result, since Dask takes milliseconds for each. They travel as one buffer: Dask would send every array
    of theirs as a message part of its own, which cost its client and scheduler a quarter of their time.
    """
    connected, own = _client(client)
    queue = deque(tasks)
    running = dict[Future, list[Task]]()
    alone = set[Task]()
    left = Counter(task.problem for task in queue)
    held: dict[str, Any] = {}
    executor = connected.get_executor(pure=False, retries=DEATHS)
    kept_plan = connected.submit(_same, plan, pure=False)

    def submit(some: list[Task]) -> Future:
        needed = dict.fromkeys(task.problem for task in some)
        if new := {name: problems[name] for name in needed if name not in held}:
            packed = pickle.dumps(new, pickle.HIGHEST_PROTOCOL)
            held.update(dict.fromkeys(new, connected.submit(_unpacked, packed, pure=False)))
        return executor.submit(_run_there, list({held[name] for name in needed}), kept_plan, some)

    def take(future: Future, given: list[Task]) -> list[list[Row]]:
        try:
            return future.result()
        except CancelledError:
            _check(connected)
            raise PlacelabError(GONE) from None
        except Exception as error:  # as KilledWorker, after several workers that ran it have died
            if len(given) == 1:
                return [lost(plan, given[0], f"{type(error).__name__}: {error}")]
            alone.update(given)
            return []

    try:
        most = _ahead(connected)
        for task, rows in _completed(submit, queue, running, most, lambda: stop() or _check(connected), take, alone):
            yield task, rows
            left[task.problem] -= 1
            if not left[task.problem]:
                del held[task.problem]
    finally:
        for future in running:
            future.cancel()
        if own:
            connected.close()


def _same(value: Any) -> Any:
    return value


def _unpacked(packed: bytes) -> dict[str, Problem]:
    """What `packed` holds. As a function of placelab it is known to a new worker only when that has imported placelab.

    Under ``pickle.loads`` alone the worker's thread imported it beside the loop that read the next task: a deadlock of imports.
    """
    return pickle.loads(packed)


def _run_there(problems: list[dict[str, Problem]], plan: Treatment, tasks: list[Task]) -> list[list[Row]]:
    return _brief({name: problem for some in problems for name, problem in some.items()}.__getitem__, plan, tasks)


def _ahead(client: Any) -> Callable[[], int]:
    """How many batches are to be handed out, now; workers that come or go are noticed within ``LOOK`` seconds."""
    seen = -LOOK
    threads = 0

    def most() -> int:
        nonlocal seen, threads
        if monotonic() - seen >= LOOK:
            try:
                seen = monotonic()
                threads = sum(client.nthreads().values())
            except OSError:  # dask's CommClosedError is one
                raise PlacelabError(GONE) from None
        return AHEAD * max(threads, 1)

    return most


GONE = "the Dask cluster gave up the study's tasks; start it again and repeat the call, which goes on with the rows in its path"


def _check(client: Any) -> bool:
    """False; PlacelabError when the scheduler is gone."""
    if client.status != "running":
        raise PlacelabError(GONE)
    return False


def _client(given: Any) -> tuple[Any, bool]:
    """A connected client, and whether it is to be closed."""
    need("distributed")
    from distributed import Client

    if isinstance(given, Client):
        return given, False
    if not isinstance(given, str):
        raise UnsupportedError(f"client is {given!r:.60}; expected a dask.distributed.Client or a scheduler's address")
    try:
        return Client(given, set_as_default=False), True
    except (OSError, ValueError) as error:
        raise UnsupportedError(f"no Dask scheduler answers at {given}: {error}") from None
