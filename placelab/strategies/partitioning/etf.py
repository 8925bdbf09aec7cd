"""Earliest task first: place, again and again, the pair of all ready ops and devices that can start soonest."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.kernels.plan import ready_ops as kernels
from placelab.planning import plan_arrays
from placelab.planning.capacity import infeasible
from placelab.planning.list_scheduler import decided, memory_waits, planned_order
from placelab.planning.memory_plan import can_bind, next_op, resumed
from placelab.planning.ranks import by_falling, rounded, static_level, static_levels, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE, Schedule, planned_schedule
from placelab.schedule.trace import EARLIEST_START, Trace

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


# ----------------------------------------------------------- plans of kernels that append each op to its device: ETF's and SCT's


class AppendPlan:
    """One run of a kernel that appends ops: the blocks it reads and writes, and the plan it makes.

    Parameters
    ----------
    problem
        What is planned.
    memory
        Whether memory over time is a limit.
    trace
        Whether scores are recorded: what was compared when an op was placed, NaN where a device was no candidate.

    Attributes
    ----------
    plan : placelab.kernels.blocks.Plan
        Results: device, start and finish of each op, the order and the scores.
    limits : placelab.kernels.blocks.Limits
        Links, and memory over time.
    limited : bool
        Whether there is any such limit.
    """

    def __init__(self, problem: Problem, *, memory: bool = False, trace: bool = False) -> None:
        self.problem = problem
        self.traced = trace
        self.plan = plan_arrays.plan(problem, trace)
        self.limits = plan_arrays.limits(problem, memory)
        self.limited = memory or self._contention
        self._memory = memory

    @property
    def device(self) -> np.ndarray:
        """Device of each op, shape (n_ops,), -1 where not placed."""
        return self.plan.device

    @property
    def _contention(self) -> bool:
        return self.limits.ports.contention > 0

    def schedule(self) -> Schedule:
        """The finished plan as a schedule, for checks of its memory."""
        ports = self.limits.ports
        transfers = (ports.sent, ports.there) if self._contention else None
        return planned_schedule(self.problem, self.plan.device, self.plan.start, self.plan.finish, transfers)

    def check_lasting(self) -> None:
        """Raise InfeasibleError if a device must hold more bytes for the whole run than it has."""
        problem = self.problem
        held = np.bincount(self.device, problem.lasting, minlength=problem.cluster.n_devices)
        over = np.flatnonzero(held > problem.cluster.memory * (1 + TOLERANCE))
        if not len(over) or problem.memory == "none":
            return
        names = problem.cluster.names
        memory = problem.cluster.memory
        short = {names[d]: float(held[d] - memory[d]) for d in over}
        what = ", ".join(f"{name} is short by {missing:.6g} bytes" for name, missing in short.items())
        raise InfeasibleError(
            f"a plan made without regard to memory gives devices more to hold from beginning to end than they have in memory "
            f"model {problem.memory!r}: {what}; a strategy whose name begins with m- plans within memory",
            devices={name: f"is short by {missing:.6g} bytes" for name, missing in short.items()},
            short=short,
            stuck=True,
        )

    def refuse(self, rank: np.ndarray) -> InfeasibleError:
        """The error that nothing fits any more: names the ready op of least rank, and what each device lacks.

        Parameters
        ----------
        rank
            Place of each op in the order of priority, shape (n_ops,).
        """
        problem = self.problem
        v = next_op(self.problem.graph, self.device, rank)
        memory = resumed(problem, self.limits.memory, self.device)
        done = self.device >= 0
        free = np.zeros(problem.cluster.n_devices)
        np.maximum.at(free, self.device[done], self.plan.finish[done])
        short = np.full(len(free), np.nan)
        home = self.device[problem.members(v)]
        for d in home[home >= 0][:1] if (home >= 0).any() else problem.feasible(v):
            inputs = self._inputs(v, d)
            start = max([free[d], *(there for *_, there in inputs)])
            short[d] = memory.shortage(v, d, start, problem.exec_time(v, d), inputs)
        return infeasible(problem, v, short)

    def _inputs(self, v: int, d: int) -> list[tuple[int, int, float, float]]:
        """(tensor, its home, sent, there) of every input of v on d; one without a planned transfer is sent once produced."""
        problem = self.problem
        graph = self.problem.graph
        inputs = []
        ports = self.limits.ports
        finish = self.plan.finish
        send, delay = plan_arrays.transfer_delay(problem)
        for e in graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]:
            t = int(graph.edge_tensor[e])
            u = graph.producer[e]
            home = self.device[u]
            copy = t * problem.cluster.n_devices + d
            sent = finish[u] + send[home, d]
            there = finish[u] + delay[home, d] + graph.edge_bytes[e] / problem.cluster.bandwidth[home, d]
            if home != d and self._contention and ports.sent[copy] >= 0:
                sent = ports.sent[copy]
                there = ports.there[copy]
            inputs.append((t, int(home), float(sent), float(there)))
        return inputs

    def placement(self, reasons: tuple[str, ...], reason: np.ndarray) -> Placement:
        """The finished plan; `reason` indexes `reasons` per op, shape (n_ops,)."""
        trace = None
        plan = self.plan
        if self.traced:
            op = decided(self.problem, plan.order)
            score = frozen(plan.score.reshape(self.problem.graph.n_ops, -1)[op])
            trace = Trace(op, plan.device[op], score, reason[op].astype(np.int32), reasons, EARLIEST_START, "start")
        planned = planned_order(plan.start, plan.finish, plan.order)
        there = self.limits.ports.there if self._contention else None
        times = plan.device, plan.start, plan.finish
        waits = memory_waits(self.problem, *times, planned, there) if self._memory else None
        return Placement(self.problem, plan.device, planned, float(plan.finish.max()), trace, not_before=waits)
