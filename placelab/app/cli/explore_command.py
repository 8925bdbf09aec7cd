"""``placelab explore``: open the explorer alone, full page.

Voila serves the page. It is two packages more (16 MB), has JupyterLab's widget manager, asks for a token and runs each page in a
kernel of its own. Of servers that need no jupyter-server, Solara is twelve packages (71 MB), runs all pages as threads of one
process, in which a strategy that loops would stop every page, and has no token.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from placelab.app.cli import compile_command
from placelab.app.cli.arguments import OWN, add_model, add_rules, cluster_of, command, model_of, several
from placelab.app.cli.lab_command import LOOPBACK, free_port
from placelab.base.interrupts import need
from placelab.problem.clusters import PRESETS
from placelab.schedule.catalogue import PLANNED, UNPLANNED

if TYPE_CHECKING:
    from placelab.app.explorer import Explorer
    from placelab.app.explorer.state import State

MODEL = "inception_v3"
VARIABLE = "PLACELAB_EXPLORE"  # of the environment: what the page opens, as JSON
EXAMPLES = """
explore
explore dynamic_rnn --cluster pcie_box --partitioner m-etf
explore model.onnx --dimension batch=8 --cluster my_cluster.json
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    explore_command = command(commands, "explore", explore, EXAMPLES)
    add_model(explore_command, default=MODEL)
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
    need("placelab.app.cli.page.server")
    from placelab.app.cli.page import server

    wanted = {name: value for name, value in vars(options).items() if name not in ("command", "port", "no_browser")}
    os.environ[VARIABLE] = json.dumps(wanted)
    port = free_port(options.port)
    token = secrets.token_hex(24)
    compile_command.at_first()
    compile_command.in_background()
    print(f"The explorer opens at http://{LOOPBACK}:{port}/?token={token}\nControl-C ends it.", flush=True)
    server.serve(LOOPBACK, port, token, not options.no_browser)


def asked_for() -> Explorer:
    """The explorer that the command line has asked for; called in the kernel of its page."""
    from placelab.app.explorer import Explorer

    state = state_of(argparse.Namespace(**json.loads(os.environ[VARIABLE])))
    return Explorer(state, state.problem())


def state_of(options: argparse.Namespace) -> State:
    """The state that the explorer opens on; raise PlacelabError for what is not there or does not fit."""
    from placelab.app.explorer.state import GIVEN, Preset, initial_state, preset

    state = initial_state(model_of(options) if options.batch or options.dimension else options.model)
    if options.cluster:
        name, cluster = cluster_of(options, state.model.graph)
        given = (state.model.cluster if name == OWN else None) or Preset(GIVEN, cluster)
        state = state.with_preset(preset(name) if name in PRESETS else given)
    changes = {label: getattr(options, label) for label in ("transfers", "latency", "seed")}
    changes["memory"] = options.memory or state.memory
    return replace(state, **changes).with_choices(options.partitioner, options.scheduler, {}, several(options.prepare))
