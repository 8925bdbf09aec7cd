"""One colour for each op kind, the same in widgets, figures and static drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from placelab.problem.graph import OpGraph

# Okabe–Ito: distinguishable with every common colour vision; the last one is for ops of rare kinds or none.
# widgets/shared/palette.ts has the same.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C")
CRITICAL = "#e0343a"  # the critical path; 4 : 1 on white and on black


def kind_numbers(graph: OpGraph) -> tuple[list[str], np.ndarray]:
    """Kinds of a graph, sorted, and the index of each op's kind; int32, shape (n_ops,)."""
    column = graph.kind.tolist()
    kinds = sorted(set(column))
    index = {kind: i for i, kind in enumerate(kinds)}
    return kinds, np.fromiter(map(index.__getitem__, column), np.int32, len(column))


def kind_colours(graph: OpGraph) -> tuple[np.ndarray, list[str]]:
    """A colour for each op, and the kinds that the colours stand for.

    The kinds with the most compute get colours of their own (ties: more ops, then name); the rest share the last one.

    Returns
    -------
    colour : ndarray of uint8, shape (n_ops,)
        Index into `PALETTE`.
    legend : list of str
        Kind of each colour, "" for a colour that is not used, ``other`` for the last one; one entry for a graph of one kind.
    """
    kinds, index = kind_numbers(graph)
    if len(kinds) <= 1:
        return np.zeros(graph.n_ops, np.uint8), [next(iter(kinds), "") or "op"]
    return colours_by_work(kinds, index, graph.compute)


def colours_by_work(labels: list[str], index: np.ndarray, compute: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """As :func:`kind_colours`, for labels of any sort; `index` is that of each op's label, shape (n_ops,)."""
    n = np.bincount(index, minlength=len(labels))
    work = np.bincount(index, weights=np.nan_to_num(compute), minlength=len(labels))
    most = len(PALETTE) - 1
    own = [i for i in np.lexsort((np.arange(len(labels)), -n, -work)) if labels[i]][:most]
    colour = np.full(len(labels), most, np.uint8)
    colour[own] = np.arange(len(own))
    legend = [labels[i] for i in own]
    return colour[index], legend + [""] * (most - len(legend)) + ["other"]
