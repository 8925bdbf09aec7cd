"""PEFT's optimistic cost table: how long the rest of the graph takes at best, once an op has run on a device."""

from math import inf

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import exec_time, may_run


@kernel
def optimistic_cost(latency, per_byte, succ, times, network, eligible, ahead, table):
    """``table[v * k + d]`` = max over edges v -> s of min over devices w of table[s, w] + exec(s, w) + transfer, 0 at exits.

    A transfer takes ``latency + bytes * per_byte``, if `latency` is negative what the link takes; 0 where w = d. ``ahead[v *
    k + w]`` is table[v, w] + exec(v, w). O(edges k), with links O(edges k^2).
    """
    k = len(network.send)
    n = len(succ.ptr) - 1
    for v in range(n - 1, -1, -1):
        for d in range(k):
            table[v * k + d] = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            s = succ.consumer[e] * k
            size = succ.bytes[e]
            least = inf
            for w in range(k):
                if ahead[s + w] < least:
                    least = ahead[s + w]
            for d in range(k):
                x = ahead[s + d]
                if latency >= 0.0:
                    x = min(x, least + (latency + size * per_byte))
                else:
                    for w in range(k):
                        x = min(x, ahead[s + w] + (network.delay[d * k + w] + size / network.bandwidth[d * k + w]))
                if x > table[v * k + d]:
                    table[v * k + d] = x
        for w in range(k):
            ahead[v * k + w] = table[v * k + w] + exec_time(v, w, times) if may_run(v, w, eligible) else inf
