"""Read ONNX models: ops, bytes and floating-point operations.

Functions are inlined and shapes inferred; of the file only what the graph needs is kept, without the elements of weights. Files
of external weights are not opened.

An op is a node, or an input of the graph (kind ``Input``): the device that holds an input sends it to its readers. Initializers
are not ops but ``persistent`` bytes of the first op that reads them; all readers of one over a kilobyte share a colocation
group. The same holds for values computed from initializers alone, such as a transposed weight or the ``ConstantOfShape``
weights of onnx's own test models: runtimes compute them once, when they load the model. Quantised weights keep their stored
form: ``DequantizeLinear`` is an op. ``If``, ``Loop`` and ``Scan`` are one op each, which reads what their body graphs capture,
holds the parameters in them, and counts their operations (:mod:`placelab.formats.onnx.bodies`).
"""

from __future__ import annotations

import math
import mmap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from placelab.base.errors import FormatError, PlacelabError, UnsupportedError
from placelab.base.fields import one_line, title
from placelab.base.files import GZIP, START, open_file, path_of, read_file, refuse_foreign, unzipped
from placelab.base.interrupts import need
from placelab.formats.building import Out, build, storages, without_garbage_collection
from placelab.formats.loops import Control, Trips
from placelab.formats.onnx.bodies import Work, with_body_shapes
from placelab.formats.onnx.node_proto import (
    UNKNOWN,
    Value,
    assume,
    body_graphs,
    held_bytes,
    node_reads,
    op_name,
    output_shapes,
    put_declared,
    take_declared,
    values_of,
)
from placelab.formats.onnx.shape_inference import completed, inferred
from placelab.formats.protobuf import BYTES, MAX_FIELDS, fields, parse, tagged
from placelab.problem.graph import OpGraph

