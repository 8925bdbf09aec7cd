"""Merging ops: expanded placements are legal, no merge makes a cycle, and all costs of ops are kept."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from examples import examples, fewer
from hypothesis import given
from problems import many, problems

import placelab as pl
from placelab.graphs.transforms import chain, coarsen, colocate, coplace, forward_only, fuse, post_adjust
from placelab.planning.lower_bounds import sct_ratio
from placelab.strategies.preparing import contraction

EXACT = partial(fuse, rule="exact")
PIPELINES = {
    "colocate": colocate,
    "coplace": coplace,
    "fuse": fuse,
    "fuse exact": EXACT,
    "coarsen": coarsen,
    "coplace, fuse": chain((coplace, fuse)),
    "coplace, fuse exact": chain((coplace, EXACT)),
    "coplace, colocate": chain((coplace, colocate)),
    "fuse, coarsen, coplace, colocate": chain((fuse, coarsen, coplace, colocate)),
}
PLANNERS = ("heft", "tf-greedy", "mite", "hash", "single", "round-robin")
NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")
each = pytest.mark.parametrize("prepare", PIPELINES.values(), ids=PIPELINES)


def graph_of(*edges, groups=(), n=None, **costs):
    """Ops 0 … n - 1 of one operation, named by number, with tensors of one byte."""
    n = n or max(max(edge) for edge in edges) + 1
    return pl.OpGraph.from_arrays(
        [str(v) for v in range(n)], costs.pop("compute", 1.0), edges, edge_bytes=1.0, groups=groups, **costs
    )


def on_two(graph, **facts):
    """The graph on two equal devices, with links of one byte per second."""
    return pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1), **facts)


def placements(small):
    """Placements of a problem by several partitioners, without those that are stuck: a search for another plan takes seconds."""
    for name in PLANNERS:
        with suppress(pl.InfeasibleError):
            yield pl.place(small, name, trace=True, fallback=False)


def respects_edges(placement):
    """Whether the planned order runs every producer before its consumers."""
    position = np.empty(len(placement.planned), dtype=int)
    position[placement.planned] = np.arange(len(position))
    graph = placement.problem.graph
    return (position[graph.producer] < position[graph.consumer]).all()


# -------------------------------------------------------------------- the way back


@pytest.mark.parametrize("prepare", [*PIPELINES.values(), post_adjust], ids=[*PIPELINES, "post-adjust"])
def test_what_is_placed_small_is_legal_in_full(prepare):
    """Groups, device constraints and precedence under two schedulers; the planned order respects every edge."""

    @examples(40)
    @given(problem=problems())
    def on_any(problem):
        small, expand = prepare(problem)
        for placed in placements(small):
            full = expand(placed)
            assert full.problem is problem and full.partitioner == placed.partitioner and full.bound is None
            schedules = [pl.simulate(problem, full, "pct")]
            if placed.planned is not None:
                assert respects_edges(placed) <= respects_edges(full)
                schedules.append(pl.simulate(problem, full, "planned"))
            for schedule in schedules:
                found = pl.validate(schedule)
                assert {violation.kind for violation in found} <= {"memory"} and len(found) == len(schedule.oom)

    on_any()


@each
def test_devices_hold_as_much_as_in_the_small_problem(prepare):
    """Reserved and persistent bytes per device are equal, so expansion keeps within capacities."""
    for problem in many(40, seed=11):
        small, expand = prepare(problem)
        for placed in placements(small):
            full = expand(placed)
            for label in ("memory", "persistent"):
                there = np.bincount(placed.device, getattr(small.graph, label), minlength=4)
                here = np.bincount(full.device, getattr(problem.graph, label), minlength=4)
                assert np.allclose(there, here)


@each
def test_work_is_preserved(prepare):
    """On every device where all ops have a time, the total time is unchanged."""
    for problem in many(60, seed=12):
        small, _ = prepare(problem)
        for d in range(problem.cluster.n_devices):
            before = problem.exec_times(d).sum()
            after = small.exec_times(d).sum()
            assert np.isnan(before) or np.isclose(before, after)


@each
def test_every_op_knows_why_it_is_where_it_is(prepare):
    """An expanded trace has a decision about every op or its group, with the op's device."""
    for problem in many(25, seed=13):
        small, expand = prepare(problem)
        for placed in placements(small):
            full = expand(placed)
            assert (full.device[full.trace.op] == full.trace.device).all()
            for v in range(problem.graph.n_ops if placed.partitioner != "single" else 0):  # that one decides once
                assert "no decision" not in full.trace.line(problem, v)


