"""Measure public calls against their budgets: one table, in milliseconds of processor time per call.

    python benchmarks/speed.py [--ops N …] [--devices N …] [--json PATH] [--against COMMIT]

A row's call and its yardstick alternate in one process, so that a busy or slow machine slows both; medians are shown.
``C`` is simulate.c beside this file; ``simulate`` is placelab's own (parallel transfers, fifo) on the same problem.
With ``--against`` the rows are those of another commit and of this checkout instead, in turns: see two_checkouts.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf, log
from pathlib import Path
from statistics import median

os.environ.setdefault("PLACELAB_JIT", "wait")  # before the first kernel, so that no compilation is measured

import numpy as np
import two_checkouts
from yardstick import MODELS, Yardstick

import placelab as pl

SIZES = (3_000, 22_000, 1_000_000)
FEW = 10, 4  # ops and devices of a call that is nothing but its own cost
DEVICES = (4, 50)
SCHEDULERS = ("fifo", "pct")

# Milliseconds at each of SIZES, and the most that a call may take as a multiple of its yardstick.
SIMULATE = {4: (0.75, 6, 500), 50: (0.9, 8, 600)}
SHORT = {"fifo": 0.060, "pct": 0.080}  # milliseconds of a simulation of FEW
C_RATIO = 1.25
RANKS = (0.1, 0.8, 60)
RANKS_RATIO = 0.3
GREEDY = dict.fromkeys(DEVICES, (2, 15, 600)), dict.fromkeys(DEVICES, 2)
PARTITIONERS = {
    "heft": ({4: (1, 12, 9_000), 50: (3, 40, 20_000)}, {4: 3, 50: 6}),
    **dict.fromkeys(("tf-greedy", "critical-path", "mite", "dfs"), GREEDY),
    "m-etf": ({4: (3, 25, None), 50: (25, 170, None)}, {4: 6, 50: 25}),  # None: not at this size
}
FAIR = 90
FAIR_RATIO = 10
LINKS = {  # of 8 devices on 2 hosts
    "pairs alone": {},
    "two uplinks": {"up": (12e9, [("host0", "host1")]), "down": (12e9, [("host1", "host0")])},
    "a bus": {"bus": (24e9, [("*", "*")])},
    "a card each": {
        f"{d} {way}": (12e9, [(d, "*") if way == "out" else ("*", d)]) for d in range(8) for way in ("in", "out")
    },
}
EXPORTS = {"html": (6_000, 20), "csv": (6_000, 20)}  # of the last of SIZES: milliseconds, multiples of its simulation
LOAD = 150
VALIDATE = 100
IMPORT = 1_000
FIRST = 1_500
GROWTH = 1.2
BYTES = 400


@dataclass(frozen=True)
class Row:
    """One line of the table; None where a column does not apply."""

    what: str
    ops: int | None
    devices: int | None
    value: float
    unit: str
    budget: float
    yardstick: str = ""
    yardstick_ms: float | None = None
    allowed: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times its yardstick the call takes."""
        return None if self.yardstick_ms is None else self.value / self.yardstick_ms

    @property
    def verdict(self) -> str:
        """Within budget and allowed ratio, or which of them is exceeded."""
        over = [self.value > self.budget and "budget", self.ratio is not None and self.ratio > self.allowed and "ratio"]
        return "over " + " and ".join(filter(None, over)) if any(over) else "within"


