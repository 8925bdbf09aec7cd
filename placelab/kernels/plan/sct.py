"""SCT on finitely many devices: free devices take what can start first, awake ones urgent ops or the favourite child.

Heaps, ranks and bounds are those of :mod:`placelab.kernels.plan.ready_ops`. The clock never goes back: a device that is idle at
t is free from t on.
"""

from math import inf

from placelab.kernels.codes import PARALLEL
from placelab.kernels.jit import inlined, kernel
from placelab.kernels.plan.look_up import exec_time
from placelab.kernels.plan.ready_ops import (
    earliest,
    first_start,
    open_on,
    place,
    promote,
    queue_entries,
    record_starts,
    release,
    settle_eased,
    take_limits,
    unlimited,
)

SOONEST, URGENT, CHILD, WAITED = 0, 1, 2, 3  # which rule placed an op
SHY = 1 - 2**-50  # a transfer that queues adds its times up in another order, and must not come out below its bound


@inlined
def start_at_best(f, d, pred, times, network, eligible, limits, frontier, bounds, starts, plan):
    """When f could start on d if it could start nowhere sooner, else infinite."""
    k = len(frontier.free)
    for e in range(k):
        starts[e] = inf
        if not open_on(f, e, eligible, plan):
            continue
        if unlimited(limits):
            starts[e] = max(frontier.free[e], bounds.ready_on[f * k + e])
        else:
            starts[e] = earliest(f, e, frontier.free, pred, times, network, eligible, limits, plan)
    here = starts[d]
    for e in range(k):
        if starts[e] < here:
            return inf
    return here


@inlined
def is_urgent(v, d, clock, pred, times, network, eligible, limits, frontier, bounds, plan):
    """Whether v, which could start on d by the clock, could on every idle device that may run it and has room, too."""
    k = len(frontier.free)
    simple = unlimited(limits)
    for e in range(k):
        if frontier.free[e] > clock or not open_on(v, e, eligible, plan):
            continue
        if bounds.ready_on[v * k + e] > clock and (simple or e == d):
            return False
        if simple:
            continue
        exact = earliest(v, e, frontier.free, pred, times, network, eligible, limits, plan)
        if exact > clock and (exact < inf or e == d):
            return False
    return True


@inlined
def most_urgent(d, clock, pred, times, network, eligible, limits, frontier, queues, bounds, plan):
    """The least rank of the urgent ops on d; n when there is none."""
    n = len(queues.rank)
    urgent = n
    i = 0
    while i < queues.n_now[d]:  # in no order; the least rank first, which mostly is it
        r = int(queues.now[d * n + i])
        i += 1
        v = int(queues.item[r])
        if r >= urgent or not open_on(v, d, eligible, plan):
            continue
        if is_urgent(v, d, clock, pred, times, network, eligible, limits, frontier, bounds, plan):
            urgent = r
            if i == 1:
                break
    return urgent


@kernel
def small_communication_times(pred, succ, times, network, eligible, limits, frontier, queues, bounds, favourites, plan):
    """Plan all ops, within the limits of memory over time and of links.

    At the clock t, the earliest start of any ready op, idle devices are asked in turn. The last op i of a device d may have
    a favourite child f that is ready and could start nowhere sooner than on d: then d is awake, and takes, of the ops that
    could start by t on every idle device that may run them and has room, the one of least rank, or, when there is none, f,
    whenever it can start. Otherwise d is free: it takes the op of least rank that could start on it at t, if any.

    Results as :func:`placelab.kernels.plan.etf.earliest_first`, and ``favourites.rule``. Returns how many ops were placed before
    nothing fitted any more. O(n k log n + edges k + n k²) where memory and links are no limit and urgent ops come to the top.
    """
    n = len(plan.device)
    k = len(frontier.free)
    free = frontier.free
    soonest = favourites.soonest
    ran = favourites.ran
    shy = 1.0 if limits.ports.contention == PARALLEL else SHY
    for d in range(k):
        ran[d] = -1
    queue_entries(pred, eligible, limits, frontier, queues, bounds, plan)
    for step in range(n):
        clock = inf
        for d in range(k):  # the earliest start on each device
            soonest[d] = inf
            if free[d] > clock:
                continue
            settle_eased(d, limits.memory.held, eligible, queues, bounds, plan)
            soonest[d] = first_start(
                d, clock, n, pred, times, network, eligible, limits, frontier, queues, bounds, plan
            )[0]
            if soonest[d] < inf:
                clock = soonest[d]
        if clock == inf:
            return step
        best = -1
        chosen = -1
        start = clock
        why = SOONEST
        for d in range(k):
            if free[d] < clock:
                free[d] = clock
        for j in range(k):
            d = int(favourites.turns[j])
            if free[d] > clock:
                continue
            f = int(favourites.child[ran[d]]) if ran[d] >= 0 else -1
            here = inf
            if f >= 0 and queues.missing[f] == 0 and open_on(f, d, eligible, plan):
                here = start_at_best(
                    f, d, pred, times, network, eligible, limits, frontier, bounds, favourites.starts, plan
                )
            promote(d, free, eligible, queues, plan)
            if here == inf:
                if soonest[d] > clock:
                    continue
                chosen = int(queues.item[queues.now[d * n]])
                best = d
                break
            urgent = most_urgent(d, clock, pred, times, network, eligible, limits, frontier, queues, bounds, plan)
            best = d
            if urgent < n:
                chosen = int(queues.item[urgent])
                why = URGENT
            else:
                chosen = f
                start = here
                why = WAITED if here > clock else CHILD
            break
        v = chosen
        plan.start[v] = start
        plan.finish[v] = start + exec_time(v, best, times)
        if len(plan.score) > 0:
            record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan)
        if not unlimited(limits):
            take_limits(v, best, pred, succ, network, eligible, limits, queues, bounds, plan)
        place(v, best, step, eligible, frontier, plan)
        ran[best] = v
        favourites.rule[v] = why
        release(v, shy, pred, succ, network, eligible, frontier, queues, bounds, plan)
    return n
