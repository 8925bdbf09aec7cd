"""The ``placelab`` command: inspect, convert, place models, compare strategies, run studies, open the explorer, compile."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TypeGuard

from placelab.app.cli import (
    compile_command,
    course_commands,
    model_commands,
    opening_commands,
    strategy_commands,
)
from placelab.app.cli.arguments import printable
from placelab.base.errors import PlacelabError

COMMANDS = (
    opening_commands,  # lab, explore
    model_commands,  # inspect, convert
    strategy_commands,  # place, compare, study
    course_commands,  # lessons, grade
    compile_command,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: parse ``arguments`` (default: the command line's) and run the command.

    An error is one sentence on the error stream; the exit status is 2 for a wrong command line, else 1.
    """
    _stand_in_for_closed_streams()
    options = parser().parse_args(arguments)
    _escape_unknown_characters(sys.stdout, sys.stderr)
    try:
        with _quiet():
            options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # as from ``| head``
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if _is_full(error):  # what is left to be written would fail, too
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"placelab: {printable(_told(error))}")


def _is_full(error: Exception) -> TypeGuard[OSError]:
    """Whether the standard output has no room, as ``/dev/full``."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG) and error.filename is None


def _told(error: Exception) -> str:
    """What went wrong, in one sentence."""
    if _is_full(error):
        return f"the output cannot be written: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename} cannot be read or written: {error.strerror}" if error.filename else error.strerror
    return str(error) if isinstance(error, (PlacelabError, OSError)) else f"{type(error).__name__}: {error}"


def parser() -> argparse.ArgumentParser:
    """Parser of the command line; ``command`` of its result is the function of the subcommand."""
    top = argparse.ArgumentParser(prog="placelab", description="Placement and scheduling of machine-learning models.")
    top.add_argument("--version", action="version", version=f"placelab {version('placelab')}")
    commands = top.add_subparsers(required=True, metavar="command")
    for module in COMMANDS:
        module.add_to(commands)
    return top


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings, as of kernels that are being compiled."""
    log = logging.getLogger("placelab")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _stand_in_for_closed_streams() -> None:
    """Drop what is written to a stream that the shell has closed; its number would else be that of the next file opened."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))


def _escape_unknown_characters(*streams: object) -> None:
    """Write characters that a terminal lacks as escapes instead of failing."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
