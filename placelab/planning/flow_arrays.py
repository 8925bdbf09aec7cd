"""Arrays of the kernels for transfers that share links."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.run import simulation_blocks as simulating
from placelab.problem.shared_links import SharedLink

F8, I4, I8 = np.float64, np.int32, np.int64


def flows_of(k: int, n_transfers: int) -> simulating.Flows:
    """No flows yet."""
    rate, served, since, due = (np.zeros(k * k) for _ in range(4))
    count, stale, base, active = (np.zeros(k * k + more, I4) for more in (0, 0, 1, 0))
    entry, number, following = np.empty(2 * n_transfers), np.zeros(3, I8), np.zeros(1)
    return simulating.Flows(rate, served, since, due, count, stale, entry, base, active, number, following)


def shared_links_of(links: tuple[SharedLink, ...], k: int) -> simulating.SharedLinks:
    """The shared links of k devices, and which of them each pair uses, by number."""
    pairs = [np.array(link.pairs, I8) @ [k, 1] for link in links]
    pair = np.concatenate([np.empty(0, I8), *pairs]).astype(I4)
    ptr, first = np.zeros(k * k + 1, I4), np.zeros(len(links) + 1, I4)
    np.cumsum(np.bincount(pair, minlength=k * k), out=ptr[1:])
    np.cumsum([len(p) for p in pairs], out=first[1:])
    number = np.repeat(np.arange(len(links), dtype=I4), np.diff(first))[np.argsort(pair, kind="stable")]
    capacity = np.array([link.bandwidth for link in links], F8)
    return simulating.SharedLinks(
        capacity=frozen(capacity),
        ptr=frozen(ptr),
        link=frozen(number),
        first=frozen(first),
        pair=frozen(pair),
        own=np.zeros(k * k),
        flows=np.zeros(len(links), I4),
        left=np.zeros(len(links)),
        users=np.zeros(len(links), I4),
        share=np.zeros(len(links)),
        rate=np.zeros(k * k),
    )


NO_FLOWS, NO_SHARED = flows_of(0, 0), shared_links_of((), 0)
