"""Read-only arrays, and pointers into arrays that are grouped by a key."""

from __future__ import annotations

import numpy as np

I4, F8 = np.int32, np.float64
LARGEST = float(np.finfo(F8).max)  # JSON has whole numbers beyond, which compare with it as they are


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, contiguous and read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def pointers(sorted_keys: np.ndarray, n: int) -> np.ndarray:
    """Start of each key's run in an array grouped by key; shape (n + 1,), int32."""
    ptr = np.zeros(n + 1, dtype=I4)
    np.cumsum(np.bincount(sorted_keys, minlength=n), out=ptr[1:])
    return frozen(ptr)
