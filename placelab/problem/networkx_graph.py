"""Conversion from and to networkx graphs.

Node attributes, all optional but ``compute`` (or ``time``): ``compute`` [operations], ``time`` (seconds on every device, or
{device name or type: seconds}), ``persistent``, ``temporary``, ``memory`` [bytes], ``kind``, ``group`` (a name, or a list of
names), ``devices`` (names or types), ``outputs`` {output id: bytes, or (bytes, storage)} for outputs that no edge carries.
Edge attributes: ``bytes``, ``tensor`` (id of the producer's output; absent: a tensor of its own), ``storage`` (id of the memory
that the tensor shares with others, a number or a text; absent: its own), ``tensor_shape`` (a text as ``float32 [64, 3, ?]``),
``control``. Shapes of ``outputs`` are the node attribute ``output_shapes`` {output id: text}.
Graph attributes: ``time_speed`` {device name or type: operations/s} and ``time_default``, see
:class:`~placelab.problem.graph.OpGraph`; all others travel as the graph's metadata.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import FormatError, described, poses_as_number
from placelab.base.interrupts import need
from placelab.problem.graph_checks import check_size, checked
from placelab.problem.graph_columns import GraphColumns, known_speeds, times_in_metadata

if TYPE_CHECKING:
    import networkx as nx

NODE = {"compute", "time", "persistent", "temporary", "memory", "kind", "group", "devices", "outputs", "output_shapes"}
EDGE = {"bytes", "tensor", "storage", "tensor_shape", "control"}
ALL = "any device"  # column of times that are plain numbers
MAPPINGS = (
    ("time", "seconds, or {device name or type: seconds}"),
    ("outputs", "{output id: bytes}"),
    ("output_shapes", "{output id: text}"),
)


def columns(graph: nx.DiGraph) -> dict[str, Any]:
    """The arguments of :meth:`OpGraph.from_arrays` for a DiGraph or MultiDiGraph. Nodes become op names by ``str``.

    Raises
    ------
    FormatError
        Not a directed graph, an attribute that does not exist or has the wrong form.
    """
    if isinstance(graph, (type, ModuleType)) or not hasattr(graph, "is_directed") or not graph.is_directed():
        raise FormatError(f"OpGraph.from_networkx needs a networkx DiGraph or MultiDiGraph, found {described(graph)}")
    nodes = list(graph.nodes(data=True))
    number = {node: v for v, (node, _) in enumerate(nodes)}
    names = [str(node) for node, _ in nodes]
    for node, attributes in nodes:
        _check_attributes(attributes, NODE, "op {}", node)
        for label, form in MAPPINGS:
            given = attributes.get(label)
            plain = label == "time" and isinstance(given, (int, float, np.number)) and not poses_as_number(given)
            if given is not None and not plain and not isinstance(given, Mapping):
                raise FormatError(f"{label} of op {shown(node)} is {shown(attributes[label])}; expected {form}")
        if not isinstance(attributes.get("kind", ""), (str, type(None))):
            raise FormatError(f"kind of op {shown(node)} is {shown(attributes['kind'])}; expected a text")
    costs = [_costs(name, attributes) for name, (_, attributes) in zip(names, nodes, strict=True)]
    edges, size, output, control, unused = _read_edges(graph, number, nodes)
    storage, unused = _storages(graph, control, unused)
    times = _times(names, nodes)
    groups: dict[str, list[int]] = {}
    for v, (_, attributes) in enumerate(nodes):
        for group in _texts(attributes.get("group"), "group of op {}", names[v]):
            groups.setdefault(group, []).append(v)
    return checked(
        names=names,
        compute=[c[0] for c in costs],
        edges=edges,
        edge_bytes=size,
        edge_output=output,
        edge_control=control,
        edge_storage=storage,
        outputs=unused,
        persistent=[c[1] for c in costs],
        temporary=[c[2] for c in costs],
        memory=_memory(nodes),
        kind=[str(a.get("kind") or "") for _, a in nodes],
        time=times,
        groups=list(groups.values()),
        group_names=list(groups),
        devices=_devices(names, nodes),
        shapes=_shapes(graph, nodes, edges, output, control, unused),
        **_time_facts(_facts(graph, times), times or ()),
    )


def write(graph: GraphColumns) -> nx.DiGraph:
    """A DiGraph with every attribute that is not its default; a MultiDiGraph when two edges join the same two ops."""
    need("networkx")
    import networkx as nx

    m = graph.n_edges
    parallel = m and len(np.unique(graph.producer.astype(np.int64) * graph.n_ops + graph.consumer)) < m
    result = nx.MultiDiGraph() if parallel else nx.DiGraph()
    result.graph.update(graph_attributes(graph))
    local = np.arange(graph.n_tensors) - graph.op_tensor_ptr[graph.tensor_producer]
    unused = np.diff(graph.tensor_ptr) == 0
    default = graph.persistent + graph.temporary + graph.new_bytes
    shared = _shared(graph)
    for v, name in enumerate(graph.names):
        result.add_node(name, **_node(graph, v, default, {t: int(local[t]) for t in _unread(graph, v, unused)}, shared))
    for e, (u, w) in enumerate(graph.edges.tolist()):
        t = graph.edge_tensor[e]
        data: dict[str, Any] = (
            {"control": True}
            if graph.tensor_control[t]
            else {"bytes": float(graph.tensor_bytes[t]), "tensor": int(local[t])}
        )
        if t in shared:
            data["storage"] = shared[t]
        if (shape := graph.shape_of(t)) is not None:
            data["tensor_shape"] = shape
        result.add_edge(graph.names[u], graph.names[w], **data)
    return result


def graph_attributes(graph: GraphColumns) -> dict[str, Any]:
    """The graph's metadata, with the known speeds and the default of its time columns beside them."""
    facts = {"time_speed": known_speeds(graph) or None, "time_default": graph.time_default}
    return graph.metadata | {label: value for label, value in facts.items() if value is not None}


