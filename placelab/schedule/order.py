"""The order in which a static scheduler lets devices run ops and links carry tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.schedule.placement import checked_times

RULES = ("priority", "fifo", "msr", "planned")
WEIGHTS = (1.0, 1.0, 1.0, 5.0)


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
