"""The model graph: ops, the tensors they produce, and the edges that consume them, as flat arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import F8, I4, frozen, pointers
from placelab.base.shown import bundle
from placelab.problem import graph_building, graph_json, networkx_graph, time_columns
from placelab.problem.graph_checks import COSTS, check_columns, closest, column, items

if TYPE_CHECKING:
    import networkx as nx


TIMES = {"time", "time_types", "time_speed", "time_default"}
INDICES = {  # what follows from names and edges alone, and is therefore kept where other columns are replaced
    "producer", "edges", "op_tensor_ptr", "tensor_ptr", "succ_ptr", "pred_ptr", "pred_edge", "successors", "n_producers",
    "_index",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OpGraph:
    """A directed acyclic graph of ops, in arrays, ops numbered topologically.

    Build one with :meth:`from_networkx`, :meth:`from_arrays`, a generator, or ``placelab.load``.

    Attributes
    ----------
    names : ndarray of str, shape (n_ops,)
        Unique. Op ``v`` consumes only tensors of ops before it.
    compute : ndarray, shape (n_ops,)
        Operations.
    persistent, temporary, memory : ndarray, shape (n_ops,)
        Bytes: held for ever (weights), held while the op runs, and what the ``reserved`` memory model counts
        (``persistent + temporary + outputs`` unless given).
    kind : ndarray of str, shape (n_ops,)
        Op type, ``""`` where unknown.
    time : ndarray, shape (n_ops, len(time_types)), or None
        Measured seconds per device name or type; NaN where not measured (then ``compute / speed`` holds).
    time_speed : ndarray, shape (len(time_types),)
        Operations/s of the device that each column of `time` holds for: on a device of another speed, its seconds are scaled.
        NaN: its seconds hold at any speed.
    time_default : str or None
        The type of `time_types` for devices whose name and type have no column; None: such devices take ``compute / speed``.
    group : ndarray of int32, shape (n_ops,)
        Colocation group, an index into ``group_names``; -1 for none.
    device_set : ndarray of int32, shape (n_ops,)
        Allowed devices, an index into ``device_sets`` (tuples of device names or types, ``*`` for any device of a cluster
        that has none of the others); -1 for any.
    tensor_producer, tensor_bytes, tensor_control : ndarray, shape (n_tensors,)
        Tensors sorted by producer. All control edges of one op share one 0-byte control tensor.
    producer, consumer, edge_tensor : ndarray of int32, shape (n_edges,)
        An edge is one input of its consumer: an op that reads a tensor twice has two. Sorted by (tensor, consumer).
    metadata : dict
        Name, reference speed, provenance, licence: whatever JSON can hold.
    """

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

        >>> g = OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2), (0, 1), (1, 2)])
        >>> g.successors_of(0).tolist(), g.successors_of(2).tolist()
        ([1, 2], [])
        """
        return np.unique(self.consumer[self.succ_ptr[op] : self.succ_ptr[op + 1]])

    def predecessors_of(self, op: int) -> np.ndarray:
        """Distinct ops of which op number `op` reads a tensor, or for which it waits, ascending; shape (n,), int32.

        >>> g = OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2), (0, 1), (1, 2)])
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

    def __repr__(self) -> str:
        return f"OpGraph({self.title}: {self.n_ops} ops, {self.n_edges} edges, {len(self.group_names)} groups)"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle(self)

    def replace(self, **changes: Any) -> OpGraph:
        """A copy with other columns: costs, ``tensor_bytes``, ``time`` with its ``time_types``, ``metadata``.

        ``groups=()`` leaves the colocation groups out.

        Columns of ``time`` that keep their type keep their speed, and the default stays where its column does, unless
        ``time_speed`` or ``time_default`` are given.
        """
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if "groups" in changes:
            if len(changes.pop("groups")):
                raise FormatError("replace can only leave all colocation groups out; Problem(…, groups=…) adds more")
            columns |= dict(group=np.full(self.n_ops, -1, dtype=np.int32), group_names=())
        sizes = {"tensor_bytes": self.n_tensors} | dict.fromkeys(COSTS, self.n_ops)
        if unknown := changes.keys() - sizes.keys() - TIMES - {"metadata"}:
            raise FormatError(f"a graph's {', '.join(sorted(unknown))} cannot be replaced; build another graph")
        columns |= {name: column(v, sizes[name], name) if name in sizes else v for name, v in changes.items()}
        columns["metadata"] = dict(items(columns["metadata"], "metadata"))
        types = columns["time_types"]
        rows = (self.n_ops, len(types))
        if columns["time"] is not None and np.shape(columns["time"]) != rows:
            raise FormatError(f"time has shape {np.shape(columns['time'])}, expected {rows}: ops × time_types")
        kept = {kind: speed for kind, speed in time_columns.known_speeds(self).items() if kind in types}
        usual = self.time_default if self.time_default in types else None
        columns["time_speed"] = time_columns.speeds(changes.get("time_speed", kept), types)
        columns["time_default"] = time_columns.default(changes.get("time_default", usual), types)
        graph = _checked(columns)
        same = INDICES if "tensor_bytes" in changes else INDICES | {"edge_bytes", "outputs"}
        graph.__dict__.update({name: value for name, value in self.__dict__.items() if name in same})
        return graph

    # ---------------------------------------------------------------- builders

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str] | np.ndarray,
        compute: Any,
        edges: Any,
        *,
        edge_bytes: Any = None,
        edge_output: Any = None,
        edge_control: Any = None,
        outputs: Sequence[tuple[int, int, float]] = (),
        persistent: Any = 0.0,
        temporary: Any = 0.0,
        memory: Any = None,
        kind: Sequence[str] | np.ndarray | str = "",
        time: Mapping[str, Any] | None = None,
        time_speed: Mapping[str, float] | None = None,
        time_default: str | None = None,
        groups: Sequence[Sequence[int] | np.ndarray] = (),
        group_names: Sequence[str] | None = None,
        devices: Mapping[int, Sequence[str]] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> OpGraph:
        """A graph from arrays, ops in any order.

        Parameters
        ----------
        names
            Unique op names, shape (n_ops,).
        compute
            Operations, shape (n_ops,); NaN only where `time` has every device type's seconds.
        edges
            Pairs (producer, consumer) of indices into `names`, shape (n_edges, 2).
        edge_bytes
            Bytes of the tensor on each edge (default 0).
        edge_output
            Number of the producer's output each edge carries; edges with one (producer, output) are one tensor and
            must agree in bytes. Default: each edge is a tensor of its own.
        edge_control
            True where the edge only orders; such edges carry the producer's one 0-byte control tensor.
        outputs
            (op, output number, bytes) of outputs that no edge carries.
        persistent, temporary, memory
            Bytes, scalar or shape (n_ops,); `memory` defaults to persistent + temporary + outputs.
        kind
            Op types.
        time
            Measured seconds per device name or type, each of shape (n_ops,), NaN where not measured.
        time_speed
            Key of `time` → operations/s of the device it was taken on, where seconds follow the speed of a device.
        time_default
            Key of `time` for devices that have none of their own.
        groups, group_names
            Colocation groups as sequences of op indices; groups that share an op are one group.
        devices
            Op index → names or types of the devices that may run it.
        metadata
            JSON values that travel with the graph.

        Returns
        -------
        OpGraph
            Ops renumbered topologically: always the ready op that came first in `names`. An op that reads one tensor
            twice keeps both edges; a control edge given twice is one.

        Raises
        ------
        CycleError, FormatError
            A cycle, a duplicate name, a negative or NaN cost, sizes that do not match.

        Examples
        --------
        >>> g = OpGraph.from_arrays(["b", "a"], [1.0, 2.0], [(1, 0)], edge_bytes=[8.0])
        >>> list(g.names), g.edges.tolist()
        (['a', 'b'], [[0, 1]])
        """
        given = dict(
            edge_bytes=edge_bytes,
            edge_output=edge_output,
            edge_control=edge_control,
            outputs=outputs,
            persistent=persistent,
            temporary=temporary,
            memory=memory,
            kind=kind,
            time=time,
            time_speed=time_speed,
            time_default=time_default,
            groups=groups,
            group_names=group_names,
            devices=devices,
            metadata=metadata,
        )
        return _checked(graph_building.columns(names, compute, edges, **given))

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> OpGraph:
        """A graph from a networkx DiGraph or MultiDiGraph, whose nodes become op names.

        Parameters
        ----------
        graph
            Node attributes, all optional but ``compute`` (or ``time``): ``compute`` [operations], ``time`` {device name or
            type: seconds}, ``persistent``, ``temporary``, ``memory`` [bytes; ``memory`` is what the ``reserved`` model counts],
            ``kind``, ``group`` (a name, or several), ``devices`` (names or types), ``outputs`` {output id: bytes} of outputs
            that no edge carries. Edge attributes: ``bytes``, ``tensor`` (id of the producer's output; edges that share one
            are one tensor and agree in bytes; absent: a tensor of its own), ``control``. Graph attributes: ``time_speed``
            {device name or type: operations/s}, ``time_default`` (a device name or type); others are metadata.

        Raises
        ------
        FormatError, CycleError
            An attribute that is unknown or of the wrong form; a cycle.
        """
        return cls.from_arrays(**networkx_graph.columns(graph))

    def to_networkx(self) -> nx.DiGraph:
        """A DiGraph (a MultiDiGraph when edges are parallel) from which :meth:`from_networkx` makes this graph again."""
        return networkx_graph.write(self)

    def save(self, path: Any) -> None:
        """Write placelab JSON, gzipped when the name ends in ``.gz``; ``placelab.load`` reads it back exactly."""
        graph_json.write(self, path)


def _checked(columns: dict[str, Any]) -> OpGraph:
    """The graph, its arrays read-only, after every check that needs no cluster."""
    check_columns(columns)
    time_columns.check_metadata(columns["metadata"])
    fields: dict[str, Any] = {k: frozen(v) if isinstance(v, np.ndarray) else v for k, v in columns.items()}
    return OpGraph(**fields)
