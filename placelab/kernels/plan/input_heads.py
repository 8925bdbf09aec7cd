"""Heads of ops: before them no schedule can start an op, because an input is awaited or its producer shares the device.

To start op v at time t, each input either comes from another device, or its producer runs on v's device before t. A producer
that is too late for the first is *forced*: it must run there. So must, in turn, producers too late for a forced op. The forced
ops run on one device, each after its own head and before the op that needs it. If they cannot, v cannot start at t. Behind an op
through which all ways to v lead, the ops between the two are looked at together (:mod:`placelab.kernels.plan.fork_joins`).
"""

from math import inf

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.fork_joins import dominator, least_between
from placelab.kernels.plan.one_device import lateness

NEAR = 1e-12  # relative: what is later by less is rounding
STEPS = 16  # exact steps of t before bisection begins, and after it ends
HALVES = 24


@kernel
def heads(time, inputs, forced, between, head):
    """``head[v]``: the largest start of v that is known to be impossible before, found from that of its producers.

    Raising t by less than the lateness leaves it impossible while no producer ceases to be forced, so t goes up exactly, in
    steps. Where there are many, the interval is halved between them. A cut of the forced ops at ``len(forced.op)`` is a
    weaker bound, never a wrong one. O(ops · steps · forced · log forced).
    """
    for v in range(len(time)):
        first = 0.0
        last = 0.0
        for i in range(inputs.ptr[v], inputs.ptr[v + 1]):
            ready = head[inputs.op[i]] + time[inputs.op[i]]
            first = max(first, ready + inputs.always[i])
            last = max(last, ready + inputs.cost[i])
        head[v] = climb(v, first, last, time, inputs, forced, head) if last > first * (1 + NEAR) else first
        between.place[v] = -1
        between.span[v] = 0.0
        between.before[v] = dominator(v, inputs, between)
        u = between.before[v]
        if u >= 0 and inputs.ptr[v + 1] - inputs.ptr[v] > 1:
            between.span[v] = least_between(u, v, time, inputs, forced, between)
            head[v] = max(head[v], head[u] + time[u] + between.span[v])


@helper
def climb(v, t, last, time, inputs, forced, head):
    """The first start from t on that is not shown to be impossible; at `last` every input may be awaited."""
    most = inf
    for step in range(2 * STEPS):
        if step == STEPS and last < inf:
            most = last
            for _ in range(HALVES):
                middle = (t + most) / 2
                if delay(v, middle, time, inputs, forced, head) > 0.0:
                    t = middle
                else:
                    most = middle
        more = delay(v, t, time, inputs, forced, head)
        if more <= t * NEAR:
            return t
        t = min(t + more, last)
        if t >= most:
            return most
    return t


@inlined
def delay(v, t, time, inputs, forced, head):
    """By how much a start of v at t is known to be too early; 0 if it may be possible."""
    count, more = force(v, t, time, inputs, forced, head)
    if more < 0.0:
        return -more
    late = lateness(count, time, forced, head)
    return min(late, more) if late > t * NEAR else 0.0


@helper
def force(v, t, time, inputs, forced, head):
    """Collect the ops forced by a start of v at t, with the times they are due at.

    Returns how many they are and the time until one of them is no longer forced; or, where an op is forced to end before it
    can, minus how much later t has to be. Ops have topological numbers: from the highest down, all readers of an op are known.
    """
    count = 0
    size = 0
    change = inf
    refused = 0.0
    u = v
    latest = t  # start of u
    while True:
        for i in range(inputs.ptr[u], inputs.ptr[u + 1]):
            w = inputs.op[i]
            beyond = head[w] + time[w] + inputs.cost[i] - latest
            if beyond > t * NEAR:
                change = min(change, beyond)
                if forced.due[w] >= 0.0:
                    forced.due[w] = min(forced.due[w], latest)
                elif count + size < len(forced.op):
                    size = push_event(forced.queue, size, -float(w), float(w))
                    forced.due[w] = latest
        if size == 0:
            break
        u = int(forced.queue[1])
        size = pop_event(forced.queue, size)
        forced.op[count] = u
        forced.until[count] = forced.due[u]
        count += 1
        latest = forced.due[u] - time[u]
        if head[u] - latest > t * NEAR:
            refused = min(head[u] - latest, change)
            break
        latest = max(latest, 0.0)
    for i in range(count):
        forced.due[forced.op[i]] = -1.0
    for i in range(size):
        forced.due[int(forced.queue[2 * i + 1])] = -1.0
    return count, (-refused if refused > 0.0 else change)


@kernel
def least_span(order, head, place, tail, work, most, added):
    """The longest a + (work of ops whose heads are at least a and tails at least b) + b, over all a and b.

    `order` has the ops from the latest head down, ``place[v]`` is v's rank from the least tail up, ``tail[i]`` the tail of rank
    i, ascending. A tree over the ranks has in each node the most that b plus its work comes to: an op adds its work to all
    ranks up to its own. `most` and `added` have two entries per leaf, of a power of two leaves. O(ops log ops).
    """
    leaves = len(most) // 2
    for i in range(2 * leaves):
        most[i] = -inf  # until an op of that rank counts
        added[i] = 0.0
    span = 0.0
    for i in range(len(order)):
        v = order[i]
        node = leaves + place[v]
        added[node] += work[v]
        most[node] = tail[place[v]] + added[node]
        while node > 1:
            if node & 1:
                most[node - 1] += work[v]
                added[node - 1] += work[v]
            node >>= 1
            most[node] = max(most[2 * node], most[2 * node + 1]) + added[node]
        span = max(span, head[v] + most[1])
    return span
