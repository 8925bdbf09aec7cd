"""Pages in the browser: ``placelab lab`` opens JupyterLab on the tour, ``placelab explore`` the explorer alone.

Voila serves the explorer's page. It is two packages more (16 MB), has JupyterLab's widget manager, asks for a token and runs each
page in a kernel of its own. Of servers that need no jupyter-server, Solara is twelve packages (71 MB), runs all pages as threads
of one process, in which a strategy that loops would stop every page, and has no token.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from placelab.app.cli import compile_command
from placelab.app.cli.arguments import OWN, add_model, add_rules, cluster_of, command, model_of, several
from placelab.base.errors import FormatError
from placelab.base.files import shipped
from placelab.base.interrupts import need
from placelab.problem.clusters import PRESETS
from placelab.schedule.catalogue import PLANNED, UNPLANNED

if TYPE_CHECKING:
    from placelab.app.explorer import Explorer
    from placelab.app.explorer.state import State


TOUR = Path("notebooks", "00_tour.ipynb")
LOOPBACK = "127.0.0.1"


def add_to(commands: Any) -> None:
    """Add both commands to the parser's."""
    lab_command = commands.add_parser("lab", help="open JupyterLab on the tour", description=lab.__doc__)
    lab_command.set_defaults(command=lab)
    lab_command.add_argument("--directory", type=Path, default=Path(), help="folder to work in (default: this one)")
    lab_command.add_argument(
        "--port", type=int, default=8888, help="port to listen on, or the next free one (default: 8888)"
    )
    lab_command.add_argument("--no-browser", action="store_true", help="only print the address")
    _add_explore(commands)


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


MODEL = "inception_v3"
VARIABLE = "PLACELAB_EXPLORE"  # of the environment: what the page opens, as JSON
EXAMPLES = """
explore
explore dynamic_rnn --cluster pcie_box --partitioner m-etf
explore model.onnx --dimension batch=8 --cluster my_cluster.json
"""


def _add_explore(commands: Any) -> None:
    explore_command = command(commands, "explore", explore, EXAMPLES)
    add_model(explore_command, default=MODEL)
    explore_command.set_defaults(model="")  # so that a page knows whether one was asked for
    add_rules(explore_command)
    explore_command.add_argument("--partitioner", help="decides where each op runs (default: heft)")
    explore_command.add_argument(
        "--scheduler", help=f"decides which op runs next (default: {PLANNED}, or {UNPLANNED} without a plan)"
    )
    explore_command.add_argument(
        "--port", type=int, default=8866, help="port to listen on, or the next free one (default: 8866)"
    )
    explore_command.add_argument("--no-browser", action="store_true", help="only print the address")


def explore(options: argparse.Namespace) -> None:
    """Open the explorer in a browser, alone on its page.

    For this machine only, and behind a random token. Each page that is open has a kernel of its own, which ends with it.
    """
    state_of(options).problem()  # an error is said now, not on a page
    need("placelab.app.cli.page")
    from placelab.app.cli.page import serve

    wanted = {name: value for name, value in vars(options).items() if name not in ("command", "port", "no_browser")}
    os.environ[VARIABLE] = json.dumps(wanted)
    port = free_port(options.port)
    token = secrets.token_hex(24)
    compile_command.at_first()
    compile_command.in_background()
    print(f"The explorer opens at http://{LOOPBACK}:{port}/?token={token}\nControl-C ends it.", flush=True)
    serve(LOOPBACK, port, token, not options.no_browser)


def asked_for() -> Explorer:
    """The explorer that the command line has asked for; called in the kernel of its page."""
    from placelab.app.explorer import Explorer

    options = argparse.Namespace(**json.loads(os.environ[VARIABLE]))
    begins = not (options.model or options.cluster or options.partitioner)
    state = state_of(options)
    return Explorer(state, state.problem(), begins=begins)


def state_of(options: argparse.Namespace) -> State:
    """The state that the explorer opens on; raise PlacelabError for what is not there or does not fit."""
    from placelab.app.explorer.offered import GIVEN, Preset, preset
    from placelab.app.explorer.state import initial_state

    options = argparse.Namespace(**vars(options) | {"model": options.model or MODEL})
    state = initial_state(model_of(options) if options.batch or options.dimension else options.model)
    if options.cluster:
        name, cluster = cluster_of(options, state.model.graph)
        given = (state.model.cluster if name == OWN else None) or Preset(GIVEN, cluster)
        state = state.with_preset(preset(name) if name in PRESETS else given)
    changes = {label: getattr(options, label) for label in ("transfers", "latency", "seed")}
    changes["memory"] = options.memory or state.memory
    return replace(state, **changes).with_choices(options.partitioner, options.scheduler, {}, several(options.prepare))
