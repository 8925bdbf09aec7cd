"""What a simulation starts from: transfers, queues, idle devices and links; of one run, and of the next one of a batch.

All runs of a batch are of one graph on one number of devices, follow one rule and wait for no memory. What differs stands in
rows: costs of ops and links, the places of items and transfers in queues, a plan. Runs of one placement may have all that a
single run has. Where devices differ, too, there are neither Sends nor priorities of transfers; arrays of transfers then have room
for one per edge, and only the events of those that a placement has are ever queued.
"""

from placelab.kernels.blocks import CHANNEL
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.run.msr import NOWHERE

# ---------------------------- transfers of a placement: one per (tensor, destination device), the canonical Receive of TF §3.2.2


@kernel
def group_transfers(device, succ, producer, sorting, receivers, transfers):
    """See :func:`number_transfers`."""
    return number_transfers(device, succ, producer, sorting, receivers, transfers)


@helper
def number_transfers(device, succ, producer, sorting, receivers, transfers):
    """Sort each op's edges by (destination device, tensor, consumer) and number the runs that leave the op's device.

    Results: `receivers` and `transfers`; what they say of each transfer counts up to the last one. Returns the number of
    transfers. O(edges + ops + devices): two stable counting sorts.
    """
    count, by_device, cursor = sorting
    of_edge = transfers.of_edge
    n_ops = len(device)
    n_devices = len(count) - 1
    n_edges = len(succ.consumer)
    for d in range(n_devices + 1):
        count[d] = 0
    for e in range(n_edges):
        count[device[succ.consumer[e]] + 1] += 1
    for d in range(n_devices):
        count[d + 1] += count[d]
    for e in range(n_edges):
        d = device[succ.consumer[e]]
        by_device[count[d]] = e
        count[d] += 1
    for v in range(n_ops):
        cursor[v] = succ.ptr[v]
    for i in range(n_edges):
        e = by_device[i]
        u = producer[e]
        of_edge[cursor[u]] = e  # for now: the edge at each sorted position
        cursor[u] += 1
    x = 0
    for v in range(n_ops):
        transfers.ptr[v] = x
        home = device[v]
        receivers.local[2 * v] = succ.ptr[v]
        receivers.local[2 * v + 1] = succ.ptr[v]
        last_device = -1
        last_tensor = -1
        for i in range(succ.ptr[v], succ.ptr[v + 1]):
            e = of_edge[i]
            w = succ.consumer[e]
            d = device[w]
            receivers.op[i] = w
            if d == home:
                if last_device != home:
                    receivers.local[2 * v] = i
                receivers.local[2 * v + 1] = i + 1
                by_device[e] = -1
            else:
                t = succ.tensor[e]
                if d != last_device or t != last_tensor:
                    transfers.tensor[x] = t
                    transfers.destination[x] = d
                    transfers.source[x] = home
                    receivers.ptr[2 * x] = i
                    x += 1
                receivers.ptr[2 * x - 1] = i + 1
                by_device[e] = x - 1
                last_tensor = t
            last_device = d
    transfers.ptr[n_ops] = x
    for e in range(n_edges):
        of_edge[e] = by_device[e]
    return x


# ------------------------------------------------------------------- where queues begin, and who stands in them in planned order


@kernel
def queue_bases(queue, base):
    """``base[q]``: where queue q begins, one more for the end, with room for all that have q in `queue`. O(n + queues)."""
    for q in range(len(base)):
        base[q] = 0
    for i in range(len(queue)):
        base[queue[i] + 1] += 1
    for q in range(1, len(base)):
        base[q] += base[q - 1]


@kernel
def in_sequence(device, planned, at, op):
    """Ops device by device in planned order, to `op`. Workspace: `at`, where each device's begin; then, where they end. O(n)."""
    for i in range(len(planned)):
        v = planned[i]
        op[at[device[v]]] = v
        at[device[v]] += 1


# ------------------------------------------------------ the next run of a batch in the place of the last one, in the same arrays


