"""Bytes that transfers get when they share links max-min fairly, from their times alone: what the validator compares with.

Nothing here is shared with the simulator. No run is followed: all spans between two begins or ends are looked at together, as
rows of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.problem.cluster import Cluster

ENTRIES = 1 << 16  # of a matrix of spans and pairs of devices: what a processor keeps near
ROUNDING = 1e-12


def fair_bytes(cluster: Cluster, pair: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Bytes that each transfer gets from the end of its latency, `begin`, to its end, in seconds.

    `pair` is ``source * n_devices + destination``; all arrays and the result have shape (n_transfers,). O(n log n) for n
    transfers whose pairs use no shared link; those of others take O(n · pairs · links).
    """
    k = cluster.n_devices
    got = np.zeros(len(pair))
    on = np.zeros((k * k, len(cluster.links)))
    for number, link in enumerate(cluster.links):
        on[[i * k + j for i, j in link.pairs], number] = 1.0
    shares = (on.sum(axis=1) > 0)[pair]
    got[~shares] = _alone(cluster.bandwidth.reshape(-1), pair[~shares], begin[~shares], end[~shares])
    if shares.any():
        used, of = np.unique(pair[shares], return_inverse=True)
        limits = cluster.bandwidth.reshape(-1)[used], np.array([link.bandwidth for link in cluster.links]), on[used]
        got[shares] = _together(*limits, of, begin[shares], end[shares])
    return got


def _alone(bandwidth: np.ndarray, pair: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Where each pair's transfers share nothing with other pairs: pair after pair in one sequence of spans."""
    n = len(pair)
    both = np.tile(pair, 2)
    time = np.concatenate([begin, end])
    order = np.lexsort((time, both))
    flows = np.cumsum(np.where(order < n, 1, -1))
    share = np.divide(1.0, flows, out=np.zeros(2 * n), where=flows > 0)
    total = np.zeros(2 * n)  # seconds of a whole link: sums of bytes would drown those of slow links
    total[order[1:]] = np.cumsum(share[:-1] * np.diff(time[order]))
    return bandwidth[pair] * (total[n:] - total[:n])


def _together(
    bandwidth: np.ndarray, capacity: np.ndarray, on: np.ndarray, pair: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Where pairs share links: `on` says which, shape (n_pairs, n_links)."""
    n = len(pair)
    both = np.tile(pair, 2)
    time = np.concatenate([begin, end])
    order = np.argsort(time, kind="stable")
    sign = np.where(order < n, 1.0, -1.0)
    length = np.append(np.diff(time[order]), 0.0)
    got = np.zeros(2 * n)
    so_far = np.zeros((len(bandwidth), 1))
    flows = np.zeros((len(bandwidth), 1))
    for a, b in _parts(2 * n, len(bandwidth)):
        change = np.zeros((len(bandwidth), b - a))
        here = (both[order[a:b]], np.arange(b - a))
        change[here] = sign[a:b]
        number = flows + np.cumsum(change, axis=1)
        span = length[a:b] > 0
        moved = np.zeros((len(bandwidth), b - a + 1))
        moved[:, :1] = so_far
        moved[:, 1:][:, span] = _fair_rates(number[:, span], bandwidth, capacity, on) * length[a:b][span]
        total = np.cumsum(moved, axis=1)
        got[order[a:b]] = total[here]
        flows = number[:, -1:]
        so_far = total[:, -1:]
    return got[n:] - got[:n]


def _parts(n: int, width: int) -> Iterator[tuple[int, int]]:
    rows = max(ENTRIES // max(width, 1), 1)
    return ((a, min(a + rows, n)) for a in range(0, n, rows))


def _fair_rates(flows: np.ndarray, bandwidth: np.ndarray, capacity: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Max-min fair rate of a flow of each pair, for each column of numbers of flows, shape (pairs, spans).

    A link's share is what it has left, over the flows that have no rate yet. A pair has its rate where its own bandwidth is its
    least share; and where it uses a link that is the least share of all its pairs, which can only gain elsewhere.
    """
    rate = np.zeros(flows.shape)
    now = np.zeros(flows.shape)
    spans = np.arange(flows.shape[1])
    links = [np.flatnonzero(on[:, number]) for number in range(len(capacity))]
    left = np.repeat(capacity[:, None], len(spans), axis=1)
    waits = flows > 0
    own = np.divide(bandwidth[:, None], flows, out=np.full(flows.shape, np.inf), where=waits)
    while len(spans):
        users = on.T @ (flows * waits)
        share = np.divide(left, users, out=np.full(users.shape, np.inf), where=users > 0)
        least = own.copy()
        for pairs, one in zip(links, share, strict=True):
            least[pairs] = np.minimum(least[pairs], one)
        settled = waits & (least >= own)
        known = np.where(waits, least, np.inf)
        for pairs, one in zip(links, share, strict=True):
            full = known[pairs].min(axis=0, initial=np.inf) >= one * (1 - ROUNDING)
            settled[pairs] |= waits[pairs] & full
        new = np.where(settled, least, 0.0)
        now += new
        left = np.maximum(left - on.T @ (new * flows), 0.0)
        waits &= ~settled
        more = waits.any(axis=0)
        if 2 * np.count_nonzero(more) < len(spans):  # spans that are done cost less than to leave them out
            rate[:, spans] = now
            spans = spans[more]
            left = left[:, more]
            flows = flows[:, more]
            own = own[:, more]
            waits = waits[:, more]
            now = now[:, more]
    return rate
