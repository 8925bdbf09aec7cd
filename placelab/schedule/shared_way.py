"""Transfers that shared the links of another one while it was under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.problem.resource_models import held

if TYPE_CHECKING:
    from placelab.schedule.schedule import Schedule

MOST = 3  # names in a sentence
ROUNDING = 1e-9


def free_again(schedule: Schedule) -> np.ndarray:
    """When each transfer's port, channel or link is free again [s], shape (n_transfers,): at the latest when it arrives."""
    problem, moved = schedule.problem, schedule.transfers
    way, size = (moved["source"], moved["destination"]), problem.graph.tensor_bytes[moved["tensor"]]
    if problem.latency == "holds":
        return frozen(moved["finish"])
    if problem.transfer_model.shared:
        return frozen(moved["finish"] - problem.cluster.latency[way])
    return frozen(moved["start"] + size / problem.cluster.bandwidth[way])  # to the last bit as simulated


def sharers(schedule: Schedule, x: int) -> dict[str, np.ndarray]:
    """Other transfers that moved bytes over a link of transfer `x` while it did, by link: rows of ``schedule.transfers``.

    The link between its two devices comes first, then shared ones by their order in the cluster; those that nobody shared are
    left out, and where transfers do not share links, all. O(transfers · links).
    """
    problem, moved = schedule.problem, schedule.transfers
    if not problem.transfer_model.shared:
        return {}
    cluster, k = problem.cluster, problem.cluster.n_devices
    begin = moved["start"] + held(problem.latency) * cluster.latency[moved["source"], moved["destination"]]
    end = free_again(schedule) - ROUNDING * schedule.makespan
    meets = (begin < end[x]) & (end > begin[x]) & (end > begin)
    meets[x] = False
    pair = moved["source"].astype(np.int64) * k + moved["destination"]
    source, destination = int(moved["source"][x]), int(moved["destination"][x])
    ways = {f"{cluster.names[source]} → {cluster.names[destination]}": pair == pair[x]}
    for link in cluster.links:
        if (source, destination) in link.pairs:
            ways[link.name] = np.isin(pair, np.array(link.pairs) @ [k, 1])
    found = {name: np.flatnonzero(meets & uses) for name, uses in ways.items()}
    return {name: rows for name, rows in found.items() if len(rows)}


def said_of_sharing(schedule: Schedule, x: int) -> str:
    """How much longer than alone transfer `x` took, and who shared its links, to end a sentence; "" if it was no longer."""
    problem, moved = schedule.problem, schedule.transfers[x]
    shared = sharers(schedule, x)
    if not shared:
        return ""
    cluster, tensor, way = problem.cluster, int(moved["tensor"]), (moved["source"], moved["destination"])
    alone = cluster.latency[way] + problem.graph.tensor_bytes[tensor] / cluster.narrowest[way]
    longer = float(moved["finish"] - moved["start"] - alone)
    if longer <= ROUNDING * moved["finish"]:
        return ""
    made = problem.graph.names[problem.graph.tensor_producer[schedule.transfers["tensor"]]]
    parts = [f"{_names(made[rows])} on {link}" for link, rows in shared.items()]
    return f", {cluster.units.time(longer)} longer than alone: shared with {'; with '.join(parts)}"


def _names(made: np.ndarray) -> str:
    names = list(dict.fromkeys(made.tolist()))
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
