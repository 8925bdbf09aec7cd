"""Times of all-reduces: closed forms, and how far apart workers are ready for them in a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.interrupts import need
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd


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
        Another algorithm; a number out of range.

    References
    ----------
    Thakur and Gropp (2003); Patarasuk and Yuan (2009).

    Examples
    --------
    >>> [allreduce_time(8, 4, bandwidth=1, latency=0.5, algorithm=a) for a in ("ring", "tree", "halving")]
    [15.0, 34.0, 14.0]
    """
    n = count(workers, "workers")
    alpha, rate = _links(latency, n, "latency"), _links(bandwidth, n, "bandwidth")
    expect(size, (int, float, np.number), "size")
    if not size >= 0 or not (rate > 0).all() or not (alpha >= 0).all():
        raise FormatError("an all-reduce needs bytes and latencies of 0 or more, and bandwidths above 0")
    steps = (n - 1).bit_length()
    if algorithm == "ring":
        return float(2 * (n - 1) * (alpha + size / n / rate).max())
    if algorithm == "tree":
        return float(2 * steps * (alpha + size / rate).max())
    if algorithm != "halving":
        raise FormatError(f"algorithm is {algorithm!r:.60}; expected one of ring, tree, halving")
    if n & (n - 1):
        raise FormatError(f"halving takes a power of two workers, found {n}; choose ring or tree")
    return float(2 * steps * alpha.max() + 2 * (n - 1) * size / n / rate.min())


def _links(value: Any, n: int, label: str) -> np.ndarray:
    links = np.asarray(value, dtype=np.float64)
    if links.shape not in ((), (n,)):
        raise FormatError(
            f"{label} has shape {links.shape}; expected one number, or one for each of {n} links of the ring"
        )
    return links


def arrival_skew(schedule: Schedule) -> pd.DataFrame:
    """How far apart the workers of an all-reduce job are ready for each bucket.

    Parameters
    ----------
    schedule
        Of a graph of :func:`placelab.transforms.model_replica` with ``sync="allreduce"``, or of
        :func:`placelab.transforms.pipeline_replica`.

    Returns
    -------
    DataFrame
        A row per iteration and bucket, in seconds: ``earliest`` and ``latest``, when the first and the last worker has computed
        the bucket's gradients; ``skew``, their difference; ``end``, when the last worker has the sum. O(n_ops + n_edges).

    Raises
    ------
    UnsupportedError
        The graph has no buckets.

    References
    ----------
    Hashemi et al. (2018) §2.2: workers should reach the synchronisation of each parameter simultaneously.
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "arrival_skew")
    graph = schedule.problem.graph
    replica = graph.metadata.get("replica", {})
    if "bucket" not in replica or len(replica["bucket"]) != graph.n_ops:
        raise UnsupportedError(
            f"{graph.title} has no buckets of gradients; make it with transforms.model_replica(…, sync='allreduce')"
        )
    role, iteration, bucket = (np.array(replica[key]) for key in ("role", "iteration", "bucket"))
    number = {name: i for i, name in enumerate(replica["roles"])}
    of_model = np.isin(role, [number["backward"], number["step"]])
    ready = role == number["ready"]
    part = np.isin(role, [number["ready"], number["reduce"], number["gather"]])
    wanted = np.where(ready[graph.consumer], of_model[graph.producer], True)  # a stream's bucket before is no gradient
    arrival = np.zeros(graph.n_ops)  # the latest finish of each op's inputs
    np.maximum.at(arrival, graph.consumer[wanted], schedule.finish[graph.producer[wanted]])
    found = pd.DataFrame({"iteration": iteration[ready], "bucket": bucket[ready], "at": arrival[ready]})
    rows = found.groupby(["iteration", "bucket"])["at"].agg(earliest="min", latest="max")
    ends = pd.DataFrame({"iteration": iteration[part], "bucket": bucket[part], "end": schedule.finish[part]})
    rows["skew"] = rows["latest"] - rows["earliest"]
    rows["end"] = ends.groupby(["iteration", "bucket"])["end"].max()
    return rows.reset_index()
