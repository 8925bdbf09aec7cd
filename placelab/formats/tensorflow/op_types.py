"""Names and types of the outputs of TensorFlow's ops, from TensorFlow's registry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

RESOURCE = 20  # number of the type of handles
REFERENCE = 100  # added to a type's number for references to a variable of that type
BYTES = {1: 4, 2: 8, 3: 4, 4: 1, 5: 2, 6: 1, 8: 8, 9: 8, 10: 1, 11: 1, 12: 1, 13: 4, 14: 2, 15: 2, 16: 2, 17: 2}
BYTES |= {18: 16, 19: 2, 22: 4, 23: 8, 24: 1, 25: 1, 26: 1, 27: 1, 28: 1, 29: 1, 30: 1}  # 4-bit types fill a byte
MAX_OUTPUTS = 100_000  # of one op

Outputs = tuple[tuple[str, str, str, bool, bool], ...]


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
    text = Path(__file__).with_suffix(".txt").read_text()
    return {line.split()[0]: tuple(map(_declared, line.split()[1:])) for line in text.splitlines()}


def _declared(text: str) -> tuple[str, str, str, bool, bool]:
    """Split ``name:type*count@&`` into name, type, count, whether it is a list, whether it is a reference."""
    name, kind = text.split(":")
    plain, _, number = kind.rstrip("@&").partition("*")
    return name, plain, number, "@" in kind, "&" in kind
