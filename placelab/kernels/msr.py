"""The queues of the scheduler `msr` (Mayer 2017 eq. 13): executable items, those that score alike together.

An item is an op, or the Send of a transfer by number of ops + transfer. Its score changes when it becomes the only one that a
successor waits for, and whenever the device of such a successor starts or ends an op. So items are grouped by four facts: how
many successors, how many of them on other devices, how many that wait for this item alone, and the device of the last, if it is
one. Items of equal facts always have equal scores: they wait in one pairing heap, longest first, and a choice compares the tops
of the heaps. An item that is awaited on several devices is a heap of its own, scored when it is looked at.

Arrays: ``facts[4 * item]`` …; ``links[3 * item]`` is its first child, then its next sibling, then its parent or previous sibling;
``since[item]`` the instant it was queued at, -1 while it is not. A device's part of ``queue`` holds the tops of its heaps.
"""

from placelab.kernels.jit import helper

NOWHERE, SEVERAL = -1, -2  # in place of the device on which successors wait for an item alone


@helper
def waits_longer(item, other, since, rank):
    """Whether of two items of equal scores this goes first: queued first, then the lower rank."""
    return since[item] < since[other] or (since[item] == since[other] and rank[item] < rank[other])


@helper
def meld(a, b, links, since, rank):
    """Join two heaps, either of which may be -1, none. Returns the top."""
    if a < 0:
        return b
    if b < 0:
        return a
    top = a
    under = b
    if waits_longer(b, a, since, rank):
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
def without(item, top, links, since, rank):
    """Take an item out of the heap of that top. Returns the new top, -1 if nothing is left. Amortised O(log items)."""
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
        joined = meld(a, b, links, since, rank)
        links[3 * joined + 1] = pairs
        pairs = joined
    rest = -1
    while pairs >= 0:
        following = links[3 * pairs + 1]
        links[3 * pairs + 1] = -1
        rest = meld(rest, pairs, links, since, rank)
        pairs = following
    links[3 * item] = -1
    links[3 * item + 1] = -1
    return rest if item == top else meld(top, rest, links, since, rank)


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
def enter(item, d, facts, links, since, rank, queue, queue_base, n_queued):
    """Put an item into the queue of device d. O(heaps)."""
    base = queue_base[d]
    for i in range(n_queued[d]):
        if alike(item, queue[base + i], facts):
            queue[base + i] = meld(queue[base + i], item, links, since, rank)
            return
    queue[base + n_queued[d]] = item
    n_queued[d] += 1


@helper
def leave(item, d, facts, links, since, rank, queue, queue_base, n_queued):
    """Take an item out of the queue of device d. O(heaps + log items)."""
    base = queue_base[d]
    i = 0
    while queue[base + i] != item and not alike(item, queue[base + i], facts):
        i += 1
    top = without(item, queue[base + i], links, since, rank)
    if top < 0:
        n_queued[d] -= 1
        top = queue[base + n_queued[d]]
    queue[base + i] = top


@helper
def only_one(w, inputs, missing, n_producers, static):
    """Whether op w waits for nothing but the `inputs` tensors of one item; `static`: whether it has no other producer."""
    return n_producers[w] == 1 if static else missing[w] == inputs


@helper
def awaited(item, by, facts):
    """One more successor, on device `by`, waits for this item alone."""
    i = 4 * item
    facts[i + 2] += 1
    facts[i + 3] = by if facts[i + 3] == NOWHERE or facts[i + 3] == by else SEVERAL


@helper
def begin_waiting(
    item, d, n_ops, instant, device, missing, successor_ptr, successor, successor_inputs, n_producers, consumer_ptr,
    receiver, static, facts, links, since, rank, queue, queue_base, n_queued,
):  # fmt: skip
    """Queue an item that has become executable on device d, with its facts of now. O(successors + heaps)."""
    f = 4 * item
    if item < n_ops:
        for i in range(successor_ptr[item], successor_ptr[item + 1]):
            w = successor[i]
            facts[f] += 1
            if device[w] != d:
                facts[f + 1] += 1
            if only_one(w, successor_inputs[i], missing, n_producers, static):
                awaited(item, device[w], facts)
    else:
        i = consumer_ptr[2 * (item - n_ops)]
        end = consumer_ptr[2 * (item - n_ops) + 1]
        while i < end:
            w = receiver[i]
            inputs = 0
            while i < end and receiver[i] == w:  # an op that reads the tensor twice stands there twice
                inputs += 1
                i += 1
            facts[f] += 1
            facts[f + 1] += 1
            if only_one(w, inputs, missing, n_producers, static):
                awaited(item, device[w], facts)
    since[item] = instant
    enter(item, d, facts, links, since, rank, queue, queue_base, n_queued)


@helper
def again(item, d, by, facts, links, since, rank, queue, queue_base, n_queued):
    """A queued item is now all that one more successor, on device `by`, waits for: move it to its new heap."""
    leave(item, d, facts, links, since, rank, queue, queue_base, n_queued)
    awaited(item, by, facts)
    enter(item, d, facts, links, since, rank, queue, queue_base, n_queued)


@helper
def last_wait(
    w, n_ops, device, source, missing, pred_ptr, pred_edge, producer, edge_tensor, edge_transfer, with_sends,
    facts, links, since, rank, queue, queue_base, n_queued,
):  # fmt: skip
    """Op w has got an input but waits for more: if that is one queued item's alone, move the item. O(predecessors).

    Edges into w are sorted by producer, then tensor. Of a queued op no tensor has arrived, of a queued Send not the one.
    """
    i = pred_ptr[w]
    end = pred_ptr[w + 1]
    while i < end:
        u = producer[pred_edge[i]]
        inputs = 0
        while i < end and producer[pred_edge[i]] == u:
            t = edge_tensor[pred_edge[i]]
            x = edge_transfer[pred_edge[i]]
            copies = 0
            while i < end and edge_tensor[pred_edge[i]] == t:
                copies += 1
                i += 1
            inputs += copies
            if with_sends and x >= 0 and copies == missing[w] and since[n_ops + x] >= 0:
                again(n_ops + x, source[x], device[w], facts, links, since, rank, queue, queue_base, n_queued)
        if inputs == missing[w] and since[u] >= 0:
            again(u, device[u], device[w], facts, links, since, rank, queue, queue_base, n_queued)


@helper
def times(weight, count):
    """A weight counted so often; nothing where it does not count at all, even if it is infinite."""
    return weight * count if count > 0 else 0.0


@helper
def score(
    item, device, missing, busy, successor_ptr, successor, successor_inputs, n_producers, static, alpha, beta, gamma,
    delta, facts,
):  # fmt: skip
    """MSR of a queued item now."""
    f = 4 * item
    waking = 0
    if facts[f + 3] == SEVERAL:  # no Send, whose consumers are on one device
        for i in range(successor_ptr[item], successor_ptr[item + 1]):
            w = successor[i]
            if busy[device[w]] == 0 and only_one(w, successor_inputs[i], missing, n_producers, static):
                waking += 1
    elif facts[f + 3] >= 0 and busy[facts[f + 3]] == 0:
        waking = facts[f + 2]
    return times(alpha, facts[f]) + times(beta, facts[f + 1]) + times(gamma, facts[f + 2]) + times(delta, waking)
