"""Read a NodeProto of an ONNX model: name, values, their sizes, body graphs, and operations of the node itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import one_line
from placelab.formats.flops import count
from placelab.problem.tensor_shapes import shape_text

MAX_ATTRIBUTE = 64  # entries; longer attributes are data, on which no cost depends
BITS = {  # of an element, by TensorProto.DataType; texts (8) have any length
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),  # uint8 int8 bool float8…
    **dict.fromkeys((4, 5, 10, 16), 16),  # uint16 int16 float16 bfloat16
    **dict.fromkeys((1, 6, 12), 32),  # float int32 uint32
    **dict.fromkeys((7, 11, 13, 14), 64),  # int64 double uint64 complex64
    15: 128,  # complex128
    **dict.fromkeys((21, 22, 23), 4),  # uint4 int4 float4e2m1
    **dict.fromkeys((25, 26), 2),  # uint2 int2
    **dict.fromkeys((27, 28), 6),  # float6…
}
NAMES = dict(  # of types, as numpy and ml_dtypes spell them
    enumerate(
        (
            "float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 "
            "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz uint4 int4 float4_e2m1fn float8_e8m0fnu "
            "uint2 int2 float6_e2m3fn float6_e3m2fn"
        ).split(),
        start=1,
    )
)
WHOLE = {2, 3, 4, 5, 6, 7, 9, 12, 13}  # integers and bool
DOMAINS = ("ai.onnx", "com.microsoft", "com.ms.internal")  # how those of ONNX and ONNX Runtime begin, beside ""
Shapes = tuple[tuple[int, ...] | None, ...]
MAX_RANK = 64
MAX_ELEMENTS = 1 << 60


def op_name(name: str) -> str:
    """Name of a node's op: on one line, without the leading slash of PyTorch's exporter.

    >>> op_name("/layer1/conv1/Conv")
    'layer1/conv1/Conv'
    """
    return one_line(name).strip("/")


def body_graphs(node: Any) -> list[Any]:
    """The graphs that a node runs: branches or loop bodies."""
    found: list[Any] = []
    for attribute in node.attribute[:]:  # a slice: protobuf's own iteration ends by an exception, which is slow
        if attribute.HasField("g"):
            found.append(attribute.g)
        found += attribute.graphs[:]
    return found


def node_reads(node: Any) -> list[str]:
    """Values that a node reads: its inputs, then those that its body graphs capture from outside."""
    own = [name for name in node.input[:] if name]
    bodies = body_graphs(node)
    return own + list(dict.fromkeys(name for body in bodies for name in _captured(body))) if bodies else own


def _captured(body: Any) -> dict[str, None]:
    known = {x.name for x in (*body.input, *body.initializer)} | {s.values.name for s in body.sparse_initializer}
    wanted: dict[str, None] = {}
    for node in body.node:
        wanted |= dict.fromkeys(name for name in node_reads(node) if name not in known)
        known.update(node.output)
    return wanted | dict.fromkeys(info.name for info in body.output if info.name not in known)


def node_flop(node: Any, values: Mapping[str, Value], unknown: Counter[str]) -> float:
    """Operations of a node without body graphs; 0 if unknown, and then counted in `unknown` by kind.

    The rules are for ops of ONNX and of ONNX Runtime; an op of such a name from elsewhere may compute anything, and is counted
    with its domain.
    """
    inputs = _shapes(node.input, values)
    outputs = _shapes(node.output, values)
    attributes = attributes_of(node)
    plain = not attributes
    operations = _plain(node.op_type, inputs, outputs) if plain else count(node.op_type, inputs, outputs, attributes)
    foreign = not node.domain.startswith(DOMAINS) and bool(node.domain)
    if operations is None or foreign or not 0 <= operations < math.inf:
        unknown[one_line(f"{node.domain}.{node.op_type}" if foreign and operations else node.op_type)] += 1
        return 0.0
    return float(operations)


@lru_cache(4096)  # the same layers come again and again
def _plain(kind: str, inputs: Shapes, outputs: Shapes) -> float | None:
    """Operations of a node without attributes."""
    return count(kind, inputs, outputs)


def _shapes(names: Any, values: Mapping[str, Value]) -> Shapes:
    return tuple([values.get(name, UNKNOWN).shape for name in names[:]])


def attributes_of(node: Any) -> dict[str, Any]:
    """A node's attributes as Python values, except tensors, graphs and long lists."""
    found: dict[str, Any] = {}
    for attribute in node.attribute[:]:
        if attribute.type in (1, 2):
            found[attribute.name] = attribute.f if attribute.type == 1 else attribute.i
        elif attribute.type == 3:
            found[attribute.name] = attribute.s.decode(errors="replace")
        elif attribute.type in (6, 7):
            entries = attribute.floats if attribute.type == 6 else attribute.ints
            found |= {attribute.name: list(entries)} if len(entries) <= MAX_ATTRIBUTE else {}
    return found


