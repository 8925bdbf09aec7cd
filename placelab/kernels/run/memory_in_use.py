"""Count the memory that is in use while a simulation runs, and decide whether an op has room; only where ops wait for it."""

from placelab.kernels.codes import DYNAMIC, EDGES, FREE
from placelab.kernels.jit import helper, inlined


@helper
def freed_inputs(v, pred, of_edge, tensor_bytes, use):
    """Bytes that op v is the last on its device to hold."""
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
            use.home[t] -= 1
            left = use.home[t]
        if left == 0:
            total += tensor_bytes[t]
    return total


@helper
def has_room(v, d, pred, of_edge, needs, use):
    """Whether device d has room for op v now, where memory is a limit."""
    if needs.model == DYNAMIC:
        return use.bytes[d] + needs.temporary[v] + needs.outputs[v] <= needs.limit[d]
    freed = freed_inputs(v, pred, of_edge, needs.tensor_bytes, use)
    return use.bytes[d] - freed + needs.outputs[v] <= needs.limit[d]


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
        use.bytes[d] += needs.outputs[v]  # reserved until they appear
    elif needs.model == DYNAMIC:
        use.bytes[d] += needs.temporary[v] + needs.outputs[v]


@inlined
def leave_room(v, d, pred, of_edge, memory):
    """Count what op v, which ends on device d, gives back."""
    needs, use = memory
    if needs.model == DYNAMIC:
        use.bytes[d] -= needs.temporary[v]
        use.bytes[d] -= release_inputs(v, pred, of_edge, needs.tensor_bytes, use)
        for t in range(needs.tensor_ptr[v], needs.tensor_ptr[v + 1]):
            if use.home[t] == 0:
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
    use.home[t] -= 1
    if use.home[t] == 0:
        use.bytes[s] -= needs.tensor_bytes[t]
