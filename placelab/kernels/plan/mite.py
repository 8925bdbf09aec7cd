"""Memory × importance × traffic × execution time: `mite`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import assign, exec_time, fits
from placelab.kernels.plan.traffic import inward, outward, relative


@kernel
def mite(needs, capacity, choices, units, inputs, succ, times, both, queue, importance, work):
    """Put each unit of the queue on the device of least score: ``placelab.strategies.partitioning.mite``.

    `both` 1: traffic with successors counts, too. Returns how many units were placed. O((n + edges) k).
    """
    k = len(capacity.limit)
    for i in range(len(queue)):
        u = queue[i]
        choices.order[i] = u
        inward(u, choices.place, inputs, work.traffic)
        if both != 0:
            outward(u, choices.place, units, succ, inputs, work)
        most_traffic = 0.0
        longest = 0.0
        for d in range(k):
            work.took[d] = -1.0
            if fits(u, d, needs, capacity):
                work.took[d] = exec_time(u, d, times)
                longest = max(longest, work.took[d])
                most_traffic = max(most_traffic, work.traffic[d])
        best = -1
        least = 0.0
        for d in range(k):
            if work.took[d] < 0.0:
                continue
            memory = relative(capacity.used[d] + capacity.top[d], capacity.limit[d])
            unimportance = relative(1.0 - importance.rank[i] * importance.speed[d], 1.0)
            s = memory * unimportance * relative(work.traffic[d], most_traffic) * relative(work.took[d], longest)
            if len(choices.score) > 0:
                choices.score[i * k + d] = s
            if best < 0 or s < least or (s == least and work.took[d] < work.took[best]):
                best = d
                least = s
        if best < 0:
            return i
        assign(u, best, needs, capacity, choices)
    return len(queue)
