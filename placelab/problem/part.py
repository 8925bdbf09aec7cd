"""A part of a problem: some of its ops alone, under the numbers that they have in the whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.base.index_arrays import I4, frozen
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.tensor_shapes import shapes_kept


def part_of(problem: Problem, ops: np.ndarray) -> Problem:
    """The problem of some ops alone, with the edges among them.

    Ops, tensors, groups and pins keep their numbers, so that plans and charts of the whole are plans and charts of the part. Ops
    that are not in the part stay as ops that take no time, hold and make nothing, and neither wait for any op nor let one wait.

    Parameters
    ----------
    ops
        Whether each op is in the part, shape (n_ops,), bool.

    Returns
    -------
    Problem
        Of a storage that tensors of the part share, the first of these is the first.

    Notes
    -----
    O(ops + edges). Not in the literature.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.datasets.problem("topcuoglu")
    >>> part = part_of(problem, np.arange(10) < 3)  # T1, T2, T3
    >>> part.graph.edges.tolist(), part.exec_times(0)[:5].tolist()
    ([[0, 1], [0, 2]], [14.0, 13.0, 11.0, 0.0, 0.0])
    """
    return problem._copied(graph=_graph(problem.graph, ops))


def _graph(graph: OpGraph, ops: np.ndarray) -> OpGraph:
    columns: dict[str, Any] = {name: getattr(graph, name) for name in graph.__dataclass_fields__}
    kept = ops[graph.producer] & ops[graph.consumer]
    made = ops[graph.tensor_producer]
    for label in ("compute", "persistent", "temporary", "memory"):
        columns[label] = frozen(np.where(ops, columns[label], 0.0))
    if graph.time is not None:
        columns["time"] = frozen(np.where(ops[:, None], graph.time, 0.0))
    columns |= dict(
        tensor_bytes=frozen(np.where(made, graph.tensor_bytes, 0.0)),
        tensor_storage=_storages(graph, made),
        **dict(zip(("tensor_shape", "shapes"), shapes_kept(graph.tensor_shape, graph.shapes, made), strict=True)),
        edge_tensor=frozen(graph.edge_tensor[kept]),
        consumer=frozen(graph.consumer[kept]),
    )
    return OpGraph(**columns)


def _storages(graph: OpGraph, made: np.ndarray) -> np.ndarray | None:
    """The first tensor of the part in the storage of each; tensors that are not `made` in it have one of their own."""
    if graph.tensor_storage is None:
        return None
    own = np.arange(graph.n_tensors, dtype=I4)
    first = np.full(graph.n_tensors, graph.n_tensors, I4)
    np.minimum.at(first, graph.tensor_storage[made], own[made])
    return frozen(np.where(made, first[graph.tensor_storage], own))
