"""Keep a move of which :mod:`placelab.kernels.search.rippling` has timed all ops that end at another time.

What is kept is what :func:`placelab.kernels.search.replaying.replay` would find. It runs ops by finish and, of one finish, by
number among those whose inputs are computed and whose turn it is on their device. As an op has a higher number than its inputs,
that is the order of (finish, number), unless an op of no time follows one of a higher number on its device.
"""

from placelab.kernels.jit import helper, inlined


@inlined
def comes_first(v, w, finish):
    """Whether op v is before op w in the order of (finish, number)."""
    return finish[v] < finish[w] or (finish[v] == finish[w] and v < w)


@helper
def settle(first, last, number, search):
    """Take over the times, places and arrivals of the ops that were timed, which are at positions first to last.

    Returns the first position that changes and the one behind the last. O(positions between them, devices where ops end at once).
    """
    ripple = search.ripple
    changed = ripple.changed
    order = search.run.order
    finish = search.run.finish
    merged = search.trial.order
    while ripple.stamp[order[first]] != number:
        first += 1
    while ripple.stamp[order[last]] != number:
        last -= 1
    early = finish[order[first]]
    late = finish[order[last]]
    count = 0
    for i in range(first, last + 1):
        v = order[i]
        if ripple.stamp[v] != number:
            continue
        finish[v] = ripple.finish[v]
        early = min(early, finish[v])
        late = max(late, finish[v])
        j = count
        while j > 0 and comes_first(v, changed[j - 1], finish):
            changed[j] = changed[j - 1]
            j -= 1
        changed[j] = v
        count += 1
    low = first
    high = last + 1
    while low > 0 and finish[order[low - 1]] >= early:
        low -= 1
    while high < len(order) and finish[order[high]] <= late:
        high += 1
    j = 0
    end = low
    for i in range(low, high):
        v = order[i]
        if ripple.stamp[v] == number:
            continue
        while j < count and comes_first(changed[j], v, finish):
            merged[end] = changed[j]
            end += 1
            j += 1
        merged[end] = v
        end += 1
    while j < count:
        merged[end] = changed[j]
        end += 1
        j += 1
    take_over(low, high, number, search)
    deliver_all(count, search)
    return low, high


@helper
def take_over(low, high, number, search):
    """Take over the merged order at positions low to high; ops that end at once run as devices and inputs let them."""
    order = search.run.order
    finish = search.run.finish
    before = search.plan.before
    merged = search.trial.order
    i = low
    while i < high:
        t = finish[merged[i]]
        end = i
        by_number = True
        while end < high and finish[merged[end]] == t:
            v = merged[end]
            by_number = by_number and (end == i or v > merged[end - 1])
            by_number = by_number and not (before[v] > v and finish[before[v]] == t)
            end += 1
        if not by_number:
            run_at_once(i, end, number, search)
        i = end
    for i in range(low, high):
        order[i] = merged[i]
        search.place[merged[i]] = i


@helper
def run_at_once(low, high, number, search):
    """Order the ops at positions low to high of the merged order, which end at one time, as :func:`replay` runs them."""
    pred = search.pred
    device, _, after, before = search.plan
    finish = search.run.finish
    merged = search.trial.order
    up = search.pending.up
    stamp = search.pending.stamp
    t = finish[merged[low]]
    for d in range(len(up)):
        up[d] = -1
    for i in range(low, high):
        v = merged[i]
        if before[v] < 0 or finish[before[v]] != t:
            up[device[v]] = v
    for i in range(low, high):
        least = -1
        for v in up:
            if v < 0 or (least >= 0 and v > least):
                continue
            free = True
            for j in range(pred.ptr[v], pred.ptr[v + 1]):
                u = pred.producer[pred.edge[j]]
                free = free and (finish[u] != t or stamp[u] == number)
            least = v if free else least
        merged[i] = least
        stamp[least] = number
        w = after[least]
        up[device[least]] = w if w >= 0 and finish[w] == t else -1


@helper
def deliver_all(count, search):
    """Note when what `count` changed ops make arrives, and the inputs of units that have moved."""
    succ = search.succ
    machine = search.machine
    device = search.plan.device
    finish = search.run.finish
    k = len(machine.send)
    for i in range(count):
        v = search.ripple.changed[i]
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            there = device[v] * k + device[succ.consumer[e]]
            search.run.arrival[e] = finish[v] + machine.latency[there] + succ.bytes[e] / machine.bandwidth[there]
