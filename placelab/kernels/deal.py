"""Units dealt to devices in a fixed sequence: `batch-split`, `contiguous` and `round-robin`."""

from __future__ import annotations

from placelab.kernels.jit import kernel
from placelab.kernels.room import fits, take


@kernel
def deal(
    n, k, traced, stride, allowed, held, peak, limit, used, top, place, order, reason, score,
    queue, target, sequence,
):  # fmt: skip
    """Put each unit of the queue on the first device with room, going round `sequence` from position target[i].

    A target of -1 is the position after the one last used. A score is the number of devices passed over. Returns how
    many units were placed. O(n) while devices have room, O(n k) at worst or when traced.
    """
    last = -1
    for i in range(n):
        u = queue[i]
        order[i] = u
        begin = target[i]
        if begin < 0:
            begin = last + 1
        found = -1
        for step in range(k):
            at = (begin + step) % k
            d = sequence[at]
            if fits(u, d, stride, allowed, held, peak, limit, used, top):
                if traced != 0:
                    score[i * k + d] = step
                if found < 0:
                    found = at
                    reason[i] = min(step, 1)
                    if traced == 0:
                        break
        if found < 0:
            return i
        last = found
        take(u, sequence[found], held, peak, used, top, place)
    return n
