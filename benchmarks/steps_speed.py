"""Measure what goes beyond one step against budgets: many placements, read orders, iterations, jobs, training runs, pipelines.

    python benchmarks/steps_speed.py

Processor time of one public call in a warm process; a call and its yardstick alternate. ``simulate`` is a simulation of the
same placement under ``fifo``, ``draws`` what numpy takes to draw and sort as many times of failures.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from math import inf
from pathlib import Path
from unittest import mock

import numpy as np
from speed import HEAD, Row, line, take_turns
from yardstick import Yardstick

import placelab as pl
from placelab.analysis import faults
from placelab.simulation import batches

sys.path.insert(0, str(Path(__file__).with_name("quality")))
from replicated_models import job

ORDERS = {"tic": (20, 6), "tac": (500, 60), "random-reads": (20, 4)}  # budget, most times a simulation; whole calls
PLACEMENTS = 100
MAKESPANS = 33  # 3,000 a second on two cores
MAKESPANS_RATIO = 1.25  # 80 % of C's rate
RUNS = 1000
ITERATIONS = 6_000  # 3 s on two cores
ITERATIONS_RATIO = 6
FAILURES = 2_000
FAILURES_STEPS = 300
FAILURES_RUNS = 10_000
FAILURES_RATIO = 100
WORKERS = 8
BUILD = 1_000
BUILD_RATIO = 40
MICRO_BATCHES = 16
FOLD = 1_000
SCHEDULE = 500


def placements() -> Iterator[Row]:
    """A hundred placements of 3,000 ops in one call: in one thread beside C, and on all cores by the clock on the wall."""
    problem = pl.Problem(pl.generators.layered(3_000, seed=1), pl.Cluster.uniform(4))
    devices = np.random.default_rng(0).integers(0, 4, (PLACEMENTS, problem.graph.n_ops))
    yardsticks = [Yardstick(pl.Placement(problem, row)) for row in devices]
    run = partial(pl.makespans, problem, devices)
    with mock.patch.object(batches, "ENOUGH", sys.maxsize):
        ours, c = take_turns(run, lambda: [yardstick.fifo() for yardstick in yardsticks])
    what = f"{PLACEMENTS} placements"
    yield Row(f"{what}, one thread", 3_000, 4, ours, "ms", inf, f"{PLACEMENTS} × C", c, MAKESPANS_RATIO)
    spent = []
    for _ in range(20):
        begun = time.perf_counter()
        run()
        spent.append(1e3 * (time.perf_counter() - begun))
    yield Row(f"{what}, all cores, wall-clock", 3_000, 4, min(spent), "ms", MAKESPANS)


def orders() -> Iterator[Row]:
    """A simulation under each rule for read orders, on one worker and eight."""
    for workers in (1, WORKERS):
        problem = job("resnet_v2_152", workers)
        placement = pl.place(problem, "hash")
        plain = partial(pl.simulate, problem, placement, "fifo")
        for name, (budget, allowed) in ORDERS.items():
            ours, simulate = take_turns(partial(pl.simulate, problem, placement, name), plain)
            limit = budget if workers == 1 else inf
            what = f"resnet_v2_152, {workers} worker{'s' * (workers > 1)}: simulate, {name}"
            yield Row(what, problem.graph.n_ops, workers + 1, ours, "ms", limit, "simulate", simulate, allowed)


def iterations() -> Iterator[Row]:
    """A thousand random orders of Inception-V2; the yardstick is as many simulations."""
    problem = job("inception_v2", 1)
    placement = pl.place(problem, "hash")

    def simulations() -> None:
        for _ in range(RUNS):
            pl.simulate(problem, placement, "fifo")

    ours, simulate = take_turns(
        partial(pl.iterations, problem, placement, "random-reads", runs=RUNS), simulations, least=1
    )
    what = f"inception_v2: {RUNS:,} iterations"
    yield Row(what, problem.graph.n_ops, 2, ours, "ms", ITERATIONS, f"{RUNS:,} × simulate", simulate, ITERATIONS_RATIO)


def failures() -> Iterator[Row]:
    """Ten thousand runs of 300 steps with failures, as in the golden F10."""
    costs = dict(every=3, save=2.0, restore=5.0, mtbf=200.0, detect=1.0, runs=FAILURES_RUNS)
    train = partial(faults.simulate_training, 10.0, FAILURES_STEPS, **costs)
    draws = lambda: np.random.default_rng(0).exponential(200.0, (FAILURES_RUNS, FAILURES_STEPS // 10)).cumsum(1)  # noqa: E731
    ours, drawn = take_turns(train, draws)
    what = f"{FAILURES_RUNS:,} runs of {FAILURES_STEPS} steps, failures every 20 steps"
    yield Row(what, None, None, ours, "ms", FAILURES, "draws", drawn, FAILURES_RATIO)


def jobs() -> Iterator[Row]:
    """Eight workers with ResNetV2-152, trained, with servers and with all-reduce."""
    graph = pl.load("resnet_v2_152")
    for sync in ("ps", "allreduce"):
        make = partial(pl.transforms.model_replica, graph, WORKERS, sync=sync)
        made = make()
        cluster = pl.clusters.parameter_server(WORKERS) if sync == "ps" else pl.clusters.data_parallel(WORKERS)
        problem = pl.Problem(made, cluster, transfers="channel")
        placement = pl.place(problem, "hash")
        ours, simulate = take_turns(make, partial(pl.simulate, problem, placement, "fifo"))
        what = f"resnet_v2_152, {WORKERS} workers, {sync}: build"
        yield Row(what, made.n_ops, cluster.n_devices, ours, "ms", BUILD, "simulate", simulate, BUILD_RATIO)


def pipelines() -> Iterator[Row]:
    """Sixteen micro-batches of a Llama of eight layers."""
    problem = pl.Problem(pl.load("llama_8"), pl.clusters.rtx2080ti_box(4))
    placement = pl.place(problem, "contiguous", prepare="forward-only")
    fold = partial(pl.transforms.microbatches, placement, MICRO_BATCHES, split=True)
    folded = fold()
    name = f"llama_8, {MICRO_BATCHES} micro-batches"
    (ours,) = take_turns(fold)
    yield Row(f"{name}: fold", problem.graph.n_ops, 4, ours, "ms", FOLD)
    where = pl.place(folded, "hash")
    for scheduler in ("zb-h2", "zb-auto"):
        (ours,) = take_turns(partial(pl.simulate, folded, where, scheduler))
        yield Row(f"{name}: simulate, {scheduler}", folded.graph.n_ops, 4, ours, "ms", SCHEDULE)


def main() -> None:
    """Print the table as it is measured."""
    print(HEAD)
    for section in (placements, orders, iterations, failures, jobs, pipelines):
        for row in section():
            print(line(row), flush=True)


if __name__ == "__main__":
    main()
