"""Depth first: what an op needs is run right before it, so that few bytes are held."""

from __future__ import annotations

from placelab.planning.depth_first import depth_first_order
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Liu 1986")
def depth_first(problem: Problem, placement: Placement) -> Order:
    """Each device runs its ops in a depth-first order of the whole graph that holds few bytes, and waits for the next one.

    Notes
    -----
    The order is Liu's best postorder on the depth-first forest of the graph
    (:func:`placelab.planning.depth_first.depth_first_order`, with its equation and ties); on a tree and one device no order that
    ends each subtree before it begins the next one holds less. As under ``planned``, a device waits for the op whose turn it is,
    even where another one is executable: less memory for more time. Transfers are first come, first served.
    O(ops + edges · log edges).
    """
    return Order("planned", depth_first_order(problem))
