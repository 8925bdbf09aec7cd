"""Place unit by unit, an op or a whole group each, where there is room: the partitioners that plan no times."""

from __future__ import annotations

from math import inf

from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.look_up import assign, exec_time, fits

# ----------------------------------------- first fit, round the devices: `batch-split`, `contiguous`, `layers` and `round-robin`


@kernel
def first_fit(needs, capacity, choices, queue, target, sequence):
    """Put each unit of the queue on the first device with room, going round `sequence` from position target[i].

    A target of -1 is the position after the one last used. A score is the number of devices passed over. Returns how
    many units were placed. O(n) while devices have room, O(n k) at worst or when traced.
    """
    k = len(sequence)
    traced = len(choices.score) > 0
    last = -1
    for i in range(len(queue)):
        u = queue[i]
        choices.order[i] = u
        begin = target[i]
        if begin < 0:
            begin = last + 1
        found = -1
        for step in range(k):
            at = (begin + step) % k
            d = sequence[at]
            if fits(u, d, needs, capacity):
                if traced:
                    choices.score[i * k + d] = step
                if found < 0:
                    found = at
                    choices.reason[i] = min(step, 1)
                    if not traced:
                        break
        if found < 0:
            return i
        last = found
        assign(u, sequence[found], needs, capacity, choices)
    return len(queue)


# -------------------------------------------------------------------- devices drawn by weight: `hash` and `random`


@kernel
def draw(needs, capacity, choices, number, weight):
    """Put unit u on the device with room where the running sum of weights first exceeds number[u] of their total.

    Returns how many units were placed. O(n k).
    """
    k = len(weight)
    for u in range(len(number)):
        choices.order[u] = u
        total = 0.0
        for d in range(k):
            if fits(u, d, needs, capacity):
                total += weight[d]
        goal = number[u] * total
        below = 0.0
        chosen = -1
        for d in range(k):
            if fits(u, d, needs, capacity):
                if chosen < 0 or below <= goal:
                    chosen = d
                below += weight[d]
                if len(choices.score) > 0:
                    choices.score[u * k + d] = weight[d] / total
        if chosen < 0:
            return u
        assign(u, chosen, needs, capacity, choices)
    return len(number)


# -------------------------------------------------------------------- in order, on one device until it has its share: `m-topo`


@kernel
def in_shares(needs, capacity, choices, own, share, counting, load):
    """Fill device after device; returns how many units were placed.

    The device that is being filled has its share when ``load[d] + own[u]`` would exceed `share`, or, `counting`, when all units
    so far have `share` for it and for each device before. It is left for good then, and when it has no room for a unit it may
    run. What it may not run, and what the last one has no room for, goes to the first device with room behind it, round the
    cluster. A score is the number of devices passed over. Workspace: ``load`` (k,). O(n + k) while devices have room.
    """
    n = len(own)
    k = len(load)
    traced = len(choices.score) > 0
    for d in range(k):
        load[d] = 0.0
    filling = 0
    total = 0.0
    for u in range(n):
        choices.order[u] = u
        while filling < k - 1 and needs.allowed[u * needs.stride + filling] != 0:
            enough = total >= share * (filling + 1) if counting != 0 else load[filling] + own[u] > share
            if not enough and fits(u, filling, needs, capacity):
                break
            filling += 1
        found = -1
        for step in range(k):
            d = (filling + step) % k
            if fits(u, d, needs, capacity):
                if traced:
                    choices.score[u * k + d] = step
                if found < 0:
                    found = d
                    choices.reason[u] = min(step, 1)
                    if not traced:
                        break
        if found < 0:
            return u
        load[found] += own[u]
        total += own[u]
        assign(u, found, needs, capacity, choices)
    return n


# -------------------------------------------------------------------- parts of a cut on their devices: `min-cut`


@inlined
def weigh(u, place, home, links, near):
    """``near[d]``: weight of u's edges to device d, units not placed yet being at home. Returns the weight of all."""
    total = 0.0
    for d in range(len(near)):
        near[d] = 0.0
    for i in range(links.ptr[u], links.ptr[u + 1]):
        w = links.neighbour[i]
        near[place[w] if place[w] >= 0 else home[w]] += links.weight[i]
        total += links.weight[i]
    return total


