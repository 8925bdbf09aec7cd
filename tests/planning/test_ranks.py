"""Ranks: longest paths, compared with published numbers and with recursion over the definition."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations
from random import Random

import numpy as np
import problems
import pytest
from examples import fewer

import placelab as pl
from placelab.planning.ranks import (
    STEPS,
    by_falling,
    in_classes,
    mean_exec,
    path_computation_time,
    precedence_order,
    rounded,
    static_level,
)
from placelab.strategies.partitioning.cpop import critical_path


def edges_from(problem, v):
    """(tensor, consumer) of each edge that leaves op v."""
    graph = problem.graph
    return [(int(t), int(w)) for u, w, t in zip(*graph.edges.T, graph.edge_tensor, strict=True) if u == v]


def mean_time(problem, v):
    """Mean of exec over the op's devices."""
    return np.mean([problem.exec_time(v, d) for d in problem.feasible(v)])


def mean_way(problem, t):
    """Mean transfer time of a tensor over ordered pairs of distinct devices."""
    pairs = list(permutations(range(problem.cluster.n_devices), 2))
    return np.mean([problem.transfer_time(t, d, e) for d, e in pairs]) if pairs else 0.0


def longest_to_the_end(problem, own, way):
    """Upward recursion by the definition."""

    @cache
    def rank(v):
        return own(v) + max((way(v, t, w) + rank(w) for t, w in edges_from(problem, v)), default=0.0)

    return [rank(v) for v in range(problem.graph.n_ops)]


def test_upward_ranks_of_topcuoglu_are_the_published_ones():
    """Table 3 of Topcuoglu 2002."""
    expected = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert pl.upward_rank(pl.datasets.problem("topcuoglu")) == pytest.approx(expected, abs=1e-3)


def test_downward_ranks_of_topcuoglu_are_the_published_ones():
    """Table 3 of Topcuoglu 2002, with which rank_u + rank_d is 108 on the critical path 1, 2, 9, 10."""
    problem = pl.datasets.problem("topcuoglu")
    down = pl.downward_rank(problem)
    assert down == pytest.approx([0, 31, 25, 22, 24, 27, 62.333, 66.667, 63.667, 93.333], abs=1e-3)
    assert (down + pl.upward_rank(problem))[[0, 1, 8, 9]] == pytest.approx([108] * 4)


def test_upward_rank_is_its_definition():
    """Means over the allowed devices and over ordered pairs of distinct ones, on random problems."""
    for problem in problems.many(100, seed=1):
        expected = longest_to_the_end(problem, lambda v: mean_time(problem, v), lambda v, t, w: mean_way(problem, t))  # noqa: B023
        assert pl.upward_rank(problem) == pytest.approx(expected)


def test_static_level_leaves_transfers_out():
    """Static level is the upward rank without transfers."""
    for problem in problems.many(50, seed=2):
        expected = longest_to_the_end(problem, lambda v: mean_time(problem, v), lambda v, t, w: 0.0)  # noqa: B023
        assert static_level(problem) == pytest.approx(expected)


def test_downward_rank_is_its_definition():
    """The longest path to an op, without its own time."""
    for problem in problems.many(100, seed=3):
        down = [0.0] * problem.graph.n_ops
        for u in range(problem.graph.n_ops):
            for t, w in edges_from(problem, u):
                down[w] = max(down[w], down[u] + mean_time(problem, u) + mean_way(problem, t))
        assert pl.downward_rank(problem) == pytest.approx(down)


def test_total_rank_is_constant_along_the_critical_path():
    """In operations; the largest total belongs to every op of a longest path."""
    for problem in problems.many(50, seed=4, time_table=False):
        graph = problem.graph
        up, down, total = pl.compute_rank(graph)
        assert up == pytest.approx(longest_to_the_end(problem, lambda v: graph.compute[v], lambda v, t, w: 0.0))  # noqa: B023
        v = int(np.argmax(np.where(down == 0, up, -1)))
        while successors := [w for _, w in edges_from(problem, v)]:
            v = max(successors, key=lambda w: up[w])
            assert total[v] == pytest.approx(up.max())


def test_an_op_with_measured_times_only_counts_with_their_mean():
    """Its operations are mean seconds × the graph's reference speed."""
    graph = pl.OpGraph.from_arrays(
        ["a"], [np.nan], [], time={"x": [2.0], "y": [4.0]}, metadata={"reference_speed": 10.0}
    )
    assert pl.compute_rank(graph)[0].tolist() == [30.0]


