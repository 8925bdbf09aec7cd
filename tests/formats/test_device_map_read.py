"""Device maps of PyTorch modules as placements."""

from __future__ import annotations

import json
import warnings

import pytest

import placelab as pl
from placelab.formats.torch.device_map import device_map

CLUSTER = pl.Cluster([1, 1, 1], bandwidth=1.0, latency=0.0, names=["host cpu", "a", "b"])
NAMES = ["input", "0/addmm", "1/relu", "2/addmm", "gradients/2/mm", "gradients/0/mm", "sum", "10/addmm"]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 6), (6, 7)]


@pytest.fixture
def problem():
    """Modules 0, 1, 2 and 10, an input, a sum beside them, gradients of 0 and 2."""
    return pl.Problem(pl.OpGraph.from_arrays(NAMES, [1] * len(NAMES), EDGES, metadata={"parameters": {}}), CLUSTER)


def read(problem, **given):
    return pl.Placement.loads(problem, json.dumps(given).encode())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"0": 0, "1": 0, "2": "cpu", "10": 1}, [1, 1, 1, 0, 0, 1, 0, 2]),
        ({"0": "cuda:0", "1": "cuda", "2": "disk", "10": "cuda:1"}, [1, 1, 1, 0, 0, 1, 0, 2]),
        ({"": 1}, [2] * 8),
        ({"": "cpu", "2": 1}, [0, 0, 0, 2, 2, 0, 0, 0]),
        ({"0": "a", "1": "b", "2": "host cpu", "10": "b"}, [1, 1, 2, 0, 0, 1, 0, 2]),
        ({"": 0, "1/relu": 1}, [1, 1, 2, 1, 1, 1, 1, 1]),
    ],
)
def test_modules_place_their_ops(problem, given, expected):
    """The longest name counts, gradients follow, other ops run where their inputs are, and the input where it is read."""
    assert read(problem, **given).device.tolist() == expected


def test_what_is_left_open_is_said(problem):
    """Ops of no module, modules without ops."""
    notes = read(problem, **{"0": 0, "1": 0, "2": 0, "10": 0, "dropout": 1}).notes
    assert notes == (
        "2 ops are in no module of the map: they run where their inputs are",
        "1 modules of the map have no op of their own: 'dropout'",
    )


def test_other_names_of_ops_have_the_same_modules():
    """ONNX and TensorFlow join modules with slashes; a name that only begins alike is another module."""
    names = ["/model/layers.1/mlp/MatMul", "/model/layers.10/mlp/MatMul", "/model/layers.1/norm/Mul"]
    graph = pl.OpGraph.from_arrays(names, [1] * 3, [(0, 1), (1, 2)])
    placed = read(
        pl.Problem(graph, CLUSTER), **{"model.layers.1": 0, "model.layers.10": 1, "model.layers.1.norm": "cpu"}
    )
    assert dict(zip(names, placed.to_mapping().values(), strict=True))[names[0]] == "a"
    assert [placed.to_mapping()[name] for name in names] == ["a", "b", "host cpu"]


def test_a_map_that_is_written_is_read_again(problem):
    """Placements module by module survive the way through the map."""
    placed = pl.Placement(problem, [1, 1, 2, 0, 0, 1, 0, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = read(problem, **device_map(placed))
    assert again.device.tolist()[1:] == placed.device.tolist()[1:]


@pytest.mark.parametrize(
    ("given", "words"), [({"0": "cuda:5"}, "the cluster has 2 devices"), ({"0": 0, "1": "moon"}, "is on 'moon'")]
)
def test_devices_that_are_not_there_are_named(problem, given, words):
    """Numbers beyond the cluster, and names of nothing."""
    with pytest.raises(pl.FormatError, match=words):
        read(problem, **given)
