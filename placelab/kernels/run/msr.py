"""The queues of the scheduler `msr` (Mayer 2017 eq. 13): executable items, those that score alike together.

An item is an op, or the Send of a transfer by number of ops + transfer. Its score changes when it becomes the only one that a
successor waits for, and whenever the device of such a successor starts or ends an op. So items are grouped by four facts: how
many successors, how many of them on other devices, how many that wait for this item alone, and the device of the last, if it is
one. Items of equal facts always have equal scores: they wait in one pairing heap, longest first, and a choice compares the tops
of the heaps. An item that is awaited on several devices is a heap of its own, scored when it is looked at.

The facts of an item are ``facts[4 * item]`` …; ``links[3 * item]`` is its first child, then its next sibling, then its parent or
previous sibling. A device's part of ``ready.entry`` holds the tops of its heaps.
"""

from placelab.kernels.jit import helper, inlined

NOWHERE, SEVERAL = -1, -2  # in place of the device on which successors wait for an item alone


@helper
def waits_longer(item, other, heaps):
    """Whether of two items of equal scores this goes first: queued first, then the lower rank."""
    since = heaps.since
    rank = heaps.rank
    return since[item] < since[other] or (since[item] == since[other] and rank[item] < rank[other])


@helper
def meld(a, b, heaps):
    """Join two heaps, either of which may be -1, none. Returns the top."""
    if a < 0:
        return b
    if b < 0:
        return a
    links = heaps.links
    top = a
    under = b
    if waits_longer(b, a, heaps):
        top = b
        under = a
    child = links[3 * top]
    links[3 * under + 1] = child
    if child >= 0:
        links[3 * child + 2] = under
    links[3 * under + 2] = top
    links[3 * top] = under
    return top


@helper
def without(item, top, heaps):
    """Take an item out of the heap of that top. Returns the new top, -1 if nothing is left. Amortised O(log items)."""
    links = heaps.links
    if item != top:
        before = links[3 * item + 2]
        following = links[3 * item + 1]
        if links[3 * before] == item:
            links[3 * before] = following
        else:
            links[3 * before + 1] = following
        if following >= 0:
            links[3 * following + 2] = before
    pairs = -1  # the children, joined two by two from the left, the last pair first
    child = links[3 * item]
    while child >= 0:
        a = child
        b = links[3 * a + 1]
        child = links[3 * b + 1] if b >= 0 else -1
        joined = meld(a, b, heaps)
        links[3 * joined + 1] = pairs
        pairs = joined
    rest = -1
    while pairs >= 0:
        following = links[3 * pairs + 1]
        links[3 * pairs + 1] = -1
        rest = meld(rest, pairs, heaps)
        pairs = following
    links[3 * item] = -1
    links[3 * item + 1] = -1
    return rest if item == top else meld(top, rest, heaps)


@helper
def alike(item, other, facts):
    """Whether two items share a heap."""
    i = 4 * item
    j = 4 * other
    return (
        facts[i] == facts[j]
        and facts[i + 1] == facts[j + 1]
        and facts[i + 2] == facts[j + 2]
        and facts[i + 3] == facts[j + 3]
        and facts[i + 3] != SEVERAL
    )


@helper
def enter(item, d, facts, heaps, ready):
    """Put an item into the queue of device d. O(heaps)."""
    base = ready.base[d]
    for i in range(ready.count[d]):
        if alike(item, ready.entry[base + i], facts):
            ready.entry[base + i] = meld(ready.entry[base + i], item, heaps)
            return
    ready.entry[base + ready.count[d]] = item
    ready.count[d] += 1


@helper
def leave(item, d, facts, heaps, ready):
    """Take an item out of the queue of device d. O(heaps + log items)."""
    base = ready.base[d]
    i = 0
    while ready.entry[base + i] != item and not alike(item, ready.entry[base + i], facts):
        i += 1
    top = without(item, ready.entry[base + i], heaps)
    if top < 0:
        ready.count[d] -= 1
        top = ready.entry[base + ready.count[d]]
    ready.entry[base + i] = top


