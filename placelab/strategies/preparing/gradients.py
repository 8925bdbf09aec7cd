"""Find gradient ops and their forward ops by the names that TensorFlow gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from placelab.base.errors import FormatError
from placelab.problem.graph import OpGraph

SCOPE = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.*)")


def forward_ops(graph: OpGraph) -> np.ndarray:
    """The forward op that each gradient op belongs to.

    Returns
    -------
    ndarray of int32, shape (n_ops,)
        -1 for forward ops, and for backward ops that belong to no single one.

    Notes
    -----
    ``[…/]gradients/<op>_grad[/…]`` belongs to ``<op>``, the longest such name that an op has; so TensorFlow 1 names
    what ``tf.gradients`` adds. ``metadata["forward"]``, gradient op's name → forward op's name, adds to these and wins.
    O(characters in names that hold ``gradients``).

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["a/MatMul", "gradients/a/MatMul_grad/Mul", "gradients/AddN"], 1, [(0, 1), (1, 2)])
    >>> forward_ops(g).tolist()
    [-1, 0, -1]
    """
    stored = graph.metadata.get("forward", {})
    if not isinstance(stored, Mapping):
        raise FormatError(f"metadata 'forward' of {graph.title} is {stored!r:.60}; expected gradient op → forward op")
    forward = np.full(graph.n_ops, -1, dtype=np.int32)
    for v in np.flatnonzero(in_backward_scope(graph)):
        scope = SCOPE.search(graph.names[v])
        assert scope is not None  # in_backward_scope matched it
        forward[v] = _named(graph._index, scope[1])
    for name, op in stored.items():
        forward[graph.index(name)] = graph.index(op)
    return forward


def gradient_ties(graph: OpGraph) -> np.ndarray:
    """Each gradient op and its forward op, shape (n_pairs, 2)."""
    forward = forward_ops(graph)
    paired = np.flatnonzero(forward >= 0)
    return np.stack([paired, forward[paired]], axis=1)


def in_backward_scope(graph: OpGraph) -> np.ndarray:
    """Whether each op's name says that ``tf.gradients`` added it, shape (n_ops,)."""
    return np.array(
        [name.find("gradients") >= 0 and SCOPE.search(name) is not None for name in graph.names], dtype=bool
    )


def _named(index: Mapping[str, int], path: str) -> int:
    end = path.rfind("_grad")
    while end >= 0:
        if path[end + 5 : end + 6] in ("", "/") and path[:end] in index:
            return index[path[:end]]
        end = path.rfind("_grad", 0, end)
    return -1


def backward_part(graph: OpGraph) -> np.ndarray:
    """Whether each op belongs to the backward pass: gradient ops, and all that depend on one, such as weight updates.

    Shape (n_ops,), bool. All inputs of forward ops are forward ops. O(n_ops + n_edges).
    """
    return depending(graph, gradient_ops(graph))


def gradient_ops(graph: OpGraph) -> np.ndarray:
    """Whether each op is a gradient op, by its name or by the graph's metadata; shape (n_ops,)."""
    return in_backward_scope(graph) | (forward_ops(graph) >= 0)


def depending(graph: OpGraph, seeds: np.ndarray) -> np.ndarray:
    """Whether each op is a seed, or depends on one; shape (n_ops,). O(n_ops + n_edges)."""
    after = seeds.tolist()
    for u, v in zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True):
        after[v] = after[v] or after[u]
    return np.array(after)


def leaders(graph: OpGraph, group: np.ndarray) -> np.ndarray:
    """The forward op whose device each op should be on; a forward op leads itself.

    A backward op follows, whichever it has first: the first forward op of its colocation group; its forward op
    (:func:`forward_ops`); what the first of its inputs that follows some op follows; what the first such of its consumers
    does; the first forward op of the graph. A group's backward ops without a forward op all follow what their first one does.

    Parameters
    ----------
    group
        Colocation group of each op, -1 for none.

    Returns
    -------
    ndarray of int32, shape (n_ops,)
        All -1 when there is no forward op or no backward op.
    """
    backward = backward_part(graph)
    if backward.all() or not backward.any():
        return np.full(graph.n_ops, -1, dtype=np.int32)
    lead = np.where(backward, _first_forward(forward_ops(graph), backward), np.arange(graph.n_ops)).tolist()
    bound = _group_leaders(group.tolist(), backward.tolist(), lead)

    def follow(v: int, other: int) -> None:
        if lead[v] >= 0:
            return
        g = int(group[v])
        lead[v] = bound.get(g, lead[other])
        if g >= 0 and lead[v] >= 0:
            bound.setdefault(g, lead[v])

    for v in np.flatnonzero(backward).tolist():
        if group[v] in bound:
            lead[v] = bound[group[v]]
    for u, v in graph.edges.tolist():
        follow(v, u)
    for u, v in reversed(graph.edges.tolist()):
        follow(u, v)
    first = int(np.flatnonzero(~backward)[0])
    return np.array(
        [bound.get(g, first) if u < 0 else u for u, g in zip(lead, group.tolist(), strict=True)], dtype=np.int32
    )


def _first_forward(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """The forward op behind each gradient op, behind gradients of gradients too, up to the eighth order."""
    for _ in range(8):
        forward = np.where((forward >= 0) & backward[forward], forward[forward], forward)
    return np.where(backward[forward], -1, forward)


def _group_leaders(group: list[int], backward: list[bool], lead: list[int]) -> dict[int, int]:
    """Leader of each group's backward ops: its first forward op, else the leader of its first member that has one."""
    bound: dict[int, int] = {}
    for wanted in (False, True):
        for v, g in enumerate(group):
            if g >= 0 and backward[v] == wanted and lead[v] >= 0:
                bound.setdefault(g, lead[v])
    return bound
