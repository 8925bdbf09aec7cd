"""sct and m-sct: their rules, favourite children, and placement within little memory."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import numpy as np
import problems
import pytest
import reference_sct
from examples import examples
from hypothesis import given

import placelab as pl
from placelab.strategies.partitioning import sct
from placelab.strategies.partitioning.sct import MEANS, NO_OPTIMUM, PREVIEW, REASONS, STOPPED, TOO_LONG

PAIR = pl.Cluster([1.0, 1.0])


def any_children(graph: pl.OpGraph, seed: int) -> np.ndarray:
    """A random successor of each op, different for different ops; more than any linear program would favour."""
    child = np.full(graph.n_ops, -1, np.int32)
    taken = set()
    for e in Random(seed).sample(range(graph.n_edges), graph.n_edges):
        u, v = graph.edges[e].tolist()
        if child[u] < 0 and v not in taken:
            child[u] = v
            taken.add(v)
    return child


def planned(problem: pl.Problem, child: np.ndarray, memory: bool):
    """The kernel's plan and rules, or None if nothing fits."""
    try:
        made, rule = sct._plan(problem, SimpleNamespace(child=child), memory=memory, trace=False)
    except pl.InfeasibleError:
        return None
    return made.plan, rule


# ---------------------------------------------------------------- the rules


def test_kernel_follows_the_rules():
    """Every device, time and rule equals the plain implementation's, to the last bit, in every memory and transfer model."""
    rules = np.zeros(len(REASONS), int)
    for i, problem in enumerate(problems.many(330, seed=11, ops=14)):
        child = any_children(problem.graph, i)
        memory = problem.memory != "none"
        plain = reference_sct.sct(problem, child, sct._turns(problem), memory)
        found = planned(problem, child, memory)
        assert (plain is None) == (found is None), i
        if found is not None:
            plan, rule = found
            assert (plan.device.tolist(), rule.tolist()) == (plain.device, plain.rule), i
            assert (plan.start.tolist(), plan.finish.tolist()) == (plain.start, plain.finish), i
            rules += np.bincount(rule, minlength=len(REASONS))
    assert (rules > 0).all()  # each rule was met


@examples(60)
@given(
    problem=problems.problems(
        identical=True, time_table=False, groups=False, restricted=False, transfers=("parallel",), memory=("none",)
    )
)
def test_without_favourites_it_is_etf(problem):
    """On equal devices without favourite children, all devices are free: the plan equals etf's."""
    plan, _ = planned(problem, np.full(problem.graph.n_ops, -1, np.int32), False)
    etf = pl.place(problem, "etf")
    assert plan.device.tolist() == etf.device.tolist() and plan.finish.max() == etf.estimate


def test_each_rule_by_hand():
    """a, u's favourite child, runs on u's device; at 4 device 0 could start y but waits for c; y is sent to device 1."""
    names = ["u", "a", "b", "c", "y"]
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4)]
    graph = pl.OpGraph.from_arrays(names, [2, 2, 0.5, 1, 0.5], edges, edge_bytes=[1, 1, 2, 1, 1])
    placement = pl.place(pl.Problem(graph, PAIR), "sct", trace=True)
    schedule = pl.simulate(placement.problem, placement, "planned")
    assert placement.device.tolist() == [0, 0, 1, 0, 1]
    assert schedule.start.tolist() == [0.0, 2.0, 3.0, 4.5, 5.0]
    reasons = [REASONS[reason] for reason in placement.trace.reason[np.argsort(placement.trace.op)]]
    assert [reason.partition(":")[0] for reason in reasons] == ["free", "awake", "free", "awake", "free"]
    assert reasons[1].endswith("the favourite child of its last op runs")
    assert reasons[3].endswith("it waits for the favourite child of its last op")
    assert placement.trace.line(placement.problem, 3).startswith("c on dev0: awake: nothing is urgent, so it waits")


def test_an_urgent_op_goes_first():
    """The device is awake when u ends; its favourite child a could run, but the longer x is urgent and goes first."""
    graph = pl.OpGraph.from_arrays(["u", "a", "x"], [9.0, 1.0, 8.0], [(0, 1)], edge_bytes=1.0)
    plan, rule = planned(pl.Problem(graph, pl.Cluster([1.0])), np.array([1, -1, -1], np.int32), False)
    assert plan.order.tolist() == [0, 2, 1] and REASONS[rule[2]].startswith("awake: urgent")


# ---------------------------------------------------------------- memory


def example_5() -> pl.OpGraph:
    """Six ops, six edges, every transfer 1, similar to Baechi's Fig. 1."""
    edges = [(0, 1), (0, 2), (1, 4), (2, 3), (2, 4), (2, 5)]
    names = [f"op{v + 1}" for v in range(6)]
    return pl.OpGraph.from_arrays(names, [2, 2, 2, 1, 3, 3], edges, edge_bytes=1.0, memory=[1, 1, 1, 2, 1, 1])


