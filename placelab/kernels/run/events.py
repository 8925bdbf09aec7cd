"""Simulate a placement, event by event (spec: Mayer §5, Baechi §3.4, Hashemi §1).

An instant is processed in rounds until nothing happens at it any more:

a. all completions due: ops by number, then Sends, then transfers, both by transfer number (producer, destination, tensor);
b. transfers start that wait for a channel or for two ports: first come, first served, or, where transfers have priorities, only
   those that take no time and are first in their queue; those of no length complete at once (a again); where transfers share
   links, their rates change, if one has begun or ended;
c. idle devices, lowest first, each start an executable op; those of no length complete at once (a again);
d. where transfers have priorities: all requests of the instant have been collected, and transfers start by priority.

Codes of events are numbers of ops, then of Sends, then of transfers, then of transfers that begin later than they were requested
(where transfers share links: whose latency is over; where they wait in queues: whose queue is free before they end), then of ops
that a plan starts no earlier; the last is that of a transfer which shares links and may end.
Sums of times always associate from the left, so that compiled code, plain Python and any other machine agree to the last bit.
"""

from placelab.kernels.blocks import FAIR, FREE, PORTS
from placelab.kernels.heap import pop_event
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.run.links import (
    add_to,
    empty_flows,
    end_flows,
    free_links,
    move_bytes,
    push,
    request_transfer,
    share_links,
    sort_numbers,
    start_waiting,
)
from placelab.kernels.run.memory_in_use import begin_copy, end_copy, leave_room, take_room
from placelab.kernels.run.ready_items import (
    ANYBODY,
    ASK,
    FIFO,
    MSR,
    NOBODY,
    PLANNED,
    PRIORITY,
    arrive,
    choose,
    queue_send,
)
from placelab.kernels.run.starting import begin_run, keep_row, last_finish

__all__ = ["ASK", "FIFO", "MSR", "PLANNED", "PRIORITY", "run_events"]

# counts of a clock, which survive a question to a run-time rule
INSTANT = 0
CURSOR = 1
DONE = 2
RESUMED = 3
COUNTS = 4


@kernel
def run_events(
    ops, pred, copies, receivers, network, order, memory, contention, devices, events, clock, answer, results, batch
):  # fmt: skip
    """Make :func:`one_run`; with a batch one after the other, of which only the makespans and the kept rows remain."""
    n_runs = len(batch.makespan)
    asking = -1
    for b in range(max(n_runs, 1)):
        if n_runs > 0:
            begin_run(
                b, ops, pred, copies, receivers, network, order, memory.needs, contention, devices, events, clock, batch
            )  # fmt: skip
        asking = one_run(
            ops, pred, copies, receivers, network, order, memory, contention, devices, events, clock, answer, results
        )  # fmt: skip
        if n_runs > 0:
            batch.makespan[b] = last_finish(results.finish, clock.count[DONE])
            keep_row(b, results.start, batch.results.start)
            keep_row(b, results.finish, batch.results.finish)
            keep_row(b, results.send_start, batch.results.send_start)
            keep_row(b, results.send_finish, batch.results.send_finish)
            keep_row(b, results.transfer_start, batch.results.transfer_start)
            keep_row(b, results.transfer_finish, batch.results.transfer_finish)
    return asking


@inlined
def one_run(
    ops, pred, copies, receivers, network, order, memory, contention, devices, events, clock, answer, results
):  # fmt: skip
    """Run until every op is done, or nothing can happen any more, or a run-time rule must choose.

    Returns the device that must choose among the executable ops in its part of ``order.ready``; put the one that it is to start
    into ``answer[0]`` and call again. Returns -1 at the end; ``clock.count[DONE]`` then counts the finished ops.
    O((ops + edges + transfers) log(ops)); MSR also compares, for each choice, the kinds of executable ops
    that :mod:`placelab.kernels.run.msr` tells apart.
    """
    count = clock.count
    links = contention.links
    now = clock.now[0]
    first = len(ops.device) + len(copies.tensor)  # code of the first transfer
    wake = first + 2 * len(copies.tensor) + len(ops.device)  # code of the end of a flow
    by_device = order.rule.kind == MSR or order.rule.kind == ASK
    if count[RESUMED] == 0:
        count[RESUMED] = 1
        if links.contention == FAIR:
            empty_flows(copies, len(devices.busy), links.flows, links.shared)
        queue_entries(pred, copies, receivers, ops, order, devices)
        wake_at_planned_times(first + 2 * len(copies.tensor), order.sequence.not_before, events)
        if by_device:
            sort_numbers(devices.touched)
    collecting = len(contention.queues.rank) > 0
    while True:
        asking = start_items(now, pred, copies, network, ops, order, memory, devices, events, count, answer, results)
        clock.now[0] = now
        if asking >= 0:
            return asking
        if collecting and (events.size[0] == 0 or events.heap[0] != now):
            choose_among_all(now, first, copies, network, memory, contention, events, results)
        if events.size[0] == 0:
            return -1
        if events.heap[0] != now:
            now = events.heap[0]
            count[INSTANT] += 1
        while events.size[0] > 0 and events.heap[0] == now:  # a transfer of no length arrives before devices choose
            complete(
                now, first, pred, copies, receivers, network, ops, order, memory, contention, devices, events, count, results
            )  # fmt: skip
            start_waiting(now, first, collecting, copies, network, memory, contention, events, results)
            if links.contention == FAIR:
                share_links(now, wake, links.flows, links.shared, events)
        if by_device:
            sort_numbers(devices.touched)


