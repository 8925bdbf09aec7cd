"""Read Chakra execution traces of MLCommons: the ops of one rank of a distributed run, and their dependencies.

An op is a node of the trace; its ``kind`` is the node's type (``COMP``, ``MEM_LOAD`` …), with the collective of a
communication (``COMM_ALL_REDUCE``, ``COMM_SEND``). Data dependencies are edges; all edges from a node carry one tensor, whose
bytes are those of the tensors it wrote if the trace has them, else its ``tensor_size`` or ``comm_size``. Control dependencies
are control edges; ``metadata["costs"]["outside"]`` counts those on nodes that are not in the file (callers that were left
out). If control and data dependencies form a cycle, control dependencies are ignored: in traces converted from PyTorch's, a
node's control dependency is its caller, which may wait for it. ``compute`` is ``num_ops``; measured durations are the column
``trace``, which counts as that of a device of 10¹³ operations/s, so that speeds can be changed.

Where a trace says which nodes are ops of a CPU (``is_cpu_op``), these run on CPUs and all others, the kernels, on other
devices, if the cluster has such. Kernels of a stream (``stream``, else ``tid``) run in the order of their starts: control
edges chain them, unless that contradicts the dependencies. A kernel that repeats the outputs of the op that launched it
writes nothing of its own, and waits for that op only. ``metadata["costs"]["unwaited"]`` counts the kernels that no node waits
for.

Tensors in one storage, as views and ops in place write them, share its memory, unless a node writes to several storages.

Formats: protobuf (``.et``), JSON with ``workload_graph``, and the host traces of PyTorch's ``ExecutionTraceObserver``
(:mod:`placelab.formats.task_graphs.host_trace`).

References
----------
https://github.com/mlcommons/chakra, schema/protobuf/et_def.proto
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import CycleError, FormatError, PlacelabError
from placelab.base.fields import cost, integer, one_line, read_from, records, text, title
from placelab.base.files import json_of, narrow, unzipped
from placelab.formats.building import build, without_garbage_collection
from placelab.formats.protobuf import MessageType, messages, parse, varint
from placelab.formats.task_graphs import host_trace
from placelab.problem.graph import OpGraph
from placelab.problem.hardware import HARDWARE

EXPECTED = "a Chakra execution trace"
MAX_NODES = 500_000
MAX_RECORD = 4 << 20  # bytes of one node
MAX_EDGES = 5_000_000
MAX_ID = (1 << 64) - 1
SPEED = 1e13  # operations/s of a device that takes the measured durations

TYPES = "INVALID METADATA MEM_LOAD MEM_STORE COMP COMM_SEND COMM_RECV COMM_COLL STORAGE BATCH CHECKPOINT".split()
COLLECTIVES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL"),
    *("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
NUMBERS = {  # attributes that are read, each in one of these fields, the usual ones first
    "int64_val": 9,
    "uint64_val": 13,
    "int32_val": 7,
    "uint32_val": 11,
    "double_val": 3,
    "float_val": 5,
    "sint32_val": 15,
    "sint64_val": 17,
    "fixed32_val": 19,
    "fixed64_val": 21,
    "sfixed32_val": 23,
    "sfixed64_val": 25,
}
SIZES = ("num_ops", "tensor_size", "comm_size", "comm_type")
# Id, storage, offset, elements, bytes of one.
TENSOR = re.compile(r"\[(\d{1,20}), (\d{1,20}), \d{1,20}, (\d{1,20}), (\d{1,20}), ['\"]")
JSON = re.compile(rb"\s*\{\s*[\"}]")


SNIFFED = 1 << 16  # bytes
PLACES = {  # devices of ops that ran on a CPU or not; any device of a cluster that has none of these
    cpu: ("cpu" if cpu else "gpu", *(name for name, kind in HARDWARE.items() if (kind == "cpu") == cpu), "*")
    for cpu in (True, False)
}
STREAM = ("stream", "tid")  # attributes with a kernel's stream, the first that is there counts
NO_TENSORS = frozenset[str]()
NO_SIZES = dict[str, float]()


class Node(NamedTuple):
    """A node of a trace in any format."""

    id: int
    name: str
    type: int
    data: Sequence[int]
    control: Sequence[int]
    seconds: float
    written: float  # bytes
    sizes: Mapping[str, float]  # those of SIZES that the node has
    tensors: frozenset[str] = NO_TENSORS  # ids of those it wrote
    on_cpu: bool | None = None  # None if the trace does not say
    stream: int | None = None  # of a kernel
    start: int = 0  # microseconds
    storage: int = 0  # that of all tensors it wrote; 0 where there are several, or none is known

    @property
    def kind(self) -> str:
        """``COMM_ALL_REDUCE``, ``COMP`` …"""
        kind = TYPES[self.type]
        which = self.sizes.get("comm_type", -1)
        if kind == "COMM_COLL" and 0 <= which < len(COLLECTIVES):
            return f"COMM_{COLLECTIVES[int(which)]}"
        return kind

    @property
    def bytes(self) -> float:
        """Bytes of its output."""
        if self.written or not self.sizes:
            return self.written
        size = self.sizes.get("comm_size" if self.kind.startswith("COMM") else "tensor_size", 0.0)
        return size or self.sizes.get("tensor_size", 0.0)


@without_garbage_collection()
def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a Chakra trace, protobuf or JSON, gzipped or not; `where` names it in messages."""
    data = unzipped(data, where)
    if JSON.match(narrow(data[:SNIFFED]).removeprefix(BOM_UTF8)):
        return graph_of(json_of(data, where, EXPECTED), where)
    try:
        nodes = list(_records(data, where))
    finally:
        _attribute.cache_clear()
    return _graph(nodes, where, "protobuf")


