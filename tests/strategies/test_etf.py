"""etf and m-etf: examples by hand, and a plain implementation under every transfer and memory model."""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import problems
import pytest
from examples import fewer

import placelab as pl
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.memory_plan import MemoryPlan
from placelab.planning.ranks import by_falling, rounded, static_level
from placelab.strategies.partitioning import etf


def plain_etf(problem, finish=True):
    """The rule on the list scheduler: among ready ops and devices with enough memory the smallest (start, rank, finish, device).

    `finish`: whether finishes are compared. Returns the scheduler and the ops as placed; or why nothing fits, and None.
    """
    s = ListScheduler(problem)
    graph = problem.graph
    _, rank = by_falling(rounded(static_level(problem)))
    missing = np.diff(graph.pred_ptr)
    order = []
    while len(order) < graph.n_ops:
        ready = np.flatnonzero((missing == 0) & (s.device < 0)).tolist()
        pairs = [(s.est(v, d), rank[v], finish and s.eft(v, d), d, v) for v in ready for d in s.candidates(v)]
        if not pairs:
            return refusal(s.feasible, min(ready, key=lambda v: rank[v])), None
        *_, d, v = min(pairs)
        s.place(v, d)
        order.append(v)
        np.subtract.at(missing, graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]], 1)
    return s, order


def refusal(function, *arguments, **options):
    """The error of an infeasible call."""
    with pytest.raises(pl.InfeasibleError) as said:
        function(*arguments, **options)
    return str(said.value)


class Queues:
    """Transfers one at a time per port or channel, in the order in which their consumers are placed."""

    def __init__(self, problem):
        self.problem = problem
        self.free = Counter()
        self.copies = {}

    def resources(self, s, d):
        if self.problem.transfers == "channel":
            return [(s, d)]
        return [("out", s), ("in", d)] if self.problem.duplex else [s, d]

    def inputs(self, v, d, device, finish):
        """(tensor, home, sent, there) of each input of v as if it ran on d, and the transfers that this needs."""
        graph = self.problem.graph
        cluster = self.problem.cluster
        new = {}
        mine = {}
        edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]].tolist()
        times = {}
        for e in sorted(edges, key=lambda e: finish[graph.producer[e]]):
            u = graph.producer[e]
            t = graph.edge_tensor[e]
            s = device[u]
            known = self.copies | new
            if s == d:
                times[e] = finish[u], finish[u]
            elif (t, d) in known:
                times[e] = known[t, d]
            else:
                begin = max([finish[u], *(mine.get(x, self.free[x]) for x in self.resources(s, d))])
                end = begin + cluster.latency[s, d] + graph.edge_bytes[e] / cluster.bandwidth[s, d]
                bytes_are_over = begin + graph.edge_bytes[e] / cluster.bandwidth[s, d]
                free = end if self.problem.latency == "holds" else bytes_are_over
                mine |= dict.fromkeys(self.resources(s, d), free)
                times[e] = new[t, d] = begin, end
        return [(int(graph.edge_tensor[e]), device[graph.producer[e]], *times[e]) for e in edges], new, mine


def plain_etf_in_queues(problem):
    """The rule with contention, in dictionaries; None if nothing fits."""
    graph = problem.graph
    device = {}
    start = {}
    finish = {}
    fixed = {}
    _, rank = by_falling(rounded(static_level(problem)))
    memory = problem.memory != "none" and MemoryPlan(problem)
    queues = Queues(problem)
    free = Counter()

    def est(v, d):
        inputs, *_ = queues.inputs(v, d, device, finish)
        now = max([free[d], *(there for *_, there in inputs)])
        before = -1.0
        while memory and now < inf and now != before:
            before, now = now, memory.earliest(v, d, now, problem.exec_time(v, d), inputs)
        return now

    while len(device) < graph.n_ops:
        waiting = {v for u, v in graph.edges.tolist() if u not in device}
        pairs = []
        for v in set(range(graph.n_ops)) - set(device) - waiting:
            for d in fixed.get(problem.group[v], problem.feasible(v).tolist()):
                pairs.append((est(v, d), rank[v], est(v, d) + problem.exec_time(v, d), d, v))
        if min(pairs)[0] == inf:
            return None
        now, _, done, d, v = min(pairs)
        inputs, new, mine = queues.inputs(v, d, device, finish)
        if memory:
            memory.place(v, d, now, done, inputs)
        queues.copies |= new
        queues.free |= {x: max(end, queues.free[x]) for x, end in mine.items()}
        device[v] = d
        start[v] = now
        finish[v] = done
        free[d] = done
        if problem.group[v] >= 0:
            fixed[problem.group[v]] = [d]
    return [device[v] for v in range(graph.n_ops)], [start[v] for v in range(graph.n_ops)], list(device)


