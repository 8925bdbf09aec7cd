"""Ops that must run on one device: how late one of them is at least."""

from math import inf

from placelab.kernels.heap import pop_event, push_event
from placelab.kernels.jit import helper


@helper
def lateness(count, time, forced, head):
    """The least possible maximum lateness of the forced ops on one device, preemption allowed: earliest due date first."""
    released = 0
    for i in range(count):
        released = push_event(forced.queue, released, head[forced.op[i]], float(i))
        forced.left[i] = time[forced.op[i]]
    ready = 0
    now = 0.0
    worst = -inf
    while released > 0 or ready > 0:
        if ready == 0:
            now = max(now, forced.queue[0])
        while released > 0 and forced.queue[0] <= now:
            i = int(forced.queue[1])
            released = pop_event(forced.queue, released)
            ready = push_event(forced.ready, ready, forced.until[i], float(i))
        i = int(forced.ready[1])
        if released > 0 and now + forced.left[i] > forced.queue[0]:
            forced.left[i] -= forced.queue[0] - now
            now = forced.queue[0]
        else:
            now += forced.left[i]
            worst = max(worst, now - forced.until[i])
            ready = pop_event(forced.ready, ready)
    return worst
