"""Read protobuf files without the framework that wrote them, by tables of the few fields that matter.

    NODE = messages("example", {"Node": "string name = 1; repeated string input = 3; map<string, int64> attr = 5"})["Node"]
    node = parse(NODE, data, "model.pb")

``messages`` makes classes for google.protobuf. Its C parser preserves fields that the tables leave out (the megabytes of a
constant, fields of later versions), refuses text that is not UTF-8, and nests at most 100 deep. ``fields`` iterates over one
level of a message in place: a file of many records is read record by record, and changing one field leaves all other bytes
as they were.

The classes that ``tensorboard`` ships parse as fast (a GraphDef of 22,000 nodes with their shapes, 3.3 MB: 19 ms there, 20 ms
here, 62 ms node by node, of processor time), but bring 15 packages and 178 MB, know only TensorFlow's files, and unpack
fields that are not needed.

A message of two bytes takes 120 bytes of memory once parsed, so a small file could fill a large machine. ``parse`` therefore
counts the fields of a message over 1 MiB before parsing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from placelab.base.errors import FormatError
from placelab.base.files import START, look
from placelab.base.interrupts import need

# Wire types
VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5
FIXED = {FIXED64: 8, FIXED32: 4}
MAX_FIELDS = 1_000_000  # of one parsed message, those inside it included
UNCOUNTED = 1 << 20  # bytes; a smaller message cannot hold enough fields to matter


class MessageType(Protocol):
    """A class of protobuf messages."""

    DESCRIPTOR: Any

    def __call__(self) -> Any:
        """An empty message."""

    def FromString(self, data: bytes) -> Any:
        """The message in `data`."""


FIELD = re.compile(r"(?:(optional|repeated) )?(?:map<(\w+), (\w+)>|(\w+)) (\w+) = (\d+)")


def messages(
    package: str, tables: Mapping[str, str], enums: Mapping[str, Mapping[str, int]] | None = None
) -> dict[str, MessageType]:
    """Make message classes from tables of their fields.

    Parameters
    ----------
    package
        Any name; each call has its own pool of descriptors.
    tables
        Message → its fields as ``.proto`` files declare them, separated by semicolons. Types are protobuf's own, other
        messages of `tables`, and `enums`. Fields left out are preserved when a message is serialized again.
    enums
        Enum → name → number. Only text files need names; ``int32`` reads the enums of binary files.

    Returns
    -------
    dict of str to type
        Class of each message. ``HasField`` works for all singular fields; declare those of a ``oneof`` like the others.

    Raises
    ------
    UnsupportedError
        google.protobuf is not installed.
    """
    descriptor_pb2, descriptor_pool, message_factory = _google()
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, numbers in (enums or {}).items():
        _add_enum(file.enum_type.add(name=name), name, numbers)
    for name, table in tables.items():
        _add_message(file.message_type.add(name=name), table, f".{package}.", set(enums or ()))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindFileByName(file.name).message_types_by_name
    return {name: message_factory.GetMessageClass(found[name]) for name in tables}


def parse(kind: MessageType, data: bytes, where: str) -> Any:
    """Parse `data` as a message of class `kind`; `where` names the file in errors. O(len(data)).

    Raises
    ------
    FormatError
        Truncated or damaged data, messages nested more than 100 deep, or more than a million fields.
    """
    if len(data) > UNCOUNTED:
        _count(kind.DESCRIPTOR, data, where)
    try:
        return kind.FromString(data)
    except _decode_error():
        what = kind.DESCRIPTOR.name
        raise FormatError(
            f"{where} is not a protobuf message of the form {what}: truncated, damaged or another file{look(data[:START])}"
        ) from None


def fields(data: bytes, where: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int, int, int]]:
    """Iterate over the fields of one message, in file order, without copying.

    Yields
    ------
    number, wire type, start, value, end : int
        The field is ``data[start:end]``, its payload without tag and length ``data[value:end]``.

    Raises
    ------
    FormatError
        A field that ends after the message, or has an unknown wire type; `where` names the file.
    """
    at = start
    stop = len(data) if end is None else end
    try:
        while at < stop:
            begin = at
            tag = data[at]
            at = at + 1
            if tag > 127:
                tag, at = varint(data, begin)
            wire = tag & 7
            if wire == BYTES:
                size = data[at]
                value = at + 1
                if size > 127:
                    size, value = varint(data, at)
                at = value + size
            else:
                value = at
                at = _after_number(data, at, wire)
            if at > stop or tag < 8:
                break
            yield tag >> 3, wire, begin, value, at
        else:
            return
    except IndexError:
        pass
    seen = look(bytes(data[:START])) if not start else ""
    raise FormatError(
        f"{where} is not a complete protobuf file: no field that ends in it begins at byte {begin:,}{seen}"
    )


def spans_of(wanted: int, data: bytes, where: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Start and end of the content of each field with number `wanted` in a message, of those that are bytes."""
    every = fields(data, where, start, end)
    return [(value, stop) for number, wire, _, value, stop in every if (number, wire) == (wanted, BYTES)]


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the varint at byte `at`: number and index of the byte after it; IndexError if it is truncated or too long."""
    number = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise IndexError(at)


def tagged(number: int, value: bytes) -> bytes:
    """Encode a field of bytes, text or a message.

    >>> tagged(1, b"abc").hex()
    '0a03616263'
    """
    return _as_varint(number << 3 | BYTES) + _as_varint(len(value)) + value


def _as_varint(number: int) -> bytes:
    """Encode a number as a varint."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _after_number(data: bytes, at: int, wire: int) -> int:
    """Index of the byte after the number that starts at byte `at`."""
    return varint(data, at)[1] if wire == VARINT else at + FIXED.get(wire, 1 << 62)


