"""Tell the phases of a placed training step apart: forward, backward, update, and what no input reaches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from placelab.base.errors import UnsupportedError
from placelab.formats.flops.kinds import FREE, category, name_of
from placelab.problem.graph import OpGraph
from placelab.strategies.preparing.gradients import backward_part, depending, gradient_ops

INPUTS = ("input", "Placeholder", "PlaceholderWithDefault", "IteratorGetNext")
SUMS = ("AddN", "Add", "AddV2", "add")


def phases(graph: OpGraph, device: np.ndarray, split: bool) -> np.ndarray:
    """Phase of each op, shape (n_ops,): ``P``, ``F``, ``BW`` (with `split`: ``B`` or ``W``) or ``U``.

    ``W`` are backward ops from which no backward op on another device can be reached. ``U`` are optimiser ops, ops that read
    gradients and are none (their names say so: clipping), what depends on them, and sums of gradients of weights over devices:
    backward additions with an input from another device on which only updates depend, if anything does. ``P`` are forward ops
    that depend on no input, in graphs that have inputs.

    Raises
    ------
    UnsupportedError
        The graph has no backward pass, or nothing but one.
    """
    back = backward_part(graph)
    gradient = gradient_ops(graph)
    if not back.any() or back.all():
        raise UnsupportedError(
            f"microbatches needs a training step with a forward and a backward pass, and {graph.title} has no "
            f"{'forward' if back.all() else 'backward'} op; transforms.backward makes one of a forward graph"
        )
    update = depending(graph, back & (optimisers(graph) | ~gradient))
    update |= _summed(graph, device, back, update)
    fed = depending(graph, np.isin(graph.kind, INPUTS))
    phase = np.where(back, "BW", "F").astype(object)
    if split:
        phase[back] = np.where(_awaited(graph, device, back & ~update), "B", "W")[back]
    phase[~back & ~fed & fed.any()] = "P"
    phase[update] = "U"
    return phase


def summed_where_read(graph: OpGraph, device: np.ndarray) -> np.ndarray:
    """The device of each op, with additions of the backward pass moved to the device of what reads them, where that is one.

    Gradients of a tensor with several readers are summed by an op that belongs to no op of the forward pass; wherever it was
    placed, a pipeline sums them on the stage that needs the sum. Shape (n_ops,).
    """
    sums = backward_part(graph) & _kinds(graph, lambda kind: name_of(kind) in SUMS)
    moved = device.copy()
    for v in np.flatnonzero(sums)[::-1]:
        readers = np.unique(moved[graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]]])
        if len(readers) == 1:
            moved[v] = readers[0]
    return moved


def added_bytes(graph: OpGraph, device: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Bytes of gradients that the updates of each device only add to others, shape (highest device + 1,).

    Of a weight that several stages hold: all parts but one, as their sum has the bytes of one.
    """
    sums, views = _kinds(graph, lambda kind: name_of(kind) in SUMS), _kinds(graph, lambda kind: category(kind) in FREE)
    gradient = np.isin(phase, ("BW", "B", "W"))
    added = np.zeros(device.max(initial=0) + 1)
    for v in np.flatnonzero((phase == "U") & (sums | views)):
        edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]
        edges = edges[~graph.tensor_control[graph.edge_tensor[edges]]]
        if len(edges) and gradient[graph.producer[edges]].all():
            gradient[v] = True
            if sums[v]:
                added[device[v]] += graph.edge_bytes[edges].sum() - graph.edge_bytes[edges].max()
    return added


def optimisers(graph: OpGraph) -> np.ndarray:
    """Whether each op is an optimiser's, by its kind; shape (n_ops,)."""
    return _kinds(graph, lambda kind: category(kind) == "optimiser")


def _kinds(graph: OpGraph, wanted: Callable[[str], bool]) -> np.ndarray:
    """Whether each op's kind is wanted, shape (n_ops,)."""
    return np.isin(graph.kind, [kind for kind in set(graph.kind.tolist()) if wanted(kind)])


def _summed(graph: OpGraph, device: np.ndarray, back: np.ndarray, update: np.ndarray) -> np.ndarray:
    """Whether each op is a sum of gradients over devices, or a view of one."""
    on, ops, edges = device.tolist(), back.tolist(), graph.edges.tolist()
    light = _kinds(graph, lambda kind: name_of(kind) in SUMS or category(kind) in FREE)
    last = (back & ~update & light).tolist()  # on which only updates, and others of these, depend
    for u, v in reversed(edges):
        last[u] = last[u] and (last[v] or bool(update[v]))
    summed = [False] * graph.n_ops
    for u, v in edges:
        summed[v] = summed[v] or (last[v] and ops[u] and (summed[u] or on[u] != on[v]))
    return np.array(summed, dtype=bool)


def _awaited(graph: OpGraph, device: np.ndarray, ops: np.ndarray) -> np.ndarray:
    """Whether one of `ops` on another device than v is v's successor, or the successor of one of `ops` that depends on v."""
    on, inside = device.tolist(), ops.tolist()
    awaited = [False] * graph.n_ops
    for u, v in reversed(graph.edges.tolist()):
        if inside[u] and inside[v]:
            awaited[u] = awaited[u] or awaited[v] or on[u] != on[v]
    return np.array(awaited, dtype=bool)
