"""Closed forms of collectives: how long workers take to sum, gather or exchange what each of them has."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.index_arrays import floats

KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
ALGORITHMS = {
    "all-reduce": ("ring", "tree", "halving", "hierarchical", "double-tree"),
    "reduce-scatter": ("ring", "halving", "hierarchical"),
    "all-gather": ("ring", "halving", "hierarchical"),
    "all-to-all": ("ring",),
}
TRAFFIC = {2: 1.0, 3: 1.5}  # times the vector through the busiest port of a double tree on so many hosts; 2 on more


class Net(NamedTuple):
    """Bytes, workers, and the links between them: latencies and bandwidths, one or one per link of the ring."""

    size: float
    n: int
    latency: np.ndarray
    bandwidth: np.ndarray


def collective_time(
    kind: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all"],
    size: float,
    workers: int,
    *,
    bandwidth: Any,
    latency: Any = 0.0,
    algorithm: Literal["ring", "tree", "halving", "hierarchical", "double-tree"] = "ring",
    rings: int = 1,
    hosts: int | None = None,
    chunk: float = 0.0,
) -> float:
    r"""Seconds of a collective over `workers` on full-duplex links, all ready at once.

    .. math::

        scatter = gather = exchange = (n - 1)(\alpha + M / nB), \quad reduce = scatter + gather

    Parameters
    ----------
    kind
        ``"all-reduce"``, ``"reduce-scatter"``, ``"all-gather"`` or ``"all-to-all"``.
    size
        Bytes M of the whole vector; of an all-to-all, what each worker holds.
    workers
        Their number n.
    bandwidth, latency
        B in bytes/s and α in seconds: a number, or one per link of the ring. ``"hierarchical"``: a number, or a pair, inside a
        host and between hosts.
    algorithm
        ``"ring"``; an all-to-all has n - 1 rounds, worker w to w + i, each of which waits for its last. ``"tree"``,
        ``"halving"``: as :func:`placelab.allreduce_time`. ``"hierarchical"``: within hosts, then between them in as many rings as
        a host has workers.
        ``"double-tree"``: two trees over workers, one per host, each with half of the vector, in chunks.
    rings
        Rings r that each carry M/r. It helps only where they use different links: under ``channel`` and ``fair``; under
        ``sequential`` a device has one port.
    hosts
        N hosts of equally many workers, for ``"hierarchical"``.
    chunk
        Bytes c of a chunk of a double tree; 0 is the limit of ever smaller ones.

    Returns
    -------
    float
        Seconds; 0 for one worker.

    Raises
    ------
    UnsupportedError
        A kind that does not exist, an algorithm that it does not have, rings or hosts for an algorithm that has none.
    FormatError
        A number out of range; for halving, no power of two.

    Notes
    -----
    Hierarchical, g workers per host, half of it for the halves of an all-reduce; and double tree, D the logarithm of n, rounded
    up, ρ = 1, 1.5, 2 for n = 2, 3, more:

    .. math::

        hierarchical &= 2(g-1)(α_1 + M/gB_1) + 2(N-1)(α_2 + M/gNB_2) \\
        double\ tree &= 2D(α + c/B) + \max(0, ρM - 2c)/B

    References
    ----------
    Thakur and Gropp (2003); Patarasuk and Yuan (2009); Sanders, Speck, Träff (2009), two-tree algorithms.

    Examples
    --------
    >>> [collective_time(kind, 8, 4, bandwidth=1, latency=0.5) for kind in KINDS]
    [15.0, 7.5, 7.5, 7.5]
    >>> collective_time("all-reduce", 8, 8, bandwidth=(4, 1), algorithm="hierarchical", hosts=2)
    5.0
    """
    _check(kind, algorithm, rings, hosts)
    expect(chunk, (int, float, np.number), "chunk")
    if algorithm == "hierarchical":
        return _hierarchical(kind, size, workers, bandwidth, latency, hosts)
    net = _net(size, workers, bandwidth, latency, f"a collective, {kind},")
    if algorithm == "double-tree":
        return _double_tree(net, float(chunk))
    if algorithm == "ring" or kind == "all-reduce":
        net = net._replace(size=net.size / rings)
        return _all_reduce(net, algorithm) if kind == "all-reduce" else _all_reduce(net, "ring") / 2
    return _all_reduce(net, "halving") / 2


def allreduce_time(
    size: float,
    workers: int,
    *,
    bandwidth: Any,
    latency: Any = 0.0,
    algorithm: Literal["ring", "tree", "halving"] = "ring",
) -> float:
    r"""Seconds of an all-reduce of `size` bytes over `workers` on full-duplex links, all ready at once.

    .. math::

        ring = 2 (n - 1) \max_{links} (\alpha + M / nB), \quad tree = 2 \lceil \log_2 n \rceil (\alpha + M / B), \quad
        halving = 2 \log_2 n \, \alpha + 2 (n - 1) M / nB

    Parameters
    ----------
    size
        Bytes M that each of the n workers has.
    workers
        Their number n; for halving a power of two.
    bandwidth, latency
        B in bytes/s and α in seconds; a number, or one per link of the ring, shape (workers,), from worker w to the next. The
        others take the slowest link.
    algorithm
        As in :func:`placelab.transforms.model_replica`.

    Returns
    -------
    float
        What its graph takes in the simulator where links are equal: for a tree with transfers ordered, and a power of two
        workers. With other numbers of workers a tree takes at most that, at least half, since some subtrees are less deep.

    Raises
    ------
    FormatError
        An algorithm that does not exist; a number out of range.

    References
    ----------
    Thakur and Gropp (2003); Patarasuk and Yuan (2009).

    Examples
    --------
    >>> [allreduce_time(8, 4, bandwidth=1, latency=0.5, algorithm=a) for a in ("ring", "tree", "halving")]
    [15.0, 34.0, 14.0]
    """
    if algorithm not in ("ring", "tree", "halving"):
        raise FormatError(f"algorithm is {algorithm!r:.60}; expected one of ring, tree, halving")
    return _all_reduce(_net(size, workers, bandwidth, latency, "an all-reduce"), algorithm)


def _check(kind: Any, algorithm: Any, rings: Any, hosts: Any) -> None:
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnsupportedError(f"kind is {kind!r:.60}; expected one of {', '.join(KINDS)}")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS[kind]:
        raise UnsupportedError(
            f"algorithm of {kind} is {algorithm!r:.60}; expected one of {', '.join(ALGORITHMS[kind])}"
        )
    if count(rings, "rings") > 1 and (algorithm != "ring" or kind == "all-to-all"):
        raise UnsupportedError(f"rings is {rings}, but {kind} by {algorithm} runs in none; give 1")
    if (hosts is None) == (algorithm == "hierarchical"):
        raise UnsupportedError(f"hosts is {hosts!r:.60} for algorithm {algorithm!r}; 'hierarchical' needs their number")


def _net(size: Any, workers: Any, bandwidth: Any, latency: Any, what: str) -> Net:
    n = count(workers, "workers")
    alpha = _links(latency, n, "latency")
    rate = _links(bandwidth, n, "bandwidth")
    expect(size, (int, float, np.number), "size")
    amount = float(_numbers(size, "size"))
    if not amount >= 0 or not (rate > 0).all() or not (alpha >= 0).all():
        raise FormatError(f"{what} needs bytes and latencies of 0 or more, and bandwidths above 0")
    return Net(amount, n, alpha, rate)


def _links(value: Any, n: int, label: str) -> np.ndarray:
    links = _numbers(value, label)
    if links.shape not in ((), (n,)):
        raise FormatError(
            f"{label} has shape {links.shape}; expected one number, or one for each of {n} links of the ring"
        )
    return links


def _numbers(value: Any, label: str) -> np.ndarray:
    try:
        return floats(value)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} is {value!r:.60}; expected a number, or several") from None


def _all_reduce(net: Net, algorithm: str) -> float:
    size, n, alpha, rate = net
    steps = (n - 1).bit_length()
    if algorithm == "ring":
        return float(2 * (n - 1) * (alpha + size / n / rate).max())
    if algorithm == "tree":
        return float(2 * steps * (alpha + size / rate).max())
    if n & (n - 1):
        raise FormatError(f"halving takes a power of two workers, found {n}; choose ring or tree")
    return float(2 * steps * alpha.max() + 2 * (n - 1) * size / n / rate.min())


def _double_tree(net: Net, chunk: float) -> float:
    if not 0 <= chunk <= max(net.size, 1.0):
        raise FormatError(f"chunk is {chunk:g}; expected bytes, from 0 to those of the vector, {net.size:g}")
    if net.n == 1:
        return 0.0
    depth = (net.n - 1).bit_length()
    rate = net.bandwidth.min()
    rest = max(0.0, TRAFFIC.get(net.n, 2.0) * net.size - 2 * chunk)
    return float(2 * depth * (net.latency.max() + chunk / rate) + rest / rate)


def _hierarchical(kind: str, size: Any, workers: Any, bandwidth: Any, latency: Any, hosts: Any) -> float:
    n = count(workers, "workers")
    hosts = count(hosts, "hosts")
    if n % hosts:
        raise FormatError(f"{n} workers on {hosts} hosts; expected equally many on each")
    inside, between = (
        _net(size, 1, *pair, "a collective") for pair in zip(_pair(bandwidth), _pair(latency), strict=True)
    )
    each = n // hosts
    seconds = _all_reduce(inside._replace(n=each), "ring") + _all_reduce(
        between._replace(n=hosts, size=between.size / each), "ring"
    )
    return seconds if kind == "all-reduce" else seconds / 2


def _pair(value: Any) -> tuple[Any, Any]:
    pair = _numbers(value, "a link")
    if pair.shape not in ((), (2,)):
        raise FormatError(f"a link has shape {pair.shape}; expected a number, or a pair: inside a host, between hosts")
    first, last = np.broadcast_to(pair, 2).tolist()
    return first, last
