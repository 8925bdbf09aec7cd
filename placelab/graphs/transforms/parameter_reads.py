"""Find the parameters of a model: the reads of its variables, apart from the ops that a worker runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placelab.base.errors import FormatError
from placelab.planning.read_orders import read_ops
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.strategies.preparing.contraction import output_rows
from placelab.strategies.preparing.gradients import backward_part

OF_OPS = ("forward", "parameters", "cluster")  # metadata that name ops or devices of the graph as it was
RULE = (
    "a read is an op of kind 'read' or 'ReadVariableOp', or one named '<variable>/read'; in a graph without these, each op with "
    "persistent bytes reads a parameter of that size"
)


@dataclass(frozen=True, eq=False)
class Forward:
    """A forward graph whose first ops are the reads of its parameters, which have no inputs.

    Attributes
    ----------
    graph : OpGraph
        Reads, then all other ops in their order, without variables, groups and device constraints.
    origin : ndarray of int, shape (graph.n_ops,)
        Number of each op in the graph it was made from; of a read that stands for an op's persistent bytes, that op's.
    parameters : list of str
        Name of the parameter of each read; as many as there are reads.
    """

    graph: OpGraph
    origin: np.ndarray
    parameters: list[str]

    @property
    def n_reads(self) -> int:
        """Number of reads: the ops below this number."""
        return len(self.parameters)


def forward_with_reads(graph: OpGraph, cut: bool = True) -> Forward:
    """The forward part of a graph, its reads first and free of inputs.

    Parameters
    ----------
    graph
        A model graph.
    cut
        Leave out a backward pass of its own, and the weight updates that follow it.

    Raises
    ------
    FormatError
        No reads; a read that depends on more than its variable.

    Notes
    -----
    Variables are ops without inputs that a read consumes, and ops that only lead to reads. Their persistent bytes pass to their
    read, to the first of several. Reads of the same variables that send the same bytes are one: the first of them. Another op
    that consumes a variable waits for that read instead. O(n_ops + n_edges) times the longest path from a variable to its read.
    """
    kept = ~backward_part(graph) if cut else np.ones(graph.n_ops, bool)
    reads = np.flatnonzero(read_ops(graph) & kept)
    if len(reads):
        return _of_reads(graph, reads, kept)
    holders = np.flatnonzero((graph.persistent > 0) & kept)
    if len(holders):
        return _of_holders(graph, holders, kept)
    raise FormatError(f"{graph.title} has no reads of parameters, so there is nothing to replicate: {RULE}")


def _of_reads(graph: OpGraph, reads: np.ndarray, kept: np.ndarray) -> Forward:
    server, own = _served(graph, reads, kept)
    others = np.flatnonzero(kept & ~server)
    is_read = np.zeros(graph.n_ops, bool)
    is_read[reads] = True
    reads, own[server], tensor = _once(graph, reads, own[server])
    number = np.full(graph.n_ops, -1)
    number[others] = len(reads) + np.arange(len(others))
    number[server] = own[server]
    inside = (number[graph.consumer] >= len(reads)) & kept[graph.producer]
    order_only = graph.tensor_control[graph.edge_tensor] | (server & ~is_read)[graph.producer]
    origin = np.concatenate([reads, others])
    held = np.bincount(own[server], graph.persistent[server], minlength=len(reads))
    return Forward(
        _graph(
            graph,
            origin,
            len(reads),
            graph.names[origin],
            np.stack([number[graph.producer[inside]], number[graph.consumer[inside]]], axis=1),
            graph.edge_bytes[inside],
            tensor[graph.edge_tensor[inside]],
            order_only[inside],
            held,
            np.zeros(len(others)),
            _unused(graph, origin, tensor[graph.edge_tensor[inside & ~order_only]], number),
        ),
        origin,
        [name.removesuffix("/read") for name in graph.names[reads]],
    )


def _once(graph: OpGraph, reads: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first of the reads that have equal inputs and outputs, `own` by their numbers, and the tensor sent for each tensor."""
    tensors: dict[int, list[int]] = {v: [] for v in reads.tolist()}
    for t in np.flatnonzero(np.isin(graph.tensor_producer, reads) & ~graph.tensor_control).tolist():
        tensors[int(graph.tensor_producer[t])].append(t)
    first: dict[object, int] = {}  # number among the kept
    kept: list[int] = []
    number, tensor = [], np.arange(graph.n_tensors)
    for v, mine in tensors.items():
        inputs = frozenset(graph.predecessors_of(v).tolist())
        p = first.setdefault((inputs, tuple(graph.tensor_bytes[mine])) if inputs else v, len(kept))
        if p == len(kept):
            kept.append(v)
        tensor[mine] = tensors[kept[p]]
        number.append(p)
    return np.array(kept), np.array(number)[own], tensor


