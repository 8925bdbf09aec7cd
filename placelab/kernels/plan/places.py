"""Where in a device's order an op may stand: what must run before it and behind it, and one order of all ops."""

from placelab.kernels.heap import pop_key, push_key
from placelab.kernels.jit import kernel


@kernel
def mark_before_and_behind(order, home, block, succ_ptr, succ, lane, before, behind):
    """Mark the ops that must run before the ops of a block, and those that must run behind, through edges and devices' orders.

    `order` is one order of all ops that holds edges and devices' orders; ``home[v]`` is v's device, -1 where it has no place in a
    device's order (`block` and what moves with it). `lane`, one entry per device, `before` and `behind` are 0 at first.
    Once an op of a device is behind, all that the device runs later are: so a flag per device replaces its arcs. O(ops + edges).
    """
    n = len(order)
    for i in range(n):
        v = order[i]
        d = home[v]
        if d >= 0:
            if lane[d] != 0:
                behind[v] = 1
            elif behind[v] != 0:
                lane[d] = 1
        if block[v] != 0 or behind[v] != 0:
            for j in range(succ_ptr[v], succ_ptr[v + 1]):
                behind[succ[j]] = 1
    for d in range(len(lane)):
        lane[d] = 0
    for i in range(n - 1, -1, -1):
        v = order[i]
        d = home[v]
        for j in range(succ_ptr[v], succ_ptr[v + 1]):
            w = succ[j]
            if block[w] != 0 or before[w] != 0:
                before[v] = 1
        if d >= 0:
            if lane[d] != 0:
                before[v] = 1
            elif before[v] != 0:
                lane[d] = 1


@kernel
def first_gap(start, finish, first, last, ready, took, rounding):
    """Where in a device's order ops that take so long in all may stand, by earliest start: the position of the first gap that is
    long enough from `ready` on, else behind all that starts before; of the positions from `first` to `last`. O(ops).

    `start` and `finish` are those of the device's ops, in order; `rounding` is relative.
    """
    n = len(start)
    for i in range(first, last + 1):
        free = max(finish[i - 1] if i > 0 else 0.0, ready)
        if i == n or free + took <= start[i] * (1.0 + rounding):
            return i
    behind = 0
    for i in range(n):
        if start[i] < ready:
            behind += 1
    return min(max(behind, first), max(last, first))


@kernel
def shorter(makespans, tried, least, saves):
    """The shortest plan not tried, the first of equals, that saves at least that share of the least; -1 for none. O(n)."""
    best = -1
    for i in range(len(makespans)):
        if tried[i] == 0 and makespans[i] < least * (1.0 - saves) and (best < 0 or makespans[i] < makespans[best]):
            best = i
    return best


@kernel
def order_all(follows, waits, succ_ptr, succ, rank, ranked, heap, order):
    """Put all ops in one order that holds edges and devices' orders; of those that may come next, the least `rank`.

    ``follows[v]`` is the op behind v on its device or -1, ``waits[v]`` the number of ops that must come before v, which is used
    up, ``ranked[rank[v]]`` is v. Returns how many ops it could order: fewer than all where the orders and edges form a circle.
    O((ops + edges) log ops).
    """
    size = 0
    for v in range(len(waits)):
        if waits[v] == 0:
            push_key(heap, 0, size, rank[v])
            size += 1
    count = 0
    while size > 0:
        v = ranked[heap[0]]
        pop_key(heap, 0, size)
        size -= 1
        order[count] = v
        count += 1
        for j in range(succ_ptr[v], succ_ptr[v + 1]):
            w = succ[j]
            waits[w] -= 1
            if waits[w] == 0:
                push_key(heap, 0, size, rank[w])
                size += 1
        w = follows[v]
        if w >= 0:
            waits[w] -= 1
            if waits[w] == 0:
                push_key(heap, 0, size, rank[w])
                size += 1
    return count
