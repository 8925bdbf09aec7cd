"""ZB-H1 and ZB-H2: gradients of weights fill the bubble, at the memory of 1F1B, or with more micro-batches in flight."""

from __future__ import annotations

from placelab.planning.pipeline_orders import in_sequence, single, zero_bubble
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Qi et al. 2024 §2")
def zb_h1(problem: Problem, placement: Placement) -> Order:
    """1F1B with gradients of weights held back, on stage s by s micro-batches.

    Notes
    -----
    Stage s of p runs min(p - s - 1, m) forwards, then forward and gradient of the input in turn; the gradient of the weights of
    micro-batch i follows that of the input of i + s, those that are left come at the end. On equal stages without transfer
    times, with m ≥ p, the bubble is ``(p - 1)(F + B - W)`` where that is not negative: of the makespan, and of the longest span
    of a device. At most p activations on a device. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, several stages on a device, or one op for both gradients.
    """
    replicas = single(problem, placement, "zb-h1", split=True)
    return in_sequence(replicas, lambda each: zero_bubble(each, 1))


@scheduler(static=True, needs="pipeline", source="Qi et al. 2024 §2")
def zb_h2(problem: Problem, placement: Placement) -> Order:
    """1F1B with twice the warm-up and gradients of weights held back longer, on stage s by 2s micro-batches.

    Notes
    -----
    Stage s of p runs min(2(p - s - 1), m) forwards, then forward and gradient of the input in turn; the gradient of the weights
    of micro-batch i follows that of the input of i + 2s, those that are left come at the end. On equal stages without transfer
    times, with m ≥ 2p - 1, the bubble is ``(p - 1)(F + B - 2W)`` where that is not negative, of the longest span of a device;
    the makespan is longer, since devices begin one after the other. At most 2p - 1 activations on a device.
    No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, several stages on a device, or one op for both gradients.
    """
    replicas = single(problem, placement, "zb-h2", split=True)
    return in_sequence(replicas, lambda each: zero_bubble(each, 2))
