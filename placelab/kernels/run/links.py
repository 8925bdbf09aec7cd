"""Links: transfers start at once, wait until theirs are free, or share them max-min fairly.

Events of transfers have the codes from `first` on, one per transfer, then as many for what happens before a transfer ends: a
reserved one begins, or a queue is free. A transfer holds its links for ``links.held`` of its latency, 1 or 0, and while its bytes
pass; where it does not hold them for the latency, the latency comes last.
"""

from placelab.kernels.blocks import CHANNEL, DYNAMIC, FAIR, PARALLEL, PORTS, PORTS_BY_PRIORITY
from placelab.kernels.heap import pop_entry, pop_key, push_entry, push_event, push_key
from placelab.kernels.jit import helper, inlined
from placelab.kernels.run.memory_in_use import begin_copy

# -------------------------------- links that are shared max-min fairly (Bertsekas and Gallager 1992 §6.5.2, progressive filling)

# A transfer is a flow while its bytes pass; its latency comes before, or after where it follows. Flows of one ordered pair of
# devices, a class, have equal rates: the pair's bandwidth is theirs together, and so is that of each shared link that the pair
# uses. Rates change only when a flow begins or ends; an event at the end of the next flow, whose code follows all others, may
# come too early when rates have changed since, and is then of no effect.
#
# ``served`` of a class are the bytes that a flow would have got since the class was last idle. A flow ends when ``served`` has
# grown by its bytes, so flows of a class end in the order of a heap. ``served`` is brought up to date only when a class's rate or
# its number of flows changes: a transfer that shares with nobody takes latency + bytes / bandwidth to the last bit, in that
# order.

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


# -------------------------------------------------------------------- queues for links

LOW = (1 << 32) - 1  # part of a key that says which request it is


@inlined
def push(time, code, events):
    """Add an event."""
    events.size[0] = push_event(events.heap, events.size[0], time, code)


@inlined
def request_transfer(x, now, first, copies, network, memory, contention, events, results):
    """Transfer x may start from now on: let it start, reserve its ports, or queue it."""
    links, queues, pairs = contention
    t = copies.tensor[x]
    s = copies.source[x]
    d = copies.destination[x]
    pair = s * len(memory.needs.limit) + d
    if links.contention == PARALLEL or links.contention == PORTS:
        begin = now
        if links.contention == PORTS:
            if links.port[s] > begin:
                begin = links.port[s]
            if links.port[links.in_port + d] > begin:
                begin = links.port[links.in_port + d]
        took = memory.needs.tensor_bytes[t] / network.bandwidth[pair]
        end = begin + network.latency[pair] + took
        results.transfer_start[x] = begin
        results.transfer_finish[x] = end
        if links.contention == PORTS:
            free = begin + links.held * network.latency[pair] + took
            links.port[s] = free
            links.port[links.in_port + d] = free
        push(end, first + x, events)
        if memory.needs.model == DYNAMIC and begin > now:
            push(begin, first + len(copies.tensor) + x, events)
        else:
            begin_copy(t, d, memory)
        return
    if links.contention == FAIR:
        results.transfer_start[x] = now
        begin_copy(t, d, memory)
        begin = now + links.held * network.latency[pair]
        if begin > now:
            push(begin, first + len(copies.tensor) + x, events)
        else:
            move_bytes(x, pair, now, first, copies, network, memory, links, events, results)
        return
    queue = int(queues.of[x])
    if len(queues.rank) > 0:
        number = queues.n_requests[0]
        queues.request[number] = x
        queues.n_requests[0] = number + 1
        push_key(queues.entry, queues.base[queue], queues.count[queue], queues.rank[x] << 32 | number)
    else:
        queues.entry[queues.base[queue] + queues.count[queue]] = x
    queues.count[queue] += 1
    add_to(pairs, queue)


@inlined
def move_bytes(x, pair, now, first, copies, network, memory, links, events, results):
    """The bytes of transfer x share the links from now on, unless they take no time."""
    size = memory.needs.tensor_bytes[copies.tensor[x]]
    alone = links.shared.ptr[pair + 1] == links.shared.ptr[pair]
    if size == 0.0 or (alone and network.bandwidth[pair] == float("inf")):
        end = now + (1.0 - links.held) * network.latency[pair]
        results.transfer_finish[x] = end
        push(end, first + x, events)
    else:
        begin_flow(x, pair, now, size, network.bandwidth, links.flows, links.shared)


