"""A graph as it shows itself at the end of a notebook cell: sizes, the kinds with most compute, and its layers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.base.units import PLAIN, SI, Units
from placelab.costs.new_costs import counts_plainly
from placelab.pictures.cells.markup import (
    amount,
    aside,
    bar,
    counted,
    legend,
    percent,
    picture,
    side_by_side,
    svg,
    swatch,
    table,
    text,
)
from placelab.pictures.kind_colours import PALETTE, kind_colours, kind_numbers
from placelab.problem.graph import OpGraph

KINDS = 8  # rows of the table of kinds
COLUMNS, PIXELS, HALF = 180, 720, 44  # of the drawing of layers: columns, width, height of each half


def show_graph(graph: OpGraph) -> str:
    """The graph as HTML, at most 100 KB. O(ops + edges)."""
    facts = counted(graph.n_ops, "op"), counted(graph.n_edges, "edge")
    if not graph.n_ops:
        return picture(text(graph.title), facts)
    layer = layers(graph)
    colour, kinds = kind_colours(graph)
    return picture(
        text(graph.title),
        facts,
        side_by_side(table(("", ""), graph_rows(graph, layer)), _kinds(graph, colour)),
        _density(graph, layer, colour),
        legend((swatch(PALETTE[i]), text(kinds[i], 24)) for i in np.unique(colour).tolist()),
    )


def graph_units(graph: OpGraph) -> Units:
    """How the quantities of a graph are written."""
    return PLAIN if counts_plainly(graph) else SI


def layers(graph: OpGraph) -> np.ndarray:
    """Layer of each op: the number of ops before it on the longest path to it; shape (n_ops,). O(ops + edges)."""
    layer = [0] * graph.n_ops
    for u, v in zip(
        graph.producer.tolist(), graph.consumer.tolist(), strict=True
    ):  # by producer, as edges are numbered
        if layer[u] >= layer[v]:
            layer[v] = layer[u] + 1
    return np.array(layer, np.int64)


def graph_rows(graph: OpGraph, layer: np.ndarray, written: Units | None = None) -> Iterator[tuple[str, str]]:
    """Facts about a graph: names and values as HTML."""
    written = written or graph_units(graph)
    control = int(graph.tensor_control[graph.edge_tensor].sum())
    data = ~graph.tensor_control
    depth, width = int(layer.max()) + 1, int(np.bincount(layer).max())
    with np.errstate(over="ignore"):
        sums = [float(np.nansum(column)) for column in (graph.compute, graph.persistent, graph.tensor_bytes[data])]
    yield "layers", f"{depth:,}, the widest of {counted(width, 'op')}"
    yield "edges", f"{graph.n_edges:,}" + (f", {control:,} of them control" if control else "")
    yield "tensors", f"{int(data.sum()):,}, {amount(sums[2], 'B', written)}"
    yield "parameters", amount(sums[1], "B", written)
    yield "compute", amount(sums[0], "FLOP", written)
    if graph.time is not None:
        more = f" and {len(graph.time_types) - 4} more" if len(graph.time_types) > 4 else ""
        yield "times for", ", ".join(text(kind, 24) for kind in graph.time_types[:4]) + more
    if len(graph.group_names):
        yield (
            "colocation",
            f"{counted(len(graph.group_names), 'group')} of {counted(int((graph.group >= 0).sum()), 'op')}",
        )
    if restricted := int((graph.device_set >= 0).sum()):
        yield "only some devices", counted(restricted, "op")


def _kinds(graph: OpGraph, colour: np.ndarray) -> str:
    """A table of the kinds with most compute (ties: more ops, then name); nothing where there is but one."""
    kinds, index = kind_numbers(graph)
    if len(kinds) == 1:
        return ""
    count, written = np.bincount(index, minlength=len(kinds)), graph_units(graph)
    with np.errstate(over="ignore"):
        work = np.bincount(index, np.nan_to_num(graph.compute), minlength=len(kinds))
        total = work.sum()
    shade = np.zeros(len(kinds), np.int64)
    shade[index] = colour
    order = np.lexsort((-count, -work))
    shown = order[: KINDS if len(order) <= KINDS else KINDS - 1].tolist()
    rows = [
        (
            f"{swatch(PALETTE[shade[i]])} {text(kinds[i] or 'no kind', 32)}",
            f"{count[i]:,}",
            amount(work[i], "FLOP", written),
            bar(work[i] / total if total > 0 else 0.0, PALETTE[shade[i]]),
        )
        for i in shown
    ]
    if rest := order[len(shown) :].tolist():
        left = work[rest].sum()
        cells = f"{count[rest].sum():,}", amount(left, "FLOP", written), bar(left / total if total > 0 else 0.0)
        rows.append((counted(len(rest), "more kind"), *cells))
    return table(("kind", "ops", "compute", ""), rows, numbers=(1, 2))


def _density(graph: OpGraph, layer: np.ndarray, colour: np.ndarray) -> str:
    """Ops by layer upwards and compute by layer downwards, both stacked by kind, with heights by the square root of the sum."""
    depth = int(layer.max()) + 1
    columns = min(depth, COLUMNS)
    wide = min(PIXELS // columns, 24)
    cell = layer * columns // depth * len(PALETTE) + colour
    size = columns * len(PALETTE)
    ops = np.bincount(cell, minlength=size).reshape(columns, -1)
    compute = np.nan_to_num(graph.compute)
    work = np.bincount(cell, compute / max(compute.max(), 1e-300), minlength=size).reshape(columns, -1)  # never ∞
    up, down = _stacked(ops), _stacked(work)
    parts = []
    for c in np.unique(colour).tolist():
        spans = [(x, HALF - b, b - a) for x, a, b in _spans(up, c)]
        spans += [(x, HALF + 1 + a, b - a) for x, a, b in _spans(down, c)]
        path = "".join(f"M{x} {y}v{tall}" for x, y, tall in spans)
        parts.append(f'<path stroke="{PALETTE[c]}" d="{path}"/>')
    most = f"at most {counted(int(ops.sum(axis=1).max()), 'op')} a column"
    share = work.sum(axis=1).max() / max(work.sum(), 1e-300)
    across = columns * wide
    per = "a layer" if columns == depth else f"{depth / columns:.3g} layers"
    note = f"inputs → outputs, a column is {per}; heights are square roots"
    return svg(
        (across + 190, 2 * HALF + 2),
        f"Ops and compute of {counted(depth, 'layer')}",
        f'<g transform="translate({wide / 2:g} 0) scale({wide} 1)" shape-rendering="crispEdges">{"".join(parts)}</g>'
        f'<rect y="{HALF}" width="{across}" height="1" opacity=".5"/>',
        f'<text x="{across + 8}" y="{HALF - 4}">{most}</text>',
        f'<text x="{across + 8}" y="{HALF + 14}">at most {percent(float(share))} of compute</text>',
    ) + aside(note)


def _stacked(parts: np.ndarray) -> np.ndarray:
    """Pixels at which each part of each column ends; shape (columns, parts). Parts share their column's height evenly."""
    parts = parts / max(float(parts.max()), 1e-300)
    ends = np.cumsum(parts, axis=1)
    total = ends[:, -1:]
    share = ends / np.where(total > 0, total, 1.0)
    return np.round(HALF * np.sqrt(total / max(float(total.max()), 1e-300)) * share).astype(int)


def _spans(ends: np.ndarray, part: int) -> list[tuple[int, int, int]]:
    """(column, from, to) of a part in all columns where it can be seen."""
    low = ends[:, part - 1] if part else np.zeros(len(ends), int)
    return [(x, a, b) for x, (a, b) in enumerate(zip(low.tolist(), ends[:, part].tolist(), strict=True)) if b > a]
