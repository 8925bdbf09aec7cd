"""Fast critical path: the most urgent op of a short queue, and two devices to choose from."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

import numpy as np

from placelab.planning.list_scheduling import arrivals, enter, last_message, within_memory, without_memory
from placelab.planning.ranks import by_falling, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

FIRST = "idle first; starts no sooner on the device that its last input comes from"
SENDER = "its last input comes from there, so that it starts sooner than on the device that is idle first"


@partitioner(source="Rădulescu, van Gemund 1999")
def fcp(problem: Problem, *, trace: bool = False) -> Placement:
    """FCP: the most urgent of a few ready ops, on the device idle first or on the one that its last input comes from.

    A queue sorted by falling upward rank (bottom level) holds at most as many ready ops as there are devices. An op that becomes
    ready while the queue is full waits in line, of several the lower number first; whenever an op leaves the queue, the first in
    line enters it. Of the two devices an op gets the one where it starts sooner, after that device's last op.

    Notes
    -----
    Written from what others quote of the paper, and checked against the rule of a public program (SAGA; Coleman,
    Krishnamachari), which looks for the input that is computed last; here it is the one that would arrive last elsewhere, by
    mean transfer times, as the paper says. The paper's devices are equal: on unequal ones, too, only starts are compared. Ties:
    the device idle first, ops and devices by number. Groups and transfers as in ``heft``; a device that the op may not run on is
    left out. Where the plan made without regard to memory exceeds a capacity, ops are planned again in its order, on
    its devices as far as they have room. O(edges + ops · (devices + log ops)).
    """
    graph = problem.graph
    k = problem.cluster.n_devices
    up = upward_rank(problem)
    order, place = (ops.tolist() for ops in by_falling(rounded(up)))
    s = without_memory(problem, trace)
    idle = [0.0] * k
    sender = last_message(s)
    arrival = arrivals(s)
    missing = np.diff(graph.pred_ptr).tolist()
    first = graph.succ_ptr.tolist()
    consumer = graph.consumer.tolist()
    urgent: list[int] = []
    line: deque[int] = deque()
    became_ready = [v for v in range(graph.n_ops) if missing[v] == 0]
    while became_ready or urgent:
        for v in sorted(became_ready):
            if len(urgent) < k:
                heappush(urgent, place[v])
            else:
                line.append(place[v])
        v = order[heappop(urgent)]
        if line:
            heappush(urgent, line.popleft())
        may = s.candidates(v)
        soonest = min(may, key=idle.__getitem__)
        last = sender(v)[0]
        starts = {d: max(arrival(v, d), idle[d]) for d in ((soonest, last) if last in may else (soonest,))}
        d = min(starts, key=starts.__getitem__)
        idle[d] = enter(s, v, d, starts[d], FIRST if d == soonest else SENDER, starts)
        became_ready = []
        for w in consumer[first[v] : first[v + 1]]:
            missing[w] -= 1
            if missing[w] == 0:
                became_ready.append(w)
    return with_ranks(within_memory(s, trace), lambda: upward_ranks(problem, up))
