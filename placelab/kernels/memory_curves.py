"""Memory in use over time in a finished schedule: what changes it, and the level after each change.

A change is a positive or negative number of bytes on a device at an instant. Changes by an op are summed: what an op makes or
uses for the last time begins or ends with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.jit import helper, kernel


class OpTimes(NamedTuple):
    """What ran where and when."""

    device: np.ndarray  # int32 (n,)
    start: np.ndarray  # float64 (n,): seconds
    finish: np.ndarray  # float64 (n,)
    temporary: np.ndarray  # float64 (n,): bytes that an op holds while it runs


class Tensors(NamedTuple):
    """Who makes and who reads each tensor, and the transfer (-1: none) that brings it."""

    producer: np.ndarray  # int32 (tensors,)
    bytes: np.ndarray  # float64 (tensors,)
    storage: np.ndarray  # int32 (tensors,): the tensor in whose memory each is held where it was made, often itself
    held: np.ndarray  # float64 (tensors,): bytes of that memory
    ptr: np.ndarray  # int32 (tensors + 1,): edges of tensor t are ptr[t] to ptr[t + 1]
    consumer: np.ndarray  # int32 (m,)
    carrier: np.ndarray  # int32 (m,)


class TransferTimes(NamedTuple):
    """Transfers."""

    tensor: np.ndarray  # int32 (x,)
    destination: np.ndarray  # int32 (x,)
    start: np.ndarray  # float64 (x,)
    finish: np.ndarray  # float64 (x,)


class ChangeWork(NamedTuple):
    """Workspace."""

    at_start: np.ndarray  # float64 (n,), zeros: bytes by which each op's start changes its device's memory
    at_finish: np.ndarray  # float64 (n,), zeros
    last_use: np.ndarray  # int32 (x,), -1: op that uses what a transfer brought last
    sent: np.ndarray  # float64 (tensors,), zeros: when the last transfer from each storage is over
    first: np.ndarray  # int32 (tensors,), -1: op with which each storage begins
    until: np.ndarray  # float64 (tensors,), -infinite: when its last use on the device that made it is over
    last: np.ndarray  # int32 (tensors,), -1: op that uses it last


class Changes(NamedTuple):
    """Results, in any order."""

    device: np.ndarray  # int32 (2 * n + tensors + x,)
    time: np.ndarray  # float64, as many
    bytes: np.ndarray  # float64, as many


@helper
def put_change(count, device, time, size, changes):
    """Append a change to the first `count`. Returns their new number."""
    changes.device[count] = device
    changes.time[count] = time
    changes.bytes[count] = size
    return count + 1


@kernel
def memory_changes(run, tensors, moves, to_finish, work, changes):
    """List what changes the memory in use, other than what lasts for the whole run. Returns the number of changes.

    `to_finish` (``dynamic``): a tensor is held from its producer's or its transfer's start to the last consumer's finish, else
    (``edges``) from its producer's or its transfer's finish to the last consumer's start; the sender's copy in any case until
    the last transfer is over. A storage is held from the first to the last of its tensors. What is held for no time changes
    nothing. O(ops + edges + transfers).
    """
    at_start, at_finish, last_use, sent, first, until, last = work
    made, used = (at_start, at_finish) if to_finish else (at_finish, at_start)
    begins, ends = (run.start, run.finish) if to_finish else (run.finish, run.start)
    for v in range(len(run.device)):
        if run.finish[v] > run.start[v]:
            at_start[v] += run.temporary[v]
            at_finish[v] -= run.temporary[v]
    for x in range(len(moves.tensor)):
        s = tensors.storage[moves.tensor[x]]
        sent[s] = max(sent[s], moves.finish[x])
    for t in range(len(tensors.producer)):
        v = tensors.producer[t]
        s = tensors.storage[t]
        if first[s] < 0 or begins[v] < begins[first[s]]:
            first[s] = v
        if to_finish and run.finish[v] > until[s]:
            until[s] = run.finish[v]
            last[s] = v
        for e in range(tensors.ptr[t], tensors.ptr[t + 1]):
            u = tensors.consumer[e]
            x = tensors.carrier[e]
            if x >= 0:
                if last_use[x] < 0 or ends[u] > ends[last_use[x]]:
                    last_use[x] = u
            elif ends[u] > until[s]:
                until[s] = ends[u]
                last[s] = u
    count = 0
    for s in range(len(first)):
        v = first[s]
        size = tensors.held[s]
        if v >= 0 and size > 0.0 and max(until[s], sent[s]) > begins[v]:
            made[v] += size
            if sent[s] > until[s]:
                count = put_change(count, run.device[v], sent[s], -size, changes)
            else:
                used[last[s]] -= size
    for x in range(len(moves.tensor)):
        size = tensors.bytes[moves.tensor[x]]
        arrives = moves.start[x] if to_finish else moves.finish[x]
        if last_use[x] >= 0 and ends[last_use[x]] > arrives and size > 0.0:
            count = put_change(count, moves.destination[x], arrives, size, changes)
            used[last_use[x]] -= size
    for v in range(len(run.device)):
        if at_start[v] != 0.0:
            count = put_change(count, run.device[v], run.start[v], at_start[v], changes)
        if at_finish[v] != 0.0:
            count = put_change(count, run.device[v], run.finish[v], at_finish[v], changes)
    return count


@kernel
def memory_levels(order, changes, level, last, time, size):
    """Write the curve of each device: from ``time[i]`` seconds on ``size[i]`` bytes are in use.

    `order`: changes by time. `level` (k,): bytes at first. ``last[d]``: where the curve of d begins; afterwards, its last point.
    """
    for d in range(len(level)):
        time[last[d]] = 0.0
        size[last[d]] = level[d]
    for i in range(len(order)):
        c = order[i]
        d = changes.device[c]
        level[d] += changes.bytes[c]
        if changes.time[c] > time[last[d]]:
            last[d] += 1
            time[last[d]] = changes.time[c]
        size[last[d]] = max(level[d], 0.0)
