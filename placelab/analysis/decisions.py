"""Compare the decisions of two partitioners."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import UnsupportedError
from placelab.base.index_arrays import frozen
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace


def first_difference(a: Placement, b: Placement, *, order: bool = True) -> int | None:
    """The first decision of `a` that `b` took otherwise.

    Parameters
    ----------
    a, b
        Placements of one problem, made with ``trace=True``.
    order
        Compare step by step: a difference is another op (or group), or another device. False: compare op by op: a difference
        is an op that `b` put on another device, whenever that was.

    Returns
    -------
    int or None
        Row of ``a.trace``; None if there is no difference.

    Raises
    ------
    UnsupportedError
        A placement has no trace, or the graphs differ.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.datasets.problem("topcuoglu")
    >>> a, b = (pl.place(problem, name, trace=True) for name in ("heft", "cpop"))
    >>> first_difference(a, b)
    0
    """
    first, second = _trace(a), _trace(b)
    if not np.array_equal(a.problem.graph.names, b.problem.graph.names):
        raise UnsupportedError("decisions can be compared for one graph only; these placements have different ops")
    if order:
        n, of = min(len(first.op), len(second.op)), units(a.problem)
        other = (of[first.op[:n]] != of[second.op[:n]]) | (first.device[:n] != second.device[:n])
        differs = np.append(other, np.ones(len(first.op) - n, dtype=bool))
    else:
        differs = b.device[first.op] != first.device
    return int(np.argmax(differs)) if differs.any() else None


def units(problem: Problem) -> np.ndarray:
    """A number for each op that the members of a colocation group share, shape (n_ops,)."""
    alone = np.arange(problem.graph.n_ops)
    return frozen(np.where(problem.group < 0, alone, len(alone) + problem.group))


def _trace(placement: Placement) -> Trace:
    if placement.trace is None:
        name = placement.partitioner or "this placement"
        raise UnsupportedError(
            f"{name} has no trace; place with trace=True and a partitioner that records its decisions"
        )
    return placement.trace
