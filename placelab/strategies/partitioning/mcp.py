"""Modified critical path: ops by their latest possible starts, each where it starts soonest."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal

import numpy as np

from placelab.base.errors import UnsupportedError
from placelab.kernels.plan.list_schedule import START
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import precedence_order, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

MOST = 25_000  # ops whose descendants are compared: a bit for each pair of them


@partitioner(source="Wu, Gajski 1990; Kwok, Ahmad 1999 §5.1")
def mcp(
    problem: Problem,
    *,
    children: Literal["descending", "ascending"] = "descending",
    descendants: bool = False,
    trace: bool = False,
) -> Placement:
    r"""MCP: ops by their latest possible starts, and those of their successors, each where it starts soonest.

    .. math:: ALAP(v) = \max_u rank_u(u) - rank_u(v), \qquad p_v = \arg\min_d EST(v, d)

    Parameters
    ----------
    children
        How an op's list goes on after its own ALAP: those of its successors, the last or the first one first.
    descendants
        Whether lists have the ALAPs of all descendants, in the same order, instead of those of the successors.

    Raises
    ------
    UnsupportedError
        More than 25,000 ops with `descendants`.

    Notes
    -----
    Rank: :func:`placelab.upward_rank`, :func:`~placelab.planning.ranks.rounded`. Each op has a list: its ALAP and those of its
    successors; ops go by lists in lexicographic order, a list before those that it begins. Neither way is better: on the nine
    ops of Kwok and Ahmad two have the same ALAP, and ``"descending"`` gives their 20, ``"ascending"`` the optimum, 16. The
    paper's first version, as others quote it, compares descendants, which gives the same there. Inserted into idle gaps. Ties:
    lists by op number, starts by the sooner finish, which the paper's equal processors do not need, then by device number.
    Groups, memory and transfers as in ``heft``; same complexity; `descendants` adds O(ops · (ops + edges)) where ALAPs tie.
    """
    if descendants and problem.graph.n_ops > MOST:
        raise UnsupportedError(
            f"mcp compares the descendants of at most {MOST:,} ops, this graph has {problem.graph.n_ops:,}; leave out descendants"
        )
    up = upward_rank(problem)
    lists = by_descendants if descendants else lexicographic
    order = precedence_order(problem.graph, -lists(problem.graph, up.max() - up, children).astype(float))
    placement = in_order(problem, order, trace=trace, aim=plan_arrays.aim(START))
    return with_ranks(placement, lambda: upward_ranks(problem, up))


def lexicographic(graph: OpGraph, alap: np.ndarray, children: str) -> np.ndarray:
    """How many lists come before each op's in lexicographic order, shape (n_ops,).

    O(n log n), and O(edges log edges) for each length of a tie.
    """
    steps = rounded(alap)
    by = np.argsort(steps, kind="stable")
    n = graph.n_ops
    place = np.empty(n, dtype=np.int64)
    place[by] = _begins(np.diff(steps[by], prepend=-1) != 0)
    asks = (np.bincount(place, minlength=n)[place] > 1)[graph.producer]  # edges of ops whose ALAP another one has, too
    producer = graph.producer[asks]
    after = steps[graph.consumer[asks]]
    after = after[np.lexsort((after if children == "ascending" else -after, producer))]
    count = np.bincount(producer, minlength=n)
    at = np.cumsum(count) - count
    column = 0
    while True:
        tied = np.flatnonzero(np.bincount(place, minlength=n)[place] > 1)
        more = column < count[tied]
        if not more.any():
            return place
        entry = np.full(len(tied), -1.0)  # a list that has ended comes first
        entry[more] = after[at[tied[more]] + column]
        by = np.lexsort((entry, place[tied]))
        block = place[tied[by]]
        new_block = np.diff(block, prepend=-1) != 0
        new_entry = new_block | (np.diff(entry[by], prepend=-2) != 0)
        place[tied[by]] = block + _begins(new_entry) - _begins(new_block)
        column += 1


def by_descendants(graph: OpGraph, alap: np.ndarray, children: str) -> np.ndarray:
    """As :func:`lexicographic`, of lists of all descendants."""
    steps = rounded(alap)
    by = np.argsort(steps, kind="stable")
    begin = _begins(np.diff(steps[by], prepend=-1) != 0)
    bit = np.argsort(by)
    place = begin[np.argsort(by)]
    ties = [by[tie] for tie in np.split(np.arange(len(by)), np.flatnonzero(np.diff(begin)) + 1) if len(tie) > 1]
    if not ties:
        return place
    reach = _descendants(graph, bit.tolist())

    def rest(v: int) -> bytes:
        """An op's list after its own ALAP, as bytes that compare like it."""
        bits = np.frombuffer(reach[v].to_bytes(len(by) // 8 + 1, "little"), np.uint8)
        after = begin[np.flatnonzero(np.unpackbits(bits, bitorder="little"))]
        return (after if children == "ascending" else after[::-1]).astype(">u4").tobytes()

    for tie in ties:
        lists = [rest(v) for v in tie]
        ordered = sorted(lists)
        place[tie] += [bisect_left(ordered, own) for own in lists]
    return place


def _descendants(graph: OpGraph, bit: list[int]) -> list[int]:
    """The descendants of each op, as the bits of a number."""
    reach = [0] * graph.n_ops
    first = graph.succ_ptr.tolist()
    consumer = graph.consumer.tolist()
    for v in reversed(range(graph.n_ops)):
        for w in consumer[first[v] : first[v + 1]]:
            reach[v] |= reach[w] | 1 << bit[w]
    return reach


def _begins(new: np.ndarray) -> np.ndarray:
    """Where the run began that each entry belongs to; the first of each is marked."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
