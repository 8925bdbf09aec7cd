"""Search for a better plan next to a given one, move by move: `portfolio`.

Each move is timed from the first op it changes on (:mod:`placelab.kernels.search.replaying`). The place of an op is its
position in the order.
"""

from placelab.kernels.codes import PARALLEL
from placelab.kernels.jit import helper, kernel
from placelab.kernels.search.moving import (
    account,
    bring,
    copy_inputs,
    have_room,
    last_before,
    last_of,
    link,
    put_back,
    relocate,
    touched_by,
    unlink,
)
from placelab.kernels.search.replaying import NEVER, copy_times, replay

NEIGHBOURS = 64  # positions around an op among which it looks for one to change places with
DRAWS = 3  # devices of which an op that moves alone goes to the most promising one
SIZES = 5  # clusters of ops that move together have up to 2, 4, … 2 ** SIZES units


@helper
def draw(random, n):
    """A number below n from the minimal standard generator (Park, Miller 1988)."""
    random[0] = random[0] * 48271 % 2147483647
    return random[0] % n


@helper
def critical(pred, plan, run, path):
    """Find the ops of the realised critical path, last first; returns their number. Of causes of one time the input counts."""
    finish, order, arrival, _, _, _ = run
    length = 0
    v = order[len(order) - 1]
    while v >= 0:
        path[length] = v
        length += 1
        cause = -1
        t = -1.0
        for i in range(pred.ptr[v], pred.ptr[v + 1]):
            if arrival[pred.edge[i]] > t:
                t = arrival[pred.edge[i]]
                cause = pred.producer[pred.edge[i]]
        u = plan.before[v]
        v = u if u >= 0 and finish[u] > t else cause
    return length


@helper
def tails(settled, succ, machine, lengths, plan, place, order, tail):
    """Find the longest way from each op's finish to the end, along inputs and along the sequences; transfers do not wait.

    Ops that were behind position `settled` keep theirs: nothing has changed after them.
    """
    k = len(machine.send)
    seconds = lengths.seconds
    device, _, after, _ = plan
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        if place[v] > settled:
            continue
        d = device[v]
        longest = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            there = d * k + device[w]
            x = machine.latency[there] + succ.bytes[e] / machine.bandwidth[there] + seconds[w * k + device[w]] + tail[w]
            longest = x if x > longest else longest
        w = after[v]
        if w >= 0 and seconds[w * k + d] + tail[w] > longest:
            longest = seconds[w * k + d] + tail[w]
        tail[v] = longest


@helper
def promise(v, d, unit, pred, succ, machine, lengths, plan, place, run, tail):
    """How long the longest way through op v would be if v, and its unit, ran on device d; heads and tails as they are."""
    k = len(machine.send)
    seconds = lengths.seconds
    device, first, after, _ = plan
    finish, order, _, _, _, _ = run
    u = last_before(place[v], d, order, device)
    head = finish[u] if u >= 0 else 0.0
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        w = pred.producer[e]
        there = (d if unit[w] == unit[v] else device[w]) * k + d
        x = finish[w] + machine.latency[there] + pred.bytes[e] / machine.bandwidth[there]
        head = x if x > head else head
    w = first[d] if u < 0 else after[u]
    longest = seconds[w * k + d] + tail[w] if w >= 0 else 0.0
    for e in range(succ.ptr[v], succ.ptr[v + 1]):
        w = succ.consumer[e]
        q = d if unit[w] == unit[v] else device[w]
        x = machine.latency[d * k + q] + succ.bytes[e] / machine.bandwidth[d * k + q] + seconds[w * k + q] + tail[w]
        longest = x if x > longest else longest
    return head + seconds[v * k + d] + longest


@helper
def neighbour(random, v, pred, succ):
    """A producer or consumer of op v, -1 where there is none."""
    inputs = pred.ptr[v + 1] - pred.ptr[v]
    edges = inputs + succ.ptr[v + 1] - succ.ptr[v]
    if edges == 0:
        return -1
    i = draw(random, edges)
    return pred.producer[pred.edge[pred.ptr[v] + i]] if i < inputs else succ.consumer[succ.ptr[v] + i - inputs]


