"""How much the devices and links of a schedule are used: seconds, and bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.schedule.critical_steps import free_again
from placelab.schedule.schedule import Schedule, busy_time


class LinkUse(NamedTuple):
    """What one link carries.

    Attributes
    ----------
    name : str
        Of a link that transfers of several pairs of devices share; "" of the way from one device to another.
    pairs : frozenset of (source, destination)
        Names of the devices between which it carries.
    busy : float
        Seconds in which something is on it; transfers at the same time count once.
    carried : float
        Bytes.
    """

    name: str
    pairs: frozenset[tuple[str, str]]
    busy: float
    carried: float


def device_use(schedule: Schedule) -> dict[str, tuple[float, float, float]]:
    """Of each device by its name: seconds in which it runs ops and Sends, those of the makespan in which it does not, and the
    bytes in use at most."""
    busy = busy_time(schedule)
    idle = np.maximum(schedule.makespan - busy, 0.0)
    each = zip(busy.tolist(), idle.tolist(), schedule.peak_memory.tolist(), strict=True)
    return dict(zip(schedule.problem.cluster.names, each, strict=True))


def link_use(schedule: Schedule) -> list[LinkUse]:
    """The links that carry something: those that are shared, under a model that has them, then ways between two devices."""
    cluster = schedule.problem.cluster
    names = cluster.names
    k = cluster.n_devices
    moved = schedule.transfers
    way = moved["source"].astype(np.int64) * k + moved["destination"]
    size = schedule.problem.graph.tensor_bytes[moved["tensor"]]
    until = free_again(schedule)
    used = []
    alone = np.ones(len(way), bool)
    for link in cluster.links if schedule.problem.transfer_model.shared else ():
        ours = np.isin(way, [source * k + target for source, target in link.pairs])
        alone &= ~ours
        if ours.any():
            (busy,) = covered(np.zeros(int(ours.sum()), np.int64), moved["start"][ours], until[ours], 1)
            pairs = frozenset((names[source], names[target]) for source, target in link.pairs)
            used.append(LinkUse(link.name, pairs, float(busy), float(size[ours].sum())))
    ways, of = np.unique(way[alone], return_inverse=True)
    busy = covered(of, moved["start"][alone], until[alone], len(ways))
    total = np.bincount(of, size[alone], minlength=len(ways))
    for number, seconds, carried in zip(ways.tolist(), busy.tolist(), total.tolist(), strict=True):
        source, target = divmod(number, k)
        used.append(LinkUse("", frozenset({(names[source], names[target])}), seconds, carried))
    return used


def link_load(schedule: Schedule) -> np.ndarray:
    """Share of the makespan in which each link is busy, shape (n_devices, n_devices); overlapping transfers count once."""
    k = schedule.problem.cluster.n_devices
    moved = schedule.transfers
    way = moved["source"].astype(np.int64) * k + moved["destination"]
    busy = covered(way, moved["start"], free_again(schedule), k * k).reshape(k, k)
    return busy / schedule.makespan if schedule.makespan else busy


def covered(key: np.ndarray, start: np.ndarray, finish: np.ndarray, n: int) -> np.ndarray:
    """Seconds that the spans of each of `n` keys cover together, shape (n,); where some overlap, they count once."""
    order = np.lexsort((start, key))
    key, start, finish = key[order], start[order], finish[order]
    apart = key * (
        2.0 * finish.max(initial=0.0)
    )  # shifts the keys behind each other, so that one running maximum serves all
    until = np.maximum.accumulate(finish + apart)[:-1] if len(key) else finish
    begin = np.maximum(start, np.concatenate([[0.0], until])[: len(key)] - apart)
    return np.bincount(key, np.maximum(finish - begin, 0.0), minlength=n)
