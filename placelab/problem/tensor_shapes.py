"""What element type and sizes a tensor has, as text: ``float32 [64, 3, 224, 224]``, with ``?`` for a size that is not known.

A graph holds the distinct texts once and a number per tensor. They are for readers, no result depends on them. A shape that
disagrees with the bytes of its tensor is left out, and so is one that a transform may have changed: unknown is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import I4, frozen
from placelab.problem.graph_checks import items, ops

MAX_RANK = 64
MAX_TEXT = 32 + MAX_RANK * 21 + 3  # characters
SIZE = r"(?:\?|0|[1-9]\d{0,18})"
SHAPE = re.compile(rf"([a-z][a-z0-9_]{{0,31}}) \[((?:{SIZE}(?:, {SIZE}){{0,{MAX_RANK - 1}}})?)\]", re.ASCII)
BITS = re.compile(r"(?:b?float|u?int|complex|qu?int)(\d{1,3})(?:_e\d\w{0,12})?")
Columns = tuple[np.ndarray | None, tuple[str, ...]]  # number of each tensor's text or -1, texts; None: all are unknown


@lru_cache(4096)  # the same shapes come again and again
def shape_text(kind: str, sizes: tuple[int | None, ...] | None) -> str | None:
    """The text of an element type and sizes, None or a negative number for one that is not known; None if there is none.

    >>> shape_text("float32", (64, 3, None)), shape_text("int64", ()), shape_text("float32", None)
    ('float32 [64, 3, ?]', 'int64 []', None)
    """
    if sizes is None or not kind:
        return None
    # What equals a whole number is written as one: the cache does not tell them apart.
    written = ["?" if size is None or size < 0 else str(size if size % 1 else int(size)) for size in sizes]
    text = f"{kind} [{', '.join(written)}]"
    return text if is_shape(text) else None


def is_shape(text: Any) -> bool:
    """Whether this is a shape as graphs have them: an element type, at most 64 sizes, each below 10¹⁹.

    >>> [is_shape(text) for text in ("bool []", "float32 [2, ?]", "float32[2]", "float32 [-1]", 7)]
    [True, True, False, False, False]
    """
    return isinstance(text, str) and len(text) <= MAX_TEXT and SHAPE.fullmatch(text) is not None


@lru_cache(4096)
def shape_bytes(text: str) -> float | None:
    """Bytes of a tensor of this shape; None if a size is unknown, or the bytes of an element.

    >>> shape_bytes("float32 [2, 3]"), shape_bytes("bool [5]"), shape_bytes("float32 [2, ?]"), shape_bytes("string [2]")
    (24.0, 5.0, None, None)
    """
    found = SHAPE.fullmatch(text)
    if found is None or "?" in found[2]:
        return None
    bits = BITS.fullmatch(found[1])
    item = 8 if found[1] == "bool" else int(bits[1]) if bits else 0
    if not item or item % 8:  # elements below a byte may be packed
        return None
    return prod(map(float, found[2].split(", ") if found[2] else ()), start=item / 8)


def coded(
    given: Mapping[tuple[int, int], str], names: Sequence[str], order: np.ndarray, tensors: Sequence[np.ndarray]
) -> Columns:
    """The columns of a graph from the shapes of outputs.

    Parameters
    ----------
    given
        (op, output number) → shape. What is no tensor of the graph is left out.
    names
        Names of the ops, numbered as in `given`.
    order
        For each op of the graph its number in `given`.
    tensors
        Producer in the graph, output number, bytes of each tensor, and whether it is a control tensor.

    Raises
    ------
    FormatError
        A key that is no pair of numbers, an op that does not exist, a text that is no shape.
    """
    _check(given, names)
    producer, output, size, control = tensors
    found = list(map(given.get, zip(order[producer].tolist(), output.tolist(), strict=True)))
    for t in np.flatnonzero(control).tolist():
        found[t] = None
    return of_tensors(found, size)


def of_tensors(found: Sequence[str | None], size: np.ndarray) -> Columns:
    """The columns from the shape of each tensor, None where not known, less those that disagree with its bytes."""
    codes, texts = _columns(found)
    if codes is None:
        return codes, texts
    nbytes = np.array([shape_bytes(text) for text in texts], dtype=np.float64)[codes]  # NaN where not known
    return shapes_kept(codes, texts, np.isnan(nbytes) | (nbytes == size))


def _check(given: Any, names: Sequence[str]) -> None:
    for key, text in _distinct(given):
        if not (isinstance(key, tuple) and len(key) == 2):
            raise FormatError(f"shapes has the key {key!r:.60}; expected (op, output number)")
        if not is_shape(text):
            whose = names[ops([key[0]], len(names), "shapes")[0]]
            raise FormatError(
                f"the shape of output {key[1]!r:.20} of op {whose!r:.80} is {text!r:.80}; "
                "expected an element type and sizes, such as 'float32 [64, 3, ?]'"
            )
    ops([op for op, _ in given], len(names), "shapes")


def _distinct(given: Any) -> Iterable[tuple[Any, Any]]:
    """One entry for each text, which is checked once; all entries where a key is no pair, or a shape no text."""
    every = items(given, "shapes")
    pairs = all(issubclass(kind, tuple) for kind in set(map(type, given))) and set(map(len, given)) == {2}
    plain = pairs and set(map(type, given.values())) == {str}
    return {text: (key, text) for key, text in every}.values() if plain else every


def shapes_kept(codes: np.ndarray | None, texts: tuple[str, ...], which: np.ndarray) -> Columns:
    """The columns with the shapes of the tensors `which` alone."""
    if codes is None or which[codes >= 0].all():
        return codes, texts
    return _columns(
        [texts[code] if code >= 0 and keep else None for code, keep in zip(codes.tolist(), which, strict=True)]
    )


def _columns(found: Sequence[str | None]) -> Columns:
    """Texts numbered in the order of the tensors."""
    number: dict[str | None, int] = {
        text: code for code, text in enumerate(dict.fromkeys(text for text in found if text))
    }
    texts = tuple(str(text) for text in number if text)  # a text of numpy's is a plain one in a graph
    number[None] = -1
    return (frozen(np.array(list(map(number.__getitem__, found)), dtype=I4)), texts) if texts else (None, ())
