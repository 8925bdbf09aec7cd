"""Devices drawn for units by weight: `hash` and `random`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import assign, fits


@kernel
def draw(needs, capacity, choices, number, weight):
    """Put unit u on the device with room where the running sum of weights first exceeds number[u] of their total.

    Returns how many units were placed. O(n k).
    """
    k = len(weight)
    for u in range(len(number)):
        choices.order[u] = u
        total = 0.0
        for d in range(k):
            if fits(u, d, needs, capacity):
                total += weight[d]
        goal = number[u] * total
        below = 0.0
        chosen = -1
        for d in range(k):
            if fits(u, d, needs, capacity):
                if chosen < 0 or below <= goal:
                    chosen = d
                below += weight[d]
                if len(choices.score) > 0:
                    choices.score[u * k + d] = weight[d] / total
        if chosen < 0:
            return u
        assign(u, chosen, needs, capacity, choices)
    return len(number)