def test_an_expanded_placement_claims_nothing_of_the_full_problem():
    """Estimate and bound hold for fewer ops and are dropped; the notes tell what was placed."""
    problem = on_two(graph_of((0, 1), (1, 2), groups=[[0, 1]]))
    small, expand = fuse(problem)
    placed = pl.place(small, "heft")
    noted = expand(pl.Placement(small, placed.device, placed.planned, placed.estimate, bound=1.0, notes=("a note",)))
    assert placed.estimate is not None
    assert (noted.estimate, noted.bound) == (None, None)
    assert noted.notes == ("fuse: 2 ops instead of 3", "a note (of the 2 ops after fuse)")


def test_a_placement_of_another_problem_is_not_expanded():
    """The error names both graphs."""
    problem = on_two(graph_of((0, 1), (1, 2), groups=[[0, 1]]))
    _, expand = fuse(problem)
    with pytest.raises(pl.FormatError, match="this placement is of another graph"):
        expand(pl.place(problem, "heft"))


def test_pins_reach_the_merged_op():
    """A merged op keeps its members' pins, and can be pinned by its first member's name."""
    problem = on_two(graph_of((0, 1), (1, 2), groups=[[0, 1]]))
    pinned, _ = fuse(problem.pin({"1": "dev1"}))
    assert pinned.graph.names.tolist() == ["0", "2"]
    assert pinned.allowed == {"0": ("dev1",)} and pinned.rules == {"0": (("dev1",),)}
    small, expand = fuse(problem)
    assert expand(pl.place(small.pin({"0": "dev1"}), "heft")).device[:2].tolist() == [1, 1]


def test_tensors_that_leave_stay_apart_and_those_inside_disappear():
    """Two tensors between two merged ops stay two; a tensor read inside and outside is sent once per outside reader."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"],
        1.0,
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)],
        edge_bytes=[1.0, 1.0, 2.0, 4.0, 8.0],
        edge_output=[0, 0, 0, 1, 0],
        groups=[[0, 1], [2, 3]],
    )
    small, _ = EXACT(on_two(graph))
    assert small.graph.names.tolist() == ["a", "c"]
    assert sorted(small.graph.tensor_bytes) == [1.0, 2.0, 4.0]
    assert small.graph.edges.tolist() == [[0, 1]] * 3


def test_temporary_bytes_are_the_peak_of_the_members_in_turn():
    """A chain of three: while the second runs, its scratch memory, input and output are held together."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"],
        1.0,
        [(0, 1), (1, 2), (2, 3)],
        edge_bytes=[10.0, 20.0, 40.0],
        temporary=[1.0, 5.0, 2.0, 0.0],
        persistent=[1.0, 2.0, 3.0, 4.0],
        groups=[[0, 1, 2]],
    )
    small, _ = fuse(on_two(graph))
    assert small.graph.temporary.tolist() == [10 + 5 + 20, 0.0]
    assert small.graph.persistent.tolist() == [6.0, 4.0]
    assert small.graph.outputs.tolist() == [40.0, 0.0]
    assert small.graph.memory.sum() == graph.memory.sum()


def test_measured_times_add_up_per_type():
    """A complete time table is summed per type; holes are filled with each device's own computed time."""
    cluster = pl.Cluster([1, 2, 4], bandwidth=1, types=["cpu", "gpu", "gpu"])
    build = lambda time: pl.Problem(graph_of((0, 1), (1, 2), groups=[[0, 1]], compute=8.0, time={"gpu": time}), cluster)  # noqa: E731
    small, _ = fuse(build([1.0, 2.0, 3.0]))
    assert small.graph.time_types == ("gpu",) and small.exec_times(2).tolist() == [3.0, 3.0]
    small, _ = fuse(build([1.0, np.nan, 3.0]))
    assert [small.exec_times(d).tolist() for d in range(3)] == [[16, 8], [1 + 4, 3], [1 + 2, 3]]


# -------------------------------------------------------------------- fuse


