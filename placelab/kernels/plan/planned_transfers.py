"""Transfers that a planner plans: when an op's inputs would be on a device, queueing for ports or channels where they must.

Contention: ``PARALLEL`` none; ``PORTS`` one transfer at a time per device (``ports.free[d]`` sends, ``ports.free[in_port + d]``
receives, the same one if `in_port` is 0); ``CHANNEL`` one at a time per ordered pair (``ports.free[s * k + d]``). A transfer
holds these while its bytes pass, and for ``ports.held`` of its latency, 1 or 0. A tensor travels once per device, and within an
op inputs are sent in the order they were computed. Input i of op v is edge ``pred.edge[pred.ptr[v] + i]``; ``inputs.sent[i],
inputs.there[i]`` say when it is sent and there.
"""

from placelab.kernels.blocks import CHANNEL, PARALLEL, PORTS
from placelab.kernels.jit import helper, inlined


@helper
def clear_ports(ports):
    """No transfer is planned."""
    for i in range(len(ports.free)):
        ports.free[i] = 0.0
    for i in range(len(ports.sent)):
        ports.sent[i] = -1.0


@helper
def inputs_at_once(v, d, pred, network, plan, inputs):
    """When all inputs of v would be on d, without contention; notes when each would be sent and there."""
    k = len(inputs.lane)
    low = pred.ptr[v]
    ready = 0.0
    for i in range(pred.ptr[v + 1] - low):
        e = pred.edge[low + i]
        u = pred.producer[e]
        home = plan.device[u]
        link = home * k + d
        inputs.sent[i] = plan.finish[u] + (network.send[home] if home != d else 0.0)
        inputs.there[i] = plan.finish[u] + network.delay[link] + pred.bytes[e] / network.bandwidth[link]
        if inputs.there[i] > ready:
            ready = inputs.there[i]
    return ready


@helper
def sort_inputs(v, d, pred, ports, plan, inputs):
    """Sort the inputs of v by when they were computed, and note when their sources can send to d at the earliest."""
    k = len(inputs.lane)
    low = pred.ptr[v]
    turn = inputs.turn
    for i in range(pred.ptr[v + 1] - low):
        u = pred.producer[pred.edge[low + i]]
        home = plan.device[u]
        inputs.lane[home] = ports.free[home * k + d] if ports.contention == CHANNEL else ports.free[home]
        j = i
        while j > 0 and plan.finish[pred.producer[pred.edge[low + turn[j - 1]]]] > plan.finish[u]:
            turn[j] = turn[j - 1]
            j -= 1
        turn[j] = i


@inlined
def held_until(begin, link, size, held, network):
    """When a transfer of `size` bytes that begins then lets go of its port or channel; `held`: for which share of the latency."""
    return begin + held * network.latency[link] + size / network.bandwidth[link]


@helper
def inputs_in_turn(v, d, pred, network, ports, plan, inputs):
    """As :func:`inputs_at_once`, with contention: behind all transfers that were planned before."""
    k = len(inputs.lane)
    low = pred.ptr[v]
    sort_inputs(v, d, pred, ports, plan, inputs)
    sent = inputs.sent
    there = inputs.there
    receiver = 0.0 if ports.contention == CHANNEL else ports.free[ports.in_port + d]
    ready = 0.0
    before = -1
    tensor = -1
    for j in range(pred.ptr[v + 1] - low):
        i = inputs.turn[j]
        e = pred.edge[low + i]
        u = pred.producer[e]
        home = plan.device[u]
        copy = pred.tensor[e] * k + d
        if home == d:
            sent[i] = plan.finish[u]
            there[i] = plan.finish[u]
        elif ports.sent[copy] >= 0.0:
            sent[i] = ports.sent[copy]
            there[i] = ports.there[copy]
        elif pred.tensor[e] == tensor:  # the op reads it twice
            sent[i] = sent[before]
            there[i] = there[before]
        else:
            link = home * k + d
            begin = max(plan.finish[u] + network.send[home], inputs.lane[home], receiver)
            sent[i] = begin
            there[i] = begin + network.latency[link] + pred.bytes[e] / network.bandwidth[link]
            inputs.lane[home] = held_until(begin, link, pred.bytes[e], ports.held, network)
            if ports.contention == PORTS:
                receiver = inputs.lane[home]
        before = i
        tensor = pred.tensor[e]
        if there[i] > ready:
            ready = there[i]
    return ready


@inlined
def inputs_on(v, d, pred, network, ports, plan, inputs):
    """When all inputs of v would be on d; notes when each would be sent and there."""
    if ports.contention == PARALLEL:
        return inputs_at_once(v, d, pred, network, plan, inputs)
    return inputs_in_turn(v, d, pred, network, ports, plan, inputs)


@helper
def reserve_links(v, d, pred, network, ports, plan, inputs):
    """Plan the transfers that bring v's inputs to d, at the times that :func:`inputs_on` found."""
    if ports.contention == PARALLEL:
        return
    k = len(inputs.lane)
    for i in range(pred.ptr[v + 1] - pred.ptr[v]):
        e = pred.edge[pred.ptr[v] + i]
        home = plan.device[pred.producer[e]]
        copy = pred.tensor[e] * k + d
        if home == d or ports.sent[copy] >= 0.0:
            continue
        free = held_until(inputs.sent[i], home * k + d, pred.bytes[e], ports.held, network)
        ports.sent[copy] = inputs.sent[i]
        ports.there[copy] = inputs.there[i]
        if ports.contention == CHANNEL:
            ports.free[home * k + d] = max(ports.free[home * k + d], free)
        else:
            ports.free[home] = max(ports.free[home], free)
            ports.free[ports.in_port + d] = max(ports.free[ports.in_port + d], free)
