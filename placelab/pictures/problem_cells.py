"""Cluster, graph and problem as they show themselves at the end of a notebook cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from placelab.base.units import PLAIN, SI, Units
from placelab.costs.new_costs import counts_plainly
from placelab.pictures.style import (
    LINE,
    PALETTE,
    amount,
    aside,
    bar,
    counted,
    kind_colours,
    kind_numbers,
    legend,
    percent,
    picture,
    side_by_side,
    svg,
    swatch,
    table,
    text,
)
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import LATENCIES

DEVICES = 16  # each drawn by itself up to this number
BOXES = 16  # hosts drawn
LINES = 12  # lines of devices in one
PAIRS = 6  # of a shared link that are named
Group = tuple[str, float, float]  # type, speed, memory


def show_cluster(cluster: Cluster) -> str:
    """The cluster as HTML, at most 100 KB. O(devices²)."""
    hosts = len(set(cluster.hosts))
    with np.errstate(over="ignore"):
        speed = amount(float(cluster.speed.sum()), "FLOP/s", cluster.units)
    facts = counted(hosts, "host"), f"{speed} in all", _links(cluster)
    return picture(
        counted(cluster.n_devices, "device"), facts, cluster_drawing(cluster), _bandwidths(cluster), _shared(cluster)
    )


def cluster_drawing(cluster: Cluster) -> str:
    """Hosts as boxes with their devices; equal devices and equal hosts together where there are many."""
    boxes = _each(cluster) if cluster.n_devices <= DEVICES else _grouped(cluster)
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px;margin:6px 0">{"".join(boxes)}</div>'


def _each(cluster: Cluster) -> Iterator[str]:
    fastest = cluster.speed.max()
    for host in dict.fromkeys(cluster.hosts):
        cards = [
            _card(
                f"<b>{text(cluster.names[d], 24)}</b>",
                "" if cluster.types[d] in (cluster.names[d], "device") else text(cluster.types[d], 24),
                amount(cluster.speed[d], "FLOP/s", cluster.units),
                f"{_meter(cluster.speed[d] / fastest)}{_memory(cluster.memory[d], cluster.units)}",
            )
            for d in range(cluster.n_devices)
            if cluster.hosts[d] == host
        ]
        yield _box(text(host, 40), cards)


def _grouped(cluster: Cluster) -> Iterator[str]:
    alike: dict[tuple[tuple[Group, int], ...], list[str]] = {}
    devices = zip(cluster.hosts, cluster.types, cluster.speed.tolist(), cluster.memory.tolist(), strict=True)
    of_host: dict[str, Counter[Group]] = {}
    for host, *group in devices:
        of_host.setdefault(host, Counter())[tuple(group)] += 1
    for host, groups in of_host.items():
        by_speed = sorted(groups.items(), key=lambda entry: -entry[0][1])
        alike.setdefault(tuple(by_speed), []).append(host)
    for lot, hosts in list(alike.items())[:BOXES]:
        lines = [
            _card(
                f"<b>{n:,} × {text(kind, 24)}</b>",
                amount(speed, "FLOP/s", cluster.units),
                _memory(memory, cluster.units),
            )
            for (kind, speed, memory), n in lot[:LINES]
        ]
        if len(lot) > LINES:
            lines.append(_card(f"{len(lot) - LINES:,} more kinds of device"))
        many = f"{len(hosts):,} hosts: {text(hosts[0], 16)} … {text(hosts[-1], 16)}"
        yield _box(many if len(hosts) > 1 else text(hosts[0], 40), lines)
    if len(alike) > BOXES:
        yield _box("", [_card(counted(sum(map(len, list(alike.values())[BOXES:])), "more host"))])


def _box(title: str, cards: Iterable[str]) -> str:
    head = aside(title) if title else ""
    inside = "".join(cards)
    return (
        f'<div style="border:{LINE};border-radius:6px;padding:4px 8px 6px">{head}'
        f'<div style="display:flex;flex-wrap:wrap;gap:6px">{inside}</div></div>'
    )


def _card(*lines: str) -> str:
    return (
        '<div style="background:rgba(128,128,128,.12);border-radius:4px;padding:2px 8px;font-size:12px">'
        + "".join(f"<div>{line}</div>" for line in lines if line)
        + "</div>"
    )


def _meter(share: float) -> str:
    """A device's speed against the fastest one's, as a bar."""
    return f'<div style="height:3px;width:{max(round(80 * share), 1)}px;background:{PALETTE[0]}"></div>'


def _memory(size: float, written: Units) -> str:
    return amount(size, "B", written) if np.isfinite(size) else "unlimited memory"


def _links(cluster: Cluster) -> str:
    """Bandwidth and latency between devices: one value, or the least and the greatest."""
    if cluster.n_devices == 1:
        return "no links"
    between = ~np.eye(cluster.n_devices, dtype=bool)
    bandwidth = _range(cluster.bandwidth[between], "B/s", cluster.units)
    latency = _range(cluster.latency[between], "s", cluster.units)
    return f"links {bandwidth}, {'' if cluster.units.si else 'latency '}{latency}"


def _range(values: np.ndarray, unit: str, written: Units) -> str:
    """Least and greatest value, once where they read the same."""
    low, high = (written.time(v) if unit == "s" else amount(v, unit, written) for v in (values.min(), values.max()))
    return low if low == high else f"{low} – {high}"


def _bandwidths(cluster: Cluster) -> str:
    """Bandwidths from row to column, of devices, or where there are many of hosts; nothing where the heading says it all."""
    k = cluster.n_devices
    apart = ~np.eye(k, dtype=bool)
    hosts = {host: i for i, host in enumerate(dict.fromkeys(cluster.hosts))}
    if k == 1 or all((m[apart] == m[apart][0]).all() for m in (cluster.bandwidth, cluster.latency)):
        return ""
    if k <= DEVICES:
        return _heat(cluster, cluster.names, np.arange(k))
    if len(hosts) == 1:
        return ""
    part = np.array([hosts[host] for host in cluster.hosts])
    if len(hosts) <= DEVICES:
        return _heat(cluster, tuple(hosts), part)
    same = part[:, None] == part
    ways = (("within a host", same & apart), ("between hosts", ~same))
    rows = [
        (way, _range(cluster.bandwidth[m], "B/s", cluster.units), _range(cluster.latency[m], "s", cluster.units))
        for way, m in ways
        if m.any()
    ]
    return table(("links", "bandwidth", "latency"), rows)


def _shared(cluster: Cluster) -> str:
    """Links that several pairs of devices share, with the first of these pairs; nothing where there are none."""
    if not cluster.links:
        return ""
    rows = []
    for link in cluster.links[:LINES]:
        named = [" → ".join(text(cluster.names[d], 20) for d in pair) for pair in link.pairs[:PAIRS]]
        more = f" and {len(link.pairs) - PAIRS:,} more" if len(link.pairs) > PAIRS else ""
        rows.append((text(link.name, 40), amount(link.bandwidth, "B/s", cluster.units), ", ".join(named) + more))
    more = aside(counted(len(cluster.links) - LINES, "more shared link")) if len(cluster.links) > LINES else ""
    return table(("shared link", "bandwidth", "used between"), rows) + more


def _heat(cluster: Cluster, names: Sequence[str], part: np.ndarray) -> str:
    """Bandwidths between parts of the cluster, darker where they are greater; latency in the tooltip."""
    members = [np.flatnonzero(part == i) for i in range(len(names))]
    labels = [text(name, 20) for name in names]
    low, high = _least_and_greatest(cluster)
    rows = []
    for i, a in enumerate(members):
        cells = [f"<b>{labels[i]}</b>"]
        for j, b in enumerate(members):
            pairs = np.ix_(a, b)
            links = a[:, None] != b
            if not links.any():
                cells.append("–")
                continue
            width = cluster.bandwidth[pairs][links]
            shade = (np.log(min(width.min(), high)) - low) / max(np.log(high) - low, 1e-12)
            tip = f"{labels[i]} → {labels[j]}: {_range(cluster.latency[pairs][links], 's', cluster.units)}"
            style = f"display:block;padding:0 4px;background:{_shaded(shade)}"
            cells.append(f'<span title="{tip}" style="{style}">{_range(width, "B/s", cluster.units)}</span>')
        rows.append(cells)
    return table(("from \\ to", *labels), rows, numbers=range(1, len(names) + 1), padding=2)


def _least_and_greatest(cluster: Cluster) -> tuple[float, float]:
    """Logarithm of the least bandwidth, and the greatest finite one."""
    values = cluster.bandwidth[np.isfinite(cluster.bandwidth)]
    return (float(np.log(values.min())), float(values.max())) if len(values) else (0.0, 1.0)


def _shaded(share: float) -> str:
    """A translucent colour on which the page's text can be read, light or dark."""
    return f"rgba(0,114,178,{0.08 + 0.42 * float(np.clip(share, 0, 1)):.2f})"