def baechi_figure_6():
    """Grad → UpdateStep ← Step, computes 1, Grad's transfer 5, Step and UpdateStep colocated."""
    graph = pl.OpGraph.from_arrays(
        ["Grad", "Step", "UpdateStep"], 1.0, [(0, 2), (1, 2)], edge_bytes=[5.0, 0.0], groups=[[1, 2]]
    )
    return pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1))


def test_baechi_figure_6():
    """ETF separates Grad and Step and waits for the transfer, 7 in all; after fusion it takes 3."""
    problem = baechi_figure_6()
    assert pl.solve(problem, "etf", "planned").makespan == 7
    assert pl.solve(problem, "etf", "planned", prepare="fuse").makespan == 3


def test_baechi_figure_4():
    """Step with UpdateStep and Weight with ApplyGrad are not both merged, as that would make a cycle."""
    names = ["Weight", "Step", "MatMul", "Grad", "UpdateStep", "ApplyGrad"]
    edges = [(0, 2), (2, 3), (3, 4), (1, 4), (3, 5), (4, 5), (0, 4)]
    graph = pl.OpGraph.from_arrays(names, 1.0, edges, groups=[[0, 5], [1, 4]])
    problem = on_two(graph)
    for prepare in (fuse, EXACT, colocate):
        small, _ = prepare(problem)
        assert small.graph.n_ops >= 5


@pytest.mark.parametrize(
    ("edges", "group", "safe", "exact"),
    [
        ([(0, 1), (1, 2), (0, 2)], [0, 2], 3, 3),  # Fig. 5a: another path through an op outside
        ([(0, 1), (0, 2), (2, 3), (3, 1), (0, 4)], [0, 1], 5, 5),
        ([(0, 1), (0, 2), (3, 1)], [0, 1], 4, 3),  # Fig. 5b: u and v have other neighbours, but no other path
        ([(0, 1), (0, 2)], [0, 1], 2, 2),  # Fig. 5d: v has no other predecessor
        ([(0, 1), (2, 1)], [0, 1], 2, 2),  # Fig. 5e: u has no other successor
        ([(0, 1), (1, 2), (0, 2)], [0, 1, 2], 1, 1),  # degrees fall with the first merge
    ],
)
def test_rules(edges, group, safe, exact):
    """Number of ops after both rules on small graphs after Baechi's Fig. 5."""
    problem = on_two(graph_of(*edges, groups=[group]))
    assert fuse(problem)[0].graph.n_ops == safe
    assert EXACT(problem)[0].graph.n_ops == exact


def test_exact_merges_at_least_as_much_as_safe():
    """On random graphs with few large groups it sometimes merges more."""
    more = 0
    for problem in many(150, seed=14, ops=14, restricted=False):
        rest = [name for name in problem.graph.names if name not in {op for group in problem.groups for op in group}]
        problem = problem.replace(groups=[rest] if len(rest) > 1 else [])
        safe = fuse(problem)[0].graph.n_ops
        exact = EXACT(problem)[0].graph.n_ops
        assert exact <= safe
        more += exact < safe
    assert more > fewer(10)


def test_exact_leaves_nothing_to_merge():
    """Every remaining edge inside a group has another path between its ops, as a list of all paths shows."""
    for problem in many(120, seed=15, ops=12, restricted=False):
        small, _ = EXACT(problem)
        graph = nx.DiGraph(small.graph.edges.tolist())
        for u, v in set(graph.edges):
            if small.group[u] == small.group[v] >= 0:
                assert sum(1 for _ in nx.all_simple_paths(graph, u, v)) > 1


def test_an_op_with_many_inputs_is_fused_in_linear_time(monkeypatch):
    """An op's inputs are fused with it; its neighbours are processed a few times each, not n times."""
    work = []

    class Counted(list):
        def __getitem__(self, v):
            work.append(v)
            return list.__getitem__(self, v)

    def counted(self, graph, weight=None, begin=contraction.Merging.__init__):
        begin(self, graph, weight)
        self.place = Counted(self.place)

    def handed_over(there, back, gone, keep, hand_over=contraction._hand_over):
        work.extend(there[gone])
        return hand_over(there, back, gone, keep)

    monkeypatch.setattr(contraction.Merging, "__init__", counted)
    monkeypatch.setattr(contraction, "_hand_over", handed_over)
    n = 3000
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(n + 1)], 1.0, [(v, n) for v in range(n)], edge_bytes=1.0)
    assert fuse(coplace(pl.Problem(graph, pl.Cluster.uniform(2)))[0])[0].graph.n_ops == 1
    assert n < len(work) < 20 * n


