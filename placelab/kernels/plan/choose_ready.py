"""List scheduling by choice among all ready ops: each would go where it finishes soonest, after that device's last op.

Which goes first: ``LEAST`` the one that would finish soonest; ``LARGEST`` the one that would finish last; ``SUFFERAGE`` the one
that would lose most on its second-best device; ``LEVEL`` the one of largest head - soonest finish + this loss; for
:func:`choose_imaginary` what BIL says. Ties: the lower op number, the lower device.

Every step looks at all ready ops, which stand side by side, a row per device: loops without branches, which compilers turn into
vector instructions. The inputs of an op arrive at infinity where it may not run. Where many ops are ready,
:mod:`placelab.kernels.plan.choose_least` is quicker.
"""

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.list_schedule import arrivals
from placelab.kernels.plan.look_up import clear_devices, exec_time, fix_group, group_home, may_go

LEAST = 0
LARGEST = 1
SUFFERAGE = 2
LEVEL = 3


@inlined
def finish_at(arrival, idle, length):
    """When an op ends that is appended to a device."""
    return (arrival if arrival > idle else idle) + length


@inlined
def two_best(count, free, ready):
    """``soonest`` and ``second`` of the first `count` ready ops, by two devices at a time."""
    n = len(ready.op)
    soonest = ready.soonest
    second = ready.second
    for d in range(0, len(free), 2):
        e = min(d + 1, len(free) - 1)
        idle = free[d]
        other = free[e] if e > d else inf
        arrival = ready.arrival[d * n : d * n + count]
        length = ready.length[d * n : d * n + count]
        arrival_e = ready.arrival[e * n : e * n + count]
        length_e = ready.length[e * n : e * n + count]
        if d == 0:
            for i in range(count):
                x = finish_at(arrival[i], idle, length[i])
                y = finish_at(arrival_e[i], other, length_e[i])
                soonest[i] = x if x < y else y
                second[i] = y if x < y else x
        else:
            for i in range(count):
                x = finish_at(arrival[i], idle, length[i])
                y = finish_at(arrival_e[i], other, length_e[i])
                a = x if x < y else y
                b = y if x < y else x
                c = soonest[i]
                larger = c if c > a else a
                b = b if b < larger else larger
                soonest[i] = (c if c < a else a) + 0.0  # always stored: a store under a condition is slow
                second[i] = (second[i] if second[i] < b else b) + 0.0


@inlined
def first_of(count, rule, head, ready):
    """The op of the first `count` ready ones that goes first."""
    op = ready.op
    key = ready.key
    soonest = ready.soonest
    second = ready.second
    for i in range(count):
        x = soonest[i]
        if rule == LARGEST:
            x = -x
        elif rule == SUFFERAGE:
            x -= second[i]
        elif rule == LEVEL:
            x += x - second[i] - head[op[i]]
        key[i] = x
    least = key[0]
    other = least
    for i in range(count // 2):  # two at a time: each comparison waits for the one before
        least = key[2 * i] if key[2 * i] < least else least
        other = key[2 * i + 1] if key[2 * i + 1] < other else other
    other = key[count - 1] if key[count - 1] < other else other
    least = other if other < least else least
    chosen = len(op)
    for i in range(count):
        if key[i] == least and op[i] < chosen:
            chosen = op[i]
    return chosen


@inlined
def stand(v, i, pred, network, plan, frontier, ready):
    """Let v be ready op number i, and find when its inputs are on each device."""
    arrivals(v, 0, len(frontier.free), pred, network, plan, frontier.arrival)
    ready.op[i] = v
    ready.at[v] = i


@inlined
def become_ready(v, i, pred, times, network, eligible, plan, frontier, ready):
    """Let v be ready op number i: when its inputs are on each device, and how long it takes there."""
    n = len(plan.device)
    k = len(frontier.free)
    home = group_home(v, eligible)
    stand(v, i, pred, network, plan, frontier, ready)
    for d in range(k):
        may = may_go(v, d, home, eligible)
        ready.arrival[d * n + i] = frontier.arrival[d] if may else inf
        ready.length[d * n + i] = exec_time(v, d, times) if may else 0.0


@inlined
def move(i, j, k, ready):
    """Let ready op number i be number j."""
    n = len(ready.op)
    ready.op[j] = ready.op[i]
    ready.at[ready.op[j]] = j
    for d in range(k):
        ready.arrival[d * n + j] = ready.arrival[d * n + i]
        ready.length[d * n + j] = ready.length[d * n + i]


@inlined
def settle_group(v, device, count, row, never, eligible, ready):
    """Let v's group, if it has one, be on a device: in `row`, its ops among so many ready ones are `never` on the others."""
    n = len(ready.op)
    if group_home(v, eligible) < 0 and eligible.group[v] >= 0:
        for i in range(count):
            if eligible.group[ready.op[i]] == eligible.group[v]:
                for d in range(len(row) // n):
                    if d != device:
                        row[d * n + i] = never
    fix_group(v, device, eligible)


@kernel
def choose_ready(rule, by_round, most, head, pred, succ, times, network, eligible, frontier, ready, plan):
    """Place all ops as the module says; return 1, or 0 as soon as more than `most` are ready.

    `by_round`: 1 where ops that become ready wait until all that were ready are placed. O(edges k + n w k) for w ready ops.
    """
    n = len(plan.device)
    k = len(frontier.free)
    record = len(plan.score) == n * k
    free = frontier.free
    clear_devices(eligible, free)
    total = 0  # ready ops
    for v in range(n):
        ready.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if ready.missing[v] == 0 and total <= most:
            become_ready(v, total, pred, times, network, eligible, plan, frontier, ready)
            total += 1
    count = total  # those of them to choose from
    for step in range(n):
        if total > most:
            return 0
        if count == 0 or by_round == 0:
            count = total
        two_best(count, free, ready)
        v = first_of(count, rule, head, ready)
        i = ready.at[v]
        best = -1
        for d in range(k):
            start = max(ready.arrival[d * n + i], free[d])
            f = start + ready.length[d * n + i]
            if record and start < inf:
                plan.score[v * k + d] = f
            if best < 0 and f == ready.soonest[i]:
                best = d
                plan.start[v] = start
        plan.order[step] = v
        plan.device[v] = best
        plan.finish[v] = ready.soonest[i]
        free[best] = plan.finish[v]
        settle_group(v, best, total, ready.arrival, inf, eligible, ready)
        count -= 1
        total -= 1
        move(count, i, k, ready)
        if total > count:
            move(total, count, k, ready)
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            ready.missing[w] -= 1
            if ready.missing[w] == 0:
                become_ready(w, total, pred, times, network, eligible, plan, frontier, ready)
                total += 1
    return 1


# -------------------------------------------------------------------- BIL's choice: where the basic imaginary makespan is least

# A basic imaginary makespan (BIM) of an op on a device is its earliest start there, after the device's last op, plus its level
# there. With m ready ops, an op's priority is its m-th smallest BIM, or the largest where it has fewer. Ready ops stand side by
# side as above, with levels in place of lengths; the level is minus infinity where an op may not run.


@inlined
def become_ready_by_level(v, i, level, pred, network, eligible, plan, frontier, ready):
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
def first_by_makespan(m, free, ready, mine, other):
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
            become_ready_by_level(v, m, level, pred, network, eligible, plan, frontier, ready)
            m += 1
    for step in range(n):
        at = first_by_makespan(m, free, ready, mine, other)
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
                become_ready_by_level(w, m, level, pred, network, eligible, plan, frontier, ready)
                m += 1