def matches(document: Any) -> bool:
    """Whether parsed JSON is a Chakra trace, or a host trace of PyTorch."""
    return _is_workload(document) or host_trace.matches(document)


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    if host_trace.matches(document):
        return host_trace.graph_of(document, where)
    if not _is_workload(document):
        raise FormatError(f"{where} is not {EXPECTED}: expected workload_graph, or schema and nodes, at the top")
    with read_from(where):
        nodes = [_json_node(entry, i) for i, entry in enumerate(records(document["workload_graph"], "workload_graph"))]
    return _graph(nodes, where, "JSON")


def _is_workload(document: Any) -> bool:
    return isinstance(document, dict) and "workload_graph" in document


# -------------------------------------------------------------------- protobuf


@cache
def _messages() -> tuple[MessageType, MessageType]:
    """Classes of a node, whose attributes stay bytes, and of an attribute."""
    numbers = "; ".join(f"{kind.removesuffix('_val')} {kind} = {number}" for kind, number in NUMBERS.items())
    found = messages(
        "chakra",
        {
            "Node": "uint64 id = 1; string name = 2; int32 type = 3; repeated uint64 ctrl_deps = 4; "
            "repeated uint64 data_deps = 5; uint64 start_time_micros = 6; uint64 duration_micros = 7; "
            "Values outputs = 9; repeated bytes attr = 10",
            "Values": "string values = 1",
            "Attribute": f"string name = 1; {numbers}; bool bool_val = 27",
        },
    )
    return found["Node"], found["Attribute"]


def _records(data: bytes, where: str) -> Iterator[Node]:
    """The nodes of a ``.et`` file, a sequence of records with their length first: metadata, then each node."""
    at = _record(data, 0, where)[1] if data else 0
    kind, _ = _messages()
    ids = set[int]()
    edges = count = 0
    while at < len(data):
        start, at = _record(data, at, where)
        count += 1
        message = parse(kind, data[start:at], f"{where}, node {count}")
        try:
            _check_number(count)
            node = _node(message)
            if node.id in ids:
                raise _twice(node.id)
        except PlacelabError as error:
            raise type(error)(f"{where}, node {count}: {error}") from None
        ids.add(node.id)
        edges += len(node.data) + len(node.control)
        _check_edges(edges, where)
        yield node


def _twice(number: int) -> FormatError:
    return FormatError(f"two nodes have the id {number}; ids must be unique")


def _check_number(nodes: int) -> None:
    if nodes > MAX_NODES:
        raise FormatError(f"there are more than {MAX_NODES:,} nodes; such traces are not read")


def _record(data: bytes, at: int, where: str) -> tuple[int, int]:
    """Start and end of the bytes of a record."""
    try:
        size, start = varint(data, at)
    except IndexError:
        size = MAX_ID
        start = at
    if size > MAX_RECORD or start + size > len(data):
        raise FormatError(
            f"{where} is not {EXPECTED}: at byte {at:,} a record of {size:,} bytes is announced; {len(data) - start:,} "
            f"follow, and at most {MAX_RECORD:,} are expected"
        )
    return start, start + size


