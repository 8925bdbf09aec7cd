"""Longest paths to and from each op: one sweep over the edges each, ops being numbered topologically."""

from placelab.kernels.heap import pop_key, push_key
from placelab.kernels.jit import kernel


@kernel
def upward(weight, succ, latency, per_byte, rank):
    """``rank[v] = weight[v] + max over edges v -> s of (latency + bytes * per_byte + rank[s])``. O(ops + edges)."""
    for v in range(len(weight) - 1, -1, -1):
        longest = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            x = latency + succ.bytes[e] * per_byte + rank[succ.consumer[e]]
            if x > longest:
                longest = x
        rank[v] = weight[v] + longest


@kernel
def downward(weight, succ, latency, per_byte, rank):
    """``rank[v] = max over edges u -> v of (rank[u] + weight[u] + latency + bytes * per_byte)``, 0 without. O(ops + edges)."""
    for v in range(len(weight)):
        rank[v] = 0.0
    for u in range(len(weight)):
        done = rank[u] + weight[u]
        for e in range(succ.ptr[u], succ.ptr[u + 1]):
            x = done + (latency + succ.bytes[e] * per_byte)
            v = succ.consumer[e]
            if x > rank[v]:
                rank[v] = x


@kernel
def path_computation_time(exec_time, device, succ, network, rank, transfer_rank):
    """PCT of a placement, of ops and (unless `transfer_rank` is empty) of transfers.

    Results: ``rank[v] = exec + max over consumers s of (way + rank[s])``, where way is 0 on the same device and otherwise
    ``send[source] + latency + bytes / bandwidth + send[destination]``;
    ``transfer_rank[t * devices + d]`` is the largest ``way + rank[s]`` over the consumers s of tensor t on another
    device d, 0 where t does not travel. O(ops + edges + transfer ranks).
    """
    k = len(network.send)
    wanted = len(transfer_rank) > 0
    for i in range(len(transfer_rank)):
        transfer_rank[i] = 0.0
    for v in range(len(exec_time) - 1, -1, -1):
        home = device[v]
        longest = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            s = succ.consumer[e]
            d = device[s]
            t = succ.tensor[e]
            link = home * k + d  # on a device's link to itself the latency is 0 and the bandwidth infinite
            away = 1.0 if d != home else 0.0
            way = away * network.send[home] + network.latency[link] + succ.bytes[e] / network.bandwidth[link]
            x = way + (away * network.send[d] + rank[s])
            longest = x if x > longest else longest
            if wanted and d != home and x > transfer_rank[t * k + d]:
                transfer_rank[t * k + d] = x
        rank[v] = exec_time[v] + longest


@kernel
def precedence_order(place, item, succ, missing, heap, order):
    """Order of list scheduling: of the ops whose inputs are all listed, always the one of the smallest ``place[v]`` next.

    `place` numbers the ops from 0, ``item[place[v]] == v``. Workspace: `missing`, `heap`. Result: `order`.
    O(ops log ops + edges).
    """
    n = len(place)
    for v in range(n):
        missing[v] = 0
    for e in range(len(succ.consumer)):
        missing[succ.consumer[e]] += 1
    size = 0
    for v in range(n):
        if missing[v] == 0:
            push_key(heap, 0, size, place[v])
            size += 1
    i = 0
    while size > 0:
        v = item[heap[0]]
        pop_key(heap, 0, size)
        size -= 1
        order[i] = v
        i += 1
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            missing[w] -= 1
            if missing[w] == 0:
                push_key(heap, 0, size, place[w])
                size += 1
