"""A plan that appends each op to its device, as the arrays that planning kernels fill: times, transfers, memory over time."""

from __future__ import annotations

import numpy as np

from placelab.errors import InfeasibleError
from placelab.planning.capacity import infeasible
from placelab.planning.list_scheduler import planned_order, transfer_delay
from placelab.planning.list_scheduling import device_arguments, edge_arguments
from placelab.planning.memory_plan import resumed, room_arguments
from placelab.problem.graph import frozen
from placelab.problem.problem import Problem
from placelab.schedule.memory import TOLERANCE
from placelab.schedule.placement import Placement, Trace
from placelab.schedule.planned import planned_schedule
from placelab.schedule.schedule import Schedule


class AppendPlan:
    """The arrays of one run of a kernel, and what they mean.

    Parameters
    ----------
    problem
        What is planned.
    memory
        Whether memory over time is a limit.
    trace
        Whether scores are recorded.

    Attributes
    ----------
    device, start, finish : ndarray, shape (n_ops,)
        Of each op; device -1 where not placed; seconds.
    order : ndarray of int32, shape (n_ops,)
        Ops as they were placed.
    score : ndarray, shape (n_ops * n_devices,), or (0,) when not traced
        What was compared when an op was placed, NaN where a device was no candidate.
    sent, there : ndarray, shape (n_tensors * n_devices,), or (0,) without contention
        When a tensor leaves for a device and is there; -1 where it does not travel.
    """

    def __init__(self, problem: Problem, *, memory: bool = False, trace: bool = False) -> None:
        graph, n, k = problem.graph, problem.graph.n_ops, problem.cluster.n_devices
        self.problem, self.memory, self.traced = problem, memory, trace
        self.device, self.start, self.finish = np.full(n, -1, np.int32), np.zeros(n), np.zeros(n)
        self.order, self.score = np.empty(n, np.int32), np.full(n * k if trace else 0, np.nan)
        self.contention = problem.transfer_model.planned
        copies = graph.n_tensors * k if self.contention else 0
        self.sent, self.there = np.empty(copies), np.empty(copies)
        self._fixed_room, self._room = room_arguments(problem, memory)

    @property
    def facts(self) -> tuple:
        """The problem, as every planning kernel takes it: edges to and from ops, times, links, restrictions."""
        graph = self.problem.graph
        return (*edge_arguments(self.problem), graph.succ_ptr, graph.consumer, *device_arguments(self.problem))

    @property
    def limits(self) -> tuple:
        """``send, latency, contention, in_port``, and what memory has to be kept to."""
        in_port = self.problem.cluster.n_devices if self.problem.duplex else 0
        send, _ = transfer_delay(self.problem)
        return (send.reshape(-1), self.problem.cluster.latency.reshape(-1), self.contention, in_port, *self._fixed_room)

    @property
    def limits_work(self) -> tuple:
        """``turn, lane, port, copy_sent, copy_there, sent, there``, and the plan of memory over time."""
        k, most = self.problem.cluster.n_devices, int(np.diff(self.problem.graph.pred_ptr).max())
        ports = self.problem.transfer_model.queues(k, self.problem.duplex)
        transfers = (np.empty(most, np.int32), np.empty(k), np.empty(ports), self.sent, self.there)
        return (*transfers, np.empty(most), np.empty(most), *self._room)

    @property
    def results(self) -> tuple:
        """``device, start, finish, score, order``."""
        return self.device, self.start, self.finish, self.score, self.order

    def schedule(self) -> Schedule:
        """The finished plan as a schedule, so that its memory can be looked at."""
        times = (self.sent, self.there) if self.contention else None
        return planned_schedule(self.problem, self.device, self.start, self.finish, times)

    def check_lasting(self) -> None:
        """InfeasibleError if a device was given more bytes to hold from beginning to end than it has."""
        problem = self.problem
        held = np.bincount(self.device, problem.lasting, minlength=problem.cluster.n_devices)
        over = np.flatnonzero(held > problem.cluster.memory * (1 + TOLERANCE))
        if not len(over) or problem.memory == "none":
            return
        names, memory = problem.cluster.names, problem.cluster.memory
        short = {names[d]: float(held[d] - memory[d]) for d in over}
        what = ", ".join(f"{name} is short by {missing:.6g} bytes" for name, missing in short.items())
        raise InfeasibleError(
            f"a plan made without regard to memory gives devices more to hold from beginning to end than they have in memory "
            f"model {problem.memory!r}: {what}; a strategy whose name begins with m- plans within memory",
            devices={name: f"is short by {missing:.6g} bytes" for name, missing in short.items()},
            short=short,
        )

    def refuse(self, rank: np.ndarray) -> InfeasibleError:
        """The error that nothing fits any more: names the ready op of least rank, and what each device lacks.

        Parameters
        ----------
        rank
            Place of each op in the order of priority, shape (n_ops,).
        """
        problem, graph = self.problem, self.problem.graph
        memory, done = resumed(problem, self._room, self.device), self.device >= 0
        free = np.zeros(problem.cluster.n_devices)
        np.maximum.at(free, self.device[done], self.finish[done])
        missing = np.bincount(graph.consumer[~done[graph.producer]], minlength=graph.n_ops)
        ready = np.flatnonzero(~done & (missing == 0))
        v = int(ready[np.argmin(rank[ready])])
        short = np.full(len(free), np.nan)
        home = self.device[problem.members(v)]
        for d in home[home >= 0][:1] if (home >= 0).any() else problem.feasible(v):
            inputs = self._inputs(v, d)
            start = max([free[d], *(there for *_, there in inputs)])
            short[d] = memory.shortage(v, d, start, problem.exec_time(v, d), inputs)
        return infeasible(problem, v, short)

    def _inputs(self, v: int, d: int) -> list[tuple[int, int, float, float]]:
        """(tensor, its home, sent, there) of every input of v on d; what no transfer is planned for yet goes when it is made."""
        problem, graph, inputs = self.problem, self.problem.graph, []
        send, delay = transfer_delay(problem)
        for e in graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]:
            t, u = int(graph.edge_tensor[e]), graph.producer[e]
            home, copy = self.device[u], t * problem.cluster.n_devices + d
            sent = self.finish[u] + send[home, d]
            there = self.finish[u] + delay[home, d] + graph.edge_bytes[e] / problem.cluster.bandwidth[home, d]
            if home != d and self.contention and self.sent[copy] >= 0:
                sent, there = self.sent[copy], self.there[copy]
            inputs.append((t, int(home), float(sent), float(there)))
        return inputs

    def placement(self, reasons: tuple[str, ...], reason: np.ndarray, score_name: str) -> Placement:
        """The finished plan; `reason` indexes `reasons` per op, shape (n_ops,)."""
        trace = None
        if self.traced:
            op = self.order[self._decided()]
            score = frozen(self.score.reshape(self.problem.graph.n_ops, -1)[op])
            trace = Trace(op, self.device[op], score, reason[op].astype(np.int32), reasons, score_name)
        planned = planned_order(self.start, self.finish, self.order)
        return Placement(self.problem, self.device, planned, float(self.finish.max()), trace)

    def _decided(self) -> np.ndarray:
        """Which of the ops as placed were a decision: not those that follow their group."""
        group = self.problem.group[self.order]
        first = group < 0
        first[np.unique(group, return_index=True)[1]] = True
        return first
