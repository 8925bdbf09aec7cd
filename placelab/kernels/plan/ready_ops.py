"""Ready ops of ETF and SCT: heaps per device, lower bounds of when ops could start, and what placing one changes.

Ops that are ready wait, per device, in two heaps: ``later`` by (when they could start, rank), and ``now`` by rank, of those
whose inputs will be there by the time the device is free. What is placed, or belongs to a group that has gone elsewhere, is
taken out when it comes to the top. An op's place in the heaps is a lower bound of when it can start, unless memory and links
are no limit: then it is exact.
"""

from math import inf

from placelab.kernels.codes import FREE, PARALLEL
from placelab.kernels.heap import pop_entry, pop_key, push_entry, push_key
from placelab.kernels.jit import helper, inlined
from placelab.kernels.plan.list_schedule import arrivals
from placelab.kernels.plan.look_up import clear_devices, exec_time, fix_group, group_home, may_run
from placelab.kernels.plan.memory_over_time import clear_memory, earliest_fit, take_memory
from placelab.kernels.plan.planned_transfers import clear_ports, inputs_on, reserve_links


@inlined
def gone(v, d, eligible, plan):
    """Whether v can no longer be placed on d: it is placed, or its group is elsewhere."""
    if plan.device[v] >= 0:
        return True
    home = group_home(v, eligible)
    return home >= 0 and home != d


@inlined
def open_on(v, d, eligible, plan):
    """Whether v may run on d and can still be placed there."""
    return may_run(v, d, eligible) and not gone(v, d, eligible, plan)


@inlined
def push_now(v, d, queues):
    """Put v on the heap ``now`` of d."""
    push_key(queues.now, d * len(queues.rank), queues.n_now[d], queues.rank[v])
    queues.n_now[d] += 1


@inlined
def push_later(d, time, rank, queues):
    """Put the op of this rank, which could start at `time`, on the heap ``later`` of d."""
    push_entry(queues.later, d * len(queues.rank), queues.n_later[d], time, float(rank))
    queues.n_later[d] += 1


@inlined
def pop_now(d, queues):
    """Remove the first op of the heap ``now`` of d."""
    pop_key(queues.now, d * len(queues.rank), queues.n_now[d])
    queues.n_now[d] -= 1


@inlined
def pop_later(d, queues):
    """Remove the first op of the heap ``later`` of d."""
    pop_entry(queues.later, d * len(queues.rank), queues.n_later[d])
    queues.n_later[d] -= 1


@inlined
def unlimited(limits):
    """Whether neither links nor memory are a limit."""
    return limits.memory.needs.model == FREE and limits.ports.contention == PARALLEL


@helper
def queue_entries(pred, eligible, limits, frontier, queues, bounds, plan):
    """Clear everything, and queue the ops without inputs on every device that may run them."""
    k = len(frontier.free)
    memory = limits.memory
    clear_devices(eligible, frontier.free)
    for d in range(k):
        queues.n_later[d] = 0
        queues.n_now[d] = 0
        bounds.waits[d] = 0
        memory.held.eased[d] = 0
    clear_ports(limits.ports)
    if memory.needs.model != FREE:
        clear_memory(pred, memory.needs, memory.held, memory.curve)
    for v in range(len(plan.device)):
        plan.device[v] = -1
        bounds.marked[v] = 0
        queues.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if queues.missing[v] == 0:
            for d in range(k):
                if may_run(v, d, eligible):
                    if len(bounds.ready_on) > 0:
                        bounds.ready_on[v * k + d] = 0.0
                    push_now(v, d, queues)


@helper
def promote(d, free, eligible, queues, plan):
    """Move what device d could start as soon as it is free from ``later`` to ``now``; clear both tops of what is gone."""
    base = d * len(queues.rank)
    while queues.n_later[d] > 0:
        v = int(queues.item[int(queues.later[2 * base + 1])])
        out = gone(v, d, eligible, plan)
        if not out and queues.later[2 * base] > free[d]:
            break
        pop_later(d, queues)
        if not out:
            push_now(v, d, queues)
    while queues.n_now[d] > 0 and gone(queues.item[queues.now[base]], d, eligible, plan):
        pop_now(d, queues)


@inlined
def first_ready(d, free, queues):
    """The op of d that could start first, after :func:`promote`: (when, its rank), (infinite, n) when there is none."""
    n = len(queues.rank)
    if queues.n_now[d] > 0:
        return free[d], int(queues.now[d * n])
    if queues.n_later[d] > 0:
        return queues.later[2 * d * n], int(queues.later[2 * d * n + 1])
    return inf, n


@helper
def postpone(d, time, queues):
    """Put the op that :func:`first_ready` found back: it can start at `time` at the earliest."""
    n = len(queues.rank)
    if queues.n_now[d] > 0:
        rank = int(queues.now[d * n])
        pop_now(d, queues)
    else:
        rank = int(queues.later[2 * d * n + 1])
        pop_later(d, queues)
    push_later(d, time, rank, queues)


