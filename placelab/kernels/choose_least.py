"""Earliest finish first: of all ready ops and devices the pair of least finish, less what the op is ahead; appended.

What op v adds to the later of two times, arrival of its inputs and end of what runs on a device, never changes:
exec(v, d) - head[v], the same on all devices of a kind, which are as quick as each other for every op. So of the ops whose inputs
are on all devices of a kind, the least is always on top of one heap. The others are in another one, with a bound that grows
while they wait: the exact one is found when it is on top. Ops of groups, and those that may not run on all, stay there.
"""

from math import inf

from placelab.kernels.heap import pop_entry, push_entry
from placelab.kernels.jit import inlined, kernel
from placelab.kernels.list_schedule import arrivals
from placelab.kernels.look_up import exec_time, fix_group, group_home, may_run


@inlined
def start_of(v, c, eligible, free, pairs):
    """When v could start on a device of kind c; less than 0 where it could on every one as soon as that is free."""
    k = len(free)
    home = group_home(v, eligible)
    start = inf
    waits = eligible.group[v] >= 0
    for i in range(pairs.first[c], pairs.first[c + 1]):
        d = pairs.device[i]
        if not may_run(v, d, eligible) or (home >= 0 and home != d):
            waits = True
            continue
        s = pairs.arrival[v * k + d]
        if s > free[d]:
            waits = True
        else:
            s = free[d]
        start = min(start, s)
    return start if waits else -1.0


@inlined
def added(v, c, head, times, pairs):
    """What v adds on devices of kind c, less what it is ahead."""
    x = exec_time(v, pairs.device[pairs.first[c]], times)
    if len(head) > 0:
        x -= head[v]
    return x


@inlined
def queue(v, c, head, times, eligible, free, pairs, plan):
    """Put a ready op on a heap of kind c, unless it may not run there."""
    n = len(plan.device)
    start = start_of(v, c, eligible, free, pairs)
    if start < 0.0:
        push_entry(pairs.now, c * n, pairs.n_now[c], added(v, c, head, times, pairs), float(v))
        pairs.n_now[c] += 1
    elif start < inf:
        push_entry(pairs.later, c * n, pairs.n_later[c], start + added(v, c, head, times, pairs), float(v))
        pairs.n_later[c] += 1


@inlined
def settle(c, head, times, eligible, free, pairs, plan):
    """The op that goes first on devices of kind c, n for none, and ``least[c]``, its key."""
    n = len(plan.device)
    base = c * n
    while pairs.n_now[c] > 0 and plan.device[int(pairs.now[2 * base + 1])] >= 0:
        pop_entry(pairs.now, base, pairs.n_now[c])
        pairs.n_now[c] -= 1
    best = n
    least = inf
    if pairs.n_now[c] > 0:
        best = int(pairs.now[2 * base + 1])
        least = pairs.idle[c] + pairs.now[2 * base]
    while pairs.n_later[c] > 0:
        bound = pairs.later[2 * base]
        v = int(pairs.later[2 * base + 1])
        if bound > least or (bound == least and v > best):
            break
        extra = added(v, c, head, times, pairs)
        start = start_of(v, c, eligible, free, pairs) if plan.device[v] < 0 else inf
        if start >= 0.0 and start + extra == bound:
            best = v
            least = bound
            break
        pop_entry(pairs.later, base, pairs.n_later[c])
        pairs.n_later[c] -= 1
        if start < 0.0:
            push_entry(pairs.now, base, pairs.n_now[c], extra, float(v))
            pairs.n_now[c] += 1
            key = pairs.idle[c] + extra
            if key < least or (key == least and v < best):
                best = v
                least = key
        elif start < inf:
            push_entry(pairs.later, base, pairs.n_later[c], start + extra, float(v))
            pairs.n_later[c] += 1
    pairs.least[c] = least
    return best


@kernel
def choose_least(head, pred, succ, times, network, eligible, frontier, pairs, plan):
    """Place all ops as the module says; `head` (n,) or (0,). Ties: op number, device number. O(edges k + n k log n)."""
    n = len(plan.device)
    k = len(frontier.free)
    kinds = len(pairs.n_now)
    record = len(plan.score) == n * k
    free = frontier.free
    for g in range(len(eligible.group_device)):
        eligible.group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
    for c in range(kinds):
        pairs.n_now[c] = 0
        pairs.n_later[c] = 0
    for v in range(n):
        plan.device[v] = -1
        pairs.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if pairs.missing[v] == 0:
            for d in range(k):
                pairs.arrival[v * k + d] = 0.0
            for c in range(kinds):
                queue(v, c, head, times, eligible, free, pairs, plan)
    for step in range(n):
        for c in range(kinds):
            pairs.idle[c] = inf
        for d in range(k):
            pairs.idle[pairs.kind[d]] = min(pairs.idle[pairs.kind[d]], free[d])
        v = n
        least = inf
        for c in range(kinds):
            u = settle(c, head, times, eligible, free, pairs, plan)
            if pairs.least[c] < least or (pairs.least[c] == least and u < v):
                v = u
                least = pairs.least[c]
        home = group_home(v, eligible)
        best = -1
        soonest = inf
        for d in range(k):
            if may_run(v, d, eligible) and (home < 0 or home == d):
                f = max(pairs.arrival[v * k + d], free[d]) + exec_time(v, d, times)
                if record:
                    plan.score[v * k + d] = f
                if f < soonest:
                    best = d
                    soonest = f
        plan.order[step] = v
        plan.device[v] = best
        plan.start[v] = max(pairs.arrival[v * k + best], free[best])
        plan.finish[v] = soonest
        free[best] = soonest
        fix_group(v, best, eligible)
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            pairs.missing[w] -= 1
            if pairs.missing[w] == 0:
                arrivals(w, 0, k, pred, network, plan, frontier.arrival)
                for d in range(k):
                    pairs.arrival[w * k + d] = frontier.arrival[d]
                for c in range(kinds):
                    queue(w, c, head, times, eligible, free, pairs, plan)