def held_bytes(body: Any) -> float:
    """Bytes of the parameters in a body graph, nested ones included: initializers and constants."""
    values = values_of(body)
    own = [*(x.name for x in body.initializer), *(s.values.name for s in body.sparse_initializer)]
    own += [node.output[0] for node in body.node if node.op_type == "Constant" and node.output]
    inner = (held_bytes(deeper) for node in body.node for deeper in body_graphs(node))
    return sum(values.get(name, UNKNOWN).bytes or 0.0 for name in own) + sum(inner)


@dataclass(frozen=True)
class Value:
    """A tensor: its shape and the bits of an element, None if unknown; `whole`: of whole numbers or truth values.

    `kind` is the name of its element type, "" where there is none.
    """

    shape: tuple[int, ...] | None
    bits: int | None
    whole: bool = False
    kind: str = ""

    @cached_property
    def bytes(self) -> float | None:
        """Size, with elements below a byte packed; None if unknown.

        >>> Value((3, 3), 4).bytes
        5.0
        """
        if self.shape is None or self.bits is None:
            return None
        return float(-(-math.prod(self.shape) * self.bits // 8))

    @cached_property
    def text(self) -> str | None:
        """Element type and sizes in words; None if unknown."""
        return shape_text(self.kind, self.shape)


UNKNOWN = Value(None, None)


def output_shapes(
    producer: Mapping[str, tuple[int, int]],
    nodes: Iterable[tuple[Any, Iterable[str]]],
    values: Mapping[str, Value],
    guessed: Container[str],
) -> dict[tuple[int, int], str]:
    """Element types and sizes of outputs, by op and number.

    Parameters
    ----------
    producer
        Value → op that makes it, and number of the output.
    nodes
        Nodes, each with the values that it reads, the first ones first.
    guessed
        Kinds of ops whose output was taken to be like their first input: its shape, and those that follow from it, are left out.
    """
    doubtful: set[str] = set()
    for node, reads in nodes if guessed else ():
        if node.op_type in guessed or not doubtful.isdisjoint(reads):
            doubtful.update(node.output[:])
    found = ((own, values.get(name, UNKNOWN)) for name, own in producer.items() if name not in doubtful)
    return {own: text for own, value in found if (text := value.text)}


def values_of(graph: Any) -> dict[str, Value]:
    """Name → value of all inputs, outputs, initializers and intermediate values in a GraphProto.

    Raises
    ------
    FormatError
        A tensor of more than 2⁶⁰ elements.
    """
    values: dict[str, Value] = {}
    known: dict[bytes, Value] = {}  # type → value: most are of a few types
    for info in (*graph.value_info[:], *graph.output[:], *graph.input[:]):
        kind = info.type.SerializeToString()
        if kind not in known:
            known[kind] = _value(info)
        values[info.name] = known[kind]
    values |= {tensor.name: _checked(tensor.name, tensor.dims, tensor.data_type) for tensor in graph.initializer}
    return values | {sparse.values.name: _stored(sparse) for sparse in graph.sparse_initializer}


def assume(graph: Any, dimensions: Mapping[str, int]) -> dict[str, int]:
    """Set the unknown dimensions of a GraphProto's inputs to their size in `dimensions`, else to 1; return the sizes by name.

    A dimension without a name is called ``input[axis]``. Named dimensions of other values are set likewise or cleared, for
    inference to find them.
    """
    given = {tensor.name for tensor in graph.initializer}
    assumed: dict[str, int] = {}
    for info in graph.input:
        for axis, dim in enumerate(_dims(info)) if info.name not in given else ():
            if not dim.HasField("dim_value") or dim.dim_value < 0:
                name = dim.dim_param or f"{info.name}[{axis}]"
                dim.dim_value = assumed[name] = dimensions.get(name, 1)
    for info in (*graph.value_info, *graph.output):
        for dim in _dims(info):
            if dim.dim_param in assumed:
                dim.dim_value = assumed[dim.dim_param]
            else:
                dim.ClearField("dim_param")
    return assumed


def take_declared(graph: Any) -> list[Any]:
    """Take the shapes of the values of a GraphProto that are no inputs out of it, and return what said them.

    Inference then computes them all, also behind a value of which the file says something else.
    """
    inputs = {info.name for info in graph.input}
    found = [info for info in (*graph.value_info, *graph.output) if info.type.tensor_type.HasField("shape")]
    declared = [type(info).FromString(info.SerializeToString()) for info in found if info.name not in inputs]
    del graph.value_info[:]
    for info in graph.output:
        if info.name not in inputs and info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")
    return declared


def put_declared(graph: Any, declared: Iterable[Any]) -> dict[str, str]:
    """Put declared shapes back where inference found none; value → both shapes where they contradict each other."""
    computed = {info.name: info for info in (*graph.value_info, *graph.output)}
    contradicted: dict[str, str] = {}
    for info in declared:
        found = computed.get(info.name)
        if found is None:
            graph.value_info.append(info)
        elif not found.type.tensor_type.HasField("shape"):
            found.type.CopyFrom(info.type)
        elif not _merged(found, info):
            contradicted[one_line(info.name)] = f"{_written(info)}, computed {_written(found)}"
    return contradicted


def _merged(found: Any, declared: Any) -> bool:
    """Give open dimensions of a computed shape their declared size; False, and nothing, if the shapes contradict."""
    pairs = list(zip(_dims(found), _dims(declared), strict=False))
    sizes = [(_length(a), _length(b)) for a, b in pairs]
    if len(_dims(found)) != len(_dims(declared)) or any(a != b for a, b in sizes if None not in (a, b)):
        return False
    for a, b in pairs:
        if _length(b) is not None and _length(a) is None:
            a.dim_value = b.dim_value
    return True


def _length(dim: Any) -> int | None:
    """The length of a dimension; None if it is open."""
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def _written(info: Any) -> str:
    shape = ["?" if _length(dim) is None else str(dim.dim_value) for dim in _dims(info)]
    return f"({', '.join(shape[:8])}{', …' * (len(shape) > 8)})"


def _dims(info: Any) -> Any:
    return info.type.tensor_type.shape.dim


def is_sized(info: Any) -> bool:
    """Whether a ValueInfoProto has all sizes of a tensor."""
    tensor = info.type.tensor_type
    return tensor.HasField("shape") and all(_length(dim) is not None for dim in tensor.shape.dim[:])


def _value(info: Any) -> Value:
    if info.type.WhichOneof("value") != "tensor_type":
        return UNKNOWN  # a sequence, a map, an optional
    tensor = info.type.tensor_type
    bits = BITS.get(tensor.elem_type)
    if not is_sized(info):
        return Value(None, bits, tensor.elem_type in WHOLE)
    return _checked(info.name, [dim.dim_value for dim in _dims(info)], tensor.elem_type)


def _stored(sparse: Any) -> Value:
    """A sparse tensor as one tensor of bytes: those of its stored values and indices."""
    parts = (_checked(tensor.name, tensor.dims, tensor.data_type) for tensor in (sparse.values, sparse.indices))
    return Value((int(sum(part.bytes or 0 for part in parts)),), 8)


def _checked(name: str, dims: Iterable[int], data_type: int) -> Value:
    shape = tuple(dims)
    if len(shape) > MAX_RANK or min(shape, default=0) < 0 or math.prod(shape) > MAX_ELEMENTS:
        shown = ", ".join(map(str, shape[:8])) + (", …" if len(shape) > 8 else "")
        raise FormatError(
            f"value {name!r:.80} has the shape ({shown}); expected at most {MAX_RANK} sizes, 0 or more each, "
            f"and {MAX_ELEMENTS:.0e} elements"
        )
    return Value(shape, BITS.get(data_type), data_type in WHOLE, NAMES.get(data_type, ""))
