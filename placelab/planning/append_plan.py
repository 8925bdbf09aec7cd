"""Plans of kernels that append each op to its device: times, transfers, memory over time, and the placement they make."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.planning import plan_arrays
from placelab.planning.capacity import infeasible
from placelab.planning.list_scheduler import decided, memory_waits, planned_order
from placelab.planning.memory_plan import next_op, resumed
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE, Schedule, planned_schedule
from placelab.schedule.trace import EARLIEST_START, Trace


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
