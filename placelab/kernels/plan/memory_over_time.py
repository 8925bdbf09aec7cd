"""Memory over time of a plan that grows: when a device has room for one more op. Which ops waited for it.

What :class:`placelab.planning.memory_plan.MemoryPlan` does op by op, with the same sums in the same order; its docstrings say
what holds memory when.

The order of calls, after :func:`clear_memory`, for an op v: the times of its inputs into ``inputs``, as if v ran on d (see
:mod:`placelab.kernels.plan.planned_transfers`); :func:`earliest_fit`; once decided, :func:`take_memory`; only then
``plan.device[v]`` and the group's device are set.

Step i of a device's curve begins at ``curve.at[i]`` with ``curve.level[i] + curve.block[2 * b]`` bytes, b being the block that it
is in: so adding to a long span is cheap. Block b begins at step ``b * SIZE``; at most ``curve.block[2 * b + 1] +
curve.block[2 * b]`` bytes are in use in it.
"""

from math import inf, nextafter

from placelab.kernels.blocks import DYNAMIC, EDGES, FREE, RESERVED
from placelab.kernels.jit import helper, inlined, kernel
from placelab.kernels.plan.look_up import first_after, group_home

SIZE = 128  # steps of a block
HALF = SIZE // 2


@helper
def clear_memory(pred, needs, held, curve):
    """An empty plan: every curve one step of 0 bytes."""
    for t in range(len(held.waiting)):
        held.waiting[t] = 0
        held.kept[t] = 0.0
    for i in range(len(held.copy_kept)):
        held.copy_kept[i] = -1.0
    if len(held.waiting) > 0:
        for e in range(len(pred.tensor)):
            t = pred.tensor[e]
            held.waiting[t] += 1
            if len(held.home) > 0 and needs.storage[t] != t:
                held.waiting[needs.storage[t]] += 1  # the first in a storage waits for those of all
    curve.top[0] = len(held.reserved)
    for d in range(len(held.reserved)):
        held.reserved[d] = 0.0
        held.eased[d] = 0
        curve.last[d] = d
        curve.chain[2 * d] = -1
        curve.chain[2 * d + 1] = 1
        curve.highest[d] = 0.0
        curve.at[d * SIZE] = 0.0
        curve.level[d * SIZE] = 0.0
        curve.block[2 * d] = 0.0
        curve.block[2 * d + 1] = 0.0


@helper
def find_peak(b, curve):
    """Note the highest level of block b."""
    most = curve.level[b * SIZE]
    for i in range(b * SIZE + 1, b * SIZE + curve.chain[2 * b + 1]):
        if curve.level[i] > most:
            most = curve.level[i]
    curve.block[2 * b + 1] = most


@helper
def split(b, after, d, curve):
    """Make the second half of block b a block of its own, which comes before block `after` of d. Returns its number."""
    c = curve.top[0]
    curve.top[0] += 1
    for j in range(HALF):
        curve.at[c * SIZE + j] = curve.at[b * SIZE + HALF + j]
        curve.level[c * SIZE + j] = curve.level[b * SIZE + HALF + j]
    curve.chain[2 * c] = b
    curve.chain[2 * c + 1] = HALF
    curve.chain[2 * b + 1] = HALF
    curve.block[2 * c] = curve.block[2 * b]
    if after < 0:
        curve.last[d] = c
    else:
        curve.chain[2 * after] = c
    find_peak(b, curve)
    find_peak(c, curve)
    return c


@helper
def cut(d, time, curve):
    """Let a step of d begin at `time`."""
    at = curve.at
    after = -1
    b = curve.last[d]
    while at[b * SIZE] > time:
        after = b
        b = curve.chain[2 * b]
    i = first_after(at, b * SIZE, curve.chain[2 * b + 1], time)
    if at[b * SIZE + i - 1] == time:
        return
    if curve.chain[2 * b + 1] == SIZE:
        c = split(b, after, d, curve)
        if i > HALF:
            b = c
            i -= HALF
    base = b * SIZE
    for j in range(base + curve.chain[2 * b + 1], base + i, -1):
        at[j] = at[j - 1]
        curve.level[j] = curve.level[j - 1]
    at[base + i] = time
    curve.level[base + i] = curve.level[base + i - 1]
    curve.chain[2 * b + 1] += 1


@helper
def find_highest(d, curve):
    """Note the peak of d."""
    curve.highest[d] = 0.0
    b = curve.last[d]
    while b >= 0:
        if curve.block[2 * b] + curve.block[2 * b + 1] > curve.highest[d]:
            curve.highest[d] = curve.block[2 * b] + curve.block[2 * b + 1]
        b = curve.chain[2 * b]