def test_pct_is_its_definition():
    """Mayer eq. 12, including Send and Receive ops if the problem has them."""
    for problem in problems.many(150, seed=5):
        device = problems.placement(Random(1).randint, problem).device
        send = problem.transfer_ops / problem.cluster.speed

        def way(v, t, w, problem=problem, device=device, send=send):
            if device[v] == device[w]:
                return 0.0
            return send[device[v]] + problem.transfer_time(t, device[v], device[w]) + send[device[w]]

        expected = longest_to_the_end(problem, lambda v: problem.exec_time(v, device[v]), way)  # noqa: B023
        rank, sends = path_computation_time(problem, device, transfers=True)
        assert rank == pytest.approx(expected)
        for v in range(problem.graph.n_ops):
            for t, w in edges_from(problem, v):
                same = [
                    way(v, t, x) + expected[x] for s, x in edges_from(problem, v) if (s, device[x]) == (t, device[w])
                ]
                assert sends[t, device[w]] == pytest.approx(max(same) if device[v] != device[w] else 0.0)


def test_sends_are_ranked_only_where_there_are_any():
    """By default: with transfer_ops > 0."""
    problem = pl.datasets.problem("topcuoglu")
    assert path_computation_time(problem, np.zeros(10, int))[1] is None
    assert path_computation_time(problem.replace(transfer_ops=1), np.zeros(10, int))[1].shape == (
        problem.graph.n_tensors,
        3,
    )


def test_falling_rank_is_a_topological_order():
    """Zero-time ops and zero-byte tensors included; equal ranks by op number."""
    for problem in problems.many(200, seed=6):
        order, place = by_falling(pl.upward_rank(problem))
        assert (place[problem.graph.edges[:, 0]] < place[problem.graph.edges[:, 1]]).all()
        assert order[place].tolist() == list(range(problem.graph.n_ops))
        assert order.tolist() == np.argsort(-pl.upward_rank(problem), kind="stable").tolist()


def whole_graph(seed):
    """A random graph of integer costs, so that many paths are equally long: (compute, bytes of each edge)."""
    rng = Random(seed)
    n = rng.randint(5, 16)
    edges = {(u, v): rng.randint(1, 4) for v in range(1, n) for u in range(v) if rng.random() < 0.3}
    return [rng.randint(1, 4) for _ in range(n)], edges


def exactly(compute, edges, slowness, way):
    """Upward and downward rank of each op as fractions; `slowness`: mean seconds per operation, `way`: per byte."""
    n = len(compute)
    up = {}
    down = {}
    own = [c * slowness for c in compute]
    for v in reversed(range(n)):
        up[v] = own[v] + max((way * size + up[w] for (u, w), size in edges.items() if u == v), default=0)
    for v in range(n):
        down[v] = max((down[u] + own[u] + way * size for (u, w), size in edges.items() if w == v), default=0)
    return [up[v] for v in range(n)], [down[v] for v in range(n)]


def in_turn(edges, priority, queued=False):
    """Among ops whose inputs are listed always the highest priority; ties by time of readiness (`queued`), then number."""
    last = lambda v: max((listed.index(u) + 1 for u, w in edges if w == v), default=0) * queued  # noqa: E731
    listed: list[int] = []
    while len(listed) < len(priority):
        ready = [v for v in range(len(priority)) if v not in listed and all(u in listed for u, w in edges if w == v)]
        listed.append(min(ready, key=lambda v: (-priority[v], last(v), v)))
    return listed


def scaled(compute, edges, devices, factor):
    """The problem of an integer graph with its costs multiplied by a fraction; devices of speeds 1, 2, 4, …"""
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(len(compute))],
        [float(c * factor) for c in compute],
        list(edges),
        edge_bytes=[float(size * factor) for size in edges.values()],
    )
    return pl.Problem(graph, pl.Cluster([2.0**d for d in range(devices)], bandwidth=1.0))


FACTORS = [Fraction(1), Fraction(3), Fraction(1, 3), Fraction(1, 10), Fraction(7, 1000)]

DRAWS = {
    "all signs": lambda rng, n: rng.normal(size=n),
    "steps": lambda rng, n: np.round(rng.random(n) * 2**40),
    "equals": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "ends": lambda rng, n: rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-310, -5e300, 7.5], n),
    "one": lambda rng, n: np.full(n, 3.0),
}


@pytest.mark.parametrize("n", [1, 2, 7, 500, 501, 2_000])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_items_by_falling_priority(n, draw):
    """As numpy's stable sort has them, few or many: negative, infinite and equal priorities, and both zeros, which are equal."""
    priority = draw(np.random.default_rng(n), n)
    order, place, shared = in_classes(priority)
    assert order.tolist() == np.argsort(-priority, kind="stable").tolist()
    assert place[order].tolist() == list(range(n))
    ranks = [np.flatnonzero(priority[order] == p) for p in priority]
    first = [r[0] if len(r) > 1 else -1 for r in ranks]
    assert (shared.tolist() or [-1] * n) == first


