"""When ops can start at the earliest, in any schedule: least times, and heads, from inputs that are awaited or share a device.

To start op v at time t, each input either comes from another device, or its producer runs on v's device before t. A producer
that is too late for the first is *forced*: it must run there. So must, in turn, producers too late for a forced op. The forced
ops run on one device, each after its own head and before the op that needs it. If they cannot, v cannot start at t. Behind an op
through which all ways to v lead, the ops between the two are looked at together.
"""

from math import inf

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.look_up import exec_time, may_run

NEAR = 1e-12  # relative: what is later by less is rounding

# ------------------------------------------------------------ least times of ops and transfers over the devices that may run ops


@kernel
def least_times(times, eligible, fastest, least):
    """Least seconds of each op over the devices that it may run on, to `least`.

    Workspace: `fastest`, float64 (columns,). O(n columns), where ops are restricted O(n devices).
    """
    k = len(times.divisor)
    if eligible.stride > 0:
        for v in range(len(least)):
            least[v] = inf
            for d in range(k):
                if may_run(v, d, eligible):
                    least[v] = min(least[v], exec_time(v, d, times))
        return
    for c in range(times.columns):
        fastest[c] = 0.0
    for d in range(k):
        fastest[times.column[d]] = max(fastest[times.column[d]], times.divisor[d])
    for v in range(len(least)):
        least[v] = inf
        for c in range(times.columns):
            least[v] = min(least[v], times.cost[v * times.columns + c] / fastest[c])


@kernel
def least_transfers(pair, ptr, latency, rate, apart, together, size, cost, always):
    """Least seconds of each edge's transfer over the links that it may take, to `cost`; and, where its ends are never on one
    device, to `always`, which is 0 at first.

    ``pair[e]`` numbers the sets of devices of the edge's ends, whose links are ``ptr[pair]:ptr[pair + 1]``; ``apart[pair]``:
    these share no device. Infinite where the ends are `together` wherever they are. O(edges links).
    """
    for e in range(len(cost)):
        p = pair[e]
        least = inf
        for i in range(ptr[p], ptr[p + 1]):
            least = min(least, latency[i] + size[e] / rate[i])
        if apart[p] != 0:
            always[e] = least
        cost[e] = inf if together[e] != 0 else least


@kernel
def longest_window(head, time, tail):
    """The longest head, time and tail of an op together. O(n)."""
    longest = 0.0
    for v in range(len(time)):
        longest = max(longest, head[v] + time[v] + tail[v])
    return longest


# -------------------------------------------------------------------- ops that must run on one device


@helper
def lateness(count, time, forced, head):
    """The least possible maximum lateness of the forced ops on one device, preemption allowed: earliest due date first."""
    released = 0
    for i in range(count):
        released = push_event(forced.queue, released, head[forced.op[i]], float(i))
        forced.left[i] = time[forced.op[i]]
    ready = 0
    now = 0.0
    worst = -inf
    while released > 0 or ready > 0:
        if ready == 0:
            now = max(now, forced.queue[0])
        while released > 0 and forced.queue[0] <= now:
            i = int(forced.queue[1])
            released = pop_event(forced.queue, released)
            ready = push_event(forced.ready, ready, forced.until[i], float(i))
        i = int(forced.ready[1])
        if released > 0 and now + forced.left[i] > forced.queue[0]:
            forced.left[i] -= forced.queue[0] - now
            now = forced.queue[0]
        else:
            now += forced.left[i]
            worst = max(worst, now - forced.until[i])
            ready = pop_event(forced.ready, ready)
    return worst


# --------------------------------------------------- from an op to one that all its consumers lead to, by what runs between them

# Let all ways to v lead through u. Ops between them run after u and before v; each is on the device of u, on that of v, or on
# another one. Where v follows on u's device, an op elsewhere waits for a transfer and its results for another one; if there is no
# time for that it runs on that device, too. Where v is on another device, the two devices share the ops for which no third one
# has time; each of the two loses the time of a transfer. A time that both cases refute is impossible.

HALVES_BETWEEN = 32


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
    for _ in range(HALVES_BETWEEN if high > low else 0):
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


# -------------------------------------------------------------------- heads of ops

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
