"""Units drawn to devices by weight: `hash` and `random`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.room import fits, take


@kernel
def draw(
    n, k, traced, stride, allowed, held, peak, limit, used, top, place, order, reason, score,
    number, weight,
):  # fmt: skip
    """Put unit u on the device with room where the running sum of weights first exceeds number[u] of their total.

    Returns how many units were placed. O(n k).
    """
    for u in range(n):
        order[u] = u
        total = 0.0
        for d in range(k):
            if fits(u, d, stride, allowed, held, peak, limit, used, top):
                total += weight[d]
        goal = number[u] * total
        below = 0.0
        chosen = -1
        for d in range(k):
            if fits(u, d, stride, allowed, held, peak, limit, used, top):
                if chosen < 0 or below <= goal:
                    chosen = d
                below += weight[d]
                if traced != 0:
                    score[u * k + d] = weight[d] / total
        if chosen < 0:
            return u
        take(u, chosen, held, peak, used, top, place)
    return n
