"""Read PyTorch's host traces, the JSON of ``torch.profiler.ExecutionTraceObserver``.

Schemas from 1.0.1 on are read. A trace has all calls, nested. An op is an outermost call whose operations can be counted
(``aten::linear``, not the ``aten::addmm`` in it); a call that cannot be counted is replaced by its callees, or is an op if it
has none. ``kind`` is the call's name, or ``COMM_…`` for a collective. An edge goes from the op that last wrote a tensor to
each op that reads it, in the order of the calls; its bytes are those of the tensor. ``compute`` is floating-point operations,
counted from the shapes in the trace. A tensor that no op of the trace wrote (a parameter, a batch or the optimiser's state,
which a trace does not distinguish) is ``persistent`` at the first op that reads it. Such traces have no times.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import integer, one_line, read_from, records, text, title
from placelab.formats.building import Out, build, storages
from placelab.formats.flops import count
from placelab.problem.graph import OpGraph

EXPECTED = "a host trace of PyTorch"
MAX_ID = (1 << 64) - 1
MAX_BYTES = 1 << 60
MAX_RANK = 64
VERSION = re.compile(r"(\d{1,3})\.\d{1,3}\.\d{1,3}(?!\d)")  # of a schema, alone or before Chakra's
KNOWN = "schemas 1.0.1 to 1.1.1, with or without Chakra's version"
TENSOR = 6  # entries: its id, its storage's, offset, elements, bytes of one, device
ANNOTATIONS = ("[", "##")  # prefixes of entries that are not calls: threads, annotations
COLLECTIVES = {
    "allreduce": "ALL_REDUCE",
    "reduce": "REDUCE",
    "allgather": "ALL_GATHER",
    "gather": "GATHER",
    "scatter": "SCATTER",
    "broadcast": "BROADCAST",
    "alltoall": "ALL_TO_ALL",
    "reducescatter": "REDUCE_SCATTER",
    "barrier": "BARRIER",
    "send": "SEND",
    "recv": "RECV",
}
Tensor = tuple[int, int]  # id and storage, both reused once the tensor is freed


@dataclass(frozen=True)
class Call:
    """A call of the trace: its tensors as (id, storage) → bytes, and its operations, None if unknown."""

    id: int
    name: str
    kind: str
    reads: dict[Tensor, float]
    writes: dict[Tensor, float]
    operations: float | None


def matches(document: Any) -> bool:
    """Whether parsed JSON is a host trace."""
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        return False
    return "nodes" in document and bool("chakra" in document["schema"] or VERSION.fullmatch(document["schema"]))


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    with read_from(where):
        version = VERSION.match(document["schema"])
        if version is not None and version[1] != "1":
            raise FormatError(f"it has schema {document['schema']!r:.40}; this placelab reads {KNOWN}")
        nodes = [_newer(node) for node in records(document["nodes"], "nodes")]
        by_id = _numbered(nodes)
        calls = [_call(by_id[number]) for number in sorted(by_id)]  # callers before callees
        ops = _outermost(calls, by_id)
        if not ops:
            raise FormatError(f"it is not {EXPECTED}: no node is a call")
        return _graph(ops, document["schema"], where)


def _newer(node: dict[str, Any]) -> dict[str, Any]:
    """A node as schemas from 1.0.2 on have it: before, lists stood on the node itself, and the caller was its parent."""
    if "input_shapes" not in node and "output_shapes" not in node:
        return node
    sides = {
        f"{side}s": {"values": node.get(f"{side}s", []), "shapes": node.get(f"{side}_shapes", [])}
        for side in ("input", "output")
    }
    return node | sides | {"ctrl_deps": node.get("ctrl_deps", node.get("parent"))}


def _numbered(nodes: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    by_id: dict[int, dict[str, Any]] = {}
    for node in nodes:
        number = integer(node.get("id"), "id of a node", 0, MAX_ID)
        if number in by_id:
            raise FormatError(f"two nodes have the id {number}; ids must be unique")
        by_id[number] = node
    return by_id


def _outermost(calls: list[Call], by_id: dict[int, dict[str, Any]]) -> list[Call]:
    """The calls that are ops, in order."""
    callers = {_caller(node) for number, node in by_id.items() if _caller(node) != number}
    inside: set[int] = set()  # ops and all they call
    ops = []
    for call in calls:
        if _caller(by_id[call.id]) in inside:
            inside.add(call.id)
        elif not call.name.startswith(ANNOTATIONS) and (call.operations is not None or call.id not in callers):
            inside.add(call.id)
            ops.append(call)
    return ops


def _caller(node: dict[str, Any]) -> Any:
    caller = node.get("ctrl_deps")
    return caller if isinstance(caller, int) else None


def _call(node: dict[str, Any]) -> Call:
    name = one_line(text(node.get("name"), f"name of node {node['id']}"))
    what = f"of node {node['id']} ({name:.80})"
    inputs = _side(node, "inputs", what)
    outputs = _side(node, "outputs", what)
    kind = _kind(name, inputs.get("values", []))
    operations = count(kind, _shapes(inputs.get("shapes", [])), _shapes(outputs.get("shapes", [])))
    return Call(
        node["id"],
        name,
        kind,
        dict(_tensors(inputs.get("values", []), what)),
        dict(_tensors(outputs.get("values", []), what)),
        operations if operations is not None and 0 <= operations < math.inf else None,
    )


def _side(node: dict[str, Any], key: str, what: str) -> dict[str, Any]:
    side = node.get(key, {})
    if not isinstance(side, dict) or not all(isinstance(side.get(part, []), list) for part in ("values", "shapes")):
        raise FormatError(f"{key} {what} are {side!r:.60}; expected an object of lists, values and shapes")
    return side


def _kind(name: str, values: list[Any]) -> str:
    """The call's name; for ``record_param_comms``, the collective that its values name."""
    if name != "record_param_comms":
        return name or "?"
    texts = (value.lower().replace("_", "") for value in values if isinstance(value, str))
    found = (kind for value in texts for start, kind in COLLECTIVES.items() if value.startswith(start))
    return f"COMM_{next(found, 'COLL')}"