def test_only_ops_of_one_group_are_merged():
    """Members of a merged op share a group."""
    for problem in many(60, seed=16):
        small, expand = EXACT(problem)
        apart = expand(pl.Placement(small, pl.place(small.replace(memory="none"), "heft").device))
        assert apart.problem is problem
        assert small.graph.n_ops >= problem.graph.n_ops - sum(len(group) - 1 for group in problem.groups)


def test_an_unknown_rule_is_named():
    """The error lists the rules."""
    with pytest.raises(pl.UnsupportedError, match="expected safe, exact"):
        fuse(baechi_figure_6(), rule="quick")


# -------------------------------------------------------------------- colocate and coplace


def test_colocate_merges_groups_whole_where_no_path_comes_back():
    """Each group becomes one op, also if its members are not neighbours."""
    problem = on_two(graph_of((0, 1), (0, 2), (2, 4), (1, 3), groups=[[1, 2], [3, 4]]))
    small, _ = colocate(problem)
    assert small.graph.names.tolist() == ["0", "1", "3"]


def test_colocate_splits_a_group_where_a_path_leaves_and_returns():
    """An op between two members keeps them apart; they stay one colocation group."""
    small, _ = colocate(on_two(graph_of((0, 1), (1, 2), (2, 3), groups=[[0, 2, 3]])))
    assert small.graph.names.tolist() == ["0", "1", "2"] and small.groups == (("0", "2"),)


def test_coplace_ties_an_op_to_the_only_reader_of_its_output():
    """Control edges carry no output; a tensor with two readers ties no ops."""
    graph = graph_of((0, 1), (1, 2), (1, 3), (3, 4), (2, 4))
    assert coplace(on_two(graph))[0].groups == (("0", "1"), ("2", "3", "4"))
    graph = graph_of((0, 1), (0, 2), edge_control=[False, True])
    assert coplace(on_two(graph))[0].groups == (("0", "1"),)
    assert coplace(on_two(graph), chains=False)[0].n_groups == 0


def test_coplace_ties_gradients_to_their_ops():
    """By TensorFlow's names, or by metadata."""
    names = ["x", "fc/MatMul", "gradients/fc/MatMul_grad/MatMul", "train/gradients_1/x_grad", "other"]
    graph = pl.OpGraph.from_arrays(names, 1.0, [], metadata={"forward": {"other": "x"}})
    assert coplace(on_two(graph))[0].groups == (
        ("x", "train/gradients_1/x_grad", "other"),
        ("fc/MatMul", "gradients/fc/MatMul_grad/MatMul"),
    )


@pytest.mark.parametrize("memory", ["reserved", "dynamic"])
def test_coplace_leaves_apart_what_fits_nowhere(memory):
    """A joined group larger than every device is split into its colocation groups, with a note."""
    chain = graph_of((0, 1), (1, 2), (3, 4), groups=[[0, 1]], persistent=[2.0, 2.0, 3.0, 1.0, 1.0])
    problem = pl.Problem(chain, pl.Cluster([1, 1], memory=[6, 6], bandwidth=1), memory=memory)
    small, expand = coplace(problem)
    assert small.groups == (("0", "1"), ("3", "4"))
    assert expand(pl.place(small, "hash")).notes == (
        "coplace: groups placed together: 1; left apart, fitting nowhere: 1",
    )


@pytest.mark.parametrize("memory", ["reserved", "dynamic"])
def test_coplace_joins_what_fits_of_a_large_group(memory):
    """A chain of six ops of 2 bytes, tensors of 1, on devices of 9: the first three, the other three; pins are kept apart."""
    chain = graph_of(*((v, v + 1) for v in range(5)), persistent=[2.0] * 6)
    cluster = pl.Cluster([1, 1], memory=[9, 9], bandwidth=1, names=["A", "B"])
    problem = pl.Problem(chain, cluster, memory=memory)
    small, expand = coplace(problem)
    assert small.groups == (("0", "1", "2"), ("3", "4", "5"))
    assert expand(pl.place(small, "m-topo")).notes == (
        "coplace: groups placed together: 2; split, fitting nowhere whole: 1",
    )
    pinned = coplace(problem.pin({"0": "A", "2": "B"}))[0]
    assert pinned.groups == (("0", "1"), ("2", "3", "4")) and pinned.allowed["4"] == ("B",)


