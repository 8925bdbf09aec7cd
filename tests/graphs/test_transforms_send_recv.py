"""A placed graph is split into one graph per device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from problems import placed

import placelab as pl
from placelab.graphs.transforms import send_recv
from placelab.planning.lower_bounds import transfers_of


@given(placement=placed())
def test_glued_together_the_parts_are_the_graph(placement):
    """Each op is in its device's part; contracting Send → Receive pairs restores every edge with its bytes, without a cycle."""
    problem = placement.problem
    graph = placement.problem.graph
    parts = send_recv(problem, placement)
    ends = {}
    edges = []
    ops = {}
    for device, part in parts.items():
        for v, name in enumerate(part.names):
            assert name not in ops
            ops[name] = device
            for e in part.pred_edge[part.pred_ptr[v] : part.pred_ptr[v + 1]]:
                edge = (
                    part.names[part.producer[e]],
                    name,
                    part.edge_bytes[e],
                    part.tensor_control[part.edge_tensor[e]],
                )
                edges.append(edge)
                if name.startswith("_Send/"):
                    ends[name.removeprefix("_Send/")] = edge[0]
    for name, device in placement.to_mapping().items():
        assert ops.pop(name) == device
    keys = transfers_of(problem, placement.device)
    assert sorted(ops) == sorted(f"{kind}/{key}" for key in ends for kind in ("_Send", "_Recv")) and len(ends) == len(
        keys[0]
    )
    glued = [
        (ends[u.removeprefix("_Recv/")] if u.startswith("_Recv/") else u, v, size, control)
        for u, v, size, control in edges
        if not v.startswith("_Send/")
    ]
    wanted = zip(
        graph.names[graph.producer],
        graph.names[graph.consumer],
        graph.edge_bytes,
        graph.tensor_control[graph.edge_tensor],
        strict=True,
    )
    assert sorted(glued) == sorted((u, v, size, control) for u, v, size, control in wanted)
    names = [name for part in parts.values() for name in part.names]
    number = {name: i for i, name in enumerate(names)}
    joined = [(number[u], number[v]) for u, v, _, _ in edges]
    joined += [(number[f"_Send/{key}"], number[f"_Recv/{key}"]) for key in ends]
    assert pl.OpGraph.from_arrays(names, 1.0, joined).n_ops == len(names)  # or a CycleError


def test_one_pair_per_tensor_and_destination():
    """Two readers on one device share a Receive; a reader on a third device has its own pair; a control edge has one too."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d", "e"],
        1.0,
        [(0, 1), (0, 2), (0, 3), (0, 4)],
        edge_bytes=[8, 8, 8, 0],
        edge_output=[0, 0, 0, 0],
        edge_control=[False, False, False, True],
    )
    problem = pl.Problem(graph, pl.Cluster([1, 1, 1], names=["x", "y", "z"]))
    parts = send_recv(graph, pl.Placement(problem, [0, 1, 1, 2, 1]))
    assert sorted(parts["x"].names[1:]) == ["_Send/x;y;^a", "_Send/x;y;a:0", "_Send/x;z;a:0"]
    received = parts["y"].names[parts["y"].kind == "_Recv"]
    assert sorted(received) == ["_Recv/x;y;^a", "_Recv/x;y;a:0"]
    assert parts["y"].edge_bytes.sum() == 16 and parts["z"].n_edges == 1
    assert pl.Problem(parts["y"], problem.cluster).allowed["b"] == ("y",)


def test_an_empty_device_has_no_part():
    """Parts contain work only; groups, persistent bytes and unread outputs are kept."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box())
    placement = pl.place(problem, "tf-greedy")
    parts = send_recv(problem.graph, placement)
    assert list(parts) == [problem.cluster.names[d] for d in np.unique(placement.device)]
    for label in ("compute", "persistent", "temporary"):
        total = sum(getattr(part, label).sum() for part in parts.values())
        assert total == pytest.approx(getattr(problem.graph, label).sum())


def test_a_placement_of_another_graph_is_refused():
    """The error names both."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    with pytest.raises(pl.FormatError, match=r"the placement is of .*fork-join 3.*, not of .*fork-join 4"):
        send_recv(pl.generators.fork_join(4), pl.place(problem, "heft"))
