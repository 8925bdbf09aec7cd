"""Units in order on one device until it has its share, then on the next: `m-topo`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import assign, fits


@kernel
def in_shares(needs, capacity, choices, own, share, counting, load):
    """Fill device after device; returns how many units were placed.

    The device that is being filled has its share when ``load[d] + own[u]`` would exceed `share`, or, `counting`, when all units
    so far have `share` for it and for each device before. It is left for good then, and when it has no room for a unit it may
    run. What it may not run, and what the last one has no room for, goes to the first device with room behind it, round the
    cluster. A score is the number of devices passed over. Workspace: ``load`` (k,). O(n + k) while devices have room.
    """
    n = len(own)
    k = len(load)
    traced = len(choices.score) > 0
    for d in range(k):
        load[d] = 0.0
    filling = 0
    total = 0.0
    for u in range(n):
        choices.order[u] = u
        while filling < k - 1 and needs.allowed[u * needs.stride + filling] != 0:
            enough = total >= share * (filling + 1) if counting != 0 else load[filling] + own[u] > share
            if not enough and fits(u, filling, needs, capacity):
                break
            filling += 1
        found = -1
        for step in range(k):
            d = (filling + step) % k
            if fits(u, d, needs, capacity):
                if traced:
                    choices.score[u * k + d] = step
                if found < 0:
                    found = d
                    choices.reason[u] = min(step, 1)
                    if not traced:
                        break
        if found < 0:
            return u
        load[found] += own[u]
        total += own[u]
        assign(u, found, needs, capacity, choices)
    return n
