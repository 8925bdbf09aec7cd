"""What does it cost to bring a unit's inputs to each device? Traffic, for the kernels that weigh it."""

from __future__ import annotations

from placelab.kernels.jit import helper, kernel


@kernel
def unit_inputs(
    ptr, ops, unit, pred_ptr, pred_edge, producer, edge_tensor, tensor_bytes, read, input_ptr, input_unit, input_size
):  # fmt: skip
    """Tensors that each unit reads from other units, each once: from ``input_unit[input_ptr[u]:…]``, so many bytes.

    `read` (tensors, zeros) is workspace. Returns their number. O(ops + edges).
    """
    n = 0
    for u in range(len(ptr) - 1):
        input_ptr[u] = n
        for i in range(ptr[u], ptr[u + 1]):
            for j in range(pred_ptr[ops[i]], pred_ptr[ops[i] + 1]):
                e = pred_edge[j]
                t = edge_tensor[e]
                if unit[producer[e]] != u and read[t] != u + 1:
                    read[t] = u + 1
                    input_unit[n] = unit[producer[e]]
                    input_size[n] = tensor_bytes[t]
                    n += 1
    input_ptr[len(ptr) - 1] = n
    return n


@helper
def inward(u, k, place, input_ptr, input_unit, input_size, latency, slowness, traffic):
    """traffic[d] = seconds that the tensors from placed units take to device d.

    `latency` and `slowness`, which is 1 / bandwidth, are flat (k * k), with zero diagonals.
    """
    for d in range(k):
        traffic[d] = 0.0
    for i in range(input_ptr[u], input_ptr[u + 1]):
        q = place[input_unit[i]]
        if q >= 0:
            for d in range(k):
                traffic[d] += latency[q * k + d] + input_size[i] * slowness[q * k + d]


@helper
def outward(
    u, k, place, ptr, ops, unit, succ_ptr, consumer, edge_tensor, tensor_bytes, sent, latency, slowness, traffic
):  # fmt: skip
    """Add to traffic[d] what the unit's tensors take from d to the devices of placed units, each once per device.

    `sent` (k) is workspace, zeros at first.
    """
    for i in range(ptr[u], ptr[u + 1]):
        for e in range(succ_ptr[ops[i]], succ_ptr[ops[i] + 1]):
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
