"""Generate the graph of one collective: its hops, each tied to the worker that receives it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.graphs.transforms.collective_hops import hops
from placelab.problem.graph import OpGraph


def collective(
    kind: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all"],
    size: float,
    workers: int,
    *,
    algorithm: Literal["ring", "tree", "halving", "hierarchical"] = "ring",
    rings: int = 1,
    hosts: int = 1,
) -> OpGraph:
    """The graph of one collective, whose closed form is :func:`placelab.collective_time`.

    Parameters
    ----------
    kind
        ``"all-reduce"``, ``"reduce-scatter"``, ``"all-gather"`` or ``"all-to-all"``.
    size
        Bytes of the whole vector; of an all-to-all, what each worker holds.
    workers
        Their number n, devices ``worker:w``: :func:`placelab.clusters.data_parallel`.
    algorithm
        ``"ring"``; an all-to-all has n - 1 rounds, worker w to w + i. ``"tree"``, ``"halving"``: as in
        :func:`placelab.transforms.model_replica`. ``"hierarchical"``: rings within hosts, rings between hosts, rings within
        hosts.
    rings
        Rings of equal parts: on one host over replicas at other distances, on several hosts by other links between them, at most
        as many as a host has workers.
    hosts
        Hosts of equally many workers, in their order.

    Returns
    -------
    OpGraph
        Ops without operations: ``ready@w``, and hop h ``reduce{h}@w``, ``gather{h}@w`` or ``exchange{h}@w``, received by w;
        ``wait{h}@w`` between phases of a hierarchy.

    Raises
    ------
    UnsupportedError
        A kind that does not exist; several rings where there is one.
    FormatError
        An algorithm that the kind does not have, a number out of range, hosts that do not divide the workers.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = collective("all-reduce", 8.0, 4)
    >>> names = [f"worker:{w}" for w in range(4)]
    >>> problem = pl.Problem(graph, pl.Cluster([1.0] * 4, bandwidth=1.0, latency=0.5, names=names))
    >>> pl.solve(problem, "heft").makespan
    15.0
    """
    n = count(workers, "workers")
    expect(size, (int, float, np.number), "size")
    if not 0 <= size < np.inf:
        raise FormatError(f"size is {size!r:.60}; expected bytes, 0 or more")
    steps = hops(algorithm, n, kind, rings=count(rings, "rings"), hosts=count(hosts, "hosts"))
    moves = "exchange" if kind == "all-to-all" else "reduce"
    label = np.where(steps.source == steps.destination, "wait", np.where(steps.gather, "gather", moves)).tolist()
    names = [f"{word}{h}@{w}" for h, (word, w) in enumerate(zip(label, steps.destination.tolist(), strict=True))]
    hop = n + np.arange(len(names))
    joins = steps.joined >= 0
    edges = [
        np.stack([steps.sent, hop], axis=1),
        np.stack([steps.joined[joins], hop[joins]], axis=1),
        np.stack([steps.waits[:, 0], hop[steps.waits[:, 1]]], axis=1),
    ]
    moved = np.concatenate([float(size) * steps.share, np.zeros(len(edges[1]) + len(edges[2]))])
    data = np.arange(len(moved)) < len(hop)
    devices = [*range(n), *steps.destination.tolist()]
    return OpGraph.from_arrays(
        [*(f"ready@{w}" for w in range(n)), *names],
        np.zeros(n + len(hop)),
        np.concatenate(edges),
        edge_bytes=moved,
        edge_output=np.where(data, np.arange(len(moved)), 0),
        edge_control=~data,
        kind=["ready"] * n + label,
        devices={v: (f"worker:{w}",) for v, w in enumerate(devices)},
        metadata={"name": f"{kind} over {n} workers"},
    )