def shown(value: Any) -> str:
    """A value as a message shows it: on one line, cut to 60 characters."""
    return f"{' '.join(repr(value).split()):.60}"


def _shared(graph: GraphColumns) -> dict[int, int]:
    """Tensor → the first tensor in its storage, of tensors that share theirs."""
    if graph.tensor_storage is None:
        return {}
    several = np.bincount(graph.tensor_storage, minlength=graph.n_tensors) > 1
    shared = np.flatnonzero(several[graph.tensor_storage])
    return dict(zip(shared.tolist(), graph.tensor_storage[shared].tolist(), strict=True))


def _unread(graph: GraphColumns, v: int, unused: np.ndarray) -> list[int]:
    return [t for t in range(graph.op_tensor_ptr[v], graph.op_tensor_ptr[v + 1]) if unused[t]]


def _node(
    graph: GraphColumns, v: int, default: np.ndarray, unread: dict[int, int], shared: dict[int, int]
) -> dict[str, Any]:
    node: dict[str, Any] = {}
    if not np.isnan(graph.compute[v]):
        node["compute"] = float(graph.compute[v])
    for label in ("persistent", "temporary"):
        if getattr(graph, label)[v]:
            node[label] = float(getattr(graph, label)[v])
    if graph.memory[v] != default[v]:
        node["memory"] = float(graph.memory[v])
    if graph.kind[v]:
        node["kind"] = graph.kind[v]
    if graph.time is not None:
        node["time"] = {k: float(t) for k, t in zip(graph.time_types, graph.time[v], strict=True) if not np.isnan(t)}
    if graph.group[v] >= 0:
        node["group"] = graph.group_names[graph.group[v]]
    if graph.device_set[v] >= 0:
        node["devices"] = list(graph.device_sets[graph.device_set[v]])
    if unread:
        size = {t: float(graph.tensor_bytes[t]) for t in unread}
        node["outputs"] = {o: (size[t], shared[t]) if t in shared else size[t] for t, o in unread.items()}
    if shapes := {o: shape for t, o in unread.items() if (shape := graph.shape_of(t)) is not None}:
        node["output_shapes"] = shapes
    return node


def _time_facts(attributes: dict[str, Any], types: Collection[str]) -> dict[str, Any]:
    """Speeds, default and metadata in graph attributes; an attribute ``times`` is read as earlier versions wrote it."""
    facts = {label: attributes.pop(label) for label in ("time_speed", "time_default") if label in attributes}
    if not isinstance(facts.get("time_speed", {}), (Mapping, type(None))):
        raise FormatError(f"time_speed is {shown(facts['time_speed'])}; expected {{device name or type: operations/s}}")
    return times_in_metadata(attributes, types) | facts


