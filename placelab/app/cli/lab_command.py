"""``placelab lab``: open JupyterLab on the tour."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

from placelab.app.cli import compile_command
from placelab.base.errors import FormatError
from placelab.base.interrupts import need
from placelab.base.places import shipped

TOUR = Path("notebooks", "00_tour.ipynb")
LOOPBACK = "127.0.0.1"


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser("lab", help="open JupyterLab on the tour", description=lab.__doc__)
    command.set_defaults(command=lab)
    command.add_argument("--directory", type=Path, default=Path(), help="folder to work in (default: this one)")
    command.add_argument(
        "--port", type=int, default=8888, help="port to listen on, or the next free one (default: 8888)"
    )
    command.add_argument("--no-browser", action="store_true", help="only print the address")


def lab(options: argparse.Namespace) -> None:
    """Open JupyterLab on the tour, for this machine only and behind a random token."""
    directory = options.directory.resolve()
    page = "/lab/tree/" + quote(tour_in(directory).relative_to(directory).as_posix())
    port = free_port(options.port)
    token = secrets.token_hex(24)
    need("jupyterlab.labapp")
    from jupyterlab.labapp import LabApp

    compile_command.at_first()
    compile_command.in_background()

    print(f"JupyterLab opens at http://{LOOPBACK}:{port}{page}?token={token}\nControl-C ends it.", flush=True)
    LabApp.launch_instance(server_arguments(directory, page, port, token, not options.no_browser))


def free_port(first: int) -> int:
    """The first free loopback port from ``first`` on; raise OSError when there is none, or a hundred in a row are taken."""
    if not 0 < first < 65536:
        raise FormatError(f"--port is {first}; expected a number from 1 to 65535")
    for port in range(first, min(first + 100, 65536)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: a closed one may linger
            try:
                probe.bind((LOOPBACK, port))
                return port
            except OSError:
                continue
    raise OSError(f"No free port from {first} on; name another one with --port.")


def tour_in(directory: Path) -> Path:
    """Path of the tour in ``directory``: a checkout's own, else a copy, which is made once and never overwritten.

    Raises
    ------
    NotADirectoryError
        When ``directory`` is not an existing folder.
    """
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is not a folder; make it first or name another one with --directory.")
    if (directory / TOUR).is_file():
        return directory / TOUR
    copy = directory / TOUR.name
    if not copy.exists():
        shutil.copyfile(shipped(TOUR), copy)
    return copy


def server_arguments(directory: Path, page: str, port: int, token: str, browser: bool) -> list[str]:
    """Arguments for JupyterLab, passed inside this process, so that no process list shows the token."""
    arguments = [
        f"--ServerApp.ip={LOOPBACK}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={directory}",
        f"--ServerApp.open_browser={browser}",
        f"--IdentityProvider.token={token}",
        f"--LabApp.default_url={page}",
        "--log-level=WARN",
    ]
    # Jupyter refuses to run as root, since every user of the server gets its rights; this server needs a token.
    return arguments + ["--allow-root"] * (os.name == "posix" and os.geteuid() == 0)
