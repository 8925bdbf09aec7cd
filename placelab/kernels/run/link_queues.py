"""Start transfers, at once or when the links that they wait for are free.

Events of transfers have the codes from `first` on, one per transfer, then as many for what happens before a transfer ends: a
reserved one begins, or a queue is free. A transfer holds its links for ``links.held`` of its latency, 1 or 0, and while its bytes
pass; where it does not hold them for the latency, the latency comes last.
"""

from placelab.kernels.codes import CHANNEL, DYNAMIC, FAIR, PARALLEL, PORTS, PORTS_BY_PRIORITY
from placelab.kernels.heap import pop_key, push_event, push_key
from placelab.kernels.jit import helper, inlined
from placelab.kernels.run.fair_shares import begin_flow
from placelab.kernels.run.memory_in_use import begin_copy

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
