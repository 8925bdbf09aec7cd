"""Clusters of ops that shall share a device: by longest paths, or by the largest transfers.

Ops take `weight` [s], transfers between clusters `latency` + bytes · `per_byte`, those within a cluster no time.
"""

from placelab.kernels.jit import helper, kernel

ROUNDING = 1e-12  # relative: sums of the same times along two paths differ by less


@kernel
def longest_paths(weight, succ, latency, per_byte, rank, child, cluster):
    """Let the longest path of ops without a cluster be the next one, until all have one; returns their number.

    `rank` (n,) and `child` (n,) are workspace. Ties: the lower op numbers. O((ops + edges) clusters).
    """
    n = len(weight)
    for v in range(n):
        cluster[v] = -1
    count = 0
    placed = 0
    while placed < n:
        first = -1
        for v in range(n - 1, -1, -1):
            if cluster[v] >= 0:
                continue
            longest = 0.0
            child[v] = -1
            for e in range(succ.ptr[v], succ.ptr[v + 1]):
                w = succ.consumer[e]
                if cluster[w] >= 0:
                    continue
                x = latency + succ.bytes[e] * per_byte + rank[w]
                equal = abs(x - longest) <= ROUNDING * x
                if child[v] < 0 or (x > longest and not equal) or (equal and w < child[v]):
                    child[v] = w
                    longest = x
            rank[v] = weight[v] + longest
            if first < 0 or rank[v] >= rank[first] * (1.0 - ROUNDING):
                first = v
        while first >= 0:
            cluster[first] = count
            placed += 1
            first = child[first]
        count += 1
    return count


@helper
def length(a, b, begin, limit, order, weight, tail, pred, latency, per_byte, cluster, free, finish, tried):
    """How long the clusters run if b joins a, from place `begin` of the order on; gives up beyond `limit`."""
    for c in range(len(free)):
        free[c] = 0.0
    longest = 0.0
    for i in range(len(order)):
        v = order[i]
        c = a if cluster[v] == b else cluster[v]
        if i < begin:
            tried[v] = finish[v]
        else:
            start = free[c]
            for j in range(pred.ptr[v], pred.ptr[v + 1]):
                e = pred.edge[j]
                u = pred.producer[e]
                there = tried[u]
                if cluster[u] != cluster[v] and (a if cluster[u] == b else cluster[u]) != c:
                    there += latency + pred.bytes[e] * per_byte
                start = max(start, there)
            tried[v] = start + weight[v]
        free[c] = tried[v]
        longest = max(longest, tried[v])
        if tried[v] + tail[v] > limit:
            return tried[v] + tail[v]
    return longest


@kernel
def zero_edges(
    edges, consumer, best, order, weight, tail, pred, latency, per_byte, cluster, first, free, finish, tried
):
    """Join the clusters at both ends of each edge, in this order, if they do not run longer then; returns how long they run.

    A cluster runs its ops in `order`, a topological one; it begins at place ``first[c]`` of that. `best` is how long they run,
    `finish` (n,) when each op ends, `tail` (n,) the time that must pass after it; `free` and `tried` (n,) are workspace.
    O(edges (ops + edges)) at worst.
    """
    n = len(order)
    for i in range(len(edges)):
        a = cluster[pred.producer[edges[i]]]
        b = cluster[consumer[edges[i]]]
        if a == b:
            continue
        begin = max(first[a], first[b])
        limit = best * (1.0 + ROUNDING)
        x = length(a, b, begin, limit, order, weight, tail, pred, latency, per_byte, cluster, free, finish, tried)
        if x > limit:
            continue
        best = x
        first[a] = min(first[a], first[b])
        for v in range(n):
            finish[v] = tried[v]
            if cluster[v] == b:
                cluster[v] = a
    return best