def _node(node: Any) -> Node:
    number = node.id
    name = one_line(node.name)
    kind = node.type
    values = node.outputs.values
    sizes: dict[str, float] = {}
    on_cpu: bool | None = None
    streams: dict[str, int] = {}
    for key, value in map(_attribute, node.attr[:]):
        if key == "is_cpu_op":
            on_cpu = on_cpu if value is None else value
        elif key in SIZES:
            sizes[key] = cost(value, f"{key} of node {number} ({name:.80})")
        elif key in STREAM and abs(value) <= MAX_ID:
            streams[key] = int(value)
    if not 0 <= kind < len(TYPES):
        integer(kind, f"type of node {number} ({name:.80})", 0, len(TYPES) - 1)
    written, storage = _written(values) if values else (NO_SIZES, 0)
    return Node(
        number,
        name,
        kind,
        node.data_deps[:],
        node.ctrl_deps[:],
        node.duration_micros * 1e-6,
        float(sum(written.values())),
        sizes or NO_SIZES,
        frozenset(written) if written else NO_TENSORS,
        on_cpu,
        next((streams[key] for key in STREAM if key in streams), None) if streams else None,
        node.start_time_micros,
        storage,
    )


@lru_cache(8192)  # the same ones stand in most nodes
def _attribute(data: bytes) -> tuple[str, Any]:
    """Name and value of an attribute: of a number 0, of a truth value None if it is not there; None for others than are read."""
    found = parse(_messages()[1], data, "an attribute")
    key = found.name
    if key == "is_cpu_op":
        return key, found.bool_val if found.HasField("bool_val") else None
    if key not in SIZES and key not in STREAM:
        return "", None
    return key, next((getattr(found, kind) for kind in NUMBERS if found.HasField(kind)), 0.0)


def _written(values: str) -> tuple[dict[str, int], int]:
    """Bytes of the tensors in a list of values, each tensor once, by its id; their storage, 0 if they have several or none."""
    found = TENSOR.findall(values)
    storages = {storage for _, storage, _, _ in found}
    written = {key: int(count) * int(size) for key, _, count, size in found}
    return written, int(storages.pop()) if len(storages) == 1 else 0


# -------------------------------------------------------------------- JSON


def _json_node(entry: dict[str, Any], i: int) -> Node:
    number = integer(entry.get("Id"), f"Id of node {i}", 0, MAX_ID)
    name = one_line(text(entry.get("Name", ""), f"Name of node {number}"))
    what = f"of node {number} ({name:.80})"
    return Node(
        number,
        name,
        integer(entry.get("NodeType", 0), f"NodeType {what}", 0, len(TYPES) - 1),
        _dependencies(entry.get("data_deps", []), f"data_deps {what}"),
        _dependencies(entry.get("ctrlDeps", entry.get("ctrl_deps", [])), f"ctrl_deps {what}"),
        cost(entry.get("runtime", 0), f"runtime {what}") * 1e-6,
        0.0,
        {key: cost(entry[key], f"{key} {what}") for key in SIZES if key in entry},
        on_cpu=entry["is_cpu_op"] if isinstance(entry.get("is_cpu_op"), bool) else None,
        stream=next((entry[key] for key in STREAM if type(entry.get(key)) is int), None),
    )


def _dependencies(value: Any, what: str) -> list[int]:
    if not isinstance(value, list):
        raise FormatError(f"{what} is {value!r:.60}; expected a list of Ids")
    return [integer(entry, f"an entry of {what}", 0, MAX_ID) for entry in value]


# -------------------------------------------------------------------- graph


def _graph(nodes: list[Node], where: str, form: str) -> OpGraph:
    if not nodes:
        raise FormatError(f"{where} is not {EXPECTED}: it has no node")
    _check_edges(sum(len(node.data) + len(node.control) for node in nodes), where)
    with read_from(where):
        number = _numbers(nodes)
        waits = [(number[u], v) for v, node in enumerate(nodes) for u in _known(node, number)]
        repeated = {edge for edge in waits if _launched(nodes[edge[0]], nodes[edge[1]])}
        data = [edge for edge in waits if edge not in repeated]
        control = [(number[u], v) for v, node in enumerate(nodes) for u in node.control if u in number and u != node.id]
        repeats = {v for _, v in repeated} | {v for u, v in control if _launched(nodes[u], nodes[v])}
        nodes = [node._replace(written=0.0, sizes=NO_SIZES) if v in repeats else node for v, node in enumerate(nodes)]
        outside = sum(u not in number for node in nodes for u in node.control)
        awaited = {u for u, _ in waits + control}
        unwaited = sum(node.on_cpu is False and v not in awaited for v, node in enumerate(nodes))
        metadata = {
            "name": title(where, "trace"),
            "provenance": f"Chakra execution trace, {form}",
            "costs": {"compute": "operations", "outside": outside} | ({"unwaited": unwaited} if unwaited else {}),
        }
        return _acyclic(nodes, data, (sorted(repeated), control, _chains(nodes, {*waits, *control})), metadata)


