"""ETF and SCT: heaps of ready ops per device, lower bounds of when ops could start, and what placing one changes.

Ops that are ready wait, per device, in two heaps: ``later`` by (when they could start, rank), and ``now`` by rank, of those
whose inputs will be there by the time the device is free. What is placed, or belongs to a group that has gone elsewhere, is
taken out when it comes to the top. An op's place in the heaps is a lower bound of when it can start, unless memory and links
are no limit: then it is exact.
"""

from math import inf

from placelab.kernels.blocks import FREE, PARALLEL
from placelab.kernels.heap import pop_entry, pop_key, push_entry, push_key
from placelab.kernels.jit import helper, inlined, kernel
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


# ------------------------------------------------------ ETF: of all ready ops and devices always the pair that can start soonest


@kernel
def earliest_first(pred, succ, times, network, eligible, limits, frontier, queues, bounds, plan):
    """Plan all ops, within the limits of memory over time and of links. Ties: rank, the sooner finish, the lower device.

    A score is when v, at the moment it was placed, could have started on d. Bounds of a device are lowered again
    (:func:`settle`) when bytes came back there, or a tensor has come that others read too.
    Returns how many ops were placed before nothing fitted any more. O(n k log n + edges k) where memory and links are no limit.
    """
    n = len(plan.device)
    k = len(frontier.free)
    free = unlimited(limits)
    queue_entries(pred, eligible, limits, frontier, queues, bounds, plan)
    for step in range(n):
        best = -1
        soonest = inf
        best_rank = n
        done = inf
        for d in range(k):
            if frontier.free[d] > soonest:
                continue
            settle_eased(d, limits.memory.held, eligible, queues, bounds, plan)
            s, exact, r = first_start(
                d, soonest, best_rank, pred, times, network, eligible, limits, frontier, queues, bounds, plan
            )
            if r == n:
                continue
            f = exact + exec_time(int(queues.item[r]), d, times)
            if s < soonest or r < best_rank or f < done:
                best = d
                soonest = exact
                best_rank = r
                done = f
        if best < 0:
            return step
        v = int(queues.item[best_rank])
        if len(plan.score) > 0:
            record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan)
        plan.start[v] = soonest
        plan.finish[v] = done
        if not free:
            take_limits(v, best, pred, succ, network, eligible, limits, queues, bounds, plan)
        place(v, best, step, eligible, frontier, plan)
        release(v, 1.0, pred, succ, network, eligible, frontier, queues, bounds, plan)
    return n


# ------------------------------------- SCT: free devices take what can start first, awake ones urgent ops or the favourite child

# The clock never goes back: a device that is idle at t is free from t on.

SOONEST, URGENT, CHILD, WAITED = 0, 1, 2, 3  # which rule placed an op
SHY = 1 - 2**-50  # a transfer that queues adds its times up in another order, and must not come out below its bound


@inlined
def start_at_best(f, d, pred, times, network, eligible, limits, frontier, bounds, starts, plan):
    """When f could start on d if it could start nowhere sooner, else infinite."""
    k = len(frontier.free)
    for e in range(k):
        starts[e] = inf
        if not open_on(f, e, eligible, plan):
            continue
        if unlimited(limits):
            starts[e] = max(frontier.free[e], bounds.ready_on[f * k + e])
        else:
            starts[e] = earliest(f, e, frontier.free, pred, times, network, eligible, limits, plan)
    here = starts[d]
    for e in range(k):
        if starts[e] < here:
            return inf
    return here


@inlined
def is_urgent(v, d, clock, pred, times, network, eligible, limits, frontier, bounds, plan):
    """Whether v, which could start on d by the clock, could on every idle device that may run it and has room, too."""
    k = len(frontier.free)
    simple = unlimited(limits)
    for e in range(k):
        if frontier.free[e] > clock or not open_on(v, e, eligible, plan):
            continue
        if bounds.ready_on[v * k + e] > clock and (simple or e == d):
            return False
        if simple:
            continue
        exact = earliest(v, e, frontier.free, pred, times, network, eligible, limits, plan)
        if exact > clock and (exact < inf or e == d):
            return False
    return True


