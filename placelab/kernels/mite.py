"""Memory × importance × traffic × execution time: `mite`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.room import fits, take
from placelab.kernels.traffic import inward, outward, relative


@kernel
def mite(
    n, k, traced, stride, allowed, held, peak, limit, used, top, place, order, reason, score,
    input_ptr, input_unit, input_size, latency, slowness,
    both, ptr, ops, unit, succ_ptr, consumer, edge_tensor, tensor_bytes, sent,
    queue, rank, speed, cost, columns, column, divisor, traffic, took,
):  # fmt: skip
    """Put each unit of the queue on the device of least score: ``placelab.partitioning.mite``.

    `rank` of queue[i] and `speed` of a device are relative to the largest. `sent` (k, zeros), `traffic` and `took` (k)
    are workspace: seconds, `took` is -1 where there is no room. Returns how many units were placed. O((n + edges) k).
    """
    for i in range(n):
        u = queue[i]
        order[i] = u
        inward(u, k, place, input_ptr, input_unit, input_size, latency, slowness, traffic)
        if both != 0:
            outward(
                u, k, place, ptr, ops, unit, succ_ptr, consumer, edge_tensor, tensor_bytes, sent, latency, slowness, traffic
            )  # fmt: skip
        most_traffic = 0.0
        longest = 0.0
        for d in range(k):
            took[d] = -1.0
            if fits(u, d, stride, allowed, held, peak, limit, used, top):
                took[d] = cost[u * columns + column[d]] / divisor[d]
                longest = max(longest, took[d])
                most_traffic = max(most_traffic, traffic[d])
        best = -1
        least = 0.0
        for d in range(k):
            if took[d] < 0.0:
                continue
            memory = relative(used[d] + top[d], limit[d])
            importance = relative(1.0 - rank[i] * speed[d], 1.0)
            s = memory * importance * relative(traffic[d], most_traffic) * relative(took[d], longest)
            if traced != 0:
                score[i * k + d] = s
            if best < 0 or s < least or (s == least and took[d] < took[best]):
                best = d
                least = s
        if best < 0:
            return i
        take(u, best, held, peak, used, top, place)
    return n
