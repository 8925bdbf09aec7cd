"""The longest remaining path first."""

from __future__ import annotations

from placelab.planning.ranks import path_computation_time
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
    (:func:`placelab.planning.ranks.path_computation_time`). Ties: lower op number.
    """
    op, send = path_computation_time(problem, placement.device)
    return Order("priority", op, transfer=_feeds(problem, placement, op) if order_transfers else None, send=send)


def _feeds(problem: Problem, placement: Placement, op):
    """Largest PCT among the consumers of each tensor on each device, shape (n_tensors, n_devices)."""
    import numpy as np

    graph = problem.graph
    best = np.zeros((graph.n_tensors, problem.cluster.n_devices))
    np.maximum.at(best, (graph.edge_tensor, placement.device[graph.consumer]), op[graph.consumer])
    return best
