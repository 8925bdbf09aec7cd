"""Call the kernels once on a small problem, so that numba compiles them and keeps them on disk.

The parts are in the order in which a user of the explorer meets them. Run as ``python -m placelab.cli.warming place show``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

import placelab as pl
from placelab.errors import PlacelabError
from placelab.explorer.engine.reasons import Reasons
from placelab.explorer.engine.solving import Result
from placelab.explorer.panels.strip import strip
from placelab.explorer.state import initial_state
from placelab.widgets.gantt.gantt_chart import Gantt

BIG, SMALL = 16e9, 5e6  # bytes of a device: room for everything, and for a part of it


def problem(memory: float = BIG) -> pl.Problem:
    """A small problem with a group; each link is quicker than an op, as one bound requires."""
    graph = pl.generators.layered(30, seed=1)
    cluster = pl.Cluster.from_hosts({"a": 2, "b": 2}, memory=memory, inside=(1e15, 0.0), between=(1e14, 0.0))
    return pl.Problem(graph, cluster, memory="dynamic", groups=[list(graph.names[3:5])])


def place() -> None:
    """HEFT."""
    pl.place(problem(), "heft")


def simulate() -> None:
    """The simulator."""
    small = problem()
    pl.simulate(small, pl.Placement(small, np.zeros(small.graph.n_ops, int)), "fifo")


def show() -> None:
    """What the explorer shows of a schedule: numbers, chart, reasons."""
    with _plain():
        schedule = pl.solve(problem(), "heft", "planned")
        pl.simulate(schedule.problem, schedule.placement, "pct")
    pl.validate(schedule)
    strip(schedule, [])
    chart = Gantt()
    chart.show(schedule)
    chart.settle()
    Reasons().detail(Result(initial_state(schedule.problem), schedule, []), 5)


def strategies() -> None:
    """All strategies, the quick ones first; then those that search for seconds."""
    quick = [name for name, function in pl.partitioners().items() if not function.slow]
    for name in sorted(quick, key=lambda name: "etf" in name or "sct" in name):  # their kernels are the largest
        for room in (BIG, SMALL):
            with suppress(PlacelabError):  # no room
                placement = pl.place(problem(room), name)
                pl.simulate(placement.problem, placement, "pct")
    pl.place(problem(), "portfolio", moves=10)
    pl.bounds(problem(), lp=True)


PARTS = {part.__name__: part for part in (place, simulate, show, strategies)}


@contextmanager
def _plain() -> Iterator[None]:
    """Have kernels run as plain Python, which compiles none."""
    before = os.environ.get("PLACELAB_JIT", "1")
    os.environ["PLACELAB_JIT"] = "0"
    try:
        yield
    finally:
        os.environ["PLACELAB_JIT"] = before


if __name__ == "__main__":
    for name in sys.argv[1:]:
        PARTS[name]()
