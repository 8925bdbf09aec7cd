"""The static capacity check: whole groups, four memory models, and an error that says why for each device."""

from __future__ import annotations

import pickle

import numpy as np
import problems
import pytest
from reference_capacity import always_together, plain_need

import placelab as pl
from placelab.planning.capacity import Assignment, needs, units


def test_units_are_groups_and_single_ops():
    """Each op is in one unit; ops share one if and only if they share a group; units are ordered by first op."""
    for problem in problems.many(100, seed=11):
        made = units(problem)
        for v in range(problem.graph.n_ops):
            u = made.of[v]
            assert made.ops[made.ptr[u] : made.ptr[u + 1]].tolist() == problem.members(v).tolist()
        assert (np.diff(made.first) > 0).all()


def test_needs_are_what_the_model_says():
    """Held bytes plus the highest peak of a set of units equal the plain sum and maximum over their ops."""
    rng = np.random.default_rng(0)
    for problem in problems.many(200, seed=12):
        made = Assignment(problem)
        chosen = np.flatnonzero(rng.random(made.units.n) < 0.5)
        ops = [v for v in range(problem.graph.n_ops) if made.units.of[v] in chosen]
        mine = made.needs.held[chosen].sum() + made.needs.peak[chosen].max(initial=0.0)
        assert mine == pytest.approx(plain_need(problem, ops))
        assert np.isinf(made.capacity.limit).all() == (
            problem.memory == "none" or np.isinf(problem.cluster.memory).all()
        )


def test_no_partitioner_overfills_a_device():
    """Alone, placements of the baselines and of Mayer fit by the plain count; an error means that some op fitted nowhere."""
    names = ("hash", "batch-split", "critical-path", "mite", "dfs", "single", "round-robin", "random", "contiguous")
    for problem in problems.many(200, seed=13, memory=("edges", "reserved", "dynamic")):
        for name in names:
            try:
                placement = pl.place(problem, name, fallback=False)
            except pl.InfeasibleError:
                continue
            for d, capacity in enumerate(problem.cluster.memory):
                together = (lambda *_: True) if name == "single" else always_together
                need = plain_need(problem, np.flatnonzero(placement.device == d).tolist(), together)
                assert need <= capacity * (1 + 1e-9), (name, d)


def test_a_group_is_checked_as_a_whole():
    """Two ops of 3 bytes fit one by one on 4 bytes, but their group needs 6."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], memory=[3.0, 3.0], groups=[[0, 1]])
    cluster = pl.Cluster([9.0, 1.0], memory=[4.0, 6.0])
    placement = pl.place(pl.Problem(graph, cluster, memory="reserved"), "critical-path")
    assert placement.device.tolist() == [1, 1]


@pytest.mark.parametrize(
    "name", ["hash", "batch-split", "critical-path", "mite", "dfs", "round-robin", "random", "contiguous"]
)
def test_the_error_says_why_for_each_device(name):
    """The group that fits nowhere is named, with the device it may not use and the bytes the others lack."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b"], [1.0, 1.0], [], memory=[3.0, 4.0], groups=[[0, 1]], group_names=["pair"], devices={1: ["gpu"]}
    )
    cluster = pl.Cluster([1.0] * 3, memory=[100.0, 6.0, 5.0], names=["c", "g0", "g1"], types=["cpu", "gpu", "gpu"])
    with pytest.raises(pl.InfeasibleError) as error:
        pl.place(pl.Problem(graph, cluster, memory="reserved"), name)
    for words in (
        "'pair'",
        "2 ops",
        "'a'",
        "g0 is short by 1 bytes",
        "g1 is short by 2 bytes",
        "c is not allowed",
        "reserved",
    ):
        assert words in str(error.value)
    assert (error.value.op, error.value.group) == ("a", "pair")
    assert list(error.value.devices) == ["g0", "g1", "c"]  # the closest first
    assert error.value.short == {"g0": 1.0, "g1": 2.0}


def test_a_tensor_that_needs_no_time_needs_no_room():
    """`edges`: a → b with 5 bytes on a device of 4 is placed as heft places it; where a has another successor, or b another
    predecessor, there is no room."""
    chain = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=[5.0])
    on = lambda graph, k: pl.Problem(graph, pl.Cluster([1.0] * k, memory=4.0), memory="edges")  # noqa: E731
    static = ("hash", "batch-split", "critical-path", "mite", "dfs", "round-robin", "random", "contiguous", "m-topo")
    for name in (*static, "single", "heft"):
        placement = pl.place(on(chain, 1), name)
        assert pl.simulate(placement.problem, placement, "fifo", oom="raise").makespan == 2.0
    for problem in (pl.Problem(chain, on(chain, 2).cluster, memory="edges", groups=[["a", "b"]]), on(chain, 2)):
        assert len(set(pl.place(problem, "single").device.tolist())) == 1
    assert needs(pl.Problem(chain, on(chain, 2).cluster, memory="edges", groups=[["a", "b"]]))[0].tolist() == [0, 0]
    assert needs(on(chain, 2).pin({"a": 0, "b": 0}))[0].tolist() == [0, 0]
    assert needs(on(chain, 2))[0].tolist() == [0, 5]
    two_readers = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=[5.0] * 2)
    two_makers = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0] * 3, [(0, 2), (1, 2)], edge_bytes=[5.0, 0.0])
    for graph in (two_readers, two_makers):
        with pytest.raises(pl.InfeasibleError):
            pl.place(on(graph, 1), "hash", fallback=False)


def test_an_error_travels_between_processes():
    """Pickling keeps its text and its reasons by device."""
    error = pl.InfeasibleError("no room", op="a", devices={"g": "is short by 1 bytes"}, short={"g": 1.0})
    same = pickle.loads(pickle.dumps(error))
    assert (str(same), same.op, same.devices, same.short) == ("no room", "a", error.devices, {"g": 1.0})


def test_single_says_why_for_each_device():
    """For each device: the op it may not run, or the missing memory."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], memory=[3.0, 4.0], devices={1: ["gpu"]})
    cluster = pl.Cluster([1.0] * 2, memory=[100.0, 6.0], names=["c", "g"], types=["cpu", "gpu"])
    with pytest.raises(pl.InfeasibleError, match=r"c is not allowed for 'b'; g is short by 1 bytes") as error:
        pl.place(pl.Problem(graph, cluster, memory="reserved"), "single")
    assert error.value.short == {"g": 1.0}


def test_a_capacity_met_to_the_byte_is_enough():
    """Sums of bytes are floats: 0.1 + 0.2 fits in 0.3."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], memory=[0.1, 0.2])
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0], memory=[0.3]), memory="reserved"), "single")
    assert placement.device.tolist() == [0, 0]
    assert pl.place(placement.problem, "round-robin").device.tolist() == [0, 0]


def test_needs_are_per_op():
    """edges: inputs; reserved: memory; dynamic: persistent, then temporary and outputs (used or not)."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b"],
        [1, 1],
        [(0, 1)],
        edge_bytes=[5],
        outputs=[(0, 1, 2.0)],
        persistent=[7, 8],
        temporary=[1, 3],
        memory=[9, 4],
    )
    need = lambda model: [n.tolist() for n in needs(pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=99), memory=model))]  # noqa: E731
    assert need("none") == [[0, 0], [0, 0]]
    assert need("edges") == [[0, 5], [0, 0]]
    assert need("reserved") == [[9, 4], [0, 0]]
    assert need("dynamic") == [[7, 8], [8, 3]]
