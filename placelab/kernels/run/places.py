"""Where queues begin, and who stands in them in planned order."""

from placelab.kernels.jit import kernel


@kernel
def queue_bases(queue, base):
    """``base[q]``: where queue q begins, one more for the end, with room for all that have q in `queue`. O(n + queues)."""
    for q in range(len(base)):
        base[q] = 0
    for i in range(len(queue)):
        base[queue[i] + 1] += 1
    for q in range(1, len(base)):
        base[q] += base[q - 1]


@kernel
def in_sequence(device, planned, at, op):
    """Ops device by device in planned order, to `op`. Workspace: `at`, where each device's begin; then, where they end. O(n)."""
    for i in range(len(planned)):
        v = planned[i]
        op[at[device[v]]] = v
        at[device[v]] += 1
