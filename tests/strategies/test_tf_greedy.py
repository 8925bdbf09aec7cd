"""tf-greedy: ops in the order a simulated run reaches them, each where it would finish soonest."""

from __future__ import annotations

import problems

import placelab as pl


def plain_greedy(problem):
    """The rule, written plainly: the reached op of least (time its inputs were computed, number) is next."""
    graph = problem.graph
    k = problem.cluster.n_devices
    pred = {v: [] for v in range(graph.n_ops)}
    for (u, v), t in zip(graph.edges.tolist(), graph.edge_tensor, strict=True):
        pred[v].append((u, t))
    device = {}
    finish = {}
    fixed = {}
    free = [0.0] * k
    while len(finish) < graph.n_ops:
        reached = [v for v in pred if v not in finish and all(u in finish for u, _ in pred[v])]
        v = min(reached, key=lambda v: (max((finish[u] for u, _ in pred[v]), default=0.0), v))
        group = problem.group[v]
        choices = []
        for d in [fixed[group]] if group in fixed else problem.feasible(v):
            ready = max((finish[u] + problem.transfer_time(t, device[u], d) for u, t in pred[v]), default=0.0)
            choices.append((max(ready, free[d]) + problem.exec_time(v, d), d))
        finish[v], device[v] = min(choices)
        free[device[v]] = finish[v]
        if group >= 0:
            fixed[group] = device[v]
    return [int(device[v]) for v in range(graph.n_ops)], max(finish.values())


def test_it_is_the_rule_written_plainly():
    """On random problems with groups, restrictions, ties and zero-time ops; whole numbers, so that sums are exact."""
    for i, problem in enumerate(problems.many(300, seed=41, memory=("none",), transfer_ops=(0,), whole=True)):
        placement = pl.place(problem, "tf-greedy")
        device, makespan = plain_greedy(problem)
        assert abs(placement.estimate - makespan) < 1e-9, i
        assert placement.device.tolist() == device, i


def test_transfers_of_inputs_count():
    """b could start at once on the idle, faster device, but its input arrives too late there."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [4.0, 4.0], [(0, 1)], edge_bytes=[8.0], devices={0: ["dev0"]})
    near = pl.Problem(graph, pl.Cluster(speed=[1.0, 2.0], bandwidth=1.0))
    far = pl.Problem(graph, pl.Cluster(speed=[1.0, 2.0], bandwidth=100.0))
    assert pl.place(near, "tf-greedy").device.tolist() == [0, 0]
    assert pl.place(far, "tf-greedy").device.tolist() == [0, 1]


def test_an_op_is_reached_when_its_last_input_is_computed():
    """Plan order: by the time inputs were computed, not by number; c (number 2) is reached at 1, d (1) at 5."""
    graph = pl.OpGraph.from_arrays(["long", "short", "c", "d"], [5.0, 1.0, 1.0, 1.0], [(1, 2), (0, 3)])
    placement = pl.place(pl.Problem(graph, pl.Cluster(speed=[1.0, 1.0])), "tf-greedy", trace=True)
    assert [graph.names[v] for v in placement.trace.op] == ["long", "short", "c", "d"]
