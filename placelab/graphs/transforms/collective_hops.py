"""The hops of collectives: which replica sends what to which, and what it waits for; and the graph of one collective."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.costs.collective_times import ALGORITHMS, KINDS
from placelab.problem.graph import OpGraph

GRAPHS = ("ring", "tree", "halving", "hierarchical")


@dataclass(frozen=True, eq=False)
class Hops:
    """The hops of one collective over n replicas. Things are numbered 0 to n - 1 for the replicas' own values, n + h for hop h.

    Attributes
    ----------
    source, destination : ndarray of int, shape (hops,)
        Replicas; equal where a replica only waits for all that it needs to go on.
    share : ndarray, shape (hops,)
        Bytes over those of the whole.
    gather : ndarray of bool, shape (hops,)
        Whether it carries a finished part, else one that is summed or exchanged.
    sent, joined : ndarray of int, shape (hops,)
        What it sends on, which is at its source; and what it joins at its destination, -1 for nothing.
    last : list of arrays
        For each replica, all that it has to wait for until it has its result.
    waits : ndarray of int, shape (pairs, 2)
        Further things, and the hops that wait for them.
    """

    source: np.ndarray
    destination: np.ndarray
    share: np.ndarray
    gather: np.ndarray
    sent: np.ndarray
    joined: np.ndarray
    last: list[np.ndarray]
    waits: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))


def counts(steps: Hops) -> list[int]:
    """For how many things each replica waits at the end."""
    return [len(last) for last in steps.last]


def hops(algorithm: str, n: int, kind: str = "all-reduce", *, rings: int = 1, hosts: int = 1) -> Hops:
    """The hops of an algorithm over `n` replicas, each after those that it needs.

    Parameters
    ----------
    algorithm
        ``"ring"``: chunk c of n starts at replica c and goes round, once to be summed, once to be handed on; in an all-to-all,
        round i carries what replica w has for w + i. ``"tree"``: pairs of growing distance reduce to replica 0, which sends the
        sum back the same way, to the farthest first. ``"halving"``: pairs of falling distance exchange halves, and pairs of
        growing distance the sums. ``"hierarchical"``: rings within hosts, rings between hosts over the replicas that have one
        part, rings within hosts.
    kind
        ``"all-reduce"``, ``"reduce-scatter"``, ``"all-gather"``, ``"all-to-all"``.
    rings
        Rings that carry equal parts. On one host ring k steps over replicas by the k-th number that has no divisor with n in
        common; on several hosts it enters each host at its k-th replica, so that each link between hosts has one ring.
    hosts
        Hosts of n / hosts replicas each, in their order.

    Raises
    ------
    UnsupportedError
        A kind that does not exist; an algorithm that it does not have, or not as a graph; several rings of others, or more
        than there are.
    FormatError
        ``"halving"`` where n is no power of two; hosts that do not divide n; too many hops.
    """
    _check(algorithm, n, kind, rings, hosts)
    if algorithm == "hierarchical":
        return _hierarchical(n, hosts, kind)
    if kind == "all-to-all":
        return _exchange(n)
    if algorithm == "tree":
        return _tree(n)
    if algorithm == "halving":
        return _halving(n, kind)
    one = _ring(n, kind)
    return one if rings == 1 else _several(one, n, _orders(n, rings, hosts))


def _check(algorithm: str, n: int, kind: str, rings: int, hosts: int) -> None:
    if kind not in KINDS:
        raise UnsupportedError(f"kind is {kind!r:.60}; expected one of {', '.join(KINDS)}")
    known = [name for name in ALGORITHMS[kind] if name in GRAPHS]
    if algorithm not in known:
        raise FormatError(f"algorithm is {algorithm!r:.60}; expected one of {', '.join(known)}")
    if algorithm == "halving" and n & (n - 1):
        raise FormatError(f"halving takes a power of two workers, found {n}; choose ring or tree")
    if rings > 1 and (algorithm != "ring" or kind == "all-to-all"):
        raise UnsupportedError(f"rings is {rings}, but {kind} by {algorithm} runs in none; give 1")
    if n % hosts:
        raise FormatError(f"{n} workers on {hosts} hosts; expected equally many on each")
    rounds = {"ring": 2 * n * (n - 1) * rings, "tree": 2 * (n - 1), "halving": 2 * n * (n.bit_length() - 1)}
    rounds["hierarchical"] = n * (2 * (n // hosts + hosts) + 2)
    if (many := rounds[algorithm]) > MAX_OPS:
        raise FormatError(
            f"an {kind} over {n:,} replicas by {algorithm} has {many:,} hops; at most {MAX_OPS:,} ops are made"
        )


def _ring(n: int, kind: str) -> Hops:
    """One ring in the order of the replicas."""
    reduces = kind != "all-gather"
    gathers = kind != "reduce-scatter"
    hop, chunk = (grid.ravel() for grid in np.mgrid[: (n - 1) * (reduces + gathers), :n])
    destination = (chunk + hop + 1) % n
    first = {"all-reduce": n - 2, "reduce-scatter": n - 2, "all-gather": 0}[kind]  # hop whose parts are results
    last = [n + np.flatnonzero((destination == w) & (hop >= first)) for w in range(n)]
    return Hops(
        (chunk + hop) % n,
        destination,
        np.full(len(hop), 1 / n),
        hop >= n - 1 if reduces else np.ones(len(hop), bool),
        np.where(hop == 0, chunk, chunk + hop * n),  # n + its place in the row before
        np.where(hop < n - 1, destination, -1),
        last if n > 1 else [np.array([0])],
    )


def _orders(n: int, rings: int, hosts: int) -> list[np.ndarray]:
    """The order of replicas in each ring."""
    each = n // hosts
    if hosts > 1:
        if rings > each:
            raise UnsupportedError(f"rings is {rings}, and a host has {each} workers, one for each ring at most")
        return [np.concatenate([h * each + (k + np.arange(each)) % each for h in range(hosts)]) for k in range(rings)]
    steps = [step for step in range(1, max(n, 2)) if np.gcd(step, n) == 1]
    if rings > len(steps):
        raise UnsupportedError(
            f"rings is {rings}, and {n} workers on one host have {len(steps)} with links of their own"
        )
    return [np.arange(n) * step % n for step in steps[:rings]]


def _several(one: Hops, n: int, orders: list[np.ndarray]) -> Hops:
    """Copies of a ring over replicas in other orders, each with an equal part."""
    made = _Phases(n)
    lasts = [made.add(one, order, order, 1 / len(orders)) for order in orders]
    return made.hops([np.concatenate([last[w] for last in lasts]) for w in range(n)])


def _exchange(n: int) -> Hops:
    """All-to-all in n - 1 rounds; a replica's next round waits for what it receives in the one before."""
    i, source = (grid.ravel() for grid in np.mgrid[1:n, :n])
    destination = (source + i) % n

    def received(w: np.ndarray, i: np.ndarray) -> np.ndarray:
        """What replica w has received in round i; in round 0 its own value."""
        return np.where(i == 0, w, n + (i - 1) * n + (w - i) % n)

    last = received(np.arange(n), np.full(n, n - 1))
    return Hops(
        source,
        destination,
        np.full(len(i), 1 / n),
        np.zeros(len(i), bool),
        received(source, i - 1),
        received(destination, i - 1),
        [last[w : w + 1] for w in range(n)],
    )


