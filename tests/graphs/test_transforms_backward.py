"""The backward pass: mirrored graphs, mirrored schedules (Theorems 5.1 to 5.3 of the thesis), and placing forward ops only."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import optimum
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from problems import many, placed

import placelab as pl
from placelab.graphs.transforms import backward, backward_schedule, expand_backward, forward_only, proportionality
from placelab.strategies.preparing.gradients import backward_part, forward_ops

PLAIN = dict(transfers=("parallel",), transfer_ops=(0,), memory=("none",))
NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")


def alike_both_ways(problem, latency=True):
    """The problem with symmetric links without latency, so that a constant ratio of bytes is one of times."""
    cluster = problem.cluster
    both = lambda matrix: np.maximum(matrix, matrix.T)  # noqa: E731
    return problem.replace(
        cluster=cluster.replace(bandwidth=both(cluster.bandwidth), latency=both(cluster.latency) if latency else 0.0)
    )


# -------------------------------------------------------------------- the mirrored graph


def test_backward_mirrors_every_edge():
    """The gradient op of v reads from those of v's consumers; computes and bytes are multiplied by the ratio."""
    for problem in many(60, seed=21):
        graph = problem.graph
        mirrored = backward(graph, 2.0, forward=False)
        n = graph.n_ops
        assert mirrored.names.tolist() == [f"gradients/{name}_grad" for name in graph.names[::-1]]
        data = ~graph.tensor_control[graph.edge_tensor]
        wanted = np.column_stack([n - 1 - graph.edges[:, ::-1], 2 * graph.edge_bytes])[data]
        kept = ~mirrored.tensor_control[mirrored.edge_tensor]
        found = np.column_stack([mirrored.edges, mirrored.edge_bytes])[kept]
        assert sorted(map(tuple, found)) == sorted(map(tuple, wanted))
        assert np.array_equal(mirrored.compute[::-1], 2 * graph.compute, equal_nan=True)
        assert not mirrored.persistent.any()


def test_a_training_graph_has_both_passes():
    """2 n ops; each gradient op is colocated with its op and follows all forward ops that depend on it."""
    for problem in many(60, seed=22):
        training = backward(problem)
        graph = training.graph
        n = problem.graph.n_ops
        assert graph.n_ops == 2 * n and graph.compute.sum() == pytest.approx(
            2 * problem.graph.compute.sum(), nan_ok=True
        )
        forward = forward_ops(graph)
        assert (backward_part(graph) == (forward >= 0)).all() and (forward >= 0).sum() == n
        for v in np.flatnonzero(forward >= 0):
            assert forward[v] in training.members(v) and graph.names[forward[v]] in graph.names[v]
            assert set(training.feasible(v)) == set(training.feasible(forward[v]))
        pairs = np.flatnonzero(problem.group >= 0)
        assert all(set(problem.members(v)) <= {problem.graph._index.get(graph.names[u], v) for u in
                   training.members(graph.index(problem.graph.names[v]))} for v in pairs)  # fmt: skip


def test_a_ratio_per_op_needs_one_per_edge():
    """One number for all edges is also accepted; the error names the values found."""
    graph = pl.generators.fork_join(3)
    with pytest.raises(pl.FormatError, match="give transfer_ratio, too"):
        backward(graph, [1.0] * 5)
    with pytest.raises(pl.FormatError, match="expected a number, or 5 of them"):
        backward(graph, [1.0, 2.0], transfer_ratio=1.0)
    with pytest.raises(pl.FormatError, match="finite numbers, 0 or more"):
        backward(graph, -1.0)
    assert backward(graph, [1.0, 2, 3, 4, 5], transfer_ratio=2.0, forward=False).compute[-1] == graph.compute[0]


# -------------------------------------------------------------------- Theorems 5.1 to 5.3


@examples(150)
@given(placement=placed(**PLAIN), seed=st.integers(0, 99))
def test_theorem_5_1(placement, seed):
    """For any ratios, the mirrored schedule is legal and at most C0 times as long."""
    problem = alike_both_ways(placement.problem)
    rng = np.random.default_rng(seed)
    schedule = pl.simulate(problem, pl.Placement(problem, placement.device), "pct")
    ratio = rng.uniform(0.2, 3, problem.graph.n_ops)
    moved = rng.uniform(0.2, 3, problem.graph.n_edges)
    graph = backward(problem.graph, ratio, transfer_ratio=moved, forward=False)
    C0 = proportionality(schedule, graph)
    for constant in (None, C0, 1.5 * C0):
        mirrored = backward_schedule(schedule, constant, graph=graph)
        assert not pl.validate(mirrored)
        assert (mirrored.device[::-1] == schedule.device).all()
        assert mirrored.makespan <= (constant or C0) * schedule.makespan * (1 + 1e-9)


