"""ONNX models: graphs agree with onnx's own loader and shape inference, and hostile files are refused."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import fuzz
import numpy as np
import pytest
from chakra_files import varint

import placelab as pl
from placelab.formats.onnx import model_proto, node_proto, shape_inference

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import onnx_models  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
SUITES = sorted((Path(onnx.__file__).parent / "backend/test/data").glob("[rps]*/*/model.onnx"))

# name: operations of one image from its publication or torchvision (multiply and add counted as two), parameters [MB]
PUBLISHED = {
    "light_densenet121": (5.7e9, 32.3e6),  # 2 × 2.87 G, 8.0 M parameters and the statistics of its normalisations
    "light_inception_v1": (3.0e9, 28.0e6),  # 2 × 1.5 G, 7.0 M
    "light_resnet50": (8.2e9, 102.4e6),  # 2 × 4.1 G, 25.6 M
    "light_squeezenet": (0.70e9, 4.94e6),  # version 1.1: 2 × 0.35 G, 1.24 M
    "light_vgg19": (39.3e9, 574.7e6),  # 2 × 19.6 G, 143.7 M
    "light_bvlc_alexnet": (1.43e9, 243.9e6),  # 2 × 0.714 G at 227 × 227 pixels, here 224 × 224; 61.0 M
}


def loaded(model, **options):
    return model_proto.loads(model.SerializeToString(), "m.onnx", **options)


def ops(graph):
    return dict(zip(graph.names.tolist(), graph.kind.tolist(), strict=True))


def column(graph, values):
    return dict(zip(graph.names.tolist(), values.tolist(), strict=True))


@pytest.fixture
def without_inference(monkeypatch):
    """Shapes as the file has them: for tests that read thousands of models."""
    monkeypatch.setattr(model_proto, "inferred", lambda model, functions: (model, ""))


# -------------------------------------------------------------------- real models


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
@pytest.mark.usefixtures("forked_inference")
def test_ops_and_edges_are_those_of_the_file(path):
    """An op per input and per node that depends on one, an edge per input of a node that another op computes."""
    graph = model_proto.read(path)
    proto = onnx.load(path).graph
    alive = {info.name for info in proto.input} - {tensor.name for tensor in proto.initializer}
    inputs = len(alive)
    kept = []
    for node in proto.node:
        if alive & set(node.input):
            kept.append(node)
            alive |= set(node.output)
    assert graph.n_ops == inputs + len(kept)
    assert graph.n_edges == sum(name in alive for node in kept for name in node.input)
    assert sorted(graph.kind) == sorted([node.op_type for node in kept] + ["Input"] * inputs)
    assert graph.metadata["costs"]["folded"] == len(proto.node) - len(kept)


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
@pytest.mark.usefixtures("forked_inference")
def test_bytes_are_those_of_the_inferred_shapes(path):
    """Outputs have the sizes of onnx's own inference; only masks of dropout have none."""
    graph = model_proto.read(path)
    proto = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True).graph
    expected = {}
    for info in (*proto.value_info, *proto.output):
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            expected[info.name] = 4.0 * np.prod([dim.dim_value for dim in info.type.tensor_type.shape.dim])
    total = column(graph, graph.outputs)
    named = {node_proto.op_name(node.name): node for node in proto.node if node.name}
    checked = [total[name] == sum(expected.get(x, 0.0) for x in named[name].output) for name in total if name in named]
    assert all(checked) and len(checked) > graph.n_ops - 5
    assert graph.metadata["costs"]["unsized"] == sum(node.op_type == "Dropout" for node in proto.node)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.usefixtures("forked_inference")
def test_operations_and_parameters_are_the_published_ones(name):
    """Within 10 %; each parameter counts once; a value computed from initializers alone is a parameter."""
    graph = model_proto.read(next(path for path in LIGHT if path.stem == name))
    operations, parameters = PUBLISHED[name]
    assert graph.compute.sum() == pytest.approx(operations, rel=0.1)
    assert graph.persistent.sum() == pytest.approx(parameters, rel=0.02)
    assert graph.metadata["costs"]["unknown"] == {}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.parent.name)
