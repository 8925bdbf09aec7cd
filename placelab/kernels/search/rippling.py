"""Time the plan of a move by timing only the ops that it makes end at another time, and keep the move.

For transfers that are independent: then the time of an op depends on its inputs and on the op before it on its device alone, and
the order by finish of the plan before the move is one in which ops can be timed after it. What is found is what
:func:`placelab.kernels.search.replaying.replay` would find, also where it is kept.

``replay`` runs ops by finish and, of one finish, by number among those whose inputs are computed and whose turn it is on their
device. As an op has a higher number than its inputs, that is the order of (finish, number), unless an op of no time follows one
of a higher number on its device.
"""

from placelab.kernels.jit import helper, inlined
from placelab.kernels.search.moving import last_before
from placelab.kernels.search.replaying import MARGIN


@helper
def follow(v, first, settled, count, bound, number, search):
    """Time a plan in which `count` units have moved, or op v is brought forward to position `first`: -1 if it exceeds `bound`.

    Else the last position at which an op may end at another time. After position `settled` nothing has changed, so that `tail`
    holds for the ops there. O(ops and edges that are timed), and a look at each position between the first and the last of them.
    """
    succ = search.succ
    ripple = search.ripple
    plan = search.plan
    place = search.place
    order = search.run.order
    finish = search.run.finish
    tail = search.paths.tail
    rest = search.lengths.rest
    beyond = bound * (1 + MARGIN)
    until = settled
    if count == 0:
        ripple.moved[v] = number
        ripple.mark[v] = number
        until = ask(plan.after[search.paths.undo[0]], until, number, ripple.mark, place)
    for i in range(count):
        unit = search.moved.unit[i]
        source = search.moved.source[i]
        for j in range(search.units.ptr[unit], search.units.ptr[unit + 1]):
            w = search.units.ops[j]
            ripple.moved[w] = number
            ripple.mark[w] = number
            u = last_before(place[w], source, order, plan.device)
            until = ask(plan.first[source] if u < 0 else plan.after[u], until, number, ripple.mark, place)
    i = first if count > 0 else first - 1  # before which the op that is brought forward is timed
    while i <= until:
        w = order[i] if i >= first else v
        i += 1
        if ripple.mark[w] != number:
            continue
        ripple.mark[w] = 0
        t = timed(w, number, search.pred, search.machine, search.lengths.seconds, plan, search.run, ripple)
        if t + rest[w] > bound or (place[w] > settled and t + tail[w] > beyond):
            return -1
        if t == finish[w] and ripple.moved[w] != number:
            continue
        ripple.stamp[w] = number
        ripple.finish[w] = t
        until = ask(plan.after[w], until, number, ripple.mark, place)
        for e in range(succ.ptr[w], succ.ptr[w + 1]):
            until = ask(succ.consumer[e], until, number, ripple.mark, place)
    return until


@inlined
def ask(v, until, number, mark, place):
    """Have op v timed, if it is one. Returns the last position of what is to be timed."""
    if v < 0:
        return until
    mark[v] = number
    return max(place[v], until)


@inlined
def timed(v, number, pred, machine, seconds, plan, run, ripple):
    """When op v ends."""
    device = plan.device
    k = len(machine.send)
    d = device[v]
    u = plan.before[v]
    t = 0.0
    if u >= 0:
        t = ripple.finish[u] if ripple.stamp[u] == number else run.finish[u]
    moved = ripple.moved[v] == number
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        w = pred.producer[e]
        other = ripple.stamp[w] == number
        if moved or other:
            there = device[w] * k + d
            x = ripple.finish[w] if other else run.finish[w]
            x = x + machine.latency[there] + pred.bytes[e] / machine.bandwidth[there]
        else:
            x = run.arrival[e]
        if x > t:
            t = x
    return t + seconds[v * k + d]


# -------------------------------------------------------------------- keep a move of which all such ops have been timed


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