def chains(*chains, compute=1.0, **rest):
    """Independent chains of named ops, with the bytes of the edge after each: ``["a", 5.0, "b"]``."""
    names = [x for chain in chains for x in chain[::2]]
    edges = [(a, b) for chain in chains for a, b in zip(chain[::2], chain[2::2], strict=False)]
    size = [x for chain in chains for x in chain[1::2]]
    number = {name: v for v, name in enumerate(names)}
    pairs = [(number[a], number[b]) for a, b in edges]
    return pl.OpGraph.from_arrays(names, [compute] * len(names), pairs, edge_bytes=size, **rest)


def test_baechi_figure_6():
    """Worked example 2: Grad on 0 and Step on 1; UpdateStep follows Step and waits 5 for Grad's tensor: 1 + 5 + 1 = 7."""
    graph = pl.OpGraph.from_arrays(
        ["Grad", "Step", "UpdateStep"], [1.0] * 3, [(0, 2), (1, 2)], edge_bytes=[5.0, 0.0], groups=[[1, 2]]
    )
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0)), "etf")
    assert placement.to_mapping() == {"Grad": "dev0", "Step": "dev1", "UpdateStep": "dev1"}
    assert placement.estimate == 7.0


def test_the_earliest_task_goes_first_by_hand():
    """Thesis 4.2, two machines, all times 1 but a2's transfer 3: b is third, on the idle machine; c fills a gap after it.

    At 0 a1 (level 2) starts on dev0, and b (level 1) on dev1. At 1 a2 could start on dev0 (on dev1 only at 4), c on either:
    a2 has the larger number but both level 1, so the lower number, a2, goes first to dev0, c to dev1.
    """
    graph = chains(["a1", 3.0, "a2"], ["b"], ["c"])
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0)), "etf", trace=True)
    assert [graph.names[v] for v in placement.trace.op] == ["a1", "b", "a2", "c"]
    assert placement.device.tolist() == [0, 0, 1, 1]
    assert placement.trace.score.tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 4.0], [2.0, 1.0]]


def test_of_equal_starts_the_longer_way_goes_first():
    """Static level decides before number: z, the last op, has two ops after it and goes first."""
    graph = chains(["a"], ["b"], ["z", 0.0, "y", 0.0, "x"])
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0])), "etf", trace=True)
    assert [graph.names[v] for v in placement.trace.op] == ["z", "y", "a", "b", "x"]


def test_of_equal_starts_the_faster_device_is_taken():
    """Both devices are idle at 0, the lower number is slower: the long op takes the faster device, the short one the other."""
    graph = pl.OpGraph.from_arrays(["long", "short"], [8.0, 1.0], [])
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0, 4.0])), "etf", trace=True)
    assert [graph.names[v] for v in placement.trace.op] == ["long", "short"]
    assert placement.device.tolist() == [1, 0]


def test_identical_devices_have_the_ties_of_the_papers():
    """On these the finish decides nothing: the smallest (start, static level, op, device)."""
    for i, problem in enumerate(
        problems.many(200, seed=81, memory=("none",), transfers=("parallel",), identical=True, time_table=False)
    ):
        s, order = plain_etf(problem, finish=False)
        plan = etf._plan(problem, memory=False, trace=False).plan
        assert (plan.order.tolist(), plan.device.tolist()) == (order, s.device.tolist()), i


def test_the_group_goes_where_its_first_member_went():
    """b could start sooner on the idle dev1, but its group is on dev0."""
    graph = chains(["a"], ["b"], groups=[[0, 1]])
    assert pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0])), "etf").device.tolist() == [0, 0]


def test_it_is_the_rule_written_plainly():
    """Equal order, devices, times and scores, or error: groups, restrictions, zero times and ties, in every memory model."""
    refused = 0
    for i, problem in enumerate(problems.many(600, seed=82, ops=14, transfers=("parallel",))):
        s, order = plain_etf(problem)
        if order is None:
            assert refusal(etf._plan, problem, memory=True, trace=False) == s, i
            refused += 1
            continue
        plan = etf._plan(problem, memory=problem.memory != "none", trace=bool(i % 2)).plan
        assert plan.order.tolist() == order, i
        assert plan.device.tolist() == s.device.tolist(), i
        assert plan.start.tolist() == s.start.tolist(), i
    assert fewer(30) < refused < fewer(200)


