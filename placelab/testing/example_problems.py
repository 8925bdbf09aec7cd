"""Problems on which strategies tend to fail."""

from __future__ import annotations

import numpy as np

from placelab.graphs.generators import gaussian_elimination, layered, pipeline_training
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem


def examples() -> list[Problem]:
    """Problems on which strategies tend to fail, smallest first: one op, ties, zero times, groups, restrictions, every model."""
    two = Cluster([1.0, 2.0], bandwidth=2.0, latency=0.5)
    one = Cluster([3.0])
    three = Cluster(
        [1.0, 4.0, 2.0], bandwidth=[[1, 2, 3], [4, 1, 2], [1, 5, 1]], latency=0.25, types=["cpu", "gpu", "gpu"]
    )
    chain = _chain(4)
    diamond = _diamond()
    found = [
        Problem(_chain(1), one),
        Problem(_chain(1), two),
        Problem(_chain(2), one),
        Problem(_chain(2), two),
        Problem(_chain(3, compute=0.0), two),
        Problem(_chain(3, compute=0.0, size=0.0), Cluster([1.0, 1.0])),
        Problem(OpGraph.from_arrays(list("abc"), [1.0] * 3, []), two),
        Problem(chain, two, groups=[("a", "d")]),
        Problem(chain, two).pin({"c": "dev0"}),
        Problem(diamond, three, allowed={"b": ["cpu"], "c": ["gpu"]}, groups=[("c", "d")]),
        Problem(diamond, three, transfers="sequential"),
        Problem(diamond, three, transfers="sequential", duplex=True, transfer_ops=1),
        Problem(diamond, three, transfers="channel"),
        Problem(diamond, three, transfers="channel", latency="follows"),
        Problem(diamond, three, transfer_ops=2),
        Problem(diamond, two.replace(memory=[8.0, 11.0]), memory="reserved"),
        Problem(diamond, two.replace(memory=[14.0, 14.0]), memory="edges"),
        Problem(diamond, two.replace(memory=[16.0, 16.0]), memory="dynamic"),
        Problem(diamond, two.replace(memory=[5.0, 5.0]), memory="dynamic"),
        Problem(diamond, two.replace(memory=[np.inf, 30.0]), memory="dynamic", groups=[("a", "b"), ("c", "d")]),
        Problem(_measured(), three),
        *(Problem(_dense(seed), three, groups=[("op1", "op4")], allowed={"op3": [0, 2]}) for seed in range(4)),
        pipeline_training(1.0, 2.0, 1.0, microbatches=2, stages=2),
        pipeline_training(1.0, 2.0, 1.0, microbatches=2, stages=2, chunks=2),
        pipeline_training(1.0, 2.0, 1.0, microbatches=2, stages=2, chunks=2, layout="v"),
        pipeline_training(1.0, None, microbatches=3, stages=2),
        pipeline_training(1.0, 2.0, 1.0, microbatches=4, stages=2, layout="dual"),
        pipeline_training(1.0, 2.0, 1.0, microbatches=4, stages=2, chunks=2, layout="v"),
        Problem(gaussian_elimination(5), Cluster.uniform(3)),
        Problem(layered(40, seed=1), Cluster.uniform(4), transfers="channel"),
        Problem(layered(40, seed=2), Cluster.uniform(4, memory=1e9)),
    ]
    return sorted(found, key=size)


def size(problem: Problem) -> tuple[int, int, int]:
    """Ops, edges, devices: what makes a problem smaller than another one."""
    return problem.graph.n_ops, problem.graph.n_edges, problem.cluster.n_devices


def _chain(n: int, compute: float = 2.0, size: float = 3.0) -> OpGraph:
    edges = [(v, v + 1) for v in range(n - 1)]
    return OpGraph.from_arrays(list("abcdefgh")[:n], [compute] * n, edges, edge_bytes=[size] * (n - 1))


def _diamond() -> OpGraph:
    """One tensor of a goes to b and c, tensors of both to d; all kinds of memory."""
    return OpGraph.from_arrays(
        list("abcd"),
        [1.0, 4.0, 3.0, 2.0],
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        edge_bytes=[3.0, 3.0, 2.0, 1.0],
        edge_output=[0, 0, 0, 0],
        persistent=[0.0, 1.0, 0.0, 1.0],
        temporary=[1.0, 0.0, 2.0, 0.0],
        outputs=[(3, 0, 2.0)],
    )


def _measured() -> OpGraph:
    """Times by device type, and one op that only a GPU can run."""
    return OpGraph.from_arrays(
        list("abcd"),
        [np.nan] * 4,
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        edge_bytes=[1.0] * 4,
        time={"cpu": [1.0, 5.0, np.nan, 1.0], "gpu": [2.0, 1.0, 1.0, 0.0]},
        devices={2: ["gpu"]},
    )


def _dense(seed: int) -> OpGraph:
    """Six ops, random edges and whole costs, zeros among them."""
    rng = np.random.default_rng(seed)
    edges = [(u, v) for v in range(6) for u in range(v) if rng.random() < 0.5]
    compute = rng.integers(0, 5, 6).astype(float)
    return OpGraph.from_arrays([f"op{v}" for v in range(6)], compute, edges, edge_bytes=rng.integers(0, 4, len(edges)))
