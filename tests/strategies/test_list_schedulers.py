"""List schedulers beside HEFT: known makespans, a slow and plain writing of each rule, and equal results on every path."""

from __future__ import annotations

from contextlib import suppress

import networkx as nx
import numpy as np
import problems
import pytest
from examples import fewer
from list_scheduling_graphs import nine_ops, peft_graph
from same_placement import same

import placelab as pl
from placelab.planning import list_scheduling
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.ranks import rounded
from placelab.strategies.partitioning.dls import median_exec
from placelab.strategies.partitioning.mcp import MOST, by_descendants, lexicographic

IN_ORDER = ("peft", "hlfet", "mcp", "hcpt", "pets")
BY_CHOICE = ("dls", "min-min", "max-min", "sufferage")
OTHERS = ("ish", "lookahead", "gdl", "fcp", "flb", "hbmct", "dsc", "duplex")


@pytest.mark.parametrize(
    ("problem", "name", "makespan"),
    [
        (peft_graph(), "heft", 133),
        (peft_graph(), "hcpt", 142),
        (peft_graph(), "pets", 147),
        (pl.datasets.problem("topcuoglu"), "dls", 91),
        (pl.datasets.problem("topcuoglu"), "sufferage", 76),
        (peft_graph(), "lookahead", 127),
        (nine_ops(3), "hlfet", 19),
        (nine_ops(3), "ish", 19),
        (nine_ops(3), "dls", 19),
        (nine_ops(3), "etf", 19),
        (nine_ops(4), "mcp", 20),
    ],
)
def test_known_makespans(problem, name, makespan):
    """Planned and simulated."""
    placement = pl.place(problem, name)
    assert placement.estimate == makespan
    assert pl.simulate(problem, placement, "planned").makespan == makespan


def test_rounds_differ_from_ready_ops():
    """On Topcuoglu's graph sufferage is 76 long op by op, and 89 round by round."""
    assert pl.place(pl.datasets.problem("topcuoglu"), "sufferage", batch=True).estimate == 89


@pytest.mark.parametrize("children", ["ascending", "descending"])
def test_lists_of_mcp_are_in_lexicographic_order(children):
    """Own latest start, then those of the successors; a list before those that it begins."""
    for problem in problems.many(200, seed=81):
        graph = problem.graph
        up = pl.upward_rank(problem)
        alap = rounded(up.max() - up)
        ends = zip(graph.succ_ptr[:-1].tolist(), graph.succ_ptr[1:].tolist(), strict=True)
        after = [sorted(alap[graph.consumer[a:b]], reverse=children == "descending") for a, b in ends]
        lists = [(alap[v], *after[v]) for v in range(graph.n_ops)]
        place = lexicographic(graph, up.max() - up, children)
        assert place.tolist() == [sum(other < own for other in lists) for own in lists]


@pytest.mark.parametrize("children", ["ascending", "descending"])
def test_lists_of_mcp_can_have_all_descendants(children):
    """Each descendant once, however many paths lead to it."""
    for problem in problems.many(200, seed=83):
        graph = problem.graph
        up = pl.upward_rank(problem)
        alap = rounded(up.max() - up)
        below = [nx.descendants(graph.to_networkx(), name) for name in graph.names]
        number = {name: v for v, name in enumerate(graph.names)}
        after = [sorted((alap[number[name]] for name in names), reverse=children == "descending") for names in below]
        lists = [(alap[v], *after[v]) for v in range(graph.n_ops)]
        place = by_descendants(graph, up.max() - up, children)
        assert place.tolist() == [sum(other < own for other in lists) for own in lists]


def test_a_tie_of_mcp_is_worth_a_quarter():
    """Ops 2 and 4 have equal latest starts, their successors' are 12, 13 and 13: one way 2 goes first, the other way 4."""
    problem = nine_ops(4)
    up = pl.upward_rank(problem)
    assert up[1] == up[3]
    assert pl.place(problem, "mcp").estimate == 20
    assert pl.place(problem, "mcp", children="ascending").estimate == 16
    assert pl.place(problem, "mcp", descendants=True).estimate == 20
    assert pl.place(problem, "mcp", descendants=True, children="ascending").estimate == 16
    large = pl.Problem(pl.generators.fork_join(MOST), pl.Cluster.uniform(2))
    with pytest.raises(pl.UnsupportedError, match="leave out descendants"):
        pl.place(large, "mcp", descendants=True)


