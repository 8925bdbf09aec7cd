"""``placelab compile``: compile the kernels before anybody waits for them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from time import monotonic, sleep
from typing import Any

from placelab.base.errors import PlacelabError
from placelab.base.threads import cores
from placelab.kernels import jit

FIRST = (  # what each of two processes compiles, since numba compiles one kernel at a time
    ("run_events",),
    ("upward", "round_to_steps", "join_across_borders", "rank_falling", "in_order", "group_transfers")
    + ("carriers", "link_items", "walk_back", "idle_gaps", "memory_changes", "memory_levels")
    + ("heads", "least_span", "least_times", "least_transfers", "longest_window", "sum_of", "mean_times")
    + ("mean_transfer", "durations", "delays", "decimal_places", "speed_ups", "add_by")
    + ("queue_bases", "in_sequence"),
)

POLL = 0.5  # seconds between two looks at what is compiled
MOST = 8  # processes; more would only wait for the one with the largest kernel


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser("compile", help="compile the kernels now", description=compile_kernels.__doc__)
    command.set_defaults(command=compile_kernels)
    command.add_argument("--first", action="store_true", help="only those that the explorer's first drag needs")
    command.add_argument("--gently", action="store_true", help="at low priority")


def compile_kernels(options: argparse.Namespace) -> None:
    """Compile the kernels, once for this machine, which otherwise happens when they are first called."""
    if jit.mode() == "plain":
        return print("Nothing to compile: kernels run as plain Python.")
    if options.gently and hasattr(os, "nice"):
        os.nice(19)
    begun = monotonic()
    if options.first:
        print("Compiling what the explorer's first drag needs, once for this machine: half a minute …", flush=True)
    shares = FIRST if options.first else ((),) if options.gently else _shares()
    running = [_process(share) for share in shares]
    if any([process.wait() for process in running]):
        raise PlacelabError("a kernel could not be compiled; the explorer works without, slower. The error is above")
    print(f"Compiled in {monotonic() - begun:.0f} s.")


def at_first() -> None:
    """Compile what the explorer's first drag needs where nobody has before, with a line of progress; Control-C leaves it.

    Does nothing where what is compiled cannot be kept: then each process compiles for itself.
    """
    if jit.mode() == "plain":
        return
    names = {name for share in FIRST for name in share}
    kernels = [kernel for kernel in _every() if kernel.__name__ in names]
    if not any(kernel.lacks_code() for kernel in kernels):
        return
    say = partial(print, file=sys.stderr, flush=True)  # the standard output has the page's address in its first line
    say("Compiling what the explorer's first drag needs, once for this machine: half a minute; Control-C skips it.")
    running = [_process(share) for share in FIRST]
    try:
        while any(process.poll() is None for process in running):
            if sys.stderr.isatty():
                say(f"\r{sum(not kernel.lacks_code() for kernel in kernels)} of {len(kernels)}", end="")
            sleep(POLL)
    except KeyboardInterrupt:  # which the processes have had, too
        return say("\nLeft. The explorer works without, slower at first.")
    failed = any(process.returncode for process in running)
    say("\rA kernel could not be compiled; the explorer works without, slower." if failed else "\rCompiled.")


def in_background() -> None:
    """Compile all kernels, if one lacks code, in a process of low priority that ends with this terminal."""
    if jit.mode() != "plain" and any(kernel.lacks_code() for kernel in _every()):
        quiet = subprocess.DEVNULL
        command = [sys.executable, "-c", "from placelab.app.cli import main; main()", "compile", "--gently"]
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)


def _every() -> Iterable[Any]:
    """All kernels; what defines them takes long to import."""
    from placelab.app.cli.warming import every

    return every()


def _shares() -> list[tuple[str, ...]]:
    """All kernels, those with most code first, each for the process that has least so far; one process per core."""
    shares: list[tuple[int, tuple[str, ...]]] = [(0, ())] * min(cores(), MOST)
    for size, name in sorted(((jit.size(kernel.function), kernel.__name__) for kernel in _every()), reverse=True):
        least, names = heappop(shares)
        heappush(shares, (least + size, (*names, name)))
    return [names for _, names in shares]


def _process(names: Sequence[str]) -> subprocess.Popen:
    wait = {**os.environ, "PLACELAB_JIT": "wait"}
    return subprocess.Popen([sys.executable, "-m", "placelab.app.cli.warming", *names], env=wait)
