"""Move ops and units in a plan, and undo it; the blocks are those of :mod:`placelab.kernels.search.replaying`."""

from placelab.kernels.blocks import PARALLEL
from placelab.kernels.jit import helper


@helper
def unlink(v, plan):
    """Take op v out of its device's sequence."""
    device, first, after, before = plan
    if before[v] < 0:
        first[device[v]] = after[v]
    else:
        after[before[v]] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@helper
def link(v, d, u, plan):
    """Put op v into device d's sequence, behind op u; first where u is -1."""
    device, first, after, before = plan
    w = first[d] if u < 0 else after[u]
    if u < 0:
        first[d] = v
    else:
        after[u] = v
    device[v] = d
    before[v] = u
    after[v] = w
    if w >= 0:
        before[w] = v


@helper
def last_before(i, d, order, device):
    """The last op of device d at a position before i, -1 for none."""
    i -= 1
    while i >= 0 and device[order[i]] != d:
        i -= 1
    return order[i] if i >= 0 else -1


@helper
def relocate(u, d, units, plan, place, order, undo, n_undo):
    """Move unit u to device d, each op where it was in the order; what it followed is noted. Returns the number of notes."""
    for i in range(units.ptr[u], units.ptr[u + 1]):
        v = units.ops[i]
        undo[n_undo] = plan.before[v]
        n_undo += 1
        w = last_before(place[v], d, order, plan.device)
        unlink(v, plan)
        link(v, d, w, plan)
    return n_undo


@helper
def put_back(u, d, units, plan, undo, n_undo):
    """Undo :func:`relocate`, given the device the unit came from. Returns the number of notes left."""
    for i in range(units.ptr[u + 1] - 1, units.ptr[u] - 1, -1):
        n_undo -= 1
        unlink(units.ops[i], plan)
        link(units.ops[i], d, undo[n_undo], plan)
    return n_undo


@helper
def touched_by(u, touched, units, pred, machine, place):
    """First position that a move of unit u changes: of its ops and, unless transfers are independent, of their producers."""
    shared = machine.contention != PARALLEL or machine.send[0] > 0.0
    for i in range(units.ptr[u], units.ptr[u + 1]):
        v = units.ops[i]
        touched = place[v] if place[v] < touched else touched
        for j in range(pred.ptr[v], pred.ptr[v + 1] if shared else pred.ptr[v]):
            w = pred.producer[pred.edge[j]]
            touched = place[w] if place[w] < touched else touched
    return touched


@helper
def last_of(u, settled, units, place):
    """The last position of an op of unit u, or `settled` where that is later."""
    for i in range(units.ptr[u], units.ptr[u + 1]):
        settled = max(place[units.ops[i]], settled)
    return settled


@helper
def bring(unit, units, pred, machine, device, finish, arrival):
    """Note when the inputs of a unit arrive, transfers being independent."""
    k = len(machine.send)
    for i in range(units.ptr[unit], units.ptr[unit + 1]):
        for j in range(pred.ptr[units.ops[i]], pred.ptr[units.ops[i] + 1]):
            e = pred.edge[j]
            u = pred.producer[e]
            there = device[u] * k + device[units.ops[i]]
            arrival[e] = finish[u] + machine.latency[there] + pred.bytes[e] / machine.bandwidth[there]


@helper
def have_room(moved, begin, end, d, leaving, needs, capacity):
    """Whether device d may run the units ``moved[begin:end]`` and has room for them, unit `leaving` having gone; -1 for none."""
    allowed, stride, held, peak = needs
    limit, used, top = capacity
    high = top[d]
    more = -held[leaving] if leaving >= 0 else 0.0
    for i in range(begin, end):
        u = moved[i]
        if allowed[u * stride + d] == 0:
            return False
        high = peak[u] if peak[u] > high else high
        more += held[u]
    return used[d] + more + high <= limit[d]


@helper
def account(u, source, d, needs, capacity):
    """Count that unit u has moved from device `source` to d.

    What a device needed at most is not forgotten: room is never overrated.
    """
    capacity.used[source] -= needs.held[u]
    capacity.used[d] += needs.held[u]
    capacity.top[d] = max(needs.peak[u], capacity.top[d])
