"""How long is the longest path to and from each op? One sweep over the edges each, ops being numbered topologically."""

from placelab.kernels.heap import pop_key, push_key
from placelab.kernels.jit import kernel


@kernel
def upward(weight, succ_ptr, consumer, edge_bytes, latency, per_byte, rank):
    """``rank[v] = weight[v] + max over edges v -> s of (latency + bytes * per_byte + rank[s])``. O(ops + edges)."""
    for v in range(len(weight) - 1, -1, -1):
        longest = 0.0
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            x = latency + edge_bytes[e] * per_byte + rank[consumer[e]]
            if x > longest:
                longest = x
        rank[v] = weight[v] + longest


@kernel
def downward(weight, succ_ptr, consumer, edge_bytes, latency, per_byte, rank):
    """``rank[v] = max over edges u -> v of (rank[u] + weight[u] + latency + bytes * per_byte)``, 0 without. O(ops + edges)."""
    for v in range(len(weight)):
        rank[v] = 0.0
    for u in range(len(weight)):
        done = rank[u] + weight[u]
        for e in range(succ_ptr[u], succ_ptr[u + 1]):
            x = done + (latency + edge_bytes[e] * per_byte)
            v = consumer[e]
            if x > rank[v]:
                rank[v] = x


@kernel
def path_computation_time(
    exec_time, device, succ_ptr, consumer, edge_tensor, tensor_bytes, latency, bandwidth, send_time, rank, transfer_rank
):  # fmt: skip
    """PCT of a placement, of ops and (unless `transfer_rank` is shorter than tensors * devices) of transfers.

    `latency` and `bandwidth` are flat (devices * devices); `send_time` is how long a Send or Receive op takes on each
    device, 0 for none. Results: ``rank[v] = exec + max over consumers s of (way + rank[s])``, where way is 0 on the
    same device and otherwise ``send_time[source] + latency + bytes / bandwidth + send_time[destination]``;
    ``transfer_rank[t * devices + d]`` is the largest ``way + rank[s]`` over the consumers s of tensor t on another
    device d, 0 where t does not travel. O(ops + edges + transfer ranks).
    """
    k = len(send_time)
    wanted = len(transfer_rank) == len(tensor_bytes) * k
    for i in range(len(transfer_rank)):
        transfer_rank[i] = 0.0
    for v in range(len(exec_time) - 1, -1, -1):
        home = device[v]
        longest = 0.0
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            s = consumer[e]
            d = device[s]
            t = edge_tensor[e]
            link = home * k + d  # on a device's link to itself the latency is 0 and the bandwidth infinite
            away = 1.0 if d != home else 0.0
            way = away * send_time[home] + latency[link] + tensor_bytes[t] / bandwidth[link]
            x = way + (away * send_time[d] + rank[s])
            longest = x if x > longest else longest
            if wanted and d != home and x > transfer_rank[t * k + d]:
                transfer_rank[t * k + d] = x
        rank[v] = exec_time[v] + longest


@kernel
def precedence_order(place, succ_ptr, consumer, item, missing, heap, order):
    """List order: of the ops whose inputs are all listed, always the one of the smallest ``place[v]`` next.

    `place` numbers the ops from 0, ``item[place[v]] == v``. Workspace: `missing`, `heap`. Result: `order`.
    O(ops log ops + edges).
    """
    n = len(place)
    for v in range(n):
        missing[v] = 0
    for e in range(len(consumer)):
        missing[consumer[e]] += 1
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
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[e]
            missing[w] -= 1
            if missing[w] == 0:
                push_key(heap, 0, size, place[w])
                size += 1