@examples(80)
@given(placement=placed(**PLAIN))
def test_theorem_5_1_holds_with_equality_for_a_constant_ratio(placement):
    """A work-conserving schedule starts at 0, so with ratio 2 everywhere the backward pass takes exactly twice as long."""
    problem = alike_both_ways(placement.problem, latency=False)
    schedule = pl.simulate(problem, pl.Placement(problem, placement.device), "fifo")
    mirrored = backward_schedule(schedule, 2.0)
    assert not pl.validate(mirrored)
    assert mirrored.makespan == pytest.approx(2 * schedule.makespan, rel=1e-12)


def test_theorem_5_2():
    """With a constant ratio the optimum of the mirrored problem is C0 times the optimum, both by brute force."""
    for problem in many(40, seed=23, ops=6, devices=3, **PLAIN):
        problem = alike_both_ways(problem, latency=False)
        assert optimum(backward(problem, 3.0, forward=False)) == pytest.approx(3 * optimum(problem), rel=1e-9)


def test_theorem_5_3():
    """The mirror of a schedule has the same ratio to its optimum as the schedule."""
    for problem in many(30, seed=24, ops=6, devices=3, zero=False, **PLAIN):
        problem = alike_both_ways(problem, latency=False)
        schedule = pl.solve(problem, "heft", "pct")
        mirrored = backward_schedule(schedule, 0.5)
        assert mirrored.makespan / optimum(mirrored.problem) == pytest.approx(
            schedule.makespan / optimum(problem), rel=1e-9
        )


def test_a_zero_that_becomes_positive_raises():
    """No constant is large enough; pairs that are both zero do not matter."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [0.0, 1.0], [(0, 1)], edge_bytes=[0.0])
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1))
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo")
    mirrored = backward(graph, 2.0, forward=False)
    assert proportionality(schedule, mirrored) == 2
    with pytest.raises(pl.UnsupportedError, match="op 'a' takes no time forward but 1 s backward"):
        backward_schedule(schedule, graph=mirrored.replace(compute=[2.0, 1.0]))
    with pytest.raises(pl.UnsupportedError, match="the transfer from 'a' to 'b' takes no time forward"):
        backward_schedule(schedule, graph=mirrored.replace(tensor_bytes=[1.0]))


def test_a_constant_that_is_too_small_raises():
    """Latency does not shrink with the ratio, so half the time is not enough."""
    graph = pl.OpGraph.from_arrays(["a", "b"], 1.0, [(0, 1)], edge_bytes=[1.0])
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1, latency=1.0))
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo")
    assert backward_schedule(schedule, 2.0).makespan == 8
    with pytest.raises(pl.FormatError, match=r"takes 0\.75 times as long backward as forward; raise ratio"):
        backward_schedule(schedule, 0.5)


def test_what_cannot_be_mirrored_is_refused():
    """Queues for links; a schedule without ratio or graph; a graph that is the mirror of another."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2), transfers="sequential")
    with pytest.raises(pl.UnsupportedError, match="parallel transfers"):
        backward_schedule(pl.solve(problem, "heft", "pct"), 1.0)
    schedule = pl.solve(problem.replace(transfers="parallel"), "heft", "pct")
    with pytest.raises(pl.FormatError, match="needs ratio"):
        backward_schedule(schedule)
    with pytest.raises(pl.FormatError, match="its ops have other names"):
        backward_schedule(schedule, 1.0, graph=problem.graph)
    for constant in (np.nan, np.inf, "2", [2.0], -1.0):
        with pytest.raises(pl.UnsupportedError, match=r"ratio is .* expected a finite number"):
            backward_schedule(schedule, constant, graph=backward(problem.graph, 1.0, forward=False))
    slow = pl.solve(pl.Problem(problem.graph, pl.Cluster([1e-3])), "single", "fifo")
    with pytest.raises(pl.FormatError, match="use a smaller one"):
        backward_schedule(slow, 1e308, graph=backward(problem.graph, 1.0, forward=False))
    with pytest.raises(pl.FormatError, match="needs a Schedule"):
        proportionality(None, problem.graph)


def test_a_graph_with_its_backward_pass_gets_no_second_one():
    """Its gradient ops would repeat existing names."""
    both = backward(pl.generators.fork_join(3))
    with pytest.raises(pl.FormatError, match=r"has an op 'gradients/.*_grad' already.* forward pass alone"):
        backward(both)


