"""Four devices that run a TensorFlow graph: virtual CPU devices of one process, or four worker processes.

*One process*: ``device_count={"CPU": 4}``. All devices share one pool of threads, four here, and TensorFlow runs any op of any
device on any of them: a virtual device is not exclusive. A tensor of any size goes to another device as a reference.

*Four workers*: servers with one thread each, which makes a device exclusive. Tensors are copied through sockets.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import placelab as pl

DEVICES = 4
SPEED = 1e13  # operations/s of a device that takes the measured times
# Run the placement unchanged: by default, TensorFlow copies small constants to the devices that read them.
AS_ASKED = {"TF_FLAG_enable_aggressive_constant_replication": "false"}
os.environ.update(AS_ASKED)


@dataclass(frozen=True)
class Machine:
    """Four devices that run TensorFlow graphs.

    Attributes
    ----------
    title : str
    target : str
        Address that sessions connect to; "" for this process.
    hosts : tuple of str
        Host of each device, by which placelab's writer names it in TensorFlow.
    exclusive : bool
        Whether a device runs one op at a time.
    workers : tuple of int
        Process numbers of its workers, this process excluded.
    """

    title: str
    target: str
    hosts: tuple[str, ...]
    exclusive: bool
    workers: tuple[int, ...]

    def config(self, threads: int = DEVICES) -> Any:
        """Sessions run the graph unchanged, every op on its device; `threads` are those of this process."""
        from tensorflow_profiling import unoptimised

        config = unoptimised()
        config.inter_op_parallelism_threads = threads
        config.allow_soft_placement = False
        if not self.target:
            config.device_count["CPU"] = DEVICES
        return config

    def cluster(self, latency: float = 0.0, bandwidth: float = float("inf")) -> pl.Cluster:
        """Four equal devices, joined by links of this kind."""
        names = [f"cpu:{i}" for i in range(DEVICES)]
        return pl.Cluster(
            [SPEED] * DEVICES,
            bandwidth=bandwidth,
            latency=latency,
            names=names,
            types=["cpu"] * DEVICES,
            hosts=self.hosts,
        )

    def cpu_seconds(self) -> float:
        """Processor time of its processes so far; workers' time in steps of 10 ms."""
        return process_time() + sum(_cpu_seconds(process) for process in self.workers)


@contextmanager
def one_process() -> Iterator[Machine]:
    yield Machine("one process", "", ("localhost",) * DEVICES, False, ())


@contextmanager
def four_workers() -> Iterator[Machine]:
    """Start the workers, and end them afterwards."""
    addresses = _free_addresses()
    with ExitStack() as stack:
        started = [stack.enter_context(_worker(i, addresses)) for i in range(DEVICES)]
        for process in started:
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("a TensorFlow worker did not start; run worker.py by hand to see why")
        hosts = tuple(f"worker{i}" for i in range(DEVICES))
        workers = tuple(process.pid for process in started)
        yield Machine("four workers", f"grpc://{addresses[0]}", hosts, True, workers)


MACHINES = {"process": one_process, "workers": four_workers}


@contextmanager
def _worker(index: int, addresses: list[str]) -> Iterator[subprocess.Popen]:
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), str(index), ",".join(addresses)]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with subprocess.Popen(command, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def _free_addresses() -> list[str]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(DEVICES)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]


def _cpu_seconds(process: int) -> float:
    """User and system time, from Linux's process table."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