@helper
def add_bytes(d, begin, end, size, curve):
    """Add `size` bytes on [begin, end) to the curve of d. O(blocks + SIZE)."""
    cut(d, begin, curve)
    if end < inf:
        cut(d, end, curve)
    at = curve.at
    block = curve.block
    lowered = False  # whether the highest block may be lower now
    b = curve.last[d]
    while at[b * SIZE + curve.chain[2 * b + 1] - 1] >= begin:
        base = b * SIZE
        stop = base + curve.chain[2 * b + 1]
        if at[base] < end:
            lowered = lowered or (size < 0.0 and block[2 * b] + block[2 * b + 1] >= curve.highest[d])
            if at[base] >= begin and at[stop - 1] < end:
                block[2 * b] += size
            else:
                for i in range(base, stop):
                    if begin <= at[i] < end:
                        curve.level[i] += size
                find_peak(b, curve)
            if block[2 * b] + block[2 * b + 1] > curve.highest[d]:
                curve.highest[d] = block[2 * b] + block[2 * b + 1]
        b = curve.chain[2 * b]
        if b < 0:
            break
    if lowered:
        find_highest(d, curve)


@inlined
def needed_for_ever(v, needs, eligible):
    """Bytes to reserve when v is placed: its own, or its group's when it is the first of it."""
    return 0.0 if group_home(v, eligible) >= 0 else needs.for_ever[v]


@inlined
def put_span(n, begin, end, size, spans):
    """Append a span to the first n. Returns their new number."""
    spans.begins[n] = begin
    spans.ends[n] = end
    spans.sizes[n] = size
    return n + 1


@inlined
def joins(t, d, plan, needs, held):
    """Whether tensor t, which is made on d, needs no bytes there, as it is in the storage of one that is made there and held."""
    if len(held.home) == 0:
        return False
    s = needs.storage[t]
    return s != t and plan.device[needs.root[t]] == d and held.waiting[s] > 0


@inlined
def bytes_made(t, needs, held):
    """Bytes of the memory that begins with tensor t."""
    return needs.tensor_bytes[t] if len(held.home) == 0 else needs.storage_bytes[t]


@helper
def last_to_read(i, v, pred, plan, d, held):
    """Whether op v, on d, is the last reader of the memory that its input i is held in, and reads no more of it after that."""
    h = held.home[pred.tensor[pred.edge[pred.ptr[v] + i]]]
    if held.waiting[h] > i + 1:
        return False
    reads = 0
    for j in range(i + 1):
        e = pred.edge[pred.ptr[v] + j]
        if plan.device[pred.producer[e]] == d and held.home[pred.tensor[e]] == h:
            reads += 1
    return held.waiting[h] == reads


@inlined
def give_back(h, device, needs, held, curve):
    """Give back the memory of tensor h, which `device` made (-1: not yet), if nothing waits for it any more. Returns whether."""
    if held.waiting[h] != 0 or device < 0:
        return False
    held.waiting[h] = -1
    held.eased[device] = 1
    if needs.storage_bytes[h] > 0.0:
        add_bytes(device, held.kept[h], inf, -needs.storage_bytes[h], curve)
    return True


@helper
def take_shared(v, d, finish, use, pred, plan, inputs, needs, held, curve):
    """The second half of take_memory where tensors share storages: what is read, and what that gives back."""
    k = len(needs.limit)
    for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
        h = needs.storage[t] if joins(t, d, plan, needs, held) else t
        held.home[t] = h
        held.kept[h] = max(held.kept[h], finish)
    for i in range(pred.ptr[v + 1] - pred.ptr[v]):
        e = pred.edge[pred.ptr[v] + i]
        t = pred.tensor[e]
        h = held.home[t]
        home = plan.device[pred.producer[e]]
        held.eased[home] = 1
        held.waiting[t] -= 1
        if needs.storage[t] != t:
            held.waiting[needs.storage[t]] -= 1
        held.kept[h] = max(held.kept[h], use if home == d else inputs.there[i])
        if home != d:
            began = held.copy_kept[t * k + d]
            held.copy_kept[t * k + d] = max(inputs.sent[i] if began < 0.0 else began, use)
            held.eased[d] = 1
    freed = False
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        t = pred.tensor[pred.edge[i]]
        s = needs.storage[t]
        if held.home[t] == t and give_back(t, plan.device[pred.producer[pred.edge[i]]], needs, held, curve):
            freed = True
        if s != t and give_back(s, plan.device[needs.root[t]], needs, held, curve):
            freed = True
    return freed


