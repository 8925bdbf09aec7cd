"""layers: ops of one named layer stay together, and layers follow each other."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.planning.ranks import mean_exec, relative_speed


def model(layers=8, ops=5, devices=4):
    """A model of layers of ops of 1 s, behind an embedding and before a projection, with its backward pass."""
    forward = ["embed/lookup", *(f"layer_{i}/op_{j}" for i in range(layers) for j in range(ops)), "project/matmul"]
    n = len(forward)
    names = [*forward, *(f"gradients/{name}_grad/mul" for name in forward[::-1])]
    edges = [(v, v + 1) for v in range(2 * n - 1)] + [(v, 2 * n - 1 - v) for v in range(n - 1)]
    work = [0.1 if name.split("/")[0] in ("embed", "project") else 1.0 for name in forward]
    graph = pl.OpGraph.from_arrays(names, work + work[::-1], edges, edge_bytes=np.ones(len(edges)))
    return pl.Problem(graph, pl.Cluster([1.0] * devices, bandwidth=10.0))


def devices_of(placement, scope):
    """Devices of the ops of a scope and of their gradients."""
    names = placement.problem.graph.names
    inside = [name.removeprefix("gradients/").startswith(f"{scope}/") for name in names]
    return sorted(set(placement.device[inside].tolist()))


def test_two_layers_on_each_of_four_devices():
    """Layers in order, forward and backward of one on one device, embedding first, projection last."""
    placement = pl.place(model(), "layers")
    assert [devices_of(placement, f"layer_{i}") for i in range(8)] == [[0], [0], [1], [1], [2], [2], [3], [3]]
    assert devices_of(placement, "embed") == [0] and devices_of(placement, "project") == [3]


def test_the_order_is_the_models_not_that_of_the_names_or_the_file():
    """Weights that the file lists first go with the layer that reads them."""
    names = ["weights_1", "weights_2", "a/matmul", "b/matmul"]
    graph = pl.OpGraph.from_arrays(names, [0.1, 0.1, 1.0, 1.0], [(2, 3), (0, 2), (1, 3)], edge_bytes=[1.0] * 3)
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0)), "layers")
    assert placement.to_mapping() == {"weights_1": "dev0", "a/matmul": "dev0", "weights_2": "dev1", "b/matmul": "dev1"}


def test_depth_names_the_layer():
    """The same model split by its outer blocks, or by its layers."""
    names = [f"block_{i // 3}/layer_{i % 3}/op_{j}" for i in range(6) for j in range(2)]
    graph = pl.OpGraph.from_arrays(names, [1.0] * 12, [(v, v + 1) for v in range(11)], edge_bytes=[1.0] * 11)
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0))
    assert pl.place(problem, "layers", depth=1).device.tolist() == [0] * 6 + [2] * 6
    for depth in (0, 2):  # a block is more than a third of the work: opened
        assert pl.place(problem, "layers", depth=depth).device.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    with pytest.raises(pl.UnsupportedError, match="depth is -1"):
        pl.place(problem, "layers", depth=-1)


def test_without_scopes_every_op_is_a_layer():
    """The result is `contiguous` along the upward rank, the same on a chain."""
    graph = pl.OpGraph.from_arrays(list("abcdefgh"), [1.0] * 8, [(v, v + 1) for v in range(7)])
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0, 1.0]))
    assert (pl.place(problem, "layers").device == pl.place(problem, "contiguous").device).all()


@pytest.mark.parametrize("network", ["convolutional_network", "recurrent_network", "dynamic_rnn"])
def test_a_network_is_balanced_and_moves_less_than_in_pieces(network):
    """Each device has at most twice its share, and fewer bytes are sent than with `contiguous`."""
    problem = pl.Problem(pl.load(network), pl.clusters.pcie_box())
    share = relative_speed(problem) / relative_speed(problem).sum()
    placement = pl.place(problem, "layers")
    cut = pl.place(problem, "contiguous")
    load = np.bincount(placement.device, mean_exec(problem), minlength=len(share)) / mean_exec(problem).sum()
    assert (load <= 2 * share).all()
    moved = [pl.metrics(pl.simulate(problem, p, "fifo"))["bytes_moved"] for p in (placement, cut)]
    assert moved[0] < moved[1]


def test_a_group_a_pin_and_a_full_device_are_respected():
    """A group follows its first op's layer; a layer that does not fit goes to the next device."""
    problem = model(layers=4, ops=2, devices=2).replace(groups=[["layer_0/op_0", "layer_3/op_0"]])
    placement = pl.place(problem.pin({"layer_1/op_1": "dev1"}), "layers")
    where = placement.to_mapping()
    assert where["layer_3/op_0"] == where["layer_0/op_0"] == where["layer_0/op_1"] == "dev0"
    assert where["layer_1/op_1"] == "dev1" and where["layer_1/op_0"] == "dev0"
    graph = pl.OpGraph.from_arrays(["a/x", "a/y", "b/z"], [1.0, 1.0, 2.0], [(0, 1), (1, 2)], memory=[3.0, 3.0, 1.0])
    tight = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[4.0, 4.0]), memory="reserved")
    trace = pl.place(tight, "layers", trace=True).trace
    assert trace.device.tolist() == [0, 1, 1] and trace.reason.tolist() == [0, 1, 0]
