"""Mirror a forward graph to its backward pass: a gradient op per op, every edge reversed."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.problem.problem import Problem, on_graph
from placelab.strategies.preparing.contraction import output_rows

Either = TypeVar("Either", OpGraph, Problem)


def backward(graph: Either, ratio: Any = 1.0, *, transfer_ratio: Any = None, forward: bool = True) -> Either:
    r"""The gradient ops of a forward graph, mirrored, each colocated with its op.

    The gradient op of v, called ``gradients/<v>_grad``, reads from those of v's consumers; where v → s carries a tensor, the
    gradient op of s sends that of v one of ``ratio`` times the size.

    Parameters
    ----------
    graph
        The forward graph, or a problem with it.
    ratio
        Cost of each gradient op over its op's: compute, measured times, temporary bytes; a number, or one per op, shape (n_ops,).
    transfer_ratio
        Bytes of a gradient over its tensor's, a number, or one per edge, shape (n_edges,). Default: as `ratio`, which must be one
        number then.
    forward
        True: the graph of a training step, both passes. Every gradient op that starts the backward pass waits for the op that
        ends the forward one (a control edge), and is in one colocation group with its op. False: the mirrored graph alone,
        the thesis' G′, where op v's gradient op has the number ``n_ops - 1 - v``; its colocation groups are those of the ops.

    Returns
    -------
    OpGraph or Problem
        Of the same class as `graph`. Gradient ops hold no persistent bytes, and may run where their op may. Weight updates
        (GradientDescent, Assign) are left out, as in the thesis.

    Notes
    -----
    A tensor that several ops read has a gradient from each of them. Control edges are mirrored as control edges. A gradient
    op needs the outputs of its op, too; that costs nothing, since both are on one device and the op has run by then.
    O(n_ops + n_edges).

    References
    ----------
    Srivastava (2018) ch. 5.

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["a", "b"], [1.0, 3.0], [(0, 1)], edge_bytes=[8.0])
    >>> both = backward(g, 2.0)
    >>> list(both.names), both.compute.tolist()
    (['a', 'b', 'gradients/b_grad', 'gradients/a_grad'], [1.0, 3.0, 6.0, 2.0])
    >>> both.edges.tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    if isinstance(graph, Problem):
        made = backward(graph.graph, ratio, transfer_ratio=transfer_ratio, forward=forward)
        return on_graph(graph, made, None if forward else gradient_names(graph.graph))
    expect(graph, OpGraph, "backward")
    if transfer_ratio is None and np.ndim(ratio):
        raise FormatError("backward: with a ratio per op, give transfer_ratio, too: a number, or one per edge")
    of_ops = _factors(ratio, graph.n_ops, "ratio")
    of_edges = _factors(ratio if transfer_ratio is None else transfer_ratio, graph.n_edges, "transfer_ratio")
    if forward:
        _check_names(graph)
    mirrored = _mirrored(graph, of_ops, of_edges)
    return _training(graph, mirrored) if forward else mirrored


def gradient_names(graph: OpGraph) -> np.ndarray:
    """Name of each op's gradient op, shape (n_ops,)."""
    return np.array([f"gradients/{name}_grad" for name in graph.names], dtype=object)


def _check_names(graph: OpGraph) -> None:
    """FormatError where an op has the name that a gradient op would get."""
    for name, gradient in zip(graph.names, gradient_names(graph), strict=True):
        if gradient in graph._index:
            raise FormatError(
                f"backward: {graph.title} has an op {gradient!r} already, as the gradient op of {name!r} is to be called; "
                "give it the graph of the forward pass alone"
            )


def _factors(value: Any, n: int, label: str) -> np.ndarray:
    try:
        factors = np.broadcast_to(np.asarray(value, dtype=np.float64), n)
    except (TypeError, ValueError):
        raise FormatError(f"backward: {label} is {value!r:.60}; expected a number, or {n} of them") from None
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise FormatError(f"backward: {label} is {value!r:.60}; expected finite numbers, 0 or more")
    return factors


def _mirrored(graph: OpGraph, of_ops: np.ndarray, of_edges: np.ndarray) -> OpGraph:
    """The gradient ops alone: op v's is number n_ops - 1 - v, since the mirrored order is topological."""
    n = graph.n_ops
    restricted = np.flatnonzero(graph.device_set >= 0)
    return OpGraph.from_arrays(
        gradient_names(graph)[::-1],
        (graph.compute * of_ops)[::-1],
        n - 1 - graph.edges[:, ::-1],
        edge_bytes=graph.edge_bytes * of_edges,
        edge_control=graph.tensor_control[graph.edge_tensor],
        temporary=(graph.temporary * of_ops)[::-1],
        kind=[f"{kind}Grad" if kind else "" for kind in graph.kind[::-1]],
        **time_arguments(graph, lambda time: (time * of_ops[:, None])[::-1]),
        groups=[n - 1 - ops for ops in _groups(graph)],
        group_names=graph.group_names,
        devices={n - 1 - int(v): graph.device_sets[graph.device_set[v]] for v in restricted},
        metadata={**graph.metadata, "name": f"{graph.title}, backward"},
    )


def _groups(graph: OpGraph) -> list[np.ndarray]:
    members = np.argsort(graph.group, kind="stable")[(graph.group < 0).sum() :]
    return np.split(members, np.cumsum(np.bincount(graph.group[members]))[:-1]) if len(members) else []


def _training(graph: OpGraph, mirrored: OpGraph) -> OpGraph:
    """Both graphs as one, the ends of the forward pass followed by their gradient ops."""
    n, ops = graph.n_ops, np.arange(graph.n_ops)
    twin = 2 * n - 1 - ops  # number of each op's gradient op
    ends = np.flatnonzero(np.diff(graph.succ_ptr) == 0)
    both = lambda label: np.concatenate([getattr(graph, label), getattr(mirrored, label)])  # noqa: E731
    unused = np.flatnonzero(np.diff(graph.tensor_ptr) == 0)
    pairs = [*(np.concatenate([group, twin[group]]) for group in _groups(graph)), *np.stack([ops, twin], axis=1)]
    sets = {
        int(v) + first: made.device_sets[made.device_set[v]]
        for made, first in ((graph, 0), (mirrored, n))
        for v in np.flatnonzero(made.device_set >= 0)
    }
    return OpGraph.from_arrays(
        both("names"),
        both("compute"),
        np.concatenate([graph.edges, mirrored.edges + n, np.stack([ends, twin[ends]], axis=1)]),
        edge_bytes=np.concatenate([both("edge_bytes"), np.zeros(len(ends))]),
        edge_output=np.concatenate(
            [graph.edge_tensor, mirrored.edge_tensor + graph.n_tensors, np.zeros(len(ends), int)]
        ),
        edge_control=np.concatenate(
            [*(g.tensor_control[g.edge_tensor] for g in (graph, mirrored)), np.ones(len(ends), bool)]
        ),
        outputs=output_rows(graph, unused, ops),
        persistent=both("persistent"),
        temporary=both("temporary"),
        memory=both("memory"),
        kind=both("kind"),
        **time_arguments(graph, lambda time: np.concatenate([time, mirrored.time])),
        groups=pairs,
        group_names=[*graph.group_names, *graph.names],
        devices=sets,
        metadata={**graph.metadata, "name": f"{graph.title}, training"},
    )
