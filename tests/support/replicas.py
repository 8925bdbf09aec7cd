"""Jobs of many workers for tests: clusters, small models, and random ones with reads."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import placelab as pl
from placelab.schedule import catalogue as strategies

ONE = pl.OpGraph.from_arrays(["r", "f"], [0, 1], [(0, 1)], edge_bytes=[1.0], kind=["read", ""])
TWO = pl.OpGraph.from_arrays(  # Hashemi 2018, Fig. 1
    ["r1", "r2", "c1", "c2"],
    [0, 0, 1, 1],
    [(0, 2), (2, 3), (1, 3)],
    edge_bytes=[1, 0, 1],
    kind=["read", "read", "", ""],
)


def with_servers(*speeds: float, servers: int = 1, bandwidth: float = 1.0) -> pl.Cluster:
    """Workers of these speeds and servers of speed 1, links without latency."""
    names = [f"ps:{s}" for s in range(servers)] + [f"worker:{w}" for w in range(len(speeds))]
    return pl.Cluster([1.0] * servers + [*speeds], bandwidth=bandwidth, names=names)


def with_streams(workers: int, bandwidth=1.0, latency: float = 0.0) -> pl.Cluster:
    """Workers of speed 1 with a stream each; `bandwidth` and `latency` are between streams."""
    names = [f"worker:{w}" for w in range(workers)] + [f"worker:{w}/stream" for w in range(workers)]
    near = np.tile(np.arange(workers), (2, 1)).ravel()
    rate = np.broadcast_to(np.asarray(bandwidth, dtype=float), (workers, workers))
    return pl.Cluster(
        [1.0] * (2 * workers),
        bandwidth=np.tile(rate, (2, 2)),
        latency=np.where(near[:, None] == near, 0.0, latency),
        names=names,
    )


def layers(n: int, size: float) -> pl.OpGraph:
    """A chain of `n` ops without work, each of which reads a parameter of `size` bytes."""
    edges = [(i, n + i) for i in range(n)] + [(n + i, n + i + 1) for i in range(n - 1)]
    names = [f"r{i}" for i in range(n)] + [f"f{i}" for i in range(n)]
    kinds = ["read"] * n + [""] * n
    return pl.OpGraph.from_arrays(names, [0] * 2 * n, edges, edge_bytes=[size] * n + [0] * (n - 1), kind=kinds)


def run(graph: pl.OpGraph, cluster: pl.Cluster, scheduler="fifo", transfers="channel", duplex=False, **options):
    """The schedule of the only placement, which is legal; `scheduler` is a name, or a function from a problem to an order."""
    problem = pl.Problem(graph, cluster, transfers=transfers, duplex=duplex)
    if isinstance(scheduler, str):
        schedule = pl.simulate(problem, pl.place(problem, "hash"), scheduler, **options)
    else:
        own = pl.scheduler(static=True, name="order-in-the-test")(lambda problem, placement: scheduler(problem))
        try:
            schedule = pl.simulate(problem, pl.place(problem, "hash"), own, **options)
        finally:
            del strategies._schedulers["order-in-the-test"]
    assert pl.validate(schedule) == []
    return schedule


def schedulers_of(graph: pl.OpGraph) -> list[str]:
    """The schedulers that this graph suits: all but those that need something else in its metadata, and `planned`."""
    names = [name for name, f in pl.schedulers().items() if not f.needs or f.needs in graph.metadata]
    return [name for name in names if name != "planned"]


def column(graph: pl.OpGraph, name: str) -> np.ndarray:
    """A column of the replica metadata."""
    return np.array(graph.metadata["replica"][name])


def is_role(graph: pl.OpGraph, *names: str) -> np.ndarray:
    """Whether each op has one of these roles."""
    return np.isin(np.array(graph.metadata["replica"]["roles"])[column(graph, "role")], names)


@st.composite
def models(draw, ops: int = 6) -> pl.OpGraph:
    """A random forward graph whose variables, of whole bytes, each have a read with one or more consumers."""
    n = draw(st.integers(1, ops))
    p = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    pairs = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.4]
    reads = [(i, v) for i in range(p) for v in np.unique(rng.integers(0, n, rng.integers(1, 3)))]
    size = rng.integers(1, 9, p).astype(float)
    names = [f"v{i}" for i in range(p)] + [f"v{i}/read" for i in range(p)] + [f"op{v}" for v in range(n)]
    edges = [(i, p + i) for i in range(p)] + [(p + i, 2 * p + v) for i, v in reads]
    edges += [(2 * p + u, 2 * p + v) for u, v in pairs]
    return pl.OpGraph.from_arrays(
        names,
        np.concatenate([np.zeros(2 * p), rng.integers(0, 5, n)]),
        np.array(edges),
        edge_bytes=[*[0.0] * p, *(size[i] for i, _ in reads), *(float(u + 1) for u, _ in pairs)],
        edge_output=[0] * len(edges),
        persistent=np.concatenate([size, np.zeros(p + n)]),
    )