@inlined
def most_urgent(d, clock, pred, times, network, eligible, limits, frontier, queues, bounds, plan):
    """The least rank of the urgent ops on d; n when there is none."""
    n = len(queues.rank)
    urgent = n
    i = 0
    while i < queues.n_now[d]:  # in no order; the least rank first, which mostly is it
        r = int(queues.now[d * n + i])
        i += 1
        v = int(queues.item[r])
        if r >= urgent or not open_on(v, d, eligible, plan):
            continue
        if is_urgent(v, d, clock, pred, times, network, eligible, limits, frontier, bounds, plan):
            urgent = r
            if i == 1:
                break
    return urgent


@kernel
def small_communication_times(pred, succ, times, network, eligible, limits, frontier, queues, bounds, favourites, plan):
    """Plan all ops, within the limits of memory over time and of links.

    At the clock t, the earliest start of any ready op, idle devices are asked in turn. The last op i of a device d may have
    a favourite child f that is ready and could start nowhere sooner than on d: then d is awake, and takes, of the ops that
    could start by t on every idle device that may run them and has room, the one of least rank, or, when there is none, f,
    whenever it can start. Otherwise d is free: it takes the op of least rank that could start on it at t, if any.

    Results as :func:`earliest_first`, and ``favourites.rule``. Returns how many ops were placed before
    nothing fitted any more. O(n k log n + edges k + n k²) where memory and links are no limit and urgent ops come to the top.
    """
    n = len(plan.device)
    k = len(frontier.free)
    free = frontier.free
    soonest = favourites.soonest
    ran = favourites.ran
    shy = 1.0 if limits.ports.contention == PARALLEL else SHY
    for d in range(k):
        ran[d] = -1
    queue_entries(pred, eligible, limits, frontier, queues, bounds, plan)
    for step in range(n):
        clock = inf
        for d in range(k):  # the earliest start on each device
            soonest[d] = inf
            if free[d] > clock:
                continue
            settle_eased(d, limits.memory.held, eligible, queues, bounds, plan)
            soonest[d] = first_start(
                d, clock, n, pred, times, network, eligible, limits, frontier, queues, bounds, plan
            )[0]
            if soonest[d] < inf:
                clock = soonest[d]
        if clock == inf:
            return step
        best = -1
        chosen = -1
        start = clock
        why = SOONEST
        for d in range(k):
            if free[d] < clock:
                free[d] = clock
        for j in range(k):
            d = int(favourites.turns[j])
            if free[d] > clock:
                continue
            f = int(favourites.child[ran[d]]) if ran[d] >= 0 else -1
            here = inf
            if f >= 0 and queues.missing[f] == 0 and open_on(f, d, eligible, plan):
                here = start_at_best(
                    f, d, pred, times, network, eligible, limits, frontier, bounds, favourites.starts, plan
                )
            promote(d, free, eligible, queues, plan)
            if here == inf:
                if soonest[d] > clock:
                    continue
                chosen = int(queues.item[queues.now[d * n]])
                best = d
                break
            urgent = most_urgent(d, clock, pred, times, network, eligible, limits, frontier, queues, bounds, plan)
            best = d
            if urgent < n:
                chosen = int(queues.item[urgent])
                why = URGENT
            else:
                chosen = f
                start = here
                why = WAITED if here > clock else CHILD
            break
        v = chosen
        plan.start[v] = start
        plan.finish[v] = start + exec_time(v, best, times)
        if len(plan.score) > 0:
            record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan)
        if not unlimited(limits):
            take_limits(v, best, pred, succ, network, eligible, limits, queues, bounds, plan)
        place(v, best, step, eligible, frontier, plan)
        ran[best] = v
        favourites.rule[v] = why
        release(v, shy, pred, succ, network, eligible, frontier, queues, bounds, plan)
    return n
