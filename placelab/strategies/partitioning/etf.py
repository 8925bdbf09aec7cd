"""Earliest task first: place, again and again, the pair of all ready ops and devices that can start soonest."""

from __future__ import annotations

import numpy as np

from placelab.kernels.plan import ready_ops as kernels
from placelab.planning import plan_arrays
from placelab.planning.append_plan import AppendPlan
from placelab.planning.memory_plan import can_bind
from placelab.planning.ranks import by_falling, rounded, static_level, static_levels, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

SOONEST = "no ready op could start sooner on any device"
SOONER_DONE = "no ready op could start sooner on any device, and it is done soonest there"
ONLY = "the only device that may run it and has room"
REASONS = (SOONEST, SOONER_DONE, ONLY)


@partitioner(source="Srivastava 2018 §4.2, Baechi 2020 §2.3; Hwang, Chow, Anger, Lee 1989")
def etf(problem: Problem, *, trace: bool = False) -> Placement:
    r"""ETF: of all ready ops and devices always the pair that can start soonest; memory is ignored.

    .. math::
        (v, p_v) = \arg\min_{v \in ready,\, d} \max \{ free(d), \max_{u \in pred(v)} (finish(u) + trans(\tau, p_u, d)) \}

    An op is ready when all its inputs are placed, and is appended to its device.

    Notes
    -----
    Ties: the larger static level (:func:`placelab.planning.ranks.static_level`: longest way to the end without transfers, mean
    seconds, :func:`~placelab.planning.ranks.rounded`), then the lower op number; of devices where that op could start equally
    soon, the one that finishes it soonest, then the lower number. The papers leave ties open; the finish is compared because
    on devices of different speed the slower one would be taken whenever it has the lower number, and only between
    devices of one op, because otherwise short ops would go before urgent ones.

    The first member of a colocation group fixes the device of all. Under ``parallel`` transfers queue for nothing. Under
    ``sequential`` and ``channel`` the wait for the ports, or for the ordered pair of devices, counts (Baechi §3.4): a
    transfer is planned when its consumer is placed, behind all that were planned before, a tensor once per device,
    the inputs of one op in the order they were computed. The simulator takes requests in the order of time, so its
    makespan may differ there; under ``parallel`` without ``transfer_ops`` it is the planned one to the last bit.

    Memory may run short over time (simulating shows where); only what a device would hold from beginning to end is
    checked, when the plan is made. ``m-etf`` plans within memory. O(ops · devices · log ops + edges · devices), more with
    contention, where what has been planned changes when ready ops could start.

    Raises
    ------
    InfeasibleError
        A device was given more persistent bytes (under ``reserved``: memory) than it has.
    """
    plan = _plan(problem, memory=False, trace=trace)
    plan.check_lasting()
    return _placement(plan)


@partitioner(name="m-etf", source="Srivastava 2018 §4.2.2, Baechi 2020 §2.3")
def m_etf(problem: Problem, *, trace: bool = False) -> Placement:
    """m-ETF: of all ready ops and devices with room always the pair that can start soonest.

    Notes
    -----
    As ``etf``, whose plan it takes when no device ever runs out of memory in it. Else a start is the first time from
    which the op has room to its end, in the problem's memory model and exactly for the planned times
    (:class:`placelab.planning.memory_plan.MemoryPlan`): persistent bytes (under ``reserved`` all) of a whole group are taken with
    its first member, a tensor is held until all its consumers are placed and done. A pair that has no room is tried
    again when memory is freed; Baechi drops it for good. A pair that must wait for room starts later, and others may go
    before it; both papers drop it. The scheduler ``planned`` replays that wait, too.

    Complexity as ``etf``'s while memory is plentiful; where it is tight, each op that is placed may make all that wait
    for its device be looked at again.

    Raises
    ------
    InfeasibleError
        Nothing that is ready has room anywhere: names the op or group, and per device how many bytes are missing. That is
        no proof that no placement exists.
    """
    plan = _plan(problem, memory=False, trace=trace)
    if can_bind(problem) and len(plan.schedule().oom):
        plan = _plan(problem, memory=True, trace=trace)
    return _placement(plan)


def _plan(problem: Problem, *, memory: bool, trace: bool) -> AppendPlan:
    made = AppendPlan(problem, memory=memory, trace=trace)
    item, rank = by_falling(rounded(static_level(problem)))
    queues = plan_arrays.queues(problem, rank, item)
    bounds = plan_arrays.bounds(problem, ready_on=made.limited or trace)
    placed = kernels.earliest_first(
        *plan_arrays.facts(problem), made.limits, plan_arrays.frontier(problem), queues, bounds, made.plan
    )
    if placed < problem.graph.n_ops:
        raise made.refuse(rank)
    return made


def _placement(made: AppendPlan) -> Placement:
    plan = made.plan
    reason = np.zeros(len(plan.device), np.int32)
    if made.traced:
        score = plan.score.reshape(len(plan.device), -1)
        equal = (score == plan.start[:, None]).sum(axis=1)
        reason = np.where((~np.isnan(score)).sum(axis=1) == 1, 2, np.where(equal > 1, 1, 0))
    return with_ranks(made.placement(REASONS, reason), lambda: static_levels(made.problem))
