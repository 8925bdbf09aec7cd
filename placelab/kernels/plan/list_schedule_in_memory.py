"""List scheduling within memory: as list_schedule.py, with memory tracked over time."""

from math import inf

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.list_schedule import FINISH, NEVER, START, aimed, clear_busy, gap, run_on
from placelab.kernels.plan.look_up import clear_groups, exec_time, fix_group, group_home, may_go
from placelab.kernels.plan.memory_over_time import clear_memory, next_fit, take_memory
from placelab.kernels.plan.planned_transfers import inputs_at_once


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
    Returns how many ops were placed before nothing fitted any more; the rest as in list_schedule.py.
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
