"""The members of numbered groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def members(group: np.ndarray, n: int) -> list[np.ndarray]:
    """Indices at which each number below `n` stands in `group`, ascending; negative numbers are in no group.

    One sort for all groups: a graph may have as many as ops.

    >>> [found.tolist() for found in members(np.array([1, -1, 0, 1]), 2)]
    [[2], [0, 3]]
    """
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(n + 1))
    return [order[a:b] for a, b in pairwise(ends.tolist())]
