"""First fit round the devices, from a position given per unit: `batch-split`, `contiguous`, `layers` and `round-robin`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import assign, fits


@kernel
def first_fit(needs, capacity, choices, queue, target, sequence):
    """Put each unit of the queue on the first device with room, going round `sequence` from position target[i].

    A target of -1 is the position after the one last used. A score is the number of devices passed over. Returns how
    many units were placed. O(n) while devices have room, O(n k) at worst or when traced.
    """
    k = len(sequence)
    traced = len(choices.score) > 0
    last = -1
    for i in range(len(queue)):
        u = queue[i]
        choices.order[i] = u
        begin = target[i]
        if begin < 0:
            begin = last + 1
        found = -1
        for step in range(k):
            at = (begin + step) % k
            d = sequence[at]
            if fits(u, d, needs, capacity):
                if traced:
                    choices.score[i * k + d] = step
                if found < 0:
                    found = at
                    choices.reason[i] = min(step, 1)
                    if not traced:
                        break
        if found < 0:
            return i
        last = found
        assign(u, sequence[found], needs, capacity, choices)
    return len(queue)
