"""Which ops of a plan waited for memory."""

from placelab.kernels.jit import kernel


@kernel
def memory_waits(device, start, finish, producer, succ, network, there, planned, last, possible, waits):
    """When the plan lets each op start that waited for memory, 0 for the others, to `waits`; returns whether any has waited.

    An op could have started when its inputs are there and the op before it on its device has ended. ``there[t * devices + d]``:
    when tensor t is on device d, where transfers waited for links; without it a transfer leaves when its producer ends.
    Workspace: `last`, `possible`. O(ops + edges).
    """
    k = len(network.send)
    for v in range(len(device)):
        possible[v] = 0.0
    for e in range(len(producer)):
        u = producer[e]
        v = succ.consumer[e]
        link = device[u] * k + device[v]
        came = finish[u] + network.delay[link] + succ.bytes[e] / network.bandwidth[link]
        if len(there) > 0 and device[u] != device[v]:
            came = there[succ.tensor[e] * k + device[v]]
        if came > possible[v]:
            possible[v] = came
    for d in range(k):
        last[d] = -1
    for i in range(len(planned)):
        v = planned[i]
        before = last[device[v]]
        if before >= 0 and finish[before] > possible[v]:
            possible[v] = finish[before]
        last[device[v]] = v
    waited = False
    for v in range(len(device)):
        waits[v] = 0.0
        if start[v] > possible[v]:
            waits[v] = start[v]
            waited = True
    return waited