def test_coplace_counts_tensors_held_while_a_group_runs():
    """Two tensors of 3 bytes wait for the last op, so their ops do not share a device of 5; one after the other, they do."""
    make = pl.OpGraph.from_arrays
    waiting = make([*"0123"], 1.0, [(0, 2), (1, 2), (2, 3)], edge_bytes=[3.0, 3.0, 0.0])
    passing = make([*"0123"], 1.0, [(0, 1), (1, 2), (2, 3)], edge_bytes=[2.0, 2.0, 2.0])
    cluster = pl.Cluster([1, 1], memory=[5, 5], bandwidth=1)
    assert coplace(pl.Problem(waiting, cluster, memory="dynamic"))[0].groups == (("0", "2", "3"),)
    assert coplace(pl.Problem(passing, cluster, memory="dynamic"))[0].groups == (("0", "1", "2", "3"),)
    assert coplace(pl.Problem(waiting, cluster, memory="none"))[0].groups == (("0", "1", "2", "3"),)


def test_no_group_of_coplace_needs_more_than_a_device_holds():
    """On random problems, except colocation groups that do so before; ties of groups that fit are all kept."""
    for problem in many(150, seed=23, memory=("reserved", "dynamic")):
        small, _ = coplace(problem)
        free = coplace(problem.replace(memory="none"))[0]
        for members in small.groups:
            ops = [problem.graph.index(name) for name in members]
            assert members in problem.groups or fits_somewhere(problem, ops)
        assert {g for g in free.groups if fits_somewhere(problem, [problem.graph.index(x) for x in g])} <= set(
            small.groups
        )


def fits_somewhere(problem, ops) -> bool:
    """Whether the ops' bytes, counted instant by instant in topological order, fit on a device that all may use."""
    graph = problem.graph
    inside = set(ops)
    column = graph.memory if problem.memory == "reserved" else graph.persistent
    lasting = sum(column[v] for v in ops)
    most = 0.0
    for now in range(graph.n_ops if problem.memory == "dynamic" else 0):
        held = graph.temporary[now] if now in inside else 0.0
        for t, u in enumerate(graph.tensor_producer.tolist()):
            readers = graph.consumer[graph.tensor_ptr[t] : graph.tensor_ptr[t + 1]].tolist()
            held += graph.tensor_bytes[t] if u in inside and u <= now <= max([u, *readers]) else 0.0
        most = max(most, held)
    room = problem.capacity * (1 + 1e-9) >= lasting + most
    return bool((room & problem.may_run[ops].all(axis=0)).any())


@pytest.mark.parametrize("partitioner", ["m-etf", "etf", "m-topo"])
def test_a_training_graph_that_no_device_holds_is_placed_in_groups(partitioner):
    """GNMT needs 3.2 GB on one device, and is one group; on four devices of 2.4 GB its groups fit, and the notes say so."""
    cluster = pl.clusters.pcie_box(4).replace(memory=[2.4e9] * 4)
    problem = pl.Problem(pl.load("gnmt_40"), cluster, memory="dynamic")
    placement = pl.place(problem, partitioner, prepare="coplace")
    assert placement.notes[0] == "coplace: groups placed together: 54; split, fitting nowhere whole: 1"
    assert not len(pl.simulate(problem, placement).oom)


def test_coplace_keeps_an_estimate_that_holds():
    """The ops are the same, so a plan's estimate stays valid."""
    problem = on_two(pl.generators.layered(30, seed=2))
    small, expand = coplace(problem)
    placed = expand(pl.place(small, "heft"))
    assert placed.estimate == pl.simulate(problem, placed, "planned").makespan


# -------------------------------------------------------------------- post_adjust


