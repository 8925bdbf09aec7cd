"""GDL, FCP, FLB, HBMCT, DSC and duplex: each rule written plainly, and what is known of it."""

from __future__ import annotations

from collections import deque
from itertools import chain, combinations, product

import numpy as np
import problems
import pytest
from examples import fewer
from list_scheduling_graphs import nine_ops, peft_graph
from same_placement import same

import placelab as pl
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.ranks import by_falling, mean_transfer, rounded
from placelab.strategies.partitioning.dls import median_exec
from placelab.strategies.partitioning.dsc import _Clusters
from placelab.strategies.partitioning.hbmct import independent

WHOLE = dict(memory=("none",), whole=True)


def ready_ops(s):
    """Ops whose inputs are placed and that are not, by number."""
    graph = s.problem.graph
    return [
        v for v in range(graph.n_ops) if s.device[v] < 0 and all(s.device[u] >= 0 for u in graph.predecessors_of(v))
    ]


def last_input(s, v):
    """(when the last input of v would arrive elsewhere, the device it comes from), by mean transfers; the first of equal ones."""
    graph, (latency, per_byte) = s.problem.graph, mean_transfer(s.problem)
    edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]
    arrive = [s.finish[graph.producer[e]] + (latency + graph.edge_bytes[e] * per_byte) for e in edges]
    return (max(arrive), int(s.device[graph.producer[edges[np.argmax(arrive)]]])) if arrive else (0.0, -1)


def idle(s, d):
    """When the last op of a device ends."""
    return float(s.finish[s.device == d].max(initial=0.0))


def gdl(problem):
    """Of all ready ops the one of the largest level on its best device plus what that is above the second-best."""
    graph = problem.graph
    s = ListScheduler(problem)
    median = median_exec(problem)
    level = median.copy()
    for v in reversed(range(graph.n_ops)):
        level[v] += max((level[w] for w in graph.successors_of(v)), default=0.0)

    def generalized(v):
        dynamic = sorted(((level[v] + median[v]) - s.eft(v, d) for d in s.candidates(v)), reverse=True)
        return dynamic[0] + (dynamic[0] - dynamic[1]) if len(dynamic) > 1 else np.inf

    while (s.device < 0).any():
        v = max(ready_ops(s), key=lambda v: (generalized(v), -v))
        s.place(v, min(s.candidates(v), key=lambda d: s.eft(v, d)))
    return s.placement()


def fcp(problem):
    """Queue and line as lists; two candidates."""
    s = ListScheduler(problem)
    k = problem.cluster.n_devices
    rank = rounded(pl.upward_rank(problem))
    queue = []
    line = deque()
    while (s.device < 0).any():
        for v in ready_ops(s):
            if v not in queue and v not in line:
                (queue if len(queue) < k else line).append(v)
        v = min(queue, key=lambda v: (-rank[v], v))
        queue.remove(v)
        if line:
            queue.append(line.popleft())
        first = min(s.candidates(v), key=lambda d: idle(s, d))
        last = last_input(s, v)[1]
        s.place(v, last if last in s.candidates(v) and s.est(v, last) < s.est(v, first) else first)
    return s.placement()


def flb(problem):
    """Every ready op is looked at anew at each step."""
    s = ListScheduler(problem)
    rank = rounded(pl.upward_rank(problem))
    while (s.device < 0).any():
        waits = []
        others = []
        for v in ready_ops(s):
            there, d = last_input(s, v)
            if d >= 0 and there >= idle(s, d) and d in s.candidates(v):
                waits.append((max(s.arrival(v, d), idle(s, d)), d, s.arrival(v, d), -rank[v], v))
            else:
                others.append((there, -rank[v], v))
        # per device the one whose inputs are there first; of those the soonest
        of = {d: min(w[2:] for w in waits if w[1] == d)[-1] for _, d, *_ in waits}
        soonest = min(((s.est(v, d), -rank[v], v, d) for d, v in of.items()), default=None)
        if others:
            v = min(others)[-1]
            d = min(s.candidates(v), key=lambda d: idle(s, d))
            if soonest is None or s.est(v, d) <= soonest[0]:
                s.place(v, d)
                continue
        s.place(*soonest[2:])
    return s.placement()


@pytest.mark.parametrize("rule", [gdl, fcp, flb])
def test_it_is_the_rule(rule):
    """Device, order and estimate, with groups, restrictions, ops of no time and ties."""
    for i, problem in enumerate(problems.many(80, seed=97, **WHOLE)):
        assert same(pl.place(problem, rule.__name__), rule(problem)), i


def balanced(problem):
    """HBMCT on one group of independent ops: the end of every device is found anew for every move."""
    graph = problem.graph
    s = ListScheduler(problem)
    k = problem.cluster.n_devices
    times = problem.exec_table(otherwise=np.inf)
    order = by_falling(rounded(pl.upward_rank(problem)))[0]
    for group in independent(graph, order):
        ops = group.tolist()
        ready = {(v, d): s.arrival(v, d) for v in ops for d in range(k)}
        begins = [idle(s, d) for d in range(k)]
        where = {v: int(np.argmin(times[v])) for v in ops}

        def end(d, among, ready=ready, begins=begins):
            at = begins[d]
            for v in sorted(among, key=lambda v: ready[v, d]):
                at = max(at, ready[v, d]) + times[v, d]
            return at

        mean = {v: np.mean([max(ready[v, d], begins[d]) for d in range(k)]) for v in ops}
        moved = True
        while moved:
            moved = False
            ends = [end(d, [v for v in ops if where[v] == d]) for d in range(k)]
            last = int(np.argmax(ends))
            for v in sorted((v for v in ops if where[v] == last), key=mean.__getitem__):
                to = {d: end(d, [w for w in ops if where[w] == d or w == v]) for d in range(k) if d != last}
                best = min(to, key=to.__getitem__, default=last)
                if to and to[best] < ends[last] * (1 - 1e-9):
                    where[v] = best
                    moved = True
                    break
        for d in range(k):
            for v in sorted((v for v in ops if where[v] == d), key=lambda v: ready[v, d]):
                s.place(v, d)
    return s