def take_turns(*calls: Callable, least: int = 3, most: int = 200, seconds: float = 0.5) -> list[float]:
    """Median processor time of each call [ms], all called in turn until `seconds` are spent, after one round that warms up."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(most + 1):
        for call, spent in zip(calls, times, strict=True):
            begun = time.process_time()
            call()
            spent.append(time.process_time() - begun)
        if len(times[0]) > least and sum(map(sum, times)) > seconds:
            break
    return [1e3 * median(spent[1:]) for spent in times]


def placement(graph: pl.OpGraph, devices: int, transfers: str = "parallel") -> pl.Placement:
    """Ops on random devices: more transfers, and so more work, than with a partitioner."""
    problem = pl.Problem(graph, pl.Cluster.uniform(devices), transfers=transfers)
    return pl.Placement(problem, np.random.default_rng(0).integers(0, devices, graph.n_ops))


def simulations(graph: pl.OpGraph, size: int, devices: Sequence[int]) -> Iterator[Row]:
    """Every transfer model with both orders, against C."""
    for k in devices:
        for transfers in MODELS:
            placed = placement(graph, k, transfers)
            yardstick = Yardstick(placed)
            for scheduler in SCHEDULERS:
                hand_written = getattr(yardstick, scheduler)
                assert hand_written() == pl.simulate(placed.problem, placed, scheduler).makespan
                ours, c = take_turns(lambda p=placed, s=scheduler: pl.simulate(p.problem, p, s), hand_written)
                budget = SIMULATE[k][size]
                yield Row(f"simulate {transfers}, {scheduler}", graph.n_ops, k, ours, "ms", budget, "C", c, C_RATIO)


def short_calls() -> Iterator[Row]:
    """A simulation of a few ops, a hundred times."""
    placed = placement(pl.generators.layered(FEW[0], seed=1), FEW[1])
    for scheduler, budget in SHORT.items():
        hundred = lambda s=scheduler: [pl.simulate(placed.problem, placed, s) for _ in range(100)]  # noqa: E731
        yield Row(f"simulate parallel, {scheduler}", *FEW, take_turns(hundred)[0] / 100, "ms", budget)


def sharing(graph: pl.OpGraph) -> Iterator[Row]:
    """Links that transfers share, against the same without contention."""
    cluster = pl.Cluster.from_hosts({"host0": 4, "host1": 4}, inside=(12e9, 50e-6), between=(12e9, 50e-6))
    for what, links in LINKS.items():
        plain = pl.Problem(graph, cluster.replace(links=links))
        placed = pl.Placement(plain, np.random.default_rng(0).integers(0, 8, graph.n_ops))
        shared = pl.Placement(plain.replace(transfers="fair"), placed.device)
        calls = (lambda p=p: pl.simulate(p.problem, p, "fifo") for p in (shared, placed))
        ours, simulate = take_turns(*calls, least=1)
        yield Row(f"simulate fair, {what}", graph.n_ops, 8, ours, "ms", FAIR, "simulate", simulate, FAIR_RATIO)


def planning(graph: pl.OpGraph, size: int, devices: Sequence[int]) -> Iterator[Row]:
    """Ranks and partitioners, against a simulation of the same problem."""
    for k in devices:
        placed = placement(graph, k)
        problem = placed.problem

        def against(what: str, call: Callable, budget: float, allowed: float, placed=placed, k=k) -> Row:
            ours, simulate = take_turns(call, lambda: pl.simulate(placed.problem, placed, "fifo"), least=1)
            return Row(what, graph.n_ops, k, ours, "ms", budget, "simulate", simulate, allowed)

        if k == DEVICES[0]:  # ranks use means over devices, so the number of devices hardly matters
            both = lambda p=problem: (pl.upward_rank(p), pl.downward_rank(p))  # noqa: E731
            yield against("upward and downward rank", both, RANKS[size], RANKS_RATIO)
        for name, (budget, allowed) in PARTITIONERS.items():
            if budget[k][size] is not None:
                yield against(name, lambda p=problem, s=name: pl.place(p, s), budget[k][size], allowed[k])


def files_and_checks(graph: pl.OpGraph) -> Iterator[Row]:
    """Reading a graph from disk, validating a schedule."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        graph.save(path)
        yield Row("load placelab JSON", graph.n_ops, None, *take_turns(lambda: pl.load(path)), "ms", LOAD)
    placed = placement(graph, 4)
    schedule = pl.simulate(placed.problem, placed, "fifo")
    yield Row("validate", graph.n_ops, 4, *take_turns(lambda: pl.validate(schedule)), "ms", VALIDATE)


def exports(graph: pl.OpGraph) -> Iterator[Row]:
    """Files of a schedule, against its simulation."""
    problem = pl.Problem(graph, pl.Cluster.uniform(4))
    placed = pl.place(problem, "hash")
    schedule = pl.simulate(problem, placed, "fifo")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, (budget, allowed) in EXPORTS.items():
            path = Path(folder) / f"schedule.{suffix}"
            write = partial(getattr(pl.export, suffix), schedule, path)
            ours, simulate = take_turns(write, lambda: pl.simulate(problem, placed, "fifo"), least=1)
            yield Row(f"export {suffix.upper()}", graph.n_ops, 4, ours, "ms", budget, "simulate", simulate, allowed)


