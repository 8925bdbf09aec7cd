"""Find out whether a move makes a plan too long by timing only the ops that it makes end at another time.

For transfers that are independent: then the time of an op depends on its inputs and on the op before it on its device alone, and
the order by finish of the plan before the move is one in which ops can be timed after it. What is told is what
:func:`placelab.kernels.search.replaying.replay` would find, which then times the plan of a move that is kept.
"""

from placelab.kernels.jit import helper
from placelab.kernels.search.moving import last_before
from placelab.kernels.search.replaying import MARGIN


@helper
def is_too_long(v, first, settled, count, bound, number, search):
    """Whether a plan in which `count` units have moved, or op v is brought forward to position `first`, exceeds `bound`.

    After position `settled` nothing has changed, so that `tail` holds for the ops there. O(ops and edges that are timed), and a
    look at each position between the first and the last of them.
    """
    ripple = search.ripple
    plan = search.plan
    place = search.place
    order = search.run.order
    until = first
    if count == 0:
        ripple.moved[v] = number
        if timed(v, settled, bound, number, search):
            return True
        until = ask(plan.after[v], until, number, search)
        until = ask(plan.after[search.paths.undo[0]], until, number, search)
        until = ask_readers(v, until, number, search)
    for i in range(count):
        unit = search.moved.unit[i]
        for j in range(search.units.ptr[unit], search.units.ptr[unit + 1]):
            w = search.units.ops[j]
            ripple.moved[w] = number
            until = ask(w, until, number, search)
            source = search.moved.source[i]
            u = last_before(place[w], source, order, plan.device)
            until = ask(plan.first[source] if u < 0 else plan.after[u], until, number, search)
    i = first
    while i <= until:
        w = order[i]
        i += 1
        if ripple.mark[w] != number or (count == 0 and w == v):
            continue
        if timed(w, settled, bound, number, search):
            return True
        if ripple.stamp[w] == number:
            until = ask(plan.after[w], until, number, search)
            until = ask_readers(w, until, number, search)
    return False


@helper
def ask(v, until, number, search):
    """Have op v timed, if it is one. Returns the last position of what is to be timed."""
    if v < 0:
        return until
    search.ripple.mark[v] = number
    return max(search.place[v], until)


@helper
def ask_readers(v, until, number, search):
    """Have the ops timed that read what v makes. Returns the last position of what is to be timed."""
    succ = search.succ
    for e in range(succ.ptr[v], succ.ptr[v + 1]):
        search.ripple.mark[succ.consumer[e]] = number
        until = max(search.place[succ.consumer[e]], until)
    return until


@helper
def timed(v, settled, bound, number, search):
    """Time op v, and note it where it has moved or ends at another time. Returns whether the plan is too long for that."""
    pred = search.pred
    machine = search.machine
    ripple = search.ripple
    run = search.run
    device = search.plan.device
    k = len(machine.send)
    d = device[v]
    u = search.plan.before[v]
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
    t += search.lengths.seconds[v * k + d]
    if moved or t != run.finish[v]:
        ripple.stamp[v] = number
        ripple.finish[v] = t
    late = search.place[v] > settled and t + search.paths.tail[v] > bound * (1 + MARGIN)
    return t + search.lengths.rest[v] > bound or late
