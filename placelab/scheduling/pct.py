"""The longest remaining path first."""

from __future__ import annotations

import numpy as np

from placelab.planning.ranks import path_computation_time, rounded
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies import Order, scheduler


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
    lower number.
    """
    op, send = _compared(*path_computation_time(problem, placement.device))
    return Order("priority", op, transfer=_feeds(problem, placement, op) if order_transfers else None, send=send)


def _compared(op: np.ndarray, send: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """PCT of ops and Sends, rounded together; tensors that do not travel have 0."""
    if send is None:
        return rounded(op), None
    travels = send > 0
    steps = rounded(np.concatenate([op, send[travels]]))
    send[travels] = steps[len(op) :]
    return steps[: len(op)], send


def _feeds(problem: Problem, placement: Placement, op: np.ndarray) -> np.ndarray:
    """Largest PCT among the consumers of each tensor on each device, shape (n_tensors, n_devices)."""
    graph = problem.graph
    best = np.zeros((graph.n_tensors, problem.cluster.n_devices))
    np.maximum.at(best, (graph.edge_tensor, placement.device[graph.consumer]), op[graph.consumer])
    return best
