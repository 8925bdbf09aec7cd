"""The visible part of a model graph: boxes of scopes, laid out in layers from left to right, and the edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from placelab.app.widgets.graph_scopes import Scopes
from placelab.base.index_arrays import members
from placelab.problem.graph import OpGraph

SWEEPS = 6  # over all layers, to and fro
ACROSS = 40.0  # space between columns
DOWN = 7.0  # between boxes of one
LINE = 14.0  # between lines
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
    position = [0] * n
    layer = [0] * n
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
    n = len(layer)
    of = np.asarray(layer)
    tie = np.asarray(rank)
    count = np.bincount(of)
    first = np.cumsum(count) - count
    source, target = (np.asarray(side, dtype=np.int64) for side in edges)
    best = np.lexsort((tie, of))
    least = np.inf
    order = best
    for sweep in range(2 * SWEEPS + 1):
        place = np.empty(n)
        place[order] = np.arange(n) - first[of[order]]
        place -= (count[of] - 1) / 2
        length = float(np.abs(place[source] - place[target]).sum())
        if length < least:
            best = order
            least = length
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
    best = None
    most = -1.0
    for limit in sorted({max(tallest, min(total, max(ideal * f, SHORT))) for f in (0.8, 1.5, 99.0)}):
        columns = [column for layer in order for column in _columns(layer, height, limit)]
        wide = [max(width[v] for v in column) for column in columns]
        whole = sum(wide) + ACROSS * (len(wide) - 1)
        for lines in range(1, min(len(columns), 12) + 1):
            cut = _lines(wide, max(whole / lines, *wide))
            grid = _grid(columns, cut, wide, width, height)
            scale = min(aspect / grid.width, 1 / grid.height) * LINE_COST ** (max(cut) + 1)
            if scale > most * 1.0001:
                best = grid
                most = scale
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
    line = 0
    x = 0.0
    found = []
    for w in wide:
        if x and x + w > limit + 1e-6:
            line = line + 1
            x = 0.0
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
    x = [0.0] * len(width)
    y = [0.0] * len(width)
    right = 0.0
    left = 0.0
    before = -1
    for column, line, w, t in zip(columns, lines, wide, tall, strict=True):
        left = left if line == before else 0.0
        before = line
        down = top[line] + (high[line] - t) / 2
        for v in column:
            x[v] = left + (w - width[v]) / 2
            y[v] = down
            down += height[v] + DOWN
        right = max(right, left + w)
        left += w + ACROSS
    return Grid(x, y, right, top[-1] - LINE)


PAD = 8.0  # space around the content of an open scope
TITLE = 18.0  # and above it
FEW = 40  # boxes; scopes are open at first while there are no more
SHARE = 0.1  # of the ops; a scope with fewer is closed at first
LEAST = 56.0  # width of a box
MOST = 150.0
LETTER = 7.0  # width of a letter in it
STRETCH = 1.6  # at most, of a picture that is not as wide as the place for it
LOW = 24.0  # height of a box
HIGH = 20.0  # what an op that is all the work has more


@dataclass(frozen=True, eq=False)
class Scene:
    """Boxes and edges on show. Boxes are numbered from outer to inner ones; coordinates are CSS pixels at zoom 1.

    Attributes
    ----------
    node : ndarray of int32, shape (n_boxes,)
        The op or scope of each box; see :class:`Scopes`.
    inside : ndarray of int32, shape (n_boxes,)
        The box of the open scope around each; -1 for none.
    is_open : ndarray of bool, shape (n_boxes,)
        Whether it is an open scope, which is a frame around others.
    layer : ndarray of int32, shape (n_boxes,)
        Within `inside`.
    x, y, width, height : ndarray, shape (n_boxes,)
        Upper left corner and size.
    owner : ndarray of int32, shape (n_ops,)
        The one box, not open, that each op is in.
    source, target : ndarray of int32, shape (n_edges,)
        Edges between boxes that are not open, each pair once.
    size : ndarray, shape (n_edges,)
        Bytes from the one to the other, each tensor counted once.
    back : ndarray of bool, shape (n_edges,)
        Whether an edge closes a cycle of boxes, so that it points back.
    """

    node: np.ndarray
    inside: np.ndarray
    is_open: np.ndarray
    layer: np.ndarray
    x: np.ndarray
    y: np.ndarray
    width: np.ndarray
    height: np.ndarray
    owner: np.ndarray
    source: np.ndarray
    target: np.ndarray
    size: np.ndarray
    back: np.ndarray


def first_open(scopes: Scopes) -> tuple[int, ...]:
    """Scopes to open at first: always the largest one, until that would make more than a few boxes; ties by number.

    Returns
    -------
    tuple of int
        Scopes with at least a tenth of the ops; with them open there are at most `FEW` boxes.
    """
    opened: list[int] = []
    shown = len(scopes.children(scopes.root))
    candidates = [int(v) for v in scopes.children(scopes.root) if v > scopes.root]
    while candidates:
        largest = max(candidates, key=lambda v: (scopes.size[v], -v))
        candidates.remove(largest)
        inside = scopes.children(largest)
        shown += len(inside) - 1
        if scopes.size[largest] < SHARE * scopes.n_ops or shown > FEW:
            break
        opened.append(largest)
        candidates += [int(v) for v in inside if v > scopes.root]
    return tuple(sorted(opened))


def scene_of(graph: OpGraph, scopes: Scopes, opened: Iterable[int], aspect: float = 3.3) -> Scene:
    """Lay out a graph with some scopes open.

    Parameters
    ----------
    opened
        Scopes that are open; one in a closed scope does not show.
    aspect
        Width of the place for the picture divided by its height.
    """
    node, inside, owner = _boxes(scopes, set(opened))
    work = scopes.total(_work(graph))
    share = np.sqrt(work[node] / max(work[scopes.root], 1e-300))
    letters = np.array([len(scopes.label[v]) for v in node.tolist()])
    width = np.clip(LETTER * letters + np.where(node > scopes.root, 34, 18), LEAST, MOST)
    boxes = _Boxes(inside, _rank(scopes)[node], width, LOW + np.round(HIGH * share))
    source, target, size = _between(graph, owner, len(node))
    layer, x, y, back = boxes.lay_out(source, target, aspect)
    stretch = np.clip(aspect * (y + boxes.height).max() / (x + boxes.width).max(), 1, STRETCH)  # room for names
    shape = layer, x * stretch, y, boxes.width * stretch, boxes.height
    return Scene(node, inside, boxes.is_open, *shape, owner, source, target, size, back)


def _work(graph: OpGraph) -> np.ndarray:
    """Operations of each op; where none are known its mean time, and 0 for what is not known."""
    known = graph.compute
    if graph.time is not None and np.isnan(known).all():
        count = (~np.isnan(graph.time)).sum(axis=1)
        known = np.nansum(graph.time, axis=1) / np.maximum(count, 1)
    return np.nan_to_num(known)


def _boxes(scopes: Scopes, opened: set[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Node and surrounding box of each box, outer ones first; the box of each op."""
    node = scopes.children(scopes.root).tolist()
    inside = [-1] * len(node)
    box_of = np.full(scopes.n_nodes, -1, np.int32)
    for box, v in enumerate(node):  # which grows meanwhile
        box_of[v] = box
        if v in opened and v > scopes.root:
            found = scopes.children(v).tolist()
            node += found
            inside += [box] * len(found)
    for scope in range(scopes.root + 1, scopes.n_nodes):
        if box_of[scope] < 0:
            box_of[scope] = box_of[scopes.parent[scope]]
    own = box_of[: scopes.n_ops]
    around = box_of[scopes.parent[: scopes.n_ops]]
    return np.array(node, np.int32), np.array(inside, np.int32), np.where(own >= 0, own, around)