# -------------------------------------------------------------------- forward ops only


def test_forward_only_expands_to_legal_placements():
    """Random training graphs: the small problem has the forward ops, gradient ops follow, and the planned order holds."""

    for problem in many(80, seed=25, memory=("none",)):
        training = backward(problem)
        small, expand = forward_only(training)
        if problem.runs_all.any():  # some device may run everything
            assert small.graph.names.tolist() == problem.graph.names.tolist()
        for name in ("heft", "hash", "tf-greedy"):
            full = expand(pl.place(small, name))
            for scheduler in ("pct", "planned") if full.planned is not None else ("pct",):
                assert not pl.validate(pl.simulate(training, full, scheduler), memory=False)
            if full.planned is not None:
                position = np.argsort(full.planned)
                assert (position[training.graph.producer] < position[training.graph.consumer]).all()


def test_a_gradient_op_goes_where_its_op_is():
    """This holds in the networks, too; weight updates are placed with their variables."""
    for network in NETWORKS:
        problem = pl.Problem(pl.load(network), pl.clusters.pcie_box())
        small, expand = forward_only(problem)
        forward = forward_ops(problem.graph)
        # A gradient op of a group that holds forward ops, or others' gradient ops, goes with its group.
        free = np.flatnonzero((forward >= 0) & (problem.group < 0))
        full = expand(pl.place(small, "heft"))
        assert (full.device[free] == full.device[forward[free]]).all()
        assert not set(small.graph.names) & {name for name in problem.graph.names if name.startswith("gradients/")}
        assert full.device.tolist() == expand_backward(problem, pl.place(small, "heft")).device.tolist()


def test_backward_bytes_count_with_the_op_they_follow():
    """Reserved bytes of the whole graph stay; so a device that holds the small problem's share holds the full one's."""
    problem = pl.Problem(pl.load("recurrent_network"), pl.clusters.pcie_box(), memory="reserved")
    small, expand = forward_only(problem)
    assert small.graph.memory.sum() == pytest.approx(problem.graph.memory.sum())
    placed_small = pl.place(small, "heft")
    share = np.bincount(placed_small.device, small.graph.memory, minlength=4)
    assert np.bincount(expand(placed_small).device, problem.graph.memory, minlength=4) == pytest.approx(share)


def test_short_of_memory_both_passes_are_placed():
    """If no device holds the whole model, all ops stay, each gradient op colocated with its forward op."""
    graph = backward(pl.generators.fork_join(3))
    problem = pl.Problem(
        graph.replace(persistent=np.ones(graph.n_ops), memory=np.ones(graph.n_ops)),
        pl.Cluster.uniform(3, memory=4.0),
        memory="reserved",
    )
    small, expand = forward_only(problem)
    assert small.graph is graph or small.graph.n_ops == graph.n_ops
    full = expand(pl.place(small, "contiguous"))
    forward = forward_ops(graph)
    paired = np.flatnonzero(forward >= 0)
    assert (full.device[paired] == full.device[forward[paired]]).all()
    assert forward_only(problem.replace(cluster=pl.Cluster.uniform(3, memory=10.0)))[0].graph.n_ops == 5


def test_a_device_that_may_not_run_all_ops_does_not_hold_the_model():
    """With ops restricted to different devices, both passes are placed."""
    problem = pl.Problem(
        backward(pl.generators.fork_join(2)), pl.Cluster.uniform(2), allowed={"stage0/fork": 0, "stage0/branch0": 1}
    )
    assert forward_only(problem)[0].graph.n_ops == 8


def test_a_graph_without_gradients_stays():
    """No name marks a gradient, so the problem is unchanged."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    small, expand = forward_only(problem)
    placement = pl.place(small, "heft")
    assert small is problem and expand(placement) is placement


def test_names_of_gradients():
    """Scopes of TensorFlow 1: the longest op name counts; a gradient of a gradient belongs to the gradient."""
    names = [
        "a",
        "a/b",
        "opt/gradients/a/b_grad/Mul",
        "gradients/a_grad/tuple/x",
        "gradients/AddN",
        "gradients/a_grad/c_grad",
    ]
    names += ["gradients_2/gradients/a_grad/c_grad_grad/Neg"]
    graph = pl.OpGraph.from_arrays(names, 1.0, [])
    assert forward_ops(graph).tolist() == [-1, -1, 1, 0, -1, 0, 5]
    with pytest.raises(pl.FormatError, match="metadata 'forward'"):
        forward_ops(pl.OpGraph.from_arrays(["a"], 1.0, [], metadata={"forward": 3}))
