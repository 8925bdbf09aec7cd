"""Least times of ops and transfers over the devices that may run ops: what lower bounds are made of."""

from math import inf

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import exec_time, may_run


@kernel
def least_times(times, eligible, fastest, least):
    """Least seconds of each op over the devices that it may run on, to `least`.

    Workspace: `fastest`, float64 (columns,). O(n columns), where ops are restricted O(n devices).
    """
    k = len(times.divisor)
    if eligible.stride > 0:
        for v in range(len(least)):
            least[v] = inf
            for d in range(k):
                if may_run(v, d, eligible):
                    least[v] = min(least[v], exec_time(v, d, times))
        return
    for c in range(times.columns):
        fastest[c] = 0.0
    for d in range(k):
        fastest[times.column[d]] = max(fastest[times.column[d]], times.divisor[d])
    for v in range(len(least)):
        least[v] = inf
        for c in range(times.columns):
            least[v] = min(least[v], times.cost[v * times.columns + c] / fastest[c])


@kernel
def least_transfers(pair, ptr, latency, rate, apart, together, size, cost, always):
    """Least seconds of each edge's transfer over the links that it may take, to `cost`; and, where its ends are never on one
    device, to `always`, which is 0 at first.

    ``pair[e]`` numbers the sets of devices of the edge's ends, whose links are ``ptr[pair]:ptr[pair + 1]``; ``apart[pair]``:
    these share no device. Infinite where the ends are `together` wherever they are. O(edges links).
    """
    for e in range(len(cost)):
        p = pair[e]
        least = inf
        for i in range(ptr[p], ptr[p + 1]):
            least = min(least, latency[i] + size[e] / rate[i])
        if apart[p] != 0:
            always[e] = least
        cost[e] = inf if together[e] != 0 else least


@kernel
def longest_window(head, time, tail):
    """The longest head, time and tail of an op together. O(n)."""
    longest = 0.0
    for v in range(len(time)):
        longest = max(longest, head[v] + time[v] + tail[v])
    return longest
