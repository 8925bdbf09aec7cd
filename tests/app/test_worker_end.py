"""Threads of the explorer end while the kernel can still take their messages."""

from __future__ import annotations

import subprocess
import sys

import pytest
from jupyter_client import KernelManager

SCRIPT = """
import atexit, threading
atexit.register(lambda: print([t.name for t in threading.enumerate() if "placelab" in t.name]))  # as ipykernel, before
from placelab.base.threads import Worker

def work():
    begun.set()
    while worker.sleep(0.01):
        pass

begun = threading.Event()
worker = Worker(work, "sender")
worker.wake()
begun.wait()
"""


def test_workers_end_before_what_was_there_before_them() -> None:
    """When Python ends, no worker's thread is left for what a kernel registered at its start: it closes the sockets."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


SEARCHING = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from placelab.base.threads import Worker

def work():
    while True:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(begun.set).result()

begun = threading.Event()
worker = Worker(work, "search")
worker.wake()
begun.wait()
ThreadPoolExecutor(1).submit(time.sleep, 0.5)  # for which Python waits when it ends
"""


def test_a_search_that_python_ends_is_no_error() -> None:
    """No thread can be begun any more, while Python waits for those that are there: nothing is logged of that."""
    done = subprocess.run([sys.executable, "-c", SEARCHING], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""


CELL = """
import os, threading
import placelab as pl
from placelab.base.threads import Worker
explorer = pl.explore("topcuoglu")
assert explorer.settled(60)

def show(explorer=explorer, some=iter(range(10**9))):
    begun.set()
    for i in some:  # that this thread is to end does not hold it up, as where it computes
        explorer.gantt.schedule = i.to_bytes(8) * 10**5  # so large that the message is not copied

begun = threading.Event()
worker = Worker(show, "sender")
worker.wake()
begun.wait()
"""


@pytest.mark.slow
def test_nothing_is_sent_once_the_kernel_has_closed_its_sockets(tmp_path) -> None:
    """A kernel that ends while a thread shows one schedule after the other prints no error of pyzmq's."""
    manager = KernelManager(kernel_name="python3")
    with (tmp_path / "printed").open("w") as printed:
        manager.start_kernel(stderr=printed, stdout=printed)
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            reply = client.execute_interactive(CELL, timeout=90, allow_stdin=False)
            assert reply["content"]["status"] == "ok", reply["content"]
        finally:
            client.shutdown()
            manager.provisioner.process.wait(30)
            client.stop_channels()
    said = (tmp_path / "printed").read_text()
    assert "Error" not in said, said
