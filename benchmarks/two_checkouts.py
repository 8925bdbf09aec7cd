"""Measure the calls of two checkouts in turns: whatever slows the machine slows both, and each row says which one is faster.

A process per checkout, with its package and this folder's program, makes a call when it is asked to. Of each pair of calls, one
after the other, the ratio of processor times counts; a row is its median.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
LEAST = 5  # pairs of calls per row
MOST = 200
SECONDS = 2.0  # that they may take together
SLOWER = 1.03  # ratio from which a row is called slower: repeated rows of one commit differ by less
HEAD = """| what | ops | devices | {commit}, ms | here, ms | here / {commit} | |
| --- | ---: | ---: | ---: | ---: | ---: | --- |"""


def compare(commit: str, program: list[str]) -> None:
    """Print a table of the rows of `program` with the package of `commit` and with that of this checkout."""
    name = subprocess.check_output(["git", "rev-parse", "--short", commit], cwd=ROOT, text=True).strip()
    there = Path(tempfile.gettempdir()) / f"placelab-{name}"  # kept: compiling its kernels takes minutes
    if not there.exists():
        there.mkdir()
        packed = subprocess.run(["git", "archive", name, "placelab"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(there)], input=packed, check=True)
    print(HEAD.format(commit=name))
    slower = 0
    both = [Checkout(there, program), Checkout(ROOT, program)]
    while all([checkout.begin() for checkout in both]):
        pairs: list[list[float]] = []
        while len(pairs) < LEAST or (len(pairs) < MOST and sum(map(sum, pairs)) < 1e3 * SECONDS):
            turn = both if len(pairs) % 2 else both[::-1]
            times = {checkout: checkout.ask("go") for checkout in turn}
            pairs.append([float(times[checkout]) for checkout in both])
        before, now = (median(times) for times in zip(*pairs, strict=True))
        ratio = median(b / a for a, b in pairs)
        label = {checkout.ask("next") for checkout in both}
        assert len(label) == 1, f"the two measure different rows: {label}"
        slower += ratio > SLOWER
        print(
            f"| {label.pop()} | {before:.3g} | {now:.3g} | {ratio:.3f} | {'slower' if ratio > SLOWER else ''} |",
            flush=True,
        )
    for checkout in both:
        checkout.process.terminate()
    print(f"\n{slower} rows are slower than {name} by more than {100 * (SLOWER - 1):.0f} %.")


class Checkout:
    """A process that measures the package of a checkout."""

    def __init__(self, root: Path, program: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": str(root)}
        self.process = subprocess.Popen(
            [sys.executable, *program],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> bool:
        """Wait until there is a call to measure; False: there are no more, or this package lacks what the next one needs."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip() == "ready"

    def ask(self, what: str) -> str:
        """The answer to ``go``, milliseconds, or to ``next``, the row's label."""
        assert self.process.stdin is not None
        print(what, file=self.process.stdin, flush=True)
        return self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit(f"the measurement in {self.process.args} ended early")
        return line


def when_asked(call: Callable, *yardsticks: Callable, **limits: float) -> list[float]:
    """As ``speed.take_turns`` to its caller, but a call is made whenever ``go`` is read, until ``next``."""
    call()
    print("ready", flush=True)
    while sys.stdin.readline().strip() == "go":
        begun = time.process_time()
        call()
        print(1e3 * (time.process_time() - begun), flush=True)
    return [1.0] * (1 + len(yardsticks))


def answer(rows: Iterable) -> None:
    """Measure row by row; the first row that this package cannot run is the end."""
    try:
        for row in rows:
            print(f"{row.what} | {row.ops or ''} | {row.devices or ''}", flush=True)
    except Exception as error:
        print(f"{os.environ['PYTHONPATH']} ends here: {error}", file=sys.stderr)
    print("end", flush=True)
