"""When has a device room for one more op? Memory over time of a plan that grows, as helpers of kernels that plan.

What :class:`placelab.planning.memory_plan.MemoryPlan` does op by op, with the same sums in the same order; its docstrings say
what holds memory when. A kernel takes the block ``*fixed, *plan`` of :func:`placelab.planning.memory_plan.room_arguments`:

``model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor``
    What is fixed. ``for_ever[v]``: bytes that op v, or the first op of its group, takes for the whole run.
``reserved, waiting, kept, copy_kept``
    Bytes taken for ever on each device; consumers of each tensor that are not placed; when its home is done with a tensor
    as far as known; the same for the copy of tensor t on device d, ``copy_kept[t * k + d]``, -1 where there is none.
``last, chain, top, highest, at, level, block``
    A step curve of bytes per device, in blocks of at most ``SIZE`` steps, so that adding to a long span is cheap. Block b
    holds steps ``b * SIZE`` on, ``chain[2 * b + 1]`` of them: from ``at[i]`` on, ``level[i] + block[2 * b]`` bytes are in use,
    in the block at most ``block[2 * b + 1] + block[2 * b]``, on the device ``highest[d]``. ``last[d]`` is the last block of d,
    ``chain[2 * b]`` the one before b, ``top[0]`` how many there are.
``begins, ends, sizes, cuts, change``
    Workspace, as long as two inputs more than an op has, the last two twice that.

The order of calls, after :func:`clear_room`, for an op v: times of its inputs into ``sent[i], arrives[i]``, as if v ran on d
(input i is edge ``pred_edge[pred_ptr[v] + i]``; see :mod:`placelab.kernels.planned_transfers`); :func:`start_with_room`; once
decided, :func:`take_room`; only then ``device[v]`` and the group's device are set.
"""

from math import inf, nextafter

from placelab.kernels.codes import DYNAMIC, EDGES, FREE, RESERVED
from placelab.kernels.jit import helper
from placelab.kernels.list_schedule import first_after

SIZE, HALF = 128, 64  # steps of a block


@helper
def clear_room(reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, edge_tensor):
    """An empty plan: every curve one step of 0 bytes."""
    for t in range(len(waiting)):
        waiting[t] = 0
        kept[t] = 0.0
    for i in range(len(copy_kept)):
        copy_kept[i] = -1.0
    if len(waiting) > 0:
        for e in range(len(edge_tensor)):
            waiting[edge_tensor[e]] += 1
    top[0] = len(reserved)
    for d in range(len(reserved)):
        reserved[d] = 0.0
        last[d] = d
        chain[2 * d] = -1
        chain[2 * d + 1] = 1
        highest[d] = 0.0
        at[d * SIZE] = 0.0
        level[d * SIZE] = 0.0
        block[2 * d] = 0.0
        block[2 * d + 1] = 0.0


@helper
def find_peak(b, chain, level, block):
    """Note the highest level of block b."""
    most = level[b * SIZE]
    for i in range(b * SIZE + 1, b * SIZE + chain[2 * b + 1]):
        if level[i] > most:
            most = level[i]
    block[2 * b + 1] = most


@helper
def cut(d, time, last, chain, top, at, level, block):
    """Let a step of d begin at `time`."""
    after = -1
    b = last[d]
    while at[b * SIZE] > time:
        after = b
        b = chain[2 * b]
    i = first_after(at, b * SIZE, chain[2 * b + 1], time)
    if at[b * SIZE + i - 1] == time:
        return
    if chain[2 * b + 1] == SIZE:  # its second half becomes a block of its own
        c = top[0]
        top[0] += 1
        for j in range(HALF):
            at[c * SIZE + j] = at[b * SIZE + HALF + j]
            level[c * SIZE + j] = level[b * SIZE + HALF + j]
        chain[2 * c] = b
        chain[2 * c + 1] = HALF
        chain[2 * b + 1] = HALF
        block[2 * c] = block[2 * b]
        if after < 0:
            last[d] = c
        else:
            chain[2 * after] = c
        find_peak(b, chain, level, block)
        find_peak(c, chain, level, block)
        if i > HALF:
            b = c
            i -= HALF
    base = b * SIZE
    for j in range(base + chain[2 * b + 1], base + i, -1):
        at[j] = at[j - 1]
        level[j] = level[j - 1]
    at[base + i] = time
    level[base + i] = level[base + i - 1]
    chain[2 * b + 1] += 1


