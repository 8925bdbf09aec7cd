"""BIL's list scheduling: always the ready op of highest priority, where its basic imaginary makespan is least.

A basic imaginary makespan (BIM) of an op on a device is its earliest start there, after the device's last op, plus its level
there. With m ready ops, an op's priority is its m-th smallest BIM, or the largest where it has fewer.

Ready ops stand side by side as in :mod:`placelab.kernels.plan.choose_ready`, with levels in place of lengths; the level is minus
infinity where an op may not run.
"""

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.choose_ready import move, settle_group, stand
from placelab.kernels.plan.look_up import clear_devices, exec_time, group_home, may_go


@inlined
def become_ready(v, i, level, pred, network, eligible, plan, frontier, ready):
    """Let v be ready op number i: when its inputs are on each device, and its level there."""
    n = len(plan.device)
    k = len(frontier.free)
    home = group_home(v, eligible)
    stand(v, i, pred, network, plan, frontier, ready)
    for d in range(k):
        ready.arrival[d * n + i] = frontier.arrival[d]
        ready.length[d * n + i] = level[v * k + d] if may_go(v, d, home, eligible) else -inf


@inlined
def largest(count, free, ready):
    """``key``: the largest BIM of each of the first `count` ready ops."""
    n = len(ready.op)
    key = ready.key
    for i in range(count):
        key[i] = -inf
    for d in range(len(free)):
        idle = free[d]
        arrival = ready.arrival[d * n : d * n + count]
        level = ready.length[d * n : d * n + count]
        for i in range(count):
            x = (arrival[i] if arrival[i] > idle else idle) + level[i]
            key[i] = (key[i] if key[i] > x else x) + 0.0  # always stored: a store under a condition is slow


@inlined
def makespans(i, free, ready, row):
    """The BIMs of ready op number i, sorted. Returns their number."""
    n = len(ready.op)
    count = 0
    for d in range(len(free)):
        if ready.length[d * n + i] == -inf:
            continue
        start = ready.arrival[d * n + i]
        x = (start if start > free[d] else free[d]) + ready.length[d * n + i]
        j = count
        while j > 0 and row[j - 1] > x:
            row[j] = row[j - 1]
            j -= 1
        row[j] = x
        count += 1
    return count


@helper
def earlier(i, j, m, free, ready, mine, other):
    """Whether ready op i goes before j, whose m-th BIMs are equal: the larger one before that decides, and so on; then number."""
    a = min(makespans(i, free, ready, mine), m) - 2
    b = min(makespans(j, free, ready, other), m) - 2
    while a >= 0 and b >= 0:
        if mine[a] != other[b]:
            return mine[a] > other[b]
        a -= 1
        b -= 1
    return a > b or (a == b and ready.op[i] < ready.op[j])


@helper
def first_of(m, free, ready, mine, other):
    """Which of the m ready ops goes first."""
    key = ready.key
    if m >= len(free):
        largest(m, free, ready)
    else:
        for i in range(m):
            count = makespans(i, free, ready, mine)
            key[i] = mine[min(count, m) - 1]
    at = 0
    for i in range(1, m):
        if key[i] > key[at] or (key[i] == key[at] and earlier(i, at, m, free, ready, mine, other)):
            at = i
    return at


@kernel
def choose_imaginary(level, pred, succ, times, network, eligible, frontier, ready, work, plan):
    """Place all ops as the module says; `level` (n * k,), `work` (2 * k,). Ties: op number, device number.

    With m ready ops on k < m devices, a device's BIM counts m / k - 1 times the op's length more. O(edges k + n w k) for w >= k
    ready ops.
    """
    n = len(plan.device)
    k = len(frontier.free)
    record = len(plan.score) == n * k
    free = frontier.free
    mine = work[:k]
    other = work[k:]
    clear_devices(eligible, free)
    m = 0
    for v in range(n):
        ready.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if ready.missing[v] == 0:
            become_ready(v, m, level, pred, network, eligible, plan, frontier, ready)
            m += 1
    for step in range(n):
        at = first_of(m, free, ready, mine, other)
        v = ready.op[at]
        crowd = m / k - 1.0 if m > k else 0.0
        best = -1
        least = inf
        for d in range(k):
            if ready.length[d * n + at] == -inf:
                continue
            start = max(ready.arrival[d * n + at], free[d])
            x = start + ready.length[d * n + at] + exec_time(v, d, times) * crowd
            if record:
                plan.score[v * k + d] = x
            if x < least:
                best = d
                least = x
                plan.start[v] = start
        plan.order[step] = v
        plan.device[v] = best
        plan.finish[v] = plan.start[v] + exec_time(v, best, times)
        free[best] = plan.finish[v]
        settle_group(v, best, m, ready.length, -inf, eligible, ready)
        m -= 1
        move(m, at, k, ready)
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            ready.missing[w] -= 1
            if ready.missing[w] == 0:
                become_ready(w, m, level, pred, network, eligible, plan, frontier, ready)
                m += 1