@helper
def pick(random, path, length, pred, succ):
    """An op of the critical path or, one time in four, a neighbour of one."""
    v = path[draw(random, length)]
    w = neighbour(random, v, pred, succ) if draw(random, 4) == 0 else -1
    return w if w >= 0 else v


@helper
def goal_for(random, v, source, k, pred, succ, device):
    """A device other than `source`, one time in two that of a neighbour of v where that is another."""
    w = neighbour(random, v, pred, succ) if draw(random, 2) == 0 else -1
    if w >= 0 and device[w] != source:
        return device[w]
    goal = draw(random, k - 1)
    return goal + 1 if goal >= source else goal


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
def gather(random, goal, most, way, units, pred, succ, device, moved):
    """Let up to `most` units join ``moved[0]``, each by a heavy edge of one that has joined.

    Of the edges of a random op that joined the heaviest counts, each edge being overlooked one time in two. `way` 0: any edges,
    to units that are not on device `goal`; 1: inputs only, 2: consumers only, to units on the same device. Returns how many
    they are.
    """
    count = 1
    for _ in range(2 * most):
        if count == most:
            break
        u = moved[draw(random, count)]
        v = units.ops[units.ptr[u] + draw(random, units.ptr[u + 1] - units.ptr[u])]
        heaviest = -1.0
        joins = -1
        inputs = pred.ptr[v + 1] - pred.ptr[v]
        for i in range(inputs if way == 2 else 0, inputs if way == 1 else inputs + succ.ptr[v + 1] - succ.ptr[v]):
            if i < inputs:
                w = pred.producer[pred.edge[pred.ptr[v] + i]]
                size = pred.bytes[pred.edge[pred.ptr[v] + i]]
            else:
                w = succ.consumer[succ.ptr[v] + i - inputs]
                size = succ.bytes[succ.ptr[v] + i - inputs]
            may = device[w] != goal if way == 0 else device[w] == device[v]
            if may and size > heaviest and draw(random, 2) > 0:
                known = False
                for j in range(count):
                    known = known or moved[j] == units.of[w]
                if not known:
                    heaviest = size
                    joins = units.of[w]
        if joins >= 0:
            moved[count] = joins
            count += 1
    return count


@helper
def earlier(random, v, pred, plan, place):
    """An op before v in its device's sequence that v could go before, its inputs being older, -1 for none."""
    before = plan.before
    u = before[v]
    for _ in range(draw(random, 4)):
        if u >= 0 and before[u] >= 0:
            u = before[u]
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        if u >= 0 and place[pred.producer[pred.edge[i]]] >= place[u]:
            return -1
    return u


