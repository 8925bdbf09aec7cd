"""Try to refute the bound ``inputs`` on small random problems of all transfer models, by every placement in every order.

python benchmarks/quality/refute.py [N] [--first SEED]     # 100,000 problems of up to 4 ops on up to 3 devices

Problems have groups, device constraints, unequal devices and links, measured times, costs of zero, Sends. Each is
solved twice. In its own transfer model every placement runs in every order of all ops: no schedule in a planned order is shorter.
And without queues and Sends, each tensor as quick as it is alone: there those runs are all schedules in which nothing waits
without need, so that the shortest is optimal, and no schedule of the problem itself is shorter. The bound must exceed neither.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import permutations, product
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from problems import many

import placelab as pl
from placelab.planning.input_bound import input_bound

ROUNDING = 1 + 1e-9
OPS = 4
DEVICES = 3


def orders(graph: pl.OpGraph) -> np.ndarray:
    """All orders of the ops that keep the edges, a row each."""
    edges = graph.edges.tolist()
    found = [p for p in permutations(range(graph.n_ops)) if all(p.index(u) < p.index(v) for u, v in edges)]
    return np.array(found, np.int32)


def placements(problem: pl.Problem) -> np.ndarray:
    """All placements that keep groups and device constraints, a row each."""
    n = problem.graph.n_ops
    every = np.array(list(product(*(problem.feasible(v).tolist() for v in range(n)))), np.int32)
    for v in range(n):
        members = problem.members(v)
        every = every[(every[:, members] == every[:, [v]]).all(axis=1)]
    return every


def least(problem: pl.Problem, devices: np.ndarray, sequences: np.ndarray) -> float:
    """The least makespan of all placements in all orders [s]."""
    rows = np.repeat(devices, len(sequences), axis=0)
    return float(pl.makespans(problem, rows, sequences=np.tile(sequences, (len(devices), 1))).min())


def relaxed(problem: pl.Problem) -> pl.Problem:
    """Without queues for links and without Sends; a tensor takes as long as it does alone."""
    cluster = problem.cluster
    rate = cluster.narrowest if problem.transfer_model.shared else cluster.bandwidth
    free = pl.Cluster(cluster.speed, names=cluster.names, types=cluster.types, bandwidth=rate, latency=cluster.latency)
    return problem.replace(cluster=free, transfers="parallel", transfer_ops=0)


def refute(count: int, first: int = 0) -> Counter[tuple[str, str]]:
    """Counts of problems by transfer model, and of those on which the bound is reached; AssertionError where it is too high."""
    seen: Counter[tuple[str, str]] = Counter()
    for number, problem in enumerate(many(count, seed=first, ops=OPS, devices=DEVICES, memory=("none",))):
        bound = input_bound(problem)
        devices = placements(problem)
        sequences = orders(problem.graph)
        own = least(problem, devices, sequences)
        free = least(relaxed(problem), devices, sequences)
        assert bound <= free * ROUNDING and free <= own * ROUNDING, (number, first, bound, free, own)
        seen[problem.transfers, "problems"] += 1
        seen[problem.transfers, "equal to the shortest run"] += own <= bound * ROUNDING
        seen[problem.transfers, "equal to the optimum without queues"] += free <= bound * ROUNDING
    return seen


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the problems")
    given = parser.parse_args()
    began = perf_counter()
    seen = refute(given.count, given.first)
    for (model, what), count in sorted(seen.items()):
        print(f"{model}: {count:,} {what}")
    print(f"the bound exceeds no optimum on {given.count:,} problems; {perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
