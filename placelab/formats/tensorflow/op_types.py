"""What does a TensorFlow op put out? The names and types of its outputs, from the registry of TensorFlow's ops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

BOOL, STRING, RESOURCE, VARIANT = 10, 7, 20, 21
REFERENCE = 100  # added to a type's number: a reference to a variable of that type
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
        Number of shapes the file gives for its outputs, None where it gives none; goes for ops that are not known here, such as
        a user's own.

    Returns
    -------
    names : tuple of str
        Outputs of a list have the same name. Function bodies refer to outputs as ``op:name:number``.
    types : tuple of int or None
        Numbers of ``DataType``, 100 more for references; None where not known. Empty where not even their number is known.
    """
    known = _table().get(kind)
    if known is None:
        count = min(shapes or 0, MAX_OUTPUTS)
        return ("output",) * count, (_type(attributes, "T") or _type(attributes, "dtype"),) * count
    if len(known) == 1 and not (known[0][2] or known[0][3]):
        name, kind, _, _, reference = known[0]
        return (name,), (_referred(_type(attributes, kind), reference),)
    pairs = [pair for output in known for pair in _each(output, attributes)]
    return tuple(name for name, _ in pairs), tuple(kind for _, kind in pairs)


def size_of(kind: int | None) -> int | None:
    """Bytes of one element; 0 for references and resources, which never travel; None where not known (texts, variants)."""
    return 0 if kind == RESOURCE or (kind or 0) > REFERENCE else BYTES.get(kind)


def _each(output: tuple, attributes: Any) -> Iterator[tuple[str, int | None]]:
    """Name and type of every output that one line of an op's declaration stands for."""
    name, kind, number, listed, reference = output
    if listed:
        types = attributes[kind].list.type[:MAX_OUTPUTS] if kind in attributes else ()
    else:
        types = [_type(attributes, kind)] * (_number(attributes, number) if number else 1)
    for one in types:
        yield name, _referred(one, reference)


def _type(attributes: Any, kind: str) -> int | None:
    if kind.isdigit():
        return int(kind)
    return (attributes[kind].type or None) if kind in attributes else None


def _number(attributes: Any, name: str) -> int:
    return max(0, min(attributes[name].i, MAX_OUTPUTS)) if name in attributes else 0


def _referred(kind: int | None, reference: bool) -> int | None:
    return REFERENCE + kind if reference and kind and kind < REFERENCE else kind


@cache
def _table() -> dict[str, Outputs]:
    text = Path(__file__).with_suffix(".txt").read_text()
    return {line.split()[0]: tuple(map(_declared, line.split()[1:])) for line in text.splitlines()}


def _declared(text: str) -> tuple[str, str, str, bool, bool]:
    """``name:type*count@&`` in its parts: name, type, count, a list, a reference."""
    name, kind = text.split(":")
    plain, _, number = kind.rstrip("@&").partition("*")
    return name, plain, number, "@" in kind, "&" in kind