KINDS = 8  # rows of the table of kinds
COLUMNS = 180  # columns of the drawing of layers
PIXELS = 720  # its width
HALF = 44  # height of each half


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
    depth = int(layer.max()) + 1
    width = int(np.bincount(layer).max())
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
    count = np.bincount(index, minlength=len(kinds))
    written = graph_units(graph)
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
    up = _stacked(ops)
    down = _stacked(work)
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


def show_problem(problem: Problem) -> str:
    """The problem as HTML, at most 100 KB. O(ops · devices + edges)."""
    graph = problem.graph
    cluster = problem.cluster
    facts = counted(graph.n_ops, "op"), *_alone(problem)
    return picture(
        f"{text(graph.title)} on {counted(cluster.n_devices, 'device')}",
        facts,
        side_by_side(
            table(("graph", ""), graph_rows(graph, layers(graph), cluster.units)), table(("rules", ""), _rules(problem))
        ),
        cluster_drawing(cluster),
    )


def _alone(problem: Problem) -> Iterator[str]:
    """Time of all ops on the best device alone, memory aside."""
    total = problem.cost_table.sum(axis=0)[problem.column] / problem.divisor
    if problem.runs_all.any():
        best = int(np.argmin(np.where(problem.runs_all, total, np.inf)))
        yield f"{problem.cluster.units.time(float(total[best]))} on {text(problem.cluster.names[best], 24)} alone"


def _rules(problem: Problem) -> Iterator[tuple[str, str]]:
    memory = problem.memory_model
    transfers = problem.transfer_model
    yield "memory", f"{memory.name}: {memory.about}"
    one_way = ", duplex" if problem.duplex and transfers.duplex else ""
    yield "transfers", f"{transfers.name}{one_way}: {transfers.about}"
    if problem.latency != "holds":
        yield "latency", f"{problem.latency}: {LATENCIES[problem.latency]}"
    if problem.transfer_ops:
        yield "Send, Receive", f"ops of {amount(problem.transfer_ops, 'FLOP', problem.cluster.units)} each"
    if problem.n_groups:
        largest = int(np.diff(problem.group_ptr).max())
        yield "colocation", f"{counted(problem.n_groups, 'group')}, the largest of {counted(largest, 'op')}"
    if problem.restricted:
        free = problem.may_run.sum(axis=1)
        yield "only some devices", counted(int((free < problem.cluster.n_devices).sum()), "op")
        yield "only one device", counted(int((free == 1).sum()), "op")
