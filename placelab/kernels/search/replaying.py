"""Time a plan from the first op on that a move touches, and find how long it takes from each op to the end.

A plan is a sequence of ops per device, a linked list. ``replay`` runs it in order of finish, as the simulator's PLANNED rule,
transfers reserved when their producer ends; so a prefix of the order does not depend on what comes after it, and a move is timed
from a state saved before the first op that it touches. It gives up where the makespan can no longer be good enough.

A saved state is, for each device, when it is free and its last op, then when each port (or channel) is free; there is one for
every ``chunk`` positions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.blocks import PARALLEL, PORTS, Capacity, Predecessors, Successors, UnitNeeds, Units
from placelab.kernels.jit import helper, inlined
from placelab.kernels.plan.planned_transfers import held_until


class Machine(NamedTuple):
    """Devices and links."""

    contention: int  # PARALLEL, PORTS or CHANNEL
    in_port: int  # entry of a state at which ports that receive begin
    held: float  # share of its latency for which a transfer holds its ports: 1, or 0 where the latency follows
    send: np.ndarray  # float64 (k,): seconds of a Send on each device, 0 for none
    latency: np.ndarray  # float64 (k * k,): seconds, 0 within a device
    bandwidth: np.ndarray  # float64 (k * k,): bytes per second, infinite within a device


class Lengths(NamedTuple):
    """How long ops take, and what follows."""

    seconds: np.ndarray  # float64 (n * k,): of op v on device d, at v * k + d
    rest: np.ndarray  # float64 (n,): least time from the finish of each op to the end


class Sequences(NamedTuple):
    """A plan: the ops of each device, a linked list; -1 for none."""

    device: np.ndarray  # int32 (n,)
    first: np.ndarray  # int32 (k,): first op of each device
    after: np.ndarray  # int32 (n,): op after each one on its device
    before: np.ndarray  # int32 (n,): op before each one on its device


class Timing(NamedTuple):
    """When a plan runs, and states that were saved on the way: see :mod:`placelab.kernels.search.replaying`."""

    finish: np.ndarray  # float64 (n,)
    order: np.ndarray  # int32 (n,): ops by finish
    arrival: np.ndarray  # float64 (m,): when the tensor of each edge is there
    saved: np.ndarray  # float64 (rows * width,)
    chunk: int  # positions of the order between two saved states
    width: int  # entries of a state


class Pending(NamedTuple):
    """Workspace: what each device runs next."""

    state: np.ndarray  # float64 (width,): the state now
    last: np.ndarray  # int32 (k,): last op of each device, -1 for none
    up: np.ndarray  # int32 (k,): the op that it runs next, -1 for none
    due: np.ndarray  # float64 (k,): when that ends, infinite while an input is not computed
    blocked: np.ndarray  # int32 (k,): the op that computes such an input, -1 for none
    stamp: np.ndarray  # int32 (n,): number of the move for which each op was last timed


class Paths(NamedTuple):
    """Workspace: the critical path, and ways to the end."""

    path: np.ndarray  # int32 (n,): ops of the critical path, last first
    tail: np.ndarray  # float64 (n,): longest way from the finish of each op to the end
    undo: np.ndarray  # int32 (2 * n,): what moved ops followed


class Ripple(NamedTuple):
    """Workspace: which ops a move makes end at another time, see :mod:`placelab.kernels.search.rippling`."""

    mark: np.ndarray  # int32 (n,): number of the move for which each op is to be timed; below 0: its way to the end is
    moved: np.ndarray  # int32 (n,): of the last one that moved it
    stamp: np.ndarray  # int32 (n,): of the last one for which `finish` holds
    finish: np.ndarray  # float64 (n,)
    changed: np.ndarray  # int32 (n,): the ops of the last move that was kept for which `finish` held, as they run


class Moved(NamedTuple):
    """Workspace: the units of a move, and the shortest plan that was met."""

    unit: np.ndarray  # int32 (n,)
    source: np.ndarray  # int32 (n,): device that each of them leaves
    goal: np.ndarray  # int32 (n,): device that each of them goes to
    device: np.ndarray  # int32 (n,): of each op in the shortest plan
    order: np.ndarray  # int32 (n,): ops of the shortest plan by finish


class Search(NamedTuple):
    """All that a search works on."""

    pred: Predecessors
    succ: Successors
    machine: Machine
    lengths: Lengths
    units: Units
    needs: UnitNeeds
    capacity: Capacity
    plan: Sequences  # of the plan that moves start from, or that is tried
    place: np.ndarray  # int32 (n,): position of each op in the order of the plan that moves start from
    trial: Timing  # of the plan that is tried
    run: Timing  # of the plan that moves start from
    pending: Pending
    paths: Paths
    ripple: Ripple
    moved: Moved
    random: np.ndarray  # int64 (1,): the state of the generator


NEVER = float("inf")
MARGIN = 1e-12  # relative: a tail adds the same times from the other end, which rounds differently


@helper
def look(d, begin, number, pred, lengths, plan, place, arrival, pending):
    """Note what device d runs next and when that ends: never while an input is not computed."""
    k = len(plan.first)
    state, last, up, due, blocked, stamp = pending
    v = plan.first[d] if last[d] < 0 else plan.after[last[d]]
    up[d] = v
    due[d] = NEVER
    blocked[d] = -1
    if v < 0:
        return
    t = state[d]
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        u = pred.producer[e]
        if place[u] >= begin and stamp[u] != number:
            blocked[d] = u
            return
        if arrival[e] > t:
            t = arrival[e]
    due[d] = t + lengths.seconds[v * k + d]


@helper
def deliver(v, t, succ, machine, device, arrival, state):
    """Note when the outputs of v, which ends at t, arrive. Returns when its device is free: after its Sends."""
    k = len(machine.send)
    d = device[v]
    low = k
    high = -1
    for e in range(succ.ptr[v], succ.ptr[v + 1]):
        w = device[succ.consumer[e]]
        if w == d:
            arrival[e] = t
        elif machine.contention == PARALLEL and machine.send[d] == 0.0:
            arrival[e] = t + machine.latency[d * k + w] + succ.bytes[e] / machine.bandwidth[d * k + w]
        else:
            low = w if w < low else low
            high = w if w > high else high
    for w in range(low, high + 1):  # the order of requests: destination, tensor
        if w == d:
            continue
        tensor = -1
        there = 0.0
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            if device[succ.consumer[e]] != w:
                continue
            if succ.tensor[e] != tensor:
                tensor = succ.tensor[e]
                t += machine.send[d]
                begin = t
                out = 2 * k + d if machine.contention == PORTS else 2 * k + d * k + w
                into = machine.in_port + w if machine.contention == PORTS else out
                if machine.contention != PARALLEL:
                    begin = state[out] if state[out] > begin else begin
                    begin = state[into] if state[into] > begin else begin
                there = begin + machine.latency[d * k + w] + succ.bytes[e] / machine.bandwidth[d * k + w]
                if machine.contention != PARALLEL:
                    state[out] = held_until(begin, d * k + w, succ.bytes[e], machine.held, machine)
                    state[into] = state[out]
            arrival[e] = there
    return t


@helper
def replay(touched, settled, bound, number, run, search):
    """Time the plan, in `run`, from a saved state before position `touched` on: (makespan, where it began, where it stopped).

    That state is an earlier one where an op now ends before the last one of the state did. The makespan is NEVER if it would
    exceed `bound`, or if the sequences wait for each other. After position `settled` nothing has changed, so that `tail`, the
    longest way from each op's finish to the end, holds for the ops there.
    """
    pred = search.pred
    succ = search.succ
    machine = search.machine
    lengths = search.lengths
    tail = search.paths.tail
    plan = search.plan
    place = search.place
    pending = search.pending
    k = len(machine.send)
    finish, order, arrival, saved, chunk, width = run
    state, last, up, due, blocked, stamp = pending
    begin = touched // chunk * chunk + chunk
    beyond = bound * (1 + MARGIN)
    early = True
    while early:
        begin -= chunk
        row = begin // chunk * width
        for j in range(width):
            state[j] = saved[row + j]
        for d in range(k):
            last[d] = int(state[k + d])
        early = False
        for d in range(k):
            look(d, begin, number, pred, lengths, plan, place, arrival, pending)
            if begin > 0 and up[d] >= 0:
                u = order[begin - 1]
                early = early or due[d] < finish[u] or (due[d] == finish[u] and up[d] < u)
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
        if t == NEVER or t + lengths.rest[v] > bound or (place[v] > settled and t + tail[v] > beyond):
            return NEVER, begin, i
        finish[v] = t
        order[i] = v
        stamp[v] = number
        last[d] = v
        state[d] = deliver(v, t, succ, machine, plan.device, arrival, state)
        look(d, begin, number, pred, lengths, plan, place, arrival, pending)
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            q = plan.device[succ.consumer[e]]
            if blocked[q] == v:
                look(q, begin, number, pred, lengths, plan, place, arrival, pending)
    return t, begin, len(order)


@helper
def copy_times(begin, end, order, succ, mine, other):
    """Take over from `other` the times of the ops at positions begin to end of `order`, and the states saved there."""
    finish, _, arrival, saved, chunk, width = mine
    for i in range(begin, end):
        v = order[i]
        finish[v] = other.finish[v]
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            arrival[e] = other.arrival[e]
    rows = min((end // chunk + 1) * width, len(saved))
    for j in range(begin // chunk * width, rows):
        saved[j] = other.saved[j]


# ------------------------------------ the longest way to the end, along inputs and sequences of devices; transfers do not wait


@inlined
def longest_way(v, succ, machine, seconds, device, after, tail):
    """The longest way from the finish of op v to the end, by those of the ops behind it."""
    k = len(machine.send)
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
    return longest


@helper
def tails(settled, search):
    """Find the longest way from each op's finish. Ops behind position `settled` keep theirs: nothing has changed after them."""
    device, _, after, _ = search.plan
    tail = search.paths.tail
    order = search.run.order
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        if search.place[v] <= settled:
            tail[v] = longest_way(v, search.succ, search.machine, search.lengths.seconds, device, after, tail)


