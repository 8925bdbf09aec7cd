"""Build the op graph of an ONNX ModelProto whose shapes are inferred.

An op is a node, or an input of the graph (kind ``Input``): the device that holds an input sends it to its readers. Initializers
are not ops but ``persistent`` bytes of the first op that reads them; all readers of one over a kilobyte share a colocation
group. The same holds for values computed from initializers alone, such as a transposed weight or the ``ConstantOfShape``
weights of onnx's own test models: runtimes compute them once, when they load the model. Quantised weights keep their stored
form: ``DequantizeLinear`` is an op. ``If``, ``Loop`` and ``Scan`` are one op each, which reads what their body graphs capture,
holds the parameters in them, and counts a body once (of ``If`` the branch of more operations).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import one_line, title
from placelab.formats.building import build
from placelab.formats.onnx.node_proto import body_graphs, held_bytes, node_flop, node_reads, op_name
from placelab.formats.onnx.tensor_values import UNKNOWN, values_of
from placelab.problem.graph import OpGraph

SHARED = 1024  # bytes; a smaller parameter does not colocate the ops that read it
DOMAINS = ("", "ai.onnx")
HALVES = {10: "float16", 16: "bfloat16"}  # TensorProto.DataType → 16-bit number type
NOT_FOLDED = {  # ops that run each time although all their inputs are constant
    "DequantizeLinear",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
}


@dataclass(frozen=True)
class Nodes:
    """The ops of a model: inputs first, then the nodes that are not folded into constants."""

    inputs: list[Any]
    nodes: list[Any]
    numbers: list[int]  # of each node in the file's list
    reads: list[list[str]]  # values that each node reads, captured ones last
    constants: set[str]  # values known once the model is loaded
    producer: dict[str, tuple[int, int]]  # value → op, output number


def graph_of(model: Any, assumed: Mapping[str, int], problem: str, where: str) -> OpGraph:
    """Build the graph of a model.

    Parameters
    ----------
    model
        ModelProto with shapes, functions inlined.
    assumed
        Name → assumed size of unknown dimensions, for the metadata.
    problem
        Why shape inference failed, for the metadata; "" if it did not.
    where
        Name of the file, whose stem names a model without a name.
    """
    values, ops = values_of(model.graph), _ops(model.graph)
    first = len(ops.inputs)

    def size_of(name: str) -> float:
        return values.get(name, UNKNOWN).bytes or 0.0

    edges = [(*ops.producer[name], v, size_of(name)) for name, v in _data(ops)]
    read_by = _readers(ops)
    shared = {name: sorted(set(readers)) for name, readers in read_by.items() if size_of(name) > SHARED}
    groups = {name: readers for name, readers in shared.items() if len(readers) > 1}
    unknown: Counter[str] = Counter()
    compute = [node_flop(node, values, unknown) for node in ops.nodes]
    costs = {
        "compute": "FLOP",
        "unknown": dict(unknown),
        "unsized": sum(values.get(name, UNKNOWN).bytes is None for name in (*ops.producer, *read_by)),
        "assumed": dict(assumed),
        "folded": len(model.graph.node) - len(ops.nodes),
    } | _precision(model.graph)
    return build(
        _names(ops),
        [0.0] * first + compute,
        [(u, v) for u, _, v, _ in edges],
        edge_bytes=[size for *_, size in edges],
        edge_output=[k for _, k, _, _ in edges],
        outputs=[(v, k, size_of(name)) for name, (v, k) in ops.producer.items()],
        persistent=_persistent(ops, read_by, size_of),
        kind=["Input"] * first + [one_line(node.op_type) or "?" for node in ops.nodes],
        groups=list(groups.values()),
        group_names=[one_line(name) for name in groups],
        metadata={
            "name": one_line(model.graph.name) or title(where, "model"),
            "provenance": _provenance(model),
            "costs": costs | ({"problem": problem} if problem else {}),
        },
    )


def _persistent(ops: Nodes, read_by: Mapping[str, list[int]], size_of: Callable[[str], float]) -> list[float]:
    """Bytes of the parameters that each op is the first to read, and of those in its body graphs."""
    persistent = [0.0] * len(ops.inputs) + [sum(held_bytes(body) for body in body_graphs(node)) for node in ops.nodes]
    for name, readers in read_by.items():
        persistent[readers[0]] += size_of(name)
    return persistent


def _precision(graph: Any) -> dict[str, str]:
    """Number type of products, if most elements of the parameters have 16 bits."""
    size: Counter[int] = Counter()
    for tensor in graph.initializer:
        size[tensor.data_type] += math.prod(tensor.dims)
    half = HALVES.get(max(size, key=size.__getitem__, default=0))
    return {"precision": half} if half else {}


def _provenance(model: Any) -> str:
    opsets = ", ".join(f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import[:8])
    producer = f", made by {model.producer_name} {model.producer_version}".rstrip() if model.producer_name else ""
    return one_line(f"ONNX, IR version {model.ir_version}, opset {opsets or 'not given'}{producer}")


def _ops(graph: Any) -> Nodes:
    given = [*(tensor.name for tensor in graph.initializer), *(s.values.name for s in graph.sparse_initializer)]
    reads = [node_reads(node) for node in graph.node]
    constants, folded = _folded(graph.node, reads, set(given))
    if len(folded) == len(graph.node):  # a model of constants only: fold nothing
        constants, folded = set(given), set()
    inputs = [info for info in graph.input if info.name not in constants]
    kept = [i for i in range(len(graph.node)) if i not in folded]
    nodes = [graph.node[i] for i in kept]
    outputs = [[info.name] for info in inputs] + [node.output for node in nodes]
    return Nodes(inputs, nodes, kept, [reads[i] for i in kept], constants, _producers(outputs))


def _producers(outputs: list[Iterable[str]]) -> dict[str, tuple[int, int]]:
    """Value → op that computes it, and number of the output."""
    producer: dict[str, tuple[int, int]] = {}
    for v, names in enumerate(outputs):
        for k, name in enumerate(names):
            if name and name in producer:
                raise FormatError(f"two nodes or inputs produce {name!r:.80}; one is expected")
            if name:
                producer[name] = v, k
    return producer


def _folded(nodes: Any, reads: list[list[str]], constants: set[str]) -> tuple[set[str], set[int]]:
    """Values that are constant once the model is loaded, and the numbers of the nodes that compute them."""
    folded = set()
    for i, node in enumerate(nodes):
        if _foldable(node) and constants.issuperset(reads[i]):
            folded.add(i)
            constants.update(filter(None, node.output))
    return constants, folded


def _foldable(node: Any) -> bool:
    return node.domain in DOMAINS and node.op_type not in NOT_FOLDED and not any(body_graphs(node))


def _data(ops: Nodes) -> Iterator[tuple[str, int]]:
    """(value, op that reads it) of each value that an op computes."""
    for v, names in enumerate(ops.reads, start=len(ops.inputs)):
        for name in names:
            if name in ops.producer:
                yield name, v
            elif name not in ops.constants:
                node = ops.nodes[v - len(ops.inputs)]
                what = f"node {node.name!r:.80} ({one_line(node.op_type):.40})"
                raise FormatError(f"{what} reads {name!r:.80}, which no node, input or initializer is")


def _readers(ops: Nodes) -> dict[str, list[int]]:
    """Parameter → ops that read it, in the file's order."""
    found: dict[str, list[int]] = {}
    for v, names in enumerate(ops.reads, start=len(ops.inputs)):
        for name in names:
            if name not in ops.producer:
                found.setdefault(name, []).append(v)
    return found


def _names(ops: Nodes) -> list[str]:
    """Unique names; a node without a name is named by its type and number, as in profiles of ONNX Runtime."""
    wanted = [(op_name(node.name), node.op_type, i) for node, i in zip(ops.nodes, ops.numbers, strict=True)]
    taken: set[str] = {name for name, _, _ in wanted}
    seen: set[str] = set()
    names = [_unique(name, kind, i, seen, taken) for name, kind, i in wanted]
    inputs = [_unique(op_name(info.name), "Input", i, seen, taken - {""}) for i, info in enumerate(ops.inputs)]
    return inputs + names


def _unique(name: str, kind: str, number: int, seen: set[str], taken: set[str]) -> str:
    """`name` the first time, later with its number in the file appended; type and number if it is empty."""
    free = bool(name) and name not in seen
    while not free:
        name = f"{name or op_name(kind) or 'op'}_{number}"
        free = name not in seen and name not in taken
    seen.add(name)
    return name
