"""CPOP: the published schedule, the critical path and its device."""

from __future__ import annotations

from itertools import pairwise

import problems
import pytest

import placelab as pl
from placelab.strategies.partitioning.cpop import critical_path, path_device


def test_topcuoglu_is_86():
    """The makespan of Fig. 3b of Topcuoglu 2002, planned and simulated."""
    problem = pl.datasets.problem("topcuoglu")
    placement = pl.place(problem, "cpop")
    assert placement.estimate == 86
    assert pl.simulate(problem, placement, "planned").makespan == 86


def test_the_critical_path_of_topcuoglu_runs_on_p2():
    """T1, T2, T9, T10, together 54 on P2."""
    problem = pl.datasets.problem("topcuoglu")
    path = critical_path(problem, pl.upward_rank(problem))
    assert (path + 1).tolist() == [1, 2, 9, 10]
    assert path_device(problem, path) == 1
    assert set(pl.place(problem, "cpop").device[path]) == {1}


def test_the_path_goes_from_entry_to_exit_and_is_longest():
    """Its ops have equal rank_u + rank_d, the largest there is."""
    for problem in problems.many(150, seed=31):
        path = critical_path(problem, pl.upward_rank(problem))
        priority = pl.upward_rank(problem) + pl.downward_rank(problem)
        assert priority[path] == pytest.approx(priority.max())
        edges = set(map(tuple, problem.graph.edges.tolist()))
        assert all(edge in edges for edge in pairwise(path))


def test_path_ops_that_may_not_run_there_go_elsewhere():
    """The path's device may run most of the path; b may only run on dev0."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0] * 3, [(0, 1), (1, 2)], devices={1: ["dev0"], 2: ["dev1"]})
    placement = pl.place(pl.Problem(graph, pl.Cluster(speed=[1.0, 2.0])), "cpop")
    assert placement.device.tolist() == [1, 0, 1]


def test_the_trace_tells_path_ops_from_others():
    """The reason of a path op is the path, that of another op its earliest finish."""
    problem = pl.datasets.problem("topcuoglu")
    trace = pl.place(problem, "cpop", trace=True).trace
    assert "critical path" in trace.line(problem, 8)
    assert "soonest" in trace.line(problem, 3)
