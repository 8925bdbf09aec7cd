"""Interleaved 1F1B: several stages on each device shorten the warm-up."""

from __future__ import annotations

from placelab.base.errors import UnsupportedError
from placelab.planning.pipeline_orders import Ranks, Slot, in_sequence, one_by_one, ranks_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Narayanan et al. 2021, Megatron-LM")
def interleaved(problem: Problem, placement: Placement) -> Order:
    """1F1B over v stages per device, micro-batches in rounds of p.

    Notes
    -----
    Rank s runs min(2(p - s - 1) + (v - 1)p, mv) forwards, then forward and backward in turn, then the backwards that are left.
    Its k-th forward is of chunk (k mod pv) div p and micro-batch (k div pv)·p + k mod p; backwards the same, chunks in reverse.
    On equal stages and one backward op the bubble is ``(p - 1)(F + B + W) / v``, of all v chunks together; min(mv, 2(p - s - 1)
    + (v - 1)p + 1) activations of chunks. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches; a device does not have stages s, s + p, s + 2p …; p does not divide m.
    """
    replicas = ranks_of(problem, placement, "interleaved")
    p = replicas[0].p
    m = replicas[0].m
    v = replicas[0].chunks
    if any(stages != tuple(range(rank, p * v, p)) for rank, stages in enumerate(replicas[0].stages)):
        raise UnsupportedError(
            f"the scheduler 'interleaved' needs stages 0, {p}, … on the first device, 1, {p + 1}, … on the next; "
            "give pipeline_training layout='loop'"
        )
    if m % p:
        raise UnsupportedError(
            f"the scheduler 'interleaved' needs a multiple of {p} micro-batches on {p} devices; there are {m}"
        )
    return in_sequence(replicas, lambda each: [_plan(each, rank) for rank in range(p)])


def _plan(ranks: Ranks, rank: int) -> list[Slot]:
    p = ranks.p
    m = ranks.m
    v = ranks.chunks
    passes = [((k % (p * v)) // p, k // (p * v) * p + k % p) for k in range(m * v)]
    forwards: list[Slot] = [("F", i, chunk * p + rank) for chunk, i in passes]
    backwards = [(i, (v - 1 - chunk) * p + rank) for chunk, i in passes]
    return one_by_one(ranks, forwards, backwards, min(2 * (p - rank - 1) + (v - 1) * p, m * v))
