"""Networks of the placement papers, built with TensorFlow: the files agree with README.md and the papers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import placelab as pl
from placelab import costs
from placelab.strategies.preparing.gradients import backward_part, forward_ops, in_backward_scope

FOLDER = Path(__file__).resolve().parents[2] / "datasets"
FORWARD = ("alexnet", "vgg16", "inception_v2", "resnet_v2_152")
TRAINING = ("inception_v3", "gnmt_40", "gnmt_50")
NAMES = FORWARD + TRAINING
MAX_FOLDER = 3_000_000  # bytes

# Trainable parameters. AlexNet with its two towers, and VGG-16's configuration D, as their papers' layers make them;
# ResNet152V2 as Keras counts it; Inception-V3 with both heads as torchvision does, 27,161,264, less the 18,112 scales of
# batch normalisation that TensorFlow's leaves out.
PARAMETERS = {
    "alexnet": 60_965_224,
    "vgg16": 138_357_544,
    "inception_v2": 11_178_336,
    "resnet_v2_152": 60_236_904,
    "inception_v3": 27_161_264 - 18_112,
    "gnmt_40": 70_740_480,
    "gnmt_50": 70_740_480,
}
NO_BYTES = {"VariableV2", "FusedBatchNormV3", "Const"}  # references, scratch of no known shape, shapes of scalars
# Two per multiplication.
GFLOP_OF_AN_IMAGE = {
    "alexnet": 1.45,
    "vgg16": 30.9,
    "inception_v2": 4.0,
    "resnet_v2_152": 22.6,
}


def variables(graph: pl.OpGraph) -> list[int]:
    """Trainable variables: no moving averages, no slots of the optimiser."""
    held = np.flatnonzero(graph.kind == "VariableV2")
    return [v for v in held if not re.search(r"/(moving_\w+|RMSProp(_1)?)$", graph.names[v])]


def activations(graph: pl.OpGraph) -> float:
    """Bytes of the outputs of forward ops, without constants and reads of variables."""
    reads = set(graph.consumer[graph.kind[graph.producer] == "VariableV2"].tolist())
    constant = (graph.kind == "Const") | np.isin(np.arange(graph.n_ops), sorted(reads))
    return float(graph.outputs[~backward_part(graph) & ~constant].sum())


def row(name: str) -> list[str]:
    """README.md's row of a dataset, cell by cell."""
    found = re.search(rf"^\| `{name}` \|(.*)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert found, f"README.md has no row for {name}"
    return [cell.strip() for cell in found[1].split("|")]


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_says_what_the_file_holds(name):
    """Ops, edges, degree, colocated ops, parameters, persistent bytes, activations, outputs, operations, seconds."""
    graph = pl.load(name)
    cpu = graph.time[:, graph.time_types.index("cpu")]
    expected = [
        f"{graph.n_ops:,}",
        f"{graph.n_edges:,}",
        f"{graph.n_edges / graph.n_ops:.2f}",
        f"{(graph.group >= 0).sum() - len(graph.group_names):,}",
        f"{graph.persistent[variables(graph)].sum() / 1e6:.1f} MB",
        f"{graph.persistent.sum() / 1e6:.1f} MB",
        f"{activations(graph) / 1e9:.2f} GB",
        f"{graph.outputs.sum() / 1e9:.2f} GB",
        f"{graph.compute.sum() / 1e9:,.0f} GFLOP",
        f"{cpu.sum():.1f} s",
    ]
    assert row(name)[: len(expected)] == expected


def test_all_datasets_together_are_small():
    """The datasets that come with placelab stay under 3 MB."""
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json.gz")) < MAX_FOLDER


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_published(name):
    """Exactly: four bytes each, held by the variables."""
    graph = pl.load(name)
    assert graph.persistent[variables(graph)].sum() == 4 * PARAMETERS[name]


def test_parameters_of_gnmt_follow_from_its_layers():
    """Two embeddings, five encoder layers, four decoder layers that also read the context, attention, projection."""
    layer = lambda inputs: (inputs + 512) * 4 * 512 + 4 * 512  # noqa: E731
    encoder = 2 * layer(512) + layer(1024) + 2 * layer(512)
    attention = 2 * 512 * 512 + 512
    assert PARAMETERS["gnmt_50"] == 3 * 30_000 * 512 + encoder + 4 * layer(1024) + attention


@pytest.mark.parametrize("name", FORWARD)
def test_forward_graphs_mark_every_parameter(name):
    """An op has persistent bytes if and only if it is a variable with a read in its own group."""
    graph = pl.load(name)
    held = np.flatnonzero(graph.persistent)
    assert set(graph.kind[held]) == {"VariableV2"} and (graph.kind == "VariableV2").sum() == len(held)
    for v in held:
        (read,) = graph.consumer[graph.producer == v]
        assert graph.names[read] == f"{graph.names[v]}/read" and graph.group[read] == graph.group[v] >= 0
        assert graph.outputs[v] == 0 and graph.outputs[read] == graph.persistent[v]


@pytest.mark.parametrize("name", sorted(GFLOP_OF_AN_IMAGE))
def test_operations_of_a_forward_pass_are_those_known(name):
    """Twice the multiplications of the papers, within a twentieth."""
    batch = {"alexnet": 128}.get(name, 32)
    assert pl.load(name).compute.sum() / batch == pytest.approx(1e9 * GFLOP_OF_AN_IMAGE[name], rel=0.05)


def test_training_takes_three_times_the_forward_pass():
    """Inception-V3: twice 5.7 billion multiplications per image, once forward and twice backward."""
    assert pl.load("inception_v3").compute.sum() / 32 == pytest.approx(3 * 2 * 5.7e9, rel=0.05)


@pytest.mark.parametrize("name", TRAINING)
def test_every_gradient_op_has_its_forward_op(name):
    """All ops in a scope ``…_grad`` have a forward op; the other backward ops only sum or start gradients."""
    graph = pl.load(name)
    forward = forward_ops(graph)
    backward = in_backward_scope(graph)
    paired = forward >= 0
    of_one = np.array(["_grad/" in op for op in graph.names]) & backward
    assert paired[of_one].all()
    assert not backward[forward[paired]].any()
    assert set(graph.kind[backward & ~paired]) <= {"AddN", "Const", "Fill"}
    assert paired.sum() > 0.9 * backward.sum() > 1000


@pytest.mark.parametrize("name", FORWARD)
def test_forward_graphs_have_no_backward_ops(name):
    """Forward graphs end with the loss."""
    graph = pl.load(name)
    assert not backward_part(graph).any()
    assert graph.names[graph.n_ops - 1].startswith("loss/")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_what_the_step_needs_is_in_it(name):
    """No initialiser, saver or summary; sent tensors have their bytes, computing kinds their FLOP."""
    graph = pl.load(name)
    assert not {"Assign", "SaveV2", "RestoreV2", "MergeSummary"} & set(graph.kind)
    assert graph.metadata["costs"]["unknown"] == {}
    data = ~graph.tensor_control
    used = np.diff(graph.tensor_ptr) > 0
    nothing = data & used & (graph.tensor_bytes == 0)
    assert set(graph.kind[graph.tensor_producer[nothing]]) <= NO_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_estimates_stand_beside_what_was_measured(name):
    """Seconds for two GPUs, at least the launch time for each op, and measured seconds of one CPU core."""
    graph = pl.load(name)
    assert set(graph.time_types) >= {"cpu", "rtx2080ti", "h100"}
    cpu = graph.time[:, graph.time_types.index("cpu")]
    assert set(graph.kind[cpu == 0]) <= {"Placeholder"}
    ti, h100 = (graph.time[:, graph.time_types.index(kind)] for kind in ("rtx2080ti", "h100"))
    assert ti.sum() > h100.sum() > 0


@pytest.mark.parametrize(("name", "fits"), [("inception_v3", True), ("gnmt_50", False)])
def test_memory_is_short_where_the_paper_says_so(name, fits):
    """Baechi (2020): 4 GB hold a step of Inception-V3, whose ops add up to much more, and not one of GNMT of 50 words."""
    graph = pl.load(name)
    problem = pl.Problem(graph, costs.cluster("rtx2080ti", 1).replace(memory=[4e9]), memory="dynamic")
    alone = pl.place(problem.replace(memory="none"), "single")
    assert graph.memory.sum() > 3 * 4e9
    assert (len(pl.simulate(problem, alone, "fifo").oom) == 0) == fits


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name.startswith("gnmt"))) for name in TRAINING]
)
def test_the_readme_says_what_baechis_steps_take(name):
    """One GPU, m-etf, m-sct and m-topo with memory unlimited; m-topo within 8 GB under dynamic."""
    graph = costs.estimate(pl.load(name), ["rtx2080"])
    prepare = ("forward-only", "coplace", "fuse")
    free = pl.Problem(graph, costs.cluster("rtx2080", 4, link="pcie3"), memory="none", transfers="sequential")
    within = free.replace(memory="dynamic")

    def seconds(problem, strategy, prepare=prepare):
        return f"{pl.solve(problem, strategy, 'fifo', prepare=prepare).makespan:.3f}"

    text = (FOLDER / "README.md").read_text()
    printed = re.findall(rf"^\| `{name}` \| (.*) \|$", text, re.MULTILINE)[-1].split(" | ")
    ours = [seconds(free, "single", ()), *(seconds(free, strategy) for strategy in ("m-etf", "m-sct", "m-topo"))]
    assert [cell.split()[0] for cell in printed[:4]] == ours
    dynamic = re.search(r"it takes ([\d.]+), ([\d.]+) and\s([\d.]+) s\.", text)
    assert dynamic and dynamic[1 + TRAINING.index(name)] == seconds(within, "m-topo")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alexnet", "vgg16", "inception_v2"])
def test_the_scripts_build_the_graph_that_is_committed(name):
    """TensorFlow counts the same ops, inputs and parameters in the step that the script builds."""
    if find_spec("tensorflow") is None or find_spec("tf_keras") is None:
        pytest.skip("TensorFlow and tf_keras are not installed: the networks cannot be built again")
    script = (
        f"import sys, json; sys.path.insert(0, {str(FOLDER)!r}); import hashemi_models as h, tensorflow_profiling as p\n"
        f"with p.tf.Graph().as_default() as graph: network = h.NETWORKS[{name!r}](p.np.random.default_rng(0))\n"
        "step = p.step_of(graph, network)\n"
        "held = sum(v.shape.num_elements() * 4 for v in graph.get_collection('trainable_variables'))\n"
        "print(json.dumps([sorted(n.name for n in step.node), sum(len(n.input) for n in step.node), held]))\n"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=600)
    ops, inputs, held = json.loads(printed.stdout.splitlines()[-1])
    graph = pl.load(name)
    assert sorted(graph.names) == ops
    assert (graph.n_edges, graph.persistent.sum()) == (inputs, held)
