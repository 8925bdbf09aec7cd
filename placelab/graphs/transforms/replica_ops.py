"""What every copy of a model has in common, and the columns of the replicated graph, filled block by block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.graphs.transforms.parameter_reads import Forward
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.strategies.preparing.contraction import output_rows

ROLES = ("read", "forward", "backward", "update", "step", "ready", "reduce", "gather")
READ, FORWARD, BACKWARD, UPDATE, STEP, READY, REDUCE, GATHER = range(8)

USUAL = {"cost": -1, "compute": 0.0, "held": 0.0, "worker": -1, "op": -1, "bucket": -1}


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
        self.tensors: list[tuple[np.ndarray, ...]] = []  # bytes, output, control of edges
        self.unused: list[tuple[int, int, float]] = []

    def add(self, names: Iterable[str], kind: str | Iterable[str], **columns: Any) -> np.ndarray:
        """Numbers of new ops of these names and kinds.

        Columns are numbers, one for all new ops or one for each: ``device``, ``iteration`` and ``role``; ``worker``, ``op`` and
        ``bucket``, -1 for none; ``cost``, the op of the model whose costs it has, or ``compute`` and ``held`` bytes.
        """
        first, names = len(self.names), list(names)
        self.names += names
        self.kinds += [kind] * len(names) if isinstance(kind, str) else list(kind)
        given = USUAL | columns
        for key, column in self.columns.items():
            column.append(np.broadcast_to(given[key], len(names)))
        return np.arange(first, first + len(names))

    def connect(self, producer: Any, consumer: Any, size: Any = 0.0, output: Any = None) -> None:
        """Edges between ops, pairs broadcast: a producer's `output` of `size` bytes, or none, where they only order."""
        pairs = np.stack(np.broadcast_arrays(producer, consumer), axis=-1).reshape(-1, 2)
        tensor = (size, 0 if output is None else output, output is None)
        self.edges.append(pairs)
        self.tensors.append(tuple(np.broadcast_to(column, len(pairs)) for column in tensor))

    def copy_edges(self, number: np.ndarray) -> None:
        """The model's edges and unused outputs in a copy whose op v has the number ``number[v]``, -1 where it has none."""
        model = self.model
        edges = number[model.edges]
        here = (edges >= 0).all(axis=1)
        tensor = model.edge_tensor[here]
        self.edges.append(edges[here])
        self.tensors.append((model.edge_bytes[here], tensor, model.tensor_control[tensor]))
        free = (number[model.tensor_producer] >= 0) & ~model.tensor_control
        free[tensor] = False
        self.unused += output_rows(model, np.flatnonzero(free), number)

    def graph(self, devices: list[str], metadata: dict[str, Any], **replica: Any) -> OpGraph:
        """The graph, each op tied to its device; `replica` joins the columns under ``metadata["replica"]``."""
        model = self.model
        column = {key: np.concatenate(parts) for key, parts in self.columns.items()}
        cost, first = column["cost"], column["iteration"] == 0
        known = cost >= 0
        of = lambda values, otherwise=0.0: np.where(known, values[cost], otherwise)  # noqa: E731
        size, output, control = (np.concatenate(parts) for parts in zip(*self.tensors, strict=True))
        ties = [(device,) for device in devices]
        facts = {key: column[key].tolist() for key in ("iteration", "worker", "role", "op")}
        if (column["bucket"] >= 0).any():
            facts["bucket"] = column["bucket"].tolist()
        return OpGraph.from_arrays(
            self.names,
            of(model.compute, column["compute"]),
            np.concatenate(self.edges),
            edge_bytes=size,
            edge_output=output,
            edge_control=control,
            outputs=self.unused,
            persistent=of(model.persistent) * first + column["held"],
            temporary=of(model.temporary),
            memory=of(model.memory) * first + column["held"],
            kind=self.kinds,
            **time_arguments(model, lambda time: np.where(known[:, None], time[cost], np.nan)),
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
        size, producer = np.zeros(self.step.n_ops), self.step.tensor_producer
        np.maximum.at(size, producer, self.step.tensor_bytes)
        return size[: self.n_reads]

    @cached_property
    def gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """The last gradient ops of parameters, as pairs: parameter, op of `step`."""
        push = self.step.n_ops - 1 - self.step.consumer
        last = np.flatnonzero((push < self.n_reads) & self.training)
        return push[last], self.step.producer[last]

    def add_copy(self, ops: ReplicaOps, chosen: np.ndarray, iteration: int, worker: int, device: int) -> np.ndarray:
        """Numbers of a worker's copies of the chosen ops of `step`."""
        prefix, step = f"it{iteration}/w{worker}/", self.step
        return ops.add(
            [prefix + name for name in step.names[chosen]],
            step.kind[chosen],
            cost=chosen,
            device=device,
            iteration=iteration,
            worker=worker,
            role=np.where(chosen < self.forward.graph.n_ops, FORWARD, BACKWARD),
            op=self.origin[chosen],
        )
