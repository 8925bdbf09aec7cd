"""How long it takes at least from an op to one that all its consumers lead to, by what runs between them.

Let all ways to v lead through u. Ops between them run after u and before v; each is on the device of u, on that of v, or on
another one. Where v follows on u's device, an op elsewhere waits for a transfer and its results for another one; if there is no
time for that it runs on that device, too. Where v is on another device, the two devices share the ops for which no third one has
time; each of the two loses the time of a transfer. A time that both cases refute is impossible.
"""

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper
from placelab.kernels.plan.one_device import lateness

NEAR = 1e-12  # relative: what is later by less is rounding
HALVES = 32


@helper
def dominator(v, inputs, between):
    """The last op through which all ways to v lead, -1 where there is none; those of its inputs are known.

    The first such op of each op, ``between.first``, tells at once where two ways have nothing in common.
    """
    u = -1
    for i in range(inputs.ptr[v], inputs.ptr[v + 1]):
        w = inputs.op[i]
        if i == inputs.ptr[v]:
            u = w
        if between.first[u] != between.first[w]:
            between.first[v] = v
            return -1
        while u != w:
            if u > w:
                u = between.before[u]
            else:
                w = between.before[w]
    between.first[v] = between.first[u] if u >= 0 else v
    return u


@helper
def least_between(u, v, time, inputs, forced, between):
    """The longest time from the end of u to the start of v that is known to be too short; 0 where too many ops are between."""
    count = gather_between(u, v, inputs, forced, between)
    if count == 0:
        return 0.0
    distances(u, v, count, time, inputs, between)
    low = 0.0
    high = 0.0
    for j in range(count):
        low = max(low, between.near[j] + between.time[j] + between.rest[j])
        high += between.time[j]
    if is_possible(low, count, forced, between):
        low = max(low, 0.0)
        high = low
    for _ in range(HALVES if high > low else 0):
        middle = (low + high) / 2
        if is_possible(middle, count, forced, between):
            high = middle
        else:
            low = middle
    for j in range(count):
        between.place[between.op[j]] = -1
    return low


@helper
def gather_between(u, v, inputs, forced, between):
    """Collect the ops between u and v, the highest number first, and note their places. Returns their number, 0 for too many."""
    count = 0
    size = 0
    w = v
    most = len(between.op)
    while True:
        for i in range(inputs.ptr[w], inputs.ptr[w + 1]):
            x = inputs.op[i]
            if x == u or between.place[x] >= 0:
                continue
            if count + size == most:
                for j in range(count):
                    between.place[between.op[j]] = -1
                for j in range(size):
                    between.place[int(forced.queue[2 * j + 1])] = -1
                return 0
            between.place[x] = 0
            size = push_event(forced.queue, size, -float(x), float(x))
        if size == 0:
            return count
        w = int(forced.queue[1])
        size = pop_event(forced.queue, size)
        between.place[w] = count
        between.op[count] = w
        count += 1


@helper
def distances(u, v, count, time, inputs, between):
    """How long after u each op may start at the earliest, and how long it is from its end to v, on the device of that or apart.

    An op that is apart awaits a transfer from each way that leads to it, here or before; and so does what it leads to.
    """
    for j in range(count - 1, -1, -1):
        w = between.op[j]
        between.time[j] = time[w]
        between.near[j] = 0.0
        between.away[j] = 0.0
        between.rest[j] = 0.0
        between.back[j] = 0.0
        for i in range(inputs.ptr[w], inputs.ptr[w + 1]):
            cost = inputs.cost[i]
            if inputs.op[i] == u:
                between.away[j] = max(between.away[j], cost)
                continue
            p = between.place[inputs.op[i]]
            done = between.near[p] + between.time[p]
            between.near[j] = max(between.near[j], done)
            between.away[j] = max(between.away[j], min(done + cost, between.away[p] + between.time[p]))
    for i in range(inputs.ptr[v], inputs.ptr[v + 1]):
        if inputs.op[i] != u:
            p = between.place[inputs.op[i]]
            between.back[p] = max(between.back[p], inputs.cost[i])
    for j in range(count):
        w = between.op[j]
        for i in range(inputs.ptr[w], inputs.ptr[w + 1]):
            if inputs.op[i] == u:
                continue
            p = between.place[inputs.op[i]]
            left = between.time[j] + between.rest[j]
            between.rest[p] = max(between.rest[p], left)
            between.back[p] = max(between.back[p], min(inputs.cost[i] + left, between.time[j] + between.back[j]))


@helper
def is_possible(t, count, forced, between):
    """Whether v may start t after the end of u, as far as this is looked at."""
    limit = t * (1 + NEAR)
    held = 0  # ops for which no third device has time
    for j in range(count):
        if between.away[j] + between.time[j] + between.back[j] > limit:
            forced.op[held] = j
            forced.until[held] = t - between.rest[j]
            held += 1
    if held == 0 or lateness(held, between.time, forced, between.near) <= t * NEAR:
        return True
    return is_possible_apart(t, limit, count, forced, between)


@helper
def is_possible_apart(t, limit, count, forced, between):
    """The same where v is not on the device of u."""
    leave = between.back[0]  # least time from the end of an op on the first device to v
    reach = between.away[0]  # least time from u to an op on the second one
    work = 0.0
    first = 0
    for j in range(count):
        leave = min(leave, between.back[j])
        reach = min(reach, between.away[j])
        if between.away[j] + between.time[j] + between.back[j] <= limit:
            continue
        work += between.time[j]
        if between.away[j] + between.time[j] + between.rest[j] > limit:  # too late for the second device
            if between.near[j] + between.time[j] + between.back[j] > limit:
                return False
            forced.op[first] = j
            forced.until[first] = t - between.back[j]
            first += 1
    if work > (max(t - leave, 0.0) + max(t - reach, 0.0)) * (1 + NEAR):
        return False
    if first > 0 and lateness(first, between.time, forced, between.near) > t * NEAR:
        return False
    second = 0
    for j in range(count):
        if between.away[j] + between.time[j] + between.back[j] <= limit:
            continue
        if between.near[j] + between.time[j] + between.back[j] > limit:  # too late for the first device
            forced.op[second] = j
            forced.until[second] = t - between.rest[j]
            second += 1
    return second == 0 or lateness(second, between.time, forced, between.away) <= t * NEAR
