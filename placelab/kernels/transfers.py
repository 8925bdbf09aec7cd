"""Which tensors travel where? One transfer per (tensor, destination device): the canonical Receive of TF §3.2.2."""

from placelab.kernels.jit import kernel


@kernel
def group_transfers(
    n_ops, n_devices, device, succ_ptr, producer, consumer, edge_tensor,
    # workspace
    count, by_device, cursor,
    # results
    receiver, local_start, local_end, op_transfer_ptr, consumer_ptr, tensor, destination, edge_transfer,
):  # fmt: skip
    """Sort each op's edges by (destination device, tensor, consumer) and number the runs that leave the op's device.

    Results: ``receiver`` (n_edges,) consumers in that order; those on the producer's own device are
    ``receiver[local_start[v]:local_end[v]]``; transfers of op v are ``op_transfer_ptr[v]:op_transfer_ptr[v + 1]``, transfer x
    carries ``tensor[x]`` to ``destination[x]`` for ``receiver[consumer_ptr[2 * x]:consumer_ptr[2 * x + 1]]``; ``edge_transfer``
    (n_edges,) is the transfer that brings each edge's tensor, -1 within a device. Returns the number of transfers.
    O(edges + ops + devices): two stable counting sorts.
    """
    n_edges = len(consumer)
    for d in range(n_devices + 1):
        count[d] = 0
    for e in range(n_edges):
        count[device[consumer[e]] + 1] += 1
    for d in range(n_devices):
        count[d + 1] += count[d]
    for e in range(n_edges):
        d = device[consumer[e]]
        by_device[count[d]] = e
        count[d] += 1
    for v in range(n_ops):
        cursor[v] = succ_ptr[v]
    for i in range(n_edges):
        e = by_device[i]
        u = producer[e]
        edge_transfer[cursor[u]] = e  # for now: the edge at each sorted position
        cursor[u] += 1
    x = 0
    for v in range(n_ops):
        op_transfer_ptr[v] = x
        home = device[v]
        local_start[v] = succ_ptr[v]
        local_end[v] = succ_ptr[v]
        last_device = -1
        last_tensor = -1
        for i in range(succ_ptr[v], succ_ptr[v + 1]):
            e = edge_transfer[i]
            w = consumer[e]
            d = device[w]
            receiver[i] = w
            if d == home:
                if last_device != home:
                    local_start[v] = i
                local_end[v] = i + 1
                by_device[e] = -1
            else:
                t = edge_tensor[e]
                if d != last_device or t != last_tensor:
                    tensor[x] = t
                    destination[x] = d
                    consumer_ptr[2 * x] = i
                    x += 1
                consumer_ptr[2 * x - 1] = i + 1
                by_device[e] = x - 1
                last_tensor = t
            last_device = d
    op_transfer_ptr[n_ops] = x
    for e in range(n_edges):
        edge_transfer[e] = by_device[e]
    return x
