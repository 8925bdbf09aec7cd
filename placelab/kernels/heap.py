"""Binary heaps in flat arrays, shared by the kernels."""

from placelab.kernels.jit import helper


@helper
def push_event(heap, size, time, code):
    """Add (time, code) to an event heap, ``heap[2 * i], heap[2 * i + 1]``; ordered by time, then code. Returns the new size."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        t = heap[2 * parent]
        if t < time or (t == time and heap[2 * parent + 1] < code):
            break
        heap[2 * i] = t
        heap[2 * i + 1] = heap[2 * parent + 1]
        i = parent
    heap[2 * i] = time
    heap[2 * i + 1] = code
    return size + 1


@helper
def pop_event(heap, size):
    """Remove the first event (read it from ``heap[0], heap[1]`` before). Returns the new size."""
    size -= 1
    if size == 0:
        return size
    time = heap[2 * size]
    code = heap[2 * size + 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        t = heap[2 * child]
        if child + 1 < size:
            right = heap[2 * child + 2]
            if right < t or (right == t and heap[2 * child + 3] < heap[2 * child + 1]):
                child += 1
                t = right
        if time < t or (time == t and code < heap[2 * child + 1]):
            break
        heap[2 * i] = t
        heap[2 * i + 1] = heap[2 * child + 1]
        i = child
    heap[2 * i] = time
    heap[2 * i + 1] = code
    return size


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
    """Remove the smallest key (read it from ``heap[base]`` before) of a heap of `size` keys."""
    size -= 1
    if size == 0:
        return
    key = heap[base + size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        k = heap[base + child]
        if child + 1 < size:
            right = heap[base + child + 1]
            if right < k:
                k = right
                child += 1
        if key < k:
            break
        heap[base + i] = k
        i = child
    heap[base + i] = key
