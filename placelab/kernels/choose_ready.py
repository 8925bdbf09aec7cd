"""List scheduling by choice among all ready ops: each would go where it finishes soonest, after that device's last op.

Which goes first: ``LEAST`` the one that would finish soonest, less its ``head``; ``LARGEST`` the one that would finish last;
``SUFFERAGE`` the one that would lose most on its second-best device. Ties: the lower op number, the lower device.
"""

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.list_schedule import arrivals
from placelab.kernels.look_up import exec_time, fix_group, group_home, may_run

LEAST, LARGEST, SUFFERAGE = 0, 1, 2


@helper
def two_best(v, times, eligible, free, ready):
    """Note where v would finish soonest, and by how much sooner than anywhere else."""
    k = len(free)
    home = group_home(v, eligible)
    first = -1
    second = -1
    soonest = inf
    other = inf
    for d in range(k):
        if not may_run(v, d, eligible) or (home >= 0 and home != d):
            continue
        f = max(ready.arrival[v * k + d], free[d]) + exec_time(v, d, times)
        if f < soonest:
            second = first
            other = soonest
            first = d
            soonest = f
        elif f < other:
            second = d
            other = f
    ready.first[v] = first
    ready.second[v] = second
    ready.soonest[v] = soonest
    ready.margin[v] = other - soonest


@inlined
def key_of(v, choice, ready):
    """What the ready op of least key goes first by."""
    if choice.rule == LARGEST:
        return -ready.soonest[v]
    if choice.rule == SUFFERAGE:
        return -ready.margin[v]
    if len(choice.head) > 0:
        return ready.soonest[v] - choice.head[v]
    return ready.soonest[v]


@helper
def become_ready(v, pred, network, plan, frontier, ready):
    """Note when the inputs of v are on each device."""
    k = len(frontier.free)
    arrivals(v, 0, k, pred, network, plan, frontier.arrival)
    for d in range(k):
        ready.arrival[v * k + d] = frontier.arrival[d]
    ready.first[v] = -1


@kernel
def choose_ready(choice, pred, succ, times, network, eligible, frontier, ready, plan):
    """Place all ops as the module says. O(edges k + n w) for w ready ops, and O(k) for each whose best device is taken."""
    n = len(plan.device)
    k = len(frontier.free)
    record = len(plan.score) == n * k
    for g in range(len(eligible.group_device)):
        eligible.group_device[g] = -1
    for d in range(k):
        frontier.free[d] = 0.0
    total = 0  # ready ops
    for v in range(n):
        ready.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if ready.missing[v] == 0:
            become_ready(v, pred, network, plan, frontier, ready)
            ready.op[total] = v
            total += 1
    count = total  # those of them to choose from
    taken = -1
    group = -1
    for step in range(n):
        if count == 0 or choice.round == 0:
            count = total
        at = -1
        chosen = n
        least = inf
        for i in range(count):
            u = ready.op[i]
            first = ready.first[u]
            lost = first == taken or (choice.rule == SUFFERAGE and ready.second[u] == taken)
            if first < 0 or lost or (group >= 0 and eligible.group[u] == group):
                two_best(u, times, eligible, frontier.free, ready)
            key = key_of(u, choice, ready)
            if key < least or (key == least and u < chosen) or at < 0:
                at = i
                chosen = u
                least = key
        v = chosen
        taken = ready.first[v]
        group = eligible.group[v]
        f = ready.soonest[v]
        if record:
            home = group_home(v, eligible)
            for d in range(k):
                if may_run(v, d, eligible) and (home < 0 or home == d):
                    s = max(ready.arrival[v * k + d], frontier.free[d])
                    plan.score[v * k + d] = s + exec_time(v, d, times)
        plan.order[step] = v
        plan.device[v] = taken
        plan.start[v] = max(ready.arrival[v * k + taken], frontier.free[taken])
        plan.finish[v] = f
        frontier.free[taken] = f
        fix_group(v, taken, eligible)
        count -= 1
        total -= 1
        ready.op[at] = ready.op[count]
        ready.op[count] = ready.op[total]
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            ready.missing[w] -= 1
            if ready.missing[w] == 0:
                become_ready(w, pred, network, plan, frontier, ready)
                ready.op[total] = w
                total += 1
