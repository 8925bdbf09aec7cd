"""Read-only arrays, pointers into arrays that are grouped by a key, and members of groups."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np

I4 = np.int32
F8 = np.float64
LARGEST = float(np.finfo(F8).max)  # JSON has whole numbers beyond, which compare with it as they are


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, contiguous and read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def floats(value: Any) -> np.ndarray:
    """The value as an array of float64, None as NaN; TypeError for texts, times, dates and complex numbers.

    numpy would take a timedelta for its number of units, a text for the number in it, and a complex number for its real part.
    """
    given = np.asarray(value)
    odd = given.dtype.kind == "O" and not set(map(type, given.ravel().tolist())) <= {int, float, NoneType}
    if given.dtype.kind not in "biufO" or (odd and not all(map(_is_real, given.ravel().tolist()))):
        raise TypeError("expected numbers")
    return given.astype(F8, copy=False)


def _is_real(entry: Any) -> bool:
    real = isinstance(entry, (Real, Decimal, NoneType, np.bool_))
    return real and not isinstance(entry, np.timedelta64)  # to numpy a whole number


def pointers(sorted_keys: np.ndarray, n: int) -> np.ndarray:
    """Start of each key's run in an array grouped by key; shape (n + 1,), int32."""
    ptr = np.zeros(n + 1, dtype=I4)
    np.cumsum(np.bincount(sorted_keys, minlength=n), out=ptr[1:])
    return frozen(ptr)


def members(group: np.ndarray, n: int) -> list[np.ndarray]:
    """Indices at which each number below `n` stands in `group`, ascending; negative numbers are in no group.

    One sort for all groups: a graph may have as many as ops.

    >>> [found.tolist() for found in members(np.array([1, -1, 0, 1]), 2)]
    [[2], [0, 3]]
    """
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(n + 1))
    return [order[a:b] for a, b in pairwise(ends.tolist())]