@kernel
def settle_parts(needs, capacity, choices, home, links, near):
    """Place first every unit that fits on the device of its part, ``home``, then the others; ties: the lower device.

    A score is the weight of the unit's edges to other devices, units not placed yet being at home. `near` (k) is
    workspace. Returns how many units were placed. O(n + edges), O(n k + edges) when traced.
    """
    k = len(near)
    traced = len(choices.score) > 0
    placed = 0
    for others in range(2):
        for u in range(len(home)):
            if choices.place[u] >= 0:
                continue
            at_home = fits(u, home[u], needs, capacity)
            if others == 0 and not at_home:
                continue
            choices.order[placed] = u
            choices.reason[placed] = 0 if at_home else 1
            best = home[u] if at_home else -1
            if traced or not at_home:
                total = weigh(u, choices.place, home, links, near)
                for d in range(k):
                    if fits(u, d, needs, capacity):
                        if traced:
                            choices.score[placed * k + d] = total - near[d]
                        if not at_home and (best < 0 or near[d] > near[best]):
                            best = d
            if best < 0:
                return placed
            assign(u, best, needs, capacity, choices)
            placed += 1
    return placed


# -------------------------------------------------------------------- traffic: seconds to bring a unit's inputs to each device


@kernel
def unit_inputs(units, pred, tensor_bytes, read, ptr, source, size):
    """List the tensors that each unit reads from other units, each once: from ``source[ptr[u]:…]``, ``size`` bytes each.

    `read` (tensors, zeros) is workspace. Returns their number. O(ops + edges).
    """
    n = 0
    for u in range(len(units.ptr) - 1):
        ptr[u] = n
        for i in range(units.ptr[u], units.ptr[u + 1]):
            for j in range(pred.ptr[units.ops[i]], pred.ptr[units.ops[i] + 1]):
                e = pred.edge[j]
                t = pred.tensor[e]
                if units.of[pred.producer[e]] != u and read[t] != u + 1:
                    read[t] = u + 1
                    source[n] = units.of[pred.producer[e]]
                    size[n] = tensor_bytes[t]
                    n += 1
    ptr[len(units.ptr) - 1] = n
    return n


@inlined
def inward(u, place, inputs, traffic):
    """``traffic[d]``: seconds that the tensors from placed units take to device d."""
    k = len(traffic)
    for d in range(k):
        traffic[d] = 0.0
    for i in range(inputs.ptr[u], inputs.ptr[u + 1]):
        q = place[inputs.source[i]]
        if q >= 0:
            for d in range(k):
                traffic[d] += inputs.latency[q * k + d] + inputs.bytes[i] * inputs.slowness[q * k + d]


@helper
def outward(u, place, units, succ, inputs, work):
    """Add to ``work.traffic[d]`` what the unit's tensors take from d to the devices of placed units, each once per device."""
    k = len(work.traffic)
    for i in range(units.ptr[u], units.ptr[u + 1]):
        for e in range(succ.ptr[units.ops[i]], succ.ptr[units.ops[i] + 1]):
            q = place[units.of[succ.consumer[e]]]
            if q >= 0 and work.sent[q] != succ.tensor[e] + 1:
                work.sent[q] = succ.tensor[e] + 1
                for d in range(k):
                    work.traffic[d] += inputs.latency[d * k + q] + succ.bytes[e] * inputs.slowness[d * k + q]


@inlined
def relative(value, largest):
    """value / largest, at least 1e-6: a factor of 0 would make all devices equal."""
    share = value / largest if largest > 0.0 else 0.0
    return share if share > 1e-6 else 1e-6


# -------------------------------------------------------------------- memory × importance × traffic × execution time: `mite`


