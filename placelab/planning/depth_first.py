"""Depth-first order that holds few bytes: Liu's best postorder, on the depth-first forest of a graph."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem


def depth_first_order(problem: Problem) -> np.ndarray:
    r"""All ops, each behind what it reads, so that few bytes are held at a time; a permutation, int32 of shape (n_ops,).

    .. math:: peak(v) = \max\Big(\max_i \big(\sum_{j < i} out(u_j) + peak(u_i)\big), \sum_j out(u_j) + temporary(v) + out(v)\Big)

    u are the ops that v reads, by falling :math:`peak(u) - out(u)`. Tensors in one storage count once: out(v) has the storages
    that v's outputs are in, and v itself takes only those that begin with it, as a view or an op in place takes none.

    Notes
    -----
    Liu (1986) shows that on a tree this is the best of all postorders. A graph is taken for a tree when peaks are computed, with
    an op that several read below each of them; the search then goes from the exits back to the inputs, those of the highest peak
    first, and takes each op at its first visit. So the order is best on trees only, and only among those that end a subtree
    before they begin the next one (Liu 1987 has the general case). Ties: the higher op number. Times and devices do not count.
    O(ops + edges · log edges).

    References
    ----------
    Liu (1986), On the storage requirement in the out-of-core multifrontal method; Liu (1987), An application of generalized tree
    pebbling to sparse matrix factorization.
    """
    graph = problem.graph
    size = _kept(graph).tolist()
    working = (graph.temporary + graph.new_bytes if problem.memory_model.working else graph.new_bytes).tolist()
    ptr = graph.pred_ptr.tolist()
    producer = graph.producer[graph.pred_edge].tolist()
    peak = [0.0] * graph.n_ops
    inputs: list[list[int]] = []
    for v in range(graph.n_ops):  # the inputs of an op have lower numbers
        before = sorted(set(producer[ptr[v] : ptr[v + 1]]), key=lambda u: (size[u] - peak[u], -u))
        most = held = 0.0
        for u in before:
            most = max(most, held + peak[u])
            held += size[u]
        peak[v] = max(most, held + working[v], size[v])
        inputs.append(before)
    exits = np.flatnonzero(np.diff(graph.successors[0]) == 0).tolist()
    order = _postorder(inputs, sorted(exits, key=lambda v: (size[v] - peak[v], -v)))
    return frozen(np.array(order, np.int32))


def _kept(graph: OpGraph) -> np.ndarray:
    """Bytes of the storages that each op's outputs are in, which they keep until they are read; shape (n_ops,)."""
    if graph.tensor_storage is None:
        return graph.outputs
    pairs = np.unique(np.stack([graph.tensor_producer, graph.tensor_storage]), axis=1)
    return np.bincount(pairs[0], graph.storage_bytes[pairs[1]], minlength=graph.n_ops)


def _postorder(inputs: list[list[int]], roots: list[int]) -> list[int]:
    """Ops in the order in which a depth-first search from the roots leaves them."""
    order: list[int] = []
    met = [False] * len(inputs)
    for root in roots:
        met[root] = True
        path = [(root, iter(inputs[root]))]
        while path:
            v, rest = path[-1]
            for u in rest:
                if not met[u]:
                    met[u] = True
                    path.append((u, iter(inputs[u])))
                    break
            else:
                order.append(v)
                path.pop()
    return order
