"""Count the memory that is in use while a simulation runs, and decide whether an op has room; only where ops wait for it.

Where tensors share storages, `home` counts by storage: what still reads or takes any tensor of it and, under ``dynamic``, the
ops that are still to make one.
"""

from placelab.kernels.blocks import DYNAMIC, EDGES, FREE
from placelab.kernels.jit import helper, inlined


@helper
def freed_inputs(v, pred, of_edge, tensor_bytes, use):
    """Bytes that op v is the last on its device to hold."""
    if len(use.storage) > 0:
        return freed_storages(v, pred, of_edge, tensor_bytes, use)
    total = 0.0
    reads = 0
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        reads += 1  # an op that reads a tensor twice has two edges, side by side
        if i + 1 < pred.ptr[v + 1] and pred.tensor[pred.edge[i + 1]] == pred.tensor[e]:
            continue
        x = of_edge[e]
        if (use.copy[x] if x >= 0 else use.home[pred.tensor[e]]) == reads:
            total += tensor_bytes[pred.tensor[e]]
        reads = 0
    return total


@helper
def release_inputs(v, pred, of_edge, tensor_bytes, use):
    """Let go of the inputs of op v. Returns the bytes that frees on its device."""
    total = 0.0
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        x = of_edge[e]
        t = pred.tensor[e]
        if x >= 0:
            use.copy[x] -= 1
            left = use.copy[x]
        else:
            if len(use.storage) > 0:
                t = use.storage[t]
            use.home[t] -= 1
            left = use.home[t]
        if left == 0:
            total += use.size[t] if x < 0 and len(use.storage) > 0 else tensor_bytes[t]
    return total


@helper
def freed_storages(v, pred, of_edge, tensor_bytes, use):
    """As freed_inputs where tensors share storages, of which op v may read several tensors."""
    total = 0.0
    reads = 0  # of a copy, by edges side by side
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        e = pred.edge[i]
        t = pred.tensor[e]
        x = of_edge[e]
        if x >= 0:
            reads = reads + 1 if i > pred.ptr[v] and of_edge[pred.edge[i - 1]] == x else 1
            if use.copy[x] == reads:
                total += tensor_bytes[t]
        else:
            s = use.storage[t]
            use.reads[s] += 1
            if use.reads[s] == use.home[s]:
                total += use.size[s]
    for i in range(pred.ptr[v], pred.ptr[v + 1]):
        if of_edge[pred.edge[i]] < 0:
            use.reads[use.storage[pred.tensor[pred.edge[i]]]] = 0
    return total


@helper
def new_outputs(v, starts, needs, use):
    """Bytes that the outputs of op v take; those of a storage that is there already take none. `starts`: take them."""
    if len(use.storage) == 0:
        return needs.outputs[v]
    total = 0.0
    for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
        s = use.storage[t]
        if use.begun[s] == 0 and use.home[s] > 0:
            use.begun[s] = 1
            use.reads[s] = 1  # by v
            total += use.size[s]
    for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
        s = use.storage[t]
        if use.reads[s] == 1 and not starts:
            use.begun[s] = 0
        use.reads[s] = 0
    return total


@helper
def has_room(v, d, pred, of_edge, needs, use):
    """Whether device d has room for op v now, where memory is a limit."""
    if needs.model == DYNAMIC:
        return use.bytes[d] + needs.temporary[v] + new_outputs(v, False, needs, use) <= needs.limit[d]
    freed = freed_inputs(v, pred, of_edge, needs.tensor_bytes, use)
    return use.bytes[d] - freed + new_outputs(v, False, needs, use) <= needs.limit[d]


@inlined
def fits(v, d, pred, of_edge, memory):
    """Whether op v would have room on device d if it started now."""
    return memory.needs.model == FREE or has_room(v, d, pred, of_edge, memory.needs, memory.use)


@inlined
def take_room(v, d, pred, of_edge, memory):
    """Count what op v, which starts on device d, takes and lets go of."""
    needs, use = memory
    if needs.model == EDGES:
        use.bytes[d] -= release_inputs(v, pred, of_edge, needs.tensor_bytes, use)
        use.bytes[d] += new_outputs(v, True, needs, use)  # reserved until they appear
    elif needs.model == DYNAMIC:
        use.bytes[d] += needs.temporary[v] + new_outputs(v, True, needs, use)


@inlined
def leave_room(v, d, pred, of_edge, memory):
    """Count what op v, which ends on device d, gives back."""
    needs, use = memory
    if needs.model == DYNAMIC:
        use.bytes[d] -= needs.temporary[v]
        use.bytes[d] -= release_inputs(v, pred, of_edge, needs.tensor_bytes, use)
        for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
            if len(use.storage) > 0:
                s = use.storage[t]
                use.home[s] -= 1
                if use.home[s] == 0:
                    use.bytes[d] -= use.size[s]
            elif use.home[t] == 0:
                use.bytes[d] -= needs.tensor_bytes[t]


@inlined
def begin_copy(t, d, memory):
    """Count the copy of tensor t that begins to travel to device d."""
    if memory.needs.model == DYNAMIC:
        memory.use.bytes[d] += memory.needs.tensor_bytes[t]


@inlined
def end_copy(t, s, d, memory):
    """Count the copy of tensor t that has come from device s to d. Memory is a limit."""
    needs, use = memory
    if needs.model == EDGES:
        use.bytes[d] += needs.tensor_bytes[t]
    h = t if len(use.storage) == 0 else use.storage[t]
    use.home[h] -= 1
    if use.home[h] == 0:
        use.bytes[s] -= needs.tensor_bytes[t] if len(use.storage) == 0 else use.size[h]
