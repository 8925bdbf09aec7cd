"""Strip the elements of the weights from an ONNX model; the few megabytes that are left make the graph."""

from __future__ import annotations

from typing import Any

from placelab.base.errors import FormatError
from placelab.formats.protobuf import BYTES, MAX_FIELDS, fields, tagged

SMALL = 1 << 10  # bytes; smaller tensors are kept, as shapes are computed from them
MAX_DEPTH = 100  # messages, protobuf's own limit

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
    parts, kept, inside = [], start, INSIDE[kind]
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