def _launched(op: Node, kernel: Node) -> bool:
    """Whether a kernel was launched by an op on the CPU whose outputs it repeats."""
    return kernel.on_cpu is False and op.on_cpu is True and bool(op.tensors) and op.tensors == kernel.tensors


def _chains(nodes: list[Node], known: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each kernel with the next one of its stream, in the order of their starts, ties by id; without edges that are known."""
    streams: dict[int, list[int]] = {}
    for v in sorted(range(len(nodes)), key=lambda v: (nodes[v].start, nodes[v].id)):
        node = nodes[v]
        if node.on_cpu is False and node.stream is not None:
            streams.setdefault(node.stream, []).append(v)
    return [pair for kernels in streams.values() for pair in pairwise(kernels) if pair not in known]


def _acyclic(nodes: list[Node], data: list, orders: tuple[list, list, list], metadata: dict[str, Any]) -> OpGraph:
    """The graph with launches, control dependencies and streams; without those that contradict the data, which is said."""
    launches, control, chains = orders
    for more, note in (
        (launches + control + chains, ""),
        (launches + chains, "control dependencies, which contradict those of data"),
        (launches, "control dependencies and the order of streams, which contradict the data dependencies"),
    ):
        try:
            return _built(nodes, data, more, metadata | ({"left_out": note} if note else {}))
        except CycleError:
            continue
    return _built(nodes, data, [], metadata | {"left_out": "all but data dependencies, which they contradict"})


def _built(nodes: list[Node], data: list[tuple[int, int]], control: list[tuple[int, int]], metadata: dict) -> OpGraph:
    seconds = np.array([node.seconds or np.nan for node in nodes])
    measured = not np.isnan(seconds).all()
    edges = data + control
    size = [node.bytes for node in nodes]
    number: dict[int, int] = {}
    storage = [number.setdefault(node.storage, len(number)) if node.storage else -1 for node in nodes]
    return build(
        _names(nodes),
        [node.sizes.get("num_ops", 0.0) for node in nodes],
        edges,
        edge_bytes=[size[u] for u, _ in data] + [0.0] * len(control),
        edge_output=[0] * len(edges),
        edge_control=[i >= len(data) for i in range(len(edges))],
        edge_storage=[storage[u] for u, _ in data] + [-1] * len(control),
        outputs=[(v, 0, size[v], storage[v]) for v in range(len(nodes))],
        kind=[node.kind for node in nodes],
        devices={v: PLACES[node.on_cpu] for v, node in enumerate(nodes) if node.on_cpu is not None},
        time={"trace": seconds} if measured else None,
        time_speed={"trace": SPEED} if measured else None,
        time_default="trace" if measured else None,
        metadata=metadata,
    )


def _check_edges(edges: int, where: str) -> None:
    if edges > MAX_EDGES:
        raise FormatError(f"{where} has more than {MAX_EDGES:,} dependencies; such traces are not read")


def _numbers(nodes: list[Node]) -> dict[int, int]:
    """Id → number of each node."""
    _check_number(len(nodes))
    number = {node.id: v for v, node in enumerate(nodes)}
    if len(number) < len(nodes):
        raise _twice(next(node.id for v, node in enumerate(nodes) if number[node.id] != v))
    return number


def _known(node: Node, number: dict[int, int]) -> Sequence[int]:
    """The nodes whose data a node reads; FormatError if one is missing."""
    for other in node.data:
        if other not in number:
            raise FormatError(
                f"node {node.id} ({node.name:.80}) waits for data of {other}, which is not the id of a node"
            )
    return node.data


def _names(nodes: list[Node]) -> list[str]:
    """Each node's name; with its id appended if it is empty or shared."""
    seen = Counter(node.name for node in nodes)
    taken = {name for name, times in seen.items() if times == 1}
    return [_own_name(node, seen, taken) for node in nodes]


def _own_name(node: Node, seen: Mapping[str, int], taken: set[str]) -> str:
    if node.name and seen[node.name] == 1:
        return node.name
    name = f"{node.name or node.kind}_{node.id}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name
