"""Earliest finish first: of all ready ops and devices the pair of least finish, less what the op is ahead; appended.

What pair (v, d) adds to the later of two times, arrival of its inputs and end of what runs on d, never changes: exec(v, d) -
head[v]. So of the ops that only wait for d the least is always on top of one heap; the others are in another one, with a
bound that is exact until d runs past the arrival.
"""

from math import inf

from placelab.kernels.heap import pop_entry, push_entry
from placelab.kernels.jit import helper, kernel
from placelab.kernels.list_schedule import arrivals
from placelab.kernels.look_up import exec_time, fix_group, group_home, may_run


@helper
def added(v, d, head, times):
    """What v adds on d, less what it is ahead."""
    x = exec_time(v, d, times)
    if len(head) > 0:
        x -= head[v]
    return x


@helper
def queue(v, head, pred, times, network, eligible, frontier, pairs, plan):
    """Put a ready op on the heap of each device that it may run on."""
    n = len(plan.device)
    k = len(frontier.free)
    home = group_home(v, eligible)
    arrivals(v, 0, k, pred, network, plan, frontier.arrival)
    for d in range(k):
        if may_run(v, d, eligible) and (home < 0 or home == d):
            x = frontier.arrival[d]
            pairs.arrival[v * k + d] = x
            push_entry(pairs.later, d * n, pairs.n_later[d], x + added(v, d, head, times), float(v))
            pairs.n_later[d] += 1


@helper
def gone(v, d, eligible, plan):
    """Whether v is placed, or its group elsewhere."""
    home = group_home(v, eligible)
    return plan.device[v] >= 0 or (home >= 0 and home != d)


@helper
def settle(d, head, times, eligible, free, pairs, plan):
    """Let both heaps of d begin with an op that is still to be placed, and that belongs there."""
    n = len(plan.device)
    k = len(free)
    base = d * n
    while pairs.n_now[d] > 0 and gone(int(pairs.now[2 * base + 1]), d, eligible, plan):
        pop_entry(pairs.now, base, pairs.n_now[d])
        pairs.n_now[d] -= 1
    while pairs.n_later[d] > 0:
        v = int(pairs.later[2 * base + 1])
        out = gone(v, d, eligible, plan)
        if not out and pairs.arrival[v * k + d] > free[d]:
            return
        pop_entry(pairs.later, base, pairs.n_later[d])
        pairs.n_later[d] -= 1
        if not out:
            push_entry(pairs.now, base, pairs.n_now[d], added(v, d, head, times), float(v))
            pairs.n_now[d] += 1


@kernel
def choose_least(head, pred, succ, times, network, eligible, frontier, pairs, plan):
    """Place all ops as the module says; `head` (n,) or (0,). Ties: op number, device number. O(edges k + n k log n)."""
    n = len(plan.device)
    k = len(frontier.free)
    record = len(plan.score) == n * k
    free = frontier.free
    for g in range(len(eligible.group_device)):
        eligible.group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
        pairs.n_now[d] = 0
        pairs.n_later[d] = 0
    for v in range(n):
        plan.device[v] = -1
    for v in range(n):
        pairs.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if pairs.missing[v] == 0:
            queue(v, head, pred, times, network, eligible, frontier, pairs, plan)
    for step in range(n):
        best = -1
        v = n
        least = inf
        for d in range(k):
            settle(d, head, times, eligible, free, pairs, plan)
            if pairs.n_now[d] > 0:
                x = free[d] + pairs.now[2 * d * n]
                u = int(pairs.now[2 * d * n + 1])
                if best < 0 or x < least or (x == least and u < v):
                    best = d
                    v = u
                    least = x
            if pairs.n_later[d] > 0:
                x = pairs.later[2 * d * n]
                u = int(pairs.later[2 * d * n + 1])
                if best < 0 or x < least or (x == least and u < v):
                    best = d
                    v = u
                    least = x
        if record:
            home = group_home(v, eligible)
            for d in range(k):
                if may_run(v, d, eligible) and (home < 0 or home == d):
                    plan.score[v * k + d] = max(pairs.arrival[v * k + d], free[d]) + exec_time(v, d, times)
        plan.order[step] = v
        plan.device[v] = best
        plan.start[v] = max(pairs.arrival[v * k + best], free[best])
        plan.finish[v] = plan.start[v] + exec_time(v, best, times)
        free[best] = plan.finish[v]
        fix_group(v, best, eligible)
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            pairs.missing[w] -= 1
            if pairs.missing[w] == 0:
                queue(w, head, pred, times, network, eligible, frontier, pairs, plan)