def _tree(n: int) -> Hops:
    distances = [2**i for i in range((n - 1).bit_length())]
    up = [(i, i - d, False) for d in distances for i in range(d, n, 2 * d)]
    down = [(i, i + d, True) for d in distances[::-1] for i in range(0, n - d, 2 * d)]
    rows = []
    has = list(range(n))  # what each replica has so far
    for source, destination, gather in up + down:
        rows.append((source, destination, 1.0, gather, has[source], -1 if gather else has[destination]))
        has[destination] = n + len(rows) - 1
    return _hops(rows, [np.array([thing]) for thing in has])


def _halving(n: int, kind: str) -> Hops:
    distances = [2**i for i in range((n - 1).bit_length())]
    down = [(d, False) for d in distances[::-1]] if kind != "all-gather" else []
    up = [(d, True) for d in distances] if kind != "reduce-scatter" else []
    rows = []
    has = list(range(n))
    for d, gather in [*down, *up]:
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


def _hierarchical(n: int, hosts: int, kind: str) -> Hops:
    """Rings within hosts and between them; before each phase a replica waits for its part of the one before."""
    each = n // hosts
    made = _Phases(n)
    inside = [h * each + np.arange(each) for h in range(hosts)]
    between = [np.arange(hosts) * each + i for i in range(each)]
    phases = {
        "all-reduce": [("reduce-scatter", inside, 1.0), (kind, between, 1 / each), ("all-gather", inside, 1.0)],
        "reduce-scatter": [(kind, inside, 1.0), (kind, between, 1 / each)],
        "all-gather": [(kind, between, 1 / each), (kind, inside, 1.0)],
    }[kind]
    own = np.arange(n)
    for k, (part, groups, share) in enumerate(phases):
        last: list[np.ndarray] = [own[w : w + 1] for w in range(n)]
        for members in groups:
            if len(members) > 1:
                found = made.add(_ring(len(members), part), members, own[members], share)
                for w in members.tolist():
                    last[w] = found[w]
        own = own if k == len(phases) - 1 else made.wait(last)
    return made.hops(last)


