"""Shapes that depend on values, compared with onnx's reference implementation on small lists."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import onnx_models  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from placelab.formats.onnx import model_proto, shape_completion  # noqa: E402

pytestmark = pytest.mark.usefixtures("forked_inference")

HEADS = """
<ir_version: 8, opset_import: ["" : 17]>
heads (float[batch, time, 64] x) => (y)
<float[64, 64] w>
{
    s = Shape (x)
    zero = Constant <value_int = 0> ()
    b = Gather <axis = 0> (s, zero)
    axes = Constant <value_ints = [0]> ()
    bs = Unsqueeze (b, axes)
    last = Constant <value_ints = [-1]> ()
    end = Constant <value_ints = [3]> ()
    width = Slice (s, last, end)
    four = Constant <value_ints = [4]> ()
    each = Div (width, four)
    size = Concat <axis = 0> (bs, last, four, each)
    q = MatMul (x, w)
    split = Reshape (q, size)
    t = Transpose <perm = [0, 2, 1, 3]> (split)
    k = Transpose <perm = [0, 2, 3, 1]> (split)
    scores = MatMul (t, k)
    weights = Softmax (scores)
    mixed = MatMul (weights, t)
    ones = ConstantOfShape (size)
    same = Equal (size, last)
    chosen = Where (same, size, size)
    back = Transpose <perm = [0, 2, 1, 3]> (mixed)
    y = Reshape (back, s)
}
"""


def evaluated(model, feeds):
    """Every value of a model, by onnx's reference implementation."""
    names = [name for node in model.graph.node for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    return dict(zip(names, ReferenceEvaluator(model).run(None, feeds), strict=True))


def test_attention_of_a_model_with_open_dimensions_has_all_its_shapes():
    """The model computes sizes, as exported by PyTorch: every value has its size at run time."""
    model = onnx_models.model(HEADS)
    # Of -1 elements.
    model.graph.node.pop(next(i for i, node in enumerate(model.graph.node) if node.output[0] == "ones"))
    graph = model_proto.loads(model.SerializeToString(), dimensions={"batch": 3, "time": 5})
    assert graph.metadata["costs"]["unsized"] == 0
    assert graph.metadata["costs"]["unknown"] == {}
    values = evaluated(model, {"x": np.zeros((3, 5, 64), np.float32)})
    sizes = {f"{node.op_type}_{i}": values[node.output[0]].nbytes for i, node in enumerate(model.graph.node)}
    for name, total in zip(graph.names, graph.outputs, strict=True):
        assert name == "x" or total == sizes[name]
    attention = 2 * 2 * 3 * 4 * 5 * 5 * 16
    assert graph.compute[graph.kind == "MatMul"].sum() == attention + 2 * 3 * 5 * 64 * 64


LIST = np.array([4, -7, 2], np.int64)
OTHER = np.array([2, 2, -5], np.int64)
CASES = [
    ("Identity", {}, [LIST]),
    ("Cast", {"to": TensorProto.FLOAT}, [LIST]),
    ("Gather", {"axis": 0}, [LIST, np.array(1)]),
    ("Gather", {}, [LIST, np.array([2, -1])]),
    ("Unsqueeze", {}, [np.array(3), np.array([0])]),
    ("Squeeze", {}, [np.array([[3]]), np.array([0])]),
    ("Squeeze", {}, [np.array([[3]])]),
    ("Concat", {"axis": 0}, [LIST, OTHER, LIST]),
    ("Slice", {}, [LIST, np.array([1]), np.array([2**63 - 1])]),
    ("Slice", {}, [LIST, np.array([-1]), np.array([-(2**63) + 1]), np.array([0]), np.array([-1])]),
    ("Slice", {}, [LIST, np.array([0]), np.array([-1]), np.array([0]), np.array([2])]),
    ("Reshape", {}, [LIST, np.array([0, -1])]),
    ("ConstantOfShape", {"value": numpy_helper.from_array(np.array([7], np.int64))}, [np.array([3])]),
    ("ConstantOfShape", {}, [np.array([2, 2])]),
    ("Range", {}, [np.array(1), np.array(9), np.array(3)]),
    *[(name, {}, [LIST, OTHER]) for name in ("Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "Greater")],
    *[(name, {}, [LIST, OTHER, LIST]) for name in ("Min", "Max")],
    *[(name, {}, [LIST.astype(np.float32) / 3]) for name in ("Floor", "Ceil", "Neg", "Abs")],
    ("Div", {}, [LIST.astype(np.float32), OTHER.astype(np.float32)]),
    ("Sqrt", {}, [np.array([4, 9], np.float32)]),
    *[(name, {}, [LIST > 0, OTHER > 0]) for name in ("And", "Or")],
    ("Not", {}, [LIST > 0]),
    ("Where", {}, [LIST > 0, LIST, OTHER]),
    ("ReduceSum", {}, [LIST, np.array([0])]),
    *[(name, {"axes": [0], "keepdims": 0}, [LIST]) for name in ("ReduceProd", "ReduceMax", "ReduceMin")],
    ("Shape", {}, [np.zeros((2, 5, 3))]),
    ("Shape", {"start": 1, "end": -1}, [np.zeros((2, 5, 3))]),
    ("Size", {}, [np.zeros((2, 5, 3))]),
    ("Constant", {"value_ints": [1, 2]}, []),
    ("Constant", {"value_int": 5}, []),
    ("Constant", {"value": numpy_helper.from_array(LIST)}, []),
]


@pytest.mark.parametrize(("kind", "attributes", "inputs"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_values_are_those_of_the_reference_implementation(kind, attributes, inputs):
    """Equal numbers and types."""
    names = [f"i{k}" for k in range(len(inputs))]
    node = helper.make_node(kind, names, ["y"], **attributes)
    types = {
        name: helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
    }
    values = dict(zip(names, inputs, strict=True))
    found = shape_completion._computed(node, types, values)
    given = {name: (helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape)) for name, x in values.items()}
    [expected] = ReferenceEvaluator(onnx_models.built([node], given)).run(["y"], values)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_every_op_that_is_computed_is_compared():
    """Each line of the table has a test case."""
    assert {kind for kind, _, _ in CASES} >= set(shape_completion.COMPUTE)


@pytest.mark.parametrize(
    ("kind", "attributes", "inputs"),
    [
        ("ConstantOfShape", {}, [np.array([2**40])]),
        ("ConstantOfShape", {}, [np.array([-1, -(2**62)])]),
        ("Range", {}, [np.array(0), np.array(2**62), np.array(1)]),
        ("Range", {}, [np.array(0), np.array(5), np.array(0)]),
        ("Concat", {"axis": 0}, [np.arange(60), np.arange(60)]),
        ("Unsqueeze", {}, [np.arange(3), np.arange(60)]),
        ("Gather", {}, [np.arange(3), np.zeros((9, 9), np.int64)]),
        ("Gather", {}, [np.arange(3), np.array(7)]),
        ("Reshape", {}, [np.arange(3), np.array([0, 0, 0, 5])]),
        ("Div", {}, [np.array([1, 2]), np.array([1, 2, 3])]),
        ("Slice", {}, [np.zeros((2, 2)), np.array([0]), np.array([1])]),
        ("Cast", {"to": 99}, [np.arange(3)]),
        ("Cast", {}, [np.arange(3)]),
        ("Constant", {"value_ints": list(range(99))}, []),
        ("Constant", {"value_float": 1.0}, []),
        ("Shape", {}, ["nothing"]),
    ],
)
def test_what_is_too_long_or_does_not_fit_is_not_known(kind, attributes, inputs):
    """Oversized values raise no error and take no memory."""
    names = [f"i{k}" for k in range(len(inputs))]
    node = helper.make_node(kind, names, ["y"], **attributes)
    values = {name: x for name, x in zip(names, inputs, strict=True) if not isinstance(x, str)}
    assert shape_completion._computed(node, {}, values) is None
