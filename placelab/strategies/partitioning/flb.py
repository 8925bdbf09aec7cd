"""Fast load balancing: always the op that can start soonest, found among two candidates."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.list_scheduling import arrivals, enter, last_message, within_memory, without_memory
from placelab.planning.ranks import by_falling, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

WAITS = "its last input comes from there, and no other op that waits for its last input starts sooner"
ARRIVED = "idle first; of the ops that do not wait for their last input this one's inputs were there first"


@partitioner(source="Rădulescu, van Gemund 1999")
def flb(problem: Problem, *, trace: bool = False) -> Placement:
    """FLB: of two candidates the op that starts sooner, as in ``etf`` on equal devices, without a look at all pairs.

    An op *waits* if its last input, sent to another device, would arrive after the device that it comes from is idle; the op then
    starts soonest on that device. Any other op starts soonest on the device that is idle first. Candidates are, of the ops that
    wait, the one that starts soonest, and of the others the one whose inputs would be on all devices first. Ops are appended.

    Notes
    -----
    Written from what others quote of the paper, and checked against the rule of a public program (SAGA; Coleman,
    Krishnamachari), which prefers the op that waits where both start equally soon; here the other one goes first, as in the
    paper: its transfers take place during other work. The arrival of the last input elsewhere is by mean transfer times, a start
    by those of the link. The paper's devices are equal: on unequal ones, too, only starts are compared. Of the ops that wait for
    an input from one device, the one whose inputs are there first goes first. Other ties: the larger upward rank (bottom level),
    then op and device number. Groups and transfers as in ``heft``; an op that may not run where its last input comes from does
    not wait. Where the plan made without regard to memory exceeds a capacity, ops are planned again in its order, on its devices
    as far as they have room. O(edges + ops · (devices + log ops)).
    """
    graph = problem.graph
    up = upward_rank(problem)
    ready = _Ready(without_memory(problem, trace), by_falling(rounded(up))[1].tolist())
    missing = np.diff(graph.pred_ptr).tolist()
    first = graph.succ_ptr.tolist()
    consumer = graph.consumer.tolist()
    for v in range(graph.n_ops):
        if missing[v] == 0:
            ready.add(v)
    for _ in range(graph.n_ops):
        v = ready.place_next()
        for w in consumer[first[v] : first[v + 1]]:
            missing[w] -= 1
            if missing[w] == 0:
                ready.add(w)
    return with_ranks(within_memory(ready.s, trace), lambda: upward_ranks(problem, up))


class _Ready:
    """The ready ops: those that wait for their last input, per device that it comes from, and the others."""

    def __init__(self, s: ListScheduler, place: list[int]) -> None:
        self.s = s
        self.place = place
        self.sender = last_message(s)
        self.arrival = arrivals(s)
        k = s.problem.cluster.n_devices
        self.group = s.problem.group.tolist()
        self.idle = [0.0] * k
        self.waits = [False] * len(place)
        self.by_start: list[list[tuple]] = [[] for _ in range(k)]  # (arrival there, place, op); some wait no more
        self.by_arrival: list[list[tuple]] = [[] for _ in range(k)]  # (arrival elsewhere, place, op)
        self.others: list[tuple] = []  # (arrival elsewhere, place, op)

    def add(self, v: int) -> None:
        """Let v be ready."""
        device, elsewhere = self.sender(v)
        entry = elsewhere, self.place[v], v
        self.waits[v] = device >= 0 and elsewhere >= self.idle[device] and device in self.s.candidates(v)
        if self.waits[v]:
            heappush(self.by_start[device], (self.arrival(v, device), *entry[1:]))
            heappush(self.by_arrival[device], entry)
        else:
            heappush(self.others, entry)

    def place_next(self) -> int:
        """Place the op that starts sooner of the two candidates; return it."""
        waiting = self._soonest()
        s = self.s
        if self.others:
            v = self.others[0][2]
            d = min(s.candidates(v), key=self.idle.__getitem__)
            start = max(self.arrival(v, d), self.idle[d])
            if waiting is None or start <= waiting[0]:
                heappop(self.others)
                return self._place(v, d, start, ARRIVED)
        assert waiting is not None  # some op is ready as long as any is left
        return self._place(waiting[2], waiting[3], waiting[0], WAITS)

    def _soonest(self) -> tuple[float, int, int, int] | None:
        """(start, place, op, device) of the op that waits for its last input and starts soonest."""
        best: tuple[float, int, int, int] | None = None
        for d, heap in enumerate(self.by_start):
            if not heap:
                continue
            while heap and not self._still_waits(heap[0][2], d):
                heappop(heap)
            if heap:
                there, place, v = heap[0]
                entry = max(there, self.idle[d]), place, v, d
                best = entry if best is None or entry < best else best
        return best

    def _still_waits(self, v: int, d: int) -> bool:
        if self.waits[v] and self.group[v] >= 0 and d not in self.s.candidates(v):
            self._wait_no_more(v)  # its group has got another device
        return self.waits[v]

    def _wait_no_more(self, v: int) -> None:
        self.waits[v] = False
        heappush(self.others, (self.sender(v)[1], self.place[v], v))

    def _place(self, v: int, d: int, start: float, reason: str) -> int:
        may = self.s.candidates(v)
        scores = {e: max(self.arrival(v, e), self.idle[e]) for e in {d, self.sender(v)[0]} if e in may}
        self.waits[v] = False
        self.idle[d] = enter(self.s, v, d, start, reason, scores)
        heap = self.by_arrival[d]
        while heap and heap[0][0] < self.idle[d]:
            w = heappop(heap)[2]
            if self.waits[w]:
                self._wait_no_more(w)
        return v
