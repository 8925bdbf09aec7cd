"""Shapes that readers of models give: those that the framework itself says, and the bytes that costs are counted from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import samples
import tensorflow_samples

import placelab as pl
from placelab.formats.tensorflow import graph_def
from placelab.formats.torch import archive
from placelab.formats.xla import hlo_text, stablehlo_text
from placelab.problem.tensor_shapes import shape_bytes


def told(graph: pl.OpGraph) -> dict[str, list[str | None]]:
    """The shapes of what each op makes, by its name."""
    return {name: graph.shapes_of(v) for v, name in enumerate(graph.names.tolist())}


def check(graph: pl.OpGraph) -> None:
    """Each tensor of known bytes has a shape, which has these bytes."""
    assert graph.tensor_shape is not None
    for t in np.flatnonzero(~graph.tensor_control & (graph.tensor_bytes > 0)).tolist():
        shape = graph.shape_of(t)
        assert shape is not None, graph.names[graph.tensor_producer[t]]
        assert shape_bytes(shape) in (None, graph.tensor_bytes[t])


# -------------------------------------------------------------------- real files


@pytest.mark.parametrize("name", ["cond.pt2", "if_v2.pb", "while_v2.pb", "module.hlo.txt", "module.mlir"])
def test_files_of_users(shared_data, name):
    """All that is sent in them has a shape of its bytes."""
    check(pl.load(shared_data("reports") / name))


@pytest.mark.parametrize("name", ["groupnorm_conv.onnx", "loop10.onnx", "matmulnbits.onnx", "scan7.onnx"])
def test_onnx_files_of_users(shared_data, name):
    """All that is sent in them has a shape of its bytes."""
    pytest.importorskip("onnx", reason="onnx is not installed: pip install placelab[onnx]")
    check(pl.load(shared_data("reports") / name))


# -------------------------------------------------------------------- TensorFlow


def test_tensorflow_outputs():
    """With the batch in the place of the first unknown size; references by TensorFlow's name."""
    known = told(graph_def.loads(tensorflow_samples.training(), batch=2))
    assert known["x"] == ["float32 [2, 4]"] and known["w"] == ["float32_ref [4, 8]"]
    assert known["w/read"] == ["float32 [4, 8]"] and known["y"] == ["float32 [2, 8]"]
    assert len(known["parts"]) == 2
    check(graph_def.loads(tensorflow_samples.training()))
    check(graph_def.loads(tensorflow_samples.loop()))


def test_tensorflow_sizes_that_stay_unknown():
    """An unknown size that is no batch is a question mark, and an unknown number of sizes no shape; handles have none."""
    node = tensorflow_samples.node
    data = tensorflow_samples.graph(
        node("a", "Placeholder", types={"dtype": 9}, shapes=[(-1, -1, 3)]),
        node("b", "Placeholder", types={"dtype": 1}, shapes=[None]),
        node("c", "VarHandleOp", types={"dtype": 1}, shape=(2, 3), shapes=[()]),
    )
    assert told(graph_def.loads(data, batch=8)) == {"a": ["int64 [8, ?, 3]"], "b": [None], "c": [None]}
    assert told(graph_def.loads(data, batch=None)) == {"a": ["int64 [?, ?, 3]"], "b": [None], "c": [None]}


# -------------------------------------------------------------------- ONNX

onnx_is_there = pytest.mark.usefixtures("forked_inference")
LIGHT = "squeezenet", "resnet50", "inception_v1", "shufflenet"


@pytest.fixture(scope="module")
def onnx():
    return pytest.importorskip("onnx", reason="onnx is not installed: pip install placelab[onnx]")


def values(graph: pl.OpGraph, model) -> dict[str, str | None]:
    """Value of the model → shape."""
    from placelab.formats.onnx import model_proto

    ops = model_proto._ops(model.graph)
    names = model_proto._names(ops)
    shapes = [graph.shapes_of(graph.index(name)) for name in names]
    return {value: shapes[v][k] for value, (v, k) in ops.producer.items()}


@onnx_is_there
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (i > 0)) for i, name in enumerate(LIGHT)]
)
def test_values_of_onnx_are_those_that_onnx_infers(onnx, name):
    """Every value of a network, by onnx's own inference, in numpy's names of types."""
    from placelab.formats.onnx import model_proto

    path = Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx"
    graph = model_proto.read(path)
    check(graph)
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    mine = values(graph, model)
    compared = 0
    for info in (*model.graph.value_info, *model.graph.output, *model.graph.input):
        tensor = info.type.tensor_type
        sizes = [dim.dim_value for dim in tensor.shape.dim]
        if info.name in mine:
            assert mine[info.name] == f"{onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)} {sizes}", info.name
            compared += 1
    assert compared > 0.9 * len(mine)


@onnx_is_there
def test_onnx_sizes_are_those_that_costs_count(onnx):
    """An open dimension has the given size, or 1."""
    import onnx_models

    from placelab.formats.onnx import model_proto

    data = onnx_models.model(onnx_models.LINEAR).SerializeToString()
    for size, given in ((1, {}), (7, {"batch": 7})):
        graph = model_proto.loads(data, "m.onnx", dimensions=given)
        check(graph)
        assert told(graph)["mm2"] == [f"float32 [{size}, 10]"]


