"""HEFT with lookahead: each op where the last of its consumers, each on its own best device, finishes soonest."""

from math import inf

from placelab.kernels.jit import helper, kernel
from placelab.kernels.plan.list_schedule import NEVER, arrivals, clear_busy, gap, run_on
from placelab.kernels.plan.look_up import clear_groups, exec_time, fix_group, group_home, may_go


@helper
def other_arrivals(w, v, pred, network, plan, arrival):
    """``arrival[d]``: when the inputs of w that are placed, but for those from v, are on device d."""
    k = len(arrival)
    for d in range(k):
        arrival[d] = 0.0
    for i in range(pred.ptr[w], pred.ptr[w + 1]):
        e = pred.edge[i]
        u = pred.producer[e]
        if u == v or plan.device[u] < 0:
            continue
        row = plan.device[u] * k
        for d in range(k):
            x = plan.finish[u] + network.delay[row + d] + pred.bytes[e] / network.bandwidth[row + d]
            arrival[d] = max(arrival[d], x)


@helper
def child_finish(w, v, d, size, finish, times, network, eligible, arrival, busy):
    """When w would finish at best if v ran on d until `finish` and sent it so many bytes."""
    k = len(arrival)
    home = group_home(w, eligible)
    if eligible.group[w] >= 0 and eligible.group[w] == eligible.group[v]:
        home = d
    best = inf
    for e in range(k):
        if not may_go(w, e, home, eligible):
            continue
        there = finish + network.delay[d * k + e] + size / network.bandwidth[d * k + e]
        length = exec_time(w, e, times)
        s = max(there, arrival[e])
        if s + length < best:
            best = min(best, gap(e, busy, s, length, NEVER) + length)
    return best


@kernel
def look_ahead(pred, succ, times, network, eligible, arrival, start, worst, busy, plan):
    """Place each op of ``plan.order`` as the module says, into the earliest gap that holds it.

    A consumer starts after the op, so that the op does not take a gap from it. `start`, `worst` (k,): workspace. Ties: the
    sooner finish, then the lower device. O(edges k (k + inputs)) where gaps are found at once.
    """
    n = len(plan.order)
    k = len(arrival)
    record = len(plan.score) == n * k
    clear_groups(eligible)
    for v in range(n):
        plan.device[v] = -1
    clear_busy(busy)
    for i in range(n):
        v = plan.order[i]
        home = group_home(v, eligible)
        arrivals(v, 0, k, pred, network, plan, arrival)
        for d in range(k):
            start[d] = inf
            worst[d] = inf
            if may_go(v, d, home, eligible):
                length = exec_time(v, d, times)
                start[d] = gap(d, busy, arrival[d], length, NEVER)
                worst[d] = start[d] + length if succ.ptr[v] == succ.ptr[v + 1] else 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            other_arrivals(w, v, pred, network, plan, arrival)
            for d in range(k):
                if start[d] < inf:
                    f = start[d] + exec_time(v, d, times)
                    x = child_finish(w, v, d, succ.bytes[e], f, times, network, eligible, arrival, busy)
                    worst[d] = max(worst[d], x)
        best = -1
        soonest = inf
        for d in range(k):
            if start[d] == inf:
                continue
            if record:
                plan.score[v * k + d] = worst[d]
            f = start[d] + exec_time(v, d, times)
            if best < 0 or worst[d] < worst[best] or (worst[d] == worst[best] and f < soonest):
                best = d
                soonest = f
        plan.device[v] = best
        plan.start[v] = start[best]
        plan.finish[v] = soonest
        fix_group(v, best, eligible)
        run_on(best, 1, busy, start[best], soonest)
