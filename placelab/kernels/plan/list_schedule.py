"""List scheduling: each op to the device where it finishes soonest, by insertion or by appending; without and within memory.

A group's first op fixes the device of all. Ties: the lower device. A score is the finish of op v on candidate d.
"""

from math import inf

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.look_up import (
    clear_devices,
    clear_groups,
    exec_time,
    first_after,
    fix_group,
    group_home,
    may_go,
    may_run,
)
from placelab.kernels.plan.memory_over_time import clear_memory, next_fit, take_memory
from placelab.kernels.plan.planned_transfers import inputs_at_once

SPANS = 64  # busy spans whose longest gap is known
ROUNDING = 1e-15  # of a time: more than what rounding can add to the length that fits into a gap there
NEVER = 1.7e308  # a finish that no plan reaches
FINISH = 0
START = 1
LENGTH = 2


@inlined
def arrivals(v, low, high, pred, network, plan, arrival):
    """``arrival[d]``: when all inputs of v are on device d, for low <= d < high."""
    k = len(arrival)
    for d in range(low, high):
        arrival[d] = 0.0
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        u = pred.producer[e]
        done = plan.finish[u]
        size = pred.bytes[e]
        row = plan.device[u] * k
        for d in range(low, high):
            x = done + network.delay[row + d] + size / network.bandwidth[row + d]
            arrival[d] = x if x > arrival[d] else arrival[d]


@helper
def insert(values, base, count, value):
    """Add a value to ``values[base:base + count]``, ascending. Returns their new number."""
    i = base + first_after(values, base, count, value)
    for j in range(base + count, i, -1):
        values[j] = values[j - 1]
    values[i] = value
    return count + 1


