"""Traffic × execution time along a depth-first search: `dfs`."""

from __future__ import annotations

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.look_up import assign, fits
from placelab.kernels.plan.traffic import inward, relative


@helper
def sort_children(by_rank, pred, succ, search):
    """Sort the consumers of each op into ``search.child[succ.ptr[v]:succ.ptr[v + 1]]``, the lowest rank first."""
    n_ops = len(by_rank)
    for v in range(n_ops):
        search.filled[v] = succ.ptr[v]
    for i in range(n_ops):
        v = by_rank[n_ops - 1 - i]
        for j in range(pred.ptr[v], pred.ptr[v + 1]):
            u = pred.producer[pred.edge[j]]
            search.child[search.filled[u]] = v
            search.filled[u] += 1


@inlined
def least_score(u, row, needs, capacity, times, whole_load, score, work):
    """Device of least traffic × time for unit u, ties by time, then number; -1 where none has room. Scores go to `row`."""
    k = len(capacity.limit)
    most_traffic = 0.0
    longest = 0.0
    for d in range(k):
        work.took[d] = -1.0
        if fits(u, d, needs, capacity):
            work.took[d] = (
                work.load[d] * whole_load + times.cost[u * times.columns + times.column[d]]
            ) / times.divisor[d]
            longest = max(longest, work.took[d])
            most_traffic = max(most_traffic, work.traffic[d])
    best = -1
    least = 0.0
    for d in range(k):
        if work.took[d] < 0.0:
            continue
        value = relative(work.traffic[d], most_traffic) * relative(work.took[d], longest)
        if len(score) > 0:
            score[row * k + d] = value
        if best < 0 or value < least or (value == least and work.took[d] < work.took[best]):
            best = d
            least = value
    return best


@kernel
def dfs(needs, capacity, choices, units, inputs, pred, succ, times, by_rank, whole_load, search, work):
    """Put each unit, when the search meets its first op, on the device of least score: ``placelab.strategies.partitioning.dfs``.

    `by_rank`: ops by descending total rank. `whole_load` 1: execution time is the device's load with the unit, 0: the
    unit's own. Returns how many units were placed. O((n + edges) k).
    """
    sort_children(by_rank, pred, succ, search)
    placed = 0
    for s in range(len(by_rank)):
        if pred.ptr[by_rank[s]] != pred.ptr[by_rank[s] + 1]:
            continue
        search.stack[0] = by_rank[s]
        size = 1
        while size > 0:
            size -= 1
            v = search.stack[size]
            if search.visited[v] != 0:
                continue
            search.visited[v] = 1
            for j in range(succ.ptr[v], succ.ptr[v + 1]):
                search.stack[size] = search.child[j]
                size += 1
            u = units.of[v]
            if choices.place[u] >= 0:
                continue
            choices.order[placed] = u
            inward(u, choices.place, inputs, work.traffic)
            best = least_score(u, placed, needs, capacity, times, whole_load, choices.score, work)
            if best < 0:
                return placed
            work.load[best] += times.cost[u * times.columns + times.column[best]]
            assign(u, best, needs, capacity, choices)
            placed += 1
    return placed