def _tensors(values: list[Any], what: str) -> Iterator[tuple[Tensor, float]]:
    """((id, storage), bytes) of the tensors among values, also inside lists."""
    waiting = [(value, 0) for value in reversed(values)]
    while waiting:
        value, depth = waiting.pop()
        if not isinstance(value, list):
            continue
        if len(value) == TENSOR and isinstance(value[-1], str) and isinstance(value[0], int):
            yield _tensor(value, what)
        elif depth < 2:
            waiting += [(entry, depth + 1) for entry in reversed(value)]


def _tensor(value: list[Any], what: str) -> tuple[Tensor, float]:
    number = integer(value[0], f"a tensor's id {what}", 0, MAX_ID)
    storage = integer(value[1], f"storage of tensor {number} {what}", 0, MAX_ID)
    elements = integer(value[3], f"elements of tensor {number} {what}", 0, MAX_BYTES)
    size = elements * integer(value[4], f"bytes of an element of tensor {number} {what}", 0, 1 << 10)
    return (number, storage), float(size)


def _shapes(shapes: list[Any]) -> list[Any]:
    """Shapes of single tensors; None for other entries."""
    return [tuple(shape) if _is_shape(shape) else None for shape in shapes]


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_RANK and all(map(_is_size, value))


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_BYTES


def _graph(calls: list[Call], schema: str, where: str) -> OpGraph:
    edges, persistent, aliases = _flow(calls)
    outputs = {(v, k): size for v, call in enumerate(calls) for k, size in enumerate(call.writes.values())}
    storage = storages(aliases, outputs.__getitem__)
    unknown = Counter(call.kind for call in calls if call.operations is None)
    return build(
        [f"{call.name or 'call'}_{call.id}" for call in calls],
        [call.operations or 0.0 for call in calls],
        [edge[:2] for edge in edges],
        edge_bytes=[edge[3] for edge in edges],
        edge_output=[edge[2] for edge in edges],
        edge_storage=[storage.get((edge[0], edge[2]), -1) for edge in edges],
        outputs=[(*output, size, storage.get(output, -1)) for output, size in outputs.items()],
        persistent=persistent,
        kind=[call.kind for call in calls],
        metadata={
            "name": title(where, "trace"),
            "provenance": f"host trace of PyTorch, schema {one_line(schema):.80}",
            "costs": {"compute": "FLOP", "unknown": dict(unknown), "unsized": 0},
        },
    )


def _flow(calls: list[Call]) -> tuple[list[tuple[int, int, int, float]], list[float], list[tuple[Out, Out]]]:
    """Edges (producer, consumer, output number, bytes), the bytes that each op is the first to read from outside, and aliases.

    A tensor comes from the last op that wrote it; if none has its id (a view, or a tensor kept by autograd), from the last op
    that wrote its storage. What an op writes into the storage of a tensor that it reads, or writes, too, is an alias of that.
    """
    tensors: dict[Tensor, tuple[int, int, float]] = {}
    last: dict[int, tuple[int, int, float]] = {}  # write into each storage
    edges: list[tuple[int, int, int, float]] = []
    aliases: list[tuple[Out, Out]] = []
    persistent = [0.0] * len(calls)
    outside: set[int] = set()
    for v, call in enumerate(calls):
        held: dict[int, Out] = {}  # what this op reads or writes, by storage
        for tensor, size in call.reads.items():
            source = tensors.get(tensor) or last.get(tensor[1])
            if source:
                edges.append((source[0], v, *source[1:]))
                held.setdefault(tensor[1], source[:2])
            elif tensor[1] not in outside:
                persistent[v] += size
                outside.add(tensor[1])
        for k, (tensor, size) in enumerate(call.writes.items()):
            if tensor[1] in held:
                aliases.append((held[tensor[1]], (v, k)))
            held.setdefault(tensor[1], (v, k))
            tensors[tensor] = last[tensor[1]] = v, k, size
    return edges, persistent, aliases