@helper
def add_bytes(d, begin, end, size, last, chain, top, highest, at, level, block):
    """Add `size` bytes on [begin, end) to the curve of d. O(blocks + SIZE)."""
    cut(d, begin, last, chain, top, at, level, block)
    if end < inf:
        cut(d, end, last, chain, top, at, level, block)
    lowered = False  # whether the highest block may be lower now
    b = last[d]
    while at[b * SIZE + chain[2 * b + 1] - 1] >= begin:
        base = b * SIZE
        stop = base + chain[2 * b + 1]
        if at[base] < end:
            lowered = lowered or (size < 0.0 and block[2 * b] + block[2 * b + 1] >= highest[d])
            if at[base] >= begin and at[stop - 1] < end:
                block[2 * b] += size
            else:
                for i in range(base, stop):
                    if begin <= at[i] < end:
                        level[i] += size
                find_peak(b, chain, level, block)
            if block[2 * b] + block[2 * b + 1] > highest[d]:
                highest[d] = block[2 * b] + block[2 * b + 1]
        b = chain[2 * b]
        if b < 0:
            break
    if lowered:
        highest[d] = 0.0
        b = last[d]
        while b >= 0:
            if block[2 * b] + block[2 * b + 1] > highest[d]:
                highest[d] = block[2 * b] + block[2 * b + 1]
            b = chain[2 * b]


@helper
def needed_for_ever(v, for_ever, group, group_device):
    """Bytes to reserve when v is placed: its own, or its group's when it is the first of it."""
    g = group[v]
    return 0.0 if g >= 0 and group_device[g] >= 0 else for_ever[v]


@helper
def spans_of(
    v, d, start, finish, pred_ptr, pred_edge, producer, device, sent, arrives,
    model, limit, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, waiting, kept, copy_kept, begins, ends, sizes,
):  # fmt: skip
    """What placing v on d adds there over time, and (negative) gives back; returns how many spans."""
    k = len(limit)
    n = 0
    dynamic = model == DYNAMIC
    use = finish if dynamic else start
    consumed = 0.0
    unused = 0.0
    for t in range(op_tensor_ptr[v], op_tensor_ptr[v + 1]):
        if waiting[t] > 0:
            consumed += tensor_bytes[t]
        else:
            unused += tensor_bytes[t]
    if consumed != 0.0:
        begins[n] = start if dynamic else finish
        ends[n] = inf
        sizes[n] = consumed
        n += 1
    if dynamic and start < finish and temporary[v] + unused != 0.0:
        begins[n] = start
        ends[n] = finish
        sizes[n] = temporary[v] + unused
        n += 1
    for i in range(pred_ptr[v + 1] - pred_ptr[v]):
        e = pred_edge[pred_ptr[v] + i]
        t = edge_tensor[e]
        if tensor_bytes[t] == 0.0:
            continue
        if device[producer[e]] != d:
            begin = copy_kept[t * k + d]
            if begin < 0.0:
                begin = sent[i] if dynamic else arrives[i]
            if begin < use:
                begins[n] = begin
                ends[n] = use
                sizes[n] = tensor_bytes[t]
                n += 1
        elif waiting[t] == 1:
            begins[n] = kept[t] if kept[t] > use else use
            ends[n] = inf
            sizes[n] = -tensor_bytes[t]
            n += 1
    return n


