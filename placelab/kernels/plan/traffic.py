"""Traffic: the seconds that it takes to bring a unit's inputs to each device, for the kernels that weigh it."""

from __future__ import annotations

from placelab.kernels.jit import helper, inlined, kernel


@kernel
def unit_inputs(units, pred, tensor_bytes, read, ptr, source, size):
    """List the tensors that each unit reads from other units, each once: from ``source[ptr[u]:…]``, ``size`` bytes each.

    `read` (tensors, zeros) is workspace. Returns their number. O(ops + edges).
    """
    n = 0
    for u in range(len(units.ptr) - 1):
        ptr[u] = n
        for i in range(units.ptr[u], units.ptr[u + 1]):
            for j in range(pred.ptr[units.ops[i]], pred.ptr[units.ops[i] + 1]):
                e = pred.edge[j]
                t = pred.tensor[e]
                if units.of[pred.producer[e]] != u and read[t] != u + 1:
                    read[t] = u + 1
                    source[n] = units.of[pred.producer[e]]
                    size[n] = tensor_bytes[t]
                    n += 1
    ptr[len(units.ptr) - 1] = n
    return n


@inlined
def inward(u, place, inputs, traffic):
    """``traffic[d]``: seconds that the tensors from placed units take to device d."""
    k = len(traffic)
    for d in range(k):
        traffic[d] = 0.0
    for i in range(inputs.ptr[u], inputs.ptr[u + 1]):
        q = place[inputs.source[i]]
        if q >= 0:
            for d in range(k):
                traffic[d] += inputs.latency[q * k + d] + inputs.bytes[i] * inputs.slowness[q * k + d]


@helper
def outward(u, place, units, succ, inputs, work):
    """Add to ``work.traffic[d]`` what the unit's tensors take from d to the devices of placed units, each once per device."""
    k = len(work.traffic)
    for i in range(units.ptr[u], units.ptr[u + 1]):
        for e in range(succ.ptr[units.ops[i]], succ.ptr[units.ops[i] + 1]):
            q = place[units.of[succ.consumer[e]]]
            if q >= 0 and work.sent[q] != succ.tensor[e] + 1:
                work.sent[q] = succ.tensor[e] + 1
                for d in range(k):
                    work.traffic[d] += inputs.latency[d * k + q] + succ.bytes[e] * inputs.slowness[d * k + q]


@inlined
def relative(value, largest):
    """value / largest, at least 1e-6: a factor of 0 would make all devices equal."""
    share = value / largest if largest > 0.0 else 0.0
    return share if share > 1e-6 else 1e-6
