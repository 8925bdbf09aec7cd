"""The columns of a graph, and the index structures that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import F8, I4, frozen, pointers
from placelab.problem.graph_checks import closest


@dataclass(frozen=True, eq=False, repr=False)
class GraphColumns:
    """What a graph consists of: :class:`placelab.problem.graph.OpGraph` describes each column, and builds and writes them."""

    names: np.ndarray
    compute: np.ndarray
    persistent: np.ndarray
    temporary: np.ndarray
    memory: np.ndarray
    kind: np.ndarray
    time: np.ndarray | None
    time_types: tuple[str, ...]
    time_speed: np.ndarray
    time_default: str | None
    group: np.ndarray
    group_names: tuple[str, ...]
    device_set: np.ndarray
    device_sets: tuple[tuple[str, ...], ...]
    tensor_producer: np.ndarray
    tensor_bytes: np.ndarray
    tensor_control: np.ndarray
    edge_tensor: np.ndarray
    consumer: np.ndarray
    metadata: dict[str, Any] = field(default_factory=dict)

    # ---------------------------------------------------------------- sizes and index structures

    @property
    def n_ops(self) -> int:
        """Number of ops."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges, control edges included."""
        return len(self.consumer)

    @property
    def n_tensors(self) -> int:
        """Number of tensors, those without consumers and control tensors included."""
        return len(self.tensor_producer)

    @cached_property
    def producer(self) -> np.ndarray:
        """Producing op of each edge, shape (n_edges,)."""
        return frozen(self.tensor_producer[self.edge_tensor])

    @cached_property
    def edges(self) -> np.ndarray:
        """(producer, consumer) of each edge, shape (n_edges, 2)."""
        return frozen(np.stack([self.producer, self.consumer], axis=1))

    @cached_property
    def edge_bytes(self) -> np.ndarray:
        """Bytes of the tensor on each edge, shape (n_edges,)."""
        return frozen(self.tensor_bytes[self.edge_tensor])

    @cached_property
    def op_tensor_ptr(self) -> np.ndarray:
        """Tensors of op v are ``op_tensor_ptr[v]:op_tensor_ptr[v + 1]``; shape (n_ops + 1,)."""
        return pointers(self.tensor_producer, self.n_ops)

    @cached_property
    def tensor_ptr(self) -> np.ndarray:
        """Edges of tensor t are ``tensor_ptr[t]:tensor_ptr[t + 1]``; shape (n_tensors + 1,)."""
        return pointers(self.edge_tensor, self.n_tensors)

    @cached_property
    def succ_ptr(self) -> np.ndarray:
        """Edges that leave op v are ``succ_ptr[v]:succ_ptr[v + 1]``; shape (n_ops + 1,)."""
        return frozen(self.tensor_ptr[self.op_tensor_ptr])

    @cached_property
    def pred_ptr(self) -> np.ndarray:
        """Edges that enter op v are ``pred_edge[pred_ptr[v]:pred_ptr[v + 1]]``; shape (n_ops + 1,)."""
        return pointers(self.consumer, self.n_ops)

    @cached_property
    def pred_edge(self) -> np.ndarray:
        """Edge numbers sorted by consumer, then edge number; shape (n_edges,)."""
        return frozen(np.argsort(self.consumer, kind="stable").astype(I4))

    @cached_property
    def successors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distinct successor ops: (ptr, op, number of edges); those of v are ``op[ptr[v]:ptr[v + 1]]``, ascending."""
        key = self.producer.astype(np.int64) * self.n_ops + self.consumer
        pairs, count = np.unique(key, return_counts=True)
        return (
            pointers(pairs // self.n_ops, self.n_ops),
            frozen((pairs % self.n_ops).astype(I4)),
            frozen(count.astype(I4)),
        )

    def successors_of(self, op: int) -> np.ndarray:
        """Distinct ops that read a tensor of op number `op`, or wait for it, ascending; shape (n,), int32.

        >>> import placelab as pl
        >>> g = pl.OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2), (0, 1), (1, 2)])
        >>> g.successors_of(0).tolist(), g.successors_of(2).tolist()
        ([1, 2], [])
        """
        return np.unique(self.consumer[self.succ_ptr[op] : self.succ_ptr[op + 1]])

    def predecessors_of(self, op: int) -> np.ndarray:
        """Distinct ops of which op number `op` reads a tensor, or for which it waits, ascending; shape (n,), int32.

        >>> import placelab as pl
        >>> g = pl.OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2), (0, 1), (1, 2)])
        >>> g.predecessors_of(2).tolist(), g.predecessors_of(0).tolist()
        ([0, 1], [])
        """
        return np.unique(self.producer[self.pred_edge[self.pred_ptr[op] : self.pred_ptr[op + 1]]])

    @cached_property
    def n_producers(self) -> np.ndarray:
        """Number of distinct predecessor ops, shape (n_ops,)."""
        return frozen(np.bincount(self.successors[1], minlength=self.n_ops).astype(I4))

    @cached_property
    def outputs(self) -> np.ndarray:
        """Bytes of all tensors each op produces, shape (n_ops,)."""
        return frozen(
            np.bincount(self.tensor_producer, self.tensor_bytes, minlength=self.n_ops).astype(F8)
        )  # int if none

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Number of the op called `name`; FormatError when there is none."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise FormatError(f"no op is called {name!r} in {self.title}{closest(name, self._index)}") from None

    @property
    def title(self) -> str:
        """The graph's name for messages, which are on one line."""
        return " ".join(str(self.metadata.get("name", "this graph")).splitlines())

    def time_column(self, name: str, kind: str) -> int:
        """Column of `time` that holds for a device: the one of its name, else of its type, else the default; -1 for none."""
        return next(
            (self.time_types.index(key) for key in (name, kind, self.time_default) if key in self.time_types), -1
        )
