"""The ``placelab`` command: look into models, convert them, place them, compare strategies, open the tour."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from placelab.cli import compare_command, convert_command, inspect_command, lab_command, place_command
from placelab.cli.terminal import printable
from placelab.errors import PlacelabError

COMMANDS = (lab_command, inspect_command, convert_command, place_command, compare_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: parse ``arguments`` (default: the command line's) and do what they say.

    What goes wrong is one sentence on the error stream: status 2 where the command line is to blame, else 1.
    """
    options = parser().parse_args(arguments)
    _write_what_it_can(sys.stdout, sys.stderr)
    try:
        with _quiet():
            options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        told = str(error) if isinstance(error, (PlacelabError, OSError)) else f"{type(error).__name__}: {error}"
        sys.exit(f"placelab: {printable(told)}")


def parser() -> argparse.ArgumentParser:
    """Parser of the command line; each subcommand stores the function that carries it out in ``command``."""
    top = argparse.ArgumentParser(prog="placelab", description="Placement and scheduling of machine-learning models.")
    commands = top.add_subparsers(required=True, metavar="command")
    for module in COMMANDS:
        module.add_to(commands)
    return top


@contextmanager
def _quiet() -> Iterator[None]:
    """That kernels are compiled, once for a machine, is no news here."""
    log = logging.getLogger("placelab")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _write_what_it_can(*streams: object) -> None:
    """A terminal that lacks a character shows its escape instead of failing."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
