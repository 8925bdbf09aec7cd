"""Who cancels or interrupts a long call gets what is complete within two seconds, whatever runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from time import monotonic, sleep

import pytest
from support.study_programs import start, stored, wait_for

import placelab as pl

SOON = 8.0  # seconds: two, and what a busy machine adds; what is not left takes much longer
LONG = 20.0


def asleep():
    """Nothing but a call that runs no Python, as a kernel or a solver."""
    sleep(LONG)


def busy():
    """Python that catches everything."""
    end = monotonic() + LONG
    while monotonic() < end:
        try:
            sum(range(1000))
        except Exception:
            pass


class Clock:
    """A `cancel` that returns True from a moment after `begin` on."""

    def __init__(self):
        self.at = float("inf")

    def begin(self, *_):
        """Start the moment."""
        self.at = min(self.at, monotonic() + 0.3)

    def __call__(self):
        return monotonic() > self.at

    @property
    def late(self):
        """Seconds since it has returned True."""
        return monotonic() - self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=[asleep, busy])
def slow(request, clock):
    """A partitioner that is quick on two devices and takes long on three."""

    @pl.partitioner(slow=True, name="slow")
    def slow(problem):
        if problem.cluster.n_devices == 3:
            clock.begin()
            request.param()
        return pl.Placement(problem, [0] * problem.graph.n_ops)

    return slow


def problem(devices=3, width=3):
    """A small one."""
    return pl.Problem(pl.generators.fork_join(width), pl.Cluster.uniform(devices))


def test_compare_gives_up_the_pair_under_way(slow, clock):
    """The complete pairs are returned, which here are those of another partitioner."""
    frame = pl.compare(problem(), ["slow", "heft"], "fifo", cancel=clock)
    assert clock.late < SOON and frame["partitioner"].tolist() == ["heft"]


def test_a_study_in_this_process_gives_up_its_task(slow, clock):
    """The rows that were reported are in the table."""
    rows = []
    given = {"two": problem(2), "three": problem(3)}
    frame = pl.study(given, slow, "fifo", processes=0, progress=lambda p: rows.append(p.row), cancel=clock)
    assert clock.late < SOON and len(frame) == len(rows) == 1


def test_an_adversarial_search_gives_up_its_step(slow, clock):
    """The best problem so far is returned; there is none before the first step, which is said."""
    tried = []

    @pl.partitioner(name="later")
    def later(given):
        tried.append(given)
        return slow(problem(3) if len(tried) == 5 else given) and pl.place(given, "single")

    found = pl.adversarial(later, "heft", around=problem(2), restarts=1, steps=20, cancel=clock)
    assert clock.late < SOON and len(found.path) == 4 and found.b.makespan > 0
    clock.at = float("inf")
    with pytest.raises(pl.PlacelabError, match="cancelled before"):
        pl.adversarial(slow, "heft", around=problem(3), restarts=1, steps=20, cancel=clock)
    assert clock.late < SOON


@pytest.fixture
def endless(tmp_path):
    """A strategy for other processes: on three devices it leaves a mark and sleeps."""

    @pl.partitioner(name="endless")
    def endless(problem):
        if problem.cluster.n_devices == 3:
            (tmp_path / "asleep").touch()
            sleep(60)
        return pl.Placement(problem, [0] * problem.graph.n_ops)

    return endless


def cancelled(endless, folder, clock, **where):
    """Cancel a study when all but its endless tasks are done; the rows that were reported are in the table and on disk."""
    rows = []

    def cancel():
        if (folder / "asleep").exists() and len(rows) == 2:
            clock.begin()
        return clock()

    given = {f"{n} {i}": problem(n, 3 + i) for i in range(2) for n in (2, 3)}
    path = folder / "study.parquet"
    frame = pl.study(given, endless, "fifo", path=path, progress=lambda p: rows.append(p.row), cancel=cancel, **where)
    assert clock.late < SOON and len(frame) == len(rows) == len(stored(folder)) == 2


@pytest.mark.slow
def test_a_study_on_processes_gives_up_its_tasks(endless, tmp_path, clock):
    """The processes are killed, at whose end nobody waits."""
    cancelled(endless, tmp_path, clock, processes=3)
    begun = monotonic()
    assert len(pl.study([problem(2)], "heft", "fifo", processes=1)) == 1 and monotonic() - begun < 30


@pytest.mark.slow
def test_a_study_on_a_cluster_gives_up_its_tasks(endless, tmp_path, clock):
    """The client does not wait for the workers."""
    distributed = pytest.importorskip("distributed", reason="needs the extra studies")
    workers = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None)
    try:
        cancelled(endless, tmp_path, clock, client=workers.scheduler_address)
    finally:
        with suppress(TimeoutError):  # of workers that are asleep
            workers.close(timeout=2)


def test_an_interrupted_study_ends_at_once(tmp_path):
    """Its program ends, with the rows that were reported on disk."""
    with start(tmp_path, "", "2", "endless") as program:
        wait_for(lambda: (tmp_path / "asleep").exists() and len(list(tmp_path.glob("study.parquet/*.parquet"))))
        begun = monotonic()
        os.killpg(program.pid, signal.SIGINT)
        program.communicate(timeout=60)
    assert monotonic() - begun < SOON and len(stored(tmp_path))


@pytest.mark.parametrize("call", ["pl.compare(p, own, 'fifo')", "pl.study([p], own, 'fifo', processes=0)"])
def test_an_interrupt_is_heard_while_no_python_runs(call, tmp_path):
    """As in a kernel or a solver. Python's own end counts, too, which takes two seconds on a busy machine; a sleep takes 30."""
    asleep = tmp_path / "asleep"  # not a line that is printed: Python aborts if it ends just while its thread prints
    code = (
        "import pathlib, time, placelab as pl\n"
        f"@pl.partitioner\ndef own(problem):\n    pathlib.Path({str(asleep)!r}).touch()\n    time.sleep(30)\n"
        f"p = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))\n{call}"
    )
    environment = os.environ | {"PLACELAB_JIT": "0"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=-1, text=True) as program:
        wait_for(asleep.exists)
        begun = monotonic()
        program.send_signal(signal.SIGINT)
        _, error = program.communicate(timeout=60)
    assert monotonic() - begun < SOON
    assert error.endswith("KeyboardInterrupt\n"), error
