"""The parts of SCT's linear program that need no solver: longest paths, a lower bound on its optimum, a matching, a certificate.

Arcs are distinct pairs of ops (tail, head), sorted: those that leave op u are ``ptr[u]:ptr[u + 1]``; ``into[j]`` for
``into_ptr[v] <= j < into_ptr[v + 1]`` are those that enter op v. ``time`` is exec per op, ``cost`` the transfer per arc.
"""

from placelab.kernels.jit import helper, kernel


@kernel
def longest_paths(time, ptr, head, delay, before, after):
    """``before[v]``: longest path to op v, its own time left out; ``after[v]``: from it, its own time included. O(arcs)."""
    n = len(time)
    for v in range(n):
        before[v] = 0.0
    for u in range(n):
        done = before[u] + time[u]
        for e in range(ptr[u], ptr[u + 1]):
            x = done + delay[e]
            if x > before[head[e]]:
                before[head[e]] = x
    for u in range(n - 1, -1, -1):
        longest = 0.0
        for e in range(ptr[u], ptr[u + 1]):
            x = delay[e] + after[head[e]]
            if x > longest:
                longest = x
        after[u] = time[u] + longest


@helper
def filled(low, high, arc, value, cost):
    """Least possible maximum of ``value[e] + cost[e] * x[e]`` over the arcs e, when Σ (1 - x[e]) <= 1 and 0 <= x[e] <= 1.

    Newton's method on a convex, falling, piecewise linear function, from the left: it ends, and never overshoots.
    """
    level = 0.0
    for i in range(low, high):
        if value[arc[i]] > level:
            level = value[arc[i]]
    while True:
        excess = -1.0
        slope = 0.0
        for i in range(low, high):
            e = arc[i]
            above = value[e] + cost[e] - level
            if above > 0.0 and cost[e] > 0.0:
                excess += above / cost[e]
                slope += 1.0 / cost[e]
        higher = level
        if excess > 0.0:
            higher = level + excess / slope
        if higher <= level * (1.0 + 1e-12):
            return level
        level = higher


@kernel
def water_levels(time, ptr, head, every, into_ptr, into, tail, cost, value, before, after):
    """Lower bounds on the longest path to each op (its own time left out) and from it (included), whatever x.

    Each degree row is looked at alone, so x is the best for its op: a water level. ``every`` is 0, 1, 2, …; workspace:
    ``value``, per arc. The largest ``before[v] + after[v]`` is a lower bound on the makespan. O(arcs · largest degree) at worst.
    """
    n = len(time)
    for v in range(n):
        for j in range(into_ptr[v], into_ptr[v + 1]):
            u = tail[into[j]]
            value[into[j]] = before[u] + time[u]
        before[v] = filled(into_ptr[v], into_ptr[v + 1], into, value, cost)
    for u in range(n - 1, -1, -1):
        for e in range(ptr[u], ptr[u + 1]):
            value[e] = after[head[e]]
        after[u] = time[u] + filled(ptr[u], ptr[u + 1], every, value, cost)


@kernel
def fill(order, tail, head, leaves, enters, x):
    """Give the arcs of this order, one after the other, as much of 1 - x as is left at their tail and their head. O(arcs).

    ``leaves[u]`` and ``enters[v]`` are what is left, written on.
    """
    for i in range(len(order)):
        e = order[i]
        part = min(leaves[tail[e]], enters[head[e]])
        if part > 0.0:
            x[e] = 1.0 - part
            leaves[tail[e]] -= part
            enters[head[e]] -= part


@kernel
def match(order, tail, head, child, parent):
    """Go through the arcs in this order and match tail and head where both are still alone (-1). O(arcs)."""
    for i in range(len(order)):
        u = tail[order[i]]
        v = head[order[i]]
        if child[u] < 0 and parent[v] < 0:
            child[u] = v
            parent[v] = u


@kernel
def certified(time, ptr, head, cost, dual, start, stop, leaves, enters, flow):
    """A number that no makespan of the linear program is below, from approximately optimal duals of its rows.

    ``dual`` of the arc rows, ``leaves`` and ``enters`` of the degree rows of each op, all at least 0, ``stop`` of the
    rows s + exec <= w, ``start`` what the arc rows lack for the flow through each op to be kept. The shares in which
    ``start`` enters and ``dual`` splits give an exact unit flow along paths, however rough the duals are; its mean length
    is a lower bound on the longest path, and what the best x can take off it is at most Σ leaves + Σ enters
    + Σ max(0, cost · flow - leaves - enters). Workspace: ``flow``, per op. O(arcs).
    """
    n = len(time)
    total = 0.0
    for v in range(n):
        total += start[v]
    if total <= 0.0:
        return 0.0
    length = 0.0
    for v in range(n):
        flow[v] = start[v] / total
        length -= leaves[v] + enters[v]
    for u in range(n):
        length += time[u] * flow[u]
        out = stop[u]
        for e in range(ptr[u], ptr[u + 1]):
            out += dual[e]
        if out <= 0.0:
            continue  # the flow ends here
        for e in range(ptr[u], ptr[u + 1]):
            part = flow[u] * dual[e] / out
            flow[head[e]] += part
            length += cost[e] * part
            saved = cost[e] * part - leaves[u] - enters[head[e]]
            if saved > 0.0:
                length -= saved
    return length