EXPECTED = "an ONNX model"
MAX_FILE = (2 << 30) - 1  # bytes; protobuf has no larger messages
MAX_SLIM = 64 << 20  # bytes of a model without its weights
MAX_SIZE = 1 << 31  # of a dimension in `dimensions`
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
SMALL = 1 << 10  # bytes; smaller tensors are kept, as shapes are computed from them
MAX_DEPTH = 100  # messages, protobuf's own limit
MAX_ROUNDS = 6  # of shape inference, of models with loops
INSIDE = {  # message → field number → message in it, on the paths to tensors
    "ModelProto": {7: "GraphProto", 25: "FunctionProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto",
        6: "GraphProto",
        10: "TensorProto",
        11: "GraphProto",
        22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
}
NUMBERS = {4, 5, 6, 7, 9, 10, 11}  # fields of a tensor: float_data … raw_data … uint64_data


def read(path: Any, *, dimensions: Mapping[str, int] | None = None, trips: Trips = 1) -> OpGraph:
    """Read an ONNX file, without its weights.

    Parameters
    ----------
    path
        A ``.onnx`` file of up to 2 GB, gzipped or not.
    dimensions
        Sizes of unknown dimensions of the inputs, by name (``{"batch": 32}``; ``input[axis]`` for one without a name). Others
        count as 1; ``metadata["costs"]["assumed"]`` lists all unknown dimensions.
    trips
        Iterations of a ``Loop`` of which the file does not say how many; ``metadata["loops"]`` lists all loops.

    Returns
    -------
    OpGraph
        ``compute`` in floating-point operations, ``persistent`` in bytes. ``metadata["costs"]["unknown"]`` counts, by kind, the
        ops whose operations are unknown (0), ``["unsized"]`` the values whose bytes are unknown. As far as they apply,
        ``["kept"]`` counts, by kind, the ops of unknown kinds whose output was given the shape of their first input;
        ``["contradicted"]`` has the values whose declared shape is not the computed one, which counts; ``["precision"]`` is
        the number type of most parameters if it has 16 bits.

    Raises
    ------
    FormatError, CycleError
        A file that does not exist, is not an ONNX model, or exceeds a limit.
    UnsupportedError
        onnx is not installed.

    Notes
    -----
    About 0.2 s, then O(nodes). onnx infers shapes in a separate process.
    """
    path = path_of(path)
    with open_file(path, EXPECTED) as file:
        size = path.stat().st_size
        refuse_foreign(file.read(START), str(path), EXPECTED)
        file.seek(0)
        if size > MAX_FILE:
            raise FormatError(f"{path} has {size:,} bytes; models over {MAX_FILE:,} are not read")
        if file.read(2) == GZIP or size < mmap.PAGESIZE:
            return loads(read_file(path, EXPECTED), str(path), dimensions=dimensions, trips=trips)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            slim = without_weights(data, str(path))
    return _graph_of(slim, str(path), dimensions or {}, trips)


def loads(
    data: bytes, where: str = "the upload", *, dimensions: Mapping[str, int] | None = None, trips: Trips = 1
) -> OpGraph:
    """Read the bytes of an ONNX file, gzipped or not, as :func:`read` does; `where` names it in messages."""
    return _graph_of(without_weights(unzipped(data, where), where), where, dimensions or {}, trips)


@without_garbage_collection()
def _graph_of(slim: bytes, where: str, dimensions: Mapping[str, int], trips: int) -> OpGraph:
    onnx = _onnx()
    control = Control(trips)
    _check_dimensions(dimensions)
    if len(slim) > MAX_SLIM:
        raise FormatError(f"{where} has {len(slim):,} bytes besides its weights; models over {MAX_SLIM:,} are not read")
    model = parse(onnx.ModelProto, slim, where)
    if not model.graph.node:
        raise FormatError(f"{where} is not an ONNX model: expected a graph with nodes")
    strange = next((text for text in _texts(model) if not isinstance(text, str)), None)
    if strange is not None:
        raise FormatError(f"{where} has the name {strange!r:.80}, which is not text in UTF-8")
    assumed = assume(model.graph, dimensions)
    declared = take_declared(model.graph)
    data, problem = inferred(model.SerializeToString(), bool(model.functions))
    model = onnx.ModelProto.FromString(data)
    contradicted = put_declared(model.graph, declared)
    try:
        model, values, more, kept, failed = _settled(model, dimensions, trips)
        assumed |= more
        _check_open(dimensions, assumed)
        notes = {"problem": problem or failed, "contradicted": contradicted, "kept": dict(kept)}
        return graph_of(model, values, assumed, {key: note for key, note in notes.items() if note}, where, control)
    except PlacelabError as error:
        raise type(error)(f"{where}: {error}") from None


def _settled(
    model: Any, dimensions: Mapping[str, int], trips: int
) -> tuple[Any, dict[str, Value], dict[str, int], Mapping[str, int], str]:
    """The model with the shapes that follow from values and rules, and with those of loops, as long as more follow.

    Only then do dimensions that are still open count as 1. Beside the model: its values, these dimensions, the ops of unknown
    kinds whose output is taken to be like their input, and why this failed.
    """
    assumed = dict[str, int]()
    kept = Counter[str]()
    failed = ""
    last = straight = not any(body_graphs(node) for node in model.graph.node[:])
    values = values_of(model.graph)
    for turn in range(MAX_ROUNDS):
        last = last or turn == MAX_ROUNDS - 2
        if _stops(model.graph, values):
            data, found, failed = completed(model.SerializeToString(), dimensions, last)
            model = type(model).FromString(data)
            values = values_of(model.graph)
            assumed |= found["assumed"]
            kept.update(found["kept"])
        if not straight and with_body_shapes(model, trips):
            model = type(model).FromString(inferred(model.SerializeToString())[0])
            values = values_of(model.graph)
        elif last:
            break
        else:
            last = True
    return model, values, assumed, kept, failed


def _check_open(dimensions: Mapping[str, int], assumed: Mapping[str, int]) -> None:
    if strange := sorted(dimensions.keys() - assumed.keys()):
        raise UnsupportedError(f"no open dimension {strange[0]!r}; open are {', '.join(assumed) or 'none'}")


def _stops(graph: Any, values: Mapping[str, Value]) -> bool:
    """Whether the shape of some tensor is unknown that a node or the caller reads."""
    made = {name for node in graph.node[:] for name in node.output[:] if values.get(name, UNKNOWN).shape is None}
    return bool(made) and (
        any(name in made for node in graph.node[:] for name in node_reads(node))
        or any(info.name in made for info in graph.output)
    )


def _texts(model: Any) -> list[Any]:
    """The names in a model that are not ASCII, and others; bytes if not UTF-8, which the proto2 messages of ONNX accept."""
    found = [model.producer_name, model.producer_version, *(opset.domain for opset in model.opset_import)]
    _add_names(model.graph, found)
    for function in model.functions:
        found += (function.name, function.domain, *function.input, *function.output)
        _add_names_of(function.node, found)
    return found


def _add_names(graph: Any, found: list[Any]) -> None:
    found.append(graph.name)
    for info in (*graph.input[:], *graph.output[:], *graph.value_info[:]):
        found.append(info.name)
        found += [dim.dim_param for dim in info.type.tensor_type.shape.dim[:]]
    found += [tensor.name for tensor in graph.initializer[:]]
    found += [sparse.values.name for sparse in graph.sparse_initializer[:]]
    _add_names_of(graph.node, found)


def _add_names_of(nodes: Any, found: list[Any]) -> None:
    for node in nodes[:]:
        if node.SerializeToString().isascii():  # as most are: nothing in it can be other than text
            continue
        found += (node.name, node.op_type, node.domain)
        found += node.input[:]
        found += node.output[:]
        for attribute in node.attribute[:]:
            found.append(attribute.name)
        for body in body_graphs(node):
            _add_names(body, found)


def _check_dimensions(dimensions: Any) -> None:
    if not isinstance(dimensions, Mapping):
        raise UnsupportedError(f"dimensions is {dimensions!r:.60}; expected name → size")
    for name, size in dimensions.items():
        if type(size) is not int or not 1 <= size <= MAX_SIZE:
            raise UnsupportedError(f"dimension {name!r} is {size!r:.40}; expected a whole number, 1 or more")


def _onnx() -> Any:
    need("onnx")
    import onnx

    return onnx


# Ops whose kernels ONNX Runtime declares as `Alias(0, 0)`: the output is the input with another shape. Others that may run in
# place (`MayInplace`) do so only where the allocator finds that nothing else reads the input.
VIEWS = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"))


@dataclass(frozen=True)
class Nodes:
    """The ops of a model: inputs first, then the nodes that are not folded into constants."""

    inputs: list[Any]
    nodes: list[Any]
    numbers: list[int]  # of each node in the file's list
    reads: list[list[str]]  # values that each node reads, captured ones last
    constants: set[str]  # values known once the model is loaded
    producer: dict[str, tuple[int, int]]  # value → op, output number


def graph_of(
    model: Any,
    values: MutableMapping[str, Value],
    assumed: Mapping[str, int],
    notes: Mapping[str, Any],
    where: str,
    control: Control,
) -> OpGraph:
    """Build the graph of a model.

    Parameters
    ----------
    model
        ModelProto with shapes, functions inlined.
    values
        Those of its graph, as :func:`~placelab.formats.onnx.node_proto.values_of` finds them.
    assumed
        Name → assumed size of unknown dimensions, for the metadata.
    notes
        What else the metadata say of the costs, such as why shape inference failed.
    where
        Name of the file, whose stem names a model without a name.
    control
        Where loops and branches are recorded.
    """
    ops = _ops(model.graph)
    first = len(ops.inputs)

    def size_of(name: str) -> float:
        return values.get(name, UNKNOWN).bytes or 0.0

    edges = [(*ops.producer[name], v, size_of(name)) for name, v in _data(ops)]
    storage = storages(
        _aliases(ops, model.graph), {own: size_of(name) for name, own in ops.producer.items()}.__getitem__
    )
    read_by = _readers(ops)
    shared = {name: sorted(set(readers)) for name, readers in read_by.items() if size_of(name) > SHARED}
    groups = {name: readers for name, readers in shared.items() if len(readers) > 1}
    names = _names(ops)
    work = Work(model, values, control)
    compute = [work.of(node, name) for node, name in zip(ops.nodes, names[first:], strict=True)]
    costs = {
        "compute": "FLOP",
        "unknown": dict(work.unknown),
        "unsized": sum(values.get(name, UNKNOWN).bytes is None for name in (*ops.producer, *read_by)),
        "assumed": dict(assumed),
        "folded": len(model.graph.node) - len(ops.nodes),
    } | _precision(model.graph)
    return build(
        names,
        [0.0] * first + compute,
        [(u, v) for u, _, v, _ in edges],
        edge_bytes=[size for *_, size in edges],
        edge_output=[k for _, k, _, _ in edges],
        edge_storage=[storage.get((u, k), -1) for u, k, _, _ in edges],
        outputs=[(*own, size_of(name), storage.get(own, -1)) for name, own in ops.producer.items()],
        shapes=output_shapes(ops.producer, zip(ops.nodes, ops.reads, strict=True), values, notes.get("kept", ())),
        persistent=_persistent(ops, read_by, size_of),
        kind=["Input"] * first + [one_line(node.op_type) or "?" for node in ops.nodes],
        groups=list(groups.values()),
        group_names=[one_line(name) for name in groups],
        metadata={
            "name": one_line(model.graph.name) or title(where, "model"),
            "provenance": _provenance(model),
            "costs": costs | dict(notes),
        }
        | control.metadata(),
    )


def _aliases(ops: Nodes, graph: Any) -> Iterator[tuple[Out, Out]]:
    """Outputs that ONNX Runtime keeps in the memory of the first input, with that; outputs of the model have their own."""
    kept = {value.name for value in graph.output[:]}
    for node in ops.nodes:
        if node.op_type in VIEWS and node.domain in ("", "ai.onnx") and node.input and node.output:
            source = ops.producer.get(node.input[0])
            own = ops.producer.get(node.output[0])
            if source is not None and own is not None and node.output[0] not in kept:
                yield source, own


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
    reads = [node_reads(node) for node in graph.node[:]]
    constants, folded = _folded(graph.node, reads, set(given))
    if len(folded) == len(graph.node):  # a model of constants only: fold nothing
        constants = set(given)
        folded = set()
    inputs = [info for info in graph.input if info.name not in constants]
    every = graph.node[:]
    kept = [i for i in range(len(every)) if i not in folded]
    nodes = [every[i] for i in kept]
    outputs = [[info.name] for info in inputs] + [node.output[:] for node in nodes]
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
        if constants.issuperset(reads[i]) and _foldable(node):
            folded.add(i)
            constants.update(filter(None, node.output))
    return constants, folded


def _foldable(node: Any) -> bool:
    return node.domain in DOMAINS and node.op_type not in NOT_FOLDED and not body_graphs(node)


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


def without_weights(data: Any, where: str) -> bytes:
    """The model in `data` (bytes or a memory map) without the elements of tensors over a kilobyte; types and dims stay.

    Files of external weights are not opened. O(bytes of the result · depth): bytes of weights are not read.

    Raises
    ------
    FormatError
        A damaged protobuf file, messages nested more than 100 deep, more than a million fields in one message.
    """
    return _slim(data, "ModelProto", where, 0, len(data), MAX_DEPTH)


def _slim(data: Any, kind: str, where: str, start: int, end: int, depth: int) -> bytes:
    if not depth:
        raise FormatError(f"{where} is nested more than {MAX_DEPTH} messages deep; such models are not read")
    if kind == "TensorProto":
        return b"".join(
            data[begin:stop] for number, _, begin, _, stop in _fields(data, where, start, end) if number not in NUMBERS
        )
    parts = []
    kept = start
    inside = INSIDE[kind]
    for number, wire, begin, value, stop in _fields(data, where, start, end):
        if number in inside and wire == BYTES and stop - value > SMALL:
            inner = _slim(data, inside[number], where, value, stop, depth - 1)
            parts += [data[kept:begin], tagged(number, inner)]
            kept = stop
    return b"".join([*parts, data[kept:end]])


def _fields(data: Any, where: str, start: int, end: int) -> Any:
    """The fields of one message; FormatError if there are more than a million."""
    for count, field in enumerate(fields(data, where, start, end)):
        if count >= MAX_FIELDS:
            raise FormatError(f"{where} holds a message of more than {MAX_FIELDS:,} fields; such models are not read")
        yield field
