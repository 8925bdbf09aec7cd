"""Nodes of a TensorFlow graph: the few fields of a NodeDef that matter, as a tuple, the outputs of its op, and what reads what.

The messages declared here (:mod:`placelab.formats.protobuf`) lack the contents of large constants, and a file is read one node
at a time, so that memory grows with the number of nodes, not with the size of the file. Names and types of the outputs of ops
are from TensorFlow's registry. Inputs by name become edges; those of a loop to its next round are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.formats.protobuf import MessageType, messages

TYPES = (
    "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 QUINT16 "
    "UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E4M3FNUZ FLOAT8_E4M3B11FNUZ "
    "FLOAT8_E5M2FNUZ INT4 UINT4"
).split()
NUMPY = {"FLOAT": "float32", "DOUBLE": "float64", "HALF": "float16"}  # names where they are not those of TensorFlow
DATA_TYPE = {f"DT_{name}": i for i, name in enumerate(TYPES)} | {
    f"DT_{t}_REF": 100 + i for i, t in enumerate(TYPES) if i
}

TABLES = {
    "NodeDef": "string name = 1; string op = 2; repeated string input = 3; string device = 4; map<string, AttrValue> attr = 5",
    "AttrValue": "List list = 1; bytes s = 2; int64 i = 3; float f = 4; bool b = 5; DataType type = 6; Shape shape = 7; "
    "Tensor tensor = 8; string placeholder = 9; Name func = 10",
    "List": "repeated bytes s = 2; repeated int64 i = 3; repeated DataType type = 6; repeated Shape shape = 7; "
    "repeated Name func = 9",
    "Shape": "repeated Dim dim = 2; bool unknown_rank = 3",
    "Dim": "int64 size = 1",
    "Tensor": "DataType dtype = 1; Shape tensor_shape = 2; repeated int32 int_val = 7; repeated int64 int64_val = 10; "
    "repeated bool bool_val = 11",
    "Name": "string name = 1",
    "FunctionDef": "Signature signature = 1; repeated NodeDef node_def = 3; map<string, string> ret = 4; "
    "map<string, string> control_ret = 6",
    "Signature": "string name = 1; repeated Name input_arg = 2; repeated Name output_arg = 3",
    "Library": "repeated FunctionDef function = 1",
    "Content": "bytes tensor_content = 4",
}
EXPECTED = "a TensorFlow graph: a GraphDef or a SavedModel's saved_model.pb"

# Attributes that determine how much an op computes.
KEPT = frozenset(
    "transpose_a transpose_b adj_x adj_y data_format strides padding dilations explicit_paddings ksize equation axis "
    "keep_dims num_split N perm begin_mask end_mask shrink_axis_mask num_elements squeeze_dims new_axis_mask ellipsis_mask "
    "batch_dims block_size k".split()
)

Shape = tuple[int, ...] | None  # -1 for an unknown dimension, None for an unknown number of dimensions
RESOURCE = 20  # number of the type of handles
REFERENCE = 100  # added to a type's number for references to a variable of that type
BYTES = {1: 4, 2: 8, 3: 4, 4: 1, 5: 2, 6: 1, 8: 8, 9: 8, 10: 1, 11: 1, 12: 1, 13: 4, 14: 2, 15: 2, 16: 2, 17: 2}
MAX_OUTPUTS = 100_000  # of one op
BODIES = ("cond", "body", "then_branch", "else_branch", "branches", "f", "function")  # attributes that name functions
WHOLE = {3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 17: "<u2", 22: "<u4", 23: "<u8"}  # integers and bool
MOST = 64  # entries of a constant whose value is kept
Outputs = tuple[tuple[str, str, str, bool, bool], ...]


class Node(NamedTuple):
    """One op of the file."""

    name: str
    kind: str
    inputs: tuple[str, ...]  # op, op:3, ^op; in a function op:output:0
    device: str
    together: tuple[str, ...]  # ops that it is colocated with, by ``loc:@``
    outputs: tuple[str, ...]  # names of its outputs
    types: tuple[int | None, ...]  # of its outputs
    shapes: tuple[Shape, ...] | None  # of its outputs; None if not in the file
    holds: Shape  # of a variable, constant or input
    element: int | None  # type of a variable's elements
    calls: str  # function that it runs, or ""
    attributes: Mapping[str, Any]  # those that determine how much it computes
    value: Any = None  # of a constant of few whole numbers: a number, a tuple of them, or of such tuples
    bodies: Mapping[str, tuple[str, ...]] = {}  # attribute → the functions that it names


@cache
def schema() -> dict[str, MessageType]:
    """The message classes."""
    return messages("tensorflow_graph", TABLES, {"DataType": DATA_TYPE})


def node_of(message: Any, where: str) -> Node:
    """The node in a NodeDef; FormatError if it has no name or no op type."""
    name = message.name
    kind = message.op
    attributes = message.attr
    if not name or not kind:
        raise FormatError(f"{where} has a node {name!r:.80} of the op type {kind!r:.80}; expected {EXPECTED}")
    listed = next((attributes[key].list.shape for key in ("_output_shapes", "output_shapes") if key in attributes), ())
    given = listed or (listed if "_output_shapes" in attributes else None)
    names, types = outputs(kind, attributes, None if given is None else len(given))
    return Node(
        name,
        kind,
        tuple(message.input),
        message.device,
        _together(attributes) if "_class" in attributes else (),
        names,
        types,
        None if given is None else tuple(map(shape_of, given[:MAX_OUTPUTS])),
        _holds(attributes),
        attributes["dtype"].type if "dtype" in attributes else None,
        attributes["f"].func.name if "f" in attributes else "",
        {key: _plain(attributes[key]) for key in attributes if key in KEPT},
        _value(attributes["value"].tensor) if kind == "Const" and "value" in attributes else None,
        {key: names for key in BODIES if key in attributes and (names := _functions(attributes[key]))},
    )


def _functions(value: Any) -> tuple[str, ...]:
    """Names of the functions in an attribute."""
    return (value.func.name,) if value.func.name else tuple(function.name for function in value.list.func)


def _value(tensor: Any) -> Any:
    """The number, tuple of numbers, or tuple of rows, in a constant of at most 64 whole numbers or truth values; else None."""
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    size = prod(sizes)
    if tensor.dtype not in WHOLE or not 0 <= size <= MOST or len(sizes) > 2:
        return None
    given = tensor.bool_val if tensor.dtype == 10 else tensor.int64_val if tensor.dtype == 9 else tensor.int_val
    entries = list(given[:MOST])
    if not entries:
        content = schema()["Content"].FromString(tensor.SerializeToString()).tensor_content
        kind = np.dtype(WHOLE[tensor.dtype])
        entries = np.frombuffer(content, kind).tolist() if len(content) == size * kind.itemsize else []
    entries += entries[-1:] * (size - len(entries))  # the last one is repeated
    if len(entries) != size:
        return None
    if len(sizes) == 2:
        columns = sizes[1]
        return tuple([tuple(entries[i * columns : (i + 1) * columns]) for i in range(min(sizes[0], size))])
    return tuple(entries) if sizes else entries[0]


def shape_of(message: Any) -> Shape:
    """A TensorShapeProto as a tuple."""
    return None if message.unknown_rank else tuple([d.size if d.size >= 0 else -1 for d in message.dim])


def _together(attributes: Any) -> tuple[str, ...]:
    texts = attributes["_class"].list.s
    return tuple(text[5:].decode(errors="replace") for text in texts if text.startswith(b"loc:@"))


def _holds(attributes: Any) -> Shape:
    if "value" in attributes:
        return shape_of(attributes["value"].tensor.tensor_shape)
    return shape_of(attributes["shape"].shape) if "shape" in attributes else None


def _plain(value: Any) -> Any:
    """An attribute as a Python value."""
    for label in ("b", "i", "s", "f", "type"):
        if value.HasField(label):
            plain = getattr(value, label)
            return plain.decode(errors="replace") if label == "s" else plain
    return tuple(value.list.i)


BYTES |= {18: 16, 19: 2, 22: 4, 23: 8, 24: 1, 25: 1, 26: 1, 27: 1, 28: 1, 29: 1, 30: 1}  # 4-bit types fill a byte


def outputs(kind: str, attributes: Any, shapes: int | None) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """The name and the type of each output of an op.

    Parameters
    ----------
    kind, attributes
        Op type and a NodeDef's ``attr``.
    shapes
        Number of shapes that the file has for its outputs, or None; used for ops that are not in the registry, such as custom
        ops.

    Returns
    -------
    names : tuple of str
        Outputs in a list share a name. Function bodies refer to outputs as ``op:name:number``.
    types : tuple of int or None
        Numbers of ``DataType``, 100 more for references; None if unknown. Empty if the number of outputs is unknown.
    """
    known = _table().get(kind)
    if known is None:
        count = min(shapes or 0, MAX_OUTPUTS)
        return ("output",) * count, (_type(attributes, "T") or _type(attributes, "dtype"),) * count
    if len(known) == 1 and not (known[0][2] or known[0][3]):
        name, held, _, _, reference = known[0]
        return (name,), (_with_reference(_type(attributes, held), reference),)
    pairs = [pair for output in known for pair in _each(output, attributes)]
    return tuple(name for name, _ in pairs), tuple(number for _, number in pairs)


def size_of(kind: int | None) -> int | None:
    """Bytes of one element; 0 for references and resources, which are never sent; None if unknown (strings, variants)."""
    return 0 if kind == RESOURCE or (kind or 0) > REFERENCE else BYTES.get(kind or 0)


def type_name(kind: int | None) -> str:
    """Name of an element type as TensorFlow prints it; "" for handles and what is unknown.

    >>> [type_name(kind) for kind in (1, 9, 101, 20, None)]
    ['float32', 'int64', 'float32_ref', '', '']
    """
    number = (kind or 0) % REFERENCE
    if not 0 < number < len(TYPES) or TYPES[number] in ("RESOURCE", "VARIANT"):
        return ""
    return NUMPY.get(TYPES[number], TYPES[number].lower()) + "_ref" * ((kind or 0) > REFERENCE)


def _each(output: tuple, attributes: Any) -> Iterator[tuple[str, int | None]]:
    """Name and type of each output of one declared output, which may be a list."""
    name, kind, number, listed, reference = output
    if listed:
        types = attributes[kind].list.type[:MAX_OUTPUTS] if kind in attributes else ()
    else:
        types = [_type(attributes, kind)] * (_number(attributes, number) if number else 1)
    for data_type in types:
        yield name, _with_reference(data_type, reference)


def _type(attributes: Any, kind: str) -> int | None:
    if kind.isdigit():
        return int(kind)
    return (attributes[kind].type or None) if kind in attributes else None


def _number(attributes: Any, name: str) -> int:
    return max(0, min(attributes[name].i, MAX_OUTPUTS)) if name in attributes else 0


def _with_reference(kind: int | None, reference: bool) -> int | None:
    return REFERENCE + kind if reference and kind and kind < REFERENCE else kind


@cache
def _table() -> dict[str, Outputs]:
    text = Path(__file__).with_name("op_types.txt").read_text()
    return {line.split()[0]: tuple(map(_declared, line.split()[1:])) for line in text.splitlines()}


def _declared(text: str) -> tuple[str, str, str, bool, bool]:
    """Split ``name:type*count@&`` into name, type, count, whether it is a list, whether it is a reference."""
    name, kind = text.split(":")
    plain, _, number = kind.rstrip("@&").partition("*")
    return name, plain, number, "@" in kind, "&" in kind


# -------------------------------------------------------------------- what reads what

CONTROL = -1  # output number of a control edge
BACK = ({"NextIteration", "RefNextIteration"}, {"Merge", "RefMerge"})  # kinds that a loop's back edge joins
INPUT = re.compile(r"(\^?)([^:^]+)(?::(\d{1,9}))?")
Source = tuple[int, int]  # op, output
Edge = tuple[Source, int]  # the output that is read, and the op that reads it


def edges_of(nodes: Sequence[Node], where: str) -> list[Edge]:
    """Every input as an edge, in the order of ops and inputs."""
    number = {node.name: v for v, node in enumerate(nodes)}
    if len(number) < len(nodes):
        twice = Counter(node.name for node in nodes).most_common(1)[0][0]
        raise FormatError(f"{where} has two ops called {twice!r:.200}; op names must be unique")
    edges = []
    for v, node in enumerate(nodes):
        for text in node.inputs:
            u = number.get(text)
            found = (u, 0) if u is not None else _source(text, number)
            if found is None or found[1] >= (len(nodes[found[0]].types) or MAX_OUTPUTS):
                raise FormatError(f"{where}: op {node.name!r:.200} reads {text!r:.200}, but {_missing(found, nodes)}")
            edges.append((found, v))
    return edges


def _source(text: str, number: Mapping[str, int]) -> Source | None:
    """Op and output of an input; None if there is no such op."""
    found = INPUT.fullmatch(text)
    if found is None or found[2] not in number:
        return None
    return number[found[2]], CONTROL if found[1] else int(found[3] or 0)


def _missing(found: Source | None, nodes: Sequence[Node]) -> str:
    return "no op is called that" if found is None else f"that op has {len(nodes[found[0]].types)} outputs"


def without_loops(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Edge], list[tuple[int, int]]]:
    """The edges without those back to the next iteration of a loop, and the latter as pairs of ops."""
    left = []
    back = []
    for edge in edges:
        (u, k), v = edge
        if k != CONTROL and nodes[u].kind in BACK[0] and nodes[v].kind in BACK[1]:
            back.append((u, v))
        else:
            left.append(edge)
    return left, back


def data_inputs(n: int, edges: Sequence[Edge]) -> list[list[Source]]:
    """The outputs that each op reads, in order; control edges are left out."""
    inputs: list[list[Source]] = [[] for _ in range(n)]
    for source, v in edges:
        if source[1] != CONTROL:
            inputs[v].append(source)
    return inputs