@helper
def settle(d, everything, eligible, queues, bounds, plan):
    """Let ops that had to wait on d, all or the marked ones, be looked at again: they count from when inputs could be there."""
    base = d * len(queues.rank)
    k = len(queues.n_later)
    kept = 0
    for i in range(queues.n_later[d]):
        time = queues.later[2 * (base + i)]
        r = int(queues.later[2 * (base + i) + 1])
        v = queues.item[r]
        if not gone(v, d, eligible, plan):
            if everything or bounds.marked[v] != 0:
                time = bounds.ready_on[v * k + d]
            push_entry(queues.later, base, kept, time, float(r))
            kept += 1
    queues.n_later[d] = kept


@inlined
def settle_eased(d, held, eligible, queues, bounds, plan):
    """Let all ops that had to wait on d be looked at again, if one may now fit that did not."""
    if held.eased[d] != 0:
        held.eased[d] = 0
        if bounds.waits[d] != 0:
            bounds.waits[d] = 0
            settle(d, True, eligible, queues, bounds, plan)


@helper
def mark_readers(value, v, d, pred, succ, limits, missing, marked, plan):
    """Mark the other ready ops that read an input of v which d is to get a copy of. Returns whether there are any."""
    k = len(limits.inputs.lane)
    found = False
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        u = pred.producer[pred.edge[i]]
        t = pred.tensor[pred.edge[i]]
        if plan.device[u] == d or limits.ports.sent[t * k + d] >= 0.0:
            continue
        for e in range(succ.ptr[u], succ.ptr[u + 1]):
            w = succ.consumer[e]
            if succ.tensor[e] == t and w != v and missing[w] == 0 and plan.device[w] < 0:
                marked[w] = value
                found = True
    return found


@inlined
def earliest(v, d, free, pred, times, network, eligible, limits, plan):
    """When v could start on d: once d is free, the inputs are there and v fits to its end; infinite where it does not fit."""
    s = max(free[d], inputs_on(v, d, pred, network, limits.ports, plan, limits.inputs))
    needs, held, curve, spans = limits.memory
    if needs.model == FREE:
        return s
    length = exec_time(v, d, times)
    return earliest_fit(v, d, s, length, pred, eligible, plan, limits.inputs, needs, held, curve, spans)


@inlined
def first_start(d, latest, rank, pred, times, network, eligible, limits, frontier, queues, bounds, plan):
    """The op of d that can start first: (its place in the heap, when it can start, its rank); the rank is n when there is none.

    None also when it cannot start by `latest`, or only at that very time with a rank above `rank`. An op whose place was too
    low a bound goes back to where it belongs.
    """
    none = len(queues.rank)
    while True:
        promote(d, frontier.free, eligible, queues, plan)
        s, r = first_ready(d, frontier.free, queues)
        if s == inf or s > latest or (s == latest and r > rank):
            return inf, inf, none
        if unlimited(limits):
            return s, s, r
        exact = earliest(int(queues.item[r]), d, frontier.free, pred, times, network, eligible, limits, plan)
        if exact <= s:
            return s, exact, r
        postpone(d, exact, queues)
        bounds.waits[d] = 1


@helper
def record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan):
    """Note when v could start on each device, as its scores."""
    k = len(frontier.free)
    for d in range(k):
        if not open_on(v, d, eligible, plan):
            continue
        if unlimited(limits):
            start = max(frontier.free[d], bounds.ready_on[v * k + d])
        else:
            start = earliest(v, d, frontier.free, pred, times, network, eligible, limits, plan)
        if start < inf:
            plan.score[v * k + d] = start


@inlined
def take_limits(v, d, pred, succ, network, eligible, limits, queues, bounds, plan):
    """Take the memory and the links that v needs on d at its ``plan.start`` and ``plan.finish``, before it is placed there."""
    ports, inputs, memory = limits
    needs, held, curve, spans = memory
    inputs_on(v, d, pred, network, ports, plan, inputs)
    if needs.model != FREE:
        take_memory(v, d, plan.start[v], plan.finish[v], pred, eligible, plan, inputs, needs, held, curve, spans)
    if ports.contention != PARALLEL and bounds.waits[d] != 0:
        if mark_readers(1, v, d, pred, succ, limits, queues.missing, bounds.marked, plan):
            settle(d, False, eligible, queues, bounds, plan)
            mark_readers(0, v, d, pred, succ, limits, queues.missing, bounds.marked, plan)
    reserve_links(v, d, pred, network, ports, plan, inputs)


@inlined
def place(v, d, step, eligible, frontier, plan):
    """Append v, the op placed in this step, to d at its ``plan.start`` and ``plan.finish``."""
    plan.device[v] = d
    plan.order[step] = v
    frontier.free[d] = plan.finish[v]
    fix_group(v, d, eligible)


@inlined
def release(v, factor, pred, succ, network, eligible, frontier, queues, bounds, plan):
    """Queue the ops whose last input is v by when their inputs could be there, times `factor`."""
    k = len(frontier.free)
    keep = len(bounds.ready_on) > 0
    for e in range(succ.ptr[v], succ.ptr[v + 1]):
        w = int(succ.consumer[e])
        queues.missing[w] -= 1
        if queues.missing[w] > 0:
            continue
        arrivals(w, 0, k, pred, network, plan, frontier.arrival)
        for d in range(k):
            if not open_on(w, d, eligible, plan):
                continue
            ready = frontier.arrival[d] * factor
            if keep:
                bounds.ready_on[w * k + d] = ready
            if ready <= frontier.free[d]:
                push_now(w, d, queues)
            else:
                push_later(d, ready, queues.rank[w], queues)
