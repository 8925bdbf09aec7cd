"""Is there a better plan next to this one? Moves of ops, each timed from the first op it changes on: `portfolio`.

A plan is a sequence of ops per device, a linked list. ``replay`` runs it in order of finish, as the simulator's PLANNED rule,
transfers reserved when their producer ends; so a prefix of the order does not depend on what comes after it, and a move is timed
from a state saved before the first op that it touches. It gives up where the makespan can no longer be good enough.

A saved state is, for each device, when it is free and its last op, then when each port (or channel) is free. Bundles of arrays:

- graph: ``succ_ptr, consumer, edge_tensor, edge_bytes, pred_ptr, pred_edge, producer``, see OpGraph
- machine: ``k, model, in_port, send, latency, bandwidth, seconds, rest``: model PARALLEL, PORTS or CHANNEL; slot of the first
  port that receives; time of a Send; links; ``seconds[v * k + d]``; least time from an op's finish to the end
- plan: ``device, first, after, before``: of an op its device and its neighbours there, of a device its first op; -1 for none
- run: ``finish, order, arrival, saved``: of an op, of a position, of an edge, every `chunk` positions
- desk: ``state, last, up, due, blocked, stamp``: of a device what it runs next, when that ends, what it waits for
"""

from placelab.kernels.codes import PARALLEL, PORTS
from placelab.kernels.jit import helper, kernel

NEVER = float("inf")
NEIGHBOURS = 64  # positions around an op among which it looks for one to change places with


@helper
def draw(random, n):
    """A number below n from the minimal standard generator (Park, Miller 1988)."""
    random[0] = random[0] * 48271 % 2147483647
    return random[0] % n


@helper
def look(d, begin, number, graph, machine, plan, place, arrival, desk):
    """What device d runs next and when that ends: never while an input is not computed."""
    _, _, _, _, pred_ptr, pred_edge, producer = graph
    k, _, _, _, _, _, seconds, _ = machine
    _, first, after, _ = plan
    state, last, up, due, blocked, stamp = desk
    v = first[d] if last[d] < 0 else after[last[d]]
    up[d] = v
    due[d] = NEVER
    blocked[d] = -1
    if v < 0:
        return
    t = state[d]
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        e = pred_edge[i]
        u = producer[e]
        if place[u] >= begin and stamp[u] != number:
            blocked[d] = u
            return
        if arrival[e] > t:
            t = arrival[e]
    due[d] = t + seconds[v * k + d]


@helper
def deliver(v, t, graph, machine, device, arrival, state):
    """When the outputs of v, which ends at t, arrive; returns when its device is free: after its Sends."""
    succ_ptr, consumer, edge_tensor, edge_bytes, _, _, _ = graph
    k, model, in_port, send, latency, bandwidth, _, _ = machine
    d = device[v]
    low = k
    high = -1
    for e in range(succ_ptr[v], succ_ptr[v + 1]):
        w = device[consumer[e]]
        if w == d:
            arrival[e] = t
        elif model == PARALLEL and send[d] == 0.0:
            arrival[e] = t + latency[d * k + w] + edge_bytes[e] / bandwidth[d * k + w]
        else:
            low = w if w < low else low
            high = w if w > high else high
    for w in range(low, high + 1):  # the order of requests: destination, tensor
        if w == d:
            continue
        tensor = -1
        there = 0.0
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            if device[consumer[e]] != w:
                continue
            if edge_tensor[e] != tensor:
                tensor = edge_tensor[e]
                t += send[d]
                begin = t
                out = 2 * k + d if model == PORTS else 2 * k + d * k + w
                into = in_port + w if model == PORTS else out
                if model != PARALLEL:
                    begin = state[out] if state[out] > begin else begin
                    begin = state[into] if state[into] > begin else begin
                there = begin + latency[d * k + w] + edge_bytes[e] / bandwidth[d * k + w]
                if model != PARALLEL:
                    state[out] = there
                    state[into] = there
            arrival[e] = there
    return t


