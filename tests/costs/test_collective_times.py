"""Closed forms of collectives: hand-computed times, the simulator's, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl


@pytest.mark.parametrize(
    ("kind", "workers", "expected"),
    [
        ("reduce-scatter", 4, 7.5),
        ("all-gather", 4, 7.5),
        ("all-to-all", 4, 7.5),
        ("all-to-all", 8, 10.5),
        ("all-reduce", 4, 15),
    ],
)
def test_eight_bytes_over_a_ring(kind, workers, expected):
    """C1: M 8, B 1, α .5."""
    assert pl.collective_time(kind, 8, workers, bandwidth=1, latency=0.5) == expected


def test_two_hosts_of_four():
    """C1: 4 bytes/s inside, 1 between: one ring 14, four rings 3.5, hierarchical 5."""
    assert pl.collective_time("all-reduce", 8, 8, bandwidth=[4, 4, 4, 1] * 2) == 14
    assert pl.collective_time("all-reduce", 8, 8, bandwidth=1, rings=4) == 3.5
    nested = dict(algorithm="hierarchical", hosts=2, bandwidth=(4, 1))
    assert pl.collective_time("all-reduce", 8, 8, **nested) == 5
    assert (
        pl.collective_time("reduce-scatter", 8, 8, **nested) == pl.collective_time("all-gather", 8, 8, **nested) == 2.5
    )
    assert pl.collective_time("all-reduce", 8, 8, **nested, latency=(0.25, 1)) == 5 + 2 * 3 * 0.25 + 2 * 1


@pytest.mark.parametrize("chunk", [0, 0.5, 1, 4])
def test_a_double_tree_on_two_hosts(chunk):
    """C1: M/B whatever the chunk; on more hosts twice that and the depth."""
    double = dict(algorithm="double-tree", bandwidth=1, chunk=chunk)
    assert pl.collective_time("all-reduce", 8, 2, **double) == 8
    assert pl.collective_time("all-reduce", 8, 3, **double) == 4 * chunk + max(0, 12 - 2 * chunk)
    assert pl.collective_time("all-reduce", 8, 16, **double, latency=0.5) == 8 * (0.5 + chunk) + 16 - 2 * chunk


def simulated(n: int, size: float, kind: str, latency: float, transfers: str, duplex: bool) -> float:
    """A collective as a graph of hops, each op tied to its worker."""
    names = [f"ready@{w}" for w in range(n)]
    device = list(range(n))
    edges = []
    sizes = []

    def op(name: str, worker: int, inputs: list[tuple[int, float]]) -> int:
        for producer, moved in inputs:
            edges.append((producer, len(names)))
            sizes.append(moved)
        names.append(name)
        device.append(worker)
        return len(names) - 1

    if kind == "all-to-all":
        done = list(range(n))
        for i in range(1, n):
            sent = [op(f"s{i}@{w}", w, [(done[w], 0.0)]) for w in range(n)]
            done = [op(f"r{i}@{w}", w, [(sent[w], 0.0), (sent[w - i], size / n)]) for w in range(n)]
    else:
        at = list(range(n))  # chunk c is at worker c + hop
        for hop in range(n - 1):
            for c in range(n):
                own = [((c + hop + 1) % n, 0.0)] if kind == "reduce-scatter" else []
                at[c] = op(f"h{hop}c{c}", (c + hop + 1) % n, [(at[c], size / n), *own])
    graph = pl.OpGraph.from_arrays(names, [0.0] * len(names), edges, edge_bytes=sizes)
    cluster = pl.Cluster([1.0] * n, bandwidth=1.0, latency=latency)
    problem = pl.Problem(
        graph, cluster, transfers=transfers, duplex=duplex, allowed=dict(zip(names, device, strict=True))
    )
    schedule = pl.simulate(
        problem, pl.Placement(problem, np.array(device)[[names.index(x) for x in graph.names]]), "fifo"
    )
    assert pl.validate(schedule) == []
    return schedule.makespan


@pytest.mark.parametrize(("transfers", "duplex"), [("parallel", False), ("channel", False), ("sequential", True)])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["reduce-scatter", "all-gather", "all-to-all"])
def test_the_simulator_takes_as_long(kind, n, transfers, duplex):
    """A graph of the hops takes the closed form's time in every model in which its links do not queue."""
    wanted = pl.collective_time(kind, 8.0, n, bandwidth=1.0, latency=0.5)
    assert simulated(n, 8.0, kind, 0.5, transfers, duplex) == pytest.approx(wanted, rel=1e-12)


def test_identities():
    """An all-reduce is a reduce-scatter and an all-gather; one worker takes no time; halving saves latency."""
    for algorithm in ("ring", "halving"):
        parts = [
            pl.collective_time(kind, 1e6, 8, bandwidth=1e9, latency=1e-5, algorithm=algorithm)
            for kind in ("reduce-scatter", "all-gather")
        ]
        whole = pl.collective_time("all-reduce", 1e6, 8, bandwidth=1e9, latency=1e-5, algorithm=algorithm)
        assert whole == sum(parts) == pl.allreduce_time(1e6, 8, bandwidth=1e9, latency=1e-5, algorithm=algorithm)
    for kind in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all"):
        assert pl.collective_time(kind, 8, 1, bandwidth=1, latency=1) == 0
    assert pl.collective_time("all-reduce", 8, 1, bandwidth=1, latency=1, algorithm="double-tree", chunk=1) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("broadcast", 8, 4), "kind is 'broadcast'; expected one of all-reduce"),
        (("all-to-all", 8, 4, dict(algorithm="tree")), "algorithm of all-to-all is 'tree'; expected one of ring"),
        (("all-reduce", 8, 4, dict(algorithm=["ring"])), "algorithm of all-reduce is"),
        (("all-reduce", 8, 4, dict(algorithm="tree", rings=2)), "rings is 2, but all-reduce by tree runs in none"),
        (("all-reduce", 8, 4, dict(hosts=2)), "hosts is 2 for algorithm 'ring'"),
        (("all-reduce", 8, 4, dict(algorithm="hierarchical")), "hosts is None for algorithm 'hierarchical'"),
        (("all-reduce", 8, 4, dict(algorithm="hierarchical", hosts=3)), "4 workers on 3 hosts"),
        (("all-reduce", 8, 4, dict(algorithm="hierarchical", hosts=2, latency=(1, 2, 3))), r"a link has shape \(3,\)"),
        (("all-reduce", 8, 3, dict(algorithm="halving")), "halving takes a power of two"),
        (("all-gather", -1, 4), "needs bytes and latencies of 0 or more"),
        (("all-gather", "8", 4), "size needs an int"),
        (("all-gather", 8, 4, dict(latency=[1, 2])), r"latency has shape \(2,\)"),
        (("all-gather", 8, 4, dict(latency="slow")), "latency is 'slow'; expected a number, or several"),
        (
            ("all-reduce", 8, 4, dict(algorithm="double-tree", chunk=9)),
            "chunk is 9; expected bytes, from 0 to those of the vector, 8",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    """One sentence says what was found."""
    kind, size, workers, *more = arguments
    with pytest.raises(pl.PlacelabError, match=words):
        pl.collective_time(kind, size, workers, **(dict(bandwidth=1.0) | (more[0] if more else {})))
