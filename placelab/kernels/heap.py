"""Binary heaps in flat arrays, shared by the kernels."""

from placelab.kernels.jit import helper


@helper
def push_event(heap, size, time, code):
    """As :func:`push_entry`, of the only heap in an array. Returns the new size."""
    push_entry(heap, 0, size, time, code)
    return size + 1


@helper
def pop_event(heap, size):
    """As :func:`pop_entry`, of the only heap in an array. Returns the new size."""
    pop_entry(heap, 0, size)
    return size - 1


@helper
def push_entry(heap, base, size, time, code):
    """Add (time, code), ordered by time, then code, to a heap of `size` entries.

    Entry number i of it is ``heap[2 * (base + i)], heap[2 * (base + i) + 1]``.
    """
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        j = 2 * (base + parent)
        t = heap[j]
        if t < time or (t == time and heap[j + 1] < code):
            break
        heap[2 * (base + i)] = t
        heap[2 * (base + i) + 1] = heap[j + 1]
        i = parent
    heap[2 * (base + i)] = time
    heap[2 * (base + i) + 1] = code


@helper
def pop_entry(heap, base, size):
    """Remove the first entry (read it from ``heap[2 * base], heap[2 * base + 1]`` before) of a heap of `size` entries.

    The hole at the top sinks to a leaf along the earlier children, and the last entry rises from there, rarely far. Which
    child is earlier no processor can predict: it is computed, not branched on.
    """
    start = 2 * base
    last = start + 2 * (size - 1)
    time = heap[last]
    code = heap[last + 1]
    i = start  # i, child and parent count array entries, two per entry of the heap
    child = start + 2
    while child + 2 <= last:
        left = heap[child]
        right = heap[child + 2]
        if left == right:
            child += 2 * (heap[child + 3] < heap[child + 1])
        else:
            child += 2 * (right < left)
        heap[i] = heap[child]
        heap[i + 1] = heap[child + 1]
        i = child
        child = 2 * (i - start) + 2 + start
    while i > start:
        parent = ((i - start - 2) >> 2 << 1) + start
        t = heap[parent]
        if t < time or (t == time and heap[parent + 1] < code):
            break
        heap[i] = t
        heap[i + 1] = heap[parent + 1]
        i = parent
    heap[i] = time
    heap[i + 1] = code


@helper
def push_key(heap, base, size, key):
    """Add a whole-number key to the heap in ``heap[base:base + size]``, smallest first."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        k = heap[base + parent]
        if k < key:
            break
        heap[base + i] = k
        i = parent
    heap[base + i] = key


@helper
def pop_key(heap, base, size):
    """Remove the smallest key (read it from ``heap[base]`` before) of a heap of `size` keys; as in :func:`pop_entry`."""
    last = size - 1
    key = heap[base + last]
    i = 0
    child = 1
    while child + 1 <= last:
        child += heap[base + child + 1] < heap[base + child]
        heap[base + i] = heap[base + child]
        i = child
        child = 2 * i + 1
    while i > 0:
        parent = (i - 1) >> 1
        k = heap[base + parent]
        if k < key:
            break
        heap[base + i] = k
        i = parent
    heap[base + i] = key
