"""Parts of a cut settle on their devices; what may not go there, or has no room, goes where it is cut off least: `min-cut`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.room import fits, take


@kernel
def settle(
    n, k, traced, stride, allowed, held, peak, limit, used, top, place, order, reason, score,
    home, ptr, neighbour, weight, near,
):  # fmt: skip
    """First every unit that fits on the device of its part, ``home``, then the others; ties: the lower device.

    A score is the weight of the unit's edges to other devices, units not placed yet being at home. `near` (k) is
    workspace. Returns how many units were placed. O(n + edges), O(n k + edges) when traced.
    """
    placed = 0
    for others in range(2):
        for u in range(n):
            if place[u] >= 0:
                continue
            at_home = fits(u, home[u], stride, allowed, held, peak, limit, used, top)
            if others == 0 and not at_home:
                continue
            order[placed] = u
            reason[placed] = 0 if at_home else 1
            best = home[u] if at_home else -1
            if traced != 0 or not at_home:
                total = 0.0
                for d in range(k):
                    near[d] = 0.0
                for i in range(ptr[u], ptr[u + 1]):
                    w = neighbour[i]
                    near[place[w] if place[w] >= 0 else home[w]] += weight[i]
                    total += weight[i]
                for d in range(k):
                    if fits(u, d, stride, allowed, held, peak, limit, used, top):
                        if traced != 0:
                            score[placed * k + d] = total - near[d]
                        if not at_home and (best < 0 or near[d] > near[best]):
                            best = d
            if best < 0:
                return placed
            take(u, best, held, peak, used, top, place)
            placed += 1
    return placed
