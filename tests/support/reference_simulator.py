"""A second simulator, written as plainly as possible: lists, dictionaries, loops over everything.

It shares no code with ``placelab.simulate`` and is slow on purpose. An item is (class, number): ops, then Sends, then
transfers, so that sorted items that end at one instant are in the order of processing.
"""

from __future__ import annotations

import numpy as np
import reference_memory
from reference_fair import FairNetwork

from placelab.base.errors import InfeasibleError
from placelab.problem.problem import Problem
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TRANSFER, Schedule

OP = 0
SEND = 1
TRANSFER_ITEM = 2
CLOCK = 3
BEGIN = 4
FREE = 5
ROOM = 1 + 1e-9  # capacities are compared with this much rounding


def simulate(placement: Placement, order: Order, oom: str = "mark") -> Schedule:
    """The schedule of `placement` under `order` (a run-time rule: rule="ask" and `choose`); oom is "mark" or "wait"."""
    marked = Simulation(placement, order, "mark").run()
    if oom == "mark" or not reference_memory.shortages(marked):
        return marked
    return Simulation(placement, order, oom).run()


class Simulation:
    """One run: items that are ready, running and finished."""

    def __init__(self, placement: Placement, order: Order, oom: str) -> None:
        self.problem = placement.problem
        self.order = order
        self.wait = oom == "wait"
        times = getattr(order, "not_before", None)
        self.not_before = [] if times is None else times.tolist()
        self.placement = placement
        self.device = placement.device.tolist()
        graph = self.problem.graph
        self.edges = list(zip(graph.edge_tensor.tolist(), graph.consumer.tolist(), strict=True))
        self.producer = graph.tensor_producer.tolist()
        self.transfers = needed_transfers(placement)
        self.missing = {v: {t for t, c in self.edges if c == v} for v in range(graph.n_ops)}
        self.ready = {}  # op or Send not yet begun: the time it became executable
        self.active = {}  # item going on: the time it ends
        self.start = {}
        self.finish = {}
        self.running = {}  # device: its op or Send
        self.waiting = []  # transfers requested but not begun, in order of request
        self.out_free = {}  # port under reservations: the time it is free from
        self.in_free = {}
        self.network = FairNetwork(self.problem.cluster) if self.problem.transfers == "fair" else None
        self.now = 0.0

    def run(self) -> Schedule:
        """Rounds: end what is due, begin transfers, begin ops, until nothing ends at this instant; then go to the next end.

        With transfer priorities, transfers that take time begin last, when all of the instant have been requested.
        """
        for v, missing in self.missing.items():
            if not missing:
                self.ready[OP, v] = 0.0
        for v, time in enumerate(self.not_before):
            self.active[CLOCK, v] = time  # devices are looked at then
        while True:
            while self.due() or self.flows_over():
                for item in self.due():
                    self.end(item)
                self.begin_waiting_transfers(collecting=self.order.transfer is not None)
            for d in range(self.problem.cluster.n_devices):
                self.begin_next_op(d)
            if self.now not in self.active.values():
                self.begin_waiting_transfers(collecting=False)
            flows = [] if self.network is None else self.network.ends()
            if not self.active and not flows:
                return self.schedule()
            self.now = min([*self.active.values(), *flows])

    def due(self) -> list[tuple[int, int]]:
        return sorted(item for item, time in self.active.items() if time == self.now)

    def flows_over(self) -> bool:
        """Whether bytes of a transfer are over, when nothing else happens at this instant; else rates change, if they must."""
        if self.network is None:
            return False
        ended = self.network.end(self.now)
        if not ended:
            self.network.share(self.now)
            ended = self.network.end(self.now)
        for i in ended:
            self.bytes_are_over(i)
        return bool(ended)

    def bytes_are_over(self, i: int) -> None:
        """Transfer i ends now, or when its latency is over, too."""
        _, d, e = self.transfers[i]
        latency = self.problem.cluster.latency[d, e] if self.problem.latency == "follows" else 0.0
        self.finish[TRANSFER_ITEM, i] = self.active[TRANSFER_ITEM, i] = self.now + latency

    # ------------------------------------------------------------------ what ends

    def end(self, item: tuple[int, int]) -> None:
        kind, number = item
        del self.active[item]
        if kind == OP:
            del self.running[self.device[number]]
            self.arrive([t for t, u in enumerate(self.producer) if u == number], self.device[number])
            for i, (t, _, _) in enumerate(self.transfers):
                if self.producer[t] == number:
                    if self.problem.transfer_ops:
                        self.ready[SEND, i] = self.now
                    else:
                        self.request(i)
        elif kind == SEND:
            del self.running[self.transfers[number][1]]
            self.request(number)
        elif kind == TRANSFER_ITEM:
            tensor, _, destination = self.transfers[number]
            self.arrive([tensor], destination)
        elif kind == BEGIN:
            self.move_bytes(number)

    def arrive(self, tensors: list[int], d: int) -> None:
        """A tensor has arrived on device d: its consumers there may have become executable."""
        for t, v in self.edges:
            if t in tensors and self.device[v] == d:
                self.missing[v].discard(t)
                if not self.missing[v]:
                    self.ready[OP, v] = self.now

    # ------------------------------------------------------------------ transfers

    def request(self, i: int) -> None:
        _, d, e = self.transfers[i]
        if self.network is not None:
            self.start[TRANSFER_ITEM, i] = self.now
            latency = self.problem.cluster.latency[d, e] if self.problem.latency == "holds" else 0.0
            self.active[BEGIN, i] = self.now + latency
        elif not occupied(self.problem, d, e):
            self.begin_transfer(i, self.now)
        elif self.problem.transfers == "sequential" and self.order.transfer is None:
            ports_in = self.in_free if self.problem.duplex else self.out_free
            start = max(self.now, self.out_free.get(d, 0.0), ports_in.get(e, 0.0))
            self.begin_transfer(i, start)
            self.out_free[d] = ports_in[e] = self.free_again(i, start)
        else:
            self.waiting.append(i)

    def move_bytes(self, i: int) -> None:
        tensor, d, e = self.transfers[i]
        size = self.problem.graph.tensor_bytes[tensor]
        if size == 0:
            self.bytes_are_over(i)
        else:
            self.network.begin(i, d, e, size, self.now)

    def begin_transfer(self, i: int, start: float) -> None:
        self.begin((TRANSFER_ITEM, i), start, self.end_of_transfer(i, start))
        self.active[FREE, i] = self.free_again(i, start)

    def free_again(self, i: int, start: float) -> float:
        """When transfer i, which starts then, no longer occupies what it has to itself."""
        tensor, d, e = self.transfers[i]
        if self.problem.latency == "holds":
            return self.end_of_transfer(i, start)
        return start + self.problem.graph.tensor_bytes[tensor] / self.problem.cluster.bandwidth[d, e]

    def end_of_transfer(self, i: int, start: float) -> float:
        tensor, d, e = self.transfers[i]
        cluster = self.problem.cluster
        size = self.problem.graph.tensor_bytes[tensor]
        return start + cluster.latency[d, e] + size / cluster.bandwidth[d, e]

    def begin(self, item: tuple[int, int], start: float, finish: float) -> None:
        self.start[item] = start
        self.finish[item] = finish
        self.active[item] = finish

    def begin_waiting_transfers(self, collecting: bool) -> None:
        """Begin transfers whose ports (or channel) are free, highest priority first; ties in order of request.

        While requests are being collected: only those that take no time, and before which no other waits in the same queue.
        """
        queues = set()
        for i in sorted(self.waiting, key=lambda i: -self.transfer_priority(i)):  # sorted keeps the order of ties
            _, d, e = self.transfers[i]
            going = [self.transfers[j][1:] for kind, j in self.active if kind == FREE]
            queue = (d, e) if self.problem.transfers == "sequential" else frozenset(occupied(self.problem, d, e))
            early = queue not in queues and self.end_of_transfer(i, self.now) == self.now
            free = not any(occupied(self.problem, d, e) & occupied(self.problem, a, b) for a, b in going)
            if free and (early or not collecting):
                self.waiting.remove(i)
                self.begin_transfer(i, self.now)
            queues.add(queue)

    def transfer_priority(self, i: int) -> float:
        tensor, _, destination = self.transfers[i]
        return 0.0 if self.order.transfer is None else entry(self.order.transfer, tensor, destination)

    # ------------------------------------------------------------------ ops and Sends

    def begin_next_op(self, d: int) -> None:
        if d in self.running:
            return
        ready = [item for item in sorted(self.ready) if self.home(item) == d and self.fits(item)]
        item = self.choose(d, ready)
        if item is not None:
            kind, number = item
            speed = self.problem.cluster.speed[d]
            time = self.problem.exec_time(number, d) if kind == OP else self.problem.transfer_ops / speed
            del self.ready[item]
            self.running[d] = item
            self.begin(item, self.now, self.now + time)

    def home(self, item: tuple[int, int]) -> int:
        kind, number = item
        return self.device[number] if kind == OP else self.transfers[number][1]

    def choose(self, d: int, ready: list[tuple[int, int]]) -> tuple[int, int] | None:
        """The item that device d runs next, or None; `ready` holds items that are executable on d and fit into memory."""
        rule = self.order.rule
        if rule == "planned":
            left = [v for v in self.order.op.tolist() if self.device[v] == d and (OP, v) not in self.start]
            ready = [item for item in ready if item[0] == SEND or (item[1] == left[0] and self.may_start(item[1]))]
        if not ready:
            return None
        tie = lambda item: item[1] - len(self.transfers) if item[0] == SEND else item[1]  # noqa: E731 (Sends first)
        if rule == "fifo":
            given = self.order.op
            number = lambda item: tie(item) if given is None or item[0] == SEND else given[item[1]]  # noqa: E731
            return min(ready, key=lambda item: (self.ready[item], number(item)))
        if rule == "priority":
            return min(ready, key=lambda item: (-self.priority(item), self.ready[item], tie(item)))
        if rule == "msr":
            return min(ready, key=lambda item: (-self.msr(item), self.ready[item], tie(item)))
        sends = [item for item in ready if item[0] == SEND]
        if sends:
            return min(sends, key=lambda item: (self.ready[item], item[1]))
        return ready[0] if rule == "planned" else (OP, self.order.choose(self, d, [v for _, v in ready]))

    def may_start(self, v: int) -> bool:
        return not self.not_before or self.now >= self.not_before[v]

    def priority(self, item: tuple[int, int]) -> float:
        kind, number = item
        if kind == OP:
            return self.order.op[number]
        tensor, _, destination = self.transfers[number]
        for given in (self.order.send, self.order.transfer):
            if given is not None:
                return entry(given, tensor, destination)
        return max(self.order.op[v] for t, v in self.edges if t == tensor and self.device[v] == destination)

    def msr(self, item: tuple[int, int]) -> float:
        """Mayer eq. 13: how much running the item helps idle devices. For a Send: the ops that its transfer feeds."""
        alpha, beta, gamma, delta = self.order.weights
        kind, v = item
        brings = {t for t, u in enumerate(self.producer) if u == v} if kind == OP else {self.transfers[v][0]}
        feeds = {c for t, c in self.edges if t in brings and (kind == OP or self.device[c] == self.transfers[v][2])}
        score = 0.0
        for s in sorted(feeds):
            last = self.missing[s] <= brings
            if self.order.static:
                last = len({self.producer[t] for t, c in self.edges if c == s}) == 1
            other = self.device[s] != self.home(item)
            idle = self.device[s] not in self.running
            score += alpha + beta * other + gamma * last + delta * (last and idle)
        return score

    # ------------------------------------------------------------------ waiting for memory

    def fits(self, item: tuple[int, int]) -> bool:
        """Whether memory suffices to begin the item now; always true without waiting."""
        kind, v = item
        if not self.wait or kind == SEND or self.problem.memory == "none":
            return True
        d = self.device[v]
        return self.in_use(d, starting=v) <= self.problem.cluster.memory[d] * ROOM

    def in_use(self, d: int, starting: int) -> float:
        """Bytes on device d once op `starting` has begun, counting what it will hold when it ends."""
        graph = self.problem.graph
        model = self.problem.memory
        here = [v for v in range(graph.n_ops) if self.device[v] == d]
        if model == "reserved":
            return sum(graph.memory[v] for v in here)
        begun = {v for v in range(graph.n_ops) if (OP, v) in self.start or v == starting}
        ended = {v for v in begun if (OP, v) in self.finish and (OP, v) not in self.active}
        total = 0.0
        done = begun  # a consumer frees its inputs when it starts …
        if model == "dynamic":  # … or when it ends
            total = sum(graph.persistent[v] + graph.temporary[v] * (v in begun - ended) for v in here)
            done = ended
        for t, u in enumerate(self.producer):
            consumers = [c for x, c in self.edges if x == t]
            moves = [i for i, (x, _, _) in enumerate(self.transfers) if x == t]
            local = [c for c in consumers if self.device[c] == d]
            if self.device[u] == d:
                unused = model == "edges" and not consumers
                over = u in ended and all(c in done for c in local) and all(self.has_ended(i) for i in moves)
                held = u in begun and not over and not unused
            else:
                arrived = any(self.is_there(i) for i in moves if self.transfers[i][2] == d)
                held = arrived and not all(c in done for c in local)
            total += graph.tensor_bytes[t] * held
        return total

    def has_ended(self, i: int) -> bool:
        return (TRANSFER_ITEM, i) in self.finish and (TRANSFER_ITEM, i) not in self.active

    def is_there(self, i: int) -> bool:
        """Whether transfer i needs memory at its destination: under ``dynamic`` from its start, else from its end."""
        if self.problem.memory == "dynamic":
            return self.start.get((TRANSFER_ITEM, i), np.inf) <= self.now
        return self.has_ended(i)

    # ------------------------------------------------------------------ the result

    def schedule(self) -> Schedule:
        graph = self.problem.graph
        stuck = [v for v in range(graph.n_ops) if (OP, v) not in self.finish]
        if stuck:
            raise InfeasibleError(
                f"no room for any of {[graph.names[v] for kind, v in sorted(self.ready) if kind == OP]}"
            )
        column = lambda kind: np.array(  # noqa: E731
            [(*row, self.start[kind, i], self.finish[kind, i]) for i, row in enumerate(self.transfers)], dtype=TRANSFER
        )
        times = [np.array([times[OP, v] for v in range(graph.n_ops)]) for times in (self.start, self.finish)]
        sends = column(SEND) if self.problem.transfer_ops else np.empty(0, TRANSFER)
        return Schedule(self.placement, *times, column(TRANSFER_ITEM), sends, self.order.rule)


def occupied(problem: Problem, source: int, destination: int) -> set:
    """What a transfer has to itself until its links are free again; nothing where none waits for another."""
    model = problem.transfers
    if model == "parallel":
        return set()
    if model == "sequential":
        return {("out", source), ("in", destination)} if problem.duplex else {source, destination}
    if model == "channel":
        return {(source, destination)}
    raise NotImplementedError(
        f"the reference simulator has no rule for {model!r} transfers; write it in `occupied` of {__file__}"
    )


def needed_transfers(placement: Placement) -> list[tuple[int, int, int]]:
    """(tensor, source, destination) of required transfers, in order of (producer, destination, tensor)."""
    graph = placement.problem.graph
    device = placement.device.tolist()
    needed = set()
    for t, u, v in zip(graph.edge_tensor.tolist(), graph.producer.tolist(), graph.consumer.tolist(), strict=True):
        if device[u] != device[v]:
            needed.add((u, device[v], t))
    return [(t, device[u], d) for u, d, t in sorted(needed)]


def entry(priorities: np.ndarray, tensor: int, destination: int) -> float:
    """A tensor's priority, which may depend on where it goes."""
    return priorities[tensor] if priorities.ndim == 1 else priorities[tensor, destination]