@pytest.mark.parametrize(("by", "device"), [("compute", 1), ("memory", 2), ("majority", 0)])
def test_a_group_moves_to_its_dominant_member(by, device):
    """Two of four members on device 0, the longest on 1, the largest on 2."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"), [1.0, 1, 5, 1], [], persistent=[1.0, 1, 1, 7], groups=[[0, 1, 2, 3]], metadata={}
    )
    problem = pl.Problem(graph, pl.Cluster([1, 1, 1]))
    small, expand = post_adjust(problem, by=by)
    assert small.n_groups == 0
    full = expand(pl.Placement(small, [0, 0, 1, 2]))
    assert full.device.tolist() == [device] * 4
    assert full.notes == (f"post-adjust: {4 - [2, 1, 1][device]} ops moved to their group",)
    only = problem.pin({"a": "dev2"})
    assert post_adjust(only, by=by)[1](pl.Placement(post_adjust(only)[0], [2, 0, 1, 0])).device.tolist() == [2] * 4


# -------------------------------------------------------------------- coarsen


def test_coarsen_reaches_its_target():
    """Without constraints ρ falls to any target, in the worst case by merging all ops that send tensors."""
    for problem in many(80, seed=17, groups=False, restricted=False, memory=("none",)):
        for rho in (0.0, 0.3, 1.0, 5.0):
            small, _ = coarsen(problem, rho=rho)
            assert sct_ratio(small) <= rho * (1 + 1e-9)
            if sct_ratio(problem) <= rho:
                assert small is problem


def test_coarsen_merges_the_pair_that_talks_too_long_first():
    """One long transfer costs one merge, not all ops."""
    graph = pl.OpGraph.from_arrays(list("abcd"), 1.0, [(0, 1), (1, 2), (2, 3)], edge_bytes=[1.0, 9.0, 1.0])
    small, _ = coarsen(on_two(graph))
    assert small.graph.names.tolist() == ["a", "b", "d"]


def test_coarsen_says_when_it_cannot():
    """Two small ops that may not share a device stay apart, and the placement notes the ρ that was reached."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], 1.0, [(0, 1), (1, 2)], edge_bytes=4.0, devices={0: ["x"], 1: ["y"]})
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1, names=["x", "y"]))
    small, expand = coarsen(problem)
    assert small.graph.n_ops == 2
    assert "coarsen: ρ is 4, not 1" in expand(pl.place(small, "heft")).notes[-1]


# -------------------------------------------------------------------- the networks


@pytest.mark.parametrize(
    ("network", "left"),
    [
        ("convolutional_network", [101, 30, 38, 30]),
        ("recurrent_network", [1134, 329, 85, 83]),
        ("dynamic_rnn", [1887, 724, 424, 278]),
    ],
)
def test_fusion_shrinks_the_networks(network, left):
    """Number of ops after co-placement and fusion, by the safe and the exact rule, of both passes and of forward ops only."""
    problem = pl.Problem(pl.load(network), pl.clusters.pcie_box())
    steps = [(*first, coplace, rule) for first in ((), (forward_only,)) for rule in (fuse, EXACT)]
    assert [chain(each_step)(problem)[0].graph.n_ops for each_step in steps] == left


@pytest.mark.parametrize("network", NETWORKS)
@each
def test_networks_stay_legal(network, prepare):
    """A real model with its groups, made smaller and placed within memory that one device alone does not have."""
    graph = pl.load(network)
    problem = pl.Problem(
        graph, pl.clusters.pcie_box().replace(memory=[0.6 * graph.memory.sum()] * 4), memory="reserved"
    )
    small, expand = prepare(problem)
    schedule = pl.simulate(problem, expand(pl.place(small, "heft")), "planned")
    assert not pl.validate(schedule)


def test_levels_are_topological():
    """Parts of a colocated group follow their levels: no edge leads from a part to an earlier one."""
    small, _ = PIPELINES["coplace, colocate"](pl.Problem(pl.load("dynamic_rnn"), pl.clusters.pcie_box()))
    graph = nx.DiGraph(small.graph.edges.tolist())
    for group in small.groups:
        ops = sorted(small.graph.index(name) for name in group)
        assert not any(graph.has_edge(b, a) for a, b in pairwise(ops))


def test_nothing_to_merge_is_said():
    """Two ops pinned to different devices stay two; the note gives the ρ that was reached."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=5.0)
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0)).pin({"a": "dev0", "b": "dev1"})
    (note,) = pl.place(problem, "heft", prepare="coarsen").notes
    assert note.startswith("coarsen: ρ is 5, not 1")
