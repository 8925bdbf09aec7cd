"""Clustering: known makespans, both rules written plainly, and clusters on devices."""

from __future__ import annotations

import numpy as np
import problems
import pytest
from list_scheduling_graphs import nine_ops

import placelab as pl
from placelab.planning.list_scheduling import longest_first
from placelab.planning.ranks import by_falling, mean_exec, mean_transfer, rounded
from placelab.strategies.partitioning import ez, lc

ONE = dict(memory=("none",), transfer_ops=(0,))


@pytest.mark.parametrize(("name", "makespan"), [("ez", 18), ("lc", 19)])
def test_known_makespans(name, makespan):
    """Of Kwok and Ahmad's nine ops, with a device per cluster."""
    assert pl.place(nine_ops(9), name).estimate == makespan


def clusters(problem, name, monkeypatch):
    """The clusters that a partitioner makes: sets of ops."""
    made = []
    with monkeypatch.context() as patch:
        for module in (ez, lc):
            patch.setattr(module, "in_clusters", lambda problem, cluster, *rest: made.append(cluster.tolist()))
        {"ez": ez.ez, "lc": lc.lc}[name].__wrapped__(problem)
    return {frozenset(np.flatnonzero(np.array(made[0]) == c).tolist()) for c in made[0]}


def paths(problem):
    """LC, written on sets."""
    graph, weight, (latency, per_byte) = problem.graph, mean_exec(problem), mean_transfer(problem)
    left = set(range(graph.n_ops))
    found = set()
    while left:
        best = {}
        for v in sorted(left, reverse=True):
            edges = range(graph.succ_ptr[v], graph.succ_ptr[v + 1])
            ways = [
                (-round(latency + graph.edge_bytes[e] * per_byte + best[w][0], 9), w, best[w])
                for e in edges
                if (w := int(graph.consumer[e])) in left
            ]
            way, _, (_, path) = min(ways, key=lambda way: way[:2], default=(0.0, 0, (0.0, ())))
            best[v] = weight[v] - way, (v, *path)
        _, path = max(best.items(), key=lambda item: (round(item[1][0], 9), -item[0]))[1]
        found.add(frozenset(path))
        left -= set(path)
    return found


def zeroed(problem):
    """EZ, written on a list of clusters."""
    graph, weight, (latency, per_byte) = problem.graph, mean_exec(problem), mean_transfer(problem)
    order = by_falling(rounded(pl.upward_rank(problem)))[0].tolist()

    def length(of):
        free = {}
        finish = {}
        for v in order:
            start = free.get(of[v], 0.0)
            for e in graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]:
                u = int(graph.producer[e])
                start = max(start, finish[u] + (of[u] != of[v]) * (latency + graph.edge_bytes[e] * per_byte))
            free[of[v]] = finish[v] = start + weight[v]
        return max(finish.values())

    of = list(range(graph.n_ops))
    for e in np.argsort(-graph.edge_bytes, kind="stable"):
        a = of[graph.producer[e]]
        b = of[graph.consumer[e]]
        joined = [a if c == b else c for c in of]
        if length(joined) <= length(of) + 1e-9:
            of = joined
    return {frozenset(v for v in order if of[v] == c) for c in of}


@pytest.mark.parametrize(("name", "plainly"), [("ez", zeroed), ("lc", paths)])
def test_the_kernel_is_the_rule(name, plainly, monkeypatch):
    """On random problems with ties and ops of no time."""
    for i, problem in enumerate(problems.many(100, seed=95, **ONE)):
        assert clusters(problem, name, monkeypatch) == plainly(problem), i


def test_heavy_clusters_go_first_to_the_device_that_ends_soonest():
    """Works 5, 3, 3 on devices of speed 1 and 2: 2.5 on the second; then 3 on the first, and 4 on the second."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [3.0, 2.0, 3.0, 3.0], [])
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0], bandwidth=1.0))
    assert longest_first(problem, np.array([7, 7, 2, 4])).tolist() == [1, 1, 0, 1]


def test_ez_that_is_stopped_has_joined_nothing():
    """The chain of one cluster stays one op each, so that it is spread over both devices."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0, 1.0, 1.0], [(0, 1), (1, 2)], edge_bytes=[5.0, 5.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    assert len(set(pl.place(problem, "ez").device.tolist())) == 1
    assert len(set(pl.place(problem, "ez", cancel=lambda: True).device.tolist())) == 2
