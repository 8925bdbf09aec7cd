"""Transfers that shared the links of another one while it was under way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.problem.resource_models import held
from placelab.schedule.schedule import Schedule

MOST = 3  # names in a sentence
ROUNDING = 1e-9


def free_again(schedule: Schedule) -> np.ndarray:
    """When each transfer's port, channel or link is free again [s], shape (n_transfers,): at the latest when it arrives."""
    problem = schedule.problem
    moved = schedule.transfers
    way = (moved["source"], moved["destination"])
    size = problem.graph.tensor_bytes[moved["tensor"]]
    if problem.latency == "holds":
        return frozen(moved["finish"])
    if problem.transfer_model.shared:
        return frozen(moved["finish"] - problem.cluster.latency[way])
    return frozen(moved["start"] + size / problem.cluster.bandwidth[way])  # to the last bit as simulated


def said_of_sharing(schedule: Schedule, rows: np.ndarray) -> dict[int, str]:
    """How much longer than alone transfers took, and who shared their links, to end a sentence, by row of the transfer.

    Transfers that took no longer are left out. A transfer shares a link with others that move bytes over it while it does.
    The link between its two devices comes first, then shared ones by their order in the cluster; producers come by their
    first row of ``schedule.transfers``.

    Parameters
    ----------
    rows
        Rows of ``schedule.transfers`` of which no two are under way at the same time.

    Notes
    -----
    O(n log n) for n transfers, each counted once for each of its links.
    """
    problem = schedule.problem
    moved = schedule.transfers
    if not (problem.transfer_model.shared and len(rows)):
        return {}
    cluster = problem.cluster
    names = problem.graph.names
    way = (moved["source"], moved["destination"])
    alone = cluster.latency[way] + problem.graph.tensor_bytes[moved["tensor"]] / cluster.narrowest[way]
    longer = moved["finish"] - moved["start"] - alone
    rows = rows[longer[rows] > ROUNDING * moved["finish"][rows]]
    begin = moved["start"] + held(problem.latency) * cluster.latency[way]
    end = free_again(schedule) - ROUNDING * schedule.makespan
    asked = np.zeros(len(moved), bool)
    moves = end > begin
    made = problem.graph.tensor_producer[moved["tensor"]]
    asked[rows] = True
    moves[rows] = False
    parts: dict[int, list[str]] = {}
    for link, users in _links(schedule, rows):
        mine = users[asked[users]]
        others = users[moves[users]]
        mine = mine[np.argsort(begin[mine])]
        first = np.searchsorted(end[mine], begin[others], "right")
        last = np.searchsorted(begin[mine], end[others])
        for x, (count, some) in zip(mine.tolist(), _covers(first, last, made[others], len(mine)), strict=True):
            more = f" and {count - MOST} more" if count > MOST else ""
            if count:
                parts.setdefault(x, []).append(f"{', '.join(names[some])}{more} on {link}")
    said = {x: f"{cluster.units.time(float(longer[x]))} longer than alone" for x in parts}
    return {x: f", {said[x]}: shared with {'; with '.join(shared)}" for x, shared in parts.items()}


def _links(schedule: Schedule, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Links of some of these transfers, and all transfers over each, in order; those between two devices come first."""
    cluster = schedule.problem.cluster
    moved = schedule.transfers
    k = cluster.n_devices
    devices = cluster.names
    pair = moved["source"].astype(np.int64) * k + moved["destination"]
    order = np.argsort(pair, kind="stable")
    present, at = np.unique(pair[order], return_index=True)
    by_pair = dict(zip(present.tolist(), np.split(order, at[1:]), strict=True))
    used = set(pair[rows].tolist())
    for p in sorted(used):
        yield f"{devices[p // k]} → {devices[p % k]}", by_pair[p]
    for link in cluster.links:
        pairs = [p for i, j in link.pairs if (p := i * k + j) in by_pair]
        if not used.isdisjoint(pairs):
            yield link.name, np.sort(np.concatenate([by_pair[p] for p in pairs]))


def _covers(first: np.ndarray, last: np.ndarray, owner: np.ndarray, n: int) -> list[tuple[int, np.ndarray]]:
    """For each of n places: how many owners have a range [first, last) over it, and the owners of the foremost ranges."""
    wide = first < last
    first = first[wide]
    last = last[wide]
    owner = owner[wide].astype(np.int64)
    place, item = _foremost(first, last, owner)
    some = np.split(owner[item], np.searchsorted(place, np.arange(1, n)))
    return list(zip(_owners(first, last, owner, n).tolist(), some, strict=True))


def _owners(first: np.ndarray, last: np.ndarray, owner: np.ndarray, n: int) -> np.ndarray:
    """How many owners have a range over each of n places: each range counts from where earlier ones of its owner end."""
    order = np.lexsort((first, owner))
    base = owner[order] * (n + 1)
    reach = np.maximum.accumulate(base + last[order])
    start = np.maximum(first[order], np.append(-1, reach)[:-1] - base)
    return np.cumsum(np.bincount(start, minlength=n + 1) - np.bincount(reach - base, minlength=n + 1))[:n]


def _foremost(first: np.ndarray, last: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the ranges over each place, by place, the foremost ones of :data:`MOST` owners: arrays of places and of ranges.

    A range is two spans of one power of two, which may overlap; spans are halved down to places, and keep the foremost only.
    """
    power = np.frexp(last - first)[1] - 1
    place = item = np.empty(0, np.int64)
    for i in range(int(power.max(initial=-1)), -1, -1):
        own = np.flatnonzero(power == i)
        place = np.concatenate([place, place + (1 << i), first[own], last[own] - (1 << i)])
        item = np.concatenate([item, item, own, own])
        by_item = np.argsort(item, kind="stable")
        place = place[by_item]
        item = item[by_item]
        kept = np.sort(np.unique(place * (owner.max() + 1) + owner[item], return_index=True)[1])  # an owner's foremost
        kept = kept[np.argsort(place[kept], kind="stable")]
        place = place[kept]
        item = item[kept]
        ahead = np.arange(len(place)) - np.searchsorted(place, place) < MOST
        place = place[ahead]
        item = item[ahead]
    return place, item
