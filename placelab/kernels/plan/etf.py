"""Earliest task first: of all ready ops and devices always the pair that can start soonest."""

from math import inf

from placelab.kernels.jit import kernel
from placelab.kernels.plan.look_up import exec_time
from placelab.kernels.plan.ready_ops import (
    first_start,
    place,
    queue_entries,
    record_starts,
    release,
    settle_eased,
    take_limits,
    unlimited,
)


@kernel
def earliest_first(pred, succ, times, network, eligible, limits, frontier, queues, bounds, plan):
    """Plan all ops, within the limits of memory over time and of links. Ties: rank, the sooner finish, the lower device.

    A score is when v, at the moment it was placed, could have started on d. Bounds of a device are lowered again
    (:func:`placelab.kernels.plan.ready_ops.settle`) when bytes came back there, or a tensor has come that others read too.
    Returns how many ops were placed before nothing fitted any more. O(n k log n + edges k) where memory and links are no limit.
    """
    n = len(plan.device)
    k = len(frontier.free)
    free = unlimited(limits)
    queue_entries(pred, eligible, limits, frontier, queues, bounds, plan)
    for step in range(n):
        best = -1
        soonest = inf
        best_rank = n
        done = inf
        for d in range(k):
            if frontier.free[d] > soonest:
                continue
            settle_eased(d, limits.memory.held, eligible, queues, bounds, plan)
            s, exact, r = first_start(
                d, soonest, best_rank, pred, times, network, eligible, limits, frontier, queues, bounds, plan
            )
            if r == n:
                continue
            f = exact + exec_time(int(queues.item[r]), d, times)
            if s < soonest or r < best_rank or f < done:
                best = d
                soonest = exact
                best_rank = r
                done = f
        if best < 0:
            return step
        v = int(queues.item[best_rank])
        if len(plan.score) > 0:
            record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan)
        plan.start[v] = soonest
        plan.finish[v] = done
        if not free:
            take_limits(v, best, pred, succ, network, eligible, limits, queues, bounds, plan)
        place(v, best, step, eligible, frontier, plan)
        release(v, 1.0, pred, succ, network, eligible, frontier, queues, bounds, plan)
    return n