@inlined
def only_one(w, inputs, missing, producers, static):
    """Whether op w waits for nothing but the `inputs` tensors of one item; `static`: whether it has no other producer."""
    return producers[w] == 1 if static else missing[w] == inputs


@inlined
def awaited(item, by, facts):
    """One more successor, on device `by`, waits for this item alone."""
    i = 4 * item
    facts[i + 2] += 1
    facts[i + 3] = by if facts[i + 3] == NOWHERE or facts[i + 3] == by else SEVERAL


@helper
def begin_waiting(item, d, instant, ops, receivers, static, consumers, facts, heaps, ready):
    """Queue an item that has become executable on device d, with its facts of now. O(successors + heaps)."""
    f = 4 * item
    n_ops = len(ops.device)
    if item < n_ops:
        for i in range(consumers.ptr[item], consumers.ptr[item + 1]):
            w = consumers.op[i]
            facts[f] += 1
            if ops.device[w] != d:
                facts[f + 1] += 1
            if only_one(w, consumers.inputs[i], ops.missing, consumers.producers, static):
                awaited(item, ops.device[w], facts)
    else:
        i = receivers.ptr[2 * (item - n_ops)]
        end = receivers.ptr[2 * (item - n_ops) + 1]
        while i < end:
            w = receivers.op[i]
            inputs = 0
            while i < end and receivers.op[i] == w:  # an op that reads the tensor twice stands there twice
                inputs += 1
                i += 1
            facts[f] += 1
            facts[f + 1] += 1
            if only_one(w, inputs, ops.missing, consumers.producers, static):
                awaited(item, ops.device[w], facts)
    heaps.since[item] = instant
    enter(item, d, facts, heaps, ready)


@helper
def again(item, d, by, facts, heaps, ready):
    """A queued item is now all that one more successor, on device `by`, waits for: move it to its new heap."""
    leave(item, d, facts, heaps, ready)
    awaited(item, by, facts)
    enter(item, d, facts, heaps, ready)


@helper
def last_wait(w, with_sends, ops, pred, copies, facts, heaps, ready):
    """Op w has got an input but waits for more: if that is one queued item's alone, move the item. O(predecessors).

    Edges into w are sorted by producer, then tensor. Of a queued op no tensor has arrived, of a queued Send not the one.
    """
    n_ops = len(ops.device)
    missing = ops.missing[w]
    i = pred.ptr[w]
    end = pred.ptr[w + 1]
    while i < end:
        u = pred.producer[pred.edge[i]]
        inputs = 0
        while i < end and pred.producer[pred.edge[i]] == u:
            t = pred.tensor[pred.edge[i]]
            x = copies.of_edge[pred.edge[i]]
            same = 0
            while i < end and pred.tensor[pred.edge[i]] == t:
                same += 1
                i += 1
            inputs += same
            if with_sends and x >= 0 and same == missing and heaps.since[n_ops + x] >= 0:
                again(n_ops + x, copies.source[x], ops.device[w], facts, heaps, ready)
        if inputs == missing and heaps.since[u] >= 0:
            again(u, ops.device[u], ops.device[w], facts, heaps, ready)


@inlined
def times(weight, count):
    """A weight counted so often; nothing where it does not count at all, even if it is infinite."""
    return weight * count if count > 0 else 0.0


@inlined
def score(item, ops, busy, weights, consumers, facts):
    """MSR of a queued item now."""
    f = 4 * item
    waking = 0
    if facts[f + 3] == SEVERAL:  # no Send, whose consumers are on one device
        for i in range(consumers.ptr[item], consumers.ptr[item + 1]):
            w = consumers.op[i]
            alone = only_one(w, consumers.inputs[i], ops.missing, consumers.producers, weights.static)
            if busy[ops.device[w]] == 0 and alone:
                waking += 1
    elif facts[f + 3] >= 0 and busy[facts[f + 3]] == 0:
        waking = facts[f + 2]
    alpha = times(weights.alpha, facts[f])
    beta = times(weights.beta, facts[f + 1])
    return alpha + beta + times(weights.gamma, facts[f + 2]) + times(weights.delta, waking)
