"""Random costs on a topology."""

import numpy as np
import pytest

from placelab import costs
from placelab.graphs import datasets, generators


@pytest.fixture(scope="module")
def network():
    return datasets.load("convolutional_network")


def test_mayer_draws_whole_numbers_from_1_to_100(network):
    """Both ends included, for operations and for bytes of data tensors."""
    graph = costs.mayer(datasets.load("dynamic_rnn"), seed=0)
    for drawn in (graph.compute, graph.tensor_bytes[~graph.tensor_control]):
        assert set(drawn.tolist()) == set(range(1, 101))
        assert drawn.mean() == pytest.approx(50.5, rel=0.03)


def test_mayer_keeps_the_topology(network):
    """Names, edges, kinds and groups are those of the graph."""
    graph = costs.mayer(network, seed=1)
    for column in ("names", "edge_tensor", "consumer", "kind", "group", "tensor_producer", "tensor_control"):
        assert np.array_equal(getattr(graph, column), getattr(network, column)), column
    assert graph.group_names == network.group_names


def test_mayer_leaves_control_edges_at_zero_bytes(network):
    """Control edges order ops and carry no data."""
    graph = costs.mayer(network)
    assert graph.tensor_control.any()
    assert graph.tensor_bytes[graph.tensor_control].sum() == 0


def test_mayer_forgets_what_was_measured(network):
    """No bytes or seconds of another unit remain beside the drawn costs; ``memory`` is that of the outputs."""
    graph = costs.mayer(network)
    assert graph.persistent.sum() == graph.temporary.sum() == 0
    assert np.array_equal(graph.memory, graph.outputs)
    assert "reference_speed" not in graph.metadata
    timed = costs.mayer(generators.fork_join(3, devices=("a",), heterogeneity=1.0))
    assert timed.time is None
    assert timed.time_types == ()


def test_mayer_is_a_function_of_graph_and_seed(network):
    """Same seed, same costs, whatever the graph's earlier costs; another seed, other costs."""
    assert np.array_equal(
        costs.mayer(network, seed=7).compute, costs.mayer(costs.mayer(network, seed=3), seed=7).compute
    )
    assert np.array_equal(costs.mayer(network, seed=7).tensor_bytes, costs.mayer(network, seed=7).tensor_bytes)
    assert not np.array_equal(costs.mayer(network, seed=7).compute, costs.mayer(network, seed=8).compute)


def test_mayer_costs_survive_a_file(network, tmp_path):
    """Saved and loaded, the drawn costs are the same."""
    from placelab.formats import placelab_json

    graph = costs.mayer(network, seed=2)
    graph.save(tmp_path / "drawn.json.gz")
    again = placelab_json.read(tmp_path / "drawn.json.gz")
    assert np.array_equal(again.compute, graph.compute)
    assert np.array_equal(again.tensor_bytes, graph.tensor_bytes)
    assert again.metadata["costs"] == "mayer, seed 2"
