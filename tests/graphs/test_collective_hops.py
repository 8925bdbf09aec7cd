"""Graphs of collectives: their hops take the time of the closed form, and each worker gets all that it should."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from replicas import run

import placelab as pl

collective = pl.generators.collective


def workers(n: int, bandwidth=1.0, latency=0.0) -> pl.Cluster:
    return pl.Cluster([1.0] * n, bandwidth=bandwidth, latency=latency, names=[f"worker:{w}" for w in range(n)])


def two_hosts(inside: float, between: float) -> np.ndarray:
    """Bandwidths of eight workers on two hosts."""
    near = np.arange(8) // 4
    return np.where(near[:, None] == near, inside, between)


@pytest.mark.parametrize(
    ("kind", "n", "seconds"),
    [("reduce-scatter", 4, 7.5), ("all-gather", 4, 7.5), ("all-to-all", 4, 7.5), ("all-to-all", 8, 10.5)],
)
def test_eight_bytes(kind, n, seconds):
    """Golden C1: M 8, B 1, α .5."""
    assert run(collective(kind, 8.0, n), workers(n, latency=0.5)).makespan == seconds


def test_eight_workers_on_two_hosts():
    """Golden C1: one ring 14, four 3.5, under sequential transfers 9.25 as a device has one port; hierarchical 5."""
    cluster = workers(8, two_hosts(4.0, 1.0))
    assert run(collective("all-reduce", 8.0, 8), cluster).makespan == 14
    four = collective("all-reduce", 8.0, 8, rings=4, hosts=2)
    assert run(four, cluster).makespan == 3.5
    assert run(four, cluster, transfers="sequential", duplex=True).makespan == 9.25
    assert run(collective("all-reduce", 8.0, 8, algorithm="hierarchical", hosts=2), cluster).makespan == 5
    for kind in ("reduce-scatter", "all-gather"):
        assert run(collective(kind, 8.0, 8, algorithm="hierarchical", hosts=2), cluster).makespan == 2.5


CASES = [
    *product(("all-reduce", "reduce-scatter", "all-gather", "all-to-all"), ("ring",), (1, 2, 3, 5, 8)),
    *product(("all-reduce", "reduce-scatter", "all-gather"), ("halving",), (1, 2, 8)),
]


@pytest.mark.parametrize(("kind", "algorithm", "n"), CASES)
def test_the_closed_form(kind, algorithm, n):
    """The simulator takes as long, and each worker receives the bytes that the form counts, (n - 1)/n a phase."""
    graph = collective(kind, 24.0, n, algorithm=algorithm)
    links = dict(bandwidth=2.0, latency=0.25)
    wanted = pl.collective_time(kind, 24.0, n, algorithm=algorithm, **links)
    assert run(graph, workers(n, 2.0, 0.25)).makespan == pytest.approx(wanted)
    received = np.bincount(
        [int(graph.names[v].rpartition("@")[2]) for v in graph.consumer], graph.edge_bytes, minlength=n
    )
    assert received == pytest.approx(np.full(n, 24.0 * (n - 1) / n * (2 if kind == "all-reduce" else 1)))


@pytest.mark.parametrize(("n", "hosts"), [(4, 2), (6, 3), (6, 2), (4, 1), (4, 4)])
@pytest.mark.parametrize("kind", ["all-reduce", "reduce-scatter", "all-gather"])
def test_hierarchies(kind, n, hosts):
    """The closed form, and more bytes within hosts than between them."""
    near = np.arange(n) // (n // hosts)
    same = near[:, None] == near
    cluster = workers(n, np.where(same, 4.0, 1.0), np.where(same, 0.25, 1.0))
    wanted = pl.collective_time(
        kind, 24.0, n, algorithm="hierarchical", hosts=hosts, bandwidth=(4, 1), latency=(0.25, 1)
    )
    found = run(collective(kind, 24.0, n, algorithm="hierarchical", hosts=hosts), cluster)
    assert found.makespan == pytest.approx(wanted)


def reached(graph: pl.OpGraph, n: int) -> np.ndarray:
    """Whether each worker's last ops depend on every worker's value."""
    known = np.zeros((graph.n_ops, n), bool)
    worker = [int(name.rpartition("@")[2]) for name in graph.names]
    at_worker = np.zeros((n, n), bool)
    for v in range(graph.n_ops):
        if graph.kind[v] == "ready":
            known[v, worker[v]] = True
        for u in graph.predecessors_of(v):
            known[v] |= known[u]
        at_worker[worker[v]] |= known[v]
    return at_worker


KINDS = ("all-reduce", "reduce-scatter", "all-gather")


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("all-to-all", {}),
        *product(KINDS, ({}, dict(rings=2), dict(rings=3, hosts=2), dict(algorithm="hierarchical", hosts=2))),
    ],
)
def test_each_worker_hears_from_all(kind, more):
    """Results depend on the value of each worker."""
    assert reached(collective(kind, 8.0, 8, **more), 8).all()


@pytest.mark.parametrize("rings", [1, 2, 4])
def test_rings_use_links_of_their_own(rings):
    """On one host no link has hops of two rings, so that r rings take 1/r of the time where links do not share a port."""
    graph = collective("all-reduce", 40.0, 5, rings=rings)
    assert run(graph, workers(5)).makespan == pytest.approx(2 * 4 / 5 * 40 / rings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("broadcast", 8.0, 4), "kind is 'broadcast'; expected one of all-reduce"),
        (("all-to-all", 8.0, 4, dict(algorithm="tree")), "algorithm is 'tree'; expected one of ring"),
        (("all-reduce", 8.0, 4, dict(algorithm="double-tree")), "expected one of ring, tree, halving, hierarchical"),
        (("all-reduce", 8.0, 4, dict(rings=3)), "rings is 3, and 4 workers on one host have 2"),
        (("all-reduce", 8.0, 4, dict(rings=3, hosts=2)), "rings is 3, and a host has 2 workers"),
        (("all-to-all", 8.0, 4, dict(rings=2)), "rings is 2, but all-to-all by ring runs in none"),
        (("all-reduce", 8.0, 4, dict(hosts=3)), "4 workers on 3 hosts; expected equally many"),
        (("all-reduce", 8.0, 100_000), "hops; at most 2,000,000 ops are made"),
        (("all-reduce", float("nan"), 4), "size is nan; expected bytes"),
        (("all-reduce", 8.0, 0), "workers is 0"),
    ],
)
def test_what_is_refused(arguments, words):
    """One sentence says what was found."""
    kind, size, n, *more = arguments
    with pytest.raises(pl.PlacelabError, match=words):
        collective(kind, size, n, **(more[0] if more else {}))
