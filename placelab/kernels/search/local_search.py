"""Search for a better plan next to a given one, move by move: `portfolio`.

:func:`improve` is the search; the functions before it are its moves, in the order in which it tries them, and what they look at.
Each move is timed from the first op it changes on (:mod:`placelab.kernels.search.replaying`). The place of an op is its position
in the order.
"""

from placelab.kernels.blocks import PARALLEL
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.search.moving import (
    account,
    bring,
    have_room,
    last_before,
    last_of,
    link,
    put_back,
    relocate,
    touched_by,
    unlink,
)
from placelab.kernels.search.replaying import NEVER, changed_tails, copy_times, replay, tails
from placelab.kernels.search.rippling import follow, settle

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
def promise(v, d, search):
    """How long the longest way through op v would be if v, and its unit, ran on device d; heads and tails as they are."""
    pred = search.pred
    succ = search.succ
    machine = search.machine
    unit = search.units.of
    tail = search.paths.tail
    k = len(machine.send)
    seconds = search.lengths.seconds
    device, first, after, _ = search.plan
    finish, order, _, _, _, _ = search.run
    u = last_before(search.place[v], d, order, device)
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
def gather(goal, search):
    """Let up to 2, 4, … units join the first one that moves, each by a heavy edge of one that has joined. Returns their number.

    Of the edges of a random op that joined the heaviest counts, each edge being overlooked one time in two. One time in three
    each these are any edges, to units that are not on device `goal`; inputs; or consumers, to units on the same device.
    """
    random = search.random
    units = search.units
    pred = search.pred
    succ = search.succ
    device = search.plan.device
    moved = search.moved.unit
    most = 2 << draw(random, SIZES)
    way = draw(random, 3)
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


@inlined
def alone(v, limit, search):
    """Choose to move the unit of v to the most promising of a few devices. Returns how many units move: 1, or 0."""
    k = len(search.machine.send)
    source = search.plan.device[v]
    goal = goal_for(search.random, v, source, k, search.pred, search.succ, search.plan.device)
    least = promise(v, goal, search)
    for _ in range(DRAWS - 1 if k > 2 else 0):
        d = goal_for(search.random, v, source, k, search.pred, search.succ, search.plan.device)
        there = promise(v, d, search)
        if there < least:
            least = there
            goal = d
    search.moved.unit[0] = search.units.of[v]
    search.moved.goal[0] = goal
    if least > limit or not have_room(search.moved.unit, 0, 1, goal, -1, search.needs, search.capacity):
        return 0
    return 1


@inlined
def together(v, search):
    """Choose to move the unit of v with others that heavy edges join to it. Returns how many units move: 0 for none."""
    goal = goal_for(
        search.random, v, search.plan.device[v], len(search.machine.send), search.pred, search.succ, search.plan.device
    )
    search.moved.unit[0] = search.units.of[v]
    count = gather(goal, search)
    if count == 1 or not have_room(search.moved.unit, 0, count, goal, -1, search.needs, search.capacity):
        return 0
    for i in range(count):
        search.moved.goal[i] = goal
    return count


@inlined
def exchanged(v, search):
    """Choose to let the units of v and of an op near it change devices. Returns how many units move: 2, or 0."""
    units = search.moved.unit
    source = search.plan.device[v]
    goal = goal_for(search.random, v, source, len(search.machine.send), search.pred, search.succ, search.plan.device)
    w = partner(search.random, search.place[v], goal, search.run.order, search.plan.device)
    if w < 0:
        return 0
    units[0] = search.units.of[v]
    units[1] = search.units.of[w]
    search.moved.goal[0] = goal
    search.moved.goal[1] = source
    if not have_room(units, 0, 1, goal, units[1], search.needs, search.capacity):
        return 0
    return 2 if have_room(units, 1, 2, source, units[0], search.needs, search.capacity) else 0


@inlined
def relocate_all(count, search):
    """Move the chosen units. Returns the first and the last position of what changes."""
    moved = search.moved
    first = len(search.place)
    last = -1
    notes = 0
    for i in range(count):
        moved.source[i] = search.plan.device[search.units.ops[search.units.ptr[moved.unit[i]]]]
        first = touched_by(moved.unit[i], first, search.units, search.pred, search.machine, search.place)
        last = last_of(moved.unit[i], last, search.units, search.place)
    for i in range(count):
        notes = relocate(
            moved.unit[i],
            moved.goal[i],
            search.units,
            search.plan,
            search.place,
            search.run.order,
            search.paths.undo,
            notes,
        )
    return first, last


@inlined
def brought_forward(v, search):
    """Move op v before an earlier one of its device. Returns that one's position: -1 if there is none."""
    w = earlier(search.random, v, search.pred, search.plan, search.place)
    if w < 0:
        return -1
    search.paths.undo[0] = search.plan.before[v]
    unlink(v, search.plan)
    link(v, search.plan.device[v], search.plan.before[w], search.plan)
    return search.place[w]


@inlined
def put_all_back(v, count, search):
    """Undo the move of `count` units, or of op v if they are none."""
    moved = search.moved
    notes = 0
    for i in range(count):
        notes += search.units.ptr[moved.unit[i] + 1] - search.units.ptr[moved.unit[i]]
    for i in range(count - 1, -1, -1):
        notes = put_back(moved.unit[i], moved.source[i], search.units, search.plan, search.paths.undo, notes)
    if count == 0:
        unlink(v, search.plan)
        link(v, search.plan.device[v], search.paths.undo[0], search.plan)


