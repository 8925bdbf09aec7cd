"""Call the kernels once on a small problem, so that numba compiles them and keeps them on disk.

They are called in the order in which a user of the explorer meets them. Run as ``python -m placelab.app.cli.warming heft
upward``; without names, all kernels are compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np

import placelab.kernels as kernels
from placelab.analysis.faults.training_runs import simulate_training
from placelab.analysis.hand_plans import by_hand
from placelab.analysis.improving import best_move
from placelab.analysis.validation import validate
from placelab.app.explorer.engine.solving import Reasons, Result
from placelab.app.explorer.panels.numbers import strip
from placelab.app.explorer.state import initial_state
from placelab.app.widgets.gantt_chart import Gantt
from placelab.base.errors import PlacelabError
from placelab.graphs import generators
from placelab.kernels import jit
from placelab.planning.lower_bounds import bounds
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioners
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place, solve

BIG = 16e9  # bytes of a device: room for everything
SMALL = 5e6  # and for a part of it


def problem(memory: float = BIG) -> Problem:
    """A small problem with a group; each link is quicker than an op, as one bound requires."""
    graph = generators.layered(30, seed=1)
    cluster = Cluster.from_hosts({"a": 2, "b": 2}, memory=memory, inside=(1e15, 0.0), between=(1e14, 0.0))
    return Problem(graph, cluster, memory="dynamic", groups=[list(graph.names[3:5])])


def tenths() -> Problem:
    """A problem whose costs are whole in tenths of a second."""
    graph = OpGraph.from_arrays(["a", "b"], [0.5, 1.5], [(0, 1)], edge_bytes=[1.0])
    return Problem(graph, Cluster([1.0, 1.0], bandwidth=1.0))


def measured() -> Problem:
    """A problem of measured times."""
    graph = OpGraph.from_arrays(["a", "b"], [0.0, 0.0], [(0, 1)], time={"any": [1.0, 2.0]}, time_default="any")
    return Problem(graph, Cluster([1.0, 1.0], bandwidth=1.0))


def calls() -> Iterator[None]:
    """Call kernels; yield after each step."""
    small = problem()
    measured()
    simulate(small, Placement(small, np.zeros(small.graph.n_ops, int)), "fifo")
    yield
    schedule = solve(small, "heft", "planned")
    yield
    by_hand(schedule).places(small.graph.names[0], 0)
    yield
    show(schedule)
    yield
    quick = [name for name, function in partitioners().items() if not function.slow]
    for name in sorted(quick, key=lambda name: "etf" in name or "sct" in name):  # their kernels are the largest
        for room in (BIG, SMALL):
            with suppress(PlacelabError):  # no room
                placement = place(problem(room), name)
                simulate(placement.problem, placement, "pct")
            yield
    place(problem(0.42 * float(problem().graph.memory.sum())), "m-etf")  # within memory that is a limit
    place(tenths(), "heft")
    best_move(schedule)
    yield
    place(problem(), "portfolio", moves=10)
    place(problem(), "ez")
    bounds(problem(), inputs=True, lp=True)
    yield
    simulate_training(schedule, 10, every=2, failures=[1.0])
    yield


def show(schedule: Schedule) -> None:
    """What the explorer shows of a schedule: numbers, chart, reasons."""
    strip(schedule, validate(schedule))
    chart = Gantt()
    chart.show(schedule)
    chart.settle()
    Reasons().detail(Result(initial_state(schedule.problem), schedule, []), 5)


def compile_all(names: Iterable[str] = ()) -> None:
    """Compile the kernels of these names, by default all, and wait for it."""
    jit.only = left = frozenset(names)
    for _ in calls():
        if left and all(kernel.compiled for kernel in every() if kernel.__name__ in left):
            return


def every() -> list[Any]:
    """All kernels."""
    modules = [import_module(found.name) for found in walk_packages(kernels.__path__, f"{kernels.__name__}.")]
    return [value for module in modules for value in vars(module).values() if isinstance(value, jit.kernel)]


if __name__ == "__main__":
    compile_all(sys.argv[1:])
