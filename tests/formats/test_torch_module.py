"""Forward passes of PyTorch modules, compared with torch.export and the module itself."""

from __future__ import annotations

import operator
import subprocess
import sys

import numpy as np
import pytest

import placelab as pl
from placelab.formats.torch.module import from_exported, from_module

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
from torch_models import Model, called  # noqa: E402


@pytest.fixture(scope="module")
def exported():
    """The exported program of the model."""
    torch.manual_seed(0)
    return torch.export.export(Model(), called())


@pytest.fixture(scope="module")
def graph(exported):
    """The graph of the model."""
    return from_exported(exported, name="model")


def test_one_op_per_call_and_input(exported, graph):
    """All nodes that compute, without nodes that only select an output, and the two arguments."""
    calls = [n for n in exported.graph.nodes if n.op == "call_function" and n.target is not operator.getitem]
    assert graph.n_ops == len(calls) + 2
    assert sorted(graph.kind) == sorted([*map(str, (n.target for n in calls)), "input", "input"])


def test_edges_are_the_tensors_that_calls_read(exported, graph):
    """Each tensor argument that is no parameter, once per read."""
    computed = {n for n in exported.graph.nodes if n.op == "call_function" or n.name in ("tokens", "targets")}
    reads = [
        arg
        for n in exported.graph.nodes
        if n.op == "call_function" and n.target is not operator.getitem
        for arg in torch.utils._pytree.tree_leaves((n.args, n.kwargs))
        if arg in computed
    ]
    assert graph.n_edges == len(reads)


def test_ops_are_called_by_module_path(graph):
    """Scopes are modules, so that a view can fold them; equal names are numbered."""
    assert {
        "tokens",
        "token/embedding",
        "h/1/qkv/linear",
        "h/0/transpose",
        "h/0/transpose_1",
        "cross_entropy_loss",
    } <= set(graph.names)


def test_bytes_are_those_of_the_tensors(graph):
    """Batch 2, 6 tokens, width 32, 4 bytes; a view has the bytes of its input."""
    made = graph.outputs[[graph.index(name) for name in ("tokens", "h/0/qkv/linear", "h/0/view", "h/0/chunk")]]
    assert made.tolist() == [2 * 6 * 8, 2 * 6 * 96 * 4, 2 * 6 * 96 * 4, 2 * 6 * 96 * 4]


def test_parameters_and_buffers_are_persistent_once(graph):
    """Shared weights count once, at the first op that reads them, and their readers are colocated."""
    model = Model()
    held = sum(t.numel() * t.element_size() for t in [*model.parameters(), *model.buffers()])
    assert graph.persistent.sum() == held
    embedding = graph.index("token/embedding")
    head = graph.index("head/linear")
    assert graph.persistent[[embedding, head]].tolist() == [50 * 32 * 4, 0]
    assert graph.group[embedding] == graph.group[head] >= 0
    assert graph.metadata["parameters"]["head.weight"] == "token/embedding"
    assert set(graph.metadata["parameters"]) == set(model.state_dict())


def test_flop_are_those_that_pytorch_counts(exported, graph):
    """Products equal torch.utils.flop_counter, which omits elementwise ops, and attention on a CPU."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        Model()(*called())
    products = [v for v, kind in enumerate(graph.kind) if "linear" in kind]
    assert graph.compute[products].sum() == counter.get_total_flops()
    assert graph.compute[graph.index("h/0/scaled_dot_product_attention")] == 2 * 2 * (2 * 4 * 6 * 6 * 8)
    assert graph.metadata["costs"] == {"compute": "FLOP", "unknown": {}, "unsized": 0}


def test_a_program_can_be_loaded_as_it_is(exported, graph):
    """A loaded program has estimated seconds."""
    loaded = pl.load(exported)
    assert loaded.names.tolist() == graph.names.tolist() and "h100" in loaded.time_types


def test_the_same_module_gives_the_same_bytes(tmp_path):
    """Names, order and costs do not depend on addresses or on earlier traces."""
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for path in files:
        from_module(Model(), called()).save(path)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_tensors_without_data_do():
    """A module of FakeTensors gives the graph of the real one."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = from_module(Model(), called())
    real = from_module(Model(), called())
    assert fake.names.tolist() == real.names.tolist() and np.array_equal(fake.tensor_bytes, real.tensor_bytes)


def test_sizes_that_may_vary_are_those_of_the_call():
    """With dynamic shapes, bytes and FLOP are those of the traced batch."""
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(torch.nn.Linear(3, 5), (torch.zeros(7, 3),), dynamic_shapes=({0: batch},))
    graph = from_exported(program)
    assert graph.outputs[graph.index("linear")] == 7 * 5 * 4
    assert graph.compute.sum() == 2 * 7 * 3 * 5


class Branching(torch.nn.Module):
    """A module whose control flow depends on values."""

    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: from_module("a module"), pl.FormatError, "expected a torch.nn.Module, found a str"),
        (
            lambda: from_module(torch.nn.Linear, (torch.zeros(1),)),
            pl.FormatError,
            "expected a torch.nn.Module, found a type",
        ),
        (
            lambda: from_module(torch.nn.Linear(2, 2), torch.zeros(1, 2)),
            pl.FormatError,
            "args is a Tensor; expected a tuple",
        ),
        (
            lambda: from_module(torch.nn.Linear(2, 2), (torch.zeros(1, 3),)),
            pl.UnsupportedError,
            "cannot trace Linear: ",
        ),
        (lambda: from_module(Branching(), (torch.zeros(3),)), pl.UnsupportedError, "cannot trace Branching: "),
        (lambda: from_exported(3), pl.FormatError, "expected a torch.export.ExportedProgram, found a int"),
    ],
)
def test_what_cannot_be_traced_is_one_sentence(make, error, says):
    """The error names the class and has the first line of PyTorch's error."""
    with pytest.raises(error, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_without_pytorch_the_sentence_names_the_extra():
    """The check runs in a process that cannot import torch."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from placelab.formats.torch.module import from_module\n"
        "try: from_module(3)\nexcept ValueError as error: print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "UnsupportedError this needs torch, which is not installed: run pip install 'placelab[torch]'\n"
