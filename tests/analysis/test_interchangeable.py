"""Interchangeable devices: found exactly, and matched so that as few ops as possible have moved."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.two_schedules import best_matching, interchangeable

OPS = pl.OpGraph.from_arrays(list("abcdef"), [1.0] * 6, [])


def shape(block):
    """A device as its number, a free block as a set, others as a tuple."""
    parts = [shape(part) for part in block.parts]
    return block.devices[0] if not parts else frozenset(parts) if block.free else tuple(parts)


def on(cluster, **rules):
    """A problem of six ops on it."""
    return pl.Problem(OPS, cluster, **rules)


def random_cluster(rng):
    """Up to six devices in which few values of everything make many devices alike."""
    k = int(rng.integers(2, 7))
    hosts = np.sort(rng.integers(0, rng.integers(1, 4), k))
    near, far = rng.choice([1.0, 2.0, 4.0], 2)
    bandwidth = np.where(hosts[:, None] == hosts[None, :], near, far)
    latency = np.zeros((k, k))
    for _ in range(int(rng.integers(0, 3))):
        i, j = rng.integers(0, k, 2)
        bandwidth[i, j] = bandwidth[j, i] = 8.0
    if rng.random() < 0.3:
        latency[tuple(rng.integers(0, k, 2))] = 1.0
    names = [f"h{h}" for h in hosts]
    links = None
    if rng.random() < 0.3:
        links = {f"card{h}": (2.0, [(h, "*")]) for h in sorted(set(names))} if len(set(names)) > 1 else None
    speed = rng.choice([1.0, 1.0, 1.0, 2.0], k)
    return pl.Cluster(speed, bandwidth=bandwidth, latency=latency, hosts=names, links=links)


def leaves_all_as_it_is(cluster, to):
    """Whether the permutation changes nothing, by definition."""
    to = np.asarray(to)
    off = ~np.eye(len(to), dtype=bool)
    tables = [np.where(off, table, 0.0) for table in (cluster.bandwidth, cluster.latency)]
    tables.append(np.equal.outer(*[np.array(cluster.hosts)] * 2))
    same = all((table[to][:, to] == table).all() for table in tables) and (cluster.speed[to] == cluster.speed).all()
    links = sorted((link.bandwidth, sorted(link.pairs)) for link in cluster.links)
    moved = sorted((link.bandwidth, sorted((int(to[i]), int(to[j])) for i, j in link.pairs)) for link in cluster.links)
    return same and links == moved


@pytest.mark.parametrize("transfers", ["parallel", "fair"])
@pytest.mark.slow
def test_every_matching_leaves_the_problem_as_it_is(transfers):
    """On random clusters; it keeps at least as many ops as none, and no symmetry keeps more where the tree has all of them."""
    rng = np.random.default_rng(7)
    whole = 0
    for _ in range(150):
        problem = on(random_cluster(rng), transfers=transfers)
        k = problem.cluster.n_devices
        kept = rng.integers(0, 5, (k, k))
        to = best_matching(problem, kept)
        assert leaves_all_as_it_is(problem.cluster, to)
        found = kept[to, np.arange(k)].sum()
        valid = [p for p in permutations(range(k)) if leaves_all_as_it_is(problem.cluster, p)]
        most = max(kept[list(p), np.arange(k)].sum() for p in valid)
        assert np.trace(kept) <= found <= most
        whole += found == most
    assert whole >= 140  # symmetries that no exchange of two blocks makes are rare


def test_hosts_move_as_blocks():
    """Two hosts of two GPUs: GPUs change places within a host, hosts as a whole."""
    problem = on(pl.clusters.two_nodes(2))
    assert shape(interchangeable(problem)) == {frozenset({0, 1}), frozenset({2, 3})}
    kept = np.zeros((4, 4), int)
    kept[0, 3] = kept[1, 2] = 1  # host 1 has taken over host 0's ops
    assert best_matching(problem, kept).tolist()[2:] == [1, 0]
    kept[0, 0] = 3  # it would be more to keep device 0, and its host stays with it
    assert best_matching(problem, kept).tolist() == [0, 1, 2, 3]


def test_a_device_and_its_stream_move_together():
    """A data-parallel step's workers have a GPU and the stream of its collectives each; these pairs change places."""
    problem = on(pl.clusters.data_parallel(2))
    assert shape(interchangeable(problem)) == {(0, 2), (1, 3)}


@pytest.mark.parametrize(
    "cluster",
    [
        pl.Cluster([1.0, 2.0]),
        pl.Cluster([1.0, 1.0], memory=[1.0, 2.0]),
        pl.Cluster([1.0, 1.0], types=["a", "b"]),
        pl.Cluster([1.0, 1.0], bandwidth=[[1.0, 1.0], [2.0, 1.0]]),
        pl.Cluster([1.0, 1.0], latency=[[0.0, 0.0], [1.0, 0.0]]),
        pl.Cluster([1.0] * 2, links={"out of dev0": (1.0, [("dev0", "*")])}),
    ],
)
def test_devices_that_differ_stay(cluster):
    """In speed, memory, type, a link of either direction, its latency, or a shared link."""
    assert best_matching(on(cluster), np.array([[0, 9], [9, 0]])).tolist() == [0, 1]


def test_a_constraint_or_a_measured_time_tells_devices_apart():
    """An op that may run on one of two devices only; times that were measured on one of them."""
    swap = np.array([[0, 9], [9, 0]])
    plain = on(pl.Cluster([1.0, 1.0]))
    assert best_matching(plain, swap).tolist() == [1, 0]
    assert best_matching(plain.pin({"a": 0}), swap).tolist() == [0, 1]


def test_heft_and_etf_on_inception():
    """Of 5,230 ops 4,453 are on a device of another name, and 3,128 on another device."""
    problem = pl.Problem(pl.load("inception_v3"), pl.clusters.rtx2080ti_box())
    a, b = (pl.solve(problem, name) for name in ("heft", "etf"))
    plain = pl.difference(a, b, match=False)
    matched = pl.difference(a, b)
    assert (len(plain.moved), len(matched.moved), len(matched.ops)) == (4453, 3128, 5230)
    assert plain.matched == {} and sorted(matched.matched) == sorted(matched.matched.values())
    assert plain.by_kind()["saved"].equals(matched.by_kind()["saved"])
    assert "3128 of 5230 ops on another device, identical devices matched" in repr(matched)


def test_a_schedule_whose_devices_changed_places_moved_nothing():
    """Whatever the permutation; other clusters are matched by name, and so are devices that only one of them has."""
    problem = pl.Problem(pl.load("recurrent_network"), pl.clusters.pcie_box(4))
    a = pl.solve(problem, "heft")
    b = pl.simulate(problem, pl.Placement(problem, np.array([2, 3, 1, 0])[a.device]), "fifo")
    assert not len(pl.difference(a, b).moved)
    assert len(pl.difference(a, b, match=False).moved) == problem.graph.n_ops
    smaller = pl.solve(pl.Problem(problem.graph, pl.clusters.pcie_box(2)), "heft")
    for first, second in ((a, smaller), (smaller, a)):
        both = len(pl.difference(first, second).moved), len(pl.difference(first, second, match=False).moved)
        assert both[0] <= both[1]
