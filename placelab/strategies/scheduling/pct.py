"""Path computation time: the longest remaining path first."""

from __future__ import annotations

import numpy as np

from placelab.planning.ranks import largest_per_transfer, path_computation_time, rounded, transfer_computation_time
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Mayer et al. 2017 §4.1, eq. 12")
def pct(problem: Problem, placement: Placement, *, order_transfers: bool = False) -> Order:
    r"""Highest path computation time first.

    .. math:: PCT(v) = exec(v, p(v)) + \max_{s \in succ(v)} (trans + PCT(s))

    Parameters
    ----------
    order_transfers
        Let transfers queue by the PCT of what they feed, too (only ``sequential`` and ``channel`` transfers queue).

    Notes
    -----
    With ``transfer_ops``, Sends and Receives count in the path and Sends are ranked themselves
    (:func:`placelab.planning.ranks.path_computation_time`). PCTs are compared :func:`~placelab.planning.ranks.rounded`. Ties, as
    in the published program: the op or Send that became executable first, at one instant a Send before an op, then the
    lower number. O(edges + ops log ops) for all PCTs, then O(log ops) per op.
    """
    graph = problem.graph
    device = placement.device
    op, _ = path_computation_time(problem, device, transfers=False)
    op, send = _compared(op, transfer_computation_time(problem, device, op) if problem.transfer_ops > 0 else None)
    transfer = largest_per_transfer(problem, device, op[graph.consumer]) if order_transfers else None
    return Order("priority", op, transfer, send)


def _compared(op: np.ndarray, send: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """PCT of ops and of the Send of each transfer, rounded together."""
    if send is None:
        return rounded(op), None
    steps = rounded(np.concatenate([op, send.ravel()]))
    return steps[: len(op)], steps[len(op) :].reshape(send.shape)
