"""Graphs of workers that read parameters from a server, by hand: the goldens of data-parallel steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import placelab as pl


def server(
    reads: dict[str, float],
    ops: dict[str, float],
    edges: Iterable[tuple[str, str]],
    *,
    workers: int = 1,
    file_order: Sequence[str] = (),
    latency: float = 0.0,
    transfers: str = "channel",
) -> pl.Placement:
    """A copy per worker, on devices of 1 operation and links of 1 byte per second; reads by name and bytes.

    `file_order` is the order of the reads in the graph.
    """
    order = list(file_order or reads)
    names = [f"{name}@{w}" for w in range(workers) for name in (*order, *ops)]
    number = {name: v for v, name in enumerate(names)}
    pairs = [(f"{u}@{w}", f"{v}@{w}") for w in range(workers) for u, v in edges]
    graph = pl.OpGraph.from_arrays(
        names,
        [ops.get(name.partition("@")[0], 0.0) for name in names],
        [(number[u], number[v]) for u, v in pairs],
        edge_bytes=[reads.get(u.partition("@")[0], 0.0) for u, _ in pairs],
        kind=["read" if name.partition("@")[0] in reads else "op" for name in names],
    )
    worker = [int(name.partition("@")[2]) for name in graph.names]
    replica = {"iteration": [0] * len(worker), "worker": worker}
    cluster = pl.Cluster(
        [1.0] * (workers + 1),
        bandwidth=1.0,
        latency=latency,
        names=["ps:0", *(f"worker:{w}" for w in range(workers))],
        types=["ps"] + ["gpu"] * workers,
    )
    problem = pl.Problem(graph.replace(metadata={"replica": replica}), cluster, memory="none", transfers=transfers)
    device = [0 if kind == "read" else 1 + w for kind, w in zip(graph.kind, worker, strict=True)]
    return pl.Placement(problem, device)


def figure_1(**options) -> pl.Placement:
    """H1, Hashemi's Fig. 1: two reads; r2 is needed later than r1."""
    edges = [("r1", "c1"), ("c1", "c2"), ("r2", "c2")]
    return server({"r1": 1, "r2": 1}, {"c1": 1, "c2": 1}, edges, **options)


def long_read_first(**options) -> pl.Placement:
    """H2: TIC takes the long read first, because its consumer comes first."""
    edges = [("r0", "b"), ("r1", "a"), ("b", "c"), ("a", "c")]
    return server({"r0": 4, "r1": 1}, {"b": 1, "a": 4, "c": 0}, edges, **options)


def three_reads(**options) -> pl.Placement:
    """H3: TIC's order is the worst of six."""
    edges = [("r0", "x"), ("r1", "x"), ("r2", "y"), ("x", "z"), ("y", "z")]
    return server({"r0": 3, "r1": 2, "r2": 1}, {"x": 5, "y": 5, "z": 1}, edges, **options)
