"""What copies of a model share: its parameters, the ops that a worker runs, and the columns of the replicated graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.planning.read_orders import read_ops
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.strategies.preparing.contraction import Row, edge_columns, output_rows, shapes_at
from placelab.strategies.preparing.gradients import backward_part

OF_OPS = ("forward", "parameters", "cluster")  # metadata that name ops or devices of the graph as it was
RULE = (
    "a read is an op of kind 'read' or 'ReadVariableOp', or one named '<variable>/read'; in a graph without these, each op with "
    "persistent bytes reads a parameter of that size"
)
ROLES = ("read", "forward", "backward", "update", "step", "ready", "reduce", "gather")
READ, FORWARD, BACKWARD, UPDATE, STEP, READY, REDUCE, GATHER = range(8)
USUAL = {"cost": -1, "compute": 0.0, "held": 0.0, "worker": -1, "op": -1, "bucket": -1, "scale": 1.0}


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
            edge_columns(graph, tensor[graph.edge_tensor[inside]]) | {"edge_control": order_only[inside]},
            held,
            np.zeros(len(others)),
            _unused(graph, origin, tensor[graph.edge_tensor[inside & ~order_only]], number),
            shapes_at(graph, number),
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
    number = []
    tensor = np.arange(graph.n_tensors)
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
    producer = graph.producer[edge]
    consumer = graph.consumer[edge]
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
        u = graph.names[producer[wrong[0]]]
        v = graph.names[consumer[wrong[0]]]
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
    others = np.flatnonzero(kept)
    p = len(holders)
    number = np.full(graph.n_ops, -1)
    number[others] = p + np.arange(len(others))
    inside = kept[graph.producer] & kept[graph.consumer]
    held = graph.persistent[holders]
    edges = np.concatenate([np.stack([np.arange(p), number[holders]], axis=1), number[graph.edges[inside]]])
    origin = np.concatenate([holders, others])
    columns = edge_columns(graph, graph.edge_tensor[inside])
    read = edge_columns(graph, np.full(p, -1)) | {"edge_bytes": held, "edge_control": np.zeros(p, bool)}
    return Forward(
        _graph(
            graph,
            origin,
            p,
            np.concatenate([graph.names[holders] + "/read", graph.names[others]]),
            edges,
            {label: np.concatenate([read[label], column]) for label, column in columns.items()},
            held,
            graph.persistent[others],
            _unused(graph, others, graph.edge_tensor[inside], number),
            shapes_at(graph, number),
        ),
        origin,
        graph.names[holders].tolist(),
    )


def _unused(graph: OpGraph, ops: np.ndarray, sent: np.ndarray, number: np.ndarray) -> list[Row]:
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
    columns: dict[str, Any],
    held: np.ndarray,
    moved: np.ndarray,
    outputs: list[Row],
    shapes: dict[tuple[int, int], str],
) -> OpGraph:
    """Reads of no operations that hold `held` bytes, and the other ops, less the persistent bytes `moved` to reads."""
    p = n_reads
    others = origin[n_reads:]
    return OpGraph.from_arrays(
        names,
        np.concatenate([np.zeros(p), graph.compute[others]]),
        edges,
        **columns,
        outputs=outputs,
        shapes=shapes,
        persistent=np.concatenate([held, graph.persistent[others] - moved]),
        temporary=np.concatenate([np.zeros(p), graph.temporary[others]]),
        memory=np.concatenate([held, np.maximum(graph.memory[others] - moved, 0.0)]),
        kind=["read"] * p + graph.kind[others].tolist(),
        **time_arguments(graph, lambda time: np.pad(time[others], ((p, 0), (0, 0)))),
        metadata={key: value for key, value in graph.metadata.items() if key not in OF_OPS},
    )


class ReplicaOps:
    """Ops and edges of a graph made from copies of a `model`; ops are numbered in the order of :meth:`add`.

    Every edge must lead to an op added later than its producer, so that the graph keeps these numbers.
    """

    def __init__(self, model: OpGraph) -> None:
        self.model = model
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.columns: dict[str, list[np.ndarray]] = {key: [] for key in (*USUAL, "device", "iteration", "role")}
        self.edges: list[np.ndarray] = []
        self.tensors: list[tuple[np.ndarray, ...]] = []  # bytes, output, control, storage of edges
        self.unused: list[Row] = []
        self.shapes: dict[tuple[int, int], str] = {}

    def add(self, names: Iterable[str], kind: str | Iterable[str], **columns: Any) -> np.ndarray:
        """Numbers of new ops of these names and kinds.

        Columns are numbers, one for all new ops or one for each: ``device``, ``iteration`` and ``role``; ``worker``, ``op`` and
        ``bucket``, -1 for none; ``cost``, the op of the model whose costs it has, ``scale`` times, or ``compute`` and ``held``
        bytes.
        """
        first = len(self.names)
        names = list(names)
        self.names += names
        self.kinds += [kind] * len(names) if isinstance(kind, str) else list(kind)
        given = USUAL | columns
        for key, column in self.columns.items():
            column.append(np.broadcast_to(given[key], len(names)))
        return np.arange(first, first + len(names))

    def connect(self, producer: Any, consumer: Any, size: Any = 0.0, output: Any = None) -> None:
        """Edges between ops, pairs broadcast: a producer's `output` of `size` bytes, or none, where they only order."""
        pairs = np.stack(np.broadcast_arrays(producer, consumer), axis=-1).reshape(-1, 2)
        tensor = (size, 0 if output is None else output, output is None, -1)
        self.edges.append(pairs)
        self.tensors.append(tuple(np.broadcast_to(column, len(pairs)) for column in tensor))

    def copy_edges(self, number: np.ndarray, scale: Any = 1.0) -> None:
        """The model's edges and unused outputs in a copy whose op v has the number ``number[v]``, -1 where it has none.

        Tensors have `scale` times the bytes, one number or one per tensor. Those of a copy share the storages that those of the
        model do, with an op that several copies have, too.
        """
        model = self.model
        storage = self._storages(number)
        edges = number[model.edges]
        here = (edges >= 0).all(axis=1)
        tensor = model.edge_tensor[here]
        self.edges.append(edges[here])
        share = np.broadcast_to(scale, model.n_tensors)
        self.shapes |= {key: text for key, text in shapes_at(model, number).items() if share[key[1]] == 1}
        self.tensors.append(
            (model.edge_bytes[here] * share[tensor], tensor, model.tensor_control[tensor], storage[tensor])
        )
        free = (number[model.tensor_producer] >= 0) & ~model.tensor_control
        free[tensor] = False
        rows = output_rows(model, np.flatnonzero(free), number)
        self.unused += [(v, t, float(size * share[t]), int(storage[t])) for v, t, size, _ in rows]

    def _storages(self, number: np.ndarray) -> np.ndarray:
        """Storage of each tensor in a copy: a number for the first of its tensors that the copy has; -1 where none is shared."""
        model = self.model
        if model.tensor_storage is None:
            return np.full(model.n_tensors, -1)
        made = number[model.tensor_producer]
        here = np.flatnonzero(made >= 0)
        first = np.zeros(model.n_tensors, dtype=np.int64)
        first[model.tensor_storage[here[::-1]]] = here[::-1]
        first = first[model.tensor_storage]
        return np.where(made < 0, -1, made[first] * model.n_tensors + first)

    def graph(self, devices: list[str], metadata: dict[str, Any], **replica: Any) -> OpGraph:
        """The graph, each op tied to its device; `replica` joins the columns under ``metadata["replica"]``."""
        model = self.model
        column = {key: np.concatenate(parts) for key, parts in self.columns.items()}
        cost = column["cost"]
        first = column["iteration"] == 0
        known = cost >= 0
        scale = column["scale"]
        of = lambda values, otherwise=0.0: np.where(known, values[cost], otherwise)  # noqa: E731
        size, output, control, storage = (np.concatenate(parts) for parts in zip(*self.tensors, strict=True))
        ties = [(device,) for device in devices]
        facts = {key: column[key].tolist() for key in ("iteration", "worker", "role", "op")}
        if (column["bucket"] >= 0).any():
            facts["bucket"] = column["bucket"].tolist()
        return OpGraph.from_arrays(
            self.names,
            of(model.compute, column["compute"]) * scale,
            np.concatenate(self.edges),
            edge_bytes=size,
            edge_output=output,
            edge_control=control,
            edge_storage=storage,
            outputs=self.unused,
            shapes=self.shapes,
            persistent=of(model.persistent) * first + column["held"],
            temporary=of(model.temporary) * scale,
            memory=(of(model.persistent) + (of(model.memory) - of(model.persistent)) * scale) * first + column["held"],
            kind=self.kinds,
            **time_arguments(model, lambda time: np.where(known[:, None], time[cost], np.nan) * scale[:, None]),
            devices={v: ties[d] for v, d in enumerate(column["device"].tolist())},
            metadata={**metadata, "replica": {**replica, "roles": list(ROLES), **facts}},
        )