@helper
def spans_of(v, d, start, finish, pred, plan, inputs, needs, held, spans):
    """List what placing v on d adds there over time, and (negative) gives back; returns how many spans."""
    k = len(needs.limit)
    n = 0
    dynamic = needs.model == DYNAMIC
    use = finish if dynamic else start
    consumed = 0.0
    unused = 0.0
    for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
        if joins(t, d, plan, needs, held):
            continue
        if held.waiting[t] > 0:
            consumed += bytes_made(t, needs, held)
        else:
            unused += bytes_made(t, needs, held)
    if consumed != 0.0:
        n = put_span(n, start if dynamic else finish, inf, consumed, spans)
    if dynamic and start < finish and needs.temporary[v] + unused != 0.0:
        n = put_span(n, start, finish, needs.temporary[v] + unused, spans)
    for i in range(pred.ptr[v + 1] - pred.ptr[v]):
        e = pred.edge[pred.ptr[v] + i]
        t = pred.tensor[e]
        size = needs.tensor_bytes[t]
        if size == 0.0:
            continue
        if plan.device[pred.producer[e]] != d:
            begin = held.copy_kept[t * k + d]
            if begin < 0.0:
                begin = inputs.sent[i] if dynamic else inputs.there[i]
            if begin < use:
                n = put_span(n, begin, use, size, spans)
        elif len(held.home) > 0:
            h = held.home[t]
            if last_to_read(i, v, pred, plan, d, held):
                n = put_span(n, max(held.kept[h], use), inf, -needs.storage_bytes[h], spans)
        elif held.waiting[t] == 1:
            n = put_span(n, held.kept[t] if held.kept[t] > use else use, inf, -size, spans)
    return n


@helper
def put_cut(time, size, spans, n):
    """Add a change of `size` at `time` to n changes ascending in time. Returns their new number."""
    cuts = spans.cuts
    change = spans.change
    i = n
    while i > 0 and cuts[i - 1] > time:
        i -= 1
    if i > 0 and cuts[i - 1] == time:
        change[i - 1] += size
        return n
    for j in range(n, i, -1):
        cuts[j] = cuts[j - 1]
        change[j] = change[j - 1]
    cuts[i] = time
    change[i] = size
    return n + 1


@helper
def add_up(n, spans):
    """Cut the sum of n spans into pieces; returns (how many cuts, the highest piece)."""
    c = 0
    for i in range(n):
        c = put_cut(spans.begins[i], spans.sizes[i], spans, c)
        c = put_cut(spans.ends[i], -spans.sizes[i], spans, c)
    most = 0.0
    for i in range(1, c):
        spans.change[i] += spans.change[i - 1]
    for i in range(c - 1):
        if spans.change[i] > most:
            most = spans.change[i]
    return c, most


@helper
def next_start(d, start, length, bound, c, model, curve, spans):
    """`start` if every piece between two of c cuts, on top of d's curve, is within `bound`, else the next time to try."""
    at = curve.at
    chain = curve.chain
    block = curve.block
    b = curve.last[d]
    base = b * SIZE
    x = base + chain[2 * b + 1] - 1
    until = inf  # when the step x ends
    for i in range(c - 2, -1, -1):  # the last piece first
        more = spans.change[i]
        if curve.highest[d] + more <= bound:
            continue
        while True:
            before_end = at[x] < spans.cuts[i + 1]
            if before_end and curve.level[x] + block[2 * b] + more > bound:
                if spans.cuts[i] < start:
                    return inf
                return max(until - length if model == EDGES else until, nextafter(start, inf))
            if at[x] <= spans.cuts[i]:
                break
            # from here to the block's first step nothing is too high, or nothing is in the piece
            skip = block[2 * b] + block[2 * b + 1] + more <= bound or at[base] >= spans.cuts[i + 1]
            if x == base or (skip and at[base] > spans.cuts[i]):
                until = at[base]
                b = chain[2 * b]
                base = b * SIZE
                x = base + chain[2 * b + 1] - 1
            else:
                until = at[x]
                x -= 1
    return start


