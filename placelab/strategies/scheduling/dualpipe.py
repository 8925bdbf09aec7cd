"""DualPipe: two pipelines through the same devices."""

from __future__ import annotations

from placelab.planning.dual_orders import dualpipe_steps, order_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="DeepSeek-AI 2024, DualPipe")
def dualpipe(problem: Problem, placement: Placement) -> Order:
    """Two pipelines on the same devices, one down and one up: passes of one run together with backward passes of the other.

    Notes
    -----
    p devices hold two copies of the model, m/2 micro-batches each, m ≥ 2p, p even. Rank s, counted from its end of the pipeline
    (r = min(s, p - 1 - s)): p - 2r - 2 forwards; r + 1 times a forward of each direction; p/2 - r - 1 times the gradient of an
    input, of the weights, a forward; then a forward together with the backward pass of the other direction, in turn; backward
    passes, from the middle on with gradients of weights put off. :func:`placelab.transforms.together` makes one op of what runs
    together, which this scheduler runs, too; without it the forward pass comes first. Merged, the bubble is
    ``(p/2 - 1)(F&B + B - 2W)`` where F = B ≥ W and F&B is the seconds of both together; p + 1 activations. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, one op for both gradients, or no twin; p is odd, or m < 2p.
    """
    return order_of(problem, dualpipe_steps(problem, placement))