@kernel
def mite(needs, capacity, choices, units, inputs, succ, times, both, queue, importance, work):
    """Put each unit of the queue on the device of least score: ``placelab.strategies.partitioning.mite``.

    `both` 1: traffic with successors counts, too. Returns how many units were placed. O((n + edges) k).
    """
    k = len(capacity.limit)
    for i in range(len(queue)):
        u = queue[i]
        choices.order[i] = u
        inward(u, choices.place, inputs, work.traffic)
        if both != 0:
            outward(u, choices.place, units, succ, inputs, work)
        most_traffic = 0.0
        longest = 0.0
        for d in range(k):
            work.took[d] = -1.0
            if fits(u, d, needs, capacity):
                work.took[d] = exec_time(u, d, times)
                longest = max(longest, work.took[d])
                most_traffic = max(most_traffic, work.traffic[d])
        best = -1
        least = 0.0
        for d in range(k):
            if work.took[d] < 0.0:
                continue
            memory = relative(capacity.used[d] + capacity.top[d], capacity.limit[d])
            unimportance = relative(1.0 - importance.rank[i] * importance.speed[d], 1.0)
            s = memory * unimportance * relative(work.traffic[d], most_traffic) * relative(work.took[d], longest)
            if len(choices.score) > 0:
                choices.score[i * k + d] = s
            if best < 0 or s < least or (s == least and work.took[d] < work.took[best]):
                best = d
                least = s
        if best < 0:
            return i
        assign(u, best, needs, capacity, choices)
    return len(queue)


# -------------------------------------------------------------------- traffic × execution time along a depth-first search: `dfs`


@helper
def sort_children(by_rank, pred, succ, search):
    """Sort the consumers of each op into ``search.child[succ.ptr[v]:succ.ptr[v + 1]]``, the lowest rank first."""
    n_ops = len(by_rank)
    for v in range(n_ops):
        search.filled[v] = succ.ptr[v]
    for i in range(n_ops):
        v = by_rank[n_ops - 1 - i]
        for j in range(pred.ptr[v], pred.ptr[v + 1]):
            u = pred.producer[pred.edge[j]]
            search.child[search.filled[u]] = v
            search.filled[u] += 1


@inlined
def least_score(u, row, needs, capacity, times, whole_load, score, work):
    """Device of least traffic × time for unit u, ties by time, then number; -1 where none has room. Scores go to `row`."""
    k = len(capacity.limit)
    most_traffic = 0.0
    longest = 0.0
    for d in range(k):
        work.took[d] = -1.0
        if fits(u, d, needs, capacity):
            work.took[d] = (
                work.load[d] * whole_load + times.cost[u * times.columns + times.column[d]]
            ) / times.divisor[d]
            longest = max(longest, work.took[d])
            most_traffic = max(most_traffic, work.traffic[d])
    best = -1
    least = 0.0
    for d in range(k):
        if work.took[d] < 0.0:
            continue
        value = relative(work.traffic[d], most_traffic) * relative(work.took[d], longest)
        if len(score) > 0:
            score[row * k + d] = value
        if best < 0 or value < least or (value == least and work.took[d] < work.took[best]):
            best = d
            least = value
    return best


@kernel
def dfs(needs, capacity, choices, units, inputs, pred, succ, times, by_rank, whole_load, search, work):
    """Put each unit, when the search meets its first op, on the device of least score: ``placelab.strategies.partitioning.dfs``.

    `by_rank`: ops by descending total rank. `whole_load` 1: execution time is the device's load with the unit, 0: the
    unit's own. Returns how many units were placed. O((n + edges) k).
    """
    sort_children(by_rank, pred, succ, search)
    placed = 0
    for s in range(len(by_rank)):
        if pred.ptr[by_rank[s]] != pred.ptr[by_rank[s] + 1]:
            continue
        search.stack[0] = by_rank[s]
        size = 1
        while size > 0:
            size -= 1
            v = search.stack[size]
            if search.visited[v] != 0:
                continue
            search.visited[v] = 1
            for j in range(succ.ptr[v], succ.ptr[v + 1]):
                search.stack[size] = search.child[j]
                size += 1
            u = units.of[v]
            if choices.place[u] >= 0:
                continue
            choices.order[placed] = u
            inward(u, choices.place, inputs, work.traffic)
            best = least_score(u, placed, needs, capacity, times, whole_load, choices.score, work)
            if best < 0:
                return placed
            work.load[best] += times.cost[u * times.columns + times.column[best]]
            assign(u, best, needs, capacity, choices)
            placed += 1
    return placed