@pytest.mark.parametrize("memory", [("none",), ("edges", "reserved", "dynamic")])
@pytest.mark.parametrize("transfers", ["sequential", "channel"])
def test_it_is_the_rule_written_plainly_in_queues(transfers, memory):
    """The same if transfers wait for ports (half and full duplex) or channels."""
    refused = 0
    for i, problem in enumerate(problems.many(200, seed=83, transfers=(transfers,), memory=memory, transfer_ops=(0,))):
        expected = plain_etf_in_queues(problem)
        if expected is None:
            refused += 1
            refusal(etf._plan, problem, memory=True, trace=False)
            continue
        plan = etf._plan(problem, memory=problem.memory != "none", trace=False).plan
        assert (plan.device.tolist(), plan.start.tolist(), plan.order.tolist()) == expected, i
    assert (refused > 5) == (memory != ("none",))


@pytest.mark.parametrize("model", [pytest.param("edges", marks=pytest.mark.slow), "dynamic"])
def test_it_is_the_rule_written_plainly_on_long_curves(model):
    """The same if a device's memory is scarce and changes so often that its curve needs several blocks."""
    made = 0
    for i in range(4):
        problem = pl.Problem(pl.generators.layered(200, seed=i), pl.Cluster.uniform(2, memory=1e18), memory=model)
        peak = etf._plan(problem, memory=False, trace=False).schedule().peak_memory.max()
        problem = problem.replace(cluster=pl.Cluster.uniform(2, memory=float(peak * (0.99 - 0.01 * i))))
        s, order = plain_etf(problem)
        if order is None:
            assert refusal(etf.m_etf, problem) == s, i
        else:
            assert etf._plan(problem, memory=True, trace=False).plan.start.tolist() == s.start.tolist(), i
            made += 1
    assert made > 0


def test_m_etf_keeps_within_memory_and_etf_does_not_look():
    """If etf's plan fits, it is m-etf's; otherwise m-etf's planned schedule stays within every capacity."""
    fits = tight = 0
    for problem in problems.many(400, seed=84, memory=("edges", "reserved", "dynamic"), transfer_ops=(0,)):
        try:
            plan = etf.m_etf(problem)
            free = etf._plan(problem, memory=False, trace=False)
        except pl.InfeasibleError:
            continue
        if not len(free.schedule().oom):
            assert plan.device.tolist() == free.device.tolist()
            fits += 1
        else:
            within = etf._plan(problem, memory=True, trace=False)
            assert plan.device.tolist() == within.device.tolist()
            assert not len(within.schedule().oom)
            tight += 1
    assert min(fits, tight) > fewer(50)


def test_rejected_pairs_are_looked_at_again():
    """c does not fit while a's tensor is held; b frees it, so c runs after b on the only device."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0] * 3, [(0, 1)], edge_bytes=[6.0], temporary=[0.0, 0.0, 8.0])
    graph = graph.replace(compute=[3.0, 1.0, 1.0])
    problem = pl.Problem(graph, pl.Cluster([1.0], memory=8.0))
    plan = etf._plan(problem, memory=True, trace=False).plan
    assert [graph.names[v] for v in plan.order] == ["a", "b", "c"]
    assert plan.start.tolist() == [0.0, 3.0, 4.0]


def test_what_fits_nowhere_is_named():
    """m-etf names the group and what each device lacks; etf only if a device would hold too many persistent bytes."""
    graph = chains(["a", 0.0, "b"], persistent=6.0, groups=[[0, 1]], group_names=["pair"])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[11.0, 9.0]))
    with pytest.raises(pl.InfeasibleError, match=r"group 'pair'.*dev0 is short by 1 bytes; dev1 is short by 3 bytes"):
        pl.place(problem, "m-etf")
    with pytest.raises(pl.InfeasibleError, match="dev0 is short by 1 bytes; a strategy whose name begins with m-"):
        pl.place(problem, "etf")


def test_the_queue_wait_counts():
    """Baechi §3.4: two tensors of 4 s each to one device arrive at 5 and at 9 under sequential, both at 5 under parallel."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "sum"],
        [1.0] * 3,
        [(0, 2), (1, 2)],
        edge_bytes=[4.0, 4.0],
        devices={0: ["dev0"], 1: ["dev1"], 2: ["dev2"]},
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0))
    estimate = lambda model: pl.place(problem.replace(transfers=model), "etf").estimate  # noqa: E731
    assert [estimate(model) for model in ("parallel", "sequential", "channel")] == [6.0, 10.0, 6.0]
