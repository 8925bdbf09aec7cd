"""Time the plan of a move by timing only the ops that it makes end at another time.

For transfers that are independent: then the time of an op depends on its inputs and on the op before it on its device alone, and
the order by finish of the plan before the move is one in which ops can be timed after it. What is found is what
:func:`placelab.kernels.search.replaying.replay` would find; :mod:`placelab.kernels.search.settling` keeps it.
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