@helper
def next_fit(v, d, start, length, pred, eligible, plan, inputs, needs, held, curve, spans):
    """`start` if v fits on d from then on, else the next time to try; infinite when no later start will do.

    O(inputs²) where it surely fits (less where times are in order), else O(steps from the first transfer to v on) more.
    """
    if needs.model == FREE:
        return start
    forever = needed_for_ever(v, needs, eligible)
    bound = needs.limit[d] - held.reserved[d] - forever
    if bound < 0.0:
        return inf
    if needs.model == RESERVED:
        return start
    if forever > 0.0 and curve.highest[d] > bound:
        return inf
    n = spans_of(v, d, start, start + length, pred, plan, inputs, needs, held, spans)
    c, most = add_up(n, spans)
    if c == 0 or curve.highest[d] + most <= bound:
        return start
    return next_start(d, start, length, bound, c, needs.model, curve, spans)


@inlined
def earliest_fit(v, d, start, length, pred, eligible, plan, inputs, needs, held, curve, spans):
    """Earliest time from `start` on at which v fits on d, if d is idle from `start` on; infinite when there is none."""
    while start < inf:
        fits = next_fit(v, d, start, length, pred, eligible, plan, inputs, needs, held, curve, spans)
        if fits == start:
            break
        start = fits
    return start


@helper
def take_memory(v, d, start, finish, pred, eligible, plan, inputs, needs, held, curve, spans):
    """Take the memory of v on d, and give back that of tensors whose last consumer it is. Returns whether any came back.

    Sets ``held.eased[e] = 1`` where an op may now fit on e that did not, or start there sooner: bytes came back, a tensor's copy
    is there already, its last consumer is left, or its group is. Other entries stay as they are.
    """
    k = len(needs.limit)
    freed = False
    if needs.model == FREE:
        return freed
    held.reserved[d] += needed_for_ever(v, needs, eligible)
    if eligible.group[v] >= 0:
        held.eased[d] = 1
    if needs.model == RESERVED:
        return freed
    n = spans_of(v, d, start, finish, pred, plan, inputs, needs, held, spans)
    for i in range(n):
        if len(held.home) > 0 and spans.sizes[i] < 0.0:
            continue  # until it is known when the last output that is held there ends
        add_bytes(d, spans.begins[i], spans.ends[i], spans.sizes[i], curve)
        if spans.sizes[i] < 0.0:
            freed = True
            held.eased[d] = 1
    use = finish if needs.model == DYNAMIC else start
    if len(held.home) > 0:
        return take_shared(v, d, finish, use, pred, plan, inputs, needs, held, curve)
    for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
        held.kept[t] = finish
    for i in range(pred.ptr[v + 1] - pred.ptr[v]):
        e = pred.edge[pred.ptr[v] + i]
        t = pred.tensor[e]
        home = plan.device[pred.producer[e]]
        held.waiting[t] -= 1
        held.kept[t] = max(held.kept[t], use if home == d else inputs.there[i])
        if held.waiting[t] == 1:
            held.eased[home] = 1
        if home != d:
            began = held.copy_kept[t * k + d]
            held.copy_kept[t * k + d] = max(inputs.sent[i] if began < 0.0 else began, use)
            if held.waiting[t] > 0:
                held.eased[d] = 1
            elif needs.tensor_bytes[t] > 0.0:
                add_bytes(home, held.kept[t], inf, -needs.tensor_bytes[t], curve)
                freed = True
                held.eased[home] = 1
    return freed


# -------------------------------------------------------------------- what waited


@kernel
def memory_waits(device, start, finish, producer, succ, network, there, planned, last, possible, waits):
    """When the plan lets each op start that waited for memory, 0 for the others, to `waits`; returns whether any has waited.

    An op could have started when its inputs are there and the op before it on its device has ended. ``there[t * devices + d]``:
    when tensor t is on device d, where transfers waited for links; without it a transfer leaves when its producer ends.
    Workspace: `last`, `possible`. O(ops + edges).
    """
    k = len(network.send)
    for v in range(len(device)):
        possible[v] = 0.0
    for e in range(len(producer)):
        u = producer[e]
        v = succ.consumer[e]
        link = device[u] * k + device[v]
        came = finish[u] + network.delay[link] + succ.bytes[e] / network.bandwidth[link]
        if len(there) > 0 and device[u] != device[v]:
            came = there[succ.tensor[e] * k + device[v]]
        if came > possible[v]:
            possible[v] = came
    for d in range(k):
        last[d] = -1
    for i in range(len(planned)):
        v = planned[i]
        before = last[device[v]]
        if before >= 0 and finish[before] > possible[v]:
            possible[v] = finish[before]
        last[device[v]] = v
    waited = False
    for v in range(len(device)):
        waits[v] = 0.0
        if start[v] > possible[v]:
            waits[v] = start[v]
            waited = True
    return waited