@helper
def replay(touched, bound, number, chunk, width, graph, machine, plan, place, run, desk):
    """Time the plan from the saved state before position `touched` on: (makespan, position where it stopped).

    The makespan is NEVER if it would exceed `bound`, or if the sequences wait for each other.
    """
    k = machine[0]
    rest = machine[7]
    device = plan[0]
    finish, order, arrival, saved = run
    state, last, up, due, blocked, stamp = desk
    begin = touched // chunk * chunk
    row = touched // chunk * width
    for j in range(width):
        state[j] = saved[row + j]
    for d in range(k):
        last[d] = int(state[k + d])
    for d in range(k):
        look(d, begin, number, graph, machine, plan, place, arrival, desk)
    t = 0.0
    for i in range(begin, len(order)):
        if i % chunk == 0:
            for d in range(k):
                state[k + d] = last[d]
            row = i // chunk * width
            for j in range(width):
                saved[row + j] = state[j]
        d = 0
        for q in range(1, k):
            if due[q] < due[d] or (due[q] == due[d] and up[q] < up[d]):
                d = q
        t = due[d]
        v = up[d]
        if t == NEVER or t + rest[v] > bound:
            return NEVER, i
        finish[v] = t
        order[i] = v
        stamp[v] = number
        last[d] = v
        state[d] = deliver(v, t, graph, machine, device, arrival, state)
        look(d, begin, number, graph, machine, plan, place, arrival, desk)
        for q in range(k):
            if blocked[q] == v:
                look(q, begin, number, graph, machine, plan, place, arrival, desk)
    return t, len(order)


