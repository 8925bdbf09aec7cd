"""The hops of an all-reduce: which replica sends what share to which, after which hops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.limits import MAX_OPS

ALGORITHMS = ("ring", "tree", "halving")


@dataclass(frozen=True, eq=False)
class Hops:
    """The hops of one all-reduce over n replicas. Things are numbered 0 to n - 1 for the replicas' own values, n + h for hop h.

    Attributes
    ----------
    source, destination : ndarray of int, shape (hops,)
        Replicas.
    share : ndarray, shape (hops,)
        Bytes over those of the whole.
    gather : ndarray of bool, shape (hops,)
        Whether it carries a finished sum, else a part of one.
    sent, joined : ndarray of int, shape (hops,)
        What it sends on, which is at its source; and what it joins at its destination, -1 for nothing.
    last : list of arrays
        For each replica, all that it has to wait for until it has the whole sum.
    """

    source: np.ndarray
    destination: np.ndarray
    share: np.ndarray
    gather: np.ndarray
    sent: np.ndarray
    joined: np.ndarray
    last: list[np.ndarray]


def hops(algorithm: str, n: int) -> Hops:
    """The hops of an algorithm over `n` replicas, each after those that it needs.

    Parameters
    ----------
    algorithm
        ``"ring"``: chunk c of n starts at replica c and goes round twice: the first time it is summed, the
        second time handed on.
        ``"tree"``: pairs of growing distance reduce to replica 0, which sends the sum back the same way, to the farthest first.
        ``"halving"``: pairs of falling distance exchange halves, and pairs of growing distance the sums.

    Raises
    ------
    FormatError
        Another algorithm; ``"halving"`` where n is no power of two; too many hops.
    """
    if algorithm not in ALGORITHMS:
        raise FormatError(f"algorithm is {algorithm!r:.60}; expected one of {', '.join(ALGORITHMS)}")
    if algorithm == "halving" and n & (n - 1):
        raise FormatError(f"halving takes a power of two workers, found {n}; choose ring or tree")
    many = {"ring": 2 * n * (n - 1), "tree": 2 * (n - 1), "halving": 2 * n * (n.bit_length() - 1)}[algorithm]
    if many > MAX_OPS:
        raise FormatError(
            f"an all-reduce over {n:,} replicas by {algorithm} has {many:,} hops; at most {MAX_OPS:,} ops are made"
        )
    return {"ring": _ring, "tree": _tree, "halving": _halving}[algorithm](n)


def _ring(n: int) -> Hops:
    hop, chunk = (grid.ravel() for grid in np.mgrid[: 2 * n - 2, :n])
    destination = (chunk + hop + 1) % n
    last = [n + np.flatnonzero((destination == w) & (hop >= n - 2)) for w in range(n)]
    return Hops(
        (chunk + hop) % n,
        destination,
        np.full(len(hop), 1 / n),
        hop >= n - 1,
        np.where(hop == 0, chunk, chunk + hop * n),  # n + its place in the row before
        np.where(hop < n - 1, destination, -1),
        last if n > 1 else [np.array([0])],
    )


def _tree(n: int) -> Hops:
    distances = [2**i for i in range((n - 1).bit_length())]
    up = [(i, i - d, False) for d in distances for i in range(d, n, 2 * d)]
    down = [(i, i + d, True) for d in distances[::-1] for i in range(0, n - d, 2 * d)]
    rows, has = [], list(range(n))  # what each replica has so far
    for source, destination, gather in up + down:
        rows.append((source, destination, 1.0, gather, has[source], -1 if gather else has[destination]))
        has[destination] = n + len(rows) - 1
    return _hops(rows, [np.array([thing]) for thing in has])


def _halving(n: int) -> Hops:
    distances = [2**i for i in range((n - 1).bit_length())]
    rows, has = [], list(range(n))
    for d, gather in [*((d, False) for d in distances[::-1]), *((d, True) for d in distances)]:
        before = tuple(has)
        for source in range(n):
            rows.append((source, source ^ d, d / n, gather, before[source], before[source ^ d]))
            has[source ^ d] = n + len(rows) - 1
    return _hops(rows, [np.array([thing]) for thing in has])


def _hops(rows: list[tuple], last: list[np.ndarray]) -> Hops:
    source, destination, share, gather, sent, joined = zip(*rows, strict=True) if rows else ((),) * 6
    whole = lambda column: np.array(column, dtype=np.int64)  # noqa: E731
    return Hops(
        whole(source),
        whole(destination),
        np.array(share, dtype=np.float64),
        np.array(gather, dtype=bool),
        whole(sent),
        whole(joined),
        last,
    )
