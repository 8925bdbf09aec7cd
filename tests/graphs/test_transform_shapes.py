"""Transforms keep the shape of a tensor that they copy, and have none for what they make or change."""

from __future__ import annotations

import re

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from problems import placed

import placelab as pl
from placelab.problem.graph import OpGraph
from placelab.strategies.preparing.contraction import contract
from placelab.strategies.preparing.forward_pass import forward_only


def named(graph: OpGraph, known: bool) -> OpGraph:
    """The graph with a shape for each tensor by which it is told from all others, whose bytes agree, or follow from none."""
    size = np.where(graph.tensor_control, 0.0, 8.0 + np.arange(graph.n_tensors))
    local = np.arange(graph.n_tensors) - graph.op_tensor_ptr[graph.tensor_producer]
    shapes = {
        (int(v), int(k)): f"uint8 [{8 + t}]" if known else f"string [{8 + t}, ?]"
        for t, (v, k) in enumerate(zip(graph.tensor_producer, local, strict=True))
        if not graph.tensor_control[t]
    }
    read = np.zeros(graph.n_tensors, bool)
    read[graph.edge_tensor] = True
    made = OpGraph.from_arrays(
        graph.names,
        np.nan_to_num(graph.compute),
        graph.edges,
        edge_bytes=size[graph.edge_tensor],
        edge_output=local[graph.edge_tensor],
        edge_control=graph.tensor_control[graph.edge_tensor],
        outputs=[
            (int(graph.tensor_producer[t]), int(local[t]), float(size[t]))
            for t in np.flatnonzero(~read & ~graph.tensor_control)
        ],
        shapes=shapes,
        persistent=graph.persistent,
    )
    assert [made.shape_of(t) is None for t in range(made.n_tensors)] == made.tensor_control.tolist()
    return made


def check(made: OpGraph, origin: OpGraph) -> int:
    """Each shape is at a tensor of its bytes, made by the op or a copy of it; the number of tensors that have one."""
    found = [t for t in range(made.n_tensors) if made.shape_of(t)]
    for t in found:
        was = int(re.search(r"\d+(?=[],])", made.shape_of(t))[0]) - 8
        maker = origin.names[origin.tensor_producer[was]]
        assert origin.shape_of(was) == made.shape_of(t)
        assert made.tensor_bytes[t] == origin.tensor_bytes[was], (maker, made.names[made.tensor_producer[t]])
    return len(found)


def all_have(made: OpGraph, origin: OpGraph) -> None:
    """Every tensor of the graph is one of the other, and has its shape."""
    assert check(made, origin) == int((~made.tensor_control).sum())


@examples(60)
@given(placed(ops=9))
def test_no_tensor_gets_a_shape_of_another(placement):
    """All transforms that copy ops, on random graphs: bytes and maker are those of the tensor that has the shape."""
    problem = placement.problem
    for known in (True, False):
        graph = named(problem.graph, known)
        plain = pl.Problem(graph, problem.cluster)
        total = int((~graph.tensor_control).sum())
        assert check(pl.transforms.backward(graph), graph) == total
        assert check(pl.transforms.backward(graph, forward=False), graph) == 0
        assert check(pl.transforms.checkpoint_nodes(plain, disk=1.0).graph, graph) == total
        block = np.minimum(np.arange(graph.n_ops), placement.device)
        for merge in (np.arange(graph.n_ops), block):
            try:
                small, _ = contract(plain, merge, "test")
            except pl.PlacelabError:
                continue
            all_have(small.graph, graph)
        steps = pl.Problem(pl.transforms.backward(graph), pl.Cluster([1.0]), memory="none")
        forward, _ = forward_only(steps)
        assert forward.graph.n_ops == graph.n_ops
        all_have(forward.graph, graph)
        for part in pl.transforms.send_recv(plain, pl.Placement(plain, placement.device)).values():
            all_have(part, graph)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.filterwarnings("ignore:a control edge carries no bytes")
def test_copies_for_other_samples_have_no_shape(known):
    """A worker of the mean number of samples has the shapes of the model; others only those of what parameters send."""
    graph = named(pl.load("convolutional_network"), known)
    made = pl.transforms.model_replica(graph, 3, samples=[2.0, 1.0, 3.0])
    assert check(made, graph) > 100
    workers = {
        made.names[made.tensor_producer[t]].partition("/w")[2][:1] for t in np.flatnonzero(made.tensor_shape >= 0)
    }
    assert workers == {"0", ""}  # the reads of parameters are no worker's


def test_sent_tensors_keep_their_shape():
    """A Receive op hands the tensor on."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b"], [1, 1], [(0, 1)], edge_bytes=[8.0], edge_output=[0], shapes={(0, 0): "int8 [8]"}
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], names=["x", "y"]))
    parts = pl.transforms.send_recv(problem, pl.Placement(problem, [0, 1]))
    assert [part.shapes_of(0) for part in parts.values()] == [["int8 [8]"]] * 2


def test_what_is_cut_or_folded_has_none():
    """Micro-batches are parts of tensors."""
    graph = named(pl.OpGraph.from_arrays(["a", "b", "c"], [4.0] * 3, [(0, 1), (1, 2)], edge_bytes=8.0), True)
    problem = pl.Problem(pl.transforms.backward(graph), pl.Cluster([1.0, 1.0], bandwidth=8.0))
    made = pl.transforms.microbatches(pl.Placement(problem, [0, 0, 1, 1, 0, 0]), 2)
    assert made.graph.tensor_shape is None
