"""Where does each op finish soonest? List scheduling by insertion into idle gaps or by appending; memory is not looked at.

Both kernels take the problem as: ``pred_ptr, pred_edge, producer, edge_bytes`` (edges by consumer); ``cost, column,
divisor, columns`` (exec, see Problem); flat ``delay`` (the Send's time, and latency) and ``bandwidth``, 0 and infinite
within a device; ``allowed[v * stride + d]``; ``group``, -1 for none. A group's first op fixes the device of all. Ties:
the lower device. Results: `device`, `start`, `finish` (n,), and `score[v * k + d]` (when its length is n * k) the
finish of v on every candidate d.
"""

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper, kernel

SPANS = 64  # busy spans whose longest gap is known
ROUNDING = 1e-15  # of a time: more than what rounding can add to the length that fits into a gap there


@helper
def arrivals(v, low, high, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready):
    """``ready[d]``: when all inputs of v are on device d, for low <= d < high."""
    k = len(ready)
    for d in range(low, high):
        ready[d] = 0.0
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        e = pred_edge[i]
        u = producer[e]
        done = finish[u]
        size = edge_bytes[e]
        row = device[u] * k
        for d in range(low, high):
            x = done + delay[row + d] + size / bandwidth[row + d]
            ready[d] = x if x > ready[d] else ready[d]


