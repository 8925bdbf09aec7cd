"""Lay boxes out in layers, from left to right, in lines like text where there are many layers."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import NamedTuple

import numpy as np

SWEEPS = 6  # over all layers, to and fro
ACROSS, DOWN, LINE = 40.0, 7.0, 14.0  # space between columns, between boxes of one, between lines
SHORT = 200.0  # a layer no taller is one column
LINE_COST = 0.9  # a line more has to make the picture larger than this by which it shrinks


class Edges(NamedTuple):
    """Edges between the boxes of one level, by number of the box."""

    source: Sequence[int]
    target: Sequence[int]


class Grid(NamedTuple):
    """Where the boxes of one level are: their upper left corners, and the size of all together."""

    x: list[float]
    y: list[float]
    width: float
    height: float


def layers_of(n: int, edges: Edges, rank: Sequence[float]) -> tuple[list[int], list[bool]]:
    """The layer of each box: the number of edges on the longest path to it; and whether each edge points back.

    Parameters
    ----------
    rank
        Where the boxes are in a cycle, that of the lowest rank comes first. The edges that this turns back count for nothing;
        there are none without a cycle.

    Returns
    -------
    layer : list of int, length n
        Edges that do not point back go to a higher layer. What only feeds a later layer, as a constant does, is moved next to
        that.
    back : list of bool, one per edge

    Notes
    -----
    O(n² + edges) with cycles, O((n + edges) log n) without.
    """
    following: list[list[int]] = [[] for _ in range(n)]
    missing = [0] * n
    for s, t in zip(*edges, strict=True):
        following[s].append(t)
        missing[t] += 1
    ready = [(rank[v], v) for v in range(n) if missing[v] == 0]
    heapify(ready)
    waiting = set(range(n))
    position, layer = [0] * n, [0] * n
    while waiting:
        v = heappop(ready)[1] if ready else min(waiting, key=lambda v: (rank[v], v))
        if v not in waiting:
            continue
        waiting.remove(v)
        position[v] = n - len(waiting)
        for t in following[v]:
            if t in waiting:
                layer[t] = max(layer[t], layer[v] + 1)
                missing[t] -= 1
                if missing[t] == 0:
                    heappush(ready, (rank[t], t))
    back = [position[s] >= position[t] for s, t in zip(*edges, strict=True)]
    return _late_sources(layer, edges, back, position), back


def _late_sources(layer: list[int], edges: Edges, back: list[bool], position: list[int]) -> list[int]:
    """Move boxes without inputs, and those that only such a box feeds and that alone, as far right as what they feed allows."""
    n = len(layer)
    after: list[list[int]] = [[] for _ in range(n)]
    before: list[list[int]] = [[] for _ in range(n)]
    for s, t, b in zip(*edges, back, strict=True):
        if not b:
            after[s].append(t)
            before[t].append(s)
    order = sorted(range(n), key=position.__getitem__)
    free = [False] * n
    for v in order:
        free[v] = not before[v] or (len(before[v]) == 1 and free[before[v][0]] and len(after[before[v][0]]) == 1)
    layer = list(layer)
    for v in reversed(order):
        if free[v] and after[v]:
            layer[v] = min(layer[t] for t in after[v]) - 1
    return layer


def order_of(layer: Sequence[int], edges: Edges, rank: Sequence[float]) -> list[list[int]]:
    """The boxes of each layer from top to bottom, each near the middle of its neighbours (barycentre heuristic).

    Ties: the lower rank first. Of the orders met, the one whose edges are shortest.
    """
    n, of, tie = len(layer), np.asarray(layer), np.asarray(rank)
    count = np.bincount(of)
    first = np.cumsum(count) - count
    source, target = (np.asarray(side, dtype=np.int64) for side in edges)
    best, least = np.lexsort((tie, of)), np.inf
    order = best
    for sweep in range(2 * SWEEPS + 1):
        place = np.empty(n)
        place[order] = np.arange(n) - first[of[order]]
        place -= (count[of] - 1) / 2
        length = float(np.abs(place[source] - place[target]).sum())
        if length < least:
            best, least = order, length
        a, b = (source, target) if sweep % 2 == 0 else (target, source)
        degree = np.bincount(b, minlength=n)
        middle = np.where(degree > 0, np.bincount(b, place[a], minlength=n) / np.maximum(degree, 1), place)
        order = np.lexsort((tie, middle, of))
    return [part.tolist() for part in np.split(best, first[1:])]


def place(order: list[list[int]], width: Sequence[float], height: Sequence[float], aspect: float) -> Grid:
    """Place the layers side by side, a tall one as several columns, and many of them in lines, so that they fit a shape.

    Parameters
    ----------
    order
        Boxes of each layer from top to bottom.
    width, height
        Of each box.
    aspect
        Width of the shape divided by its height.

    Returns
    -------
    Grid
        The one, of some tried, that is shown largest in the shape; more lines have to be worth it.
    """
    tallest = max(height)
    total = max(sum(height[v] + DOWN for v in layer) for layer in order)
    area = sum((w + ACROSS) * (h + DOWN) for w, h in zip(width, height, strict=True))
    ideal = (area / aspect) ** 0.5
    best, most = None, -1.0
    for limit in sorted({max(tallest, min(total, max(ideal * f, SHORT))) for f in (0.8, 1.5, 99.0)}):
        columns = [column for layer in order for column in _columns(layer, height, limit)]
        wide = [max(width[v] for v in column) for column in columns]
        whole = sum(wide) + ACROSS * (len(wide) - 1)
        for lines in range(1, min(len(columns), 12) + 1):
            cut = _lines(wide, max(whole / lines, *wide))
            grid = _grid(columns, cut, wide, width, height)
            scale = min(aspect / grid.width, 1 / grid.height) * LINE_COST ** (max(cut) + 1)
            if scale > most * 1.0001:
                best, most = grid, scale
    assert best is not None
    return best


def _columns(layer: list[int], height: Sequence[float], limit: float) -> list[list[int]]:
    """A layer as columns no taller than `limit`, filled evenly."""
    total = sum(height[v] + DOWN for v in layer)
    parts = max(1, -(-total // (limit + DOWN)))
    columns: list[list[int]] = []
    filled = np.inf
    for v in layer:
        if filled + height[v] / 2 > total / parts:
            columns.append([])
            filled = 0.0
        columns[-1].append(v)
        filled += height[v] + DOWN
    return columns


def _lines(wide: Sequence[float], limit: float) -> list[int]:
    """The line of each column, none longer than `limit`, which is at least the widest column."""
    line, x, found = 0, 0.0, []
    for w in wide:
        if x and x + w > limit + 1e-6:
            line, x = line + 1, 0.0
        found.append(line)
        x += w + ACROSS
    return found


def _grid(
    columns: list[list[int]], lines: list[int], wide: list[float], width: Sequence[float], height: Sequence[float]
) -> Grid:
    """Columns centred in their lines, boxes in their columns."""
    tall = [sum(height[v] for v in column) + DOWN * (len(column) - 1) for column in columns]
    high = [max(t for t, at in zip(tall, lines, strict=True) if at == line) for line in range(lines[-1] + 1)]
    top = [0.0, *accumulate(h + LINE for h in high)]
    x, y = [0.0] * len(width), [0.0] * len(width)
    right, left, before = 0.0, 0.0, -1
    for column, line, w, t in zip(columns, lines, wide, tall, strict=True):
        left, before = (left if line == before else 0.0), line
        down = top[line] + (high[line] - t) / 2
        for v in column:
            x[v], y[v] = left + (w - width[v]) / 2, down
            down += height[v] + DOWN
        right = max(right, left + w)
        left += w + ACROSS
    return Grid(x, y, right, top[-1] - LINE)
