"""BIL's list scheduling: of all ready ops the one that the worst of its good devices would delay most, where it delays least.

A basic imaginary makespan (BIM) of an op on a device is its earliest start there, after the device's last op, plus its level
there. With m ready ops, an op's priority is its m-th smallest BIM, or the largest where it has fewer.
"""

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.list_schedule import arrivals
from placelab.kernels.look_up import exec_time, fix_group, group_home, may_run


@inlined
def makespans(v, level, eligible, free, ready, row):
    """The BIMs of ready op v, in the order of devices. Returns their number."""
    k = len(free)
    home = group_home(v, eligible)
    count = 0
    for d in range(k):
        if may_run(v, d, eligible) and (home < 0 or home == d):
            start = ready.arrival[v * k + d]
            row[count] = (start if start > free[d] else free[d]) + level[v * k + d]
            count += 1
    return count


@helper
def sort(row, count):
    """Sort the first `count` values."""
    for i in range(1, count):
        x = row[i]
        j = i
        while j > 0 and row[j - 1] > x:
            row[j] = row[j - 1]
            j -= 1
        row[j] = x


@helper
def earlier(v, u, m, level, eligible, free, ready, mine, other):
    """Whether v goes before u, whose m-th BIMs are equal: the larger one before that decides, and so on; then the number."""
    a = makespans(v, level, eligible, free, ready, mine)
    b = makespans(u, level, eligible, free, ready, other)
    sort(mine, a)
    sort(other, b)
    i = min(a, m) - 2
    j = min(b, m) - 2
    while i >= 0 and j >= 0:
        if mine[i] != other[j]:
            return mine[i] > other[j]
        i -= 1
        j -= 1
    return i > j or (i == j and v < u)


@helper
def first_of(m, level, eligible, free, ready, mine, other):
    """Position of the one of the first m ready ops that goes first."""
    at = -1
    most = -inf
    for i in range(m):
        v = ready.op[i]
        count = makespans(v, level, eligible, free, ready, mine)
        x = -inf
        if m >= count:
            for j in range(count):
                x = mine[j] if mine[j] > x else x
        else:
            sort(mine, count)
            x = mine[m - 1]
        if x > most or (x == most and earlier(v, ready.op[at], m, level, eligible, free, ready, mine, other)):
            at = i
            most = x
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
    for g in range(len(eligible.group_device)):
        eligible.group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
    m = 0
    for v in range(n):
        ready.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if ready.missing[v] == 0:
            ready.op[m] = v
            m += 1
            for d in range(k):
                ready.arrival[v * k + d] = 0.0
    for step in range(n):
        at = first_of(m, level, eligible, free, ready, mine, other)
        v = ready.op[at]
        crowd = m / k - 1.0 if m > k else 0.0
        home = group_home(v, eligible)
        best = -1
        least = inf
        for d in range(k):
            if may_run(v, d, eligible) and (home < 0 or home == d):
                start = max(ready.arrival[v * k + d], free[d])
                x = start + level[v * k + d] + exec_time(v, d, times) * crowd
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
        fix_group(v, best, eligible)
        m -= 1
        ready.op[at] = ready.op[m]
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            ready.missing[w] -= 1
            if ready.missing[w] == 0:
                ready.op[m] = w
                m += 1
                arrivals(w, 0, k, pred, network, plan, frontier.arrival)
                for d in range(k):
                    ready.arrival[w * k + d] = frontier.arrival[d]
