"""The columns of a graph, and the index structures that follow from them; columns of measured seconds.

Of measured seconds there is the speed at which each column was taken, and the one for devices without a column of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, escaped, poses_as_number
from placelab.base.index_arrays import F8, I4, LARGEST, frozen, pointers
from placelab.problem.graph_checks import closest, column


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
    tensor_storage: np.ndarray | None = None
    tensor_shape: np.ndarray | None = None
    shapes: tuple[str, ...] = ()

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
        # int if none
        return frozen(np.bincount(self.tensor_producer, self.tensor_bytes, minlength=self.n_ops).astype(F8))

    # ---------------------------------------------------------------- shapes, for readers

    def shape_of(self, tensor: int) -> str | None:
        """Element type and sizes of tensor number `tensor`, as ``float32 [64, 3, ?]``; None where they are not known.

        >>> import placelab as pl
        >>> columns = dict(edge_bytes=[24.0], edge_output=[0], shapes={(0, 0): "float32 [2, 3]"})
        >>> pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1)], **columns).shape_of(0)
        'float32 [2, 3]'
        """
        code = -1 if self.tensor_shape is None else int(self.tensor_shape[tensor])
        return self.shapes[code] if code >= 0 else None

    def shapes_of(self, op: int) -> list[str | None]:
        """:meth:`shape_of` of each tensor that op number `op` makes; control tensors are none."""
        made = range(self.op_tensor_ptr[op], self.op_tensor_ptr[op + 1])
        return [self.shape_of(tensor) for tensor in made if not self.tensor_control[tensor]]

    # ---------------------------------------------------------------- memory that tensors share

    @property
    def edge_storage(self) -> np.ndarray | None:
        """First tensor in the storage of the tensor on each edge, shape (n_edges,); None where no tensors share one."""
        return None if self.tensor_storage is None else frozen(self.tensor_storage[self.edge_tensor])

    @cached_property
    def storage_bytes(self) -> np.ndarray:
        """Bytes of each tensor, but of the first in a storage those of its largest: the storage's; shape (n_tensors,)."""
        if self.tensor_storage is None:
            return self.tensor_bytes
        size = self.tensor_bytes.copy()
        np.maximum.at(size, self.tensor_storage, self.tensor_bytes)
        return frozen(size)

    @cached_property
    def new_bytes(self) -> np.ndarray:
        """Bytes of the storages whose first tensor each op makes, shape (n_ops,): its `outputs` where none is shared."""
        if self.tensor_storage is None:
            return self.outputs
        size = np.where(self.tensor_storage == np.arange(self.n_tensors), self.storage_bytes, 0.0)
        return frozen(np.bincount(self.tensor_producer, size, minlength=self.n_ops).astype(F8))

    def storages_on(self, device: np.ndarray) -> np.ndarray:
        """The tensor whose memory each tensor is held in where ops run on these devices, shape (n_tensors,).

        That is the first tensor in its storage if both are made on one device, else the tensor itself.
        """
        own = np.arange(self.n_tensors, dtype=I4)
        if self.tensor_storage is None:
            return own
        home = device[self.tensor_producer]
        return np.where(home == home[self.tensor_storage], self.tensor_storage, own)

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
        return escaped(" ".join(str(self.metadata.get("name", "this graph")).splitlines()))

    def time_column(self, name: str, kind: str) -> int:
        """Column of `time` that holds for a device: the one of its name, else of its type, else the default; -1 for none."""
        return next(
            (self.time_types.index(key) for key in (name, kind, self.time_default) if key in self.time_types), -1
        )


RESERVED = ("times", "time_speed", "time_default")  # keys that metadata must not have


def time_arguments(graph: GraphColumns, change: Callable[[np.ndarray], np.ndarray] = np.asarray) -> dict[str, Any]:
    """The arguments of :meth:`OpGraph.from_arrays` for a graph with the times of `graph`, its table changed by `change`."""
    if graph.time is None:
        return {}
    return dict(
        time=dict(zip(graph.time_types, np.ascontiguousarray(change(graph.time).T), strict=True)),
        time_speed=known_speeds(graph),
        time_default=graph.time_default,
    )


def known_speeds(graph: GraphColumns) -> dict[str, float]:
    """Time type → operations/s, without the columns whose speed is not known."""
    pairs = zip(graph.time_types, graph.time_speed.tolist(), strict=True)
    return {kind: speed for kind, speed in pairs if speed == speed}


def time_speeds(given: Any, types: Sequence[str]) -> np.ndarray:
    """Speed [operations/s] of each column, NaN where it is not known; from a mapping, type → speed, or an array.

    Raises
    ------
    FormatError
        A type that has no column; a speed that is not a finite number above 0.
    """
    if given is None:
        return np.full(len(types), np.nan)
    if not isinstance(given, Mapping):
        given = dict(zip(types, column(given, len(types), "time_speed").tolist(), strict=True))
    known = set(types)
    for kind, speed in given.items():
        _check_column("time_speed", kind, known)
        fits = isinstance(speed, (int, float, np.number)) and not poses_as_number(speed)
        if not fits or not (speed != speed or 0 < speed <= LARGEST):
            raise FormatError(f"time_speed of {kind!r:.60} is {speed!r:.60}; expected operations/s above 0")
    return np.array([given.get(kind, np.nan) for kind in types], dtype=F8)


def default_time(given: Any, types: Collection[str]) -> str | None:
    """The name of the default column; FormatError where no column is called that."""
    if given is not None:
        _check_column("time_default", given, types)
    return given


def times_in_metadata(metadata: Mapping[str, Any], types: Collection[str]) -> dict[str, Any]:
    """``time_speed``, ``time_default`` and ``metadata`` of :meth:`OpGraph.from_arrays`, from metadata of version 1.

    Version 1 of placelab JSON kept speeds and default in ``metadata["times"]``, also those of columns that the graph lacks,
    which are left out here.

    Raises
    ------
    FormatError
        ``times`` is no object of speeds and a default.
    """
    rest = dict(metadata)
    times = rest.pop("times", {})
    if not isinstance(times, Mapping):
        raise FormatError(f"metadata 'times' are {times!r:.60}; expected an object of speed and default")
    known = times.get("speed", {})
    usual = times.get("default")
    if not isinstance(known, Mapping):
        raise FormatError(f"the speeds of times in the metadata are {known!r:.60}; expected device type → operations/s")
    return dict(
        time_speed={kind: speed for kind, speed in known.items() if kind in types and speed != 0},
        time_default=usual if isinstance(usual, str) and usual in types else None,
        metadata=rest,
    )


def check_time_metadata(metadata: Mapping[str, Any]) -> None:
    """Refuse keys of metadata that would look as if they set speeds or the default."""
    if wrong := next((key for key in RESERVED if key in metadata), None):
        raise FormatError(f"metadata hold {wrong!r}, which is not read there; give time_speed and time_default instead")


def _check_column(label: str, kind: Any, types: Collection[str]) -> None:
    if not isinstance(kind, Hashable) or kind not in types:
        known = ", ".join(sorted(types)) or "none"
        raise FormatError(f"{label} names {kind!r:.60}, but there are times for {known:.200}; name one of these")
