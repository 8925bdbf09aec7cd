"""What is left of an ONNX model without the numbers of its weights? A few megabytes, all that a graph is made of."""

from __future__ import annotations

from typing import Any

from placelab.errors import FormatError
from placelab.files.protobuf import BYTES, MAX_FIELDS, fields, tagged

SMALL = 1 << 10  # bytes; tensors up to that stay whole, for shapes are computed from them
MAX_DEPTH = 100  # messages, protobuf's own limit

INSIDE = {  # message → number of a field → message in it, those on the way to a tensor
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


def without_weights(data: Any, where: str) -> bytes:
    """The model in `data` (bytes or a memory map) less the elements of all tensors over a kilobyte; types and dims stay.

    Files that elements are kept in are not opened. Reads each byte of a weight never, of the rest once per level.

    Raises
    ------
    FormatError
        No whole protobuf file, nested more than 100 deep, more than a million fields in one message.
    """
    return _slim(data, "ModelProto", where, 0, len(data), MAX_DEPTH)


def _slim(data: Any, kind: str, where: str, start: int, end: int, depth: int) -> bytes:
    if not depth:
        raise FormatError(f"{where} is nested more than {MAX_DEPTH} messages deep; no model is")
    if kind == "TensorProto":
        return b"".join(
            data[begin:stop] for number, _, begin, _, stop in _fields(data, where, start, end) if number not in NUMBERS
        )
    parts, kept, inside = [], start, INSIDE[kind]
    for number, wire, begin, value, stop in _fields(data, where, start, end):
        if number in inside and wire == BYTES and stop - value > SMALL:
            inner = _slim(data, inside[number], where, value, stop, depth - 1)
            parts += [data[kept:begin], tagged(number, inner)]
            kept = stop
    return b"".join([*parts, data[kept:end]])


def _fields(data: Any, where: str, start: int, end: int) -> Any:
    """The fields of one message; FormatError where there are more than a graph is made of."""
    for count, field in enumerate(fields(data, where, start, end)):
        if count >= MAX_FIELDS:
            raise FormatError(f"{where} holds a message of more than {MAX_FIELDS:,} fields; such are not read")
        yield field