@inlined
def keep(begin, settled, count, search):
    """Make the plan that was tried the one that moves start from. Returns the length of its critical path.

    It differs from position `begin` on, to `settled` in what runs.
    """
    run = search.run
    moved = search.moved
    copy_times(begin, len(run.order), search.trial.order, search.succ, run, search.trial)
    for i in range(begin, len(run.order)):
        run.order[i] = search.trial.order[i]
    for i in range(count):
        account(moved.unit[i], moved.source[i], moved.goal[i], search.needs, search.capacity)
    length = critical(search.pred, search.plan, run, search.paths.path)
    tails(settled, search)
    for i in range(begin, len(run.order)):
        search.place[run.order[i]] = i
    return length


@inlined
def keep_followed(v, begin, last, count, number, search):
    """Do the same where transfers are independent: only ops at positions begin to last have changed.

    Returns the length, the first position that changes and the one behind the last.
    """
    run = search.run
    moved = search.moved
    low, high = settle(begin, last, number, search)
    for i in range(count):
        bring(moved.unit[i], search.units, search.pred, search.machine, search.plan.device, run.finish, run.arrival)
        account(moved.unit[i], moved.source[i], moved.goal[i], search.needs, search.capacity)
    changed_tails(v, count, number, search)
    return critical(search.pred, search.plan, run, search.paths.path), low, high


@helper
def remember(low, high, search):
    """Note the plan as the shortest that was met; it differs from the last one at positions from low to before high."""
    for i in range(low, high):
        v = search.run.order[i]
        search.moved.order[i] = v
        search.moved.device[v] = search.plan.device[v]


@helper
def first_run(search):
    """Link the ops of each device by the order, and time the plan. Returns its makespan, NEVER if it contradicts the edges."""
    plan = search.plan
    run = search.run
    pending = search.pending
    k = len(search.machine.send)
    for d in range(k):
        plan.first[d] = -1
        pending.last[d] = -1
    for v in run.order:
        search.place[v] = 0
        pending.stamp[v] = -1
        search.ripple.mark[v] = -1
        search.ripple.moved[v] = -1
        search.ripple.stamp[v] = -1
        link(v, plan.device[v], pending.last[plan.device[v]], plan)
        pending.last[plan.device[v]] = v
    for j in range(run.width):
        run.saved[j] = -1.0 if k <= j < 2 * k else 0.0
    return replay(0, len(run.order), NEVER, 0, run, search)[0]


@kernel
def improve(moves, slack, eager, search, makespan):
    """Try so many moves on a plan, ``plan.device`` and ``run.order``, which become the shortest plan that is met.

    A move starts from an op of the critical path, or next to one. Of eight, three move its unit alone to the most promising of a
    few devices, two move it with a cluster of units that heavy edges join, those around it, before it or after it, one lets it
    change devices with another unit, and two bring the op forward on its device. A move is kept if the plan is then at most
    `slack` longer, relative, than the shortest so far. `eager`: stop at the first gain.
    ``makespan`` is the plan's, at first and at the end. Returns the number of moves tried; those that promise nothing are not
    counted, and cost little. A move costs O((ops + edges) k) at worst.
    """
    n = len(search.place)
    plan = search.plan
    run = search.run
    trial = search.trial
    best = first_run(search)
    makespan[0] = best
    makespan[1] = best
    if best == NEVER:
        return 0
    copy_times(0, n, run.order, search.succ, trial, run)
    for i in range(n):
        search.place[run.order[i]] = i
        trial.order[i] = run.order[i]
    remember(0, n, search)
    length = critical(search.pred, plan, run, search.paths.path)
    tails(n, search)
    limit = best * (1.0 + slack)
    alone_in_time = search.machine.contention == PARALLEL and search.machine.send[0] == 0.0  # transfers are
    number = 0
    low = n  # from here to before `high` the plan differs from the one that is remembered
    high = 0
    for _ in range(10 * moves):
        if number == moves:
            break
        v = pick(search.random, search.paths.path, length, search.pred, search.succ)
        kind = draw(search.random, 8)
        count = 0
        if kind < 6:
            if len(search.machine.send) == 1:
                continue
            if kind < 3:
                count = alone(v, limit, search)
            elif kind < 5:
                count = together(v, search)
            else:
                count = exchanged(v, search)
            if count == 0:
                continue
            touched, settled = relocate_all(count, search)
        else:
            settled = search.place[v]
            touched = brought_forward(v, search)
            if touched < 0:
                continue
        number += 1
        if alone_in_time:
            end = follow(v, touched, settled, count, limit, number, search)
            if end < 0:
                put_all_back(v, count, search)
                continue
            length, begin, end = keep_followed(v, touched, end, count, number, search)
            makespan_now = run.finish[run.order[n - 1]]
        else:
            makespan_now, begin, end = replay(touched, settled, limit, number, trial, search)
            if makespan_now > limit:
                put_all_back(v, count, search)
                copy_times(begin, end, trial.order, search.succ, trial, run)
                for i in range(begin, end):
                    trial.order[i] = run.order[i]
                continue
            length = keep(begin, settled, count, search)
        low = min(begin, low)
        high = max(end, high)
        if makespan_now > best:
            continue
        improved = makespan_now < best
        best = makespan_now
        limit = best * (1.0 + slack)
        remember(low, high, search)
        low = n
        high = 0
        if improved and eager != 0:
            break
    makespan[1] = best
    for i in range(n):
        plan.device[i] = search.moved.device[i]
        run.order[i] = search.moved.order[i]
    return number
