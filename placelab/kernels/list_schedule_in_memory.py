"""Where does each op finish soonest and has room? The list scheduling of list_schedule.py with memory tracked over time."""

from math import inf

from placelab.kernels.codes import PARALLEL
from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper, kernel
from placelab.kernels.list_schedule import gap, insert, occupy
from placelab.kernels.planned_transfers import inputs_on
from placelab.kernels.room_over_time import clear_room, next_time_to_try, take_room

NEVER = 1.7e308  # a finish that no plan reaches


@helper
def idle_from(d, time, length, insertion, room, busy, begins, ends, widest, done, n_done):
    """Earliest start at or after `time` of an op of this length on d: in an idle gap, or after its last op."""
    if insertion:
        block = d * (len(widest) // len(busy))
        return gap(d * room, busy[d], begins, ends, block, widest, done, n_done[d], time, length, NEVER)
    return max(time, ends[d])


@kernel
def one_by_one(
    place, preferred, insertion, pred_ptr, pred_edge, producer, edge_bytes, succ_ptr, consumer, cost, column, divisor, columns,
    delay, bandwidth, allowed, stride, group, send,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    # workspace
    group_device, missing, became, heap, aside, busy, busy_begins, busy_ends, widest, n_done, done,
    turn, lane, port, copy_sent, copy_there, sent, there,
    reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change, eased,
    # results
    device, start, finish, score, order,
):  # fmt: skip
    """Of the ops whose inputs are placed the first, to where it finishes soonest, or to ``preferred[v]`` if it has room there.

    First is by ``place[v]``, or, if that is empty, by when the last input was computed; ties: the op number. An op that has
    no room anywhere is set aside (``aside``, pairs as in ``heap``) until bytes are given back, or nothing else is left.
    Returns how many ops were placed before nothing fitted any more; the rest as in list_schedule.py.
    """
    n = len(device)
    k = len(limit)
    room = len(busy_ends) // k
    zeros = len(done) == len(busy_ends) and insertion
    record = len(score) == n * k
    clear_room(reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, edge_tensor)
    for g in range(len(group_device)):
        group_device[g] = -1
    for d in range(k):
        busy[d] = 0
        n_done[d] = 0
        busy_ends[d * room] = 0.0
    size = 0
    for v in range(n):
        device[v] = -1
        became[v] = 0.0
        missing[v] = pred_ptr[v + 1] - pred_ptr[v]
        if missing[v] == 0:
            size = push_event(heap, size, float(place[v]) if len(place) > 0 else 0.0, float(v))
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
                size = push_event(heap, size, aside[2 * i], aside[2 * i + 1])
            n_aside = 0
            freed = False
        key = heap[0]
        v = int(heap[1])
        size = pop_event(heap, size)
        g = group[v]
        fixed = g >= 0 and group_device[g] >= 0
        best = -1
        soonest = inf
        begin = 0.0
        for attempt in range(2):  # first the preferred device alone
            low = preferred[v] if attempt == 0 else 0
            high = low + 1 if attempt == 0 else k
            if low < 0 or best >= 0:
                continue
            for d in range(low, high):
                if allowed[v * stride + d] == 0 or (fixed and group_device[g] != d):
                    continue
                ready = inputs_on(
                    v, d, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, delay,
                    PARALLEL, 0, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
                )  # fmt: skip
                length = cost[v * columns + column[d]] / divisor[d]
                s = idle_from(d, ready, length, insertion, room, busy, busy_begins, busy_ends, widest, done, n_done)
                while s < inf and (record or s + length < soonest):
                    fits = next_time_to_try(
                        v, d, s, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, there,
                        model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
                        reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block,
                        begins, ends, sizes, cuts, change,
                    )  # fmt: skip
                    if fits == s:
                        break
                    s = fits
                    if s < inf:
                        s = idle_from(d, s, length, insertion, room, busy, busy_begins, busy_ends, widest, done, n_done)
                if record and s < inf:
                    score[v * k + d] = s + length
                if s + length < soonest:
                    best = d
                    soonest = s + length
                    begin = s
        if best < 0:
            aside[2 * n_aside] = key
            aside[2 * n_aside + 1] = float(v)
            n_aside += 1
            continue
        inputs_on(
            v, best, pred_ptr, pred_edge, producer, edge_bytes, edge_tensor, send, delay, bandwidth, delay,
            PARALLEL, 0, port, copy_sent, copy_there, turn, lane, device, finish, sent, there,
        )  # fmt: skip
        freed = take_room(
            v, best, begin, soonest, pred_ptr, pred_edge, producer, group, group_device, device, sent, there,
            model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, reserved, waiting, kept, copy_kept,
            last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change, eased,
        )  # fmt: skip
        device[v] = best
        start[v] = begin
        finish[v] = soonest
        order[placed] = v
        placed += 1
        if g >= 0:
            group_device[g] = best
        if insertion:
            first = best * (len(widest) // k)
            busy[best] = occupy(best * room, busy[best], busy_begins, busy_ends, first, widest, begin, soonest)
            if zeros and soonest > begin:
                n_done[best] = insert(done, best * room, n_done[best], soonest)
        else:
            busy_ends[best] = soonest
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[e]
            missing[w] -= 1
            if soonest > became[w]:
                became[w] = soonest
            if missing[w] == 0:
                size = push_event(heap, size, float(place[w]) if len(place) > 0 else became[w], float(w))
    return placed
