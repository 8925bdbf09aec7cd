"""Orders of the parameters that workers read (Hashemi 2018, eq. 3; TicTac, MLSys 2019).

A copy is what one worker runs in one iteration. Its ops are numbered one after the other, inputs first, and so are its reads.
Dep(v) are the reads that op v depends on within its copy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.jit import helper, kernel

BITS = 62  # reads per word
NEVER = float("inf")


class Copies(NamedTuple):
    """Ops of each copy and the edges within it. Notation: c copies, n ops, r reads."""

    ptr: np.ndarray  # int32 (c + 1,): ops of copy i are ptr[i] to ptr[i + 1]
    pred_ptr: np.ndarray  # int32 (n + 1,): inputs of op v are pred[pred_ptr[v]] to pred[pred_ptr[v + 1]]
    pred: np.ndarray  # int32
    read_ptr: np.ndarray  # int32 (c + 1,): reads of copy i are read_ptr[i] to read_ptr[i + 1], in the order of ties
    read: np.ndarray  # int32 (r,): op of each read


class Oracle(NamedTuple):
    """What ops and transfers take, in whole numbers of a small unit, so that sums are exact."""

    op: np.ndarray  # float64 (n,): 0 of a read
    read: np.ndarray  # float64 (r,): its transfer
    rounding: float  # largest difference of sums that are equal but for rounding to the unit


class Outstanding(NamedTuple):
    """Of each op, the reads that it depends on and that are not ordered yet: workspace."""

    waits: np.ndarray  # int32 (n,): how many
    seconds: np.ndarray  # float64 (n,): their transfers, M
    number: np.ndarray  # int64 (n,): sum of their numbers: if there is one, which
    marked: np.ndarray  # int32 (n,): 1 where an op depends on the read looked at
    # float64 (n,): least M of the op and those that depend on it, where they depend on more than one read
    least: np.ndarray


@kernel
def least_shared(copies, word, count, least):
    """TIC: ``least[v]`` is the least \\|Dep(w)\\| > 1 among v and the ops w that depend on v, infinite where there is none.

    Workspace: `word`; `count` becomes \\|Dep(v)\\|. O((ops + edges) · reads / 62), by bit sets of 62 reads of a copy.
    """
    for i in range(len(copies.ptr) - 1):
        low = copies.ptr[i]
        high = copies.ptr[i + 1]
        for v in range(low, high):
            count[v] = 0
        for first in range(copies.read_ptr[i], copies.read_ptr[i + 1], BITS):
            for v in range(low, high):
                word[v] = 0
            for r in range(first, min(first + BITS, copies.read_ptr[i + 1])):
                word[copies.read[r]] = 1 << (r - first)
            for v in range(low, high):
                bits = word[v]
                for j in range(copies.pred_ptr[v], copies.pred_ptr[v + 1]):
                    bits |= word[copies.pred[j]]
                word[v] = bits
                while bits != 0:
                    bits &= bits - 1
                    count[v] += 1
        for v in range(low, high):
            least[v] = float(count[v])
        take_least(low, high, copies, count, least)


@helper
def take_least(low, high, copies, count, least):
    """Of ops `low` to `high`, the least value among an op and those that depend on it, of ops with a count above 1."""
    for v in range(low, high):
        if count[v] <= 1:
            least[v] = NEVER
    for v in range(high - 1, low - 1, -1):
        for j in range(copies.pred_ptr[v], copies.pred_ptr[v + 1]):
            u = copies.pred[j]
            if least[v] < least[u]:
                least[u] = least[v]


@kernel
def order_by_costs(copies, oracle, state, unlocked, left, order):
    """TAC: ``order[r]`` is the position of read r in its copy.

    Workspace: `state`; `unlocked`, P of each read; `left`, the reads not ordered yet. O(reads · (reads + ops + edges)).
    """
    for i in range(len(copies.ptr) - 1):
        low = copies.ptr[i]
        high = copies.ptr[i + 1]
        for v in range(low, high):
            state.waits[v] = 0
            state.seconds[v] = 0.0
            state.number[v] = 0
        begin = copies.read_ptr[i]
        n_left = copies.read_ptr[i + 1] - begin
        for j in range(n_left):
            left[j] = begin + j
            count_in(begin + j, 1, high, copies, oracle, state)
        for position in range(n_left):
            for j in range(n_left - position):
                unlocked[left[j]] = 0.0
            for v in range(low, high):
                state.least[v] = state.seconds[v]
                if state.waits[v] == 1:
                    unlocked[state.number[v]] += oracle.op[v]
            take_least(low, high, copies, state.waits, state.least)
            best = 0
            for j in range(1, n_left - position):
                if goes_before(left[j], left[best], copies, oracle, unlocked, state.least):
                    best = j
            order[left[best]] = position
            count_in(left[best], -1, high, copies, oracle, state)
            for j in range(best, n_left - position - 1):
                left[j] = left[j + 1]


@helper
def count_in(r, sign, high, copies, oracle, state):
    """Count read r, or with sign -1 count it no longer, in all ops of its copy that depend on it; those end at `high`."""
    waits, seconds, number, marked, _ = state
    first = copies.read[r]
    for v in range(first, high):
        mark = 1 if v == first else 0
        for j in range(copies.pred_ptr[v], copies.pred_ptr[v + 1]):
            u = copies.pred[j]
            if u >= first and marked[u] != 0:
                mark = 1
        marked[v] = mark
        if mark != 0:
            waits[v] += sign
            seconds[v] += sign * oracle.read[r]
            number[v] += sign * r


@helper
def goes_before(a, b, copies, oracle, unlocked, least):
    """Whether read a goes before read b: by Johnson's rule, then by M+."""
    mine = min(unlocked[b], oracle.read[a])
    other = min(unlocked[a], oracle.read[b])
    if mine < other - oracle.rounding:
        return True
    return mine <= other + oracle.rounding and least[copies.read[a]] < least[copies.read[b]] - oracle.rounding


@kernel
def pass_back(succ, device, read):
    """Give ops without a read the one that all their consumers have, if these are on the op's device. O(ops + edges)."""
    for v in range(len(device) - 1, -1, -1):
        if read[v] >= 0 or succ.ptr[v] == succ.ptr[v + 1]:
            continue
        only = read[succ.consumer[succ.ptr[v]]]
        for e in range(succ.ptr[v], succ.ptr[v + 1]):
            w = succ.consumer[e]
            if read[w] != only or device[w] != device[v]:
                only = -1
        read[v] = only
