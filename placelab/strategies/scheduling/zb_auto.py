"""ZB-auto: the best of many greedy orders within a memory cap."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf
from typing import Annotated, Literal

from placelab.planning.pipeline_orders import (
    Ranks,
    Slot,
    Work,
    check_split,
    in_sequence,
    ranks_of,
    replay,
    sequence,
    work_of,
    zero_bubble,
)
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.strategies.scheduling.zb_v import down_and_up, is_v
from placelab.strategies.searches.greedy_pipeline import Choices, greedy

ROUNDING = 1e-12  # relative


@scheduler(static=True, needs="pipeline", source="Qi et al. 2024 §3.1")
def zb_auto(
    problem: Problem,
    placement: Placement,
    *,
    cap: Annotated[int, Limits(0)] = 0,
    objective: Literal["span", "makespan"] = "span",
) -> Order:
    """Greedy, for measured times of stages: tries warm-ups and ways to fill idle time, and keeps the best.

    Parameters
    ----------
    cap
        Activations that a device may hold, of one micro-batch in one stage each. 0: 2p - 1 for p devices, as ``zb-h2``, times
        the stages on each. At least one for each stage of a device is always allowed.
    objective
        What is least: ``"span"``, the longest time from first to last op of a device, which counts where steps follow each
        other without a barrier, then the makespan; ``"makespan"`` the other way round.

    Notes
    -----
    A device that is free runs a gradient of an input if one is there; else a forward if memory allows; else a gradient of
    weights, if it ends before the next known arrival, or nothing else can come. Varied are: forwards before the first backward
    (three limits), whether a forward or a gradient goes first, whether a forward may delay a gradient that is on its way,
    whether gradients of weights may. ``zb-h1``, ``zb-h2`` and ``zb-v`` are tried as well, where they fit the stages and the
    cap. Transfers take their time but do not queue; updates that wait for other replicas are not
    counted. O(24 · ops · log ops) in Python.

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, or one op for both gradients.
    """
    replicas = ranks_of(problem, placement, "zb-auto")
    check_split(replicas[0], "zb-auto")
    work = work_of(problem, placement.device)
    return in_sequence(replicas, lambda each: _best(each, work, cap, objective))


def _best(ranks: Ranks, work: Work, cap: int, objective: str) -> list[list[Slot]]:
    most = max(len(stages) for stages in ranks.stages)
    limit = max(cap or (2 * ranks.p - 1) * most, most)
    best, chosen = (inf, inf), None
    for plans in _candidates(ranks, work, limit):
        reached = _lengths(ranks, work, sequence(ranks, plans).tolist())
        reached = reached if objective == "span" else reached[::-1]
        if chosen is None or _shorter(reached, best):
            best, chosen = reached, plans
    return chosen or []


def _candidates(ranks: Ranks, work: Work, cap: int) -> Iterator[list[list[Slot]]]:
    if ranks.chunks == 1:
        for k in (1, 2):
            if cap >= min(k * (ranks.p - 1) + 1, ranks.m):
                yield zero_bubble(ranks, k)
    if is_v(ranks) and cap >= 2 * min(ranks.p, ranks.m):
        yield down_and_up(ranks)
    for choices in product((1, 2, None), (True, False), (True, False), (True, False)):
        yield greedy(ranks, work, cap, Choices(*choices))


def _shorter(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Whether `a` comes before `b`; times that differ by rounding are equal."""
    return any(x < y * (1 - ROUNDING) for x, y in zip(a, b, strict=True)) and a[0] <= b[0] * (1 + ROUNDING)


def _lengths(ranks: Ranks, work: Work, order: list[int]) -> tuple[float, float]:
    """Longest span of a device, and the makespan without all-reduces; infinite for an order that cannot run."""
    finish = replay(work, order)
    once = (ranks.pipeline.microbatch < 0).tolist()
    if min(finish[v] for v in order if not once[v]) < 0:
        return inf, inf
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for v in order:
        if not once[v]:
            first.setdefault(work.device[v], finish[v] - work.seconds[v])
            last[work.device[v]] = finish[v]
    return max(last[d] - first[d] for d in first), max(finish)
