"""The arrangement of a cluster on the canvas: the order of its cards, and the kind of drawing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from placelab.base.errors import PlacelabError
from placelab.problem.cluster import Cluster
from placelab.problem.shared_links import SharedLink

VIEWS = ("auto", "graph", "grid")


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

    def show(self, view: str) -> Layout:
        """The same order in another kind of drawing."""
        if view not in VIEWS:
            raise PlacelabError(f"no drawing of a cluster is called {view!r}; there are {', '.join(VIEWS)}")
        return replace(self, view=view)

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
        **({"shared": [_shared(link) for link in cluster.links]} if cluster.links else {}),
    }


def _shared(link: SharedLink) -> dict[str, Any]:
    return {"name": link.name, "bandwidth": link.bandwidth, "pairs": [list(pair) for pair in link.pairs]}


def _finite(values: np.ndarray) -> list[float | None]:
    return [None if np.isinf(value) else value for value in values.tolist()]
