"""PEFT: the published table of decisions."""

import numpy as np
from list_scheduling_graphs import peft_graph

import placelab as pl
from placelab.strategies.partitioning.peft import optimistic_costs


def test_each_step_is_as_published():
    """Table 3 of Arabnejad and Barbosa 2014: the devices, T9 before T10, and a makespan of 122."""
    placement = pl.place(peft_graph(), "peft", trace=True)
    assert placement.estimate == 122
    assert pl.simulate(peft_graph(), placement, "planned").makespan == 122
    steps = [f"T{v + 1} P{d + 1}" for v, d in zip(placement.trace.op, placement.trace.device, strict=True)]
    assert steps == "T1 P1,T4 P1,T6 P2,T2 P1,T3 P1,T5 P3,T8 P2,T7 P1,T9 P3,T10 P2".split(",")


def test_optimistic_costs_by_their_equation():
    """Exact on the published graph; with equal links the mean transfer is the actual one."""
    problem = peft_graph()
    graph = problem.graph
    exec_time = problem.exec_table()
    expected = np.zeros((10, 3))
    for v in reversed(range(10)):
        for e in range(graph.succ_ptr[v], graph.succ_ptr[v + 1]):
            ahead = expected[graph.consumer[e]] + exec_time[graph.consumer[e]]
            rest = [min(ahead[w] + (graph.edge_bytes[e] if w != d else 0.0) for w in range(3)) for d in range(3)]
            expected[v] = np.maximum(expected[v], rest)
    assert optimistic_costs(problem).tolist() == expected.tolist()
    assert optimistic_costs(problem, "actual").tolist() == expected.tolist()


def test_a_slow_link_counts_with_actual_transfers():
    """b runs on dev2 only, which dev0 is far from: with actual links a goes near it, with the mean it does not see that."""
    bandwidth = [[1.0, 1.0, 0.2], [1.0, 1.0, 10.0], [0.2, 10.0, 1.0]]
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=[10.0], devices={1: ["dev2"]})
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 0.01], bandwidth=bandwidth, latency=0.0))
    assert pl.place(problem, "peft").device.tolist() == [0, 2]
    assert pl.place(problem, "peft", link="actual").device.tolist() == [1, 2]
