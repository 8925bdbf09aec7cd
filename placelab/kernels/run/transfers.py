"""Transfers of a placement: one per (tensor, destination device), the canonical Receive of TF §3.2.2."""

from placelab.kernels.jit import helper, kernel


@kernel
def group_transfers(device, succ, producer, sorting, receivers, transfers):
    """See :func:`number_transfers`."""
    return number_transfers(device, succ, producer, sorting, receivers, transfers)


@helper
def number_transfers(device, succ, producer, sorting, receivers, transfers):
    """Sort each op's edges by (destination device, tensor, consumer) and number the runs that leave the op's device.

    Results: `receivers` and `transfers`; what they say of each transfer counts up to the last one. Returns the number of
    transfers. O(edges + ops + devices): two stable counting sorts.
    """
    count, by_device, cursor = sorting
    of_edge = transfers.of_edge
    n_ops = len(device)
    n_devices = len(count) - 1
    n_edges = len(succ.consumer)
    for d in range(n_devices + 1):
        count[d] = 0
    for e in range(n_edges):
        count[device[succ.consumer[e]] + 1] += 1
    for d in range(n_devices):
        count[d + 1] += count[d]
    for e in range(n_edges):
        d = device[succ.consumer[e]]
        by_device[count[d]] = e
        count[d] += 1
    for v in range(n_ops):
        cursor[v] = succ.ptr[v]
    for i in range(n_edges):
        e = by_device[i]
        u = producer[e]
        of_edge[cursor[u]] = e  # for now: the edge at each sorted position
        cursor[u] += 1
    x = 0
    for v in range(n_ops):
        transfers.ptr[v] = x
        home = device[v]
        receivers.local_start[v] = succ.ptr[v]
        receivers.local_end[v] = succ.ptr[v]
        last_device = -1
        last_tensor = -1
        for i in range(succ.ptr[v], succ.ptr[v + 1]):
            e = of_edge[i]
            w = succ.consumer[e]
            d = device[w]
            receivers.op[i] = w
            if d == home:
                if last_device != home:
                    receivers.local_start[v] = i
                receivers.local_end[v] = i + 1
                by_device[e] = -1
            else:
                t = succ.tensor[e]
                if d != last_device or t != last_tensor:
                    transfers.tensor[x] = t
                    transfers.destination[x] = d
                    transfers.source[x] = home
                    receivers.ptr[2 * x] = i
                    x += 1
                receivers.ptr[2 * x - 1] = i + 1
                by_device[e] = x - 1
                last_tensor = t
            last_device = d
    transfers.ptr[n_ops] = x
    for e in range(n_edges):
        of_edge[e] = by_device[e]
    return x
