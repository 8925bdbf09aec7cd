"""Plans op by op on a :class:`~placelab.planning.list_scheduler.ListScheduler`, first without regard to memory: `fcp`, `flb`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.list_scheduling import anew_in_memory
from placelab.planning.memory_plan import can_bind
from placelab.planning.ranks import mean_transfer
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import planned_schedule
from placelab.schedule.trace import EARLIEST_START

LastMessage = Callable[[int], tuple[int, float]]
Arrival = Callable[[int, int], float]


def without_memory(problem: Problem, trace: bool) -> ListScheduler:
    """An empty plan that appends ops, as if memory were unlimited."""
    s = ListScheduler(problem, trace=trace)
    s._memory = None
    return s


def within_memory(s: ListScheduler, trace: bool) -> Placement:
    """The finished plan, whose scores are earliest starts.

    Where it exceeds a capacity, ops are planned again in its order with memory tracked over time, on its devices where they
    have room there, else where they finish soonest.
    """
    problem, placement = s.problem, s.placement(EARLIEST_START)
    if can_bind(problem) and len(planned_schedule(problem, s.device, s.start, s.finish).oom):
        return anew_in_memory(problem, np.array(s._placed, np.int32), s.device, trace)
    return placement


def enter(s: ListScheduler, v: int, d: int, start: float, reason: str, scores: Mapping[int, float]) -> float:
    """Plan op v on a device that it may run on, after the device's last op and its inputs; return when it ends [s]."""
    if s._decisions is not None:
        s._record(s._decisions, v, d, reason, scores)
    finish = start + s._exec(v, d)
    s.enter(v, d, start, finish)
    return finish


def arrivals(s: ListScheduler) -> Arrival:
    """A function of an op and a device: :meth:`ListScheduler.arrival` without a look at the other devices, O(inputs)."""
    done, home, way, rate, producer, size = s._done, s._home, s._way, s._rate, s._producer, s._size

    def of(v: int, d: int) -> float:
        latest = 0.0
        for t in s._inputs_of(v):
            u = producer[t]
            there = done[u] + way[home[u]][d] + size[t] / rate[home[u]][d]
            latest = there if there > latest else latest
        return latest

    return of


def last_message(s: ListScheduler) -> LastMessage:
    """A function of an op whose inputs are placed: the device of its last input, and when this would arrive elsewhere [s].

    By mean transfer times, as in :func:`placelab.upward_rank`. Ties: the first input. (-1, 0.0) for an op without inputs.
    """
    graph, (latency, per_byte) = s.problem.graph, mean_transfer(s.problem)
    transfer = (latency + graph.edge_bytes * per_byte)[graph.pred_edge].tolist()
    first, producer = graph.pred_ptr.tolist(), graph.producer[graph.pred_edge].tolist()

    def of(v: int) -> tuple[int, float]:
        device, latest = -1, 0.0
        for i in range(first[v], first[v + 1]):
            arrival = s._done[producer[i]] + transfer[i]
            if device < 0 or arrival > latest:
                device, latest = s._home[producer[i]], arrival
        return device, latest

    return of