def starting(runs: int = 3) -> Iterator[Row]:
    """A fresh interpreter, kernels in the cache."""
    first = (
        "p = placelab.Problem(placelab.generators.fork_join(5), placelab.Cluster.uniform(2));"
        "placelab.simulate(p, placelab.Placement(p, [0, 1, 0, 1, 0, 1, 0]))"
    )
    for what, code, budget in (("import", "", IMPORT), ("import and first simulate", first, FIRST)):
        script = (
            f"import time; begun = time.process_time(); import placelab; {code}\nprint(time.process_time() - begun)"
        )
        spent = [float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(runs)]
        yield Row(what, None, None, 1e3 * median(spent), "ms", budget)


def memory(graph: pl.OpGraph) -> Row:
    """Peak memory that one simulation allocates, its result included, per op and transfer."""
    placed = placement(graph, 4)
    pl.simulate(placed.problem, placed, "pct")
    tracemalloc.start()
    schedule = pl.simulate(placed.problem, placed, "pct")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    each = peak / (graph.n_ops + len(schedule.transfers))
    return Row("memory of simulate", graph.n_ops, 4, each, "B/(op + transfer)", BYTES)


def growth(rows: list[Row]) -> Iterator[Row]:
    """Exponent x of time ~ ops^x between the two larger sizes, for calls that should be nearly linear."""
    small, large = SIZES[1:]
    times = {(r.what, r.devices, r.ops): r.value for r in rows}
    for what in ("simulate parallel, fifo", "simulate channel, pct", "upward and downward rank", "tf-greedy"):
        exponent = log(times[what, 4, large] / times[what, 4, small]) / log(large / small)
        yield Row(f"growth of {what}", large, 4, exponent, "exponent", GROWTH)


def rows(sizes: Sequence[int], devices: Sequence[int]) -> Iterator[Row]:
    """The whole table, row by row."""
    yield from short_calls()
    done = []
    for n_ops in sizes:
        size = SIZES.index(n_ops)
        graph = pl.generators.layered(n_ops, seed=1)
        for row in [*simulations(graph, size, devices), *planning(graph, size, devices), memory(graph)]:
            done.append(row)
            yield row
        if n_ops == SIZES[1]:
            yield from sharing(graph)
            yield from files_and_checks(graph)
        if n_ops == SIZES[2]:
            yield from exports(graph)
    if set(SIZES[1:]) <= set(sizes) and DEVICES[0] in devices:
        yield from growth(done)
    yield from starting()


def line(row: Row) -> str:
    """A row of the Markdown table."""
    number = lambda x: "" if x in (None, inf) else f"{x:.3g}" if x < 100 else f"{x:,.0f}"  # noqa: E731
    against = "" if row.ratio is None else f"{row.yardstick} {number(row.yardstick_ms)}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} of {row.allowed:g}"
    value = f"{number(row.value)} {row.unit}"
    budget = number(row.budget)
    cells = [row.what, number(row.ops), number(row.devices), value, budget, against, ratio, row.verdict]
    return f"| {' | '.join(cells)} |"


HEAD = """| what | ops | devices | measured | budget | yardstick, ms | ratio | verdict |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""


def timed_rows(sizes: Sequence[int], devices: Sequence[int]) -> Iterator[Row]:
    """Rows of calls that :func:`take_turns` measures."""
    yield from short_calls()
    for n_ops in sizes:
        size = SIZES.index(n_ops)
        graph = pl.generators.layered(n_ops, seed=1)
        yield from simulations(graph, size, devices)
        yield from planning(graph, size, devices)
        if n_ops == SIZES[1]:
            yield from files_and_checks(graph)
    if SIZES[1] in sizes:  # last: commits before a cluster had links end here
        yield from sharing(pl.generators.layered(SIZES[1], seed=1))


def main() -> None:
    """Print the table as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ops",
        nargs="+",
        type=int,
        choices=SIZES,
        default=SIZES,
        help="sizes; without the million half a minute, not three",
    )
    parser.add_argument("--devices", nargs="+", type=int, choices=DEVICES, default=DEVICES)
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--against", metavar="COMMIT", help="measure another commit and this checkout in turns")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)  # be one of the two
    options = parser.parse_args()
    if options.answer:
        global take_turns
        take_turns = two_checkouts.when_asked
        two_checkouts.answer(timed_rows(options.ops, options.devices))
        return
    if options.against:
        chosen = ["--ops", *map(str, options.ops), "--devices", *map(str, options.devices)]
        two_checkouts.compare(options.against, [__file__, "--answer", *chosen])
        return
    print(HEAD)
    measured = []
    for row in rows(options.ops, options.devices):
        measured.append(row)
        print(line(row), flush=True)
    if options.json:
        records = [{**asdict(row), "ratio": row.ratio, "verdict": row.verdict} for row in measured]
        options.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
