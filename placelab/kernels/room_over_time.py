"""When has a device room for one more op? Memory over time of a plan that grows, as helpers of kernels that plan.

What :class:`placelab.memory_plan.MemoryPlan` does op by op, with the same sums in the same order; its docstrings say what
holds memory when. A kernel takes the block ``*fixed, *plan`` of :func:`placelab.memory_plan.room_arguments`:

``model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor``
    What is fixed. ``for_ever[v]``: bytes that op v, or the first op of its group, takes for the whole run.
``reserved, waiting, kept, copy_kept``
    Bytes taken for ever on each device; consumers of each tensor that are not placed; when its home is done with a tensor
    as far as known; the same for the copy of tensor t on device d, ``copy_kept[t * k + d]``, -1 where there is none.
``first, steps, space, top, at, level, high``
    A step curve of bytes per device: from ``at[i]`` on, ``level[i]`` are in use, and ``high[i]`` is the largest level up to
    there, for i from ``first[d]`` on, ``steps[d]`` of them, with ``space[d]`` places; ``top[0]`` places are given away.
``begins, ends, sizes, cuts, change``
    Workspace, as long as two inputs more than an op has, the last two twice that.

The order of calls, after :func:`clear_room`, for an op v: times of its inputs into ``sent[i], arrives[i]``, as if v ran on d
(input i is edge ``pred_edge[pred_ptr[v] + i]``; see :mod:`placelab.kernels.planned_transfers`); :func:`start_with_room`; once
decided, :func:`take_room`; only then ``device[v]`` and the group's device are set.
"""

from math import inf, nextafter

from placelab.kernels.jit import helper
from placelab.kernels.list_schedule import first_after

FREE, EDGES, DYNAMIC, RESERVED = 0, 1, 2, 3  # memory models, the first three numbered as in events.py


@helper
def clear_room(reserved, waiting, kept, copy_kept, first, steps, space, top, at, level, high, edge_tensor):
    """An empty plan: every curve one step of 0 bytes."""
    k = len(reserved)
    for t in range(len(waiting)):
        waiting[t] = 0
        kept[t] = 0.0
    for i in range(len(copy_kept)):
        copy_kept[i] = -1.0
    if len(waiting) > 0:
        for e in range(len(edge_tensor)):
            waiting[edge_tensor[e]] += 1
    for d in range(k):
        reserved[d] = 0.0
        first[d] = 4 * d
        steps[d] = 1
        space[d] = 4
        at[4 * d] = 0.0
        level[4 * d] = 0.0
        high[4 * d] = 0.0
    top[0] = 4 * k


@helper
def step_at(d, time, first, steps, space, top, at, level, high):
    """Index of the step of d that begins at `time`, counted from the curve's first; made where there is none."""
    base = first[d]
    i = first_after(at, base, steps[d], time)
    if at[base + i - 1] == time:
        return i - 1
    if steps[d] == space[d]:  # moves to the end, with twice the space
        first[d] = top[0]
        space[d] *= 2
        top[0] += space[d]
        for j in range(steps[d]):
            at[first[d] + j] = at[base + j]
            level[first[d] + j] = level[base + j]
            high[first[d] + j] = high[base + j]
        base = first[d]
    for j in range(base + steps[d], base + i, -1):
        at[j] = at[j - 1]
        level[j] = level[j - 1]
        high[j] = high[j - 1]
    at[base + i] = time
    level[base + i] = level[base + i - 1]
    high[base + i] = high[base + i - 1]
    steps[d] += 1
    return i


@helper
def add_bytes(d, begin, end, size, first, steps, space, top, at, level, high):
    """Add `size` bytes on [begin, end) to the curve of d. O(steps after `begin`)."""
    i = step_at(d, begin, first, steps, space, top, at, level, high)
    j = steps[d]
    if end < inf:
        j = step_at(d, end, first, steps, space, top, at, level, high)
    base = first[d]
    for x in range(base + i, base + j):
        level[x] += size
    most = 0.0
    if i > 0:
        most = high[base + i - 1]
    for x in range(base + i, base + steps[d]):
        if level[x] > most:
            most = level[x]
        high[x] = most


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
    reserved, waiting, kept, copy_kept, first, steps, space, top, at, level, high, begins, ends, sizes, cuts, change,
):  # fmt: skip
    """`start` if v has room on d from then on, else the next time to try; infinite when no later start will do.

    O(steps of the curve from the first transfer to v on + inputs²), the second where times are in no order.
    """
    forever = needed_for_ever(v, for_ever, group, group_device)
    bound = limit[d] - reserved[d] - forever
    if bound < 0.0:
        return inf
    if model == RESERVED:
        return start
    base = first[d]
    if forever > 0.0 and high[base + steps[d] - 1] > bound:
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
    last = base + steps[d] - 1
    if c == 0 or high[last] + most <= bound:
        return start
    x = base + first_after(at, base, steps[d], cuts[c - 1]) - 1
    for i in range(c - 2, -1, -1):  # pieces between two cuts, the last one first
        while at[x] >= cuts[i + 1]:
            x -= 1
        while level[x] + change[i] <= bound and at[x] > cuts[i]:
            x -= 1
        if level[x] + change[i] > bound:
            if cuts[i] < start:
                return inf
            retry = at[x + 1] if x < last else inf
            if model == EDGES:
                retry -= length
            return max(retry, nextafter(start, inf))
    return start


@helper
def start_with_room(
    v, d, start, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    reserved, waiting, kept, copy_kept, first, steps, space, top, at, level, high, begins, ends, sizes, cuts, change,
):  # fmt: skip
    """Earliest time from `start` on at which v has room on d, if d is idle from `start` on; infinite when there is none."""
    while start < inf:
        fits = next_time_to_try(
            v, d, start, length, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
            model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
            reserved, waiting, kept, copy_kept, first, steps, space, top, at, level, high, begins, ends, sizes, cuts, change,
        )  # fmt: skip
        if fits == start:
            break
        start = fits
    return start


@helper
def take_room(
    v, d, start, finish, pred_ptr, pred_edge, producer, group, group_device, device, sent, arrives,
    model, limit, for_ever, temporary, op_tensor_ptr, tensor_bytes, edge_tensor,
    reserved, waiting, kept, copy_kept, first, steps, space, top, at, level, high, begins, ends, sizes, cuts, change,
    eased,
):  # fmt: skip
    """Take the room of v on d, and give back that of tensors whose last consumer it is. Returns whether any came back.

    Result ``eased[e] = 1``: an op may now have room on e that had none, or start there sooner: bytes came back, a tensor's copy
    is there already, its last consumer is left, or its group is. Other entries stay as they are.
    """
    k = len(limit)
    reserved[d] += needed_for_ever(v, for_ever, group, group_device)
    freed = False
    if group[v] >= 0:
        eased[d] = 1
    if model == RESERVED:
        return freed
    n = spans_of(
        v, d, start, finish, pred_ptr, pred_edge, producer, device, sent, arrives,
        model, limit, temporary, op_tensor_ptr, tensor_bytes, edge_tensor, waiting, kept, copy_kept, begins, ends, sizes,
    )  # fmt: skip
    for i in range(n):
        add_bytes(d, begins[i], ends[i], sizes[i], first, steps, space, top, at, level, high)
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
                add_bytes(home, kept[t], inf, -tensor_bytes[t], first, steps, space, top, at, level, high)
                freed = True
                eased[home] = 1
    return freed
