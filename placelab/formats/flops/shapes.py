"""Count the elements of tensors: arithmetic on shapes, some of which may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod

Shape = tuple[int, ...] | None  # None: unknown


class Unknown(Exception):
    """A shape that matters is unknown or does not fit the op; :func:`count` then returns None."""


def known(shape: Shape) -> tuple[int, ...]:
    """The shape; raise Unknown if it, or the length of one of its dimensions, is unknown."""
    if shape is None or any(length is None or length < 0 for length in shape):
        raise Unknown
    return tuple(shape)


def at(shapes: Sequence[Shape], i: int) -> tuple[int, ...]:
    """Shape number i; raise Unknown if there is none."""
    if not -len(shapes) <= i < len(shapes):
        raise Unknown
    return known(shapes[i])


def size(shape: Shape) -> int:
    """Number of elements; raise Unknown if the shape is unknown."""
    return prod(known(shape))


def largest(shapes: Sequence[Shape]) -> int:
    """Elements of the largest known shape; raise Unknown if none is known."""
    sizes = [prod(shape) for shape in shapes if shape is not None and None not in shape and min(shape, default=0) >= 0]
    if not sizes:
        raise Unknown
    return max(sizes)


def broadcast(shapes: Sequence[Shape]) -> tuple[int, ...]:
    """The common shape of tensors in an elementwise op.

    >>> broadcast([(3, 1), (4,)])
    (3, 4)
    """
    columns = zip_longest(*(reversed(known(shape)) for shape in shapes), fillvalue=1)
    return tuple(0 if 0 in column else max(column) for column in columns)[::-1]