@pytest.mark.usefixtures("forked_inference")
def test_models_of_onnx_own_suites_load(path, without_inference):
    """Operators as PyTorch exported them, sequences, sparse tensors, quantised types: one op per node at most."""
    graph = model_proto.read(path)
    proto = onnx.load(path).graph
    assert 0 < graph.n_ops <= len(proto.node) + len(proto.input)


# -------------------------------------------------------------------- what a graph is


def test_inputs_nodes_and_parameters():
    """Names, kinds, bytes, operations and parameters of two layers."""
    graph = loaded(onnx_models.model(onnx_models.LINEAR))
    assert ops(graph) == {"x": "Input", "mm1": "MatMul", "add": "Add", "relu": "Relu", "mm2": "MatMul"}
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert graph.tensor_bytes.tolist() == [512, 256, 256, 256, 40]
    assert column(graph, graph.persistent) == {"x": 0, "mm1": 32768, "add": 256, "relu": 0, "mm2": 2560}
    assert column(graph, graph.compute) == {"x": 0, "mm1": 2 * 128 * 64, "add": 64, "relu": 64, "mm2": 2 * 64 * 10}
    assert graph.metadata["name"] == "two_layers"
    assert graph.metadata["costs"] == {
        "compute": "FLOP",
        "unknown": {},
        "unsized": 0,
        "assumed": {"batch": 1},
        "folded": 0,
    }


def test_open_dimensions_are_given_or_one():
    """Unknown dimensions are given by name, else 1; the graph lists them."""
    model = onnx_models.model(onnx_models.LINEAR)
    graph = loaded(model, dimensions={"batch": 32})
    assert graph.metadata["costs"]["assumed"] == {"batch": 32}
    assert graph.tensor_bytes.tolist() == [32 * size for size in loaded(model).tensor_bytes.tolist()]
    nameless = onnx_models.built([helper.make_node("Relu", ["x"], ["y"])], {"x": (TensorProto.FLOAT, [None, 3])})
    assert loaded(nameless, dimensions={"x[0]": 5}).tensor_bytes.tolist() == [60, 60]


@pytest.mark.parametrize(
    ("dimensions", "words"),
    [
        ({"time": 3}, "no open dimension 'time'; open are batch"),
        ({"batch": -1}, "dimension 'batch' is -1; expected a whole number, 1 or more"),
        ({"batch": 0}, "dimension 'batch' is 0; expected a whole number, 1 or more"),
        ({"batch": 1.5}, "dimension 'batch' is 1.5"),
        ({"batch": 10**30}, "dimension 'batch' is 1000"),
        (3, "dimensions is 3"),
    ],
)
def test_dimensions_that_do_not_fit_are_refused(dimensions, words):
    """A misspelt name would otherwise be ignored, and the dimension count 1."""
    with pytest.raises(pl.UnsupportedError, match=words):
        loaded(onnx_models.model(onnx_models.LINEAR), dimensions=dimensions)


def test_readers_of_one_parameter_share_a_device():
    """An embedding table and its transposition as output layer are each a parameter, equally large; a tied bias is too small."""
    graph = loaded(onnx_models.model(onnx_models.SHARED))
    assert ops(graph) == {"ids": "Input", "embed": "Gather", "head": "MatMul"}
    assert column(graph, graph.persistent) == {"ids": 0, "embed": 256000, "head": 256000}
    nodes = [helper.make_node("MatMul", [a, "w"], [b], name=b) for a, b in (("x", "p"), ("p", "q"))]
    nodes += [helper.make_node("Add", [a, "b"], [b], name=b) for a, b in (("q", "r"), ("r", "s"))]
    weights = [
        numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in (("w", (99, 99)), ("b", 99))
    ]
    graph = loaded(onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [1, 99])}, weights))
    assert graph.group.tolist() == [-1, 0, 0, -1, -1]
    assert graph.group_names == ("w",)
    assert graph.persistent.tolist() == [0, 4 * 99 * 99, 0, 4 * 99, 0]