@helper
def choose_among_all(now, first, copies, network, memory, contention, events, results):
    """Start the transfers that wait, once all requests of the instant are there."""
    start_waiting(now, first, False, copies, network, memory, contention, events, results)


@inlined
def queue_entries(pred, copies, receivers, ops, order, devices):
    """Queue the ops without inputs."""
    for v in range(len(ops.device)):
        if ops.missing[v] == 0:
            d = ops.device[v]
            ops.missing[v] = 1
            arrive(v, d, 0, pred, copies, receivers, ops, order)
            add_to(devices.touched, d)


@inlined
def wake_at_planned_times(code, not_before, events):
    """Let a device be looked at when its plan allows it to start an op that it does not start earlier."""
    for v in range(len(not_before)):
        if not_before[v] > 0.0:
            push(not_before[v], code + v, events)


@inlined
def start_items(now, pred, copies, network, ops, order, memory, devices, events, count, answer, results):
    """Let idle devices start an item each. Returns the device for which a run-time rule must choose, -1 at the end."""
    busy, touched = devices
    cursor = int(count[CURSOR])
    while cursor < touched.size[0]:
        d = int(touched.number[cursor])
        touched.flag[d] = 0
        if busy[d] == 0:
            item = choose(d, now, pred, copies, ops, order, busy, memory, answer)
            if item == ANYBODY:
                touched.flag[d] = 1
                count[CURSOR] = cursor
                return d
            if item != NOBODY:
                start_item(item, d, now, pred, copies, network, ops, memory, busy, events, results)
        cursor += 1
    touched.size[0] = 0
    count[CURSOR] = 0
    return -1


@inlined
def start_item(item, d, now, pred, copies, network, ops, memory, busy, events, results):
    """Start an item on device d."""
    busy[d] = 1
    if item < len(ops.device):
        end = now + ops.duration[item]
        results.start[item] = now
        results.finish[item] = end
        take_room(item, d, pred, copies.of_edge, memory)
    else:
        x = item - len(ops.device)
        end = now + network.send[d]
        results.send_start[x] = now
        results.send_finish[x] = end
    push(end, item, events)


@inlined
def complete(
    now, first, pred, copies, receivers, network, ops, order, memory, contention, devices, events, count, results
):  # fmt: skip
    """Complete everything that is due now, and request the transfers that may start."""
    n = len(ops.device)
    n_transfers = len(copies.tensor)
    instant = count[INSTANT]
    while events.size[0] > 0 and events.heap[0] == now:
        code = int(events.heap[1])
        events.size[0] = pop_event(events.heap, events.size[0])
        low = 0
        high = 0
        if code < n:
            end_op(code, instant, pred, copies, receivers, ops, order, memory, devices)
            count[DONE] += 1
            if not order.rule.with_sends:
                low = int(copies.ptr[code])
                high = int(copies.ptr[code + 1])
        elif code < first:
            low = code - n
            high = low + 1
            devices.busy[copies.source[low]] = 0
            add_to(devices.touched, copies.source[low])
        elif code < first + n_transfers:
            end_transfer(code - first, instant, pred, copies, receivers, ops, order, memory, contention, devices)
        elif code == first + 2 * n_transfers + n:
            links = contention.links
            end_flows(now, first, 1.0 - links.held, network, links.flows, links.shared, events, results)
        elif code >= first + 2 * n_transfers:
            add_to(devices.touched, ops.device[code - first - 2 * n_transfers])
        else:
            x = code - first - n_transfers
            if contention.links.contention == FAIR:
                pair = copies.source[x] * len(devices.busy) + copies.destination[x]
                move_bytes(x, pair, now, first, copies, network, memory, contention.links, events, results)
            elif contention.links.contention == PORTS:
                begin_copy(copies.tensor[x], copies.destination[x], memory)
            else:
                free_links(x, copies.source[x], copies.destination[x], len(devices.busy), contention)
        for x in range(low, high):
            request_transfer(x, now, first, copies, network, memory, contention, events, results)


@inlined
def end_op(v, instant, pred, copies, receivers, ops, order, memory, devices):
    """Op v ends: its device is idle, consumers there have an input more, and Sends are executable."""
    d = ops.device[v]
    devices.busy[d] = 0
    add_to(devices.touched, d)
    for i in range(receivers.local[2 * v], receivers.local[2 * v + 1]):
        arrive(receivers.op[i], d, instant, pred, copies, receivers, ops, order)
    leave_room(v, d, pred, copies.of_edge, memory)
    if order.rule.with_sends:
        for x in range(copies.ptr[v], copies.ptr[v + 1]):
            queue_send(x, d, instant, receivers, ops, order)


@inlined
def end_transfer(x, instant, pred, copies, receivers, ops, order, memory, contention, devices):
    """Transfer x ends: consumers have an input more, and its links are free, unless they were before."""
    s = copies.source[x]
    d = copies.destination[x]
    for i in range(receivers.ptr[2 * x], receivers.ptr[2 * x + 1]):
        arrive(receivers.op[i], d, instant, pred, copies, receivers, ops, order)
    add_to(devices.touched, d)
    if memory.needs.model != FREE:
        end_copy(copies.tensor[x], s, d, memory)
        add_to(devices.touched, s)  # there may be room for an op that waits
    if contention.links.held != 0.0:
        free_links(x, s, d, len(devices.busy), contention)