def _rank(scopes: Scopes) -> np.ndarray:
    """Mean number of the ops in each node, shape (n_nodes,)."""
    return scopes.total(np.arange(scopes.n_ops, dtype=float)) / scopes.size


def _between(graph: OpGraph, owner: np.ndarray, n_boxes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of different boxes with an edge, and the bytes of their tensors, each counted once."""
    a = owner[graph.producer]
    b = owner[graph.consumer]
    apart = a != b
    once = np.unique(graph.edge_tensor[apart].astype(np.int64) * n_boxes + b[apart])
    tensor = once // n_boxes
    target = once % n_boxes
    source = owner[graph.tensor_producer[tensor]]
    pairs, which = np.unique(source.astype(np.int64) * n_boxes + target, return_inverse=True)
    size = np.bincount(which, graph.tensor_bytes[tensor], minlength=len(pairs))
    return (pairs // n_boxes).astype(np.int32), (pairs % n_boxes).astype(np.int32), size


class _Boxes:
    """Boxes in boxes while they are laid out; open ones get their size from their content."""

    def __init__(self, inside: np.ndarray, rank: np.ndarray, width: np.ndarray, height: np.ndarray) -> None:
        self.inside = inside
        self.rank = rank
        self.width = width
        self.height = height
        self.is_open = np.zeros(len(inside), bool)
        self.is_open[inside[inside >= 0]] = True
        self.level = np.zeros(len(inside), np.int32)
        for box, around in enumerate(inside.tolist()):
            self.level[box] = self.level[around] + 1 if around >= 0 else 0

    def lay_out(
        self, source: np.ndarray, target: np.ndarray, aspect: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Layer, x and y of each box, and whether each edge points back; sets the size of the open ones."""
        n = len(self.inside)
        layer = np.zeros(n, np.int32)
        x = np.zeros(n)
        y = np.zeros(n)
        back = np.zeros(len(source), bool)
        outer, inner = self._siblings(source, target)
        around = self.inside[outer]
        by_box = members(self.inside + 1, n + 1)
        by_edge = members(around + 1, n + 1)
        for box in [*np.flatnonzero(self.is_open)[::-1].tolist(), -1]:
            content = by_box[box + 1]
            mine = by_edge[box + 1]
            local = np.searchsorted(content, np.stack([outer[mine], inner[mine]]))
            pairs, which = np.unique(local[0] * n + local[1], return_inverse=True)
            edges = Edges((pairs // n).tolist(), (pairs % n).tolist())
            rank = self.rank[content].tolist()
            layer[content], turned = layers_of(len(content), edges, rank)
            back[mine] = np.array(turned, bool)[which]
            order = order_of(layer[content].tolist(), edges, rank)
            grid = place(order, self.width[content].tolist(), self.height[content].tolist(), aspect)
            x[content] = grid.x
            y[content] = grid.y
            if box >= 0:
                self.width[box] = grid.width + 2 * PAD
                self.height[box] = grid.height + TITLE + PAD
        for box, outside in enumerate(self.inside.tolist()):
            if outside >= 0:
                x[box] += x[outside] + PAD
                y[box] += y[outside] + TITLE
        return layer, x, y, back

    def _siblings(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The boxes around the ends of each edge, or those themselves, that are in the same box."""
        a = source.copy()
        b = target.copy()
        for deepest in range(int(self.level.max(initial=0)), 0, -1):
            apart = self.inside[a] != self.inside[b]
            for end in (a, b):
                raised = apart & (self.level[end] == deepest)
                end[raised] = self.inside[end[raised]]
        return a, b
