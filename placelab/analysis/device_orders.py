"""Orders of devices: each device's ops in a plan, and one order of all ops that holds these and the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.kernels.plan import places as kernels
from placelab.problem.graph import OpGraph

MOST_NAMED = 6  # ops of a circle, in a message


def lanes(device: np.ndarray, planned: np.ndarray, n_devices: int) -> list[np.ndarray]:
    """Each device's ops in the order of `planned`, as arrays of int32."""
    by_device = planned[np.argsort(device[planned], kind="stable")]
    return np.split(by_device, np.cumsum(np.bincount(device, minlength=n_devices))[:-1])


def inverse(order: np.ndarray) -> np.ndarray:
    """The place of each op in an order of all, as int32."""
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return frozen(rank)


def one_order(graph: OpGraph, orders: Sequence[np.ndarray], rank: np.ndarray | None = None) -> np.ndarray:
    """All ops in one order that holds edges and devices' orders; of those that could come next the least `rank` (op number).

    Raises
    ------
    InfeasibleError
        Edges and orders form a circle; it names its ops.
    """
    n = graph.n_ops
    ptr, succ, _ = graph.successors
    rank = frozen(np.arange(n, dtype=np.int32)) if rank is None else rank
    follows = np.full(n, -1, np.int32)
    waits = np.bincount(succ, minlength=n).astype(np.int32)
    for lane in orders:
        follows[lane[:-1]] = lane[1:]
        waits[lane[1:]] += 1
    order = np.empty(n, np.int32)
    heap = np.empty(n, np.int32)
    count = kernels.order_all(frozen(follows), waits, ptr, succ, rank, inverse(rank), heap, order)
    if count < n:
        raise InfeasibleError(f"each of these ops would wait for the one before it: {_circle(graph, follows, waits)}")
    return order


def _circle(graph: OpGraph, follows: np.ndarray, waits: np.ndarray) -> str:
    """Names of ops that wait for each other, once around; those of which `waits` is above 0 could not be ordered."""
    ahead = np.full(graph.n_ops, -1, np.int64)
    ahead[follows[follows >= 0]] = np.flatnonzero(follows >= 0)
    v = int(np.flatnonzero(waits > 0)[0])
    seen: list[int] = []
    while v not in seen:
        seen.append(v)
        inputs = [*graph.predecessors_of(v).tolist(), *([int(ahead[v])] if ahead[v] >= 0 else [])]
        v = next(u for u in inputs if waits[u] > 0)
    around = [str(graph.names[u]) for u in seen[seen.index(v) :][::-1]]
    shown = around if len(around) <= MOST_NAMED else [*around[: MOST_NAMED - 1], "…"]
    return " → ".join([*shown, around[0]])