def test_hbmct_is_the_rule():
    """The same devices and estimate as where every end is added up anew; without groups."""
    tried = 0
    for i, problem in enumerate(problems.many(80, seed=98, **WHOLE)):
        if problem.n_groups:
            continue
        placement = pl.place(problem, "hbmct")
        plain = balanced(problem)
        assert placement.device.tolist() == plain.device.tolist(), i
        assert placement.estimate == pytest.approx(plain.finish.max(), rel=1e-12), i
        tried += 1
    assert tried > fewer(20)


def test_groups_of_independent_ops():
    """By falling upward rank; an op begins the next group if it needs one of the group before."""
    problem = nine_ops(3)
    order = by_falling(rounded(pl.upward_rank(problem)))[0]
    groups = [[v + 1 for v in group.tolist()] for group in independent(problem.graph, order)]
    assert groups == [[1], [2, 4, 3], [7, 6, 8, 5], [9]]


def star(random, m, inward):
    """A fork or a join of m branches, with as many equal devices as ops."""
    edges = [(v, m) if inward else (0, v + 1) for v in range(m)]
    time = random.integers(0, 9, m + 1).astype(float)
    size = random.integers(0, 9, m).astype(float)
    graph = pl.OpGraph.from_arrays([f"v{v}" for v in range(m + 1)], time, edges, edge_bytes=size)
    return pl.Problem(graph, pl.Cluster([1.0] * (m + 1), bandwidth=1.0, latency=0.0)), time, size


@pytest.mark.parametrize(("seed", "inward"), list(product(range(25), (False, True))))
def test_dsc_is_optimal_on_forks_and_joins(seed, inward):
    """Some branches run with the centre, one after the other, all others alone: no choice of those is shorter."""
    random = np.random.default_rng(seed)
    m = int(random.integers(1, 8))
    problem, time, size = star(random, m, inward)
    centre, own = (time[-1], time[:-1]) if inward else (time[0], time[1:])
    subsets = chain.from_iterable(combinations(range(m), count) for count in range(m + 1))
    best = min(
        max([sum(own[v] for v in near), *(own[v] + size[v] for v in range(m) if v not in near)]) for near in subsets
    )
    assert pl.place(problem, "dsc").estimate == pytest.approx(centre + best)


def test_dsc_keeps_a_cluster_for_an_op_on_the_longest_path():
    """c waits for 8 bytes of a, and for d: b, which is quicker with a, too, leaves a's cluster to c."""
    graph = pl.OpGraph.from_arrays(
        list("abdc"), [1.0, 2.0, 1.0, 3.0], [(0, 1), (0, 3), (0, 2), (2, 3)], edge_bytes=[3.0, 8.0, 1.0, 1.0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 4, bandwidth=1.0, latency=0.0))
    device = pl.place(problem, "dsc").device.tolist()
    assert device[0] == device[3] != device[1]


def test_dsc_on_the_nine_ops():
    """Examined in the order 1 2 7 6 4 3 8 9 5; 2 and 4, less urgent than 7 and 9, leave the cluster of 1 to those.

    Priorities, start + way to the end: 1 has 23. Then 7, with one input examined, has 12 + 11 = 23, 2 has 6 + 15 = 21. So 2
    begins a cluster, 6 to 9; 7 waits for it until 10 in the cluster of 1: 10 to 14 (12 alone). Now 9 has 20 + 1, from 7. 6, with
    20, follows 2: 9 to 13. 4, with 18, and 3, with 17, begin clusters: 3 to 7, 3 to 6. 8 follows 4: 7 to 11 (8 alone). 9 comes
    after 7, when 6 has sent its bytes, at 18: it ends at 19. 5 is alone. Where 2 joins 1, all end at 16: the reservation costs
    three here, as 7 must wait for 2 in any case.
    """
    problem = nine_ops(9)
    cluster = (_Clusters(problem, pl.upward_rank(problem)).assigned() + 1).tolist()
    assert cluster == [1, 2, 3, 4, 5, 2, 1, 4, 1]
    assert pl.place(problem, "dsc").estimate == 19


KNOWN = {
    "gdl": (17, 134, 91),
    "fcp": (16, 139, 95),
    "flb": (17, 127, 100),
    "hbmct": (16, 121, 76),
    "dsc": (19, 145, 89),
    "duplex": (17, 122, 76),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_makespans(name):
    """Planned and simulated, on the nine ops of Kwok and Ahmad, PEFT's and Topcuoglu's graphs; our own results."""
    for problem, makespan in zip(
        (nine_ops(3), peft_graph(), pl.datasets.problem("topcuoglu")), KNOWN[name], strict=True
    ):
        placement = pl.place(problem, name)
        assert placement.estimate == pl.simulate(problem, placement, "planned").makespan == makespan


def test_duplex_takes_the_shorter_plan():
    """Of both, and the other's where one has no room."""
    for problem in problems.many(40, seed=99, transfer_ops=(0,)):
        plans = []
        for name in ("min-min", "max-min"):
            try:
                plans.append(pl.partitioners()[name](problem).estimate)
            except pl.InfeasibleError:
                continue
        if plans:
            assert pl.partitioners()["duplex"](problem).estimate == min(plans)
        else:
            with pytest.raises(pl.InfeasibleError):
                pl.partitioners()["duplex"](problem)
