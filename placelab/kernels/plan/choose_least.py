"""Earliest finish first, where many ops are ready: of all ready ops and devices always the pair of least finish minus head.

The same choice as ``LEAST`` in :mod:`placelab.kernels.plan.choose_ready`, found without a look at all ready ops. Devices are of
one kind if every op takes as long on one as on the other.

A ready op *has arrived* on a kind of devices if each of them may run it, and is free only after its inputs are there. It then
finishes there at (time the first device of the kind is free) + (time of the op). The second part never changes: a tree holds it,
minus the head, with a leaf per op, a column per kind, and in each node the least below it.

Elsewhere devices only become free later, so an op's finish minus head only grows: a heap holds a lower bound of it for each op.
The op on top of the heap gets its exact value, and goes back if that is larger than its bound. Ops of groups, and those that
may not run on all devices of a kind, never arrive.
"""

from math import inf

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import inlined, kernel
from placelab.kernels.plan.look_up import clear_devices, exec_time, fix_group, group_home, may_go


@inlined
def start_of(v, c, eligible, free, kinds):
    """Earliest start of v on devices of kind c; -1 if it has arrived there, infinite if it may run on none of them."""
    k = len(free)
    home = group_home(v, eligible)
    start = inf
    waits = eligible.group[v] >= 0
    for i in range(kinds.first[c], kinds.first[c + 1]):
        d = kinds.device[i]
        if not may_go(v, d, home, eligible):
            waits = True
            continue
        s = kinds.arrival[v * k + d]
        if s > free[d]:
            waits = True
        else:
            s = free[d]
        start = min(start, s)
    return start if waits else -1.0


@inlined
def length_minus_head(v, c, head, times, kinds):
    """Time of v on a device of kind c, minus its head."""
    x = exec_time(v, kinds.device[kinds.first[c]], times)
    if len(head) > 0:
        x -= head[v]
    return x


@inlined
def enter(v, c, x, tree):
    """Put x into column c of v's leaf, and into the nodes above where that is less."""
    row = v * tree.columns + c
    level = 0
    while level < len(tree.level) and x < tree.least[tree.level[level] + row]:
        tree.least[tree.level[level] + row] = x
        level += 1
        row = (v >> 2 * level) * tree.columns + c


@inlined
def leave(v, tree):
    """Take op v out of the tree."""
    w = tree.columns
    least = tree.least
    most = inf
    for c in range(v * w, (v + 1) * w):
        most = least[c] if least[c] < most else most
        least[c] = inf
    if most == inf:
        return
    row = v
    for level in range(1, len(tree.level)):
        row >>= 2
        node = tree.level[level] + row * w
        below = tree.level[level - 1] + 4 * row * w
        a = least[below : below + w]
        b = least[below + w : below + 2 * w]
        d = least[below + 2 * w : below + 3 * w]
        e = least[below + 3 * w : below + 4 * w]
        for c in range(w):
            x = b[c] if b[c] < a[c] else a[c]
            y = e[c] if e[c] < d[c] else d[c]
            least[node + c] = y if y < x else x


@inlined
def leaf_of(c, tree):
    """The op of the least leaf in column c, the first one of equal ones."""
    w = tree.columns
    x = tree.least[tree.level[len(tree.level) - 1] + c]
    v = 0
    for level in range(len(tree.level) - 2, -1, -1):
        at = tree.level[level] + 4 * v * w + c
        a = tree.least[at]
        b = tree.least[at + w]
        d = tree.least[at + 2 * w]
        i = 2 if d <= x else 3
        i = 1 if b <= x else i
        i = 0 if a <= x else i
        v = 4 * v + i
    return v


@inlined
def look_at(v, again, head, times, eligible, free, kinds, tree):
    """Enter v into the tree for each kind of devices on which it has arrived; `again`: it may be there for some already.

    Returns its least finish minus head on kinds where it has not arrived, and on those where it has now; infinite for none.
    """
    waiting = inf
    arrived = inf
    for c in range(tree.columns):
        if again and tree.least[v * tree.columns + c] < inf:
            continue
        start = start_of(v, c, eligible, free, kinds)
        if start == inf:
            continue
        x = length_minus_head(v, c, head, times, kinds)
        if start < 0.0:
            enter(v, c, x, tree)
            arrived = min(arrived, kinds.idle[c] + x)
        else:
            waiting = min(waiting, start + x)
    return waiting, arrived


