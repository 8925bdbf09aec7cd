"""Dominant sequence clustering: ops on the longest path join the cluster that their last input comes from."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from placelab.planning.list_scheduling import in_clusters
from placelab.planning.ranks import mean_exec, mean_transfer, upward_rank
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

GAIN = 1 - 1e-12  # times another start is what a sooner one must stay below, because of rounding


@partitioner(source="Yang, Gerasoulis 1994")
def dsc(problem: Problem, *, trace: bool = False) -> Placement:
    r"""DSC: ops on the longest path join the cluster of their last input; clusters go to devices, heavy ones first.

    .. math:: priority(v) = start(v) + rank_u(v), \qquad start(v) = \max_{u \in pred(v)} finish(u) + \bar c_{uv}

    Ops are examined one by one: of those whose inputs are all examined always the one of the highest priority. It is appended to
    the cluster that its last input comes from, if it starts sooner there than alone. Producers that it alone consumes join this
    cluster, too: as many of them, the last ones first, as let it start soonest. If an op with only some inputs examined has a
    higher priority and would start sooner in the cluster of its last input, no other op is appended to that cluster.

    Notes
    -----
    Written from descriptions of the paper and from two public programs, of which one leaves out the last rule (the dominant
    sequence reduction warranty). It keeps a cluster as it is, also where another op would fit in before its time: the nine ops of
    Kwok and Ahmad take 19, 16 without it. Clusters of forks and joins are optimal as long as each has a device of its own.
    Means as in ``heft``. A cluster goes where the work placed there and its own end soonest, by falling work; ops run by falling
    :func:`placelab.upward_rank`, inserted into idle gaps. An op that may not run on its cluster's device, has no room there, or
    whose group is elsewhere goes where it finishes soonest. Ties: the lower op number; of last inputs the one examined first;
    of equal starts the one for which fewer producers move; the cluster with the lowest op number; the lower device number.
    Groups, memory and transfers as in ``heft``. O((ops + edges) log² ops + ops · devices).
    """
    up = upward_rank(problem)
    return in_clusters(problem, _Clusters(problem, up).assigned(), up, trace)


class _Clusters:
    """Clusters, each of which runs its ops one after the other; a cluster has the number of the op that began it."""

    def __init__(self, problem: Problem, up: np.ndarray) -> None:
        graph = problem.graph
        n = problem.graph.n_ops
        latency, per_byte = mean_transfer(problem)
        self.weight = mean_exec(problem).tolist()
        self.rank = up.tolist()
        way = latency + graph.edge_bytes * per_byte
        self.pred_ptr = graph.pred_ptr.tolist()
        self.succ_ptr = graph.succ_ptr.tolist()
        self.producer = graph.producer[graph.pred_edge].tolist()
        self.pred_transfer = way[graph.pred_edge].tolist()
        self.consumer = graph.consumer.tolist()
        self.transfer = way.tolist()
        self.cluster = [-1] * n
        self.finish = [0.0] * n
        self.ops: list[list[int]] = [[] for _ in range(n)]
        self.start = [0.0] * n  # if alone, after the inputs that have been examined
        self.last = [-1] * n  # the input that would be last

    def assigned(self) -> np.ndarray:
        """The cluster of each op, shape (n_ops,)."""
        missing = [b - a for a, b in zip(self.pred_ptr, self.pred_ptr[1:], strict=False)]
        free = [(-self.rank[v], v) for v, count in enumerate(missing) if count == 0]
        free.sort()
        partly: list[tuple] = []
        while free:
            priority, v = heappop(free)
            self.join(v, self.reserved(partly, missing, priority))
            for e in range(self.succ_ptr[v], self.succ_ptr[v + 1]):
                w = self.consumer[e]
                there = self.finish[v] + self.transfer[e]
                if self.last[w] < 0 or there > self.start[w]:
                    self.start[w] = there
                    self.last[w] = v
                missing[w] -= 1
                heappush(free if missing[w] == 0 else partly, (-self.start[w] - self.rank[w], w))
        return np.array(self.cluster)

    def reserved(self, partly: list[tuple], missing: list[int], priority: float) -> int:
        """The cluster that is kept free for an op with only some inputs examined whose priority is higher; -1 for none."""
        while partly and (
            missing[partly[0][1]] == 0 or partly[0][0] != -self.start[partly[0][1]] - self.rank[partly[0][1]]
        ):
            heappop(partly)  # it is free, or has another priority by now
        if not partly or partly[0][0] >= priority:
            return -1
        w = partly[0][1]
        c = self.cluster[self.last[w]]
        return c if self.end(c) < self.start[w] * GAIN else -1

    def end(self, c: int) -> float:
        """When a cluster ends."""
        return self.finish[self.ops[c][-1]] if self.ops[c] else 0.0

    def join(self, v: int, reserved: int) -> None:
        """Append v to the cluster of its last input if it starts sooner there, else let it begin one."""
        c = self.cluster[self.last[v]] if self.last[v] >= 0 else reserved
        if c != reserved:
            start, moved = self.soonest(v, c)
            if start < self.start[v] * GAIN:
                for _, u in moved:
                    self.ops[self.cluster[u]].remove(u)
                    self.append(u, c, self.arrival(u, c))
                self.start[v] = start
                return self.append(v, c, start)
        self.append(v, v, self.start[v])

    def append(self, v: int, c: int, start: float) -> None:
        """Let a cluster run v as its last op."""
        self.finish[v] = max(start, self.end(c)) + self.weight[v]
        self.cluster[v] = c
        self.ops[c].append(v)

    def arrival(self, v: int, c: int) -> float:
        """When the inputs of v are there if it runs in cluster c."""
        latest = 0.0
        for i in range(self.pred_ptr[v], self.pred_ptr[v + 1]):
            u = self.producer[i]
            latest = max(latest, self.finish[u] + (self.pred_transfer[i] if self.cluster[u] != c else 0.0))
        return latest

    def soonest(self, v: int, c: int) -> tuple[float, list[tuple[float, int]]]:
        """Earliest start of v in cluster c, and the producers to move there for it: (arrival of their inputs, op), in order."""
        others: dict[int, float] = {}
        for i in range(self.pred_ptr[v], self.pred_ptr[v + 1]):
            u = self.producer[i]
            if self.cluster[u] != c:
                others[u] = min(others.get(u, 0.0), -self.finish[u] - self.pred_transfer[i])
        late = sorted((there, u) for u, there in others.items())
        most = next((i for i, (_, u) in enumerate(late) if self.others_need(u, v)), len(late))
        inputs = [(self.arrival(u, c), u) for _, u in late[:most]]
        # The more inputs move, the later c ends, and the sooner the others are there: a binary search for where these cross.
        low = 0
        high = most
        while low < high:
            middle = (low + high) // 2
            if self.ends_with(c, inputs[:middle]) < -late[middle][0]:
                low = middle + 1
            else:
                high = middle
        starts = []
        for count in (low - 1, low) if low else (0,):
            there = -late[count][0] if count < len(late) else 0.0
            starts.append((max(self.ends_with(c, inputs[:count]), there), count))
        start, count = min(starts)
        return start, sorted(inputs[:count])

    def others_need(self, u: int, v: int) -> bool:
        """Whether an op other than v consumes what u computes."""
        return any(w != v for w in self.consumer[self.succ_ptr[u] : self.succ_ptr[u + 1]])

    def ends_with(self, c: int, inputs: list[tuple[float, int]]) -> float:
        """When a cluster ends with these (arrival, op) appended."""
        end = self.end(c)
        for there, u in sorted(inputs):
            end = max(end, there) + self.weight[u]
        return end
