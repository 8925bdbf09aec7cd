"""HEFT: the published schedule, an independent implementation, groups, and equal results of kernel and list scheduler."""

from __future__ import annotations

import contextlib
from itertools import permutations

import numpy as np
import problems
import pytest
from examples import fewer
from same_placement import same

import placelab as pl
from placelab.planning import list_scheduling
from placelab.schedule.schedule import planned_schedule


def independent_heft(problem, insertion=True):
    """HEFT as Topcuoglu 2002 writes it, with Mayer's rule for groups: dictionaries, and a scan over all gaps."""
    graph = problem.graph
    k = problem.cluster.n_devices
    pairs = list(permutations(range(k), 2))
    succ, pred = ({v: [] for v in range(graph.n_ops)} for _ in range(2))
    for (u, v), t in zip(graph.edges.tolist(), graph.edge_tensor, strict=True):
        succ[u].append((v, t))
        pred[v].append((u, t))
    rank = {}
    for v in reversed(range(graph.n_ops)):
        mean = lambda t: sum(problem.transfer_time(t, d, e) for d, e in pairs) / len(pairs) if pairs else 0.0  # noqa: E731
        w = np.mean([problem.exec_time(v, d) for d in problem.feasible(v)])
        rank[v] = w + max((mean(t) + rank[s] for s, t in succ[v]), default=0.0)
    runs = {d: [] for d in range(k)}  # (start, finish) of each op, ascending
    device = {}
    finish = {}
    fixed = {}
    # equal sums that were rounded differently are equal ranks; ties by number
    for v in sorted(rank, key=lambda v: (-round(rank[v], 9), v)):
        group = problem.group[v]
        choices = []
        for d in [fixed[group]] if group in fixed else problem.feasible(v):
            ready = max((finish[u] + problem.transfer_time(t, device[u], d) for u, t in pred[v]), default=0.0)
            w = problem.exec_time(v, d)
            ends = [0.0, *(b for _, b in runs[d])]
            starts = [*(a for a, _ in runs[d]), np.inf]
            gaps = list(zip(ends, starts, strict=True)) if insertion else [(max(ends), np.inf)]
            start = min(max(ready, a) for a, b in gaps if max(ready, a) + w <= b)
            choices.append((start + w, d, start))
        finish[v], device[v], start = min(choices)
        runs[device[v]] = sorted([*runs[device[v]], (start, finish[v])])
        if group >= 0:
            fixed[group] = device[v]
    return [int(device[v]) for v in range(graph.n_ops)], max(finish.values())


def test_topcuoglu_is_80():
    """The makespan and the processors of Fig. 3a of Topcuoglu 2002, planned and simulated."""
    problem = pl.datasets.problem("topcuoglu")
    placement = pl.place(problem, "heft")
    assert placement.estimate == 80
    assert pl.simulate(problem, placement, "planned").makespan == 80
    assert [problem.cluster.names[d] for d in placement.device] == "P3 P1 P3 P2 P3 P2 P3 P1 P2 P2".split()


def test_an_independent_heft_agrees():
    """On random problems with groups, restrictions and zero-time ops, inserted and appended."""
    for i, problem in enumerate(problems.many(300, seed=21, memory=("none",), transfer_ops=(0,), whole=True)):
        insertion = bool(i % 3)
        device, makespan = independent_heft(problem, insertion)
        placement = pl.place(problem, "heft", insertion=insertion)
        assert placement.estimate == pytest.approx(makespan), i
        assert placement.device.tolist() == device, i


@pytest.mark.parametrize("name", ["heft", "cpop", "tf-greedy"])
def test_both_paths_give_one_plan(name, monkeypatch):
    """Kernel and list scheduler agree bit for bit on devices, order, estimate and trace, without memory limits."""
    for i, problem in enumerate(problems.many(300, seed=22, memory=("none",))):
        quick = pl.place(problem, name, trace=bool(i % 3))
        with monkeypatch.context() as patch:
            patch.setattr(list_scheduling, "_in_order_kernel", lambda *arguments: None)
            patch.setattr(list_scheduling, "_as_ready_kernel", lambda *arguments: None)
            careful = pl.place(problem, name, trace=bool(i % 3))
        assert same(quick, careful), i


@pytest.mark.parametrize("name", ["heft", "cpop", "tf-greedy"])
def test_memory_has_a_say_only_where_it_must(name, monkeypatch):
    """The plan made without memory limits is used if it exceeds no capacity; the other plan never exceeds any."""
    slow = []
    plans = []
    in_memory = list_scheduling._in_memory
    finished = list_scheduling._finished
    monkeypatch.setattr(
        list_scheduling, "_in_memory", lambda problem, *rest: slow.append(1) or in_memory(problem, *rest)
    )
    monkeypatch.setattr(
        list_scheduling, "_finished", lambda problem, plan, *rest: plans.append(plan) or finished(problem, plan, *rest)
    )
    free = fitting = 0
    for problem in problems.many(300, seed=25, memory=("reserved", "edges", "dynamic"), transfer_ops=(0,)):
        problem = problem.replace(transfers="parallel")
        with contextlib.suppress(pl.InfeasibleError):
            del slow[:]
            placement = pl.partitioners()[name](problem)  # which place would replace by another plan
            unlimited = pl.place(problem.replace(memory="none"), name)
            if slow:
                plan = plans[-2]
                assert pl.validate(planned_schedule(problem, plan.device, plan.start, plan.finish)) == []
                fitting += 1
            else:
                assert same(placement, unlimited)
                replayed = pl.simulate(problem, placement, "planned")
                assert not len(replayed.oom)
                free += 1
    assert min(free, fitting) > fewer(30)


def test_the_first_of_a_group_decides():
    """b alone would finish sooner next to its input, but follows a, which was ranked first."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [9.0, 1.0], [], groups=[[0, 1]])
    placement = pl.place(pl.Problem(graph, pl.Cluster(speed=[1.0, 2.0])), "heft", trace=True)
    assert placement.device.tolist() == [1, 1]
    assert placement.trace.op.tolist() == [0]


def test_tight_memory_spreads_ops():
    """All ops prefer the fast device, whose memory holds only one of them."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], persistent=6.0)
    cluster = pl.Cluster(speed=[1.0, 100.0], memory=[100.0, 10.0])
    assert pl.place(pl.Problem(graph, cluster, memory="none"), "heft").device.tolist() == [1, 1]
    assert pl.place(pl.Problem(graph, cluster), "heft").device.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["heft", "cpop", "tf-greedy"])
def test_an_op_without_room_is_retried_when_memory_is_freed(name):
    """`hungry` comes first but does not fit until `use` has consumed the tensor of `make`."""
    graph = pl.OpGraph.from_arrays(
        ["make", "hungry", "use"], [5.0, 3.0, 1.0], [(0, 1), (0, 2)], edge_bytes=[0.0, 6.0], temporary=[0.0, 8.0, 0.0]
    )
    placement = pl.place(pl.Problem(graph, pl.Cluster(speed=[1.0], memory=8.0)), name)
    assert [graph.names[v] for v in placement.planned] == ["make", "use", "hungry"]