@dataclass(frozen=True, eq=False)
class Model:
    """A forward graph with reads, and the graph of one step: with its backward pass when training, else the same.

    Op v's gradient op in `step` has the number ``2 * n - 1 - v``, n being the number of forward ops.
    """

    forward: Forward
    step: OpGraph
    training: bool

    @property
    def n_reads(self) -> int:
        """Number of parameters."""
        return self.forward.n_reads

    @cached_property
    def reads(self) -> np.ndarray:
        """Numbers of the reads in `step`."""
        return np.arange(self.n_reads)

    @cached_property
    def pushes(self) -> np.ndarray:
        """Numbers of the gradient ops of the reads in `step`; none without a backward pass."""
        return self.step.n_ops - 1 - self.reads if self.training else self.reads[:0]

    @cached_property
    def own(self) -> np.ndarray:
        """Numbers in `step` of the ops that a worker runs: all but reads and their gradient ops."""
        return np.arange(self.n_reads, self.step.n_ops - len(self.pushes))

    @cached_property
    def ends(self) -> np.ndarray:
        """Numbers in `step` of the ops without consumers."""
        return np.flatnonzero(np.diff(self.step.succ_ptr) == 0)

    @cached_property
    def origin(self) -> np.ndarray:
        """Number in the given graph of each op of `step`, of a gradient op's forward op."""
        origin = self.forward.origin
        return np.concatenate([origin, origin[::-1]]) if self.training else origin

    @cached_property
    def size(self) -> np.ndarray:
        """Bytes of each parameter: of the largest tensor that its read sends; shape (n_reads,)."""
        size = np.zeros(self.step.n_ops)
        producer = self.step.tensor_producer
        np.maximum.at(size, producer, self.step.tensor_bytes)
        return size[: self.n_reads]

    @cached_property
    def gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """The last gradient ops of parameters, as pairs: parameter, op of `step`."""
        push = self.step.n_ops - 1 - self.step.consumer
        last = np.flatnonzero((push < self.n_reads) & self.training)
        return push[last], self.step.producer[last]

    def growth(self, scale: float) -> np.ndarray:
        """Factor of each tensor in a copy with `scale` times the samples: 1 for parameters and their gradients."""
        step = self.step
        push = np.zeros(step.n_ops, bool)
        push[self.pushes] = True
        whole = step.tensor_producer < self.n_reads
        whole[step.edge_tensor[push[step.consumer]]] = True
        return np.where(whole, 1.0, scale)

    def add_copy(
        self, ops: ReplicaOps, chosen: np.ndarray, iteration: int, worker: int, device: int, scale: float = 1.0
    ) -> np.ndarray:
        """Numbers of a worker's copies of the chosen ops of `step`, with `scale` times their costs."""
        prefix = f"it{iteration}/w{worker}/"
        step = self.step
        return ops.add(
            [prefix + name for name in step.names[chosen]],
            step.kind[chosen],
            cost=chosen,
            scale=scale,
            device=device,
            iteration=iteration,
            worker=worker,
            role=np.where(chosen < self.forward.graph.n_ops, FORWARD, BACKWARD),
            op=self.origin[chosen],
        )