@helper
def copy_times(begin, end, order, chunk, width, succ_ptr, mine, other):
    """Take over from `other` the times of the ops at positions begin to end of `order`, and the states saved there."""
    finish, _, arrival, saved = mine
    finish_there, _, arrival_there, saved_there = other
    for i in range(begin, end):
        v = order[i]
        finish[v] = finish_there[v]
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            arrival[e] = arrival_there[e]
    rows = min((end // chunk + 1) * width, len(saved))
    for j in range(begin // chunk * width, rows):
        saved[j] = saved_there[j]


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
    ptr, ops, _ = units
    for i in range(ptr[u], ptr[u + 1]):
        v = ops[i]
        undo[n_undo] = plan[3][v]
        n_undo += 1
        w = last_before(place[v], d, order, plan[0])
        unlink(v, plan)
        link(v, d, w, plan)
    return n_undo


@helper
def put_back(u, d, units, plan, undo, n_undo):
    """Undo :func:`relocate`, given the device the unit came from. Returns the number of notes left."""
    ptr, ops, _ = units
    for i in range(ptr[u + 1] - 1, ptr[u] - 1, -1):
        n_undo -= 1
        unlink(ops[i], plan)
        link(ops[i], d, undo[n_undo], plan)
    return n_undo


@helper
def touched_by(u, touched, units, graph, machine, place):
    """First position that a move of unit u changes: of its ops and, unless transfers are independent, of their producers."""
    ptr, ops, _ = units
    _, _, _, _, pred_ptr, pred_edge, producer = graph
    shared = machine[1] != PARALLEL or machine[3][0] > 0.0
    for i in range(ptr[u], ptr[u + 1]):
        v = ops[i]
        touched = place[v] if place[v] < touched else touched
        for j in range(pred_ptr[v], pred_ptr[v + 1] if shared else pred_ptr[v]):
            w = producer[pred_edge[j]]
            touched = place[w] if place[w] < touched else touched
    return touched


@helper
def bring(u, units, graph, machine, device, finish, arrival):
    """When the inputs of unit u arrive, transfers being independent."""
    ptr, ops, _ = units
    _, _, _, edge_bytes, pred_ptr, pred_edge, producer = graph
    k, _, _, _, latency, bandwidth, _, _ = machine
    for i in range(ptr[u], ptr[u + 1]):
        for j in range(pred_ptr[ops[i]], pred_ptr[ops[i] + 1]):
            e = pred_edge[j]
            link_there = device[producer[e]] * k + device[ops[i]]
            arrival[e] = finish[producer[e]] + latency[link_there] + edge_bytes[e] / bandwidth[link_there]


@helper
def copy_inputs(u, units, graph, mine, other):
    """Arrivals of the inputs of unit u, from `other`."""
    ptr, ops, _ = units
    for i in range(ptr[u], ptr[u + 1]):
        for j in range(graph[4][ops[i]], graph[4][ops[i] + 1]):
            mine[graph[5][j]] = other[graph[5][j]]


@helper
def critical(graph, plan, run, path):
    """Ops of the realised critical path, last first; returns their number. Of causes of one time the input counts."""
    _, _, _, _, pred_ptr, pred_edge, producer = graph
    finish, order, arrival, _ = run
    length = 0
    v = order[len(order) - 1]
    while v >= 0:
        path[length] = v
        length += 1
        cause = -1
        t = -1.0
        for i in range(pred_ptr[v], pred_ptr[v + 1]):
            if arrival[pred_edge[i]] > t:
                t = arrival[pred_edge[i]]
                cause = producer[pred_edge[i]]
        u = plan[3][v]
        v = u if u >= 0 and finish[u] > t else cause
    return length


@helper
def tails(graph, machine, plan, order, tail):
    """Longest way from each op's finish to the end, along inputs and along the sequences; transfers do not wait."""
    succ_ptr, consumer, _, edge_bytes, _, _, _ = graph
    k, _, _, _, latency, bandwidth, seconds, _ = machine
    device, _, after, _ = plan
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        d = device[v]
        longest = 0.0
        for e in range(succ_ptr[v], succ_ptr[v + 1]):
            w = consumer[e]
            there = d * k + device[w]
            x = latency[there] + edge_bytes[e] / bandwidth[there] + seconds[w * k + device[w]] + tail[w]
            longest = x if x > longest else longest
        w = after[v]
        if w >= 0 and seconds[w * k + d] + tail[w] > longest:
            longest = seconds[w * k + d] + tail[w]
        tail[v] = longest


@helper
def promise(v, d, unit, graph, machine, plan, place, run, tail):
    """How long the longest way through op v would be if v, and its unit, ran on device d; heads and tails as they are."""
    succ_ptr, consumer, _, edge_bytes, pred_ptr, pred_edge, producer = graph
    k, _, _, _, latency, bandwidth, seconds, _ = machine
    device, first, after, _ = plan
    finish, order, _, _ = run
    u = last_before(place[v], d, order, device)
    head = finish[u] if u >= 0 else 0.0
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        e = pred_edge[i]
        w = producer[e]
        there = (d if unit[w] == unit[v] else device[w]) * k + d
        x = finish[w] + latency[there] + edge_bytes[e] / bandwidth[there]
        head = x if x > head else head
    w = first[d] if u < 0 else after[u]
    longest = seconds[w * k + d] + tail[w] if w >= 0 else 0.0
    for e in range(succ_ptr[v], succ_ptr[v + 1]):
        w = consumer[e]
        q = d if unit[w] == unit[v] else device[w]
        x = latency[d * k + q] + edge_bytes[e] / bandwidth[d * k + q] + seconds[w * k + q] + tail[w]
        longest = x if x > longest else longest
    return head + seconds[v * k + d] + longest


@helper
def has_room(u, d, leaving, joining, room):
    """Whether device d may run unit u and has room for it, unit `leaving` having gone and `joining` come; -1 for none."""
    stride, allowed, held, peak, limit, used, top = room
    if allowed[u * stride + d] == 0:
        return False
    high = peak[u] if peak[u] > top[d] else top[d]
    more = held[u]
    if leaving >= 0:
        more -= held[leaving]
    if joining >= 0:
        more += held[joining]
        high = peak[joining] if peak[joining] > high else high
    return used[d] + more + high <= limit[d]


@helper
def account(u, source, d, room):
    """Unit u has moved from device `source` to d. What a device needed at most is not forgotten: room is never overrated."""
    _, _, held, peak, _, used, top = room
    used[source] -= held[u]
    used[d] += held[u]
    top[d] = peak[u] if peak[u] > top[d] else top[d]


@helper
def pick(random, path, length, graph):
    """An op of the critical path or, one time in four, a neighbour of one."""
    succ_ptr, consumer, _, _, pred_ptr, pred_edge, producer = graph
    v = path[draw(random, length)]
    inputs = pred_ptr[v + 1] - pred_ptr[v]
    edges = inputs + succ_ptr[v + 1] - succ_ptr[v]
    if draw(random, 4) > 0 or edges == 0:
        return v
    i = draw(random, edges)
    return producer[pred_edge[pred_ptr[v] + i]] if i < inputs else consumer[succ_ptr[v] + i - inputs]


@helper
def partner(random, i, d, order, device):
    """An op of device d near position i, -1 for none."""
    i += draw(random, NEIGHBOURS) - NEIGHBOURS // 2
    for step in range(NEIGHBOURS):
        j = i + step
        if 0 <= j < len(order) and device[order[j]] == d:
            return order[j]
    return -1


@helper
def companion(random, v, goal, graph, device):
    """An op linked to v that is not on device `goal`, -1 for none found."""
    succ_ptr, consumer, _, _, pred_ptr, pred_edge, producer = graph
    inputs = pred_ptr[v + 1] - pred_ptr[v]
    edges = inputs + succ_ptr[v + 1] - succ_ptr[v]
    if edges == 0:
        return -1
    i = draw(random, edges)
    w = producer[pred_edge[pred_ptr[v] + i]] if i < inputs else consumer[succ_ptr[v] + i - inputs]
    return w if device[w] != goal else -1


@helper
def earlier(random, v, graph, plan, place):
    """An op before v in its device's sequence that v could go before, its inputs being older, -1 for none."""
    _, _, _, _, pred_ptr, pred_edge, producer = graph
    before = plan[3]
    u = before[v]
    for _ in range(draw(random, 4)):
        if u >= 0 and before[u] >= 0:
            u = before[u]
    for i in range(pred_ptr[v], pred_ptr[v + 1]):
        if u >= 0 and place[producer[pred_edge[i]]] >= place[u]:
            return -1
    return u


@kernel
def improve(
    moves, eager, chunk, width,
    succ_ptr, consumer, edge_tensor, edge_bytes, pred_ptr, pred_edge, producer,
    k, model, in_port, send, latency, bandwidth, seconds, rest,
    ptr, ops, unit, stride, allowed, held, peak, limit, used, top,
    # workspace
    first, after, before, state, last, up, due, blocked, stamp, place, path, tail, undo,
    trial_finish, trial_order, trial_arrival, trial_saved, finish, arrival, saved,
    # read and written
    random, device, order,
    # result
    makespan,
):  # fmt: skip
    """Try so many moves on a plan, ``device`` and ``order``, keep those that make it no longer; `eager`: up to the first gain.

    Of a unit to another device, alone or with one it is linked to; of two units that change devices; of an op before another
    on its device. The unit is one of the critical path or next to one. ``makespan`` is the plan's, at first and at the end.
    Returns the number of moves tried; those that promise nothing are not counted, and cost little. A move costs
    O((ops + edges) k) at worst.
    """
    n = len(order)
    graph = (succ_ptr, consumer, edge_tensor, edge_bytes, pred_ptr, pred_edge, producer)
    machine = (k, model, in_port, send, latency, bandwidth, seconds, rest)
    plan = (device, first, after, before)
    run = (finish, order, arrival, saved)
    trial = (trial_finish, trial_order, trial_arrival, trial_saved)
    desk = (state, last, up, due, blocked, stamp)
    units = (ptr, ops, unit)
    room = (stride, allowed, held, peak, limit, used, top)
    for d in range(k):
        first[d] = -1
        last[d] = -1
    for i in range(n):
        v = order[i]
        place[v] = 0
        stamp[v] = -1
        link(v, device[v], last[device[v]], plan)
        last[device[v]] = v
    for j in range(width):
        saved[j] = -1.0 if k <= j < 2 * k else 0.0
    best = replay(0, NEVER, 0, chunk, width, graph, machine, plan, place, run, desk)[0]
    makespan[0] = best
    makespan[1] = best
    if best == NEVER:  # the order contradicts the edges
        return 0
    copy_times(0, n, order, chunk, width, succ_ptr, trial, run)
    for i in range(n):
        place[order[i]] = i
    length = critical(graph, plan, run, path)
    tails(graph, machine, plan, order, tail)
    independent = model == PARALLEL and send[0] == 0.0
    number = 0
    for _ in range(30 * moves):
        if number == moves:
            break
        v = pick(random, path, length, graph)
        u = unit[v]
        source = device[v]
        other = -1
        other_source = -1
        other_goal = -1
        goal = -1
        touched = n
        notes = 0
        kind = draw(random, 8)
        if kind < 6:
            if k == 1:
                continue
            goal = draw(random, k - 1)
            goal += goal >= source
            if kind < 4:
                if not has_room(u, goal, -1, -1, room):
                    continue
                if promise(v, goal, unit, graph, machine, plan, place, run, tail) > best:
                    continue
            elif kind == 4:
                w = companion(random, v, goal, graph, device)
                if w < 0 or unit[w] == u:
                    continue
                other = unit[w]
                other_goal = goal
                if not has_room(u, goal, -1, other, room) or not has_room(other, goal, -1, u, room):
                    continue
            else:
                w = partner(random, place[v], goal, order, device)
                if w < 0:
                    continue
                other = unit[w]
                other_goal = source
                if not has_room(u, goal, other, -1, room) or not has_room(other, source, u, -1, room):
                    continue
            if other >= 0:
                other_source = device[ops[ptr[other]]]
                touched = touched_by(other, touched, units, graph, machine, place)
            touched = touched_by(u, touched, units, graph, machine, place)
            notes = relocate(u, goal, units, plan, place, order, undo, notes)
            if other >= 0:
                notes = relocate(other, other_goal, units, plan, place, order, undo, notes)
            if independent:
                bring(u, units, graph, machine, device, finish, trial_arrival)
                if other >= 0:
                    bring(other, units, graph, machine, device, finish, trial_arrival)
        else:
            w = earlier(random, v, graph, plan, place)
            if w < 0:
                continue
            undo[0] = before[v]
            touched = place[w]
            unlink(v, plan)
            link(v, source, before[w], plan)
        number += 1
        length_now, end = replay(touched, best, number, chunk, width, graph, machine, plan, place, trial, desk)
        begin = touched // chunk * chunk
        if length_now <= best:
            copy_times(begin, n, trial_order, chunk, width, succ_ptr, run, trial)
            for i in range(begin, n):
                order[i] = trial_order[i]
                place[order[i]] = i
            if goal >= 0:
                copy_inputs(u, units, graph, arrival, trial_arrival)
                account(u, source, goal, room)
                if other >= 0:
                    copy_inputs(other, units, graph, arrival, trial_arrival)
                    account(other, other_source, other_goal, room)
            improved = length_now < best
            best = length_now
            if improved and eager != 0:
                break
            length = critical(graph, plan, run, path)
            tails(graph, machine, plan, order, tail)
            continue
        if goal >= 0:
            if other >= 0:
                notes = put_back(other, other_source, units, plan, undo, notes)
            put_back(u, source, units, plan, undo, notes)
            copy_inputs(u, units, graph, trial_arrival, arrival)
            if other >= 0:
                copy_inputs(other, units, graph, trial_arrival, arrival)
        else:
            unlink(v, plan)
            link(v, source, undo[0], plan)
        copy_times(begin, end, trial_order, chunk, width, succ_ptr, trial, run)
    makespan[1] = best
    return number