@helper
def begin_run(b, ops, pred, copies, receivers, network, order, needs, contention, devices, events, clock, batch):
    """Prepare run number b. O(ops + edges + devices²)."""
    rows = batch.rows
    if len(rows.device) > 0:
        place_ops(b, ops, pred, copies, receivers, order, contention, devices, batch)
    take_row(b, rows.duration, ops.duration)
    take_row(b, rows.latency, network.latency)
    take_row(b, rows.bandwidth, network.bandwidth)
    take_row(b, rows.send, network.send)
    take_row(b, rows.tensor_bytes, needs.tensor_bytes)
    take_row(b, rows.rank, order.rule.rank)
    take_row(b, rows.item, order.rule.item)
    take_row(b, rows.first, order.classes.first)
    take_row(b, rows.transfer_rank, contention.queues.rank)
    if len(rows.sequence) > 0:
        deal_out(b * len(ops.device), rows.sequence, ops.device, order.sequence)
    for v in range(len(ops.missing)):
        ops.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
    for i in range(len(clock.count)):
        clock.count[i] = 0
    clock.now[0] = 0.0
    events.size[0] = 0
    empty_devices(order, devices)
    empty_links(copies.ptr[len(ops.device)], contention)


@helper
def take_row(b, rows, into):
    """Copy row number b of as long rows, if there are any."""
    if len(rows) > 0:
        begin = b * len(into)
        for i in range(len(into)):
            into[i] = rows[begin + i]


@helper
def keep_row(b, values, rows):
    """Copy results to row number b; rows of transfers have room for all, rows of length 0 are not kept."""
    if len(rows) > 0:
        begin = b * len(values)
        for i in range(len(values)):
            rows[begin + i] = values[i]


@inlined
def place_ops(b, ops, pred, copies, receivers, order, contention, devices, batch):
    """Move the ops to the devices of run number b: durations, transfers, and room for the ops of each device in the queues."""
    n = len(ops.device)
    times = batch.times
    for v in range(n):
        d = batch.rows.device[b * n + v]
        ops.device[v] = d
        ops.duration[v] = times.cost[v * times.columns + times.column[d]] / times.divisor[d]
    n_transfers = number_transfers(ops.device, batch.succ, pred.producer, batch.sorting, receivers, copies)
    k = len(devices.busy)
    base = order.ready.base
    for d in range(k):
        base[d + 1] = 0
    for v in range(n):
        base[ops.device[v] + 1] += 1
    for d in range(k):
        base[d + 1] += base[d]
    if contention.links.contention == CHANNEL:
        for x in range(n_transfers):
            contention.queues.of[x] = batch.queue[copies.source[x] * k + copies.destination[x]]


@inlined
def empty_devices(order, devices):
    """Let devices be idle, and their queues empty."""
    devices.touched.size[0] = 0
    sequence = order.sequence
    msr = order.msr
    for d in range(len(devices.busy)):
        devices.busy[d] = 0
        devices.touched.flag[d] = 0
        order.ready.count[d] = 0
        order.sends.count[d] = 0
        sequence.next[d] = sequence.ptr[d]
    for v in range(len(order.classes.turn)):
        order.classes.turn[v] = -1
        order.classes.since[v] = -1
    for v in range(len(msr.heaps.since)):
        msr.heaps.since[v] = -1
        for i in range(3):
            msr.heaps.links[3 * v + i] = -1
            msr.facts[4 * v + i] = 0
        msr.facts[4 * v + 3] = NOWHERE


@inlined
def deal_out(begin, ops, device, sequence):
    """Give each device its ops, in the order that begins there in `ops`; `sequence.next` counts on the way."""
    ptr, op, following, _ = sequence
    k = len(following)
    for d in range(k + 1):
        ptr[d] = 0
    for v in range(len(device)):
        ptr[device[v] + 1] += 1
    for d in range(k):
        ptr[d + 1] += ptr[d]
        following[d] = ptr[d]
    for i in range(begin, begin + len(device)):
        d = device[ops[i]]
        op[following[d]] = ops[i]
        following[d] += 1


@inlined
def empty_links(n_transfers, contention):
    """Free the links, and make room for the transfers in the empty queues before them."""
    links, queues, pairs = contention
    for p in range(len(links.port)):
        links.port[p] = 0.0
    for q in range(len(links.channel)):
        links.channel[q] = 0
    queues.base[0] = 0
    for q in range(len(queues.count)):
        queues.count[q] = 0
        queues.base[q + 1] = 0
    for x in range(min(n_transfers, len(queues.of))):
        queues.base[queues.of[x] + 1] += 1
    for q in range(len(queues.count)):
        queues.base[q + 1] += queues.base[q]
    queues.n_requests[0] = 0
    for q in range(len(pairs.flag)):
        pairs.flag[q] = 0
    pairs.size[0] = 0


@inlined
def last_finish(finish, n_done):
    """The makespan; NaN where some op has not ended."""
    if n_done < len(finish):
        return float("nan")
    last = 0.0
    for v in range(len(finish)):
        if finish[v] > last:
            last = finish[v]
    return last