@kernel
def improve(
    moves, slack, eager, pred, succ, machine, lengths, units, needs, capacity, plan, place, trial, run, pending, paths, moved,
    random, makespan
):  # fmt: skip
    """Try so many moves on a plan, ``plan.device`` and ``run.order``, which become the shortest plan that is met.

    Moves are of a unit to another device, alone or with a cluster of units that heavy edges join, one time in three each those
    around it, before it and after it; of two units that change devices; of an op before another on its device. The unit is one
    of the critical path or next to one; of a few devices it goes alone to the most promising. A move is kept if the plan is
    then at most `slack` longer, relative, than the shortest so far. `eager`: stop at the first gain.
    ``makespan`` is the plan's, at first and at the end. Returns the number of moves tried; those that promise nothing are not
    counted, and cost little. A move costs O((ops + edges) k) at worst.
    """
    n = len(run.order)
    k = len(machine.send)
    order = run.order
    device = plan.device
    unit = units.of
    path = paths.path
    undo = paths.undo
    for d in range(k):
        plan.first[d] = -1
        pending.last[d] = -1
    for i in range(n):
        v = order[i]
        place[v] = 0
        pending.stamp[v] = -1
        link(v, device[v], pending.last[device[v]], plan)
        pending.last[device[v]] = v
    for j in range(run.width):
        run.saved[j] = -1.0 if k <= j < 2 * k else 0.0
    best = replay(0, n, NEVER, 0, pred, succ, machine, lengths, plan, place, paths.tail, run, pending)[0]
    makespan[0] = best
    makespan[1] = best
    if best == NEVER:  # the order contradicts the edges
        return 0
    copy_times(0, n, order, succ, trial, run)
    for i in range(n):
        place[order[i]] = i
        trial.order[i] = order[i]
        moved.device[i] = device[i]
        moved.order[i] = order[i]
    length = critical(pred, plan, run, path)
    tails(n, succ, machine, lengths, plan, place, order, paths.tail)
    independent = machine.contention == PARALLEL and machine.send[0] == 0.0
    limit = best * (1.0 + slack)
    number = 0
    for _ in range(10 * moves):
        if number == moves:
            break
        v = pick(random, path, length, pred, succ)
        u = unit[v]
        source = device[v]
        touched = n
        settled = place[v]
        notes = 0
        count = 0
        kind = draw(random, 8)
        if kind < 6:
            if k == 1:
                continue
            goal = goal_for(random, v, source, k, pred, succ, device)
            count = 1
            moved.unit[0] = u
            leaving = -1
            if kind < 3:
                least = promise(v, goal, unit, pred, succ, machine, lengths, plan, place, run, paths.tail)
                for _ in range(DRAWS - 1 if k > 2 else 0):
                    d = goal_for(random, v, source, k, pred, succ, device)
                    there = promise(v, d, unit, pred, succ, machine, lengths, plan, place, run, paths.tail)
                    if there < least:
                        least = there
                        goal = d
                if least > limit:
                    continue
            elif kind < 5:
                most = 2 << draw(random, SIZES)
                count = gather(random, goal, most, draw(random, 3), units, pred, succ, device, moved.unit)
                if count == 1:
                    continue
            else:
                w = partner(random, place[v], goal, order, device)
                if w < 0:
                    continue
                leaving = unit[w]
            if not have_room(moved.unit, 0, count, goal, leaving, needs, capacity):
                continue
            for i in range(count):
                moved.goal[i] = goal
            if leaving >= 0:
                moved.unit[1] = leaving
                moved.goal[1] = source
                count = 2
                if not have_room(moved.unit, 1, 2, source, u, needs, capacity):
                    continue
            for i in range(count):
                moved.source[i] = device[units.ops[units.ptr[moved.unit[i]]]]
                touched = touched_by(moved.unit[i], touched, units, pred, machine, place)
                settled = last_of(moved.unit[i], settled, units, place)
            for i in range(count):
                notes = relocate(moved.unit[i], moved.goal[i], units, plan, place, order, undo, notes)
            for i in range(count if independent else 0):
                bring(moved.unit[i], units, pred, machine, device, run.finish, trial.arrival)
        else:
            w = earlier(random, v, pred, plan, place)
            if w < 0:
                continue
            undo[0] = plan.before[v]
            touched = place[w]
            unlink(v, plan)
            link(v, source, plan.before[w], plan)
        number += 1
        length_now, begin, end = replay(
            touched, settled, limit, number, pred, succ, machine, lengths, plan, place, paths.tail, trial, pending
        )
        if length_now <= limit:
            copy_times(begin, n, trial.order, succ, run, trial)
            for i in range(begin, n):
                order[i] = trial.order[i]
            length = critical(pred, plan, run, path)
            tails(settled, succ, machine, lengths, plan, place, order, paths.tail)
            for i in range(begin, n):
                place[order[i]] = i
            for i in range(count):
                copy_inputs(moved.unit[i], units, pred, run.arrival, trial.arrival)
                account(moved.unit[i], moved.source[i], moved.goal[i], needs, capacity)
            improved = length_now < best
            if length_now <= best:
                best = length_now
                limit = best * (1.0 + slack)
                for i in range(n):
                    moved.device[i] = device[i]
                    moved.order[i] = order[i]
            if improved and eager != 0:
                break
            continue
        for i in range(count - 1, -1, -1):
            notes = put_back(moved.unit[i], moved.source[i], units, plan, undo, notes)
            copy_inputs(moved.unit[i], units, pred, trial.arrival, run.arrival)
        if count == 0:
            unlink(v, plan)
            link(v, source, undo[0], plan)
        copy_times(begin, end, trial.order, succ, trial, run)
        for i in range(begin, end):
            trial.order[i] = order[i]
    makespan[1] = best
    for i in range(n):
        device[i] = moved.device[i]
        order[i] = moved.order[i]
    return number