class _Phases:
    """Hops of several collectives over some of n replicas, one after the other or side by side."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.many = 0
        self.parts: list[Hops] = []

    def add(self, part: Hops, members: np.ndarray, values: np.ndarray, share: float) -> dict[int, np.ndarray]:
        """Add a collective over replicas `members`, whose own values are the things `values`; what each of them waits for."""
        k = len(members)

        def thing(of: np.ndarray) -> np.ndarray:
            own = values[np.clip(of, 0, k - 1)]
            return np.where(of < 0, -1, np.where(of < k, own, self.n + self.many + of - k))

        last = {int(w): thing(of) for w, of in zip(members, part.last, strict=True)}
        self.parts.append(
            Hops(
                members[part.source],
                members[part.destination],
                part.share * share,
                part.gather,
                thing(part.sent),
                thing(part.joined),
                [],
            )
        )
        self.many += len(part.source)
        return last

    def wait(self, last: list[np.ndarray]) -> np.ndarray:
        """Add a thing per replica that waits for all of `last`, unless it is one; their numbers."""
        several = [w for w, of in enumerate(last) if len(of) > 1]
        made = np.array([of[0] for of in last])
        made[several] = self.n + self.many + np.arange(len(several))
        rows = [(self.many + h, thing) for h, w in enumerate(several) for thing in last[w][1:].tolist()]
        own = np.array(several, dtype=np.int64)
        m = len(several)
        waits = np.array([(thing, hop) for hop, thing in rows], dtype=np.int64).reshape(-1, 2)
        sent = np.array([last[w][0] for w in several], dtype=np.int64)
        none = np.full(m, -1)
        self.parts.append(Hops(own, own, np.zeros(m), np.zeros(m, bool), sent, none, [], waits))
        self.many += m
        return made

    def hops(self, last: list[np.ndarray]) -> Hops:
        """All hops."""
        of = lambda label: np.concatenate([getattr(part, label) for part in self.parts])  # noqa: E731
        if not self.parts:
            return _hops([], last)
        return Hops(
            of("source"), of("destination"), of("share"), of("gather"), of("sent"), of("joined"), last, of("waits")
        )


def collective(
    kind: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all"],
    size: float,
    workers: int,
    *,
    algorithm: Literal["ring", "tree", "halving", "hierarchical"] = "ring",
    rings: int = 1,
    hosts: int = 1,
) -> OpGraph:
    """The graph of one collective, whose closed form is :func:`placelab.collective_time`.

    Parameters
    ----------
    kind
        ``"all-reduce"``, ``"reduce-scatter"``, ``"all-gather"`` or ``"all-to-all"``.
    size
        Bytes of the whole vector; of an all-to-all, what each worker holds.
    workers
        Their number n, devices ``worker:w``: :func:`placelab.clusters.data_parallel`.
    algorithm
        ``"ring"``; an all-to-all has n - 1 rounds, worker w to w + i. ``"tree"``, ``"halving"``: as in
        :func:`placelab.transforms.model_replica`. ``"hierarchical"``: rings within hosts, rings between hosts, rings within
        hosts.
    rings
        Rings of equal parts: on one host over replicas at other distances, on several hosts by other links between them, at most
        as many as a host has workers.
    hosts
        Hosts of equally many workers, in their order.

    Returns
    -------
    OpGraph
        Ops without operations: ``ready@w``, and hop h ``reduce{h}@w``, ``gather{h}@w`` or ``exchange{h}@w``, received by w;
        ``wait{h}@w`` between phases of a hierarchy.

    Raises
    ------
    UnsupportedError
        A kind that does not exist; several rings where there is one.
    FormatError
        An algorithm that the kind does not have, a number out of range, hosts that do not divide the workers.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = collective("all-reduce", 8.0, 4)
    >>> names = [f"worker:{w}" for w in range(4)]
    >>> problem = pl.Problem(graph, pl.Cluster([1.0] * 4, bandwidth=1.0, latency=0.5, names=names))
    >>> pl.solve(problem, "heft").makespan
    15.0
    """
    n = count(workers, "workers", most=MAX_OPS)
    expect(size, (int, float, np.number), "size")
    if not 0 <= size < np.inf:
        raise FormatError(f"size is {size!r:.60}; expected bytes, 0 or more")
    steps = hops(
        algorithm, n, kind, rings=count(rings, "rings", most=MAX_OPS), hosts=count(hosts, "hosts", most=MAX_OPS)
    )
    moves = "exchange" if kind == "all-to-all" else "reduce"
    label = np.where(steps.source == steps.destination, "wait", np.where(steps.gather, "gather", moves)).tolist()
    names = [f"{word}{h}@{w}" for h, (word, w) in enumerate(zip(label, steps.destination.tolist(), strict=True))]
    hop = n + np.arange(len(names))
    joins = steps.joined >= 0
    edges = [
        np.stack([steps.sent, hop], axis=1),
        np.stack([steps.joined[joins], hop[joins]], axis=1),
        np.stack([steps.waits[:, 0], hop[steps.waits[:, 1]]], axis=1),
    ]
    moved = np.concatenate([float(size) * steps.share, np.zeros(len(edges[1]) + len(edges[2]))])
    data = np.arange(len(moved)) < len(hop)
    devices = [*range(n), *steps.destination.tolist()]
    return OpGraph.from_arrays(
        [*(f"ready@{w}" for w in range(n)), *names],
        np.zeros(n + len(hop)),
        np.concatenate(edges),
        edge_bytes=moved,
        edge_output=np.where(data, np.arange(len(moved)), 0),
        edge_control=~data,
        kind=["ready"] * n + label,
        devices={v: (f"worker:{w}",) for v, w in enumerate(devices)},
        metadata={"name": f"{kind} over {n} workers"},
    )
