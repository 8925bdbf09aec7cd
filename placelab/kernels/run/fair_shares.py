"""Transfers that share links, max-min fairly (Bertsekas and Gallager 1992 §6.5.2, progressive filling).

A transfer is a flow while its bytes pass; its latency comes before, or after where it follows. Flows of one ordered pair of
devices, a class, have equal rates: the pair's bandwidth is theirs together, and so is that of each shared link that the pair
uses. Rates change only when a flow begins or ends; an event at the end of the next flow, whose code follows all others, may
come too early when rates have changed since, and is then of no effect.

``served`` of a class are the bytes that a flow would have got since the class was last idle. A flow ends when ``served`` has
grown by its bytes, so flows of a class end in the order of a heap. ``served`` is brought up to date only when a class's rate or
its number of flows changes: a transfer that shares with nobody takes latency + bytes / bandwidth to the last bit, in that order.
"""

from placelab.kernels.heap import pop_entry, push_entry, push_event
from placelab.kernels.jit import helper, inlined

NEVER = float("inf")
# Places in `number` of a block of flows.
ACTIVE = 0  # active classes
CHANGED = 1  # whether any has changed
REFILL = 2  # whether any of a shared link has


@helper
def empty_flows(copies, k, flows, shared):
    """Make room for the flows of a placement. O(transfers + pairs of devices)."""
    for c in range(k * k):
        flows.count[c] = 0
        flows.stale[c] = 0
        flows.rate[c] = 0.0
        flows.served[c] = 0.0
        flows.due[c] = NEVER
        flows.base[c + 1] = 0
    for x in range(len(copies.tensor)):
        flows.base[copies.source[x] * k + copies.destination[x] + 1] += 1
    for c in range(k * k):
        flows.base[c + 1] += flows.base[c]
    for i in range(len(flows.number)):
        flows.number[i] = 0
    flows.next[0] = -1.0
    for l in range(len(shared.flows)):  # noqa: E741
        shared.flows[l] = 0


@helper
def begin_flow(x, c, now, size, bandwidth, flows, shared):
    """The bytes of transfer x, which is of class c, begin to move. O(classes)."""
    if flows.count[c] == 0:
        i = flows.number[ACTIVE]
        while i > 0 and flows.active[i - 1] > c:
            flows.active[i] = flows.active[i - 1]
            i -= 1
        flows.active[i] = c
        flows.number[ACTIVE] += 1
        flows.served[c] = 0.0
        flows.since[c] = now
        flows.rate[c] = 0.0
    serve(c, now, flows)
    push_entry(flows.entry, flows.base[c], flows.count[c], flows.served[c] + size, x)
    flows.count[c] += 1
    for j in range(shared.ptr[c], shared.ptr[c + 1]):
        shared.flows[shared.link[j]] += 1
    mark(c, bandwidth, flows, shared)


@inlined
def serve(c, now, flows):
    """Bring what a flow of class c has got up to date."""
    if now > flows.since[c]:
        flows.served[c] += flows.rate[c] * (now - flows.since[c])
        flows.since[c] = now


@inlined
def mark(c, bandwidth, flows, shared):
    """Note that the number of flows of class c has changed."""
    flows.stale[c] = 1
    flows.number[CHANGED] = 1
    if flows.count[c] > 0:
        shared.own[c] = bandwidth[c] / flows.count[c]
    if shared.ptr[c + 1] > shared.ptr[c]:
        flows.number[REFILL] = 1
    else:
        shared.rate[c] = shared.own[c]


