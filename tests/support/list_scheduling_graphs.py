"""Graphs of the literature on which the makespans of list schedulers are known, in plain numbers."""

from __future__ import annotations

import placelab as pl


def peft_graph() -> pl.Problem:
    """Ten ops on three unequal processors (Arabnejad, Barbosa 2014, Fig. 1)."""
    time = {
        "P1": [22, 22, 32, 7, 29, 26, 14, 29, 15, 13],
        "P2": [21, 18, 27, 10, 27, 17, 25, 23, 21, 16],
        "P3": [36, 18, 43, 4, 35, 24, 30, 36, 8, 33],
    }
    edges = "1-2:17 1-3:31 1-4:29 1-5:13 1-6:7 2-8:3 2-9:30 3-7:16 4-8:11 4-9:7 5-9:57 6-8:5 7-10:9 8-10:42 9-10:7"
    return _problem(time, edges, pl.Cluster([1.0] * 3, bandwidth=1.0, latency=0.0, names=list(time)))


def nine_ops(devices: int) -> pl.Problem:
    """Nine ops on equal processors, critical path 23 (Kwok, Ahmad 1999, Fig. 1, reconstructed from its levels)."""
    cluster = pl.Cluster([1.0] * devices, bandwidth=1.0, latency=0.0)
    edges = "1-2:4 1-3:1 1-4:1 1-5:1 1-7:10 2-6:1 2-7:1 3-8:1 4-8:1 6-9:5 7-9:6 8-9:5"
    return _problem({name: [2, 3, 3, 4, 5, 4, 4, 4, 1] for name in cluster.names}, edges, cluster)


def _problem(time: dict[str, list[float]], edges: str, cluster: pl.Cluster) -> pl.Problem:
    """Edges as ``from-to:bytes``, ops counted from 1."""
    pairs, size = zip(*(edge.split(":") for edge in edges.split()), strict=True)
    ends = [tuple(int(op) - 1 for op in pair.split("-")) for pair in pairs]
    first = next(iter(time.values()))
    names = [f"T{i + 1}" for i in range(len(first))]
    graph = pl.OpGraph.from_arrays(names, first, ends, edge_bytes=[float(b) for b in size], time=time)
    return pl.Problem(graph, cluster, memory="none")
