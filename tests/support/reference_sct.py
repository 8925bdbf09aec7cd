"""SCT on finitely many devices by its rules, op by op, as a reference for the kernel."""

from __future__ import annotations

from math import inf

import numpy as np

from placelab.kernels import blocks
from placelab.planning.memory_plan import MemoryPlan
from placelab.planning.plan_arrays import transfer_delay
from placelab.planning.ranks import by_falling, rounded, static_level
from placelab.problem.problem import Problem

SOONEST, URGENT, CHILD, WAITED = range(4)


class Plan:
    """Ops appended to devices; transfers that queue for ports or channels; memory over time, or None."""

    def __init__(self, problem: Problem, memory: bool) -> None:
        n = problem.graph.n_ops
        k = problem.cluster.n_devices
        self.problem = problem
        self.memory = MemoryPlan(problem) if memory else None
        self.device = [-1] * n
        self.start = [0.0] * n
        self.finish = [0.0] * n
        self.rule = [-1] * n
        self.free = [0.0] * k
        self.last = [-1] * k
        self.busy: dict[tuple, float] = {}  # port or channel → when it is free
        self.copies: dict[tuple[int, int], tuple[float, float]] = {}  # (tensor, device) → sent, there
        self.send, self.delay = transfer_delay(problem)

    def may(self, v: int) -> list[int]:
        """Devices that may run v; only its group's device once a member is placed."""
        homes = [self.device[u] for u in self.problem.members(v) if self.device[u] >= 0]
        return homes[:1] or self.problem.feasible(v).tolist()

    def is_ready(self, v: int) -> bool:
        """Whether v is not placed and all its inputs are."""
        graph = self.problem.graph
        edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]
        return self.device[v] < 0 and all(self.device[u] >= 0 for u in graph.producer[edges])

    def ports(self, home: int, d: int) -> tuple:
        """Ports or channels that a transfer from home to d waits for, in the model that planners assume."""
        model = self.problem.transfer_model.planned
        if model == blocks.PARALLEL:
            return ()
        if model == blocks.CHANNEL:
            return ((home, d),)
        return (("out", home), ("in", d)) if self.problem.duplex else ((home,), (d,))

    def free_again(self, t: int, home: int, d: int, sent: float, there: float) -> float:
        """When the ports of a transfer are free again."""
        size = self.problem.graph.tensor_bytes[t]
        bandwidth = self.problem.cluster.bandwidth[home, d]
        return there if self.problem.latency == "holds" else sent + size / bandwidth

    def inputs(self, v: int, d: int) -> list[tuple[int, int, float, float]]:
        """(tensor, its home, sent, there) of each input, as if v ran on d, in the order in which they were computed."""
        graph = self.problem.graph
        cluster = self.problem.cluster
        edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]].tolist()
        copies = dict(self.copies)
        busy = dict(self.busy)
        found = {}
        for e in sorted(edges, key=lambda e: self.finish[graph.producer[e]]):
            u = graph.producer[e]
            t = int(graph.edge_tensor[e])
            home = self.device[u]
            done = self.finish[u]
            if home == d:
                found[e] = t, home, done, done
                continue
            ports = self.ports(home, d)
            if not ports or (t, d) not in copies:
                sent = max([done + self.send[home, d], *(busy.get(port, 0.0) for port in ports)])
                way = self.delay if not ports else cluster.latency
                there = (sent if ports else done) + way[home, d] + graph.tensor_bytes[t] / cluster.bandwidth[home, d]
                copies[t, d] = sent, there
                busy |= dict.fromkeys(ports, self.free_again(t, home, d, sent, there))
            found[e] = t, home, *copies[t, d]
        return [found[e] for e in edges]

    def est(self, v: int, d: int) -> float:
        """Earliest start of v on d; infinite if memory is missing or d is not allowed."""
        if d not in self.may(v):
            return inf
        inputs = self.inputs(v, d)
        length = self.problem.exec_time(v, d)
        start = max([self.free[d], *(there for *_, there in inputs)])
        while self.memory and start < inf:
            fits = self.memory.earliest(v, d, start, length, inputs)
            if fits == start:
                break
            start = fits
        return start

    def place(self, v: int, d: int, start: float, rule: int) -> None:
        """Place v on d at `start`."""
        inputs = self.inputs(v, d)
        finish = start + self.problem.exec_time(v, d)
        if self.memory:
            self.memory.place(v, d, start, finish, inputs)
        for t, home, sent, there in inputs:
            if home != d and (t, d) not in self.copies and self.ports(home, d):
                self.copies[t, d] = sent, there
                for port in self.ports(home, d):
                    self.busy[port] = max(self.busy.get(port, 0.0), self.free_again(t, home, d, sent, there))
        self.device[v] = d
        self.start[v] = start
        self.finish[v] = finish
        self.rule[v] = rule
        self.free[d] = finish
        self.last[d] = v


def sct(problem: Problem, child: np.ndarray, turns: np.ndarray, memory: bool) -> Plan | None:
    """The whole plan, or None when nothing fits any more."""
    plan = Plan(problem, memory)
    k = problem.cluster.n_devices
    _, rank = by_falling(rounded(static_level(problem)))
    for _ in range(problem.graph.n_ops):
        ready = [v for v in range(problem.graph.n_ops) if plan.is_ready(v)]
        clock = min(plan.est(v, d) for v in ready for d in range(k))
        if clock == inf:
            return None
        plan.free = [max(time, clock) for time in plan.free]
        idle = [d for d in turns.tolist() if plan.free[d] <= clock]
        plan.place(*next(choice for d in idle if (choice := ask(plan, d, idle, ready, clock, child, rank))))
    return plan


def ask(plan: Plan, d: int, idle: list[int], ready: list[int], clock: float, child, rank) -> tuple | None:
    """The decision of device d at this time: (op, device, start, rule), or None if it waits."""
    favourite = child[plan.last[d]] if plan.last[d] >= 0 else -1
    if favourite in ready:
        starts = [plan.est(favourite, e) for e in range(plan.problem.cluster.n_devices)]
        if starts[d] < inf and starts[d] == min(starts):  # awake
            now = [v for v in ready if all(plan.est(v, e) in (clock, inf) for e in idle) and plan.est(v, d) == clock]
            if now:
                return min(now, key=lambda v: rank[v]), d, clock, URGENT
            return favourite, d, starts[d], WAITED if starts[d] > clock else CHILD
    now = [v for v in ready if plan.est(v, d) == clock]
    return (min(now, key=lambda v: rank[v]), d, clock, SOONEST) if now else None
