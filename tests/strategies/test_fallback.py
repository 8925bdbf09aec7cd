"""Planners do not give up: where one is stuck for want of memory, a depth-first plan or a plan found by trial stands in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from brute_force import optimum
from examples import fewer
from problems import many

import placelab as pl
from placelab.planning.capacity import fits_nowhere
from placelab.planning.depth_first import depth_first_order
from placelab.strategies.searches import fallback

AWARE = ("heft", "peft", "min-min", "cpop", "tf-greedy", "m-etf", "m-sct")


def reduction(loads: int, size: float = 1e9) -> pl.OpGraph:
    """A binary tree of sums, all loads first."""
    names = [f"load{i}" for i in range(loads)]
    edges = []
    level = list(range(loads))
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = list(range(len(names), len(names) + len(pairs)))
        edges += [(u, v) for v, pair in zip(level, pairs, strict=True) for u in pair]
        names += [f"sum{v}" for v in level]
    return pl.OpGraph.from_arrays(names, [1.0] * len(names), edges, edge_bytes=[size] * len(edges))


def fft(stages: int) -> pl.OpGraph:
    """Butterflies: each op reads two of the stage before."""
    n = 2**stages
    edges = [(s * n + i, (s + 1) * n + j) for s in range(stages) for j in range(n) for i in sorted({j, j ^ (1 << s)})]
    total = n * (stages + 1)
    return pl.OpGraph.from_arrays([f"x{i}" for i in range(total)], [1.0] * total, edges, edge_bytes=[1.0] * len(edges))


def blocks(count: int, per: int) -> pl.OpGraph:
    """Root tasks as Dask overproduces them: `per` loads of 90 MB for each of `count` reductions, which one op joins."""
    names: list[str] = []
    edges = []
    heads = []
    for j in range(count):
        loads = [len(names) + i for i in range(per)]
        names += [f"load{j}.{i}" for i in range(per)]
        heads.append(len(names))
        edges += [(u, len(names)) for u in loads]
        names.append(f"sum{j}")
    edges += [(u, len(names)) for u in heads]
    names.append("join")
    size = [8.0 if v == len(names) - 1 else 90e6 for _, v in edges]
    return pl.OpGraph.from_arrays(names, [2.0] * len(names), edges, edge_bytes=size)


def need(graph: pl.OpGraph) -> float:
    """Bytes that one device needs to run the graph depth first."""
    problem = pl.Problem(graph, pl.Cluster([1.0]), memory="dynamic")
    run = pl.simulate(problem, pl.Placement(problem, np.zeros(graph.n_ops, int)), "depth-first")
    return float(run.peak_memory[0])


def within(problem: pl.Problem, placement: pl.Placement) -> pl.Schedule:
    """The run of a placement, which is a valid one within memory."""
    run = pl.simulate(problem, placement)
    assert len(run.oom) == 0 and pl.validate(run) == []
    return run


@pytest.mark.parametrize("name", AWARE)
@pytest.mark.parametrize(
    ("graph", "devices", "memory"),
    [
        (reduction(8), 1, 5e9),
        (reduction(16), 1, 6e9),
        (reduction(64), 2, 8e9),
        (blocks(6, 2), 2, 400e6),
        (blocks(6, 3), 2, 400e6),
    ],
)
def test_reductions_that_were_refused_have_a_plan(name, graph, devices, memory):
    """Loads fill the memory of whoever runs all of them first."""
    problem = pl.Problem(graph, pl.Cluster([1.0] * devices, bandwidth=1e10, memory=memory), memory="dynamic")
    within(problem, pl.place(problem, name))


def test_the_plan_says_what_it_is():
    """Its notes, its order, its estimate, and a trace with a decision for every op."""
    problem = pl.Problem(reduction(8), pl.Cluster([1.0], memory=5e9), memory="dynamic")
    placement = pl.place(problem, "heft", trace=True)
    assert placement.notes == ("heft was stuck; this is the depth-first plan",) and placement.partitioner == "heft"
    assert placement.planned is not None and placement.estimate == 15.0
    assert sorted(placement.trace.op) == list(range(15))
    assert placement.trace.spans(problem)[1].max() == 15.0


def test_two_devices_share_a_reduction():
    """Each runs half of 64 chunks, since the order is cut where little is held; a cut by work alone takes 126.1 s."""
    problem = pl.Problem(reduction(64), pl.Cluster([1.0] * 2, bandwidth=1e10, memory=8e9), memory="dynamic")
    assert pl.place(problem, "heft").estimate == pytest.approx(64.1)


def test_stuck_is_not_proven():
    """No plan of 31 ops is found in 5 GB: the error says that it is stuck, and what suffices, and that does."""
    graph = reduction(16)
    problem = pl.Problem(graph, pl.Cluster([1.0], memory=5e9), memory="dynamic")
    with pytest.raises(pl.InfeasibleError, match=r"heft is stuck.*6e.09 bytes on each device suffice") as said:
        pl.place(problem, "heft")
    assert said.value.stuck and said.value.suffices == 6e9 and "fits on no device" not in str(said.value)
    enough = problem.replace(cluster=pl.Cluster([1.0], memory=said.value.suffices))
    within(enough, pl.place(enough, "heft"))


@pytest.mark.parametrize("memory", ["reserved", "dynamic"])
def test_an_op_larger_than_every_device_is_proven_to_fit_nowhere(memory):
    """No search is made, and nothing is said of being stuck."""
    graph = pl.OpGraph.from_arrays(
        list("ab"), [1.0, 1.0], [(0, 1)], edge_bytes=[3.0], memory=[1.0, 9.0], temporary=[0.0, 3.0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 2, memory=5.0), memory=memory)
    for name in AWARE:
        with pytest.raises(pl.InfeasibleError, match="op 'b' fits on no device") as said:
            pl.place(problem, name)
        assert not said.value.stuck


def test_a_search_that_is_cancelled_ends_with_the_error():
    """Nothing is tried any more, and nothing is said of a depth-first plan, which was not made."""
    problem = pl.Problem(reduction(8), pl.Cluster([1.0], memory=5e9), memory="dynamic")
    with pytest.raises(pl.InfeasibleError, match="heft is stuck, and the search for another plan was stopped") as said:
        pl.place(problem, "heft", cancel=lambda: True)
    assert said.value.stuck and said.value.suffices is None and "depth-first" not in str(said.value)


def after(looks: int) -> Callable[[], bool]:
    """Not to be stopped, so many times."""
    asked: list[int] = []
    return lambda: len(asked) >= looks or asked.append(0) is not None


def test_a_plan_of_a_search_that_was_cancelled_says_so():
    """Not all depth-first plans were tried: its note calls it the best until then. The whole search is not kept from the next."""
    problem = pl.Problem(reduction(64), pl.Cluster([1.0] * 2, bandwidth=1e10, memory=8e9), memory="dynamic")
    first = fallback.instead(problem, "heft", pl.InfeasibleError(""), cancel=after(1))
    assert first.notes == (
        "heft was stuck; this is the best depth-first plan that was found before the search was stopped",
    )
    within(problem, first)
    assert pl.place(problem, "heft").notes == ("heft was stuck; this is the depth-first plan",)


def test_what_a_depth_first_plan_needs_is_known_of_the_cuts_tried_before_a_cancel(monkeypatch):
    """None is simulated after it; of none the need is unlimited, of some at least that of all."""
    problem = pl.Problem(reduction(64), pl.Cluster([1.0] * 4, bandwidth=1e10, memory=1e9), memory="dynamic")
    runs: list[object] = []
    whole = fallback.simulate
    monkeypatch.setattr(fallback, "simulate", lambda *given: runs.append(given) or whole(*given))
    assert fallback.depth_first_need(problem, lambda: True) == np.inf and not runs
    some = fallback.depth_first_need(problem, after(2))
    assert 1 <= len(runs) <= 2 and some >= fallback.depth_first_need(problem) > 0


@pytest.mark.parametrize("memory", ["edges", "reserved", "dynamic"])
@pytest.mark.parametrize("name", ["heft", "m-etf", "m-sct", "tf-greedy"])
def test_who_can_be_placed_is_placed(name, memory):
    """On random problems of up to 10 ops with groups, pins and every model: whatever the exact search places, all do."""
    limits = dict(
        ops=7 if memory == "reserved" else 10, devices=3, memory=(memory,), transfers=("parallel",), transfer_ops=(0,)
    )
    for problem in many(60, seed=71, **limits):
        try:
            within(problem, pl.place(problem, name))
        except pl.InfeasibleError:
            if memory == "reserved":
                assert optimum(problem) == np.inf
            if memory == "dynamic":
                with pytest.raises(pl.PlacelabError):
                    pl.place(problem, "cp-sat")


@pytest.mark.parametrize("memory", ["edges", "reserved", "dynamic"])
def test_nobody_refuses_what_has_a_plan(memory):
    """All quick partitioners but ``single``, those that count memory without times, too; some of their runs are short of it."""
    limits = dict(ops=8, devices=3, memory=(memory,), transfers=("parallel",), transfer_ops=(0,))
    names = [name for name, function in pl.partitioners().items() if not function.slow and name != "single"]
    refused = []
    asked = 0
    for problem in many(45, seed=73, **limits):
        try:
            pl.place(problem, "m-etf")
        except pl.InfeasibleError:
            continue
        asked += 1
        for name in names:
            try:
                pl.place(problem, name)
            except pl.InfeasibleError:
                refused.append(name)
    assert asked > 5 and refused == []


@pytest.mark.parametrize("graph", [reduction(32), fft(4), pl.generators.layered(40, seed=1)])
def test_five_per_cent_more_than_depth_first_suffices(graph):
    """Every planner finds a plan on one device and on two of that memory."""
    for devices in (1, 2):
        cluster = pl.Cluster([1.0] * devices, bandwidth=1e10, memory=1.05 * need(graph))
        problem = pl.Problem(graph, cluster, memory="dynamic")
        for name in AWARE:
            within(problem, pl.place(problem, name))


def test_many_random_graphs_at_little_more_than_depth_first_needs():
    """Random reductions, butterflies, pipelines, 5 % above what one device needs."""
    random = np.random.default_rng(3)
    for i in range(fewer(200)):
        kind = i % 3
        size = float(random.integers(1, 9))
        graph = (
            reduction(int(random.integers(3, 40)), size)
            if kind == 0
            else fft(int(random.integers(2, 5)))
            if kind == 1
            else pl.generators.fork_join(int(random.integers(3, 30)))
        )
        cluster = pl.Cluster([1.0] * int(random.integers(1, 4)), bandwidth=10.0, memory=1.05 * need(graph))
        problem = pl.Problem(graph, cluster, memory="dynamic")
        within(problem, pl.place(problem, AWARE[i % len(AWARE)]))


def test_what_stands_in_is_looked_for_once(monkeypatch):
    """All strategies that are stuck on a problem get one answer; what was cut short is no answer."""
    looked = []
    whole = fallback.depth_first_plan

    def counted(*arguments):
        looked.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(fallback, "depth_first_plan", counted)
    graph = reduction(32)
    least = need(graph)
    roomy = pl.Problem(graph, pl.Cluster([1.0], memory=1.05 * least), memory="dynamic")
    plans = [pl.place(roomy, name) for name in ("min-min", "m-etf", "max-min")]
    assert [plan.notes[0].partition(" ")[0] for plan in plans] == ["min-min", "m-etf", "max-min"] and len(looked) == 1
    tight = pl.Problem(graph, pl.Cluster([1.0], memory=0.9 * least), memory="dynamic")
    for name in ("min-min", "m-etf"):
        with pytest.raises(pl.InfeasibleError, match=f"{name} is stuck, and so is") as said:
            pl.place(tight, name)
        assert said.value.suffices == least
    assert len(looked) == 2
    other = pl.Problem(graph, pl.Cluster([1.0], memory=1.05 * least), memory="dynamic")
    with pytest.raises(pl.InfeasibleError):
        pl.place(other, "min-min", cancel=lambda: True)
    within(other, pl.place(other, "m-etf"))


def test_the_order_holds_least_on_small_trees():
    """Of all orders of a binary tree of equal tensors none needs less: depth + 2 of them."""
    for depth in range(2, 6):
        assert need(reduction(2**depth, 1.0)) == depth + 2


def test_the_heavier_child_goes_first():
    """By falling peak − output: a child that needs much and leaves little goes before one that leaves as much as it needs."""
    graph = pl.OpGraph.from_arrays(
        ["keeps", "works", "end"], [1.0] * 3, [(0, 2), (1, 2)], edge_bytes=[5.0, 1.0], temporary=[0.0, 6.0, 0.0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0]), memory="dynamic")
    assert depth_first_order(problem).tolist() == [1, 0, 2]


def test_every_order_follows_the_edges():
    """On random graphs, the order is a permutation with each op behind what it reads."""
    for problem in many(100, seed=72):
        order = depth_first_order(problem)
        place = np.argsort(order)
        edges = problem.graph.edges
        assert sorted(order) == list(range(problem.graph.n_ops))
        assert (place[edges[:, 0]] < place[edges[:, 1]]).all()


def test_who_waits_for_ever_is_told_what_suffices():
    """`oom="wait"` on a stuck run: the error has the bytes that the depth-first order needs where the ops are."""
    problem = pl.Problem(reduction(8), pl.Cluster([1.0], memory=4e9), memory="dynamic")
    placement = pl.Placement(problem, [0] * 15)
    with pytest.raises(pl.InfeasibleError, match=r"wait for room that nothing will free.*'depth-first'.*5e.09") as said:
        pl.simulate(problem, placement, "fifo", oom="wait")
    assert said.value.stuck and said.value.suffices == 5e9


def test_an_op_in_place_is_not_counted_twice():
    """What it reads and writes is one storage: that it needs both is no proof that it fits nowhere."""
    edges = [(0, 1), (1, 2)]
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0] * 3, edges, edge_bytes=[3.0, 3.0], edge_storage=[0, 0])
    apart = pl.OpGraph.from_arrays(list("abc"), [1.0] * 3, edges, edge_bytes=[3.0, 3.0])
    cluster = pl.Cluster([1.0], memory=4.0)
    assert not fits_nowhere(pl.Problem(graph, cluster, memory="dynamic"), 1)
    assert fits_nowhere(pl.Problem(apart, cluster, memory="dynamic"), 1)


def views(chains: int, length: int) -> pl.OpGraph:
    """Chains of `length` views of one load of 1 GB each, which one op joins."""
    n = chains * (length + 1)
    edges = [(c * (length + 1) + i, c * (length + 1) + i + 1) for c in range(chains) for i in range(length)]
    edges += [(c * (length + 1) + length, n) for c in range(chains)]
    storage = [u // (length + 1) for u, _ in edges]
    names = [f"{'load' if v % (length + 1) == 0 else 'view'}{v}" for v in range(n)] + ["join"]
    return pl.OpGraph.from_arrays(names, [1.0] * len(names), edges, edge_bytes=[1e9] * len(edges), edge_storage=storage)


def test_the_depth_first_order_counts_a_storage_once():
    """Two views of a make no further bytes, so that b, which is reduced from 4 bytes to 1, begins; were they copies, a would."""
    names = ["a", "a1", "a2", "b", "b1", "join"]
    edges = [(0, 1), (1, 2), (2, 5), (3, 4), (4, 5)]
    sizes = [6.0, 6.0, 6.0, 4.0, 1.0]
    for storage, first in (([0, 0, 0, -1, -1], "b"), (None, "a")):
        graph = pl.OpGraph.from_arrays(names, [1.0] * 6, edges, edge_bytes=sizes, edge_storage=storage)
        order = depth_first_order(pl.Problem(graph, pl.Cluster([1.0]), memory="dynamic"))
        assert str(graph.names[order[0]]) == first


def test_a_device_that_holds_each_storage_once_has_a_plan():
    graph = views(3, 4)
    problem = pl.Problem(graph, pl.Cluster([1.0], memory=3e9), memory="dynamic")
    for partitioner in AWARE:
        schedule = pl.solve(problem, partitioner)
        assert pl.validate(schedule) == []
        assert schedule.peak_memory[0] == 3e9