@pytest.mark.parametrize("factor", FACTORS, ids=str)
def test_ranks_that_are_equal_as_fractions_are_ties(factor):
    """HEFT and CPOP on three devices; ETF, SCT and PCT on one, where they order by static level: ties by op number."""
    for seed in range(fewer(200)):
        compute, edges = whole_graph(seed)
        three = scaled(compute, edges, 3, factor)
        one = scaled(compute, edges, 1, factor)
        up, down = exactly(compute, edges, Fraction(7, 12), Fraction(1))
        assert pl.place(three, "heft", trace=True).trace.op.tolist() == in_turn(edges, up)
        total = [a + b for a, b in zip(up, down, strict=True)]
        assert pl.place(three, "cpop", trace=True).trace.op.tolist() == in_turn(edges, total)
        level, _ = exactly(compute, edges, Fraction(1), Fraction(0))
        for name in ("etf", "sct"):
            assert pl.place(one, name, **{"preview": True} if name == "sct" else {}).planned.tolist() == in_turn(
                edges, level
            )
        assert np.argsort(pl.solve(one, "single", "pct").start).tolist() == in_turn(edges, level, queued=True)


def test_the_critical_path_takes_the_lowest_of_ops_on_equally_long_paths():
    """CPOP's path, and with it `critical-path` in operations, goes through the ops that exact arithmetic names."""
    for seed in range(fewer(200)):
        compute, edges = whole_graph(seed)
        up, _ = exactly(compute, edges, Fraction(7, 12), Fraction(1))
        first = min(set(range(len(compute))) - {v for _, v in edges}, key=lambda v: (-up[v], v))
        path = [first]
        while ways := {w: up[w] + size for (u, w), size in edges.items() if u == path[-1]}:
            path.append(min(ways, key=lambda w: (-ways[w], w)))
        for factor in FACTORS:
            problem = scaled(compute, edges, 3, factor)
            assert critical_path(problem, pl.upward_rank(problem)).tolist() == path


@pytest.mark.parametrize("name", ["heft", "cpop", "etf", "m-etf", "batch-split", "critical-path", "mite", "dfs"])
def test_the_unit_of_the_costs_does_not_matter(name):
    """Integer costs or three times them, with only ranks rounded and all other sums exact: the same placement."""
    for seed in range(fewer(400)):
        compute, edges = whole_graph(seed)
        one, three = (pl.place(scaled(compute, edges, 3, factor), name).device.tolist() for factor in FACTORS[:2])
        assert one == three, seed


def test_rounded_ranks_are_equal_where_sums_are():
    """Sums of the same numbers in another order are rounded equally, also near a border; rounding keeps the order."""
    rng = np.random.default_rng(3)
    parts = rng.random((100_000, 4))
    ranks = np.concatenate(
        [(parts[:, 0] + parts[:, 1]) + (parts[:, 2] + parts[:, 3]), parts[:, ::-1].cumsum(axis=1)[:, -1]]
    )
    steps = rounded(ranks)
    assert (ranks[:100_000] != ranks[100_000:]).sum() > 10_000
    assert (steps[:100_000] == steps[100_000:]).all()
    assert (np.diff(steps[np.argsort(ranks)]) >= 0).all()
    assert steps.max() == STEPS
    border = 0.5 / STEPS
    assert rounded(np.array([border * (1 - 1e-9), border * (1 + 1e-9), 0.9 / STEPS, 1.0])).tolist() == [0, 0, 1, STEPS]
    assert rounded(np.zeros(3)).tolist() == [0, 0, 0]
    assert rounded(np.zeros((0, 2))).shape == (0, 2)


def test_precedence_order_takes_the_highest_priority_of_the_ready():
    """For any priority, against the definition."""
    rng = np.random.default_rng(7)
    for problem in problems.many(50, seed=7):
        graph = problem.graph
        priority = rng.integers(0, 4, problem.graph.n_ops).astype(float)
        listed: list[int] = []
        inputs = [set(graph.edges[graph.edges[:, 1] == v, 0].tolist()) for v in range(graph.n_ops)]
        while len(listed) < graph.n_ops:
            ready = [v for v in range(graph.n_ops) if v not in listed and inputs[v] <= set(listed)]
            listed.append(min(ready, key=lambda v: (-priority[v], v)))
        assert precedence_order(graph, priority).tolist() == listed


def test_mean_exec_looks_at_allowed_devices_only():
    """A device that is not allowed needs no time for the op."""
    graph = pl.OpGraph.from_arrays(["a"], [np.nan], [], time={"x": [2.0], "y": [np.nan]}, devices={0: ["x"]})
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 1.0], types=["x", "x", "y"]))
    assert mean_exec(problem).tolist() == [2.0]


def test_one_device_has_no_transfers():
    """Without pairs of distinct devices, ranks are sums of times."""
    problem = pl.Problem(pl.generators.fork_join(3, seed=1), pl.Cluster.uniform(1))
    assert pl.upward_rank(problem) == pytest.approx(static_level(problem))


@pytest.mark.parametrize("speed", ["x", -1, 0, None, [1]])
def test_a_reference_speed_is_a_speed(speed):
    """An invalid value in a file matters only if an op has nothing but measured times."""
    graph = pl.OpGraph.from_arrays(["a"], [np.nan], [], time={"gpu": [2.0]}, metadata={"reference_speed": speed})
    with pytest.raises(pl.FormatError, match="reference_speed of this graph is"):
        pl.compute_rank(graph)
