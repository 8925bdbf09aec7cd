"""A cluster as it shows itself at the end of a notebook cell: devices in their hosts, and the bandwidth between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from placelab.base.units import Units
from placelab.pictures.cells.markup import LINE, amount, aside, counted, picture, table, text
from placelab.pictures.kind_colours import PALETTE
from placelab.problem.cluster import Cluster

DEVICES = 16  # each drawn by itself up to this number
BOXES, LINES = 16, 12  # hosts drawn, lines of devices in one; shared links listed
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
    bandwidth, latency = (
        _range(cluster.bandwidth[between], "B/s", cluster.units),
        _range(cluster.latency[between], "s", cluster.units),
    )
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
