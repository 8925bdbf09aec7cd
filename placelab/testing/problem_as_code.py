"""A small problem as code, so that a failure can be run again in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.problem import time_columns
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.shared_links import as_argument

RULES = ("memory", "transfers", "duplex", "transfer_ops", "latency", "groups", "allowed")
DEFAULTS = {"memory": "none", "transfers": "parallel", "latency": "holds"}


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