@helper
def put_cut(time, size, cuts, change, n):
    """Add a change of `size` at `time` to n changes ascending in time. Returns their new number."""
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
def next_time_to_try(
    v, d, start, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
):  # fmt: skip
    """`start` if v has room on d from then on, else the next time to try; infinite when no later start will do.

    O(inputs²) where it surely fits (less where times are in order), else O(steps from the first transfer to v on) more.
    """
    if model == FREE:
        return start
    forever = needed_for_ever(v, for_ever, group, group_device)
    bound = limit[d] - reserved[d] - forever
    if bound < 0.0:
        return inf
    if model == RESERVED:
        return start
    if forever > 0.0 and highest[d] > bound:
        return inf
    n = spans_of(
        v, d, start, start + length, pred_ptr, pred_edge, producer, device, sent, arrives,
        model, limit, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, waiting, kept, copy_kept, begins, ends, sizes,
    )  # fmt: skip
    c = 0
    for i in range(n):
        c = put_cut(begins[i], sizes[i], cuts, change, c)
        c = put_cut(ends[i], -sizes[i], cuts, change, c)
    most = 0.0
    for i in range(1, c):
        change[i] += change[i - 1]
    for i in range(c - 1):
        if change[i] > most:
            most = change[i]
    if c == 0 or highest[d] + most <= bound:
        return start
    b = last[d]
    base = b * SIZE
    x = base + chain[2 * b + 1] - 1
    until = inf  # when the step x ends
    for i in range(c - 2, -1, -1):  # pieces between two cuts, the last one first
        if highest[d] + change[i] <= bound:
            continue
        while True:
            before_end = at[x] < cuts[i + 1]
            if before_end and level[x] + block[2 * b] + change[i] > bound:
                if cuts[i] < start:
                    return inf
                return max(until - length if model == EDGES else until, nextafter(start, inf))
            if at[x] <= cuts[i]:
                break
            # from here to the block's first step nothing is too high, or nothing is in the piece
            skip = block[2 * b] + block[2 * b + 1] + change[i] <= bound or at[base] >= cuts[i + 1]
            if x == base or (skip and at[base] > cuts[i]):
                until = at[base]
                b = chain[2 * b]
                base = b * SIZE
                x = base + chain[2 * b + 1] - 1
            else:
                until = at[x]
                x -= 1
    return start


@helper
def start_with_room(
    v, d, start, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
):  # fmt: skip
    """Earliest time from `start` on at which v has room on d, if d is idle from `start` on; infinite when there is none."""
    while start < inf:
        fits = next_time_to_try(
            v, d, start, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
            model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
            reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
        )  # fmt: skip
        if fits == start:
            break
        start = fits
    return start


@helper
def take_room(
    v, d, start, finish, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    reserved, waiting, kept, copy_kept, last, chain, top, highest, at, level, block, begins, ends, sizes, cuts, change,
    eased,
):  # fmt: skip
    """Take the room of v on d, and give back that of tensors whose last consumer it is. Returns whether any came back.

    Result ``eased[e] = 1``: an op may now have room on e that had none, or start there sooner: bytes came back, a tensor's copy
    is there already, its last consumer is left, or its group is. Other entries stay as they are.
    """
    k = len(limit)
    freed = False
    if model == FREE:
        return freed
    reserved[d] += needed_for_ever(v, for_ever, group, group_device)
    if group[v] >= 0:
        eased[d] = 1
    if model == RESERVED:
        return freed
    n = spans_of(
        v, d, start, finish, pred_ptr, pred_edge, producer, device, sent, arrives,
        model, limit, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, waiting, kept, copy_kept, begins, ends, sizes,
    )  # fmt: skip
    for i in range(n):
        add_bytes(d, begins[i], ends[i], sizes[i], last, chain, top, highest, at, level, block)
        if sizes[i] < 0.0:
            freed = True
            eased[d] = 1
    for t in range(op_tensor_ptr[v], op_tensor_ptr[v + 1]):
        kept[t] = finish
    use = finish if model == DYNAMIC else start
    for i in range(pred_ptr[v + 1] - pred_ptr[v]):
        e = pred_edge[pred_ptr[v] + i]
        t = edge_tensor[e]
        home = device[producer[e]]
        waiting[t] -= 1
        kept[t] = max(kept[t], use if home == d else arrives[i])
        if waiting[t] == 1:
            eased[home] = 1
        if home != d:
            began = copy_kept[t * k + d]
            copy_kept[t * k + d] = max(sent[i] if began < 0.0 else began, use)
            if waiting[t] > 0:
                eased[d] = 1
            elif tensor_bytes[t] > 0.0:
                add_bytes(home, kept[t], inf, -tensor_bytes[t], last, chain, top, highest, at, level, block)
                freed = True
                eased[home] = 1
    return freed
