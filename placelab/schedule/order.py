"""The order in which a static scheduler lets devices run ops and links carry tensors; each device's ops in an order of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.kernels.plan import places as kernels
from placelab.problem.graph import OpGraph
from placelab.schedule.placement import checked_times

RULES = ("priority", "fifo", "msr", "planned")
WEIGHTS = (1.0, 1.0, 1.0, 5.0)
MOST_NAMED = 6  # ops of a circle, in a message


@dataclass(frozen=True, eq=False)
class Order:
    """An order of ops and transfers, which a static scheduler returns to the simulator.

    Attributes
    ----------
    rule
        ``"priority"``: the executable op of the largest priority, compared exactly (round sums of floats with
        :func:`placelab.planning.ranks.rounded`); of equals the one executable first, at one instant a Send before an op, then
        the lower number. ``"fifo"``: the one executable first, ties by `op` (smaller first) or op number. ``"msr"``: Mayer eq. 13
        with `weights`, ties as for priorities. ``"planned"``: each device runs its ops in the sequence of `op` (a permutation)
        and waits for the next one, and for its time in `not_before` [s], shape (n_ops,), if given.
    op
        Priorities, FIFO's tie numbers, or the planned sequence; shape (n_ops,).
    transfer
        Priorities of tensors on links, shape (n_tensors,), or (n_tensors, n_devices) by destination, or (n_transfers, 1), a
        row per transfer in the order of ``Schedule.transfers`` (by producer, destination, tensor), which needs no more memory
        than there are transfers; None: first come, first served.
    send
        Priorities of Send ops, like `transfer`; None: the transfer's, else the largest of its consumers'.
    weights
        α, β, γ, δ of MSR.
    static
        MSR: count an input as outstanding by in-degree (``|pred| = 1``, as printed) instead of at run time.
    """

    rule: str
    op: np.ndarray | None = None
    transfer: np.ndarray | None = None
    send: np.ndarray | None = None
    weights: tuple[float, float, float, float] = WEIGHTS
    static: bool = False
    not_before: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise FormatError(f"an order has the rule {self.rule!r}; expected one of {', '.join(RULES)}")
        for label in ("op", "transfer", "send"):
            if getattr(self, label) is not None:
                object.__setattr__(self, label, _priorities(getattr(self, label), label))
        if self.op is None:
            if self.rule in ("priority", "planned"):
                raise FormatError(f"an order of rule {self.rule!r} needs a number per op, found none")
        elif self.rule == "planned" and not _is_permutation(self.op):
            raise FormatError("a planned order must name each op once, by number")
        if self.not_before is not None:
            object.__setattr__(self, "not_before", checked_times(self.not_before, self.op))
        if self.weights is not WEIGHTS and np.shape(_priorities(self.weights, "weight")) != (4,):
            raise FormatError(f"weights are {self.weights!r}; expected four numbers")
        object.__setattr__(self, "static", bool(self.static))


def _priorities(value: Any, label: str) -> np.ndarray:
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO":
            raise TypeError
        numbers = given if given.dtype.kind in "iuf" else given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"a scheduler gave {label} priorities that are not numbers: {value!r:.60}") from None
    if np.isnan(numbers).any():
        raise FormatError(f"a scheduler gave {label} priorities of which one is not a number, but NaN")
    return numbers


def _is_permutation(order: np.ndarray) -> bool:
    if order.ndim != 1 or order.dtype.kind not in "iu" or not len(order) or order.min() < 0:
        return False
    return order.max() < len(order) and bool(np.bincount(order, minlength=len(order)).all())


# -------------------------------------------------------------------- orders of devices, and of all ops


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