def test_an_op_that_reads_a_value_twice_has_two_edges_and_an_empty_input_none():
    """Optional inputs that are left out have empty names."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"], name="square"),
        helper.make_node("Clip", ["square", "", "x"], ["y"], name="clip"),
    ]
    graph = loaded(onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [])}))
    assert graph.edges.tolist() == [[0, 1], [0, 1], [0, 2], [1, 2]]
    assert graph.tensor_bytes.tolist() == [4, 4, 4]


def test_names_are_made_unique_as_onnx_runtime_makes_them():
    """An unnamed node gets type and number; a repeated name gets its number; a leading slash is removed."""
    names = ["", "same", "same", "/scope/relu", "same_2", "x", "two\nlines"]
    nodes = [helper.make_node("Relu", ["x"], [f"y{i}"], name=name) for i, name in enumerate(names)]
    graph = loaded(onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [1])}))
    assert graph.names.tolist()[1:] == ["Relu_0", "same", "same_2_2", "scope/relu", "same_2", "x", "two lines"]
    assert graph.names[0] == "x_0"


def test_a_branch_is_one_op_that_reads_what_its_bodies_capture():
    """It costs the more expensive branch, and holds the weights of both."""
    graph = loaded(onnx_models.model(onnx_models.BRANCHES))
    assert ops(graph) == {"c": "Input", "x": "Input", "double": "Add", "if": "If"}
    assert graph.edges.tolist() == [[0, 3], [1, 2], [1, 2], [2, 3]]
    assert column(graph, graph.compute)["if"] == 2 * 8 * 16 * 16
    assert column(graph, graph.persistent)["if"] == 4 * 16 * 16


def test_a_loop_of_unknown_length_counts_its_body_once():
    """The number of trips is an input, which the metadata says."""
    graph = loaded(onnx_models.model(onnx_models.LOOP))
    assert graph.metadata["loops"] == [{"op": "loop", "trips": 1, "known": False}]
    assert ops(graph) == {"x": "Input", "trips": "Input", "go": "Input", "loop": "Loop"}
    assert graph.compute.max() == 2 * 4 * 4 * 4
    assert graph.persistent.max() == 64


def test_parameters_inside_bodies_are_held_by_the_op_that_runs_them():
    """An initializer and a constant of a branch, at any depth."""
    inside = numpy_helper.from_array(np.zeros((8, 8), np.float32), "w")
    value = numpy_helper.from_array(np.zeros(8, np.float32), "b")
    nodes = [
        helper.make_node("Constant", [], ["c"], value=value),
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "c"], ["s"]),
    ]
    last = helper.make_tensor_value_info("s", TensorProto.FLOAT, [4, 8])
    small = helper.make_graph([helper.make_node("Identity", ["x"], ["s"])], "small", [], [last])
    body = helper.make_graph(nodes, "body", [], [last], [inside])
    deep = helper.make_graph(
        [helper.make_node("If", ["go"], ["s"], then_branch=body, else_branch=small)], "d", [], [last]
    )
    node = helper.make_node("If", ["go"], ["y"], name="if", then_branch=deep, else_branch=small)
    graph = loaded(onnx_models.built([node], {"go": (TensorProto.BOOL, []), "x": (TensorProto.FLOAT, [4, 8])}))
    assert column(graph, graph.persistent)["if"] == 4 * 8 * 8 + 4 * 8
    assert column(graph, graph.compute)["if"] == 2 * 4 * 8 * 8 + 4 * 8
    assert column(graph, graph.outputs)["if"] == 128


def test_functions_are_inlined():
    """Each call is the ops of its body, which have shapes; the weight both calls read is one."""
    graph = loaded(onnx_models.model(onnx_models.FUNCTIONS))
    assert sorted(graph.kind) == ["Input", "MatMul", "MatMul", "Relu", "Relu"]
    assert graph.tensor_bytes.tolist() == [128] * 5
    assert graph.persistent.sum() == 256


def test_quantised_weights_stay_as_small_as_they_are_stored():
    """``DequantizeLinear`` runs where its weight is; int4 takes half a byte, odd counts rounded up."""
    weight = helper.make_tensor("w", TensorProto.INT4, [5, 5], [1] * 25)
    scale = helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], name="dequantise"),
        helper.make_node("MatMul", ["x", "f"], ["y"], name="mm"),
    ]
    opsets = [helper.make_opsetid("", 21)]
    model = onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [1, 5])}, (weight, scale), opset_imports=opsets)
    graph = loaded(model)
    assert column(graph, graph.persistent) == {"dequantise": 13 + 4, "x": 0, "mm": 0}
    assert column(graph, graph.outputs)["dequantise"] == 100


def test_every_element_type_has_a_size():
    """The table knows all of onnx's types but texts; numpy's own sizes agree where a type is no part of a byte."""
    types = {number for name, number in TensorProto.DataType.items() if name not in ("UNDEFINED", "STRING")}
    assert set(node_proto.BITS) == types
    for number in (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15):
        assert node_proto.BITS[number] == 8 * helper.tensor_dtype_to_np_dtype(number).itemsize


def test_an_op_of_an_unknown_kind_keeps_the_shape_of_its_first_input():
    """Another vendor's op has unknown operations and an output like its input; both are counted."""
    nodes = [helper.make_node("Quantum", ["x"], ["y"], domain="com.example"), helper.make_node("Relu", ["y"], ["z"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    graph = loaded(onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [7])}, opset_imports=opsets))
    costs = graph.metadata["costs"]
    assert costs["unknown"]["Quantum"] == 1
    assert costs["unsized"] == 0 and costs["kept"] == {"Quantum": 1}
    assert "problem" not in costs


