"""The longest path to the fastest devices, everything else to the device that is done first: `critical-path`."""

from __future__ import annotations

from placelab.kernels.jit import helper, kernel
from placelab.kernels.room import fits, take


@helper
def longest_path(n_ops, done, succ_ptr, pred_ptr, pred_edge, producer, path):
    """Ops of the path of largest ``done`` (down + compute), last first, in path[:length]; returns the length. Ties: lowest op."""
    last = -1
    for v in range(n_ops):
        if succ_ptr[v] == succ_ptr[v + 1] and (last < 0 or done[v] > done[last]):
            last = v
    length = 0
    while last >= 0:
        path[length] = last
        length += 1
        before = -1
        for i in range(pred_ptr[last], pred_ptr[last + 1]):
            u = producer[pred_edge[i]]
            if before < 0 or done[u] > done[before]:
                before = u
        last = before
    return length


@helper
def home(n_path, path, unit, k, sequence, stride, allowed, held, peak, limit, seen):
    """First device of `sequence` that may run every unit of the path and has room for all of them, or -1."""
    total = 0.0
    high = 0.0
    for i in range(n_path):
        u = unit[path[i]]
        if seen[u] == 0:
            seen[u] = 1
            total += held[u]
            if peak[u] > high:
                high = peak[u]
    for i in range(n_path):
        seen[unit[path[i]]] = 0
    for j in range(k):
        d = sequence[j]
        if total + high > limit[d]:
            continue
        for i in range(n_path):
            if allowed[unit[path[i]] * stride + d] == 0:
                break
        else:
            return d
    return -1


@kernel
def critical_path(
    n, k, traced, stride, allowed, held, peak, limit, used, top, place, order, reason, score,
    n_ops, done, succ_ptr, pred_ptr, pred_edge, producer, unit, sequence, queue,
    cost, columns, column, divisor, path, seen, load,
):  # fmt: skip
    """Place the longest path from its source on, then the units of `queue`: ``placelab.partitioning.critical_path``.

    `sequence`: devices, fastest first. `path` (n_ops), `seen` (n, zeros) and `load` (k, zeros) are workspace. Returns
    how many units were placed. O(n k + edges).
    """
    n_path = longest_path(n_ops, done, succ_ptr, pred_ptr, pred_edge, producer, path)
    chosen = home(n_path, path, unit, k, sequence, stride, allowed, held, peak, limit, seen)
    placed = 0
    for i in range(n_path):
        u = unit[path[n_path - 1 - i]]
        if place[u] >= 0:
            continue
        order[placed] = u
        best = chosen
        if chosen < 0:
            reason[placed] = 1
        for j in range(k):
            d = sequence[j]
            if (best < 0 or traced != 0) and fits(u, d, stride, allowed, held, peak, limit, used, top):
                if best < 0:
                    best = d
                if traced != 0:
                    score[placed * k + d] = (load[d] + cost[u * columns + column[d]]) / divisor[d]
        if best < 0:
            return placed
        load[best] += cost[u * columns + column[best]]
        take(u, best, held, peak, used, top, place)
        placed += 1
    for i in range(n):
        u = queue[i]
        if place[u] >= 0:
            continue
        order[placed] = u
        reason[placed] = 2
        best = -1
        least = 0.0
        for d in range(k):
            if fits(u, d, stride, allowed, held, peak, limit, used, top):
                done = (load[d] + cost[u * columns + column[d]]) / divisor[d]
                if traced != 0:
                    score[placed * k + d] = done
                if best < 0 or done < least:
                    best = d
                    least = done
        if best < 0:
            return placed
        load[best] += cost[u * columns + column[best]]
        take(u, best, held, peak, used, top, place)
        placed += 1
    return placed
