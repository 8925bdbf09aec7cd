"""Transforms keep the storages that tensors share, or make graphs whose tensors have their own."""

import json

import numpy as np
import pytest

import placelab as pl
from placelab.app.cli import main
from placelab.formats.python_code import as_code
from placelab.strategies.preparing.contraction import contract


def views():
    """Reads of a weight, a chain of two views of what `a` makes, and an op that has an output in it that nobody reads."""
    return pl.OpGraph.from_arrays(
        ["w/read", "a", "b", "c", "d", "e"],
        [0, 1, 1, 1, 1, 1],
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
        edge_bytes=[4.0, 8.0, 8.0, 2.0, 1.0],
        edge_output=[0, 0, 0, 0, 0],
        edge_storage=[-1, 5, 5, 5, -1],
        outputs=[(5, 1, 8.0, 5)],
        persistent=[4.0, 0, 0, 0, 0, 0],
    )


def shared(graph):
    """Names of the producers of tensors that are in one storage, of each that several are in."""
    if graph.tensor_storage is None:
        return []
    made = graph.names[graph.tensor_producer]
    sets = [sorted(made[graph.tensor_storage == s].tolist()) for s in np.unique(graph.tensor_storage)]
    return sorted(names for names in sets if len(names) > 1)


def test_forward_tensors_keep_theirs_in_a_training_step():
    """Forward tensors share their storage, gradients have their own."""
    assert shared(pl.transforms.backward(views())) == [["a", "b", "c", "e"]]
    assert shared(pl.transforms.backward(views(), forward=False)) == []


@pytest.mark.parametrize("training", [False, True])
def test_each_replica_has_its_own(training):
    """Two workers' copies share a storage each."""
    graph = pl.transforms.model_replica(views(), 2, training=training)
    assert shared(graph) == [[f"it0/w{w}/{v}" for v in "abce"] for w in (0, 1)]


def test_a_view_of_a_parameter_is_in_the_storage_of_its_read():
    """Reads are ops of their own in the replicated graph; a worker's view is in the storage of its read."""
    graph = pl.OpGraph.from_arrays(
        ["w/read", "a", "b"], [0, 1, 1], [(0, 1), (1, 2)], edge_bytes=4.0, edge_storage=[0, 0], persistent=[4.0, 0, 0]
    )
    assert shared(pl.transforms.model_replica(graph, 2)) == [[f"it0/w/read@{w}", f"it0/w{w}/a"] for w in (0, 1)]


def test_saves_and_restores_change_none():
    """The ops that were there have their storages."""
    problem = pl.transforms.checkpoint_nodes(pl.Problem(views(), pl.Cluster([1.0])), disk=1.0)
    assert shared(problem.graph) == [["a", "b", "c", "e"]]


def test_parts_with_sends_share_what_is_made_there():
    """A received tensor has a storage of its own, and so has what is made from it in place."""
    problem = pl.Problem(views(), pl.Cluster([1.0, 1.0], names=["x", "y"]))
    parts = pl.transforms.send_recv(problem, pl.Placement(problem, [0, 0, 0, 1, 1, 1]))
    assert shared(parts["x"]) == [["a", "b"]] and shared(parts["y"]) == [["c", "e"]]


@pytest.mark.parametrize(
    ("block", "left", "temporary"),
    [
        ([0, 1, 1, 1, 4, 5], [["a", "e"]], [0, 8, 0, 0]),  # a, b are inside: once
        ([0, 1, 1, 3, 4, 5], [["a", "c", "e"]], [0, 8, 0, 0, 0]),
        ([0, 1, 2, 3, 4, 4], [["a", "b", "c"]], [0, 0, 0, 0, 9]),
    ],
)
def test_merged_ops_share_what_leaves_them(block, left, temporary):
    """Tensors that leave blocks share their storage still; those inside count once."""
    small, _ = contract(pl.Problem(views(), pl.Cluster([1.0])), np.array(block), "test")
    assert shared(small.graph) == left and small.graph.temporary.tolist() == temporary


def test_a_chain_in_place_fits_where_its_storage_does():
    """1,000 ops on one storage need its bytes, not a thousand times them, when they are one op."""
    n = 1000
    edges = [(v, v + 1) for v in range(n - 1)]
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)], [1.0] * n, edges, edge_bytes=1e9, edge_storage=[0] * (n - 1)
    )
    small, _ = contract(pl.Problem(graph, pl.Cluster([1.0])), np.array([0] * (n - 1) + [1]), "test")
    assert small.graph.temporary.tolist() == [1e9, 0.0]
    other, _ = contract(pl.Problem(graph, pl.Cluster([1.0])), np.array([0] + [1] * (n - 1)), "test")
    assert other.graph.temporary.tolist() == [0.0, 1e9]


def test_code_makes_the_storages_again():
    """The code of a problem has its storages, those of outputs that nobody reads, too."""
    made = {"pl": pl}
    exec(as_code(pl.Problem(views(), pl.Cluster([1.0]))), made)
    assert made["graph"].tensor_storage.tolist() == views().tensor_storage.tolist()
    assert made["graph"].memory.tolist() == views().memory.tolist()


def test_inspect_counts_tensors_in_other_storages(tmp_path, capsys):
    """A line says how many tensors live in another's storage and what that saves; without any there is none."""
    views().save(tmp_path / "views.json")
    main(["inspect", str(tmp_path / "views.json")])
    assert "3 tensors in the storage of another, which saves 18\n" in capsys.readouterr().out
    main(["inspect", str(tmp_path / "views.json"), "--json"])
    tensors = json.loads(capsys.readouterr().out)["tensors"]
    assert (tensors["in_others"], tensors["saved"]) == (3, 18.0)
    pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1)], edge_bytes=8).save(tmp_path / "own.json")
    main(["inspect", str(tmp_path / "own.json")])
    assert "storages" not in capsys.readouterr().out