def test_a_model_that_reads_no_input_is_shown_whole():
    """Constant folding would leave no op."""
    nodes = [helper.make_node("Constant", [], ["a"], value_floats=[1.0, 2.0]), helper.make_node("Neg", ["a"], ["b"])]
    assert loaded(onnx_models.built(nodes, {})).kind.tolist() == ["Constant", "Neg"]


# -------------------------------------------------------------------- weights


def test_weights_are_not_read():
    """Only the structure and small tensors, on which shapes depend, are read."""
    model = onnx_models.model(onnx_models.LINEAR)
    data = model.SerializeToString()
    slim = model_proto.without_weights(data, "m.onnx")
    again = onnx.ModelProto.FromString(slim)
    assert len(slim) < 1000 < len(data)
    assert [tensor.dims for tensor in again.graph.initializer] == [tensor.dims for tensor in model.graph.initializer]
    assert again.graph.initializer[1].raw_data == model.graph.initializer[1].raw_data  # 256 bytes
    assert again.graph.node == model.graph.node


def test_weights_inside_nodes_and_bodies_are_not_read_either():
    """Constants of a branch and of a function."""
    value = numpy_helper.from_array(np.zeros(5000, np.float32), "v")
    constant = helper.make_node("Constant", [], ["c"], value=value)
    body = helper.make_graph([constant], "b", [], [helper.make_empty_tensor_value_info("c")])
    nodes = [helper.make_node("If", ["x"], ["y"], then_branch=body, else_branch=body)]
    function = helper.make_function("local", "f", [], ["c"], [constant], [helper.make_opsetid("", 17)])
    model = onnx_models.built(nodes, {"x": (TensorProto.BOOL, [])}, functions=[function])
    assert len(model_proto.without_weights(model.SerializeToString(), "m.onnx")) < 1000