# ------------------------------------- the longest path on the fastest devices, all else where it is done first: `critical-path`


@helper
def longest_path(done, pred, succ, path):
    """Ops of the path of largest ``done`` (down + compute), last first, in path[:length]; returns the length. Ties: lowest op."""
    last = -1
    for v in range(len(done)):
        if succ.ptr[v] == succ.ptr[v + 1] and (last < 0 or done[v] > done[last]):
            last = v
    length = 0
    while last >= 0:
        path[length] = last
        length += 1
        before = -1
        for i in range(pred.ptr[last], pred.ptr[last + 1]):
            u = pred.producer[pred.edge[i]]
            if before < 0 or done[u] > done[before]:
                before = u
        last = before
    return length


@helper
def home(n_path, path, unit, sequence, needs, capacity, seen):
    """First device of `sequence` that may run every unit of the path and has room for all of them, or -1."""
    total = 0.0
    high = 0.0
    for i in range(n_path):
        u = unit[path[i]]
        if seen[u] == 0:
            seen[u] = 1
            total += needs.held[u]
            if needs.peak[u] > high:
                high = needs.peak[u]
    for i in range(n_path):
        seen[unit[path[i]]] = 0
    for j in range(len(sequence)):
        d = sequence[j]
        if total + high > capacity.limit[d]:
            continue
        for i in range(n_path):
            if needs.allowed[unit[path[i]] * needs.stride + d] == 0:
                break
        else:
            return d
    return -1


@inlined
def time_with(u, d, times, load):
    """Seconds that device d takes for all its units and u."""
    return (load[d] + times.cost[u * times.columns + times.column[d]]) / times.divisor[d]


@inlined
def place_unit(u, d, needs, capacity, choices, times, load):
    """Place unit u on d and add it to the load there."""
    load[d] += times.cost[u * times.columns + times.column[d]]
    assign(u, d, needs, capacity, choices)


@helper
def place_path(n_path, path, unit, sequence, needs, capacity, choices, times, load, chosen):
    """Place the units of the path from its source on, on device `chosen`, or where that is -1 on the first with room.

    Returns (how many were placed, whether all were).
    """
    k = len(sequence)
    traced = len(choices.score) > 0
    placed = 0
    for i in range(n_path):
        u = unit[path[n_path - 1 - i]]
        if choices.place[u] >= 0:
            continue
        choices.order[placed] = u
        best = chosen
        if chosen < 0:
            choices.reason[placed] = 1
        for j in range(k):
            d = sequence[j]
            if (best < 0 or traced) and fits(u, d, needs, capacity):
                if best < 0:
                    best = d
                if traced:
                    choices.score[placed * k + d] = time_with(u, d, times, load)
        if best < 0:
            return placed, False
        place_unit(u, best, needs, capacity, choices, times, load)
        placed += 1
    return placed, True


@kernel
def critical_path(needs, capacity, choices, unit, pred, succ, times, done, sequence, queue, work):
    """Place the longest path from its source on, then the units of `queue`: ``placelab.strategies.partitioning.critical_path``.

    `sequence`: devices, fastest first. Returns how many units were placed. O(n k + edges).
    """
    n_path = longest_path(done, pred, succ, work.path)
    chosen = home(n_path, work.path, unit, sequence, needs, capacity, work.seen)
    placed, whole = place_path(n_path, work.path, unit, sequence, needs, capacity, choices, times, work.load, chosen)
    if not whole:
        return placed
    k = len(sequence)
    traced = len(choices.score) > 0
    for i in range(len(queue)):
        u = queue[i]
        if choices.place[u] >= 0:
            continue
        choices.order[placed] = u
        choices.reason[placed] = 2
        best = -1
        least = inf  # no branch for the first device: the processor would guess it wrong as often as right
        for d in range(k):
            if fits(u, d, needs, capacity):
                done_at = time_with(u, d, times, work.load)
                if traced:
                    choices.score[placed * k + d] = done_at
                if done_at < least:
                    best = d
                    least = done_at
        if best < 0:
            return placed
        place_unit(u, best, needs, capacity, choices, times, work.load)
        placed += 1
    return placed
