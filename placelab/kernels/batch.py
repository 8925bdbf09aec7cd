"""Put the next placement of a batch in the place of the last one: what a simulation starts from, in the same arrays.

Ops follow one order whatever the placement, wait for no memory, and there are neither Sends nor priorities of transfers. Arrays
of transfers have room for one per edge; only the events of those that a placement has are ever queued.

Placements alone differ from row to row. What `what_if`, `sensitivity` and `iterations` run many times differs in costs or orders,
whose arrays each run makes anew: in one call they would save 1 to 3 % (:mod:`placelab.analysis.in_threads`).
"""

from placelab.kernels.codes import CHANNEL
from placelab.kernels.jit import helper, inlined
from placelab.kernels.transfers import number_transfers


@helper
def begin_placement(b, ops, pred, copies, receivers, order, contention, devices, events, clock, batch):
    """Prepare the simulation of placement number b. O(ops + edges + devices²)."""
    n = len(ops.device)
    for v in range(n):
        d = batch.device[b * n + v]
        ops.device[v] = d
        ops.duration[v] = batch.times.cost[v * batch.times.columns + batch.times.column[d]] / batch.times.divisor[d]
        ops.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
    n_transfers = number_transfers(ops.device, batch.succ, pred.producer, batch.sorting, receivers, copies)
    for i in range(len(clock.count)):
        clock.count[i] = 0
    clock.now[0] = 0.0
    events.size[0] = 0
    empty_devices(ops.device, order, devices)
    if len(batch.sequence) > 0:
        deal_out(b * n, batch.sequence, ops.device, order.sequence)
    empty_links(n_transfers, len(devices.busy), copies, contention, batch.queue)


@inlined
def empty_devices(device, order, devices):
    """Let devices be idle, and make room for the ops of each in the queues."""
    k = len(devices.busy)
    devices.touched.size[0] = 0
    ready = order.ready
    for d in range(k):
        devices.busy[d] = 0
        devices.touched.flag[d] = 0
        ready.count[d] = 0
        ready.base[d + 1] = 0
    for v in range(len(device)):
        ready.base[device[v] + 1] += 1
    for d in range(k):
        ready.base[d + 1] += ready.base[d]
    for v in range(len(order.classes.turn)):
        order.classes.turn[v] = -1
        order.classes.since[v] = -1


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
    for d in range(k):
        following[d] = ptr[d]


@inlined
def empty_links(n_transfers, k, copies, contention, queue_of_pair):
    """Free the links, and make room for the transfers in the queues before them."""
    links, queues, pairs = contention
    for p in range(len(links.port)):
        links.port[p] = 0.0
    if links.contention != CHANNEL:
        return
    pairs.size[0] = 0
    for q in range(len(queues.count)):
        links.channel[q] = 0
        pairs.flag[q] = 0
        queues.count[q] = 0
        queues.base[q + 1] = 0
    for x in range(n_transfers):
        queues.of[x] = queue_of_pair[copies.source[x] * k + copies.destination[x]]
        queues.base[queues.of[x] + 1] += 1
    for q in range(len(queues.count)):
        queues.base[q + 1] += queues.base[q]


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