def _check_attributes(attributes: dict, known: set[str], where: str, *of: Any) -> None:
    for name in attributes:
        if name not in known:
            raise FormatError(
                f"{_filled(where, of)} has an attribute {shown(name)}; known are {', '.join(sorted(known))}"
            )


def _filled(where: str, of: tuple) -> str:
    """The text `where` with the names of an op or edge filled in; done only when a message needs it."""
    return where.format(*map(shown, of))


def _costs(name: str, attributes: dict) -> tuple[float, float, float]:
    time = attributes.get("time")
    if "compute" not in attributes and (time is None or time == {}):
        raise FormatError(f"op {shown(name)} has neither compute [operations] nor time [seconds]; give one")
    return (
        _number(attributes.get("compute", np.nan), "compute of op {}", name),
        _number(attributes.get("persistent", 0.0), "persistent of op {}", name),
        _number(attributes.get("temporary", 0.0), "temporary of op {}", name),
    )


def _number(value: Any, where: str, *of: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{_filled(where, of)} is {shown(value)}; expected a number") from None


def _texts(value: Any, where: str, *of: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(isinstance(x, str) for x in value):
        raise FormatError(f"{_filled(where, of)} is {shown(value)}; expected a name or a list of names")
    return tuple(value) if isinstance(value, (list, tuple)) else tuple(sorted(value))


def _read_edges(graph: Any, number: dict, nodes: list) -> tuple[list, list, list, list, list]:
    """Edges as columns; outputs renumbered per producer: integer ids in order, then others by first appearance."""
    edges = []
    size = []
    ids = []
    control = []
    for u, w, attributes in graph.edges(data=True):
        _check_attributes(attributes, EDGE, "edge {} → {}", u, w)
        _check_kind(attributes, "control", (bool, int, np.bool_), "True or False", u, w)
        _check_kind(attributes, "tensor", Hashable, "a number or a text", u, w)
        edges.append((number[u], number[w]))
        control.append(bool(attributes.get("control", False)))
        size.append(_number(attributes.get("bytes", 0.0), "bytes of edge {} → {}", u, w))
        ids.append(attributes.get("tensor"))
    unused = [
        (v, o, _number(b[0] if len(b) else None, "output {} of op {}", o, n), b[1] if len(b) > 1 else None)
        for v, (n, a) in enumerate(nodes)
        for o, b in ((o, b if isinstance(b, (tuple, list)) else (b,)) for o, b in (a.get("outputs") or {}).items())
    ]
    named = {(u, i) for (u, _), i, c in zip(edges, ids, control, strict=True) if i is not None and not c}
    named |= {(v, o) for v, o, *_ in unused}
    position = {key: j for j, key in enumerate(sorted(named, key=_output_key))}
    own = len(position)  # tensors without an id come after those with one, by consumer
    order = sorted((e for e in range(len(edges)) if ids[e] is None), key=lambda e: (edges[e], e))
    anonymous = {e: own + j for j, e in enumerate(order)}
    output = [
        position[edges[e][0], ids[e]] if ids[e] is not None and not control[e] else anonymous.get(e, 0)
        for e in range(len(edges))
    ]
    return edges, size, output, control, [(v, position[v, o], b, s) for v, o, b, s in unused]


def _storages(graph: Any, control: list, unused: list) -> tuple[list[int] | None, list[tuple]]:
    """The storage of each edge's tensor by number, None where no edge has any, and the unread outputs with theirs."""
    number: dict[Hashable, int] = {}
    storage = []
    for (u, w, attributes), is_control in zip(graph.edges(data=True), control, strict=True):
        _check_kind(attributes, "storage", Hashable, "a number or a text", u, w)
        given = None if is_control else attributes.get("storage")
        storage.append(-1 if given is None else number.setdefault(given, len(number)))
    if wrong := next((s for *_, s in unused if not isinstance(s, Hashable)), None):
        raise FormatError(f"the storage of an output is {shown(wrong)}; expected a number or a text")
    rows = [(v, o, b, -1 if s is None else number.setdefault(s, len(number))) for v, o, b, s in unused]
    return storage if number else None, rows


def _shapes(
    graph: Any, nodes: list, edges: list, output: list, control: list, unused: list
) -> dict[tuple[int, int], str]:
    """Shapes of the tensors on edges, and of the outputs that no edge carries."""
    found: dict[tuple[int, int], str] = {}
    for (u, w, given), (v, _), o, is_control in zip(graph.edges(data=True), edges, output, control, strict=True):
        shape = None if is_control else given.get("tensor_shape")
        if shape is None:
            continue
        if not isinstance(shape, str):
            raise FormatError(
                f"tensor_shape of edge {shown(u)} → {shown(w)} is {shape!r:.80}; expected a text, such as 'float32 [64, 3, ?]'"
            )
        if found.setdefault((v, o), shape) != shape:
            raise FormatError(
                f"tensor_shape of edge {shown(u)} → {shown(w)} is {shown(shape)}, but {shown(found[v, o])} on another edge "
                "of that tensor; edges of one tensor must agree"
            )
    ids = [(o, a.get("output_shapes") or {}) for _, a in nodes for o in a.get("outputs") or {}]
    for (o, given), (v, number, *_) in zip(ids, unused, strict=True):
        if o in given:
            found[v, number] = given[o]
    return found


def _check_kind(attributes: dict, name: str, kind: Any, expected: str, u: Any, w: Any) -> None:
    if name in attributes and not isinstance(attributes[name], kind):
        where = _filled(f"{name} of edge {{}} → {{}}", (u, w))
        raise FormatError(f"{where} is {shown(attributes[name])}; expected {expected}")


def _output_key(key: tuple[int, Any]) -> tuple:
    producer, output = key
    is_number = isinstance(output, (int, np.integer))
    return producer, not is_number, int(output) if is_number else 0, str(output)


def _memory(nodes: list) -> list[float | None] | None:
    """Given memory, None where it is not given, or as a whole when no op gives it."""
    if not any("memory" in a for _, a in nodes):
        return None
    return [_number(a["memory"], "memory of op {}", n) if "memory" in a else None for n, a in nodes]


def _devices(names: list[str], nodes: list) -> dict[int, tuple[str, ...]]:
    """Allowed devices of the ops that name some. Nodes that share a list share a tuple."""
    given = {v: a["devices"] for v, (_, a) in enumerate(nodes) if a.get("devices") is not None}
    read = {id(value): _texts(value, "devices of op {}", names[v]) for v, value in _distinct(given)}
    return {v: read[id(value)] for v, value in given.items()}


def _facts(graph: Any, times: dict[str, np.ndarray] | None) -> dict[str, Any]:
    """The graph's own attributes; times of all devices are those of devices that have no other."""
    default = {"time_default": ALL} if times and ALL in times else {}
    return default | {k: v for k, v in graph.graph.items() if isinstance(k, str)}


def _times(names: list[str], nodes: list) -> dict[str, np.ndarray] | None:
    """Seconds of all ops by device name or type, a plain number's as those of `ALL`. Times that nodes share are read once."""
    found = ((v, a["time"]) for v, (_, a) in enumerate(nodes) if a.get("time") is not None)
    given = {v: time if isinstance(time, Mapping) else {ALL: time} for v, time in found}
    given = {v: time for v, time in given.items() if time}
    ops: dict[int, list[int]] = {}
    for v, times in given.items():
        ops.setdefault(id(times), []).append(v)
    number = {t: j for j, t in enumerate(dict.fromkeys(t for _, times in _distinct(given) for t in times))}
    check_size(ops=len(nodes), time_types=len(number))
    table = np.full((len(number), len(nodes)), np.nan)
    for v, times in _distinct(given):
        rows = ops[id(times)] if len(ops[id(times)]) > 1 else v
        for t, seconds in times.items():
            column = slice(None) if t == ALL and len(times) == 1 else number[t]
            table[column, rows] = _number(seconds, "time of op {} on {}", names[v], t)
    return {t: table[j] for t, j in number.items()} or None


def _distinct(given: dict[int, Any]) -> list[tuple[int, Any]]:
    """The values that are different objects, each with the first op that has it."""
    found: dict[int, tuple[int, Any]] = {}
    for v, value in given.items():
        found.setdefault(id(value), (v, value))
    return list(found.values())
