"""DualPipeV: DualPipe's order on one copy of the model."""

from __future__ import annotations

from placelab.planning.dual_orders import dualpipe_v_steps, order_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source='Liu 2025, DualPipeV ("cut-in-half")')
def dualpipe_v(problem: Problem, placement: Placement) -> Order:
    """DualPipe's order in a V: rank s has stages s and 2p - 1 - s, one copy of the model.

    Notes
    -----
    The first chunk is one direction of ``dualpipe``, the second one the other, with p devices in place of its p/2; m ≥ 2p.
    :func:`placelab.transforms.together` makes one op of what runs together, which this scheduler runs, too; without it the
    forward pass comes first. 2p + 1
    activations of chunks. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, one op for both gradients, or other stages on a device; m < 2p.
    """
    return order_of(problem, dualpipe_v_steps(problem, placement))