@inlined
def become_ready(v, size, head, times, eligible, free, kinds, tree):
    """Add v to the ready ops. Returns the new size of the heap."""
    bound, _ = look_at(v, False, head, times, eligible, free, kinds, tree)
    return push_event(kinds.heap, size, bound, float(v)) if bound < inf else size


@inlined
def send(e, d, done, succ, network, k, kinds):
    """Note when the tensor of edge e, which device d has computed at `done`, is on each device."""
    size = succ.bytes[e]
    delay = network.delay[d * k : d * k + k]
    bandwidth = network.bandwidth[d * k : d * k + k]
    row = succ.consumer[e] * k
    for i in range(k):
        x = done + delay[i] + size / bandwidth[i]
        y = kinds.arrival[row + i]
        kinds.arrival[row + i] = x if x > y else y


@inlined
def first_leaf(n, idle, tree):
    """Of the ops that have arrived on a kind that of least finish minus head, and this difference; (n, infinite) for none."""
    root = tree.level[len(tree.level) - 1]
    least = inf
    for c in range(len(idle)):
        x = idle[c] + tree.least[root + c]
        least = x if x < least else least
    best = n
    if least < inf:
        for c in range(len(idle)):
            if idle[c] + tree.least[root + c] == least:
                best = min(best, leaf_of(c, tree))
    return best, least


@kernel
def choose_least(head, pred, succ, times, network, eligible, frontier, kinds, tree, plan):
    """Place all ops as the module says; `head` (n,), or (0,) for none. Ties: op number, device number. O(edges k + n k log n)."""
    n = len(plan.device)
    k = len(frontier.free)
    record = len(plan.score) == n * k
    free = frontier.free
    clear_devices(eligible, free)
    for c in range(len(kinds.idle)):
        kinds.idle[c] = 0.0
    for i in range(len(tree.least)):
        tree.least[i] = inf
    for i in range(len(kinds.arrival)):
        kinds.arrival[i] = 0.0
    size = 0
    for v in range(n):
        plan.device[v] = -1
        kinds.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if kinds.missing[v] == 0:
            size = become_ready(v, size, head, times, eligible, free, kinds, tree)
    for step in range(n):
        v, least = first_leaf(n, kinds.idle, tree)
        while size > 0:
            bound = kinds.heap[0]
            u = int(kinds.heap[1])
            if bound > least or (bound == least and u > v):
                break
            exact = inf
            arrived = inf
            if plan.device[u] < 0:
                exact, arrived = look_at(u, True, head, times, eligible, free, kinds, tree)
            if exact == bound:
                v = u
                break
            if arrived <= least:
                v, least = first_leaf(n, kinds.idle, tree)
            size = pop_event(kinds.heap, size)
            if exact < inf:
                size = push_event(kinds.heap, size, exact, float(u))
        home = group_home(v, eligible)
        best = -1
        soonest = inf
        for d in range(k):
            if may_go(v, d, home, eligible):
                f = max(kinds.arrival[v * k + d], free[d]) + exec_time(v, d, times)
                if record:
                    plan.score[v * k + d] = f
                if f < soonest:
                    best = d
                    soonest = f
        plan.order[step] = v
        plan.device[v] = best
        plan.start[v] = max(kinds.arrival[v * k + best], free[best])
        plan.finish[v] = soonest
        free[best] = soonest
        leave(v, tree)
        fix_group(v, best, eligible)
        c = kinds.kind[best]
        kinds.idle[c] = inf
        for i in range(kinds.first[c], kinds.first[c + 1]):
            kinds.idle[c] = min(kinds.idle[c], free[kinds.device[i]])
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            send(e, best, soonest, succ, network, k, kinds)
            kinds.missing[w] -= 1
            if kinds.missing[w] == 0:
                size = become_ready(w, size, head, times, eligible, free, kinds, tree)