def test_worked_example_5():
    """SCT takes 8, ETF 9; SCT's plan needs 5 units of memory on a device of 4; m-SCT stays within 4 and takes 9."""
    free = pl.Problem(example_5(), PAIR)
    assert (pl.place(free, "sct").estimate, pl.place(free, "etf").estimate) == (8.0, 9.0)
    tight = pl.Problem(example_5(), PAIR.replace(memory=[4.0, 4.0]), memory="reserved")
    with pytest.raises(pl.InfeasibleError, match="dev0 is short by 1 bytes"):
        pl.partitioners()["sct"](tight)
    schedule = pl.solve(tight, "m-sct", "planned")
    assert schedule.makespan == 9.0 and not len(schedule.oom) and not pl.validate(schedule)


def test_memory_is_indivisible():
    """Two devices of 4 units, ops of 1, 1 and 4: the small ones are spread, the third fits nowhere, and the error says so."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0] * 3, [], memory=[1, 1, 4])
    problem = pl.Problem(graph, PAIR.replace(memory=[4.0, 4.0]), memory="reserved")
    with pytest.raises(pl.InfeasibleError, match="op 'c' finds no room"):
        pl.partitioners()["m-sct"](problem)
    assert pl.solve(problem, "m-sct").makespan == 2.0
    assert pl.solve(problem.pin({"a": "dev0", "b": "dev0"}), "m-sct", "planned").makespan == 2.0


@examples(40)
@given(problem=problems.problems(memory=("edges", "reserved", "dynamic"), transfers=("parallel",)))
def test_within_memory_all_the_time(problem):
    """m-sct's plans of these problems stay within every capacity; with enough memory they equal sct's."""
    try:
        schedule = pl.solve(problem, "m-sct", "planned")
    except pl.InfeasibleError:
        return
    if not problem.transfer_ops:  # Sends are planned as if they occupied no device
        assert not len(schedule.oom)
    plenty = problem.replace(cluster=problem.cluster.replace(memory=None))
    assert pl.place(plenty, "m-sct").device.tobytes() == pl.place(plenty, "sct").device.tobytes()


# ---------------------------------------------------------------- what is said with it


def test_times_that_the_solver_cannot_tell_apart(monkeypatch):
    """If the solver of the linear program gives up, the plan uses matched favourites, with a note."""
    monkeypatch.setattr("placelab.planning.relaxation._solve", lambda *given: False)
    placement = pl.place(pl.Problem(pl.generators.layered(30, seed=1), pl.Cluster.uniform(3)), "sct")
    assert NO_OPTIMUM in placement.notes
    assert pl.validate(pl.simulate(placement.problem, placement, "planned")) == []


def test_notes_say_that_the_program_took_too_many_steps(monkeypatch):
    """The plan uses matched favourites, and is as valid as any."""
    monkeypatch.setattr("placelab.planning.favourite_child.STEPS", 20)
    monkeypatch.setattr("placelab.planning.favourite_child.ROWS", 100)
    problem = pl.Problem(pl.generators.layered(300, seed=12), pl.Cluster.uniform(3))
    placement = pl.place(problem, "m-sct")
    assert placement.notes == (TOO_LONG,)
    assert placement.device.tobytes() == pl.place(problem, "m-sct").device.tobytes()
    assert pl.validate(pl.simulate(problem, placement, "planned")) == []


def test_notes_tell_means_from_times():
    """Notes mention that the linear program used means only if devices or links differ."""
    graph = pl.generators.fork_join(3)
    assert MEANS not in pl.place(pl.Problem(graph, pl.Cluster.uniform(3)), "sct").notes
    for uneven in (pl.Cluster([1.0, 2.0]), pl.Cluster([1.0] * 3, latency=[[0, 1, 1], [1, 0, 2], [1, 2, 0]])):
        assert MEANS in pl.place(pl.Problem(graph, uneven), "m-sct").notes


def test_preview_says_so_and_needs_no_solver(monkeypatch):
    """During a drag no program is solved, on release it is. Previews and stopped calls have a note."""
    problem = pl.Problem(pl.generators.layered(60, seed=21), pl.Cluster.uniform(3))
    with monkeypatch.context() as without:
        without.setattr("placelab.planning.favourite_child.least_makespan", None)
        assert PREVIEW in pl.place(problem, "m-sct", preview=True).notes
        assert STOPPED in pl.place(problem, "m-sct", cancel=lambda: True).notes
    final = pl.place(problem, "m-sct").notes
    assert PREVIEW not in final and STOPPED not in final


def test_threshold_matters():
    """θ = 0.1, Baechi's, favours fewer ops than 0.5."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box())
    half, tenth = (pl.place(problem, "sct", threshold=t, trace=True).trace.reason for t in (0.5, 0.1))
    assert (tenth > 0).sum() < (half > 0).sum()


@pytest.mark.slow
def test_favourite_children_pay():
    """On a column of triangles with transfers of ρ ≤ 1, SCT beats ETF on average over 20 random graphs."""
    gain = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        graph = pl.generators.layered(80, seed=seed, shape=0.5, degree=1.5)
        compute = draw.uniform(1, 2, graph.n_ops)
        size = draw.uniform(0.5, 1, graph.n_tensors)
        problem = pl.Problem(graph.replace(compute=compute, tensor_bytes=size), pl.Cluster([1.0] * 8))
        gain.append(pl.place(problem, "etf").estimate / pl.place(problem, "sct").estimate)
    assert np.mean(gain) > 1
