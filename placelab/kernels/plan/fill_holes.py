"""Insertion scheduling: the ready op of highest priority where it starts soonest, then ready ops into the hole before it."""

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.list_schedule import arrivals
from placelab.kernels.plan.look_up import clear_devices, exec_time, fix_group, group_home, may_go


@helper
def become_ready(v, count, rank, pred, network, plan, frontier, ready):
    """Add v to so many ready ops, the lowest rank first: when its inputs are on each device. Returns their new number."""
    k = len(frontier.free)
    arrivals(v, 0, k, pred, network, plan, frontier.arrival)
    for d in range(k):
        ready.arrival[v * k + d] = frontier.arrival[d]
    op = ready.op
    i = count
    while i > 0 and rank[op[i - 1]] > rank[v]:
        op[i] = op[i - 1]
        i -= 1
    op[i] = v
    return count + 1


@inlined
def take_out(at, count, ready):
    """Remove number `at` of so many ready ops."""
    op = ready.op
    for i in range(at, count - 1):
        op[i] = op[i + 1]


@helper
def start_on(v, d, eligible, free, ready):
    """When v would start after the last op of d; infinite where it may not run."""
    if not may_go(v, d, group_home(v, eligible), eligible):
        return inf
    return max(ready.arrival[v * len(free) + d], free[d])


@helper
def filler(d, begin, end, count, times, eligible, free, ready):
    """Position of the ready op of highest priority that fits into the hole of d and would start no earlier elsewhere; or -1."""
    k = len(free)
    for i in range(count):
        u = ready.op[i]
        length = exec_time(u, d, times)
        if begin + length > end:
            continue
        s = max(ready.arrival[u * k + d], begin)
        if s + length > end or start_on(u, d, eligible, free, ready) == inf:
            continue
        best = True
        for e in range(k):
            if e != d and start_on(u, e, eligible, free, ready) < s:
                best = False
                break
        if best:
            return i
    return -1


@helper
def put(v, d, s, placed, rank, pred, succ, times, network, eligible, frontier, ready, plan, count):
    """Place v, which is no longer among so many ready ops, and add those that it makes ready. Returns their new number."""
    k = len(frontier.free)
    if len(plan.score) > 0:
        for e in range(k):
            x = start_on(v, e, eligible, frontier.free, ready)
            if x < inf:
                plan.score[v * k + e] = s if e == d else x
    plan.order[placed] = v
    plan.device[v] = d
    plan.start[v] = s
    plan.finish[v] = s + exec_time(v, d, times)
    fix_group(v, d, eligible)
    for e in range(succ.ptr[v], succ.ptr[v + 1]):
        w = succ.consumer[e]
        ready.missing[w] -= 1
        if ready.missing[w] == 0:
            count = become_ready(w, count, rank, pred, network, plan, frontier, ready)
    return count


@kernel
def fill_holes(rank, pred, succ, times, network, eligible, frontier, ready, plan):
    """Place all ops as the module says; ``rank`` (n,), the lowest first.

    O(edges k + n w) for w ready ops, which stand by rank, and O(k) for each that fits.
    """
    n = len(plan.device)
    k = len(frontier.free)
    free = frontier.free
    clear_devices(eligible, free)
    count = 0
    for v in range(n):
        ready.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if ready.missing[v] == 0:
            count = become_ready(v, count, rank, pred, network, plan, frontier, ready)
    placed = 0
    while placed < n:
        v = ready.op[0]
        best = -1
        soonest = inf
        for d in range(k):
            s = start_on(v, d, eligible, free, ready)
            if s < soonest or (
                best >= 0 and s == soonest and s < inf and exec_time(v, d, times) < exec_time(v, best, times)
            ):
                best = d
                soonest = s
        begin = free[best]
        take_out(0, count, ready)
        count -= 1
        count = put(v, best, soonest, placed, rank, pred, succ, times, network, eligible, frontier, ready, plan, count)
        placed += 1
        free[best] = plan.finish[v]
        while begin < soonest:
            at = filler(best, begin, soonest, count, times, eligible, free, ready)
            if at < 0:
                break
            u = ready.op[at]
            s = max(ready.arrival[u * k + best], begin)
            take_out(at, count, ready)
            count -= 1
            count = put(u, best, s, placed, rank, pred, succ, times, network, eligible, frontier, ready, plan, count)
            placed += 1
            begin = plan.finish[u]
