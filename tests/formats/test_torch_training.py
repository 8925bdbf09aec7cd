"""Forward and backward pass of a PyTorch module, against autograd's own joint graph."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import placelab as pl
from placelab.costs.measuring import profile_module, profile_training
from placelab.formats.torch.module import from_module, from_training, training_program
from placelab.formats.torch.profiler_trace import read_profile
from placelab.strategies.preparing.gradients import backward_part, forward_ops

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
from torch_models import Convolutions, Model, called, images  # noqa: E402


def squared(output):
    """A loss."""
    return output.square().mean()


@pytest.fixture(scope="module", params=["attention", pytest.param("convolutions", marks=pytest.mark.slow)])
def step(request):
    """A module, its arguments, its loss, its program and its graph."""
    torch.manual_seed(0)
    module, args, loss = (
        (Model(), called(), None) if request.param == "attention" else (Convolutions(), images(), squared)
    )
    return module, args, loss, training_program(module, args, loss=loss), from_training(module, args, loss=loss)


def test_one_op_per_call_that_computes(step):
    """All nodes of the joint graph but selected outputs, `detach` and transposed parameters, and all inputs."""
    _, args, _, program, graph = step
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    passing = [n for n in calls if n.target is operator.getitem or str(n.target) == "aten.detach.default"]
    parameters = set(program.parameters)
    views = [
        n
        for n in calls
        if n.target in (torch.ops.aten.t.default, torch.ops.aten.unsqueeze.default) and n.args[0] in parameters
    ]
    again = [n for n in calls if n.target is torch.ops.aten.t.default and n.args[0] in views]
    assert graph.n_ops == len(calls) - len(passing) - len(views) - len(again) + len(args) + 1


def test_every_backward_op_has_its_forward_op(step):
    """By its name, in TensorFlow's form, which is that of a forward op."""
    graph = step[-1]
    forward = forward_ops(step[-1])
    backward = np.array([name.startswith("gradients/") for name in graph.names])
    assert backward.sum() > 10 and (forward[backward] >= 0).all() and (forward[~backward] < 0).all()
    assert not backward[forward[backward]].any()
    assert np.array_equal(backward_part(graph), backward)


def test_pairs_are_those_of_the_modules(step):
    """A backward op belongs to an op of the module that PyTorch names, if it names one."""
    program = step[3]
    graph = step[4]
    forward = forward_ops(step[4])
    from placelab.formats.torch.exported_program import module_path, names_of

    for node, name in names_of(program).items():
        modules = node.meta.get("fwd_nn_module_stack")
        if modules and name.startswith("gradients/"):
            path = next(reversed(modules.values()))[0].replace(".", "/")
            assert str(graph.names[forward[graph.index(name)]]).rpartition("/")[0] == path
            assert module_path(program.forward[node]).replace(".", "/") == path


def test_a_sum_of_gradients_belongs_to_the_op_that_made_the_tensor(step):
    """It has that tensor's size; sums of a parameter's gradients belong to an op that reads the parameter."""
    program = step[3]
    sums = [node for node in program.graph.nodes if node.meta.get("is_gradient_acc")]
    assert sums
    for node in sums:
        made = program.forward[node].meta["val"]
        first = made[0] if isinstance(made, (tuple, list)) else made
        held = [n.meta["val"].shape for n in program.forward[node].all_input_nodes if n in program.parameters]
        assert node.meta["val"].shape == first.shape or node.meta["val"].shape in held


def test_parameters_are_persistent_once(step):
    """So are their buffers; all ops that read a parameter of more than 1 KiB share a device."""
    module = step[0]
    graph = step[-1]
    unread = sum(module.state_dict()[name].nbytes for name, op in graph.metadata["parameters"].items() if not op)
    assert graph.persistent.sum() + unread == sum(
        t.nbytes for t in {id(t): t for t in module.state_dict(keep_vars=True).values()}.values()
    )
    problem = pl.Problem(graph, pl.Cluster.uniform(2, speed=1e12, bandwidth=1e9, latency=0.0))
    for name, holder in graph.metadata["parameters"].items():
        if module.state_dict()[name].nbytes > 1024:
            group = {str(graph.names[v]) for v in problem.members(graph.index(holder))}
            assert any(op.startswith("gradients/") for op in group) or name.startswith(("token", "first"))


def test_flop_are_those_that_pytorch_counts(step):
    """Products and convolutions equal torch.utils.flop_counter, forward and backward; it omits attention on a CPU."""
    from torch.utils.flop_counter import FlopCounterMode

    module, args, loss, _, graph = step
    with FlopCounterMode(display=False) as counter:
        output = module(*args)
        (output if loss is None else loss(output)).backward()
    products = ("mm.", "addmm.", "convolution")
    found = sum(c for kind, c in zip(graph.kind, graph.compute, strict=True) if any(part in kind for part in products))
    assert found == counter.get_total_flops()
    assert graph.metadata["costs"]["unknown"] == {}


def test_activations_are_what_autograd_saves():
    """Bytes seen by `saved_tensors_hooks`, without parameters and inputs, each piece of memory once."""
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4), torch.nn.Tanh())
    x = torch.randn(3, 8)
    saved = {}
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.setdefault(t.data_ptr(), t), lambda t: t):
        module(x).sum().backward()
    known = {x.data_ptr(), *(p.data_ptr() for p in module.parameters())}
    wanted = sum(t.nbytes for address, t in saved.items() if address not in known)
    assert from_training(module, (x,), loss=torch.sum).metadata["activations"] == wanted == 3 * (16 + 4) * 4


