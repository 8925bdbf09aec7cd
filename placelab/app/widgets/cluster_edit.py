"""The arrangement of a cluster on the canvas, and what edits mean. Pure functions.

Links of a moved device
-----------------------
A moved device gets the median of its new host's links: to a device of that host the median of the links which the other
devices there have to it, to any other device the median of the links which the devices of the host have to it. A device on a
host of its own gets the median of the links which other hosts have to each device. Medians are exact where the links of a
class are equal, as in every preset but `mayer50`. Where the cluster has no link of the class needed, as when a device leaves
the only host, the device's present link is scaled: a link between hosts has a tenth of the bandwidth of one inside a host and
twice its latency.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from placelab.app.widgets.commands import DRAG, read
from placelab.base.errors import PlacelabError
from placelab.problem.cluster import Cluster, SharedLink, links_among, with_bandwidth


@dataclass(frozen=True)
class Layout:
    """The arrangement of a cluster's cards.

    Parameters
    ----------
    order
        Device numbers in the order of their cards. Hosts are drawn in the order of their first card, and the cards of a
        host fill its box row by row; so one permutation is the whole arrangement, at every width of the canvas.
    view
        ``graph`` draws the links, ``grid`` the bandwidth matrix; ``auto`` is ``graph`` for up to ten devices.
    """

    order: tuple[int, ...]
    view: str = "auto"

    @classmethod
    def of(cls, cluster: Cluster) -> Layout:
        """Cards in the order of the devices."""
        return cls(tuple(range(cluster.n_devices)))

    def insert(self, device: int, after: int | None) -> Layout:
        """Add a device, the last by number, with its card behind that of `after` (None: at the end)."""
        at = len(self.order) if after is None else self.order.index(after) + 1
        return replace(self, order=(*self.order[:at], device, *self.order[at:]))

    def remove(self, device: int) -> Layout:
        """Remove a device; the numbers above it decrease by one."""
        return replace(self, order=tuple(d - (d > device) for d in self.order if d != device))

    def last(self, device: int) -> Layout:
        """Move the card of `device` behind all others."""
        return replace(self, order=(*(d for d in self.order if d != device), device))

    def move(self, hosts: tuple[str, ...], device: int, slot: int | None) -> Layout:
        """Move the card of `device` to place `slot` among those of its host (None or too large: the last)."""
        others = [d for d in self.order if d != device]
        mates = [d for d in others if hosts[d] == hosts[device]]
        if not mates:
            return self
        if slot is None or slot >= len(mates):
            at = others.index(mates[-1]) + 1
        else:
            at = others.index(mates[max(slot, 0)])
        return replace(self, order=(*others[:at], device, *others[at:]))


def describe(cluster: Cluster, layout: Layout) -> dict[str, Any]:
    """The `cluster` trait of the canvas: plain JSON, SI units, None for unlimited.

    ``devices`` (name, type, host, speed, memory) and the ``bandwidth`` and ``latency`` matrices are in the order of the
    devices, 0 on the diagonal of both; ``order`` and ``view`` are those of the layout; ``unitless``: all are plain
    numbers (:attr:`Cluster.units`); ``shared``, where there are any, are the links of several pairs of devices.
    """
    columns = {
        "name": cluster.names,
        "type": cluster.types,
        "host": cluster.hosts,
        "speed": cluster.speed.tolist(),
        "memory": _finite(cluster.memory),
    }
    return {
        "devices": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "bandwidth": [_finite(row) for row in np.where(np.eye(cluster.n_devices, dtype=bool), 0.0, cluster.bandwidth)],
        "latency": cluster.latency.tolist(),
        "order": list(layout.order),
        "view": layout.view,
        "unitless": not cluster.units.si,
        **({"shared": [_described_link(link) for link in cluster.links]} if cluster.links else {}),
    }


def _described_link(link: SharedLink) -> dict[str, Any]:
    return {"name": link.name, "bandwidth": link.bandwidth, "pairs": [list(pair) for pair in link.pairs]}


def _finite(values: np.ndarray) -> list[float | None]:
    return [None if np.isinf(value) else value for value in values.tolist()]


State = tuple[Cluster, Layout]

INSIDE_OVER_BETWEEN = {"bandwidth": 10.0, "latency": 0.5}  # see the module's docstring


def apply(cluster: Cluster, layout: Layout, edit: Mapping[str, Any]) -> State:
    """The cluster and its layout after one edit.

    Parameters
    ----------
    edit
        ``kind`` and the fields that :data:`placelab.app.widgets.commands.EDITS` lists; devices are numbers, units are SI, None is
        unlimited:

        ============ =================================================
        kind         does
        ============ =================================================
        speed        operations/s
        memory       bytes
        bandwidth    bytes/s of ordered pairs [from, to], set or scaled
        latency      seconds of ordered pairs, set or scaled
        shared       bytes/s of a shared link, by its name, set or scaled
        move         another place among the cards of its host
        host         another host, or one of its own
        add          a device like the host's last, there or on its own
        copy         a device with the same links
        view         how the cluster is drawn
        ============ =================================================

    Raises
    ------
    PlacelabError
        The edit is refused; the message is one sentence.
    """
    kind, fields = read(edit)
    if kind not in KINDS:
        raise PlacelabError(f"a cluster has no edit {kind!r}; there are {', '.join(KINDS)}")
    if not 0 <= fields.get("device", 0) < cluster.n_devices:
        raise PlacelabError(f"there is no device number {fields['device']}; the cluster has {cluster.n_devices}")
    return KINDS[kind](cluster, layout, **{name: value for name, value in fields.items() if f"{name}?" not in DRAG})


def _speed(cluster: Cluster, layout: Layout, device: int, value: float) -> State:
    return cluster.replace(speed=_put(cluster.speed, device, value)), layout


def _memory(cluster: Cluster, layout: Layout, device: int, value: float | None) -> State:
    return cluster.replace(memory=_put(cluster.memory, device, math.inf if value is None else value)), layout


def _bandwidth(cluster: Cluster, layout: Layout, **change: Any) -> State:
    return cluster.replace(bandwidth=_links(cluster, cluster.bandwidth, **change)), layout


def _latency(cluster: Cluster, layout: Layout, **change: Any) -> State:
    return cluster.replace(latency=_links(cluster, cluster.latency, **change)), layout


def _shared(
    cluster: Cluster, layout: Layout, link: str, value: float | None = None, factor: float | None = None
) -> State:
    now = next((each for each in cluster.links if each.name == link), None)
    if now is None:
        raise PlacelabError(f"no shared link is called {repr(link)[:80]}; the cluster has {len(cluster.links)}")
    if factor is not None:
        value = now.bandwidth * factor
    if value is None:
        raise PlacelabError(f"shared link {link!r} needs a bandwidth: it cannot be unlimited")
    return cluster.replace(links=with_bandwidth(cluster.links, link, value)), layout


def _move(cluster: Cluster, layout: Layout, device: int, slot: int | None = None) -> State:
    return cluster, layout.move(cluster.hosts, device, slot)


def _host(cluster: Cluster, layout: Layout, device: int, host: str | None, slot: int | None = None) -> State:
    alone = cluster.hosts.count(cluster.hosts[device]) == 1
    if host == cluster.hosts[device] or (host is None and alone):
        return _move(cluster, layout, device, slot)
    if host is None:
        return rehost(cluster, device, _new_host(cluster)), layout.last(device)
    return _move(rehost(cluster, device, _known_host(cluster, host)), layout, device, slot)


def _add(cluster: Cluster, layout: Layout, host: str | None) -> State:
    on_host = [d for d in layout.order if cluster.hosts[d] == _known_host(cluster, host)] if host is not None else []
    like = (on_host or layout.order)[-1]
    device = cluster.n_devices
    cluster = rehost(_twin(cluster, like), device, _new_host(cluster) if host is None else host)
    return cluster, layout.insert(device, on_host[-1] if on_host else None)


def _copy(cluster: Cluster, layout: Layout, device: int) -> State:
    return _twin(cluster, device), layout.insert(cluster.n_devices, device)


def _remove(cluster: Cluster, layout: Layout, device: int) -> State:
    if cluster.n_devices == 1:
        raise PlacelabError(f"{cluster.names[0]!r} is the last device and a cluster needs one; add another first")
    keep = np.arange(cluster.n_devices) != device
    return _take(cluster, np.flatnonzero(keep)), layout.remove(device)


def _rename(cluster: Cluster, layout: Layout, device: int, name: str) -> State:
    name = _name(name, f"device {cluster.names[device]!r}")
    return cluster.replace(names=_put(cluster.names, device, name)), layout


def _rename_host(cluster: Cluster, layout: Layout, host: str, name: str) -> State:
    name = _name(name, f"host {_known_host(cluster, host)!r}")
    if name in cluster.hosts and name != host:
        raise PlacelabError(f"another host is called {name!r}; drag devices there to join the two")
    return cluster.replace(hosts=[name if h == host else h for h in cluster.hosts]), layout


def _view(cluster: Cluster, layout: Layout, view: str) -> State:
    return cluster, replace(layout, view=view)


KINDS: dict[str, Callable[..., State]] = {
    "speed": _speed,
    "memory": _memory,
    "bandwidth": _bandwidth,
    "latency": _latency,
    "shared": _shared,
    "move": _move,
    "host": _host,
    "add": _add,
    "copy": _copy,
    "remove": _remove,
    "rename": _rename,
    "rename_host": _rename_host,
    "view": _view,
}


def rehost(cluster: Cluster, device: int, host: str) -> Cluster:
    """Move `device` to `host`, with the links of that host (see the module's docstring).

    Examples
    --------
    >>> two = Cluster.from_hosts({"a": 2, "b": 2}, inside=(300e9, 5e-6), between=(12e9, 50e-6))
    >>> rehost(two, 0, "b").bandwidth[0, 1:].tolist()
    [12000000000.0, 300000000000.0, 300000000000.0]
    """
    *hosts, to = np.unique([*cluster.hosts, host], return_inverse=True)[1]
    now = np.array(hosts)
    links = {label: _attach(getattr(cluster, label), now, device, to, label) for label in INSIDE_OVER_BETWEEN}
    return cluster.replace(hosts=_put(cluster.hosts, device, host), **links)


def _attach(matrix: np.ndarray, hosts: np.ndarray, device: int, host: int, label: str) -> np.ndarray:
    """Give `device` the links of `host` in both directions; hosts are numbers here."""
    matrix = matrix.copy()
    others = np.arange(len(hosts)) != device
    peers = np.flatnonzero(others & (hosts == host))
    for view in (matrix, matrix.T):  # row `device` of the transposed view: the links into the device
        view[device, others] = [
            _link(view, hosts, others, device, peers, x, label) for x in np.flatnonzero(others).tolist()
        ]
    return matrix


def _link(
    matrix: np.ndarray, hosts: np.ndarray, others: np.ndarray, device: int, peers: np.ndarray, x: int, label: str
) -> float:
    """The link of a device moved to the host of `peers` to device `x`."""
    now = matrix[device, x]
    was_inside = hosts[x] == hosts[device]
    ratio = INSIDE_OVER_BETWEEN[label]
    if x in peers:
        inside = others[:, None] & others & (hosts[:, None] == hosts) & ~np.eye(len(hosts), dtype=bool)
        return _median(matrix[peers[peers != x], x], matrix[inside], now if was_inside else now * ratio)
    return _median(matrix[peers, x], matrix[others & (hosts != hosts[x]), x], now / ratio if was_inside else now)


def _median(*candidates: np.ndarray | float) -> float:
    """The median of the first candidate that is not empty."""
    return next(float(np.median(values)) for values in candidates if np.size(values))


def _twin(cluster: Cluster, like: int) -> Cluster:
    """Add a device, the last, with the type, host, speed, memory and links of `like`.

    The link between the two is the median of the links inside their host.
    """
    device = cluster.n_devices
    twin = _take(cluster, np.append(np.arange(device), like), _new_name(cluster.names, cluster.names[like]))
    hosts = np.array(cluster.hosts, dtype=object)
    mates = np.flatnonzero((hosts == hosts[like]) & (np.arange(device) != like))
    links = {}
    for label, ratio in INSIDE_OVER_BETWEEN.items():
        matrix = getattr(twin, label).copy()
        old = getattr(cluster, label)
        same = (hosts[:, None] == hosts) & ~np.eye(device, dtype=bool)
        outward = np.concatenate([old[like, mates], old[mates, like]])
        fallback = float(np.median(old[like, np.arange(device) != like])) * ratio if device > 1 else _ONLY[label]
        matrix[like, device] = matrix[device, like] = _median(outward, old[same], fallback)
        links[label] = matrix
    return twin.replace(**links)


# Of a cluster of one device, which has no link to copy: those of Cluster.uniform.
_ONLY = {"bandwidth": 12e9, "latency": 50e-6}


def _take(cluster: Cluster, devices: np.ndarray, new_name: str | None = None) -> Cluster:
    """The cluster of these devices in this order; `new_name` renames the last, which may be listed twice."""
    square = np.ix_(devices, devices)
    names = [cluster.names[d] for d in devices]
    return Cluster(
        speed=cluster.speed[devices],
        memory=cluster.memory[devices],
        bandwidth=cluster.bandwidth[square],
        latency=cluster.latency[square],
        names=names if new_name is None else [*names[:-1], new_name],
        types=[cluster.types[d] for d in devices],
        hosts=[cluster.hosts[d] for d in devices],
        links=links_among(cluster.links, devices),
    )


def _links(
    cluster: Cluster, matrix: np.ndarray, pairs: Any, value: float | None = None, factor: float | None = None
) -> np.ndarray:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    source, target = ends.T
    if (ends < 0).any() or (ends >= cluster.n_devices).any() or (source == target).any():
        raise PlacelabError("there is no such link: a link joins two different devices of the cluster")
    matrix = matrix.copy()
    if factor is not None:
        matrix[source, target] *= factor
    else:
        matrix[source, target] = math.inf if value is None else value
    return matrix


def _name(name: str, of: str) -> str:
    if not name.strip() or len(name) > 80:
        raise PlacelabError(f"{of} needs a name of 1 to 80 characters")
    return name.strip()


def _known_host(cluster: Cluster, host: str) -> str:
    if host not in cluster.hosts:
        raise PlacelabError(f"no host is called {host!r}; there are {', '.join(dict.fromkeys(cluster.hosts))}")
    return host


def _new_host(cluster: Cluster) -> str:
    return next(name for i in range(cluster.n_devices + 1) if (name := f"host{i}") not in cluster.hosts)


def _new_name(names: Sequence[str], like: str) -> str:
    """`like` with the number at its end replaced by the next free one: gpu:4 after gpu:0 … gpu:3, "tpu 2" after tpu."""
    stem = re.sub(r"\d+$", "", like)
    if stem == like:
        stem = f"{like} "
    numbers = [int(found[1]) for n in names if (found := re.fullmatch(re.escape(stem) + r"(\d{1,9})", n))]
    return f"{stem}{max(numbers, default=1) + 1}"


def _put(values: Any, index: int, value: Any) -> Any:
    """A copy with one entry replaced."""
    copy = list(values)
    copy[index] = value
    return copy
