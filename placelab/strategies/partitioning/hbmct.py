"""Hybrid balanced minimum completion time: group by group of independent ops, each balanced over the devices."""

from __future__ import annotations

import numpy as np

from placelab.kernels import blocks
from placelab.kernels.plan.look_further import ends_with
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import kept_in_memory
from placelab.planning.ranks import by_falling, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

MEANING = "its group of independent ops would end no sooner with it elsewhere", "end of the group with it there [s]"
GAIN = 1 - 1e-9  # times the last end is what a move must stay below: sums of the same times may differ by rounding
AT_ONCE = 64  # ops that are compared in one array


@partitioner(source="Sakellariou, Zhao 2004")
def hbmct(problem: Problem, *, trace: bool = False) -> Placement:
    """HBMCT: ops by falling upward rank in groups of independent ones; each group is balanced over the devices.

    An op that consumes a tensor of its group begins the next one. Each op is first put where it runs quickest; a device runs the
    ops of a group after those of earlier groups, by the arrival of their inputs. Then ops move, one at a time, from the device
    that ends last to the one that would end soonest with the op, as long as that is sooner than the last end before. Of the ops
    that may move, the one of least mean earliest start goes first.

    Notes
    -----
    Written from the paper's idea and from two public programs, which agree on all this but for the order in which ops are tried
    (SAGA, of Coleman and Krishnamachari: mean earliest start, as here; McSweeney's: mean earliest finish). Ties: the larger
    upward rank, op number, device number. An op whose colocation group has a device stays there; of several in one group of
    independent ops none moves. Transfers as in ``heft``. Where the plan made without regard to memory exceeds a capacity, ops are
    planned again in its order, on its devices as far as they have room. O(edges · devices + moves · ops of a group).
    """
    up = upward_rank(problem)
    plan = plan_arrays.plan(problem, trace)
    idle = np.zeros(problem.cluster.n_devices)
    home = np.full(problem.n_groups, -1)
    done = 0
    for ops in independent(problem.graph, by_falling(rounded(up))[0]):
        group = _Balanced(_times(problem, ops, home), _arrivals(problem, ops, plan), idle)
        group.balance()
        group.enter(ops, plan, done)
        grouped = ops[problem.group[ops] >= 0]
        home[problem.group[grouped]] = plan.device[grouped]
        done += len(ops)
    return with_ranks(kept_in_memory(problem, plan, MEANING, trace), lambda: upward_ranks(problem, up))


def independent(graph: OpGraph, order: np.ndarray) -> list[np.ndarray]:
    """A topological order cut into groups of ops that consume nothing of their group. O(ops + edges)."""
    first = graph.pred_ptr.tolist()
    producer = graph.producer[graph.pred_edge].tolist()
    number = [-1] * graph.n_ops
    current = 0
    begins = [0]
    for i, v in enumerate(order.tolist()):
        if any(number[u] == current for u in producer[first[v] : first[v + 1]]):
            current += 1
            begins.append(i)
        number[v] = current
    return np.split(order, begins[1:])


def _times(problem: Problem, ops: np.ndarray, home: np.ndarray) -> np.ndarray:
    """Time of each op on each device [s], infinite where it may not run; ops of one colocation group have one device."""
    times = problem.exec_table(ops, otherwise=np.inf)
    group = problem.group[ops]
    for g in np.unique(group[group >= 0]).tolist():
        members = np.flatnonzero(group == g)
        if home[g] < 0 and len(members) == 1:
            continue
        device = home[g] if home[g] >= 0 else np.argmin(times[members[0]])
        times[np.ix_(members, np.arange(times.shape[1]) != device)] = np.inf
    return times


def _arrivals(problem: Problem, ops: np.ndarray, plan: blocks.Plan) -> np.ndarray:
    """When all inputs of each op are on each device [s]."""
    graph = problem.graph
    cluster = problem.cluster
    _, delay = plan_arrays.transfer_delay(problem)
    count = graph.pred_ptr[ops + 1] - graph.pred_ptr[ops]
    row = np.repeat(np.arange(len(ops)), count)
    ends = np.cumsum(count)
    edge = graph.pred_edge[np.arange(len(row)) + np.repeat(graph.pred_ptr[ops] - ends + count, count)]
    source = graph.producer[edge]
    size = graph.edge_bytes[edge, None]
    there = plan.finish[source, None] + delay[plan.device[source]] + size / cluster.bandwidth[plan.device[source]]
    arrival = np.zeros((len(ops), cluster.n_devices))
    np.maximum.at(arrival, row, there)
    return arrival


class _Balanced:
    """Independent ops on devices: the device of each op, the end of each device, and its end with another op."""

    def __init__(self, times: np.ndarray, arrival: np.ndarray, idle: np.ndarray) -> None:
        self.times = times
        self.arrival = arrival
        self.idle = idle
        self.device = times.argmin(axis=1)
        self.tried = np.argsort(np.maximum(arrival, idle).mean(axis=1), kind="stable")
        self.by_arrival = np.ascontiguousarray(arrival.argsort(axis=0, kind="stable").T)
        self.sorted = [(arrival[by, d], times[by, d]) for d, by in enumerate(self.by_arrival)]
        self.rest = np.empty(len(times))
        self.end = np.empty(len(idle))
        self.end_with = np.empty(times.shape)
        for d in range(len(idle)):
            self._look_at(d)

    def balance(self) -> None:
        """Move ops as long as that makes the last end sooner."""
        while (move := self._next_move()) is not None:
            op, device = move
            before = self.device[op]
            self.device[op] = device
            self._look_at(before)
            self._look_at(device)

    def enter(self, ops: np.ndarray, plan: blocks.Plan, done: int) -> None:
        """Enter the ops into the plan, which has `done` ops already, and the new end of each device into ``idle``."""
        for d in np.unique(self.device).tolist():
            for i in self.by_arrival[d][self.device[self.by_arrival[d]] == d].tolist():
                plan.start[ops[i]] = max(self.idle[d], self.arrival[i, d])
                self.idle[d] = plan.finish[ops[i]] = plan.start[ops[i]] + self.times[i, d]
        plan.device[ops] = self.device
        plan.order[done : done + len(ops)] = ops[np.argsort(plan.start[ops], kind="stable")]
        if len(plan.score):
            own = np.arange(len(self.idle)) == self.device[:, None]
            score = np.where(own, 0.0, self.end_with).clip(self.end.max())
            plan.score.reshape(-1, len(self.idle))[ops] = np.where(np.isinf(self.times), np.nan, score)

    def _look_at(self, d: int) -> None:
        """When device d ends, as it is and with each other op."""
        work = self.device, self.rest, self.end, self.end_with.reshape(-1)
        ends_with(d, float(self.idle[d]), self.by_arrival[d], *self.sorted[d], *work)

    def _next_move(self) -> tuple[int, int] | None:
        """(op, device) of the next move."""
        last = int(self.end.argmax())
        there = self.tried[self.device[self.tried] == last]
        for i in range(0, len(there), AT_ONCE):
            ends = self.end_with[there[i : i + AT_ONCE]]
            ends[:, last] = np.inf
            device = ends.argmin(axis=1)
            sooner = np.flatnonzero(ends.min(axis=1) < self.end[last] * GAIN)
            if len(sooner):
                return int(there[i + sooner[0]]), int(device[sooner[0]])
        return None