@inlined
def gap(d, busy, time, length, worst):
    """Earliest start at or after `time` of an op of this length in an idle gap of d; gives up at a finish of `worst` or later.

    Few spans are looked at: they are merged where they touch, and ``widest`` passes those between which nothing fits at once.
    An op of length 0 also fits between two ops that touch.
    """
    base = d * busy.row
    count = busy.count[d]
    begins = busy.begins
    ends = busy.ends
    i = first_after(ends, base, count, time)
    if length == 0.0:
        if i == count or begins[base + i] >= time:
            return time
        i = first_after(busy.done, base, busy.n_done[d], time)
        if i > 0 and busy.done[base + i - 1] == time:
            return time
        return busy.done[base + i]
    while i < count and time + length > begins[base + i]:
        if ends[base + i] > time:
            time = ends[base + i]
        if time + length >= worst:
            break
        i += 1
        if i % SPANS == 0:
            last = base + i + SPANS - 1
            while i + SPANS <= count and length > busy.widest[last // SPANS] + ROUNDING * ends[last]:
                i += SPANS
                time = ends[last]
                if time + length >= worst:
                    return time
                last += SPANS
    return time


@helper
def clear_busy(busy):
    """No device is busy."""
    for d in range(len(busy.count)):
        busy.count[d] = 0
        busy.n_done[d] = 0
        busy.ends[d * busy.row] = 0.0


@helper
def measure(base, low, count, busy):
    """Set ``widest`` anew from the block of span number `low` to that of the last."""
    for b in range(low // SPANS, (count + SPANS - 1) // SPANS):
        most = 0.0
        for i in range(b * SPANS, min((b + 1) * SPANS, count)):
            length = busy.begins[base + i] - (busy.ends[base + i - 1] if i > 0 else 0.0)
            if length > most:
                most = length
        busy.widest[base // SPANS + b] = most


@helper
def remove_span(base, i, count, busy):
    """Remove span number i, which ends with the one before."""
    begins = busy.begins
    ends = busy.ends
    ends[base + i - 1] = ends[base + i]
    for j in range(base + i, base + count - 1):
        begins[j] = begins[j + 1]
        ends[j] = ends[j + 1]
    measure(base, i, count - 1, busy)


@helper
def add_span(base, i, count, start, finish, busy):
    """Put a span before number i."""
    begins = busy.begins
    ends = busy.ends
    for j in range(base + count, base + i, -1):
        begins[j] = begins[j - 1]
        ends[j] = ends[j - 1]
    begins[base + i] = start
    ends[base + i] = finish
    if i < count or i % SPANS == 0:
        measure(base, i, count + 1, busy)
        return
    length = start - ends[base + i - 1]
    if length > busy.widest[(base + i) // SPANS]:
        busy.widest[(base + i) // SPANS] = length


@inlined
def occupy(d, busy, start, finish):
    """Add a busy span to d, merged with those that it touches."""
    base = d * busy.row
    count = busy.count[d]
    i = first_after(busy.ends, base, count, start)
    if i < count and busy.begins[base + i] < finish:
        return  # of length 0, between two ops that touch
    left = i > 0 and busy.ends[base + i - 1] == start
    right = i < count and busy.begins[base + i] == finish
    if left and right:
        remove_span(base, i, count, busy)
        busy.count[d] = count - 1
    elif left or right:
        if left:
            busy.ends[base + i - 1] = finish
        else:
            busy.begins[base + i] = start
        if i < count:  # the gap before span i has become shorter
            measure(base, i, min(count, (i // SPANS + 1) * SPANS), busy)
    else:
        add_span(base, i, count, start, finish, busy)
        busy.count[d] = count + 1


@inlined
def aimed(aim, i, start, length):
    """What is compared between devices: finish, start or length of an op, plus ``aim.extra[i]`` (i: v * k + d)."""
    x = start + length
    if aim.rule == START:
        x = start
    elif aim.rule == LENGTH:
        x = length
    if len(aim.extra) > 0:
        x += aim.extra[i]
    return x


@inlined
def run_on(d, insertion, busy, start, finish):
    """Let d be busy from `start` to `finish`; `insertion` as in :func:`in_order`."""
    if not insertion:
        busy.ends[d] = finish
        return
    occupy(d, busy, start, finish)
    if len(busy.done) == len(busy.ends) and finish > start:
        busy.n_done[d] = insert(busy.done, d * busy.row, busy.n_done[d], finish)


@kernel
def in_order(preferred, insertion, aim, pred, times, network, eligible, arrival, busy, plan):
    """Put each op of ``plan.order``, a topological one, where `aim` is least, or on ``preferred[v]`` unless that is -1.

    Ties: where starts are compared the sooner finish, then the lower device.

    With `insertion` into the earliest gap that holds it, which takes rows for n ops, and ``busy.done`` where an op takes no time;
    else after the device's last op. O(edges · k + n · k · log n) where gaps are found at once.
    """
    n = len(plan.order)
    k = len(arrival)
    record = len(plan.score) == n * k
    plain = aim.rule == FINISH and len(aim.extra) == 0
    clear_groups(eligible)
    clear_busy(busy)
    for i in range(n):
        v = plan.order[i]
        only = group_home(v, eligible)
        if only < 0:
            only = preferred[v]
        low = 0
        high = k
        if only >= 0:
            low = only
            high = only + 1
        arrivals(v, low, high, pred, network, plan, arrival)
        best = -1
        least = 0.0
        soonest = 0.0
        begin = 0.0
        for d in range(low, high):
            if not may_run(v, d, eligible):
                continue
            length = exec_time(v, d, times)
            s = arrival[d]
            worst = soonest
            if best < 0 or record or not plain:
                worst = NEVER
            if s + length >= worst:
                continue
            if insertion:
                s = gap(d, busy, s, length, worst)
            elif busy.ends[d] > s:
                s = busy.ends[d]
            f = s + length
            x = aimed(aim, v * k + d, s, length)
            if record:
                plan.score[v * k + d] = x
            if best < 0 or x < least or (aim.rule == START and x == least and f < soonest):
                best = d
                least = x
                soonest = f
                begin = s
        plan.device[v] = best
        plan.start[v] = begin
        plan.finish[v] = soonest
        fix_group(v, best, eligible)
        run_on(best, insertion, busy, begin, soonest)


@kernel
def as_ready(pred, succ, times, network, eligible, frontier, agenda, plan):
    """Put each op, when its last input has been computed, where it would finish soonest, after that device's last op.

    Ops are taken by (time their last input was computed, op number). O(n log n + edges · k).
    """
    n = len(plan.device)
    k = len(frontier.free)
    record = len(plan.score) == n * k
    clear_devices(eligible, frontier.free)
    size = 0
    for v in range(n):
        agenda.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        agenda.became[v] = 0.0
        if agenda.missing[v] == 0:
            size = push_event(agenda.heap, size, 0.0, float(v))
    i = 0
    while size > 0:
        v = int(agenda.heap[1])
        size = pop_event(agenda.heap, size)
        only = group_home(v, eligible)
        low = 0
        high = k
        if only >= 0:
            low = only
            high = only + 1
        arrivals(v, low, high, pred, network, plan, frontier.arrival)
        best = -1
        soonest = 0.0
        begin = 0.0
        for d in range(low, high):
            if not may_run(v, d, eligible):
                continue
            s = frontier.arrival[d]
            if frontier.free[d] > s:
                s = frontier.free[d]
            f = s + exec_time(v, d, times)
            if record:
                plan.score[v * k + d] = f
            if best < 0 or f < soonest:
                best = d
                soonest = f
                begin = s
        plan.order[i] = v
        i += 1
        plan.device[v] = best
        plan.start[v] = begin
        plan.finish[v] = soonest
        frontier.free[best] = soonest
        fix_group(v, best, eligible)
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            agenda.missing[w] -= 1
            if soonest > agenda.became[w]:
                agenda.became[w] = soonest
            if agenda.missing[w] == 0:
                size = push_event(agenda.heap, size, agenda.became[w], float(w))


# -------------------------------------------------------------------- within memory, which is tracked over time


@inlined
def idle_from(d, time, length, insertion, busy):
    """Earliest start at or after `time` of an op of this length on d: in an idle gap, or after its last op."""
    if insertion:
        return gap(d, busy, time, length, NEVER)
    return max(time, busy.ends[d])


@inlined
def key_of(v, place, agenda):
    """What ops are taken by: their place, or when their last input was computed."""
    return float(place[v]) if len(place) > 0 else agenda.became[v]


@helper
def start_agenda(place, pred, agenda):
    """Put all ops without inputs on the agenda. Returns how many."""
    size = 0
    for v in range(len(agenda.missing)):
        agenda.became[v] = 0.0
        agenda.missing[v] = pred.ptr[v + 1] - pred.ptr[v]
        if agenda.missing[v] == 0:
            size = push_event(agenda.heap, size, key_of(v, place, agenda), float(v))
    return size


@inlined
def release(v, size, place, succ, plan, agenda):
    """Put the ops whose last input is v on the agenda of so many ops. Returns its new size."""
    for e in range(succ.ptr[v], succ.ptr[v + 1]):
        w = succ.consumer[e]
        agenda.missing[w] -= 1
        if plan.finish[v] > agenda.became[w]:
            agenda.became[w] = plan.finish[v]
        if agenda.missing[w] == 0:
            size = push_event(agenda.heap, size, key_of(w, place, agenda), float(w))
    return size


@kernel
def one_by_one(
    place, preferred, insertion, aim, pred, succ, times, network, eligible, inputs, memory, agenda, busy, plan
):
    """Put each op, the first of those whose inputs are placed, where it fits and `aim` is least.

    On ``preferred[v]`` (-1: none) if it fits there. First is by ``place[v]``, or, if that is empty, by when the last input was
    computed; ties: the op number. An op that fits nowhere is set aside until bytes are given back, or nothing else is left.
    Returns how many ops were placed before nothing fitted any more; the rest as above.
    """
    needs, held, curve, spans = memory
    n = len(plan.device)
    k = len(needs.limit)
    record = len(plan.score) == n * k
    plain = aim.rule == FINISH and len(aim.extra) == 0
    clear_memory(pred, needs, held, curve)
    clear_busy(busy)
    clear_groups(eligible)
    for v in range(n):
        plan.device[v] = -1
    size = start_agenda(place, pred, agenda)
    n_aside = 0
    placed = 0
    retried = 0  # how many were placed when all set aside were last tried again because nothing else was left
    freed = False
    while placed < n:
        if size == 0 and retried == placed:
            return placed
        if freed or size == 0:
            if size == 0:
                retried = placed
            for i in range(n_aside):
                size = push_event(agenda.heap, size, agenda.aside[2 * i], agenda.aside[2 * i + 1])
            n_aside = 0
            freed = False
        key = agenda.heap[0]
        v = int(agenda.heap[1])
        size = pop_event(agenda.heap, size)
        fixed = group_home(v, eligible)
        best = -1
        least = inf
        soonest = inf
        begin = 0.0
        for attempt in range(2):  # first the preferred device alone
            low = preferred[v] if attempt == 0 else 0
            high = low + 1 if attempt == 0 else k
            if low < 0 or best >= 0:
                continue
            for d in range(low, high):
                if not may_go(v, d, fixed, eligible):
                    continue
                ready = inputs_at_once(v, d, pred, network, plan, inputs)
                length = exec_time(v, d, times)
                s = idle_from(d, ready, length, insertion, busy)
                while s < inf and (record or not plain or s + length < soonest):
                    fits = next_fit(v, d, s, length, pred, eligible, plan, inputs, needs, held, curve, spans)
                    if fits == s:
                        break
                    s = fits
                    if s < inf:
                        s = idle_from(d, s, length, insertion, busy)
                if s == inf:
                    continue
                x = aimed(aim, v * k + d, s, length)
                if record:
                    plan.score[v * k + d] = x
                if x < least or (aim.rule == START and x == least and s + length < soonest):
                    best = d
                    least = x
                    soonest = s + length
                    begin = s
        if best < 0:
            agenda.aside[2 * n_aside] = key
            agenda.aside[2 * n_aside + 1] = float(v)
            n_aside += 1
            continue
        inputs_at_once(v, best, pred, network, plan, inputs)
        freed = take_memory(v, best, begin, soonest, pred, eligible, plan, inputs, needs, held, curve, spans)
        plan.device[v] = best
        plan.start[v] = begin
        plan.finish[v] = soonest
        plan.order[placed] = v
        placed += 1
        fix_group(v, best, eligible)
        run_on(best, insertion, busy, begin, soonest)
        size = release(v, size, place, succ, plan, agenda)
    return placed
