"""Queue executable items, ops and Sends, and choose the one that an idle device starts.

A key in a queue has in its upper 32 bits when the item came, or how urgent it is, and in the lower which one it is.
"""

from placelab.kernels.heap import pop_key, push_key
from placelab.kernels.jit import helper, inlined
from placelab.kernels.run.memory_in_use import fits
from placelab.kernels.run.msr import begin_waiting, enter, last_wait, leave, score, waits_longer

PRIORITY, FIFO, MSR, PLANNED, ASK = 0, 1, 2, 3, 4  # kinds of rules
LOW = (1 << 32) - 1
NOBODY, ANYBODY = -1, -2  # in place of the item that a device starts: none, or one that a run-time rule must choose


@helper
def by_priority(item, instant, rank, classes):
    """The key of an item that is queued now: by class of equal priority, within it first come, then by rank.

    A class owns the numbers from its first rank on, one per item; each instant at which one of its items is queued takes
    the next. The rank of an item that is alone in its class is the key; one with equals has ``-1 - rank`` in its place, so that
    nothing else is read for the others.
    """
    number = rank[item]
    if number >= 0:
        return number << 32 | number
    c = classes.first[item]
    if classes.since[c] != instant:
        classes.since[c] = instant
        classes.turn[c] += 1
    return (c + classes.turn[c]) << 32 | -1 - number


@inlined
def queue_item(item, d, instant, rule, classes, ready):
    """Queue an executable item by priority or by when it came."""
    key = instant << 32 | rule.rank[item] if rule.kind == FIFO else by_priority(item, instant, rule.rank, classes)
    push_key(ready.entry, ready.base[d], ready.count[d], key)
    ready.count[d] += 1


@inlined
def arrive(w, d, instant, pred, copies, receivers, ops, order):
    """One input of op w has arrived on its device d; queue w when it was the last one."""
    rule, classes, _, msr, ready, _, _ = order
    ops.missing[w] -= 1
    if ops.missing[w] > 0:  # a queued item may now be all that w waits for
        if rule.kind == MSR and not msr.weights.static and ops.missing[w] <= msr.consumers.most[w]:
            last_wait(w, rule.with_sends, ops, pred, copies, msr.facts, msr.heaps, ready)
    elif rule.kind == MSR:
        begin_waiting(w, d, instant, ops, receivers, msr.weights.static, msr.consumers, msr.facts, msr.heaps, ready)
    elif rule.kind == PRIORITY or rule.kind == FIFO:
        queue_item(w, d, instant, rule, classes, ready)
    elif rule.kind == ASK:
        ready.entry[ready.base[d] + ready.count[d]] = w
        ready.count[d] += 1


@inlined
def queue_send(x, d, instant, receivers, ops, order):
    """The Send of transfer x has become executable on device d; PLANNED and ASK keep Sends in queues of their own."""
    rule, classes, _, msr, ready, sends, _ = order
    item = len(ops.device) + x
    if rule.kind == MSR:
        begin_waiting(item, d, instant, ops, receivers, msr.weights.static, msr.consumers, msr.facts, msr.heaps, ready)
    elif rule.kind == PRIORITY or rule.kind == FIFO:
        queue_item(item, d, instant, rule, classes, ready)
    else:
        push_key(ready.entry, sends.base[d], sends.count[d], instant << 32 | item)
        sends.count[d] += 1


@inlined
def choose(d, now, pred, copies, ops, order, busy, memory, answer):
    """The item that idle device d starts, NOBODY or ANYBODY; it is taken out of its queue.

    ``answer[0]`` is the op that a run-time rule chose, and is cleared; -1 for none.
    """
    kind = order.rule.kind
    sends = order.sends
    if kind == PRIORITY or kind == FIFO:
        return first_that_fits(d, pred, copies.of_edge, len(ops.device), order, memory)
    if kind == MSR:
        return best_that_fits(d, pred, copies.of_edge, ops, order, busy, memory)
    if sends.count[d] > 0:
        item = int(order.ready.entry[sends.base[d]] & LOW)
        pop_key(order.ready.entry, sends.base[d], sends.count[d])
        sends.count[d] -= 1
        return item
    if kind == PLANNED:
        return next_planned(d, now, pred, copies.of_edge, ops.missing, order.sequence, memory)
    if answer[0] >= 0:
        item = int(answer[0])
        answer[0] = -1
        take_out(item, d, order.ready)
        return item
    return ANYBODY if any_fits(d, pred, copies.of_edge, order.ready, memory) else NOBODY


@inlined
def first_that_fits(d, pred, of_edge, n_ops, order, memory):
    """Of the items on device d's heap the first that has room; NOBODY if none has."""
    ready = order.ready
    aside = order.aside
    base = ready.base[d]
    chosen = NOBODY
    n_aside = 0
    while ready.count[d] > 0:
        key = ready.entry[base]
        item = order.rule.item[key & LOW]
        pop_key(ready.entry, base, ready.count[d])
        ready.count[d] -= 1
        if item >= n_ops or fits(item, d, pred, of_edge, memory):
            chosen = item
            break
        aside[n_aside] = key
        n_aside += 1
    for i in range(n_aside):
        push_key(ready.entry, base, ready.count[d], aside[i])
        ready.count[d] += 1
    return chosen


@inlined
def best_that_fits(d, pred, of_edge, ops, order, busy, memory):
    """Of the items that wait on device d the one of the highest MSR that has room; NOBODY if none has."""
    msr = order.msr
    ready = order.ready
    aside = order.aside
    base = ready.base[d]
    chosen = NOBODY
    n_aside = 0
    while ready.count[d] > 0:
        best = -1
        best_score = 0.0
        for i in range(ready.count[d]):
            item = ready.entry[base + i]
            value = score(item, ops, busy, msr.weights, msr.consumers, msr.facts)
            if best < 0 or value > best_score or (value == best_score and waits_longer(item, best, msr.heaps)):
                best = item
                best_score = value
        leave(best, d, msr.facts, msr.heaps, ready)
        if best >= len(ops.device) or fits(best, d, pred, of_edge, memory):
            chosen = best
            msr.heaps.since[best] = -1
            break
        aside[n_aside] = best
        n_aside += 1
    for i in range(n_aside):
        enter(aside[i], d, msr.facts, msr.heaps, ready)
    return chosen


@inlined
def next_planned(d, now, pred, of_edge, missing, sequence, memory):
    """The next op of device d's sequence if it is executable, its time has come and it has room, else NOBODY."""
    if sequence.next[d] == sequence.ptr[d + 1]:
        return NOBODY
    v = int(sequence.op[sequence.next[d]])
    if len(sequence.not_before) > 0 and now < sequence.not_before[v]:
        return NOBODY
    if missing[v] > 0 or not fits(v, d, pred, of_edge, memory):
        return NOBODY
    sequence.next[d] += 1
    return v


@inlined
def any_fits(d, pred, of_edge, ready, memory):
    """Whether device d has room for any of its executable ops."""
    for i in range(ready.base[d], ready.base[d] + ready.count[d]):
        if fits(ready.entry[i], d, pred, of_edge, memory):
            return True
    return False


@inlined
def take_out(v, d, ready):
    """Take op v from the list of device d; the last one takes its place."""
    i = ready.base[d]
    while ready.entry[i] != v:
        i += 1
    ready.count[d] -= 1
    ready.entry[i] = ready.entry[ready.base[d] + ready.count[d]]