def test_the_table_of_fields_on_the_way_to_tensors_is_onnx_own():
    """Every field that leads to a tensor, by its number in onnx's descriptors, training left out."""
    known = onnx.ModelProto.DESCRIPTOR.file.message_types_by_name
    for message, inside in model_proto.INSIDE.items():
        fields = {f.number: f.message_type.name for f in known[message].fields if f.message_type}
        reachable = {n: kind for n, kind in fields.items() if kind in model_proto.INSIDE or kind == "TensorProto"}
        assert inside == reachable
    elements = [f.number for f in known["TensorProto"].fields if f.name.endswith("_data") and f.name != "external_data"]
    assert set(elements) == model_proto.NUMBERS


def test_external_weights_count_by_their_shape_and_their_file_is_never_opened(tmp_path):
    """The path may be missing or forbidden; it is never used."""
    model = onnx_models.model(onnx_models.LINEAR)
    expected = loaded(model).persistent.tolist()
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "../../../etc/passwd"), ("length", "9" * 30)):
            tensor.external_data.add(key=key, value=value)
    path = tmp_path / "external.onnx"
    path.write_bytes(model.SerializeToString())
    assert model_proto.read(path).persistent.tolist() == expected


def test_a_large_file_takes_little_memory(tmp_path):
    """Of 300 MB of weights a thousandth is read."""
    path = tmp_path / "large.onnx"
    head = onnx_models.model(onnx_models.LINEAR)
    del head.graph.initializer[0]
    tensor = TensorProto(name="w1", dims=[128, 64], data_type=1).SerializeToString()
    size = 300 << 20
    body = head.graph.SerializeToString()
    inner = tensor + b"\x4a" + varint(size)  # raw_data, whose bytes are a hole in the file
    outer = b"\x2a" + varint(len(inner) + size)
    opset = b"\x42\x04\x0a\x00\x10\x11"
    with path.open("wb") as file:
        file.write(b"\x08\x08" + opset + b"\x3a" + varint(len(body) + len(outer) + len(inner) + size))
        file.write(body + outer + inner)
        file.truncate(file.tell() + size)
    model_proto.read(path)  # imports are paid for
    before = fuzz.peak()
    assert model_proto.read(path).persistent.sum() == 4 * (128 * 64 + 64 + 64 * 10)
    assert fuzz.peak() - before < 50e6


# -------------------------------------------------------------------- untrusted files


def test_gzip_and_bytes_give_the_same_graph(tmp_path):
    """A file, its bytes, and both zipped."""
    path = tmp_path / "m.onnx"
    data = onnx_models.model(onnx_models.LINEAR).SerializeToString()
    path.write_bytes(gzip.compress(data))
    names = model_proto.read(path).names.tolist()
    path.write_bytes(data)
    assert names == model_proto.read(path).names.tolist() == model_proto.loads(gzip.compress(data)).names.tolist()


def changed(**changes):
    """LINEAR with attributes of its first node replaced."""
    model = onnx_models.model(onnx_models.LINEAR)
    for key, value in changes.items():
        if isinstance(value, list):
            del getattr(model.graph.node[0], key)[:]
            getattr(model.graph.node[0], key).extend(value)
        else:
            setattr(model.graph.node[0], key, value)
    return model.SerializeToString()


def shaped(dims):
    model = onnx_models.model(onnx_models.LINEAR)
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend(dims)
    return model.SerializeToString()


def nested(levels):
    """A node in a body of a node in a body …"""
    data = b""
    for _ in range(levels):
        for tag in (b"\x32", b"\x2a", b"\x0a"):  # attribute.g, node.attribute, graph.node
            data = tag + varint(len(data)) + data
    return b"\x3a" + varint(len(data)) + data


