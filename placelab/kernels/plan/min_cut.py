"""Parts of a cut on their devices; what may not run there, or has no room, goes where it is cut off least: `min-cut`."""

from __future__ import annotations

from placelab.kernels.jit import inlined, kernel
from placelab.kernels.plan.look_up import assign, fits


@inlined
def weigh(u, place, home, links, near):
    """``near[d]``: weight of u's edges to device d, units not placed yet being at home. Returns the weight of all."""
    total = 0.0
    for d in range(len(near)):
        near[d] = 0.0
    for i in range(links.ptr[u], links.ptr[u + 1]):
        w = links.neighbour[i]
        near[place[w] if place[w] >= 0 else home[w]] += links.weight[i]
        total += links.weight[i]
    return total


@kernel
def settle_parts(needs, capacity, choices, home, links, near):
    """Place first every unit that fits on the device of its part, ``home``, then the others; ties: the lower device.

    A score is the weight of the unit's edges to other devices, units not placed yet being at home. `near` (k) is
    workspace. Returns how many units were placed. O(n + edges), O(n k + edges) when traced.
    """
    k = len(near)
    traced = len(choices.score) > 0
    placed = 0
    for others in range(2):
        for u in range(len(home)):
            if choices.place[u] >= 0:
                continue
            at_home = fits(u, home[u], needs, capacity)
            if others == 0 and not at_home:
                continue
            choices.order[placed] = u
            choices.reason[placed] = 0 if at_home else 1
            best = home[u] if at_home else -1
            if traced or not at_home:
                total = weigh(u, choices.place, home, links, near)
                for d in range(k):
                    if fits(u, d, needs, capacity):
                        if traced:
                            choices.score[placed * k + d] = total - near[d]
                        if not at_home and (best < 0 or near[d] > near[best]):
                            best = d
            if best < 0:
                return placed
            assign(u, best, needs, capacity, choices)
            placed += 1
    return placed
