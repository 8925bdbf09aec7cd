"""List scheduling that looks further than one op: at its consumers, at the hole before it, at what else could be moved."""

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.list_schedule import NEVER, arrivals, clear_busy, gap, run_on
from placelab.kernels.plan.look_up import clear_devices, clear_groups, exec_time, fix_group, group_home, may_go

# ------------------------------------------- where the last consumer, each on its own best device, finishes soonest: `lookahead`


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


# ----------------------------------------------------------- ready ops go into the hole before the op that starts soonest: `ish`


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


# ------------------------------------------------------------------ when a device ends, as it is and with each other op: `hbmct`


@kernel
def ends_with(d, idle, by, arrival, length, device, rest, end, end_with):
    """Write when device d ends into ``end[d]``, and with each op of ``by`` besides into column d of `end_with`, flat.

    It ends at the largest of these sums: an op's arrival plus the times of it and of all behind. Another op adds its
    time to the sums of the ops before it, and has a sum of its own. `arrival`, `length`: of the ops in the order `by`, that of
    their arrival.
    Workspace, float64 (m,): `rest`. O(ops).
    """
    m = len(by)
    k = len(end)
    behind = 0.0  # time of the ops from here on
    latest = 0.0  # sum of these
    for j in range(m):
        i = m - 1 - j
        if device[by[i]] == d:
            behind += length[i]
            latest = max(latest, arrival[i] + behind)
        rest[i] = behind
        end_with[by[i] * k + d] = latest
    before = idle + behind
    for i in range(m):
        if device[by[i]] == d:
            before = max(before, arrival[i] + rest[i])
        alone = max(before, arrival[i] + rest[i]) + length[i]
        end_with[by[i] * k + d] = max(alone, end_with[by[i] * k + d])
    end[d] = before