@helper
def first_after(ends, base, count, time):
    """Index of the first of ``ends[base:base + count]``, ascending, that is greater than `time`; `count` when none is."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if ends[base + middle] > time:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def insert(values, base, count, value):
    """Add a value to ``values[base:base + count]``, ascending. Returns their new number."""
    i = base + first_after(values, base, count, value)
    for j in range(base + count, i, -1):
        values[j] = values[j - 1]
    values[i] = value
    return count + 1


@helper
def gap(base, count, begins, ends, block, widest, done, n_done, time, length, worst):
    """Earliest start at or after `time` of an op of this length in an idle gap; gives up at a finish of `worst` or later.

    ``begins, ends`` are the busy spans, merged where they touch, so that few are looked at; ``widest[block + b]`` is the
    longest gap before one of the spans b * SPANS to (b + 1) * SPANS - 1, so that those in which nothing fits are passed at
    once. An op of length 0 also fits between two ops that touch: ``done`` has the finish of every op.
    """
    i = first_after(ends, base, count, time)
    if length == 0.0:
        if i == count or begins[base + i] >= time:
            return time
        i = first_after(done, base, n_done, time)
        if i > 0 and done[base + i - 1] == time:
            return time
        return done[base + i]
    while i < count and time + length > begins[base + i]:
        if ends[base + i] > time:
            time = ends[base + i]
        if time + length >= worst:
            break
        i += 1
        if i % SPANS == 0:
            last = base + i + SPANS - 1
            while i + SPANS <= count and length > widest[block + i // SPANS] + ROUNDING * ends[last]:
                i += SPANS
                time = ends[last]
                if time + length >= worst:
                    return time
                last += SPANS
    return time


@helper
def measure(base, low, count, begins, ends, block, widest):
    """Set ``widest`` anew from the block of span number `low` to that of the last."""
    for b in range(low // SPANS, (count + SPANS - 1) // SPANS):
        most = 0.0
        for i in range(b * SPANS, min((b + 1) * SPANS, count)):
            length = begins[base + i] - (ends[base + i - 1] if i > 0 else 0.0)
            if length > most:
                most = length
        widest[block + b] = most


@helper
def occupy(base, count, begins, ends, block, widest, start, finish):
    """Add a busy span, merged with those it touches. Returns their new number."""
    i = first_after(ends, base, count, start)
    if i < count and begins[base + i] < finish:
        return count  # of length 0, between two ops that touch
    left = i > 0 and ends[base + i - 1] == start
    right = i < count and begins[base + i] == finish
    if left and right:
        ends[base + i - 1] = ends[base + i]
        for j in range(base + i, base + count - 1):
            begins[j] = begins[j + 1]
            ends[j] = ends[j + 1]
        measure(base, i, count - 1, begins, ends, block, widest)
        return count - 1
    if left or right:
        if left:
            ends[base + i - 1] = finish
        else:
            begins[base + i] = start
        if i < count:  # the gap before span i has become shorter
            measure(base, i, min(count, (i // SPANS + 1) * SPANS), begins, ends, block, widest)
        return count
    for j in range(base + count, base + i, -1):
        begins[j] = begins[j - 1]
        ends[j] = ends[j - 1]
    begins[base + i] = start
    ends[base + i] = finish
    if i < count or i % SPANS == 0:
        measure(base, i, count + 1, begins, ends, block, widest)
    else:
        length = start - ends[base + i - 1]
        if length > widest[block + i // SPANS]:
            widest[block + i // SPANS] = length
    return count + 1


@kernel
def in_order(
    order, preferred, insertion, pred_ptr, pred_edge, producer, edge_bytes, cost, column, divisor, columns, delay, bandwidth,
    allowed, stride, group,
    # workspace
    group_device, ready, busy, begins, ends, widest, n_done, done,
    # results
    device, start, finish, score,
):  # fmt: skip
    """Each op of a topological `order` to the device where it finishes soonest, or to ``preferred[v]`` unless that is -1.

    With `insertion` into the earliest gap that holds it, which takes ``begins, ends`` and, where an op takes no time,
    ``done`` of length n * k, and ``widest`` of length k * (n / SPANS rounded up); else after the device's last op (``ends``,
    length k). O(edges · k + n · k · log n) where gaps are found at once.
    """
    n = len(order)
    k = len(ready)
    room = len(ends) // k
    blocks = len(widest) // k
    zeros = len(done) == len(ends) and insertion
    record = len(score) == n * k
    for g in range(len(group_device)):
        group_device[g] = -1
    for d in range(k):
        busy[d] = 0
        n_done[d] = 0
        ends[d * room] = 0.0
    for i in range(n):
        v = order[i]
        g = group[v]
        reserved = g >= 0 and group_device[g] >= 0
        only = group_device[g] if reserved else preferred[v]
        low = 0
        high = k
        if only >= 0:
            low = only
            high = only + 1
        arrivals(v, low, high, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready)
        best = -1
        soonest = 0.0
        begin = 0.0
        for d in range(low, high):
            if allowed[v * stride + d] == 0:
                continue
            length = cost[v * columns + column[d]] / divisor[d]
            s = ready[d]
            worst = soonest
            if best < 0 or record:
                worst = 1.7e308
            if s + length >= worst:
                continue
            if insertion:
                s = gap(d * room, busy[d], begins, ends, d * blocks, widest, done, n_done[d], s, length, worst)
            elif ends[d] > s:
                s = ends[d]
            f = s + length
            if record:
                score[v * k + d] = f
            if best < 0 or f < soonest:
                best = d
                soonest = f
                begin = s
        device[v] = best
        start[v] = begin
        finish[v] = soonest
        if g >= 0:
            group_device[g] = best
        if insertion:
            busy[best] = occupy(best * room, busy[best], begins, ends, best * blocks, widest, begin, soonest)
            if zeros and soonest > begin:
                n_done[best] = insert(done, best * room, n_done[best], soonest)
        else:
            ends[best] = soonest


@kernel
def as_ready(
    pred_ptr, pred_edge, producer, edge_bytes, succ_ptr, consumer, cost, column, divisor, columns, delay, bandwidth,
    allowed, stride, group,
    # workspace
    group_device, ready, free, missing, became, heap,
    # results
    device, start, finish, score, order,
):  # fmt: skip
    """Each op, when its last input has been computed, to the device where it would finish soonest, after that device's last op.

    Ops are taken by (time their last input was computed, op number), from a heap of stride 2. Result `order`: as taken.
    O(n log n + edges · k).
    """
    n = len(device)
    k = len(ready)
    record = len(score) == n * k
    for g in range(len(group_device)):
        group_device[g] = -1
    for d in range(k):
        free[d] = 0.0
    size = 0
    for v in range(n):
        missing[v] = pred_ptr[v + 1] - pred_ptr[v]
        became[v] = 0.0
        if missing[v] == 0:
            size = push_event(heap, size, 0.0, float(v))
    i = 0
    while size > 0:
        v = int(heap[1])
        size = pop_event(heap, size)
        g = group[v]
        reserved = g >= 0 and group_device[g] >= 0
        low = 0
        high = k
        if reserved:
            low = group_device[g]
            high = low + 1
        arrivals(v, low, high, pred_ptr, pred_edge, producer, edge_bytes, delay, bandwidth, device, finish, ready)
        best = -1
        soonest = 0.0
        begin = 0.0
        for d in range(low, high):
            if allowed[v * stride + d] == 0:
                continue
            s = ready[d]
            if free[d] > s:
                s = free[d]
            f = s + cost[v * columns + column[d]] / divisor[d]
            if record:
                score[v * k + d] = f
            if best < 0 or f < soonest:
                best = d
                soonest = f
                begin = s
        order[i] = v
        i += 1
        device[v] = best
        start[v] = begin
        finish[v] = soonest
        free[best] = soonest
        if g >= 0:
            group_device[g] = best
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[e]
            missing[w] -= 1
            if soonest > became[w]:
                became[w] = soonest
            if missing[w] == 0:
                size = push_event(heap, size, became[w], float(w))