@onnx_is_there
def test_onnx_shapes_that_are_guessed_are_not_shown(onnx):
    """The output of an op of an unknown kind counts as its first input; its shape is unknown, and what follows from it."""
    import onnx_models
    from onnx import TensorProto, helper

    from placelab.formats.onnx import model_proto

    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="known"),
        helper.make_node("Mystery", ["a"], ["b"], name="guessed", domain="strange"),
        helper.make_node("Relu", ["b"], ["c"], name="follows"),
    ]
    model = onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [2, 3])})
    graph = model_proto.loads(model.SerializeToString(), "m.onnx")
    assert graph.metadata["costs"]["kept"] == {"Mystery": 1}
    assert graph.outputs[graph.index("guessed")] == 24
    assert told(graph) == {"x": ["float32 [2, 3]"], "known": ["float32 [2, 3]"], "guessed": [None], "follows": [None]}


def test_names_of_types_in_onnx(onnx):
    """All that the installed onnx has, as numpy calls them; texts are called so."""
    from placelab.formats.onnx.node_proto import NAMES

    types = {kind: name for name, kind in onnx.TensorProto.DataType.items() if kind}
    expected = {kind: str(onnx.helper.tensor_dtype_to_np_dtype(kind)) for kind in types}
    assert {kind: NAMES[kind] for kind in types} == expected | {onnx.TensorProto.STRING: "string"}


# -------------------------------------------------------------------- PyTorch


def test_stored_programs_of_pytorch():
    """Read without PyTorch."""
    graph = archive.loads(samples.torch_archive()[0], "small.pt2")
    check(graph)
    assert told(graph)["x"] == ["int64 [2]"] and told(graph)["head/linear"] == ["float32 [2, 8]"]


def test_traced_programs_of_pytorch(tmp_path):
    """Every output has the shape and type of the program's own tensors, stored or not."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
    from torch_models import Convolutions, Model, called, images

    from placelab.formats.torch.exported_program import names_of
    from placelab.formats.torch.module import program_of

    for module, arguments in ((Model(), called()), (Convolutions().half(), [x.half() for x in images()])):
        program = torch.export.export(module, tuple(arguments))
        torch.export.save(program, tmp_path / "stored.pt2")
        live = pl.load(program)
        check(live)
        assert told(pl.load(tmp_path / "stored.pt2")) == told(live)
        for node, name in names_of(program_of(program)).items():
            value = node.meta["val"]
            made = [x for x in (value if isinstance(value, (tuple, list)) else [value]) if x is not None]
            expected = [f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}" for x in made]
            assert told(live)[name] == expected, name


def test_names_of_types_in_stored_programs():
    """All that the installed PyTorch writes."""
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
    from torch._export.serde.serialize import _TORCH_TO_SERIALIZE_DTYPE as WRITTEN

    assert {int(number): archive.KIND[number] for number in WRITTEN.values()} == {
        int(number): str(kind).removeprefix("torch.") for kind, number in WRITTEN.items()
    }


# -------------------------------------------------------------------- XLA


def test_sizes_with_a_bound_are_unknown():
    """A size that is a bound is not the size; an open one is a question mark."""
    text = """HloModule m
    ENTRY e {
      x = f32[<=8,4] parameter(0)
      ROOT y = f32[<=8,4] negate(x)
    }"""
    assert hlo_text.loads(text.encode()).tensor_shape is None
    text = """module { func.func @main(%a: tensor<?x4xbf16>) -> tensor<?x4xbf16> {
      %0 = stablehlo.negate %a : tensor<?x4xbf16>
      return %0 : tensor<?x4xbf16> } }"""
    assert set(stablehlo_text.loads(text.encode()).shapes) == {"bfloat16 [?, 4]"}


@pytest.mark.parametrize("loads", [hlo_text.loads, stablehlo_text.loads], ids=["HLO", "StableHLO"])
def test_texts_of_xla(loads):
    """All that is sent in the samples has a shape of its bytes."""
    for data in samples.hlo_text() if loads is hlo_text.loads else samples.stablehlo_text():
        graph = loads(data)
        if not any("[" in text and "<=" in text for text in data.decode(errors="replace").splitlines()):
            check(graph)


def test_programs_of_jax():
    """Results in the types and sizes that JAX says, in HLO and StableHLO."""
    pytest.importorskip("jax", reason="JAX is not installed: pip install placelab[frameworks]")
    import jax
    import jax_functions

    for name in list(jax_functions.STRAIGHT)[:6]:
        function, *arguments = jax_functions.STRAIGHT[name]
        lowered = jax.jit(function).lower(*arguments)
        results = Counter(f"{x.dtype} {list(x.shape)}" for x in jax.tree.leaves(jax.eval_shape(function, *arguments)))
        for graph in (
            stablehlo_text.loads(lowered.as_text().encode()),
            hlo_text.loads(lowered.as_text(dialect="hlo").encode()),
            hlo_text.loads(lowered.compile().as_text().encode()),
        ):
            check(graph)
            ends = np.flatnonzero(np.diff(graph.succ_ptr) == 0)
            assert results <= Counter(shape for v in ends for shape in graph.shapes_of(v)), name
            given = Counter(f"{x.dtype} {list(np.shape(x))}" for x in jax.tree.leaves(arguments))
            inputs = np.flatnonzero(graph.kind == "parameter")
            assert Counter(shape for v in inputs for shape in graph.shapes_of(v)) <= given, name