def _served(graph: OpGraph, reads: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each op is a read or leads to reads alone, and the read whose parameter it belongs to."""
    n = graph.n_ops
    edge = kept[graph.producer] & kept[graph.consumer]
    producer, consumer = graph.producer[edge], graph.consumer[edge]
    server = np.zeros(n, bool)
    server[reads] = True
    variables = producer[server[consumer] & (np.bincount(consumer, minlength=n)[producer] == 0)]
    server[variables] = True
    leads = np.bincount(producer, minlength=n) > 0
    while True:
        elsewhere = np.bincount(producer[~server[consumer]], minlength=n) > 0
        more = leads & ~elsewhere & ~server & kept
        if not more.any():
            break
        server |= more
    wrong = np.flatnonzero(server[consumer] & ~server[producer])
    if len(wrong):
        u, v = graph.names[producer[wrong[0]]], graph.names[consumer[wrong[0]]]
        raise FormatError(
            f"{v!r:.60}, on a server as a read or its variable, depends on {u!r:.60}, which other ops use, too; remove that edge"
        )
    own = np.full(n, n)
    own[reads] = np.arange(len(reads))
    for e in np.flatnonzero(server[consumer])[::-1].tolist():  # edges are sorted by producer, hence topologically
        own[producer[e]] = min(own[producer[e]], own[consumer[e]])
    return server, own


def _of_holders(graph: OpGraph, holders: np.ndarray, kept: np.ndarray) -> Forward:
    """Each op with persistent bytes reads them, as one parameter."""
    others, p = np.flatnonzero(kept), len(holders)
    number = np.full(graph.n_ops, -1)
    number[others] = p + np.arange(len(others))
    inside = kept[graph.producer] & kept[graph.consumer]
    held = graph.persistent[holders]
    edges = np.concatenate([np.stack([np.arange(p), number[holders]], axis=1), number[graph.edges[inside]]])
    origin = np.concatenate([holders, others])
    return Forward(
        _graph(
            graph,
            origin,
            p,
            np.concatenate([graph.names[holders] + "/read", graph.names[others]]),
            edges,
            np.concatenate([held, graph.edge_bytes[inside]]),
            np.concatenate([np.zeros(p, int), graph.edge_tensor[inside]]),
            np.concatenate([np.zeros(p, bool), graph.tensor_control[graph.edge_tensor[inside]]]),
            held,
            graph.persistent[others],
            _unused(graph, others, graph.edge_tensor[inside], number),
        ),
        origin,
        graph.names[holders].tolist(),
    )


def _unused(graph: OpGraph, ops: np.ndarray, sent: np.ndarray, number: np.ndarray) -> list[tuple[int, int, float]]:
    """Outputs of some ops that no edge carries any more."""
    free = np.zeros(graph.n_ops, bool)
    free[ops] = True
    unused = free[graph.tensor_producer] & ~graph.tensor_control
    unused[sent] = False
    return output_rows(graph, np.flatnonzero(unused), number)


def _graph(
    graph: OpGraph,
    origin: np.ndarray,
    n_reads: int,
    names: np.ndarray,
    edges: np.ndarray,
    size: np.ndarray,
    output: np.ndarray,
    control: np.ndarray,
    held: np.ndarray,
    moved: np.ndarray,
    outputs: list[tuple[int, int, float]],
) -> OpGraph:
    """Reads of no operations that hold `held` bytes, and the other ops, less the persistent bytes `moved` to reads."""
    p, others = n_reads, origin[n_reads:]
    return OpGraph.from_arrays(
        names,
        np.concatenate([np.zeros(p), graph.compute[others]]),
        edges,
        edge_bytes=size,
        edge_output=output,
        edge_control=control,
        outputs=outputs,
        persistent=np.concatenate([held, graph.persistent[others] - moved]),
        temporary=np.concatenate([np.zeros(p), graph.temporary[others]]),
        memory=np.concatenate([held, np.maximum(graph.memory[others] - moved, 0.0)]),
        kind=["read"] * p + graph.kind[others].tolist(),
        **time_arguments(graph, lambda time: np.pad(time[others], ((p, 0), (0, 0)))),
        metadata={key: value for key, value in graph.metadata.items() if key not in OF_OPS},
    )
