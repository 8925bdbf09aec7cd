"""The longest path on the fastest devices, everything else on the device that is done first: `critical-path`."""

from __future__ import annotations

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.look_up import assign, fits


@helper
def longest_path(done, pred, succ, path):
    """Ops of the path of largest ``done`` (down + compute), last first, in path[:length]; returns the length. Ties: lowest op."""
    last = -1
    for v in range(len(done)):
        if succ.ptr[v] == succ.ptr[v + 1] and (last < 0 or done[v] > done[last]):
            last = v
    length = 0
    while last >= 0:
        path[length] = last
        length += 1
        before = -1
        for i in range(pred.ptr[last], pred.ptr[last + 1]):
            u = pred.producer[pred.edge[i]]
            if before < 0 or done[u] > done[before]:
                before = u
        last = before
    return length


@helper
def home(n_path, path, unit, sequence, needs, capacity, seen):
    """First device of `sequence` that may run every unit of the path and has room for all of them, or -1."""
    total = 0.0
    high = 0.0
    for i in range(n_path):
        u = unit[path[i]]
        if seen[u] == 0:
            seen[u] = 1
            total += needs.held[u]
            if needs.peak[u] > high:
                high = needs.peak[u]
    for i in range(n_path):
        seen[unit[path[i]]] = 0
    for j in range(len(sequence)):
        d = sequence[j]
        if total + high > capacity.limit[d]:
            continue
        for i in range(n_path):
            if needs.allowed[unit[path[i]] * needs.stride + d] == 0:
                break
        else:
            return d
    return -1


@inlined
def time_with(u, d, times, load):
    """Seconds that device d takes for all its units and u."""
    return (load[d] + times.cost[u * times.columns + times.column[d]]) / times.divisor[d]


@inlined
def place_unit(u, d, needs, capacity, choices, times, load):
    """Place unit u on d and add it to the load there."""
    load[d] += times.cost[u * times.columns + times.column[d]]
    assign(u, d, needs, capacity, choices)


@helper
def place_path(n_path, path, unit, sequence, needs, capacity, choices, times, load, chosen):
    """Place the units of the path from its source on, on device `chosen`, or where that is -1 on the first with room.

    Returns (how many were placed, whether all were).
    """
    k = len(sequence)
    traced = len(choices.score) > 0
    placed = 0
    for i in range(n_path):
        u = unit[path[n_path - 1 - i]]
        if choices.place[u] >= 0:
            continue
        choices.order[placed] = u
        best = chosen
        if chosen < 0:
            choices.reason[placed] = 1
        for j in range(k):
            d = sequence[j]
            if (best < 0 or traced) and fits(u, d, needs, capacity):
                if best < 0:
                    best = d
                if traced:
                    choices.score[placed * k + d] = time_with(u, d, times, load)
        if best < 0:
            return placed, False
        place_unit(u, best, needs, capacity, choices, times, load)
        placed += 1
    return placed, True


@kernel
def critical_path(needs, capacity, choices, unit, pred, succ, times, done, sequence, queue, work):
    """Place the longest path from its source on, then the units of `queue`: ``placelab.strategies.partitioning.critical_path``.

    `sequence`: devices, fastest first. Returns how many units were placed. O(n k + edges).
    """
    n_path = longest_path(done, pred, succ, work.path)
    chosen = home(n_path, work.path, unit, sequence, needs, capacity, work.seen)
    placed, whole = place_path(n_path, work.path, unit, sequence, needs, capacity, choices, times, work.load, chosen)
    if not whole:
        return placed
    k = len(sequence)
    for i in range(len(queue)):
        u = queue[i]
        if choices.place[u] >= 0:
            continue
        choices.order[placed] = u
        choices.reason[placed] = 2
        best = -1
        least = 0.0
        for d in range(k):
            if fits(u, d, needs, capacity):
                done_at = time_with(u, d, times, work.load)
                if len(choices.score) > 0:
                    choices.score[placed * k + d] = done_at
                if best < 0 or done_at < least:
                    best = d
                    least = done_at
        if best < 0:
            return placed
        place_unit(u, best, needs, capacity, choices, times, work.load)
        placed += 1
    return placed