HOSTILE = {
    "empty": (lambda: b"", "not an ONNX model"),
    "text": (lambda: b"digraph {a -> b}" * 9, "not a complete protobuf file"),
    "truncated": (lambda: changed()[:-9], "not a complete protobuf file"),
    "a declared length beyond the file": (lambda: b"\x3a" + b"\xff" * 8 + b"\x7f", "not a complete protobuf file"),
    "a number without end": (lambda: b"\x08" + b"\xff" * 99, "not a complete protobuf file"),
    "no nodes": (lambda: b"\x3a\x00", "expected a graph with nodes"),
    "a million nodes of nothing": (lambda: b"\x3a" + varint(4_000_000) + b"\x0a\x00" * 2_000_000, "fields"),
    "a million attributes of nothing": (
        lambda: b"\x3a" + varint(4_000_005) + b"\x0a" + varint(4_000_000) + b"\x2a\x00" * 2_000_000,
        "fields",
    ),
    "nested": (lambda: nested(40), "not a protobuf message|nested more than 100"),
    "nested deeply": (lambda: nested(5_000), "nested more than 100 messages deep"),
    "a name that is no text": (lambda: changed(name="@@").replace(b"@@", b"\xff\xfe"), "not text in UTF-8"),
    "an input from nowhere": (lambda: changed(input=["x", "ghost"]), "'mm1' .MatMul. reads 'ghost', which no node"),
    "a value produced twice": (lambda: changed(output=["c"]), "two nodes or inputs produce 'c'"),
    "a value that an input is": (lambda: changed(output=["x"]), "two nodes or inputs produce 'x'"),
    "a cycle": (lambda: changed(input=["c", "w1"]), "cycle"),
    "an op that reads itself": (lambda: changed(input=["a", "w1"]), "consumes its own output"),
    "a shape beyond all machines": (lambda: shaped([2**62, 2**62, 2**62]), "value 'w1' has the shape"),
    "a shape of many sizes": (lambda: shaped([1] * 1000), "expected at most 64 sizes"),
    "a negative size": (lambda: shaped([-5, 3]), "value 'w1' has the shape .-5, 3."),
    "a zip bomb": (lambda: gzip.compress(bytes(100 << 20)), "unpacks to more than"),
    "half a gzip file": (lambda: gzip.compress(changed())[:-12], "not a whole gzip file"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("forked_inference")
def test_hostile_files_are_refused_in_one_sentence(name, without_inference):
    """The error names the file and what was found, and reading takes little memory."""
    make, words = HOSTILE[name]
    data = make()
    model_proto.loads(changed())  # imports are paid for
    before = fuzz.peak()
    with pytest.raises(pl.PlacelabError, match=words) as refusal:
        model_proto.loads(data, "h.onnx")
    assert fuzz.peak() - before < 200 << 20
    assert str(refusal.value).startswith("h.onnx") and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder, "is not a file"),
        (lambda folder: folder / "none.onnx", "cannot be read"),
        (lambda folder: 3, "not the path of a file"),
        (lambda folder: written(folder, b""), "not an ONNX model"),
        (lambda folder: written(folder, b"x" * 9999), "not a complete protobuf file"),
        (lambda folder: hole(folder, 3 << 30), "models over 2,147,483,647 are not read"),
    ],
)
def test_paths_that_are_no_models_are_refused(make, words, tmp_path):
    """A folder, nothing, a number, an empty file, text, more than protobuf can hold."""
    with pytest.raises(pl.FormatError, match=words):
        model_proto.read(make(tmp_path))


def written(folder, data):
    (folder / "f.onnx").write_bytes(data)
    return folder / "f.onnx"


def hole(folder, size):
    with (folder / "f.onnx").open("wb") as file:
        file.truncate(size)
    return folder / "f.onnx"


def doubling(times):
    """A shape appended to itself, again and again: 2 ** times numbers in a model of as many nodes."""
    nodes = [helper.make_node("Shape", ["x"], ["s0"])]
    nodes += [helper.make_node("Concat", [f"s{i}"] * 2, [f"s{i + 1}"], axis=0) for i in range(times)]
    return onnx_models.built(nodes, {"x": (TensorProto.FLOAT, [2, 3])})


