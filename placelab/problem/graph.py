"""The model graph: ops, the tensors they produce, and the edges that consume them, as flat arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import frozen
from placelab.base.units import bundle
from placelab.problem import graph_building, graph_json, networkx_graph
from placelab.problem.graph_checks import COSTS, check_columns, column, items
from placelab.problem.graph_columns import GraphColumns, check_time_metadata, default_time, known_speeds, time_speeds
from placelab.problem.tensor_shapes import shapes_kept

if TYPE_CHECKING:
    import networkx as nx


TIMES = {"time", "time_types", "time_speed", "time_default"}
INDICES = {  # what follows from names and edges alone, and is therefore kept where other columns are replaced
    "producer", "edges", "op_tensor_ptr", "tensor_ptr", "succ_ptr", "pred_ptr", "pred_edge", "successors", "n_producers",
    "_index",
}  # fmt: skip


class OpGraph(GraphColumns):
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
    tensor_storage : ndarray of int32, shape (n_tensors,), or None
        The first tensor in the same storage, as views and in-place ops have it: these take no memory of their own on that
        tensor's device, see :class:`placelab.problem.problem.Problem`. None: each tensor has a storage of its own.
    tensor_shape : ndarray of int32, shape (n_tensors,), or None
        Element type and sizes, an index into ``shapes`` (texts as ``float32 [64, 3, ?]``); -1 where not known, None: nowhere.
        See :meth:`shape_of`. They are shown, and change no result.
    producer, consumer, edge_tensor : ndarray of int32, shape (n_edges,)
        An edge is one input of its consumer: an op that reads a tensor twice has two. Sorted by (tensor, consumer).
    metadata : dict
        Name, reference speed, provenance, licence: whatever JSON can hold.
    """

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
        if self.tensor_shape is not None and "tensor_bytes" in changes:  # a tensor of other bytes has another shape
            alike = columns["tensor_bytes"] == self.tensor_bytes
            columns["tensor_shape"], columns["shapes"] = shapes_kept(self.tensor_shape, self.shapes, alike)
        types = columns["time_types"]
        rows = (self.n_ops, len(types))
        if columns["time"] is not None and np.shape(columns["time"]) != rows:
            raise FormatError(f"time has shape {np.shape(columns['time'])}, expected {rows}: ops × time_types")
        kept = {kind: speed for kind, speed in known_speeds(self).items() if kind in types}
        usual = self.time_default if self.time_default in types else None
        columns["time_speed"] = time_speeds(changes.get("time_speed", kept), types)
        columns["time_default"] = default_time(changes.get("time_default", usual), types)
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
        edge_storage: Any = None,
        outputs: Sequence[tuple[int, int, float] | tuple[int, int, float, int]] = (),
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
        shapes: Mapping[tuple[int, int], str] | None = None,
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
        edge_storage
            Number of the storage that each edge's tensor lives in, -1 for one of its own. Views and in-place ops share the
            storage of their input, which is as large as the largest tensor in it.
        edge_control
            True where the edge only orders; such edges carry the producer's one 0-byte control tensor. Other
            bytes of theirs are dropped, with a warning, unless `edge_bytes` is one number for all edges.
        outputs
            (op, output number, bytes) of outputs that no edge carries, or (op, output number, bytes, storage).
        persistent, temporary, memory
            Bytes, scalar or shape (n_ops,); `memory` defaults to persistent + temporary + outputs, a storage that tensors
            share at the op that makes the first of them; None in a list stands for the default.
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
        shapes
            (Op index, output number) → element type and sizes of that output, as ``float32 [64, 3, ?]``, `edge_output` given.
            One that disagrees with the output's bytes is left out, as are those of outputs that are not in the graph.
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
        given = dict(locals())
        del given["cls"]
        return _checked(graph_building.columns(**given))

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> OpGraph:
        """A graph from a networkx DiGraph or MultiDiGraph, whose nodes become op names.

        Parameters
        ----------
        graph
            Node attributes, all optional but ``compute`` (or ``time``): ``compute`` [operations], ``time`` (seconds on every
            device, or {device name or type: seconds}), ``persistent``, ``temporary``, ``memory`` [bytes; ``memory`` is what the
            ``reserved`` model counts],
            ``kind``, ``group`` (a name, or several), ``devices`` (names or types), ``outputs`` {output id: bytes} of outputs
            that no edge carries, or {output id: (bytes, storage)}, and ``output_shapes`` {output id: shape} of these. Edge
            attributes: ``bytes``, ``tensor`` (id of the producer's output; edges that share one are one tensor and agree in
            bytes; absent: a tensor of its own), ``storage`` (id of the memory that the tensor shares with others, a number or
            a text), ``tensor_shape`` (as ``float32 [64, 3, ?]``), ``control``. Graph attributes: ``time_speed``
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
        """Write placelab JSON to a file ``.json`` or ``.json.gz``, gzipped; ``placelab.load`` reads it back exactly."""
        graph_json.write(self, path)


def _checked(columns: dict[str, Any]) -> OpGraph:
    """The graph, its arrays read-only, after every check that needs no cluster."""
    check_columns(columns)
    check_time_metadata(columns["metadata"])
    fields: dict[str, Any] = {k: frozen(v) if isinstance(v, np.ndarray) else v for k, v in columns.items()}
    return OpGraph(**fields)