@pytest.mark.parametrize("name", IN_ORDER)
def test_both_paths_give_one_plan(name, monkeypatch):
    """The kernels without and with memory agree bit for bit where memory is no limit, but for op order."""
    for i, problem in enumerate(problems.many(100, seed=82, memory=("none",))):
        quick = pl.place(problem, name, trace=bool(i % 3))
        with monkeypatch.context() as patch:
            patch.setattr(list_scheduling, "_in_order_kernel", lambda *arguments: None)
            careful = pl.place(problem, name, trace=bool(i % 3))
        assert same(quick, careful), i


def plainly(problem, name, batch):
    """The rule, written on a list scheduler."""
    graph = problem.graph
    s = ListScheduler(problem)
    median = median_exec(problem)
    level = median.copy()
    for v in reversed(range(graph.n_ops)):
        level[v] += max((level[w] for w in graph.successors_of(v)), default=0.0)

    def key(v):
        best, *others = sorted(s.eft(v, d) for d in s.candidates(v))
        margin = others[0] - best if others else np.inf
        return {"dls": best - (level[v] + median[v]), "min-min": best, "max-min": -best, "sufferage": -margin}[name]

    is_ready = lambda v: s.device[v] < 0 and all(s.device[u] >= 0 for u in graph.predecessors_of(v))  # noqa: E731
    turn = []
    while (s.device < 0).any():
        turn = [v for v in turn if s.device[v] < 0]
        if not turn or not batch:
            turn = [v for v in range(graph.n_ops) if is_ready(v)]
        v = min(turn, key=lambda v: (key(v), v))
        s.place(v, min(s.candidates(v), key=lambda d: s.eft(v, d)))
    return s.placement()


@pytest.mark.parametrize("name", BY_CHOICE)
def test_the_kernel_is_the_rule(name, monkeypatch):
    """Device, order and estimate, with groups and restrictions, ops of no time and ties; by heaps from the fourth ready op."""
    for i, problem in enumerate(problems.many(80, seed=83, memory=("none",), whole=True)):
        monkeypatch.setattr(list_scheduling, "FEW", 3 if i % 3 else 500)
        batch = bool(i % 2) and name != "dls"
        options = {"batch": True} if batch else {}
        assert same(pl.place(problem, name, **options), plainly(problem, name, batch)), i


@pytest.mark.parametrize("longest", [3, 60])
@pytest.mark.parametrize("name", BY_CHOICE)
def test_the_kernel_is_the_rule_where_many_ops_wait(name, longest, monkeypatch):
    """On equal and unequal devices, short and long transfers, with groups and an op for one device."""
    monkeypatch.setattr(list_scheduling, "FEW", longest // 2)
    random = np.random.default_rng(longest)
    drawn = pl.generators.layered(120, seed=longest)
    sizes = random.integers(0, longest, drawn.n_edges).astype(float)
    time = random.integers(0, 9, 120).astype(float)
    graph = pl.OpGraph.from_arrays(drawn.names, time, drawn.edges, edge_bytes=sizes)
    cluster = pl.Cluster([1.0, 2.0, 1.0, 1.0, 2.0], bandwidth=1.0, latency=0.0)
    groups = [graph.names[10:100:30], graph.names[[3, 90]]]
    problem = pl.Problem(graph, cluster, groups=groups, allowed={graph.names[7]: [2]}, memory="none")
    assert same(pl.place(problem, name), plainly(problem, name, batch=False))


@pytest.mark.parametrize("name", [*IN_ORDER, *BY_CHOICE, *OTHERS])
def test_plans_are_within_memory(name):
    """Where memory is scarce, the plan exceeds no capacity."""
    made = 0
    for problem in problems.many(
        60, seed=84, memory=("edges", "reserved", "dynamic"), transfers=("parallel",), transfer_ops=(0,)
    ):
        with suppress(pl.InfeasibleError):
            placement = pl.place(problem, name)
            assert not len(pl.simulate(problem, placement, "planned").oom)
            made += 1
    assert made > fewer(10)


def test_ish_fills_the_hole_before_a_join():
    """j waits for c's tensor until 4. x, which hlfet appends beside c, runs before j in the hole that begins at 1."""
    graph = pl.OpGraph.from_arrays(list("acjx"), [1.0, 1.0, 5.0, 2.0], [(0, 2), (1, 2)], edge_bytes=[3.0, 3.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0, latency=0.0))
    assert pl.place(problem, "hlfet").device.tolist() == [0, 1, 0, 1]
    assert pl.place(problem, "ish").device.tolist() == [0, 1, 0, 0]
    assert pl.place(problem, "ish").planned.tolist() == [0, 1, 3, 2]
