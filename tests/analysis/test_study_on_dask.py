"""Studies on a real Dask cluster of several processes, any part of which is killed at random moments."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from random import Random
from time import sleep

import pandas as pd
import pytest
from support.study_programs import finish, start, stored, wait_for

import placelab as pl

# To import it here takes all processes that collect tests half a second.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("distributed"), reason="needs the extra studies"),
]

WORKERS = 2
VALUES = 25
ROWS = VALUES * 2 * 2  # two numbers of devices, two schedulers
ENVIRONMENT = os.environ | {"PLACELAB_JIT": "0"}


class LocalDask:
    """A scheduler and workers as programs of their own, of which each can be killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.workers = []
        self.start_scheduler()

    def start_scheduler(self):
        """A scheduler at a free port, with workers."""
        log = self.folder / "scheduler.log"
        log.unlink(missing_ok=True)
        command = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = self.program(command, log)
        wait_for(lambda: re.search(r"Scheduler at:\s+(tcp://\S+)", log.read_text()))
        self.address = re.search(r"Scheduler at:\s+(tcp://\S+)", log.read_text()).group(1)
        for _ in range(WORKERS):
            self.start_worker()

    def start_worker(self):
        """A worker of one thread without a nanny, so that what is killed stays away."""
        command = ["-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        command += ["--local-directory", str(self.folder), "--death-timeout", "20"]
        self.workers.append(self.program(command, self.folder / "worker.log"))

    def program(self, command, log):
        """A program that writes into a log."""
        with log.open("a") as out:
            return subprocess.Popen([sys.executable, *command], env=ENVIRONMENT, stdout=out, stderr=out)

    def kill(self, program):
        """End it as the kernel does when memory is short."""
        program.send_signal(signal.SIGKILL)
        program.wait()

    def kill_one(self, what):
        """End a worker, or the scheduler with all workers, and start the same again; the address may be another."""
        if what == "worker":
            self.kill(self.workers.pop(0))
            self.start_worker()
        else:
            self.close()
            self.workers.clear()
            self.start_scheduler()

    def close(self):
        """End all that is left."""
        for program in (*self.workers, self.scheduler):
            if program.poll() is None:
                self.kill(program)


@pytest.fixture
def cluster(tmp_path):
    """Two workers."""
    dask = LocalDask(tmp_path)
    yield dask
    dask.close()


def check(tmp_path, frame, rows=ROWS):
    """No row lost, none twice, none with an error but that of placements without a plan."""
    on_disk = stored(tmp_path)
    assert len(frame) == len(on_disk) == on_disk["key"].nunique() == rows
    assert set(frame["error"][frame["scheduler"] == "fifo"]) == {""}


def parts(tmp_path):
    """Number of files that are written."""
    return len(list(tmp_path.glob("study.parquet/*.parquet")))


def test_a_cluster_gives_the_rows_of_processes(cluster, tmp_path):
    """By a client, too; the client stays open."""
    from distributed import Client

    problems = pl.grid(pl.generators.fft(4), [2, 3], bandwidth=[1e9, 1e10])
    here = pl.study(problems, ["heft", "random"], ["fifo", "planned"], seeds=2, processes=0)
    with Client(cluster.address, set_as_default=False) as client:
        for given in (client, cluster.address):
            there = pl.study(problems, ["heft", "random"], ["fifo", "planned"], seeds=2, client=given)
            pd.testing.assert_frame_equal(here.drop(columns="seconds"), there.drop(columns="seconds"))
        assert client.status == "running"


def test_a_killed_worker_costs_a_retry(cluster, tmp_path):
    """Its tasks, and the problems it held, go to another worker."""
    with start(tmp_path, cluster.address, str(VALUES), "sluggish") as program:
        wait_for(lambda: parts(tmp_path))
        cluster.kill(cluster.workers[0])
        cluster.start_worker()
        sleep(1.0)
        cluster.kill(cluster.workers[1])
        program.communicate(timeout=120)
    assert program.returncode == 0
    computed, frame = finish(tmp_path, cluster.address, str(VALUES), "sluggish")
    assert computed == 0
    check(tmp_path, frame)


def test_a_killed_scheduler_ends_the_study_with_a_sentence(cluster, tmp_path):
    """The rows so far are kept; the same call on another cluster goes on."""
    with start(tmp_path, cluster.address, str(VALUES), "sluggish") as program:
        wait_for(lambda: parts(tmp_path))
        cluster.kill(cluster.scheduler)
        program.communicate(timeout=120)
    assert program.returncode == 1
    before = len(stored(tmp_path))
    assert 0 < before < ROWS
    cluster.start_scheduler()
    computed, frame = finish(tmp_path, cluster.address, str(VALUES), "sluggish")
    assert computed == ROWS - before
    check(tmp_path, frame)


def test_a_client_killed_at_random_moments(cluster, tmp_path):
    """Three times; the cluster stays."""
    random = Random(1)
    for _ in range(3):
        with start(tmp_path, cluster.address, str(VALUES), "sluggish") as program:
            sleep(random.uniform(1.0, 4.0))
            program.send_signal(signal.SIGKILL)
    _, frame = finish(tmp_path, cluster.address, str(VALUES), "sluggish")
    check(tmp_path, frame)


@pytest.mark.parametrize("seed", range(3))
def test_any_part_killed_at_random_moments(cluster, tmp_path, seed):
    """Workers, the scheduler and the client, in a random order, also before the first rows are written."""
    random = Random(seed)
    values = 4 * VALUES
    for what in random.sample(("worker", "worker", "scheduler", "client"), 4):
        with start(tmp_path, cluster.address, str(values), "sluggish") as program:
            sleep(random.uniform(0.5, 6.0))
            if what == "client":
                program.send_signal(signal.SIGKILL)
            else:
                cluster.kill_one(what)
                sleep(random.uniform(0.0, 2.0))
                program.send_signal(signal.SIGKILL)
    _, frame = finish(tmp_path, cluster.address, str(values), "sluggish")
    check(tmp_path, frame, 4 * ROWS)
