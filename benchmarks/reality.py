"""Compare simulated with measured step times of TensorFlow networks placed on four devices.

    pip install tensorflow-cpu==2.21.* tf_keras==2.21.*     # beside placelab, where PyTorch need not be
    python benchmarks/reality.py                            # 10 minutes; writes benchmarks/reality.md

Each network is measured on one device first: every op, the executor's overhead, a transfer by its size. With these costs eight
strategies place it; the simulator and a model of the shared cores predict step time and order. The placements, written as
GraphDefs, run in turns on the virtual CPU devices of one process, and on four worker processes. If PyTorch is installed, a
PyTorch model is measured: on GPUs if there are any, else, as a check, on the CPU. If a framework is not installed, its part of
reality.md stays unchanged.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from reality import report, torch_model
from reality.agreement import Starts
from reality.machines import MACHINES, Machine
from reality.measure import Costs, costs
from reality.networks import placed, step
from reality.predict import Prediction, predict, problem_on
from reality.runs import Observed, at_once, elsewhere, observe, session, starts

import placelab as pl

TABLE = Path(__file__).with_name("reality.md")
NETWORKS = ("recurrent_network", "dynamic_rnn", "convolutional_network")
PARTITIONERS = ("single", "m-etf", "heft", "tf-greedy", "critical-path", "m-topo", "min-cut", "random")
ROUNDS = 30
TRACED_EVERY = 5
CORES = len(os.sched_getaffinity(0))


class Result(NamedTuple):
    """One placement of one network on one machine."""

    machine: str
    network: str
    partitioner: str
    predicted: Prediction
    seconds: list[float]
    starts: list[Starts]
    elsewhere: list[str]
    at_once: int


class Case(NamedTuple):
    """One network on one machine."""

    machine: Machine
    network: str
    ops: int
    costs: Costs
    load: float
    results: list[Result]


def case(machine: Machine, network: str, partitioners: tuple[str, ...], rounds: int) -> Case:
    """Measure, place, predict, run."""
    this = step(network)
    known = costs(machine, this, rounds)
    on = problem_on(machine, this, known)
    placements = {name: pl.place(on, name) for name in partitioners}
    predictions = {name: predict(machine, known, placement, CORES) for name, placement in placements.items()}
    with ExitStack() as stack:
        sessions = {
            name: stack.enter_context(session(machine, placed(this, placement)))
            for name, placement in placements.items()
        }
        seen = observe(sessions, this, rounds, TRACED_EVERY)
    results = [result(machine, network, name, predictions[name], seen[name], on) for name in partitioners]
    return Case(machine, network, on.graph.n_ops, known, os.getloadavg()[0], results)


def result(machine: Machine, network: str, name: str, predicted: Prediction, seen: Observed, on: pl.Problem) -> Result:
    started = [starts(trace, predicted.device.keys()) for trace in seen.traces]
    moved = elsewhere(seen.traces, predicted.device, on.cluster)
    return Result(
        machine.title, network, name, predicted, seen.seconds, started, moved, at_once(seen.traces, predicted.device)
    )


def cases(machines: list[str], networks: list[str], partitioners: tuple[str, ...], rounds: int) -> Iterator[Case]:
    for network in networks:
        for label in machines:
            with MACHINES[label]() as machine:  # started anew, because workers keep the variables of the last network
                print(f"{machine.title}: {network}", file=sys.stderr)
                yield case(machine, network, partitioners, rounds)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "path", nargs="?", type=Path, default=TABLE, help="file to write; default reality.md beside this one"
    )
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--partitioners", nargs="+", default=PARTITIONERS)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"steps of each placement; default {ROUNDS}")
    given = parser.parse_args(arguments)
    if not (installed("tensorflow") or installed("torch")):
        sys.exit("neither TensorFlow nor PyTorch is installed: there is nothing to run")
    if installed("tensorflow"):
        found = []
        for one in cases(given.machines, given.networks, tuple(given.partitioners), given.rounds):
            found.append(one)
            report.save(given.path, tensorflow=report.tensorflow(found, given.rounds, TRACED_EVERY, CORES))
        print(report.summary(found))
    if installed("torch"):
        devices = torch_model.devices()
        several = torch_model.on_several(devices) if len(devices) > 1 else ()
        report.save(given.path, pytorch=report.pytorch(torch_model.on_one(devices[0]), list(several)))


def installed(framework: str) -> bool:
    return importlib.util.find_spec(framework) is not None


if __name__ == "__main__":
    main()
