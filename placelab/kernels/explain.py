"""Explain a finished schedule: its realised critical path, and its idle gaps.

Items are ops (0 … n_ops - 1) and Sends (n_ops + transfer number).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.jit import helper, kernel


class Items(NamedTuple):
    """What devices ran."""

    n_ops: int
    start: np.ndarray  # float64 (items,)
    finish: np.ndarray  # float64 (items,)
    device: np.ndarray  # int32 (items,)
    by_start: np.ndarray  # int32 (items,): items by start, then number


class Carried(NamedTuple):
    """How tensors reached their consumers."""

    carrier: np.ndarray  # int32 (m,): transfer that brought each edge's tensor, -1 within a device
    finish: np.ndarray  # float64 (x,)


class Moved(NamedTuple):
    """Transfers, and what they may have waited for."""

    made_by: np.ndarray  # int32 (x,): op whose output each carries
    start: np.ndarray  # float64 (x,)
    first: np.ndarray  # int32 (x,): port or channel that each occupies; (0,) where transfers wait for none
    last: np.ndarray  # int32 (x,): the other one, or the same
    free: np.ndarray  # float64 (x,): when these are free again
    by_free: np.ndarray  # int32 (x,): transfers by that; (0,) where they wait for none


class CarrierWork(NamedTuple):
    """Workspace: transfers by tensor, and by device."""

    first: np.ndarray  # int32 (tensors,): a transfer of each tensor, -1 for none
    following: np.ndarray  # int32 (x,): the next one of the same tensor
    stamp: np.ndarray  # int32 (k,): the tensor that row holds for
    row: np.ndarray  # int32 (k,): the transfer that goes to each device


class Walk(NamedTuple):
    """Workspace: what ran before what, and what is on the path."""

    before: np.ndarray  # int32 (items,): item before each on its device, -1 for the first; see :func:`link_items`
    visited: np.ndarray  # int32 (items + x,), 0 at first: the stamp of the walk that came here last


class PathSteps(NamedTuple):
    """Results: entries of the critical path, the last one first."""

    kind: np.ndarray  # uint8 (most,)
    row: np.ndarray  # int32 (most,)
    cause: np.ndarray  # int32 (most,)
    by: np.ndarray  # int32 (most,)
    begin: np.ndarray  # float64 (most,)
    end: np.ndarray  # float64 (most,)


class Gaps(NamedTuple):
    """Results: spans in which a device runs nothing."""

    device: np.ndarray  # int32 (most,)
    begin: np.ndarray  # float64 (most,)
    end: np.ndarray  # float64 (most,)
    reason: np.ndarray  # uint8 (most,)
    op: np.ndarray  # int32 (most,)
    next: np.ndarray  # int32 (most,)


class GapWork(NamedTuple):
    """Workspace: what each device was free for."""

    free: np.ndarray  # float64 (k,), 0 at first: when each device had finished what it ran
    ready: np.ndarray  # float64 (items,): when the inputs of each op were there
    first: np.ndarray  # int32 (k,), -1 at first: of the ops yet to start on each device the one that was ready first
    waiting: np.ndarray  # int32 (items,): the same, by place in `by_start`


OP, TRANSFER, WAIT = 0, 1, 2  # kinds on the critical path
NOTHING, BY_OP, BY_SEND, BY_LINK = 0, 1, 2, 3  # what a wait was for: room in memory, else an op, a Send, a transfer
# Reasons of idle gaps; whether an op that is left waiting lacks memory is found out afterwards.
FOR_TRANSFER = 0
FOR_UPSTREAM = 1
FOR_MEMORY = 2
FOR_END = 3
LEFT_WAITING = 4
NEVER_CHOSEN = 5


@kernel
def carriers(tensor_ptr, consumer, tensor, destination, place, work, carrier):
    """``carrier[e]``: the transfer (ties: the lowest) that takes edge e's tensor to the device of its consumer, -1 for none.

    Edges of tensor t are ``tensor_ptr[t]:tensor_ptr[t + 1]``; the transfers may come in any order.
    O(edges + transfers + tensors + devices).
    """
    first, following, stamp, row = work
    for t in range(len(first)):
        first[t] = -1
    for x in range(len(tensor)):
        following[x] = first[tensor[x]]
        first[tensor[x]] = x
    for d in range(len(stamp)):
        stamp[d] = -1
    for t in range(len(first)):
        x = first[t]
        while x >= 0:
            row[destination[x]] = x
            stamp[destination[x]] = t
            x = following[x]
        for e in range(tensor_ptr[t], tensor_ptr[t + 1]):
            d = place[consumer[e]]
            carrier[e] = row[d] if stamp[d] == t else -1


@helper
def last_input(v, items, pred, carried):
    """The edge whose tensor reached op v last (ties: the lowest), -1 without inputs."""
    latest = -1
    arrived = 0.0
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        x = carried.carrier[e]
        time = items.finish[pred.producer[e]] if x < 0 else carried.finish[x]
        if latest < 0 or time > arrived:
            latest = e
            arrived = time
    return latest


@kernel
def link_items(items, last, before):
    """before[i]: the item that ran before item i on its device, -1 for the first. `last` (devices, -1 at first) is workspace.

    Of items that start at the same time the ones that take no time come first, then by number.
    """
    _, start, finish, place, by_start = items
    for j in range(len(by_start)):
        i = by_start[j]
        previous = last[place[i]]
        if previous >= 0 and start[previous] == start[i] and finish[i] == start[i] and finish[previous] > start[i]:
            before[i] = before[previous]
            before[previous] = i
        else:
            before[i] = previous
            last[place[i]] = i


@helper
def holder(x, until, moved):
    """The transfer that held a port or channel of transfer x until then (ties: the lowest number), -1 for none."""
    first = moved.first
    last = moved.last
    by_free = moved.by_free
    low = 0
    high = len(by_free)
    while low < high:
        middle = (low + high) // 2
        if moved.free[by_free[middle]] < until:
            low = middle + 1
        else:
            high = middle
    found = -1
    while low < len(by_free) and moved.free[by_free[low]] == until:
        y = by_free[low]
        low += 1
        a = first[x]
        b = last[x]
        shares = first[y] == a or first[y] == b or last[y] == a or last[y] == b
        if shares and y != x and moved.start[y] < until and (found < 0 or y < found):
            found = y
    return found


@kernel
def walk_back(v, stamp, items, pred, carried, moved, walk, steps):
    """The critical path to op v from its last entry to its first, in `steps`; returns the number of entries.

    `stamp`: a number above 0 that no walk before had.
    O(entries and their inputs); at most O(items + transfers + edges).
    """
    n_ops = items.n_ops
    n_items = len(items.start)
    start = items.start
    finish = items.finish
    kind, row, cause, by, begin, end = steps
    what = OP  # OP: v is an op, TRANSFER: v is a transfer, WAIT: v is the Send of transfer v
    waiting = v  # the op for whose sake we are here
    time = finish[v]
    label = OP
    reason = NOTHING
    n = 0
    while True:
        item = v if what == OP else n_ops + v  # place in the list of items
        mark = item if what != TRANSFER else n_items + v
        walk.visited[mark] = stamp
        began = moved.start[v] if what == TRANSFER else start[item]
        kind[n] = label
        row[n] = waiting if label == WAIT else v
        cause[n] = reason
        by[n] = v
        begin[n] = began
        end[n] = time
        n += 1
        time = began
        if time <= 0.0:
            break
        # what had to be there: an input of the op, the producer of a Send, the producer or Send of a transfer
        edge = -1
        x = -1
        if what == OP:
            waiting = v
            edge = last_input(v, items, pred, carried)
            need = -1
            there = 0.0
            if edge >= 0:
                x = carried.carrier[edge]
                need = pred.producer[edge]
                there = finish[need] if x < 0 else carried.finish[x]
        else:
            need = n_ops + v if what == TRANSFER and n_items > n_ops else -1
            if need < 0:
                need = moved.made_by[v]
            there = finish[need]
        # what was in the way: the item before on the device, or the transfer before on the link
        hurdle = -1
        free = 0.0
        if there < time:
            if what != TRANSFER:
                hurdle = walk.before[item]
                if hurdle >= 0:
                    free = finish[hurdle]
            else:
                hurdle = holder(v, time, moved)
                if hurdle >= 0:
                    free = time
            known = max(there, free)
            if known < time:  # neither: it waited for room in memory
                kind[n] = WAIT
                row[n] = waiting
                cause[n] = NOTHING
                by[n] = -1
                begin[n] = known
                end[n] = time
                n += 1
                time = known
                if time <= 0.0:
                    break
        if there >= time:
            label = OP
            reason = NOTHING
            if what == OP and x >= 0:
                what = TRANSFER
                v = x
                label = TRANSFER
            elif need >= n_ops:
                what = WAIT
                label = TRANSFER
                reason = BY_SEND
            else:
                what = OP
                v = need
        else:
            label = WAIT
            if what == TRANSFER:
                reason = BY_LINK
                v = hurdle
            elif hurdle >= n_ops:
                reason = BY_SEND
                what = WAIT
                v = hurdle - n_ops
            else:
                reason = BY_OP
                what = OP
                v = hurdle
        mark = n_items + v if what == TRANSFER else v if what == OP else n_ops + v
        if walk.visited[mark] == stamp:  # no schedule of ours: ops that overlap or start before their inputs
            kind[n] = WAIT
            row[n] = waiting
            cause[n] = NOTHING
            by[n] = -1
            begin[n] = 0.0
            end[n] = time
            return n + 1
    return n


@helper
def add_gap(n, d, a, b, why, what, following, gaps):
    """Append the idle gap [a, b) of device d when it is one; returns the number of gaps."""
    if b > a:
        gaps.device[n] = d
        gaps.begin[n] = a
        gaps.end[n] = b
        gaps.reason[n] = why
        gaps.op[n] = what
        gaps.next[n] = following
        n += 1
    return n


@helper
def arrival(e, items, pred, carried):
    """When the tensor of edge e was where its consumer is."""
    x = carried.carrier[e]
    return items.finish[pred.producer[e]] if x < 0 else carried.finish[x]


@helper
def last_awaited(j, d, items, pred, carried):
    """Of all ops that start on device d at the instant of ``by_start[j]``: the input that came last, and the op that reads it.

    -1 for an input if none has any, -1 for an op if none starts. Several ops of no time may start at once, and the one of the
    lowest number need not be the first the device ran.
    """
    n_ops, start, _, place, by_start = items
    now = start[by_start[j]]
    awaited = -1
    reader = -1
    latest = -1.0
    while j < len(by_start) and start[by_start[j]] == now:
        i = by_start[j]
        j += 1
        if i >= n_ops or place[i] != d:
            continue
        if reader < 0:
            reader = i
        edge = last_input(i, items, pred, carried)
        if edge >= 0:
            came = arrival(edge, items, pred, carried)
            if came > latest and came <= now:
                latest = came
                awaited = edge
                reader = i
    return awaited, reader


@helper
def find_waiting(items, pred, carried, work):
    """waiting[j]: of the ops that start on the device of ``by_start[j]`` then or later the one whose inputs were there first.

    Ties: the lowest number; -1 where there is none.
    """
    n_ops, _, _, place, by_start = items
    _, ready, first, waiting = work
    for j in range(len(by_start) - 1, -1, -1):
        i = by_start[j]
        d = place[i]
        if i < n_ops:
            edge = last_input(i, items, pred, carried)
            ready[i] = 0.0 if edge < 0 else arrival(edge, items, pred, carried)
            u = first[d]
            if u < 0 or ready[i] < ready[u] or (ready[i] == ready[u] and i < u):
                first[d] = i
        waiting[j] = first[d]


@kernel
def idle_gaps(makespan, items, pred, carried, work, gaps):
    """Idle gaps of all devices by the time they end, in `gaps`; returns their number. O(items + edges).

    The results have room for three gaps per item and one per device.
    """
    _, start, finish, place, by_start = items
    free, ready, first, waiting = work
    find_waiting(items, pred, carried, work)
    n = 0
    for j in range(len(by_start)):
        i = by_start[j]
        d = place[i]
        if start[i] > free[d]:
            at = free[d]
            w = waiting[j]
            until = start[i] if w < 0 else min(max(ready[w], at), start[i])
            edge, reader = last_awaited(j, d, items, pred, carried)
            if edge >= 0:
                u = pred.producer[edge]
                made = min(finish[u], until)
                n = add_gap(n, d, at, made, FOR_UPSTREAM, u, reader, gaps)
                at = max(at, made)
                came = min(arrival(edge, items, pred, carried), until)
                n = add_gap(n, d, at, came, FOR_TRANSFER, u, reader, gaps)
                at = max(at, came)
            n = add_gap(n, d, at, start[i], LEFT_WAITING, w, reader, gaps)
        if finish[i] > free[d]:
            free[d] = finish[i]
    for d in range(len(free)):
        n = add_gap(n, d, free[d], makespan, NEVER_CHOSEN if first[d] < 0 else FOR_END, -1, -1, gaps)
    return n
