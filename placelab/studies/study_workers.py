"""Where the tasks of a study run: in this process, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from itertools import chain, islice
from threading import Thread
from time import monotonic
from typing import Any

from placelab.comparing import Row
from placelab.errors import PlacelabError, UnsupportedError
from placelab.kernels.cores import at_most
from placelab.problem.problem import Problem
from placelab.studies.study_cells import Plan, Task, lost, run_task

TICK = 0.2  # seconds between two looks at `cancel`
DEATHS = 3  # of workers that ran a task, before it is given up
AHEAD = 2  # batches of tasks per worker that are handed out, so that none waits for the next
BATCH = 64  # tasks at most that a process gets at once …
BRIEF = 0.2  # … and seconds after which it gives back those that it has not begun
Stop = Callable[[], bool]
Done = Generator[tuple[Task, list[Row]], None, None]


def in_this_process(tasks: Iterable[Task], problems: Mapping[str, Problem], plan: Plan, stop: Stop) -> Done:
    """One task after the other."""
    for task in tasks:
        if stop():
            return
        yield task, run_task(problems[task.problem], plan, task)


def _completed(
    submit: Callable[[list[Task]], Future],
    queue: deque[Task],
    running: dict[Future, list[Task]],
    most: int,
    stop: Stop,
    batch: Callable[[], int] = lambda: 1,
) -> Iterator[Future]:
    """Futures as they finish, with at most so many handed out; `running` has the tasks of each, `batch` of them at most.

    Of few tasks that are left each is handed out alone, so that no worker waits for another one's batch.
    """
    while (queue or running) and not stop():
        while queue and len(running) < most:
            some = list(islice(queue, max(1, min(batch(), len(queue) // (2 * most)))))
            running[submit(some)] = some
            for _ in some:
                queue.popleft()
        for future in wait(running, timeout=TICK, return_when=FIRST_COMPLETED).done:
            yield future
            del running[future]


# ---------------------------------------------------------------- processes


def in_processes(
    tasks: Iterable[Task], problems: Mapping[str, Problem], plan: Plan, stop: Stop, processes: int
) -> Done:
    """On a pool of processes, to each of which every problem is sent once.

    A pool breaks when one of its processes is killed. What it had been given then runs again, each task alone, so that one that
    ends its process is known; it is given up after ``DEATHS`` of them. Batches grow while processes complete them in time.
    """
    packed = _dumps(plan), {name: _dumps(problem) for name, problem in problems.items()}
    queue, suspects, deaths, batch = deque(tasks), deque[Task](), Counter[Task](), 1
    while (queue or suspects) and not stop():
        alone, running = bool(suspects), dict[Future, list[Task]]()
        pool = ProcessPoolExecutor(
            1 if alone else processes, multiprocessing.get_context("spawn"), initializer=_start, initargs=packed
        )
        most = 1 if alone else AHEAD * processes
        try:
            for future in _completed(
                lambda some: pool.submit(_run_here, some),  # noqa: B023
                suspects if alone else queue,
                running,
                most,
                stop,
                lambda: 1 if alone else batch,  # noqa: B023
            ):
                given, done = running[future], future.result()
                batch = min(BATCH, 2 * len(done)) if len(done) == len(given) else len(done)
                queue.extendleft(reversed(given[len(done) :]))
                yield from zip(given, done, strict=False)
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
            pool.shutdown(cancel_futures=True)


_plan: Plan | None = None
_packed: Mapping[str, bytes] = {}


def _start(plan: bytes, packed: Mapping[str, bytes]) -> None:
    """Keep what tasks refer to, and end when the process that started this one is gone."""
    global _plan, _packed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the pool
    _plan, _packed = pickle.loads(plan), packed  # made by the parent
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run_here(tasks: list[Task]) -> list[list[Row]]:
    """The rows of the first tasks, as many as begin within ``BRIEF`` seconds, one at least."""
    assert _plan is not None
    began, found = monotonic(), []
    for task in tasks:
        found.append(_on_one_core(_problem(task.problem), _plan, task))
        if monotonic() > began + BRIEF:
            break
    return found


def _on_one_core(problem: Problem, plan: Plan, task: Task) -> list[Row]:
    """Run a task without threads of its own, since there are as many workers as cores."""
    with at_most(1):
        return run_task(problem, plan, task)


@lru_cache(maxsize=4)  # tasks come problem by problem
def _problem(name: str) -> Problem:
    return pickle.loads(_packed[name])


def _dumps(value: Any) -> bytes:
    """Pickled for the own processes, by cloudpickle if it is there, which knows functions of a notebook."""
    try:
        import cloudpickle

        return cloudpickle.dumps(value)
    except ImportError:
        try:
            return pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UnsupportedError(
                f"a strategy or step cannot be sent to other processes ({error}); run pip install 'placelab[studies]'"
            ) from None


# ---------------------------------------------------------------- Dask


def on_cluster(tasks: Iterable[Task], problems: Mapping[str, Problem], plan: Plan, stop: Stop, client: Any) -> Done:
    """On a Dask cluster, given by client or address, which schedules, retries and moves data.

    Problems are results of tasks, which Dask computes again where a worker takes its copy along.
    """
    connected, own = _client(client)
    queue = deque(tasks)
    left = Counter(task.problem for task in queue)
    running: dict[Future, list[Task]] = {}
    held: dict[str, Any] = {}
    executor = connected.get_executor(pure=False, retries=DEATHS)

    def submit(some: list[Task]) -> Future:
        (task,) = some
        for name, value in (("", plan), (task.problem, problems[task.problem])):
            if name not in held:
                held[name] = connected.submit(_same, value, pure=False)
        return executor.submit(_on_one_core, held[task.problem], held[""], task)

    try:
        most = 4 * AHEAD * max(sum(connected.nthreads().values()), 8)
        for future in _completed(submit, queue, running, most, lambda: stop() or _check(connected)):
            (task,) = running[future]
            yield task, _result(future, plan, task, connected)
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


def _result(future: Future, plan: Plan, task: Task, client: Any) -> list[Row]:
    try:
        return future.result()
    except CancelledError:
        _check(client)
        raise PlacelabError(GONE) from None
    except Exception as error:  # as KilledWorker, after several workers that ran it have died
        return lost(plan, task, f"{type(error).__name__}: {error}")


GONE = "the Dask cluster gave up the study's tasks; start it again and repeat the call, which goes on with the rows in its path"


def _check(client: Any) -> bool:
    """False; PlacelabError when the scheduler is gone."""
    if client.status != "running":
        raise PlacelabError(GONE)
    return False


def _client(given: Any) -> tuple[Any, bool]:
    """A connected client, and whether it is to be closed."""
    try:
        from distributed import Client
    except ImportError:
        raise UnsupportedError("a Dask cluster needs dask: run pip install 'placelab[studies]'") from None
    if isinstance(given, Client):
        return given, False
    if not isinstance(given, str):
        raise UnsupportedError(f"client is {given!r:.60}; expected a dask.distributed.Client or a scheduler's address")
    try:
        return Client(given, set_as_default=False), True
    except (OSError, ValueError) as error:
        raise UnsupportedError(f"no Dask scheduler answers at {given}: {error}") from None
