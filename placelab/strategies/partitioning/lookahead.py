"""HEFT with lookahead: each op where its consumers would finish soonest."""

from __future__ import annotations

import numpy as np

from placelab.kernels.plan.look_further import look_ahead
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import kept_in_memory
from placelab.planning.ranks import by_falling, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

MEANING = "the last of its consumers, each on its best device, finishes soonest", "last finish of a consumer [s]"


@partitioner(source="Bittencourt, Sakellariou, Madeira 2010")
def lookahead(problem: Problem, *, trace: bool = False) -> Placement:
    r"""Lookahead: in HEFT's order, each op where the last of its consumers would finish soonest.

    .. math:: p_v = \arg\min_d \max_{s \in succ(v)} \min_e EFT(s, e \mid v \text{ on } d)

    Notes
    -----
    Each consumer is tried alone, on its best device, after the inputs that are placed; an op without consumers goes where it
    finishes soonest. Inserted into idle gaps. Ties: the sooner finish of the op itself, then device number. Groups and
    transfers as in ``heft``. Where the plan made without regard to memory exceeds a capacity, ops are planned again in its
    order, on its devices as far as they have room. O(edges · devices · (devices + inputs)) as long as gaps are found at once.
    """
    up = upward_rank(problem)
    plan = plan_arrays.plan(problem, trace, by_falling(rounded(up))[0])
    work = (np.empty(problem.cluster.n_devices) for _ in range(3))
    look_ahead(*plan_arrays.facts(problem), *work, plan_arrays.busy(problem, True), plan)
    return with_ranks(kept_in_memory(problem, plan, MEANING, trace), lambda: upward_ranks(problem, up))
