"""Threads of the explorer end while the kernel can still take their messages."""

from __future__ import annotations

import subprocess
import sys

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
