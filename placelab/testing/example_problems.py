"""Problems on which strategies tend to fail; a small problem as code, so that a failure can be run again in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.graphs.generators import gaussian_elimination, layered, pipeline_training
from placelab.problem import time_columns
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.shared_links import as_argument
from placelab.schedule.catalogue import checked


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


RULES = ("memory", "transfers", "duplex", "transfer_ops", "latency", "groups", "allowed")
DEFAULTS = {"memory": "none", "transfers": "parallel", "latency": "holds"}


@checked
def as_code(problem: Problem) -> str:
    """A small problem as the code that makes it, after ``import placelab as pl; from numpy import inf, nan``."""
    if problem.graph.n_ops > 50:
        return repr(problem)
    rules = {label: getattr(problem, label) for label in RULES}
    rules |= {label: None for label in DEFAULTS if rules[label] == DEFAULTS[label]}
    return "\n".join(
        [
            f"graph = pl.OpGraph.from_arrays({_call(_graph_arguments(problem.graph))})",
            f"cluster = pl.Cluster({_call(_cluster_arguments(problem.cluster))})",
            f"problem = pl.Problem({_call(dict(graph='graph', cluster='cluster') | rules, bare=('graph', 'cluster'))})",
        ]
    )


def _graph_arguments(graph: OpGraph) -> dict[str, Any]:
    number = np.arange(graph.n_tensors) - graph.op_tensor_ptr[graph.tensor_producer]
    unused = np.flatnonzero(np.diff(graph.tensor_ptr) == 0)
    own = np.array_equal(graph.memory, graph.persistent + graph.temporary + graph.outputs)
    plain = len(unused) == 0 and np.array_equal(graph.edge_tensor, np.arange(graph.n_edges))  # a tensor per edge
    in_order = np.array_equal(graph.edges, np.unique(graph.edges, axis=0)) if graph.n_edges else True
    return dict(
        names=graph.names,
        compute=graph.compute,
        edges=graph.edges,
        edge_bytes=graph.edge_bytes,
        edge_output=None if plain and in_order else number[graph.edge_tensor],
        edge_control=graph.tensor_control[graph.edge_tensor],
        outputs=[(int(graph.tensor_producer[t]), int(number[t]), float(graph.tensor_bytes[t])) for t in unused],
        persistent=graph.persistent,
        temporary=graph.temporary,
        memory=None if own else graph.memory,
        **_time_arguments(graph),
    )


def _time_arguments(graph: OpGraph) -> dict[str, Any]:
    found = time_columns.arguments(graph)
    return found | {"time": {kind: seconds.tolist() for kind, seconds in found.get("time", {}).items()}}


def _cluster_arguments(cluster: Cluster) -> dict[str, Any]:
    arguments = {label: getattr(cluster, label) for label in cluster.__dataclass_fields__}
    arguments["links"] = as_argument(cluster.links)
    default = Cluster(cluster.speed)
    if np.isinf(cluster.memory).all():
        arguments["memory"] = None
    for label in ("bandwidth", "latency"):
        arguments[label] = _number_or_matrix(arguments[label])
    for label in ("names", "types", "hosts"):
        if arguments[label] == getattr(default, label):
            arguments[label] = None
    return arguments


def _number_or_matrix(links: np.ndarray) -> Any:
    """One number where all links are equal: shorter, and without the infinity of the diagonal."""
    between = links[~np.eye(len(links), dtype=bool)]
    if not len(between):
        return None
    return float(between[0]) if (between == between[0]).all() else links


def _call(arguments: dict[str, Any], bare: tuple[str, ...] = ()) -> str:
    """Arguments as code, without those that are None, empty or all zero."""
    plain = {label: value.tolist() if isinstance(value, np.ndarray) else value for label, value in arguments.items()}
    is_set = lambda v: v and (isinstance(v, (str, dict, float, bool)) or any(v))  # noqa: E731
    always = ("compute", "edges", "edge_output")
    given = {label: v for label, v in plain.items() if v is not None and (label in always or is_set(v))}
    return ", ".join(f"{label}={value if label in bare else repr(value)}" for label, value in given.items())
