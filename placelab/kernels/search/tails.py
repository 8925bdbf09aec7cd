"""The longest way from each op's finish to the end, along inputs and along the sequences of devices; transfers do not wait."""

from placelab.kernels.jit import helper, inlined


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
    """Find all of them. Ops that were behind position `settled` keep theirs: nothing has changed after them."""
    device, _, after, _ = search.plan
    tail = search.paths.tail
    order = search.run.order
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        if search.place[v] <= settled:
            tail[v] = longest_way(v, search.succ, search.machine, search.lengths.seconds, device, after, tail)


@helper
def due(v, mark, marks):
    """Have the way from op v found anew. Returns whether it was not to be found before; -1 is no op."""
    if v < 0 or marks[v] == mark:
        return False
    marks[v] = mark
    return True


@helper
def changed_tails(v, count, number, search):
    """Find those that differ where `count` units have moved, or op v was brought forward.

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
            left += due(w, mark, marks)
            left += due(before[w], mark, marks)
            left += due(u, mark, marks)
            last = max(place[w], last)
            last = max(place[u], last) if u >= 0 else last
            for a in range(pred.ptr[w], pred.ptr[w + 1] if count > 0 else pred.ptr[w]):
                left += due(pred.producer[pred.edge[a]], mark, marks)
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
        left += due(before[w], mark, marks)
        for a in range(pred.ptr[w], pred.ptr[w + 1]):
            left += due(pred.producer[pred.edge[a]], mark, marks)
