"""Hash every placement and schedule of all strategies on thirteen problems: ``python tests/golden/hashes.py [--write]``.

A change that is meant to keep results prints nothing. A change that is meant to alter some prints exactly the pairs that it
alters; ``--write`` then records them in ``hashes.txt``, and the commit says why.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np

import placelab as pl

RECORD = Path(__file__).with_name("hashes.txt")
PATIENT = {name: {"time_limit": 3600.0} for name in ("cp-sat", "ilp", "portfolio")}  # a busy machine changes no result


def thirteen() -> dict[str, pl.Problem]:
    """Problems of every transfer and memory model: ties, groups, pins, scarce memory, measured times, Sends; some real."""
    random = pl.generators.layered
    box = pl.clusters.pcie_box(4)
    unequal = pl.Cluster([1e9, 2e9, 4e9], memory=[6e7, 8e7, 9e7], bandwidth=[[1e9, 2e9, 3e9]] * 3, latency=1e-4)
    equal = pl.generators.fork_join(6, 2).replace(compute=[1e9] * 15)
    real = pl.load("recurrent_network")
    scarce = pl.load("convolutional_network")
    tight = box.replace(memory=[0.4 * real.memory.sum()] * 4)
    topcuoglu = pl.datasets.problem("topcuoglu")
    first = pl.Problem(random(10, seed=4), unequal)
    return {
        "topcuoglu": topcuoglu,
        "ties": pl.Problem(equal, pl.clusters.uniform(3)),
        "layered parallel": pl.Problem(random(11, seed=1), unequal, memory="none"),
        "layered sequential": pl.Problem(random(11, seed=2), unequal, memory="none", transfers="sequential"),
        "layered duplex": pl.Problem(random(11, seed=3), unequal, memory="edges", transfers="sequential", duplex=True),
        "layered channel": pl.Problem(random(11, seed=4), unequal, memory="none", transfers="channel"),
        "Sends": pl.Problem(random(11, seed=5), unequal, memory="none", transfer_ops=1e6),
        "groups and pins": pl.Problem(
            first.graph, unequal, groups=[first.graph.names[2:4], first.graph.names[3:6]]
        ).pin({first.graph.names[7]: 1}),
        "short transfers": pl.Problem(
            pl.generators.series_parallel(12, seed=3, ccr=0.2), pl.Cluster.uniform(3, latency=0.0)
        ),
        "reserved": pl.Problem(real, tight, memory="reserved", transfers="sequential"),
        "dynamic": pl.Problem(scarce, box.replace(memory=[0.5 * scarce.memory.sum()] * 4), memory="dynamic"),
        "pipeline": pl.generators.pipeline_training([1, 2], 2.0, 1.0, microbatches=3, activation=1.0),
        "fifty devices": pl.Problem(
            pl.costs.mayer(pl.load("dynamic_rnn"), seed=0), pl.clusters.mayer50(seed=0), memory="none"
        ),
    }


def lines() -> Iterator[str]:
    """``problem | partitioner | scheduler | hash`` of every combination that fits, by name: a new one moves no line."""
    for label, problem in thirteen().items():
        small = problem.graph.n_ops <= 15
        for name, function in sorted(pl.partitioners().items()):
            if function.slow and not small:
                continue
            try:
                placement = pl.place(problem, name, seed=5, **PATIENT.get(name, {}))
            except pl.PlacelabError as refusal:
                yield f"{label} | {name} | | {type(refusal).__name__}"
                continue
            yield f"{label} | {name} | | {digest(placement.device, placement.planned, placement.estimate)}"
            for scheduler, function in sorted(pl.schedulers().items()):
                if function.needs and function.needs not in problem.graph.metadata:
                    continue
                yield f"{label} | {name} | {scheduler} | {simulated(problem, placement, scheduler)}"


def simulated(problem: pl.Problem, placement: pl.Placement, scheduler: str) -> str:
    """The hash of a schedule's times and transfers, or the name of the error that refuses it."""
    try:
        schedule = pl.simulate(problem, placement, scheduler, seed=5)
    except pl.PlacelabError as refusal:
        return type(refusal).__name__
    return digest(schedule.start, schedule.finish, schedule.transfers, schedule.sends)


def digest(*columns: object) -> str:
    """Sixteen-digit hash of the bytes of some arrays and numbers."""
    kept = (column for column in columns if column is not None)
    return sha256(b"|".join(np.asarray(column).tobytes() for column in kept)).hexdigest()[:16]


def differences() -> list[str]:
    """Recorded lines that no longer hold (``-``), and lines that hold instead (``+``)."""
    recorded = RECORD.read_text().splitlines()
    found = list(lines())
    gone = set(recorded) - set(found)
    come = set(found) - set(recorded)
    return [f"- {line}" for line in recorded if line in gone] + [f"+ {line}" for line in found if line in come]


if __name__ == "__main__":
    os.environ.setdefault("PLACELAB_JIT", "wait")
    if "--write" in sys.argv[1:]:
        RECORD.write_text("".join(f"{line}\n" for line in lines()))
    else:
        print("\n".join(differences()))
