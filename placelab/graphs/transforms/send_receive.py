"""Cut a placed graph into one graph per device, with Send and Receive ops where an edge was cut."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.planning.lower_bounds import transfers_of
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies.preparing.contraction import edge_columns, output_rows, shapes_at

SEND = "_Send"
RECEIVE = "_Recv"


def send_recv(graph: OpGraph | Problem, placement: Placement) -> dict[str, OpGraph]:
    """The subgraph of each device, with canonical Send and Receive ops: one pair per tensor and destination.

    Parameters
    ----------
    graph
        The graph (or the problem) that `placement` places.
    placement
        Where its ops are.

    Returns
    -------
    dict
        Device name → OpGraph, for devices that have ops, in the cluster's order. The Send op ``_Send/<key>`` on the source reads
        the tensor, the Receive op ``_Recv/<key>`` on the destination has it as its output, for all its readers there; `key` is
        ``source;destination;tensor``, the tensor being ``producer:output``, or ``^producer`` where it only orders. Their
        kinds are ``_Send`` and ``_Recv``; they compute nothing. All ops are restricted to their device. Groups stay, and so do
        storages that tensors of a device share; what a Receive brings has one of its own.

    Notes
    -----
    With an edge from each Send to its Receive the subgraphs together are acyclic, and contracting those edges gives the
    graph back. O(n_ops · devices + n_edges log n_edges).

    References
    ----------
    TensorFlow white paper (2015) §3.2.2.

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1)], edge_bytes=[8])
    >>> problem = pl.Problem(g, pl.Cluster([1, 1], names=["gpu:0", "gpu:1"]))
    >>> for device, part in send_recv(g, pl.Placement(problem, [0, 1])).items():
    ...     print(device, list(part.names))
    gpu:0 ['a', '_Send/gpu:0;gpu:1;a:0']
    gpu:1 ['_Recv/gpu:0;gpu:1;a:0', 'b']
    """
    expect(placement, Placement, "send_recv")
    whole = graph.graph if isinstance(graph, Problem) else graph
    expect(whole, OpGraph, "send_recv")
    if placement.problem.graph is not whole:
        raise FormatError(f"the placement is of {placement.problem.graph!r}, not of {whole!r}; place this graph")
    tensor, destination = transfers_of(placement.problem, placement.device)
    keys = _keys(placement, tensor, destination)
    names = placement.problem.cluster.names
    return {names[d]: _part(placement, int(d), tensor, destination, keys) for d in np.unique(placement.device)}


def _keys(placement: Placement, tensor: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Key of each transfer, shared by its Send and its Receive op."""
    graph = placement.problem.graph
    names = placement.problem.cluster.names
    made = graph.tensor_producer[tensor]
    number = tensor - graph.op_tensor_ptr[made]
    rows = zip(tensor, made, number, placement.device[made], destination, strict=True)
    label = lambda t, u, i: f"^{graph.names[u]}" if graph.tensor_control[t] else f"{graph.names[u]}:{i}"  # noqa: E731
    return np.array([f"{names[s]};{names[d]};{label(t, u, i)}" for t, u, i, s, d in rows], dtype=object)


def _part(placement: Placement, d: int, tensor: np.ndarray, destination: np.ndarray, keys: np.ndarray) -> OpGraph:
    """Ops of device `d`: its Receives, its share of the graph, its Sends."""
    problem = placement.problem
    graph = placement.problem.graph
    device = placement.device
    into = np.flatnonzero(destination == d)
    own = np.flatnonzero(device == d)
    out = np.flatnonzero(device[graph.tensor_producer[tensor]] == d)
    r = len(into)
    n = len(own)
    s = len(out)
    of = np.full(graph.n_ops, -1)
    of[own] = r + np.arange(n)
    received = np.full(graph.n_tensors, -1)
    received[tensor[into]] = np.arange(r)
    here = device[graph.consumer] == d
    source = np.where(device[graph.producer] == d, of[graph.producer], received[graph.edge_tensor])[here]
    edges = np.concatenate(
        [np.stack([source, of[graph.consumer[here]]], axis=1), _sends(graph, of, tensor[out], r + n)]
    )
    carried = np.concatenate([graph.edge_tensor[here], tensor[out]])
    columns = edge_columns(graph, carried)
    columns["edge_storage"] = np.where(device[graph.tensor_producer[carried]] == d, columns["edge_storage"], -1)
    unused = np.flatnonzero((device[graph.tensor_producer] == d) & (np.diff(graph.tensor_ptr) == 0))
    padded = lambda column, fill: np.concatenate([np.full(r, fill), column[own], np.full(s, fill)])  # noqa: E731
    memory = padded(graph.memory, 0.0)
    memory[:r] = graph.tensor_bytes[tensor[into]]
    name = problem.cluster.names[d]
    return OpGraph.from_arrays(
        [*(f"{RECEIVE}/{key}" for key in keys[into]), *graph.names[own], *(f"{SEND}/{key}" for key in keys[out])],
        padded(graph.compute, 0.0),
        edges,
        **columns,
        outputs=output_rows(graph, unused, of),
        shapes=shapes_at(graph, of) | _received(graph, tensor[into]),
        persistent=padded(graph.persistent, 0.0),
        temporary=padded(graph.temporary, 0.0),
        memory=memory,
        kind=[RECEIVE] * r + graph.kind[own].tolist() + [SEND] * s,
        **time_arguments(graph, lambda time: np.pad(time[own], ((r, s), (0, 0)))),
        groups=[of[own[problem.group[own] == g]] for g in np.unique(problem.group[own]) if g >= 0],
        group_names=[problem.group_names[g] for g in np.unique(problem.group[own]) if g >= 0],
        devices=dict.fromkeys(range(r + n + s), (name,)),
        metadata={**graph.metadata, "name": f"{graph.title} on {name}"},
    )


def _received(graph: OpGraph, tensors: np.ndarray) -> dict[tuple[int, int], str]:
    """Shapes of what the Receive ops hand on, which are numbered from 0."""
    shapes = [graph.shape_of(t) for t in tensors.tolist()]
    return {(i, t): shape for i, (t, shape) in enumerate(zip(tensors.tolist(), shapes, strict=True)) if shape}


def _sends(graph: OpGraph, of: np.ndarray, tensor: np.ndarray, first: int) -> np.ndarray:
    """Edges from the producers of tensors to their Send ops, which are numbered from `first`."""
    return np.stack([of[graph.tensor_producer[tensor]], first + np.arange(len(tensor))], axis=1)
