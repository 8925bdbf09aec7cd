"""Latest finish of each op of a schedule that does not lengthen it."""

from __future__ import annotations

from placelab.kernels.jit import kernel


@kernel
def latest_finish(makespan, order, duration, device, ptr, consumer, way, begin, latest):
    """``latest[v]``: the least of the latest starts of what must follow op v, less the way there; `makespan` without any.

    Followers are the next op of its device and its consumers, edge e taking ``way[e]``. `order`: the ops by start. Workspace:
    `begin`, one per device. O(ops + edges).
    """
    for d in range(len(begin)):
        begin[d] = makespan
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        last = begin[device[v]]
        for e in range(ptr[v], ptr[v + 1]):
            s = consumer[e]
            x = latest[s] - duration[s] - way[e]
            if x < last:
                last = x
        latest[v] = last
        begin[device[v]] = last - duration[v]
