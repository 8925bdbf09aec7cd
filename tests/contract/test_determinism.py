"""The same problem and seed give the same bytes: for every partitioner, in every process, compiled or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random

import problems
import pytest

import placelab as pl

REAL = "recurrent_network"
TESTS = Path(__file__).parents[1]
BRIEF = {"portfolio": dict(moves=2000)}  # in plain Python, all its moves take minutes


def small() -> dict[str, pl.Problem]:
    """Ties, groups, restrictions and tight memory; few enough ops for solvers that search."""
    uniform = pl.clusters.uniform(3)
    made = {f"random {i}": problems.problem(Random(f"determinism {i}").randint, ops=9) for i in range(6)}
    equal = pl.generators.fork_join(6, 2).replace(compute=[1e9] * 15)
    return made | {
        "ties": pl.Problem(equal, uniform),
        "short transfers": pl.Problem(
            pl.generators.series_parallel(12, seed=3, ccr=0.2), pl.Cluster.uniform(3, latency=0.0)
        ),
        "tight": pl.Problem(pl.generators.layered(10, seed=2), uniform.replace(memory=[4e6] * 3), memory="reserved"),
    }


def real() -> dict[str, pl.Problem]:
    """A training step on GPUs of which no single one has enough memory."""
    graph = pl.load(REAL)
    cluster = pl.clusters.pcie_box().replace(memory=[0.4 * graph.memory.sum()] * 4)
    return {REAL: pl.Problem(graph, cluster, memory="reserved", transfers="sequential")}


def digest(problem: pl.Problem, name: str) -> str:
    """Everything a partitioner returns for a problem, as a short text."""
    try:
        placement = pl.place(problem, name, seed=5, **BRIEF.get(name, {}))
    except pl.PlacelabError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    planned = b"" if placement.planned is None else placement.planned.tobytes()
    facts = repr((placement.estimate, placement.bound, placement.notes))
    return sha256(placement.device.tobytes() + planned + facts.encode()).hexdigest()


def digests(size: str) -> dict[str, str]:
    """Digests of every partitioner on every problem; those that search for seconds only on the small ones."""
    on = small() if size == "small" else real()
    names = [name for name, f in pl.partitioners().items() if size == "small" or not f.slow]
    return {f"{name}, {label}": digest(problem, name) for name in names for label, problem in on.items()}


def process(size: str, **environment: str) -> subprocess.Popen:
    """A fresh interpreter that prints its :func:`digests`."""
    environment = (
        os.environ | environment | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS / "support")))}
    )
    return subprocess.Popen([sys.executable, __file__, size], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["small", "real"])
def test_same_bytes_whatever_the_hash_seed(size):
    """A process with another PYTHONHASHSEED, byte for byte; on the small problems as plain Python."""
    other = {"PLACELAB_JIT": "0"} if size == "small" else {}
    run = process(size, PYTHONHASHSEED="4242", **other)
    one = digests(size)
    two = json.loads(run.communicate()[0])
    assert one == two
    assert {label.partition(",")[0] for label in one} >= {n for n, f in pl.partitioners().items() if not f.slow}


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1])))
