"""The realised critical path of a schedule, as an array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.kernels import explain as kernels
from placelab.kernels.blocks import Predecessors
from placelab.problem.graph import OpGraph
from placelab.problem.resource_models import held
from placelab.schedule.schedule import Schedule, carried

STEP = np.dtype([("kind", "u1"), ("row", "i4"), ("start", "f8"), ("finish", "f8"), ("cause", "u1"), ("by", "i4")])


@once
def critical_steps(schedule: Schedule) -> np.ndarray:
    """Realised critical path (:func:`placelab.critical_path`) in order of time, without a Python object per op.

    Returns
    -------
    structured ndarray
        ``kind`` (0 op, 1 transfer, 2 wait), ``row`` (op; transfer; op that waited), ``start``, ``finish`` [s],
        ``cause`` (of a wait: 0 memory, 1 an op, 2 a Send, 3 a transfer; of a transfer: 2 its Send), ``by`` (that op
        or transfer).
    """
    return StepsBack(schedule).to(int(np.argmax(schedule.finish)))


class StepsBack:
    """Walks from ops of a schedule back to time 0, through what each of them waited for."""

    def __init__(self, schedule: Schedule) -> None:
        items = items_run(schedule)
        n = len(items.start)
        x = len(schedule.transfers)
        before = np.zeros(n, np.int32)
        kernels.link_items(items, np.full(schedule.problem.cluster.n_devices, -1, np.int32), before)
        self._given = (items, inputs(schedule.problem.graph), carried(schedule), _moved(schedule))
        self._walk = kernels.Walk(before, np.zeros(n + x, np.int32))
        self._walks = 0
        kinds = (np.uint8, *3 * (np.int32,), *2 * (np.float64,))
        self._found = kernels.PathSteps(*(np.zeros(2 * (n + x) + 2, kind) for kind in kinds))

    none = frozen(np.empty(0, STEP))  # no way

    def to(self, op: int) -> np.ndarray:
        """The way to op number `op`, which is its last step, as :func:`critical_steps` has it."""
        self._walks += 1
        count = kernels.walk_back(op, self._walks, *self._given, self._walk, self._found)
        steps = np.empty(count, STEP)
        for label, column in zip(("kind", "row", "cause", "by", "start", "finish"), self._found, strict=True):
            steps[label] = column[:count][::-1]
        return frozen(steps)


def inputs(graph: OpGraph) -> Predecessors:
    """Edges by consumer."""
    return Predecessors(graph.pred_ptr, graph.pred_edge, graph.producer, graph.edge_bytes, graph.edge_tensor)


@once
def items_run(schedule: Schedule) -> kernels.Items:
    """What devices ran: ops and Sends."""
    sends = schedule.sends
    start = schedule.start
    finish = schedule.finish
    place = schedule.device
    if len(sends):
        start = np.concatenate([start, sends["start"]])
        finish = np.concatenate([finish, sends["finish"]])
        place = np.concatenate([place, sends["source"]])
    columns = map(frozen, (start, finish, place, np.argsort(start, kind="stable").astype(np.int32)))
    return kernels.Items(schedule.problem.graph.n_ops, *columns)


def _moved(schedule: Schedule) -> kernels.Moved:
    """Transfers, and what they may have waited for."""
    problem = schedule.problem
    moved = schedule.transfers
    ends = problem.transfer_model.occupied(moved["source"], moved["destination"], problem.cluster, problem.duplex)
    free = free_again(schedule)
    nothing = np.empty(0)
    first, last, by_free = (
        frozen(column.astype(np.int32))
        for column in ((ends[0], ends[-1], np.argsort(free)) if ends else (nothing, nothing, nothing))
    )
    made_by = frozen(problem.graph.tensor_producer[moved["tensor"]])
    return kernels.Moved(made_by, frozen(moved["start"]), first, last, free, by_free)


# --------------------------------------------------------- transfers that shared the links of another one while it was under way

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
