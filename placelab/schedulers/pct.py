"""The longest remaining path first."""

from __future__ import annotations

from placelab.problem import Problem
from placelab.ranks import largest_per_transfer, path_computation_time, transfer_computation_time
from placelab.schedule import Placement
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
    (:func:`placelab.ranks.path_computation_time`). Ties: lower op number.
    """
    graph, device = problem.graph, placement.device
    op, _ = path_computation_time(problem, device, transfers=False)
    send = transfer_computation_time(problem, device, op) if problem.transfer_ops > 0 else None
    transfer = largest_per_transfer(problem, device, op[graph.consumer]) if order_transfers else None
    return Order("priority", op, transfer, send)
