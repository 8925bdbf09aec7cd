"""When would an op's inputs be on a device? Transfers that a planner plans, queueing for ports or channels where they must.

Contention: ``PARALLEL`` none; ``PORTS`` one transfer at a time per device (``port[d]`` sends, ``port[in_port + d]`` receives,
the same one if `in_port` is 0); ``CHANNEL`` one at a time per ordered pair (``port[s * k + d]``). ``port`` holds when each is
free. A tensor travels once per device: ``copy_sent, copy_there`` at ``t * k + d`` hold the times of transfers planned, -1
where there is none (all this only with contention). Within an op, inputs are sent in the order they were computed.
"""

from placelab.kernels.codes import CHANNEL, PARALLEL, PORTS
from placelab.kernels.jit import helper


@helper
def inputs_on(
    v, d, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, latency,
    contention, in_port, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
):  # fmt: skip
    """When all inputs of v would be on d; ``sent[i], there[i]``: when input i is sent and there.

    Input i is edge ``pred_edge[pred_ptr[v] + i]``. Workspace: ``turn``, as long as an op has inputs, their order;
    ``lane`` (k,).
    """
    k = len(lane)
    low = pred_ptr[v]
    count = pred_ptr[v + 1] - low
    ready = 0.0
    if contention == PARALLEL:
        for i in range(count):
            e = pred_edge[low + i]
            u = producer[e]
            link = device[u] * k + d
            sent[i] = finish[u] + send[link]
            there[i] = finish[u] + delay[link] + edge_bytes[e] / bandwidth[link]
            if there[i] > ready:
                ready = there[i]
        return ready
    for i in range(count):  # sorted by when they were computed
        u = producer[pred_edge[low + i]]
        lane[device[u]] = port[device[u] * k + d] if contention == CHANNEL else port[device[u]]
        j = i
        while j > 0 and finish[producer[pred_edge[low + turn[j - 1]]]] > finish[u]:
            turn[j] = turn[j - 1]
            j -= 1
        turn[j] = i
    receiver = 0.0 if contention == CHANNEL else port[in_port + d]
    before = -1
    tensor = -1
    for j in range(count):
        i = turn[j]
        e = pred_edge[low + i]
        u = producer[e]
        home = device[u]
        copy = edge_tensor[e] * k + d
        if home == d:
            sent[i] = finish[u]
            there[i] = finish[u]
        elif copy_sent[copy] >= 0.0:
            sent[i] = copy_sent[copy]
            there[i] = copy_there[copy]
        elif edge_tensor[e] == tensor:  # the op reads it twice
            sent[i] = sent[before]
            there[i] = there[before]
        else:
            link = home * k + d
            begin = max(finish[u] + send[link], lane[home], receiver)
            sent[i] = begin
            there[i] = begin + latency[link] + edge_bytes[e] / bandwidth[link]
            lane[home] = there[i]
            if contention == PORTS:
                receiver = there[i]
        before = i
        tensor = edge_tensor[e]
        if there[i] > ready:
            ready = there[i]
    return ready


@helper
def take_links(
    v, d, k, pred_ptr, pred_edge, producer, edge_tensor, contention, in_port, port, copy_sent, copy_there, device, sent, there,
):  # fmt: skip
    """Plan the transfers that bring v's inputs to d, at the times :func:`inputs_on` found."""
    if contention == PARALLEL:
        return
    for i in range(pred_ptr[v + 1] - pred_ptr[v]):
        e = pred_edge[pred_ptr[v] + i]
        home = device[producer[e]]
        copy = edge_tensor[e] * k + d
        if home == d or copy_sent[copy] >= 0.0:
            continue
        copy_sent[copy] = sent[i]
        copy_there[copy] = there[i]
        if contention == CHANNEL:
            port[home * k + d] = max(port[home * k + d], there[i])
        else:
            port[home] = max(port[home], there[i])
            port[in_port + d] = max(port[in_port + d], there[i])
