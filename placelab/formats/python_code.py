"""Write clusters, rules and small problems as Python code that makes them again, exact to the last digit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pprint import pformat
from typing import Any

import numpy as np

from placelab.problem.cluster import Cluster, as_argument
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import checked

COLUMNS = ("speed", "memory", "bandwidth", "latency", "names", "types", "hosts")
SMALL = 50  # ops
broken = partial(pformat, width=110, compact=True, sort_dicts=False)  # a value as code, in lines of an editor


@checked
def as_code(problem: Problem) -> str:
    """A small problem as the code that makes it, after ``import placelab as pl``.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    >>> print(as_code(pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=2.0))))
    graph = pl.OpGraph.from_arrays(names=['a', 'b'], compute=[2, 3], edges=[[0, 1]], edge_bytes=[4])
    cluster = pl.Cluster(
        speed=[1, 1],
        bandwidth=2,
    )
    problem = pl.Problem(graph, cluster, memory='none', transfers='parallel')
    """
    if problem.graph.n_ops > SMALL:
        return repr(problem)
    given = ", ".join(f"{label}={literal(value)}" for label, value in _graph_arguments(problem.graph).items())
    lines = [f"graph = pl.OpGraph.from_arrays({given})", *cluster_code(problem.cluster)]
    return "\n".join([*lines, problem_code(problem, problem.allowed)])


def cluster_code(cluster: Cluster) -> list[str]:
    """Lines that make a cluster called ``cluster``, without columns that are as by default."""
    usual = Cluster(cluster.speed)
    columns = [c for c in COLUMNS if c == "speed" or not np.array_equal(getattr(cluster, c), getattr(usual, c))]
    columns += ["links"] if cluster.links else []
    return ["cluster = pl.Cluster(", *(f"    {c}={column_code(cluster, c)}," for c in columns), ")"]


def column_code(cluster: Cluster, label: str) -> str:
    """A column of a cluster; a matrix of equal links as one number, and without the diagonal, which means nothing."""
    value = getattr(cluster, label)
    if not isinstance(value, np.ndarray):
        return broken(as_argument(value) if label == "links" else list(value)).replace("\n", "\n    ")
    if value.ndim == 1:
        return "None" if np.isinf(value).all() else literal(value)
    apart = value[~np.eye(len(value), dtype=bool)]
    if len(apart) and (apart == apart[0]).all():
        return number(apart[0])
    rows = np.where(np.eye(len(value), dtype=bool), 0.0, value)
    return "[" + ",\n        ".join(map(literal, rows)) + "]"


def problem_code(rules: Any, allowed: Mapping[str, Any] | None = None) -> str:
    """The line that makes a problem of ``graph`` and ``cluster`` with the models and groups of `rules`, a Problem or the like."""
    arguments = [f"memory={rules.memory!r}", f"transfers={rules.transfers!r}"]
    arguments += ["duplex=True"] if rules.duplex else []
    arguments += [f"transfer_ops={number(rules.transfer_ops)}"] if rules.transfer_ops else []
    arguments += [f"latency={rules.latency!r}"] if rules.latency != "holds" else []
    arguments += [f"groups={broken(list(rules.groups))}"] if rules.groups else []
    arguments += [f"allowed={broken(dict(allowed))}"] if allowed else []
    return f"problem = pl.Problem(graph, cluster, {', '.join(arguments)})"


def number(x: float) -> str:
    """The shortest text of a float that reads back as the same float.

    >>> number(6e9), number(12.0), number(0.1 + 0.2)
    ('6e9', '12', '0.30000000000000004')
    """
    if not np.isfinite(x):
        return f"float('{x}')"
    short = [f"{x:g}", repr(float(x)), *([str(int(x))] if x == int(x) else [])]
    tidy = [re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), text) for text in short]
    return min((text for text in tidy if float(text) == x), key=len)


def literal(value: Any) -> str:
    """A value as code, its floats as short as they can be, arrays and tuples as lists."""
    if isinstance(value, (np.ndarray, list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {literal(held)}" for key, held in value.items()) + "}"
    value = value.item() if isinstance(value, np.generic) else value
    return number(value) if isinstance(value, float) else repr(value)


def _graph_arguments(graph: OpGraph) -> dict[str, Any]:
    """Arguments of ``OpGraph.from_arrays``, without those that are as by default."""
    output = np.arange(graph.n_tensors) - graph.op_tensor_ptr[graph.tensor_producer]
    unused = np.flatnonzero(np.diff(graph.tensor_ptr) == 0)
    own = np.array_equal(graph.memory, graph.persistent + graph.temporary + graph.new_bytes)
    plain = len(unused) == 0 and np.array_equal(graph.edge_tensor, np.arange(graph.n_edges))  # a tensor per edge
    in_order = np.array_equal(graph.edges, np.unique(graph.edges, axis=0)) if graph.n_edges else True
    columns = dict(
        edge_bytes=graph.edge_bytes,
        edge_control=graph.tensor_control[graph.edge_tensor],
        persistent=graph.persistent,
        temporary=graph.temporary,
    )
    found: dict[str, Any] = dict(names=graph.names, compute=graph.compute, edges=graph.edges)
    found |= {label: column for label, column in columns.items() if column.any()}
    found |= {} if plain and in_order else {"edge_output": output[graph.edge_tensor]}
    found |= {} if own else {"memory": graph.memory}
    of = graph.tensor_storage
    found |= {} if of is None else {"edge_storage": of[graph.edge_tensor]}
    if len(unused):
        rows = [(graph.tensor_producer[t], output[t], graph.tensor_bytes[t]) for t in unused]
        found["outputs"] = rows if of is None else [(*row, of[t]) for row, t in zip(rows, unused, strict=True)]
    known = ((t, graph.shape_of(t)) for t in range(graph.n_tensors if graph.shapes else 0))
    shapes = {(int(graph.tensor_producer[t]), int(output[t])): shape for t, shape in known if shape is not None}
    if shapes:
        found |= {"edge_output": output[graph.edge_tensor], "shapes": shapes}
    return found | {label: value for label, value in time_arguments(graph).items() if value}