@inlined
def free_links(x, s, d, k, contention):
    """Transfer x from device s to d no longer holds its links: let the transfers that may have waited for them be looked at."""
    links, queues, pairs = contention
    if links.contention == CHANNEL:
        links.channel[queues.of[x]] = 0
        add_to(pairs, int(queues.of[x]))
    elif links.contention == PORTS_BY_PRIORITY:
        links.port[s] = 0.0
        links.port[links.in_port + d] = 0.0
        for q in range(k):
            add_to(pairs, s * k + q)
            add_to(pairs, q * k + d)
            if links.in_port == 0:
                add_to(pairs, d * k + q)
                add_to(pairs, q * k + s)


@inlined
def takes_no_time(pair, now, copies, network, memory, queues):
    """Whether the first transfer in the queue of a pair would end at the instant at which it starts."""
    x = int(queues.entry[queues.base[pair]])
    if len(queues.rank) > 0:
        x = int(queues.request[x & LOW])
    link = copies.source[x] * len(memory.needs.limit) + copies.destination[x]
    return now + network.latency[link] + memory.needs.tensor_bytes[copies.tensor[x]] / network.bandwidth[link] == now


@inlined
def next_pair(now, collecting, copies, network, memory, contention):
    """The pair whose first transfer starts next, -1 for none; pairs that are blocked or empty leave the list.

    While an instant's requests are being collected, only transfers that take no time start.
    """
    links, queues, pairs = contention
    k = len(memory.needs.limit)
    best = -1
    best_key = 0
    i = 0
    while i < pairs.size[0]:
        pair = int(pairs.number[i])
        if links.contention == CHANNEL:
            blocked = links.channel[pair] != 0
        else:
            blocked = links.port[pair // k] > 0.0 or links.port[links.in_port + pair % k] > 0.0
        if queues.count[pair] == 0 or blocked:  # looked at again when one of these changes
            pairs.flag[pair] = 0
            pairs.size[0] -= 1
            pairs.number[i] = pairs.number[pairs.size[0]]
            continue
        i += 1
        if collecting and not takes_no_time(pair, now, copies, network, memory, queues):
            continue
        key = queues.entry[queues.base[pair]]
        if best < 0 or key < best_key:
            best = pair
            best_key = key
        if links.contention == CHANNEL:  # channels do not compete
            break
    return best


@inlined
def take_first(pair, queues):
    """Take the first transfer out of the queue of a pair."""
    base = queues.base[pair]
    key = int(queues.entry[base])
    if len(queues.rank) > 0:
        key = int(queues.request[key & LOW])
        pop_key(queues.entry, base, queues.count[pair])
    else:  # first come, first served: what has gone is behind the base
        queues.base[pair] += 1
    queues.count[pair] -= 1
    return key


@inlined
def start_waiting(now, first, collecting, copies, network, memory, contention, events, results):
    """Start transfers that wait for a channel, or for two ports, until no more can."""
    links, queues, pairs = contention
    k = len(memory.needs.limit)
    while pairs.size[0] > 0:
        pair = next_pair(now, collecting, copies, network, memory, contention)
        if pair < 0:
            break
        x = take_first(pair, queues)
        t = copies.tensor[x]
        s = copies.source[x]
        d = copies.destination[x]
        if links.contention == CHANNEL:
            links.channel[pair] = 1
        else:
            links.port[s] = 1.0
            links.port[links.in_port + d] = 1.0
        took = memory.needs.tensor_bytes[t] / network.bandwidth[s * k + d]
        end = now + network.latency[s * k + d] + took
        results.transfer_start[x] = now
        results.transfer_finish[x] = end
        push(end, first + x, events)
        if links.held == 0.0:
            push(now + took, first + len(copies.tensor) + x, events)
        begin_copy(t, d, memory)


@helper
def add_to(work, number):
    """Put a number on the list, once."""
    if work.flag[number] == 0:
        work.flag[number] = 1
        work.number[work.size[0]] = number
        work.size[0] += 1


@helper
def sort_numbers(work):
    """Sort the numbers on the list, by insertion."""
    values = work.number
    for i in range(1, work.size[0]):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