def _count(descriptor: Any, data: bytes, where: str) -> None:
    """FormatError if a message holds more than MAX_FIELDS fields, those of nested messages included."""
    waiting = [(descriptor, 0, len(data))]
    total = 0
    bytes_left = len(data)
    messages_in: dict[str, dict[int, Any]] = {}
    while waiting and total + bytes_left // 2 > MAX_FIELDS:  # a field has two bytes or more
        known, start, end = waiting.pop()
        bytes_left -= end - start
        inside = messages_in.get(known.full_name)
        if inside is None:
            numbers = known.fields_by_number.items()
            inside = {number: field.message_type for number, field in numbers if field.message_type}
            messages_in[known.full_name] = inside
        for number, wire, _, value, stop in fields(data, where, start, end):
            total += 1
            if total > MAX_FIELDS:
                raise FormatError(
                    f"{where} holds a {descriptor.name} of more than {MAX_FIELDS:,} fields; such messages are not read"
                )
            if wire == BYTES and number in inside and stop > value:
                waiting.append((inside[number], value, stop))
                bytes_left += stop - value


def _decode_error() -> type[Exception]:
    from google.protobuf.message import DecodeError

    return DecodeError


def _google() -> tuple[Any, Any, Any]:
    need("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    return descriptor_pb2, descriptor_pool, message_factory


def _add_enum(enum: Any, name: str, numbers: Mapping[str, int]) -> None:
    if 0 not in numbers.values():
        enum.value.add(name=f"{name}_0", number=0)  # proto3 requires a first value of 0
    for label, number in sorted(numbers.items(), key=lambda item: item[1] != 0):
        enum.value.add(name=label, number=number)


def _add_message(message: Any, table: str, prefix: str, enums: set[str]) -> None:
    for declared in filter(None, map(str.strip, table.split(";"))):
        found = FIELD.fullmatch(declared)
        assert found is not None, f"{declared!r} does not declare a field"
        label, key, value, single, name, number = found.groups()
        field = message.field.add(name=name, number=int(number), label=3 if key or label == "repeated" else 1)
        if key:
            entry = _entry(message, name, key, value, prefix, enums)
            field.type = field.TYPE_MESSAGE
            field.type_name = f"{prefix}{message.name}.{entry}"
            continue
        _set_type(field, single, prefix, enums)
        if field.label == 1 and field.type != field.TYPE_MESSAGE:  # so that HasField works
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")


def _entry(message: Any, name: str, key: str, value: str, prefix: str, enums: set[str]) -> str:
    """Add the message type of a map's entries; its name."""
    entry = message.nested_type.add(name=name.title().replace("_", "") + "Entry")
    entry.options.map_entry = True
    for number, (label, kind) in enumerate((("key", key), ("value", value)), start=1):
        _set_type(entry.field.add(name=label, number=number, label=1), kind, prefix, enums)
    return entry.name


def _set_type(field: Any, kind: str, prefix: str, enums: set[str]) -> None:
    scalar = getattr(field, f"TYPE_{kind.upper()}", None)
    field.type = scalar or (field.TYPE_ENUM if kind in enums else field.TYPE_MESSAGE)
    if not scalar:
        field.type_name = prefix + kind
