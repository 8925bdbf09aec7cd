"""Traffic × execution time along a depth-first search: `dfs`."""

from __future__ import annotations

from placelab.kernels.jit import helper, kernel
from placelab.kernels.room import fits, take
from placelab.kernels.traffic import inward, relative


@helper
def sort_children(n_ops, by_rank, succ_ptr, pred_ptr, pred_edge, producer, child, filled):
    """Children of each op in child[succ_ptr[v]:succ_ptr[v + 1]], the lowest rank first."""
    for v in range(n_ops):
        filled[v] = succ_ptr[v]
    for i in range(n_ops):
        v = by_rank[n_ops - 1 - i]
        for j in range(pred_ptr[v], pred_ptr[v + 1]):
            u = producer[pred_edge[j]]
            child[filled[u]] = v
            filled[u] += 1


@kernel
def dfs(
    n, k, traced, stride, allowed, held, peak, limit, used, top, place, order, reason, score,
    input_ptr, input_unit, input_size, latency, slowness,
    n_ops, unit, succ_ptr, pred_ptr, pred_edge, producer, by_rank, whole_load, cost, columns, column, divisor,
    traffic, took, load, child, filled, stack, visited,
):  # fmt: skip
    """Put each unit, when the search meets its first op, on the device of least score: ``placelab.partitioning.dfs``.

    `by_rank`: ops by descending total rank. `whole_load` 1: execution time is the device's load with the unit, 0: the
    unit's own. Workspace: `traffic`, `took`, `load` (k, zeros), `child` (edges), `filled`, `visited` (n_ops, zeros),
    `stack` (edges + 1). Returns how many units were placed. O((n + edges) k).
    """
    sort_children(n_ops, by_rank, succ_ptr, pred_ptr, pred_edge, producer, child, filled)
    placed = 0
    for s in range(n_ops):
        if pred_ptr[by_rank[s]] != pred_ptr[by_rank[s] + 1]:
            continue
        stack[0] = by_rank[s]
        size = 1
        while size > 0:
            size -= 1
            v = stack[size]
            if visited[v] != 0:
                continue
            visited[v] = 1
            for j in range(succ_ptr[v], succ_ptr[v + 1]):
                stack[size] = child[j]
                size += 1
            u = unit[v]
            if place[u] >= 0:
                continue
            order[placed] = u
            inward(u, k, place, input_ptr, input_unit, input_size, latency, slowness, traffic)
            most_traffic = 0.0
            longest = 0.0
            for d in range(k):
                took[d] = -1.0
                if fits(u, d, stride, allowed, held, peak, limit, used, top):
                    took[d] = (load[d] * whole_load + cost[u * columns + column[d]]) / divisor[d]
                    longest = max(longest, took[d])
                    most_traffic = max(most_traffic, traffic[d])
            best = -1
            least = 0.0
            for d in range(k):
                if took[d] < 0.0:
                    continue
                value = relative(traffic[d], most_traffic) * relative(took[d], longest)
                if traced != 0:
                    score[placed * k + d] = value
                if best < 0 or value < least or (value == least and took[d] < took[best]):
                    best = d
                    least = value
            if best < 0:
                return placed
            load[best] += cost[u * columns + column[best]]
            take(u, best, held, peak, used, top, place)
            placed += 1
    return placed