def test_the_same_module_gives_the_same_bytes(tmp_path):
    """Autograd's sequence numbers do not matter."""
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for path in files:
        from_training(Convolutions(), images(), loss=squared).save(path)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_tensors_without_data_do():
    """A module of FakeTensors gives the graph of the real one, its shared weights included."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        module = Model()
        args = called()
    assert from_training(module, args).names.tolist() == from_training(Model(), called()).names.tolist()


def test_the_module_is_left_as_it_was():
    """It gets no hook, no gradient, and no change of running statistics."""
    module = Convolutions()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    from_training(module, images(), loss=squared)
    profile_training(module, images(), loss=squared, runs=1, warm_up=0)
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert not module._forward_hooks and all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: from_training(Convolutions(), images()),
            r"returns a tensor of shape \(2, 10\); training needs one number",
        ),
        (
            lambda: from_training(Convolutions(), images(), loss=lambda y: y.argmax()),
            r"returns a tensor of shape \(\); training",
        ),
        (lambda: from_training(3, ()), "expected a torch.nn.Module, found a int"),
        (lambda: from_training(Convolutions(), images(), loss=3), "cannot trace Convolutions"),
        (lambda: profile_module(Convolutions(), images(), runs=0), "runs is 0; expected a whole number, 1 or more"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(make, says):
    """The module keeps no hook."""
    with pytest.raises(pl.PlacelabError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


# -------------------------------------------------------------------------------------------- measuring


def test_every_op_is_measured(step, tmp_path):
    """All but inputs; reading the saved trace gives the same seconds, with and without the graph."""
    module, args, loss, _, graph = step
    profile = profile_training(module, args, loss=loss, runs=3, trace=tmp_path / "trace.json.gz")
    assert set(profile.seconds) == {name for name, kind in zip(graph.names, graph.kind, strict=True) if kind != "input"}
    assert all(seconds > 0 for seconds in profile.seconds.values()) and set(profile.device.values()) == {"cpu"}
    for graph_or_none in (graph, None):
        assert read_profile(tmp_path / "trace.json.gz", graph=graph_or_none).seconds == profile.seconds


def test_processor_time_is_another_measure(step):
    """It measures the same ops, needs one thread and leaves no trace."""
    module, args, loss, _, graph = step
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        profile = profile_training(module, args, loss=loss, runs=2, processor=True)
        torch.set_num_threads(2)
        with pytest.raises(pl.UnsupportedError, match="processor time has no trace"):
            profile_training(module, args, loss=loss, processor=True)
    finally:
        torch.set_num_threads(threads)
    assert set(profile.seconds) == {name for name, kind in zip(graph.names, graph.kind, strict=True) if kind != "input"}
    assert all(seconds > 0 for seconds in profile.seconds.values())


def test_the_forward_pass_is_measured():
    """Names are those of from_module."""
    graph = from_module(Model(), called())
    assert set(profile_module(Model(), called(), runs=1).seconds) == set(graph.names) - {"tokens", "targets"}


def test_a_foreign_trace_fits_by_kinds_and_order(tmp_path):
    """A profile of eager PyTorch: the products of three steps are matched to their ops."""
    module = Convolutions()
    args = images()
    graph = from_training(module, args, loss=squared)
    with torch.profiler.profile() as profiler:
        for _ in range(3):
            squared(module(*args)).backward()
    profiler.export_chrome_trace(str(tmp_path / "eager.json"))
    profile = read_profile(tmp_path / "eager.json", graph=graph)
    heavy = {str(n) for n, k in zip(graph.names, graph.kind, strict=True) if "convolution" in k or "addmm" in k}
    assert heavy <= set(profile.seconds) <= set(graph.names)
    total = sum(e.cpu_time_total for e in profiler.key_averages() if e.key == "aten::convolution") / 3 * 1e-6
    forward = sum(s for name, s in profile.seconds.items() if name.endswith("convolution"))
    assert 0 < forward < 3 * total
    with pytest.raises(
        pl.FormatError, match=r"does not fit Model training: it ran aten::\w+ \d+ times, and the graph has \d+"
    ):
        read_profile(tmp_path / "eager.json", graph=from_training(Model(), called()))


def test_tensors_without_data_cannot_be_measured():
    """The error is one sentence."""
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        module = Convolutions()
        args = images()
    with pytest.raises(pl.UnsupportedError, match="measuring needs a module that can run"):
        profile_training(module, args, loss=squared)


@pytest.mark.parametrize(("dtype", "precision"), [("float32", None), ("bfloat16", "bfloat16"), ("float64", None)])
def test_weights_of_16_bits_run_at_that_speed(dtype, precision):
    """Estimates assume the model's products in its type; float64 has no peak of its own in the specs."""
    model = torch.nn.Linear(8, 4).to(getattr(torch, dtype))
    batch = torch.zeros(2, 8, dtype=getattr(torch, dtype))
    graph = from_training(model, (batch,), loss=lambda output: output.float().sum())
    assert graph.metadata["costs"].get("precision") == precision
    h100 = pl.costs.specs()["h100"].matmul[precision or "float32"]
    assert pl.costs.estimate(graph, "h100").metadata["costs"]["columns"]["h100"]["matmul"] == h100