@helper
def end_flows(now, first, after, network, flows, shared, events, results):
    """End the flows that are due; their transfers end when `after` of the latency is over. O(classes + ended log transfers)."""
    if flows.next[0] <= now:
        flows.next[0] = -1.0
    kept = 0
    for i in range(flows.number[ACTIVE]):
        c = flows.active[i]
        if flows.due[c] <= now:
            base = flows.base[c]
            flows.served[c] = flows.entry[2 * base]
            flows.since[c] = now
            flows.due[c] = NEVER
            while flows.count[c] > 0 and flows.entry[2 * base] <= flows.served[c]:
                x = int(flows.entry[2 * base + 1])
                pop_entry(flows.entry, base, flows.count[c])
                flows.count[c] -= 1
                for j in range(shared.ptr[c], shared.ptr[c + 1]):
                    shared.flows[shared.link[j]] -= 1
                end = now + after * network.latency[c]
                results.transfer_finish[x] = end
                events.size[0] = push_event(events.heap, events.size[0], end, first + x)
            mark(c, network.bandwidth, flows, shared)
        if flows.count[c] > 0:
            flows.active[kept] = c
            kept += 1
        else:
            flows.stale[c] = 0
    flows.number[ACTIVE] = kept


@inlined
def share_links(now, wake, flows, shared, events):
    """Give each flow its rate, where one has begun or ended, and find the next to end. O(rounds of filling · classes)."""
    if flows.number[CHANGED] == 0:
        return
    if flows.number[REFILL] != 0:
        fill(flows, shared)
    following = NEVER
    for i in range(flows.number[ACTIVE]):
        c = flows.active[i]
        rate = shared.rate[c]
        if flows.stale[c] != 0 or rate != flows.rate[c]:
            serve(c, now, flows)
            flows.rate[c] = rate
            left = max(flows.entry[2 * flows.base[c]] - flows.served[c], 0.0)  # rounding must not take it below
            flows.due[c] = now + left / rate
            flows.stale[c] = 0
        if flows.due[c] < following:
            following = flows.due[c]
    flows.number[CHANGED] = 0
    flows.number[REFILL] = 0
    if flows.number[ACTIVE] > 0 and following != flows.next[0]:
        flows.next[0] = following
        events.size[0] = push_event(events.heap, events.size[0], following, wake)


@inlined
def fill(flows, shared):
    """Progressive filling: all rates grow alike until a link is full, whose flows then keep theirs; and so on.

    The level is the least equal share that a link has left. Classes whose own pair allows no more than that are settled first,
    by number, then those of the first link with that share. O(classes · links of each), and per round a look at all links and,
    where pairs are narrow, at all classes.
    """
    for l in range(len(shared.capacity)):  # noqa: E741
        shared.left[l] = shared.capacity[l]
        shared.users[l] = shared.flows[l]
        shared.share[l] = -1.0
    waiting = 0
    narrowest = NEVER
    for i in range(flows.number[ACTIVE]):
        c = flows.active[i]
        if shared.ptr[c + 1] > shared.ptr[c]:
            shared.rate[c] = -1.0
            waiting += 1
            narrowest = min(narrowest, shared.own[c])
    level = 0.0
    while waiting > 0:
        full = -1
        least = NEVER
        for l in range(len(shared.capacity)):  # noqa: E741
            if shared.share[l] < 0.0:  # it has changed
                shared.share[l] = max(shared.left[l] / shared.users[l], level) if shared.users[l] > 0 else NEVER
            if shared.share[l] < least:
                full = l
                least = shared.share[l]
        level = least
        if narrowest <= level:
            narrowest = NEVER
            for i in range(flows.number[ACTIVE]):
                c = flows.active[i]
                if shared.rate[c] < 0.0 and shared.ptr[c + 1] > shared.ptr[c]:
                    if shared.own[c] <= level:
                        settle(c, shared.own[c], flows, shared)
                        waiting -= 1
                    else:
                        narrowest = min(narrowest, shared.own[c])
        else:
            for i in range(shared.first[full], shared.first[full + 1]):
                c = shared.pair[i]
                if shared.rate[c] < 0.0 and flows.count[c] > 0:
                    settle(c, level, flows, shared)
                    waiting -= 1


@inlined
def settle(c, rate, flows, shared):
    """Flows of class c keep this rate, and leave the rest of their links to others."""
    shared.rate[c] = rate
    for j in range(shared.ptr[c], shared.ptr[c + 1]):
        l = shared.link[j]  # noqa: E741
        shared.left[l] -= rate * flows.count[c]
        shared.users[l] -= flows.count[c]
        shared.share[l] = -1.0
