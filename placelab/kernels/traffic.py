"""What does it cost to bring a unit's inputs to each device? A helper of the kernels that weigh traffic."""

from __future__ import annotations

from placelab.kernels.jit import helper


@helper
def add_traffic(
    u, k, both, ptr, ops, unit, place, pred_ptr, pred_edge, producer, succ_ptr, consumer, edge_tensor, tensor_bytes,
    latency, slowness, read, sent, traffic,
):  # fmt: skip
    """traffic[d] = sum over tensors from placed units (`both`: to them, too) of latency + bytes * slowness, in seconds.

    A tensor counts once however many of the unit's ops read it, and once per device that it goes to. `slowness` is
    1 / bandwidth; it and `latency` are flat (k * k) with zero diagonals. `read` (tensors) and `sent` (k) are workspace,
    zeros at first.
    """
    for d in range(k):
        traffic[d] = 0.0
    for i in range(ptr[u], ptr[u + 1]):
        v = ops[i]
        for j in range(pred_ptr[v], pred_ptr[v + 1]):
            e = pred_edge[j]
            q = place[unit[producer[e]]]
            if q >= 0 and read[edge_tensor[e]] != u + 1:
                read[edge_tensor[e]] = u + 1
                size = tensor_bytes[edge_tensor[e]]
                for d in range(k):
                    traffic[d] += latency[q * k + d] + size * slowness[q * k + d]
        if both != 0:
            for e in range(succ_ptr[v], succ_ptr[v + 1]):
                q = place[unit[consumer[e]]]
                if q >= 0 and sent[q] != edge_tensor[e] + 1:
                    sent[q] = edge_tensor[e] + 1
                    size = tensor_bytes[edge_tensor[e]]
                    for d in range(k):
                        traffic[d] += latency[d * k + q] + size * slowness[d * k + q]


@helper
def relative(value, largest):
    """value / largest, at least 1e-6: a factor of 0 would make all devices equal."""
    share = value / largest if largest > 0.0 else 0.0
    return share if share > 1e-6 else 1e-6
