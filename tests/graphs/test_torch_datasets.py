"""The training graphs of PyTorch models: the files agree with README.md, with the papers, and with their scripts."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import placelab as pl
from placelab.formats.torch.device_map import device_map
from placelab.strategies.preparing.gradients import backward_part, forward_ops

DATASETS = Path(__file__).parents[2] / "datasets"
INT64 = 8
FLOAT32 = 4
BFLOAT16 = 2

# Name: weights, bytes of a weight, bytes of buffers, tokens of a step (images for the convolutional network).
BUILT = {
    "bert_base": (110_106_428, FLOAT32, 512 * INT64, 512),
    "gpt2": (124_439_808, FLOAT32, 1024 * INT64 + 12 * 1024**2, 512),
    "t5_small": (60_506_624, FLOAT32, 0, 1024),
    "resnet50": (25_557_032, FLOAT32, 2 * 26_560 * FLOAT32 + 53 * INT64, 8),
    "llama_8": (168_313_856, FLOAT32, 32 * FLOAT32, 512),
    "llama_7b": (6_738_415_616, BFLOAT16, 64 * BFLOAT16, 2048),
}


@pytest.fixture(scope="module", params=BUILT)
def name(request):
    """Name of a dataset."""
    return request.param


@pytest.fixture(scope="module")
def graph(name):
    """Graph of that dataset."""
    return pl.load(name)


def test_weights_are_as_many_as_published(name, graph):
    """110 million, 124, 60.5, 25.6 and 6.74 thousand; their bytes and those of buffers are persistent, each once."""
    weights, size, buffers, _ = BUILT[name]
    assert graph.metadata["weights"] == weights
    assert graph.persistent.sum() == weights * size + buffers
    holders = {graph.index(op) for op in graph.metadata["parameters"].values()}
    assert set(np.flatnonzero(graph.persistent)) == holders


def test_every_backward_op_has_its_forward_op(graph):
    """By name; no other op follows the backward pass, since there is no optimiser."""
    backward = backward_part(graph)
    forward = forward_ops(graph)
    assert np.array_equal(backward, forward >= 0) and 0.4 < backward.mean() < 0.7
    assert not backward[forward[backward]].any()


def test_readers_of_a_weight_share_a_device(graph):
    """A dense layer and its gradient with respect to its input, also where the weights have two names."""
    problem = pl.Problem(graph, pl.Cluster.uniform(2, speed=1e13, bandwidth=1e10, latency=1e-6))
    held = [
        name for name in graph.metadata["parameters"] if name.endswith(("query.weight", "qkv.weight", "conv1.weight"))
    ]
    for name in held:
        members = problem.members(graph.index(graph.metadata["parameters"][name]))
        assert sum(graph.names[v].startswith("gradients/") for v in members) >= 1
    assert held


def test_flop_are_those_of_the_models(name, graph):
    """Six per weight and token for language models, plus attention and rare words; 3 × 8.2 GFLOP per image for ResNet-50."""
    weights, _, _, tokens = BUILT[name]
    assert graph.metadata["costs"]["unknown"] == {} and graph.metadata["costs"]["unsized"] == 0
    if name == "resnet50":
        assert graph.compute.sum() == pytest.approx(3 * 8.2e9 * tokens, rel=0.03)
    else:
        assert 0.5 < graph.compute.sum() / (6 * weights * tokens) < 1.2


def test_activations_fit_what_is_made(graph):
    """Activations are more than nothing and less than all outputs of forward ops."""
    forward = ~backward_part(graph)
    assert 0 < graph.metadata["activations"] < graph.outputs[forward].sum()


def test_measured_seconds_cover_all_ops(name, graph):
    """All but inputs, with three digits; the model that never ran has none; estimates for two GPUs are everywhere."""
    assert {"rtx2080ti", "h100"} <= set(graph.time_types)
    assert ("cpu" in graph.time_types) == (name != "llama_7b")
    if name != "llama_7b":
        cpu = graph.time[:, graph.time_types.index("cpu")]
        assert np.array_equal(cpu == 0, graph.kind == "input") and 1 < cpu.sum() < 20
        assert all(float(f"{seconds:.3g}") == seconds for seconds in cpu)


def test_they_can_be_placed(graph):
    """On four devices with enough memory the schedule is legal, and the placement can be written as a device map."""
    cluster = pl.Cluster.uniform(4, speed=1e13, memory=64e9, bandwidth=1e10, latency=1e-5)
    problem = pl.Problem(graph, cluster, memory="dynamic")
    schedule = pl.solve(problem, "critical-path", "fifo")
    assert pl.validate(schedule) == []
    with warnings.catch_warnings(action="ignore"):  # modules that are split inside
        entries = device_map(schedule.placement)
    for parameter in graph.metadata["parameters"]:
        assert sum(path in ("", parameter) or parameter.startswith(f"{path}.") for path in entries) == 1


@pytest.mark.slow
def test_the_script_builds_what_is_there(monkeypatch):
    """ResNet-50, rebuilt from tensors without data, has the same ops, tensors, FLOP and groups."""
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
    monkeypatch.syspath_prepend(DATASETS)
    import torch_resnet
    from torch._subclasses import FakeTensorMode

    from placelab.formats.torch.module import from_training

    with FakeTensorMode():
        module = torch_resnet.model()
        batch = torch_resnet.batch(8)
    built = from_training(module, batch)
    there = pl.load("resnet50")
    for column in ("names", "kind", "compute", "persistent", "edges", "tensor_bytes", "group"):
        assert np.array_equal(getattr(built, column), getattr(there, column)), column