@helper
def renew(v, mark, marks):
    """Have the way from op v found anew. Returns whether it was not to be found before; -1 is no op."""
    if v < 0 or marks[v] == mark:
        return False
    marks[v] = mark
    return True


@helper
def changed_tails(v, count, number, search):
    """Find the longest ways that differ where `count` units have moved, or op v was brought forward.

    O(ops whose way changes, and their inputs), and a look at each position between the first and the last of them.
    """
    pred = search.pred
    units = search.units
    device, _, after, before = search.plan
    undo = search.paths.undo
    tail = search.paths.tail
    order = search.run.order
    place = search.place
    marks = search.ripple.mark
    mark = -1 - number  # apart from those of rippling
    left = 0
    last = 0
    notes = 0
    for i in range(max(count, 1)):
        unit = search.moved.unit[i] if count > 0 else -1
        for j in range(units.ptr[unit] if count > 0 else 0, units.ptr[unit + 1] if count > 0 else 1):
            w = units.ops[j] if count > 0 else v
            u = undo[notes]
            notes += 1
            left += renew(w, mark, marks)
            left += renew(before[w], mark, marks)
            left += renew(u, mark, marks)
            last = max(place[w], last)
            last = max(place[u], last) if u >= 0 else last
            for a in range(pred.ptr[w], pred.ptr[w + 1] if count > 0 else pred.ptr[w]):
                left += renew(pred.producer[pred.edge[a]], mark, marks)
    i = last
    while left > 0:
        w = order[i]
        i -= 1
        if marks[w] != mark:
            continue
        left -= 1
        x = longest_way(w, search.succ, search.machine, search.lengths.seconds, device, after, tail)
        if x == tail[w]:
            continue
        tail[w] = x
        left += renew(before[w], mark, marks)
        for a in range(pred.ptr[w], pred.ptr[w + 1]):
            left += renew(pred.producer[pred.edge[a]], mark, marks)
