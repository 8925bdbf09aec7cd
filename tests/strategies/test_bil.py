"""BIL: optimal on chains, and the rule written plainly."""

from __future__ import annotations

from itertools import product

import numpy as np
import problems
import pytest
from same_placement import same

import placelab as pl
from placelab.planning.list_scheduler import ListScheduler


@pytest.mark.parametrize("seed", range(5))
def test_chains_are_optimal(seed):
    """No placement of seven ops on three unequal devices with unequal links ends sooner."""
    random = np.random.default_rng(seed)
    edges = [(v, v + 1) for v in range(6)]
    graph = pl.OpGraph.from_arrays(list("abcdefg"), random.random(7), edges, edge_bytes=random.random(6))
    cluster = pl.Cluster(0.1 + random.random(3), bandwidth=0.1 + random.random((3, 3)), latency=0.1)
    problem = pl.Problem(graph, cluster)
    found = pl.simulate(problem, pl.place(problem, "bil"), "planned").makespan
    every = np.array(list(product(range(3), repeat=7)))
    assert found == pytest.approx(pl.makespans(problem, every).min(), rel=1e-12)


def plainly(problem):
    """The rule, written on a list scheduler."""
    graph = problem.graph
    s = ListScheduler(problem)
    k = problem.cluster.n_devices
    network = problem.cluster
    level = {}
    send = problem.transfer_ops / network.speed

    def trans(e, d, w):
        way = send[d] + network.latency[d, w] + graph.edge_bytes[e] / network.bandwidth[d, w]
        return way if d != w else 0.0

    may = [np.flatnonzero(row).tolist() for row in problem.may_run]
    for v, d in product(reversed(range(graph.n_ops)), range(k)):
        after = range(graph.succ_ptr[v], graph.succ_ptr[v + 1])
        rest = (min(level[graph.consumer[e], w] + trans(e, d, w) for w in may[graph.consumer[e]]) for e in after)
        level[v, d] = problem.exec_time(v, d) + max(rest, default=0.0) if d in may[v] else np.inf
    is_ready = lambda v: s.device[v] < 0 and all(s.device[u] >= 0 for u in graph.predecessors_of(v))  # noqa: E731
    while (s.device < 0).any():
        turn = [v for v in range(graph.n_ops) if is_ready(v)]
        bim = {v: sorted(s.est(v, d) + level[v, d] for d in s.candidates(v)) for v in turn}
        v = max(turn, key=lambda v: ([*reversed(bim[v][: len(turn)])], -v))
        crowd = max(len(turn) / k - 1, 0.0)
        s.place(v, min(s.candidates(v), key=lambda d: s.est(v, d) + level[v, d] + problem.exec_time(v, d) * crowd))
    return s.placement()


def test_the_kernel_is_the_rule():
    """Device, order and estimate, with groups, ops of no time and ties."""
    for i, problem in enumerate(problems.many(80, seed=91, memory=("none",), whole=True)):
        quick = pl.place(problem, "bil")
        assert same(quick, plainly(problem)), i
        assert same(quick, pl.place(problem, "bil", trace=True)), i