def calling(times):
    """Functions that call the next one twice: 2 ** times ops in a file of as many functions."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = []
    for i in range(times):
        call = [f"f{i + 1}", "local"] if i + 1 < times else ["Relu", ""]
        nodes = [helper.make_node(call[0], [a], [b], domain=call[1]) for a, b in (("x", "y"), ("y", "z"))]
        functions.append(helper.make_function("local", f"f{i}", ["x"], ["z"], nodes, opsets))
    node = helper.make_node("f0", ["x"], ["y"], domain="local")
    return onnx_models.built([node], {"x": (TensorProto.FLOAT, [2])}, functions=functions, opset_imports=opsets)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit a process's memory")
@pytest.mark.parametrize(
    ("make", "ops"), [(lambda: doubling(40), 42), pytest.param(lambda: calling(40), 2, marks=pytest.mark.slow)]
)
def test_inference_that_would_take_the_machine_is_given_up(make, ops):
    """Limits end the other process; the graph has the file's own shapes, and reports that shapes are missing."""
    model = make()
    before = fuzz.peak()
    graph = loaded(model)
    assert graph.n_ops == ops
    assert graph.metadata["costs"]["problem"].startswith("shape inference failed")
    assert fuzz.peak() - before < 200 << 20


def test_a_model_that_inference_refuses_still_loads():
    """Without a version of the operators, the graph has the file's own shapes."""
    model = onnx_models.model(onnx_models.LINEAR)
    del model.opset_import[:]
    graph = loaded(model)
    assert graph.n_ops == 5
    assert "shape inference failed" in graph.metadata["costs"]["problem"]
    assert graph.metadata["costs"]["unsized"] == 2


def test_inference_that_cannot_start_says_so(monkeypatch):
    """No process can be started."""
    monkeypatch.setattr(shape_inference.sys, "executable", "/nowhere/python")
    graph = loaded(onnx_models.model(onnx_models.LINEAR))
    assert graph.metadata["costs"]["problem"] == "shape inference did not run: FileNotFoundError"


@pytest.mark.parametrize("text", ["linear", "functions", "branches"])
def test_the_quick_start_of_inference_gives_what_all_of_onnx_gives(text):
    """Its compiled module alone gives the same bytes as its public functions, each in a separate process."""
    code = (
        "import sys; from placelab.formats.onnx import shape_inference as i; inline, infer = i._{}() or sys.exit('not found'); "
        "print(infer(inline(bytes.fromhex(sys.argv[1]))).hex())"
    )
    data = onnx_models.model(onnx_models.TEXTS[text]).SerializeToString().hex()
    runs = [
        subprocess.run([sys.executable, "-c", code.format(way), data], capture_output=True, text=True, check=True)
        for way in ("quick", "slow")
    ]
    assert len(runs[0].stdout) > 200
    assert runs[0].stdout == runs[1].stdout


def test_without_onnx_the_message_names_the_extra(monkeypatch):
    """One line names the extra to install."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(pl.UnsupportedError, match=r"pip install 'placelab\[onnx\]'"):
        model_proto.loads(b"")


@pytest.mark.parametrize(
    ("kind", "precision"), [(1, None), (10, "float16"), (16, "bfloat16"), (11, None)], ids=["f4", "f2", "bf2", "f8"]
)
@pytest.mark.usefixtures("forked_inference")
def test_weights_of_16_bits_run_at_that_speed(kind, precision, tmp_path):
    """Estimates assume that the model's products run in its type."""
    weight = onnx.TensorProto(name="w", data_type=kind, dims=[64, 64], raw_data=bytes(64 * 64 * 8))
    info = [onnx.helper.make_tensor_value_info(name, kind, [64, 64]) for name in "xy"]
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", info[:1], info[1:], [weight]))
    onnx.save(model, tmp_path / "m.onnx")
    graph = pl.load(tmp_path / "m.onnx")
    assert graph.metadata["costs"].get("precision") == precision
    assert graph.metadata["costs"]["columns"]["h100"]["precision"] == (precision or "float32")
