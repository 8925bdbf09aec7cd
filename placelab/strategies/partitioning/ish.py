"""Insertion scheduling: as HLFET, and what fits into the hole that an op leaves is placed there at once."""

from __future__ import annotations

from placelab.base.index_arrays import frozen
from placelab.kernels.plan.look_further import fill_holes
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import kept_in_memory
from placelab.planning.ranks import by_falling, rounded, static_level, static_levels, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement
from placelab.schedule.trace import EARLIEST_START

MEANING = "starts soonest there, at the end or in the hole before the op placed last", EARLIEST_START


@partitioner(source="Kruatrachue, Lewis 1987; Kwok, Ahmad 1999 §5.1")
def ish(problem: Problem, *, trace: bool = False) -> Placement:
    """ISH: as ``hlfet``; then ready ops fill the hole before the op placed last.

    An op that waits for its inputs leaves a hole between the end of what ran on its device and its start. As long as there
    are any, the ready op of the highest static level that fits into the hole, and that would start no earlier at the end of
    another device, is placed there.

    Notes
    -----
    Ties as in ``hlfet``. Groups and transfers as in ``heft``. Where the plan made without regard to memory exceeds a
    capacity, ops are planned again in its order, on its devices as far as they have room. O(edges · devices + ops · ready
    ops), and O(devices) for each ready op that fits into a hole.
    """
    rank = frozen(by_falling(rounded(static_level(problem)))[1])
    plan = plan_arrays.plan(problem, trace)
    work = plan_arrays.frontier(problem), plan_arrays.waiting(problem)
    fill_holes(rank, *plan_arrays.facts(problem), *work, plan)
    return with_ranks(kept_in_memory(problem, plan, MEANING, trace), lambda: static_levels(problem))
