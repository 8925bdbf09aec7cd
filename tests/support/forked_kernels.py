"""Kernels that are forks of one process, which has imported placelab and loaded its compiled code.

A test has a kernel of its own, as if it were started anew, without the seconds of processor time that the imports take. Each is
an ordinary ipykernel. ``python forked_kernels.py parent SOCKET [MODULE…]`` is the process that forks; ``python
forked_kernels.py kernel SOCKET CONNECTION_FILE`` is what Jupyter starts: it asks for a fork, and lives as long as that does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Thread

NAME = "forked"  # of the kernel, for notebooks
STARTUP = 180.0  # seconds; all tests with a notebook fail where it is missed, as on a busy machine


@contextmanager
def offered(home: Path, environment: dict[str, str], also: Sequence[str] = ()) -> Iterator[None]:
    """Describe the kernel in Jupyter's data folder, and run the process that forks, with these modules, until the end."""
    address = str(Path(mkdtemp(prefix="placelab")) / "fork")  # a socket's name may have a hundred letters
    argv = [sys.executable, "-S", "-E", __file__, "kernel", address, "{connection_file}"]
    description = {"argv": argv, "display_name": "Python 3", "language": "python", "interrupt_mode": "message"}
    folder = Path(environment["JUPYTER_DATA_DIR"]) / "kernels" / NAME
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(description))
    with (home / "fork.log").open("w") as log:
        command = [sys.executable, __file__, "parent", address, *also]
        parent = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(Path(address), parent)
        yield
    finally:
        parent.terminate()
        parent.wait()
        rmtree(Path(address).parent)


def wait_for(address: Path, parent: subprocess.Popen) -> None:
    """Return once the process listens; RuntimeError when it does not."""
    deadline = time.monotonic() + STARTUP
    while not address.exists():
        if parent.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the process whose forks are kernels did not start")
        time.sleep(0.05)


def fork_kernels(address: str, *also: str) -> None:
    """Import what an explorer needs and these modules, and fork a kernel for each connection."""
    load()
    for name in also:
        with suppress(ImportError):
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels that end need nobody to wait for them
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            become_kernel(connection)
        connection.close()


def load() -> None:
    """Import and load what every kernel with an explorer would.

    No thread is left, which a fork would not have, and no widget, of which a page would hear.
    """
    import bokeh.plotting  # noqa: F401
    import ipykernel.kernelapp  # noqa: F401
    import ipywidgets
    import pandas

    import placelab as pl
    from placelab.app.cli import warming

    for strategy in ("heft", "m-etf"):
        warming.show(pl.solve(warming.problem(), strategy))
    ipywidgets.Widget.close_all()
    pandas.set_option("display.max_columns", 20)  # as it sets it where it is imported in a kernel


def become_kernel(connection: socket.socket) -> None:
    """Be the kernel of the connection file that is asked for; end when the process that asked does."""
    asked = json.loads(connection.makefile().readline())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.environ.pop("JPY_PARENT_PID", None)  # it is no parent of this process
    os.chdir(asked["folder"])
    Thread(target=end_with, args=(connection,), daemon=True).start()
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(["-f", asked["file"]])
    os._exit(0)


def end_with(connection: socket.socket) -> None:
    """End this process when the other end is closed."""
    connection.recv(1)
    os._exit(0)


def ask(address: str, file: str) -> None:
    """Ask for a fork with this process's folder and environment, and wait until it has ended."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        asked = {"file": file, "folder": os.getcwd(), "environment": dict(os.environ)}
        connection.sendall(json.dumps(asked).encode() + b"\n")
        connection.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "parent":
        fork_kernels(*sys.argv[2:])
    else:
        ask(*sys.argv[2:])
