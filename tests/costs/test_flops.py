"""FLOP of an op, counted from shapes: compared with libraries' counts, published totals, and rules valid for any shape."""

from __future__ import annotations

from math import log2, prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placelab.formats.flops import FORMULAS, count
from placelab.formats.op_kinds import CATEGORIES, FREE, PRODUCTS, TABLE, category, name_of

sizes = st.integers(1, 9)
shapes = st.lists(sizes, max_size=5).map(tuple)


# -------------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("aten.addmm.default", "matmul"),
        ("aten::addmm", "matmul"),
        ("aten.relu_.default", "elementwise"),
        ("torch.ops.aten.convolution_backward.default", "convolution"),
        ("aten._scaled_dot_product_flash_attention_for_cpu_backward.default", "attention"),
        ("aten.native_layer_norm_backward.default", "normalisation"),
        ("aten.embedding_dense_backward.default", "scatter"),
        ("aten.__and__.Tensor", "elementwise"),
        ("aten._foreach_addcdiv_.Scalar", "elementwise"),
        ("prims.broadcast_in_dim.default", "view"),
        ("_c10d_functional.all_reduce.default", "movement"),
        ("com.microsoft.FastGelu", "elementwise"),
        ("Conv2DBackpropFilter", "convolution"),
        ("SoftmaxCrossEntropyWithLogits", "softmax"),
        ("ResourceApplyRMSProp", "optimiser"),
        ("VarHandleOp", "source"),
        ("_Send", "view"),
        ("While", "call"),
        ("LSTM", "recurrent"),
        ("Slice", "gather"),  # TensorFlow and ONNX copy the part that is asked for
        ("aten.slice.Tensor", "view"),
        ("Transpose", "movement"),
        ("aten.transpose.int", "view"),
        ("", "unknown"),
        ("_", "unknown"),
        ("Mystery", "unknown"),
    ],
)
def test_the_category_of_a_kind(kind, expected):
    """Kinds in each framework's spelling, with or without name space, overload and in-place mark."""
    assert category(kind) == expected


def test_every_kind_stands_in_one_category_under_the_name_it_is_looked_up_by():
    """A kind in two categories would be ambiguous; one under a name that is never looked up has no effect."""
    listed = [kind for row in TABLE.values() for kind in row.split()]
    assert len(listed) == len(set(listed)) > 1500
    assert [kind for kind in listed if name_of(kind) != kind] == []


def test_every_category_has_a_formula_or_is_said_to_have_none():
    """Calls have none: their operations are those of the body, not given by their own shapes."""
    assert set(CATEGORIES) - set(FORMULAS) == {"call"}
    assert {*FREE, *PRODUCTS} <= set(CATEGORIES)


# What no table knows is bound by memory: strings, images, linear algebra, new and rare ops.
ONNX_WITHOUT = {
    "CausalConvWithState",
    "Det",
    "ImageDecoder",
    "LinearAttention",
    "RegexFullMatch",
    "STFT",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
}


def test_every_kind_of_onnx_has_a_category():
    """All kinds of the default domain but the exceptions named here."""
    onnx = pytest.importorskip("onnx")
    known = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""}
    assert {kind for kind in known if category(kind) == "unknown"} <= ONNX_WITHOUT


def test_every_core_kind_of_pytorch_has_a_category():
    """Core ATen and prims, of which torch.export and compiled graphs consist."""
    torch = pytest.importorskip("torch")
    core = {str(op) for name in dir(torch.ops.aten) for op in overloads(torch.ops.aten, name) if is_core(torch, op)}
    assert len(core) > 150
    without = {kind for kind in core if category(kind) == "unknown"}
    assert without <= {"aten._cdist_forward.default", "aten._pdist_forward.default"}


def overloads(space, name):
    """All overloads of one op of PyTorch."""
    packet = getattr(space, name)
    return [getattr(packet, each) for each in packet.overloads()] if hasattr(packet, "overloads") else []


def is_core(torch, op):
    """Whether PyTorch calls it a core op."""
    return torch.Tag.core in op.tags


# -------------------------------------------------------------------- matrix products


@given(sizes, sizes, sizes, st.booleans(), st.booleans())
def test_a_product_costs_2mnk_however_it_is_stored(m, n, k, turned, flipped):
    """TensorFlow, ONNX and PyTorch agree."""
    a = (k, m) if turned else (m, k)
    b = (n, k) if flipped else (k, n)
    tensorflow = {"transpose_a": turned, "transpose_b": flipped}
    onnx = {"transA": int(turned), "transB": int(flipped)}
    assert count("MatMul", [a, b], [(m, n)], tensorflow) == 2 * m * n * k
    assert count("MatMul", [a, b], [None], tensorflow) == 2 * m * n * k
    assert count("Gemm", [a, b, (n,)], [(m, n)], onnx) == 2 * m * n * k
    assert count("aten.addmm.default", [(n,), (m, k), (k, n)], [(m, n)]) == 2 * m * n * k
    assert count("aten.linear.default", [(m, k), (n, k), (n,)], [(m, n)]) == 2 * m * n * k


@given(st.lists(sizes, max_size=3).map(tuple), sizes, sizes, sizes)
def test_a_batch_of_products_costs_each(batch, m, n, k):
    """This holds also if one factor is shared."""
    total = 2 * prod(batch) * m * n * k
    out = (*batch, m, n)
    assert count("BatchMatMulV2", [(*batch, m, k), (*batch, k, n)], [out]) == total
    assert count("BatchMatMulV2", [(*batch, m, k), (*batch, n, k)], [None], {"adj_y": True}) == total
    assert count("MatMul", [(*batch, m, k), (k, n)], [out]) == total
    assert count("MatMul", [(k, n)[::-1], (*batch, k, m)], [None]) == total


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        ([(None, 5), (5, 7)], [(3, 7)], 210.0),  # the second factor tells what is summed over
        ([None, (5, 7)], [(3, 7)], 210.0),
        ([(3, 5), None], [(3, 7)], 210.0),
        ([None, None], [(3, 7)], None),
        ([(None, 5), (5, 7)], [(None, 7)], None),
        ([(3, 5), (6, 7)], [(3, 7)], None),  # does not fit
        ([(5,), (5,)], [()], 10.0),
        ([(3, 5), (5,)], [(3,)], 30.0),
        ([(5,), (5, 7)], [None], 70.0),
        ([], [], None),
    ],
)
def test_a_product_is_counted_as_soon_as_the_shapes_tell_enough(inputs, outputs, expected):
    """It is not counted otherwise."""
    assert count("MatMul", inputs, outputs) == expected


@pytest.mark.parametrize(
    ("equation", "inputs", "expected"),
    [
        ("ij,jk->ik", [(2, 3), (3, 5)], 60),
        ("bij,bjk", [(4, 2, 3), (4, 3, 5)], 240),
        ("...ij,...jk->...ik", [(4, 6, 2, 3), (6, 3, 5)], 2 * 4 * 6 * 2 * 3 * 5),
        ("abc,cde->abde", [(2, 3, 4), (4, 5, 6)], 2 * 2 * 3 * 4 * 5 * 6),
        ("i,j->ij", [(3,), (4,)], 12),
        ("ij->j", [(3, 4)], 12),
        ("ij->ji", [(3, 4)], 0),
        ("ij,jk,kl->il", [(2, 3), (3, 5), (5, 7)], 2 * 2 * 3 * 5 + 2 * 2 * 5 * 7),
        ("ij,jk,jl->ikl", [(2, 3), (3, 5), (3, 7)], 2 * 3 * 5 + 2 * 2 * 3 * 5 * 7),  # j is not summed before the last
        ("ij,jk->ik", [(2, 3)], None),
        ("ij,jk->ik", [(2, 3, 4), (3, 5)], None),
        (7, [(2, 3)], None),
        (b"ij,jk->ik", [(2, 3), (3, 5)], 60),
    ],
)
def test_einsum(equation, inputs, expected):
    """2 operations per combination of indices with a sum, 1 without; by hand."""
    assert count("Einsum", inputs, [None], {"equation": equation}) == expected


# -------------------------------------------------------------------- convolutions


@given(sizes, st.integers(1, 3), st.integers(1, 3), sizes, st.integers(1, 3), st.integers(5, 8))
def test_convolutions_of_the_frameworks_agree(batch, groups, ins, outs, kernel, length):
    """Channels first or last, filters in either order, forward and both gradients."""
    c = groups * ins
    f = groups * outs
    out = length - kernel + 1
    expected = 2 * batch * out * out * f * kernel * kernel * ins
    x = (batch, c, length, length)
    y = (batch, f, out, out)
    w = (f, ins, kernel, kernel)
    assert count("Conv", [x, w], [y], {"group": groups}) == expected
    assert count("aten.convolution.default", [x, w], [y], {"groups": groups, "transposed": False}) == expected
    last = (batch, length, length, c)
    filters = (kernel, kernel, ins, f)
    result = (batch, out, out, f)
    assert count("Conv2D", [last, filters], [result], {"data_format": "NHWC"}) == expected
    assert count("Conv2DBackpropInput", [(4,), filters, result], [last]) == expected
    assert count("Conv2DBackpropFilter", [last, (4,), result], [filters]) == expected
    backward = [[y, x, w], [x, w, (f,)]]
    assert count("aten.convolution_backward.default", *backward, {"output_mask": [True, True, True]}) == 2 * expected
    assert count("aten.convolution_backward.default", *backward, {"output_mask": [False, True, False]}) == expected
    assert count("aten.convolution_backward.default", [y, x, w], [None, w, None]) == expected


@given(sizes, sizes, st.integers(1, 3), st.integers(1, 3), st.integers(3, 8))
def test_a_depthwise_convolution_has_one_channel_per_filter(batch, channels, multiplier, kernel, length):
    """Its filter is (height, width, channels, multiplier)."""
    out = (batch, length, length, channels * multiplier)
    filters = (kernel, kernel, channels, multiplier)
    image = (batch, length, length, channels)
    expected = 2 * prod(out) * kernel * kernel
    assert count("DepthwiseConv2dNative", [image, filters], [out]) == expected
    assert count("DepthwiseConv2dNativeBackpropInput", [(4,), filters, out], [image]) == expected
    assert count("DepthwiseConv2dNativeBackpropFilter", [image, (4,), out], [filters]) == expected


@given(sizes, sizes, sizes, st.integers(1, 3), st.integers(3, 8))
def test_a_transposed_convolution_costs_what_the_one_it_turns_round_does(batch, ins, outs, kernel, length):
    """Its input takes the place of the output."""
    small = (batch, ins, length)
    large = (batch, outs, length + kernel - 1)
    expected = count("aten.convolution.default", [large, (ins, outs, kernel)], [small])
    assert count("aten.convolution.default", [small, (ins, outs, kernel)], [large], {"transposed": True}) == expected
    assert count("ConvTranspose", [small, (ins, outs, kernel)], [large]) == expected


def resnet50():
    """(image, filter, result) of every convolution of ResNet-50 at 224 × 224, channels first."""
    yield (3, 224), (64, 3, 7, 7), (64, 112)
    side = 56
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            out = side // stride if block == 0 else side
            yield (channels, side), (width, channels, 1, 1), (width, side)
            yield (width, side), (width, width, 3, 3), (width, out)
            yield (width, out), (4 * width, width, 1, 1), (4 * width, out)
            if block == 0:
                yield (channels, side), (4 * width, channels, 1, 1), (4 * width, out)
            side = out
            channels = 4 * width


def test_resnet_50_takes_4_1_billion_multiplications_forward():
    """4.09 · 10⁹ multiply-adds per image is what PyTorch's model zoo states for it (its ResNet-50 strides in the 3 × 3)."""
    total = sum(
        count("Conv", [(1, *image, image[1]), weight], [(1, *result, result[1])])
        for image, weight, result in resnet50()
    )
    total += count("Gemm", [(1, 2048), (1000, 2048)], [(1, 1000)], {"transB": 1})
    assert total / 2 == pytest.approx(4.09e9, rel=0.001)


# -------------------------------------------------------------------- attention, recurrence


@given(sizes, sizes, sizes, sizes, sizes)
def test_attention_is_two_products_and_five_backward(batch, heads, queries, keys, depth):
    """This holds for all kernels; with equal depths, backward is 2.5 times forward."""
    q = (batch, heads, queries, depth)
    k = (batch, heads, keys, depth)
    v = (batch, heads, keys, depth)
    expected = 4 * batch * heads * queries * keys * depth
    for kernel in ("flash", "efficient", "cudnn", "fused_attention_overrideable"):
        name = f"aten._scaled_dot_product_{kernel.removesuffix('_attention_overrideable')}_attention"
        name += "_overrideable" if "overrideable" in kernel else ""
        assert count(name + ".default", [q, k, v], [q]) == expected
        assert count(name + "_backward.default", [q, q, k, v, q], [q, k, v]) == 2.5 * expected
    turned = [(b, s, h, d) for b, h, s, d in (q, k, v)]
    assert count("aten._flash_attention_forward.default", turned, [turned[0]]) == expected
    assert count("Attention", [q, k, v], [q]) == expected
    joined = [(batch, s, heads * depth) for s in (queries, keys, keys)]
    assert count("Attention", joined, [joined[0]], {"q_num_heads": heads}) == expected


@given(sizes, sizes, sizes, sizes, st.integers(1, 2))
def test_recurrent_nodes_of_onnx_multiply_every_step_with_every_gate(steps, batch, ins, hidden, directions):
    """Four gates, three, or one."""
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        weights = (directions, gates * hidden, ins), (directions, gates * hidden, hidden)
        each = directions * gates * hidden * (ins + hidden)
        assert count(kind, [(steps, batch, ins), *weights], []) == 2 * steps * batch * each


def test_products_with_a_form_of_their_own():
    """Sums over a batch, rows with rows, packed weights, outer products; by hand."""
    assert count("aten.addbmm.default", [(2, 3), (5, 2, 4), (5, 4, 3)], [(2, 3)]) == 2 * 5 * 2 * 3 * 4
    assert count("aten.inner.default", [(2, 4), (3, 4)], [(2, 3)]) == 2 * 2 * 3 * 4
    assert count("aten.linalg_vecdot.default", [(5, 4), (5, 4)], [(5,)]) == 2 * 5 * 4
    assert (
        count("aten.mv.default", [(2, 4), (4,)], [(2,)])
        == count("aten.addmv.default", [(2,), (2, 4), (4,)], [(2,)])
        == 16
    )
    assert count("MatMulNBits", [(2, 64), (8, 2, 16)], [(2, 8)]) == 2 * 2 * 8 * 64
    assert count("aten.outer.default", [(3,), (5,)], [(3, 5)]) == 15
    assert count("aten.linear_backward.default", [(7, 4), (7, 3), (3, 4)], [(7, 4), (3, 4), (3,)]) == 4 * 7 * 4 * 3
    assert count("aten.matmul_backward.default", [(2, 3), (2, 4), (4, 3)], [(2, 4), (4, 3)]) == 4 * 2 * 4 * 3
    assert count("QLinearMatMul", [(2, 4), (), (), (4, 3), (), (), (), ()], [(2, 3)]) == 2 * 2 * 3 * 4
    assert count("QLinearConv", [(1, 2, 5), (), (), (3, 2, 3), (), (), (), ()], [(1, 3, 3)]) == 2 * 9 * 6
    assert count("Conv", [(1, 5, 2), (3, 2, 3)], [(1, 3, 3)], {"data_format": "CHANNELS_LAST"}) == 2 * 9 * 6


def test_recurrent_kernels_of_tensorflow_and_pytorch_agree_with_onnx():
    """Five steps of a batch of 3, 7 inputs, 4 hidden units."""
    expected = count("LSTM", [(5, 3, 7), (1, 16, 7), (1, 16, 4)], [])
    assert count("BlockLSTMV2", [(), (5, 3, 7), (3, 4), (3, 4), (11, 16)], []) == expected
    assert 5 * count("LSTMBlockCell", [(3, 7), (3, 4), (3, 4), (11, 16)], []) == expected
    states = [(1, 3, 4)] * 2
    weights = [(16, 7), (16, 4), (16,), (16,)]
    assert count("aten.lstm.input", [(5, 3, 7), *states, *weights], []) == expected
    assert 5 * count("aten.lstm_cell.default", [(3, 7), (3, 4), (3, 4), *weights], []) == expected
    assert count("BlockLSTMGradV2", [(), (5, 3, 7), (3, 4), (3, 4), (11, 16)], []) == 2 * expected


# -------------------------------------------------------------------- the rest


@given(shapes)
def test_elementwise_ops_take_one_operation_per_element(shape):
    """Transcendental functions, too; a sum of n inputs takes n − 1; a compound op takes those of its parts."""
    for kind in ("Relu", "Exp", "aten.tanh.default", "aten.add_.Tensor"):
        assert count(kind, [shape], [shape]) == prod(shape)
    assert count("AddN", [shape] * 4, [shape]) == 3 * prod(shape)
    assert count("Sum", [shape] * 4, [shape]) == 3 * prod(shape)  # ONNX adds its inputs up
    assert count("SigmoidGrad", [shape, shape], [shape]) == 3 * prod(shape)
    assert count("aten._foreach_mul_.Scalar", [shape] * 3, [shape] * 3) == 3 * prod(shape)


def test_an_elementwise_op_without_a_known_output_is_broadcast_from_its_inputs():
    """The count is None if an input is unknown."""
    assert count("Add", [(3, 1), (4,)], [None]) == 12
    assert count("Add", [(3, 1), None], [None]) is None
    assert count("Add", [(3, 1), None], [(3, 4)]) == 12
    assert count("Add", [(3, 1), (4,)], [(None, 4)]) is None
    assert count("AssignAddVariableOp", [None, (5, 2)], []) == 10


@given(shapes.filter(bool), st.data())
def test_reductions_take_one_operation_per_element_that_goes_in(shape, data):
    """TensorFlow's second input, the axes, does not count."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    out = shape[:axis] + shape[axis + 1 :]
    for kind in ("Sum", "Mean", "Max", "aten.sum.dim_IntList", "ReduceSum"):
        assert count(kind, [shape, (1,)], [out]) == prod(shape)
    assert count("BiasAddGrad", [shape], [shape[-1:]]) == prod(shape)


def test_pooling_looks_through_its_window_for_every_output():
    """Forward: the window per output element; backward: per element of the gradient."""
    image = (8, 32, 32, 16)
    pooled = (8, 16, 16, 16)
    window = {"ksize": [1, 3, 3, 1]}
    assert count("MaxPool", [image], [pooled], window) == 9 * prod(pooled)
    assert count("MaxPoolGrad", [image, pooled, pooled], [image], window) == 9 * prod(pooled)
    assert count("AveragePool", [image], [pooled], {"kernel_shape": [3, 3]}) == 9 * prod(pooled)
    assert count(
        "aten.max_pool2d_with_indices.default", [image], [pooled, pooled], {"kernel_size": [3, 3]}
    ) == 9 * prod(pooled)
    assert count("aten.avg_pool2d.default", [image], [pooled], {"kernel_size": 3}) == 9 * prod(pooled)
    assert count("aten.avg_pool2d.default", [image], [pooled], {"kernel_size": [3]}) == 9 * prod(pooled)
    assert count("aten.avg_pool3d.default", [image], [pooled], {"kernel_size": [2]}) == 8 * prod(pooled)
    assert count("aten.max_pool1d.default", [image], [pooled], {"kernel_size": [2]}) == 2 * prod(pooled)
    assert count("MaxPool", [image], [pooled], {"kernel_shape": [3]}) == 3 * prod(pooled)
    assert count("aten._adaptive_avg_pool2d_backward.default", [pooled, image], [image]) == prod(image)
    assert count("GlobalAveragePool", [image], [(8, 16)]) == prod(image)


@pytest.mark.parametrize(
    ("kind", "each"),
    [("GradientDescent", 2), ("Momentum", 4), ("RMSProp", 11), ("Adam", 12), ("Adagrad", 6), ("CenteredRMSProp", 16)],
)
def test_optimisers_take_a_few_operations_per_parameter(kind, each):
    """The variable may be a reference, or a resource without a shape."""
    gradient = (300, 50)
    scalar = ()
    assert count("Apply" + kind, [gradient, gradient, scalar, gradient], [gradient]) == each * 15_000
    assert count("ResourceApply" + kind, [None, None, scalar, scalar, gradient], []) == each * 15_000


@pytest.mark.parametrize(
    "kind",
    [
        "Reshape",
        "Identity",
        "Switch",
        "aten.view.default",
        "Transpose",
        "ConcatV2",
        "GatherV2",
        "aten.embedding.default",
    ]
    + ["Const", "Placeholder", "VariableV2", "Fill", "Shape", "Split", "aten.clone.default", "ScatterUpdate", "_Recv"],
)
def test_what_moves_or_renames_data_computes_nothing(kind):
    """For any shapes."""
    assert count(kind, [(3, 4), None], [None]) == 0


@pytest.mark.parametrize("kind", ["Mystery", "", "While", "PartitionedCall", "Cholesky", "DecodeJpeg"])
def test_what_no_table_knows_is_not_counted(kind):
    """The count is None, never 0; a call's own shapes do not give its operations."""
    assert count(kind, [(3, 4)], [(3, 4)]) is None


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs"),
    [
        ("MatMul", [(), ()], [None]),
        ("Conv2D", [(1, 8, 8, 3)], [(1, 6, 6, 4)]),
        ("Conv2D", [(1, 8, 8, 3), (3, 3, 3, 4)], [None]),
        ("Attention", [(1, 2, 5, 4), (2, 5, 4), (2, 5, 4)], []),
        ("LSTM", [(5, 3, 7), None, (1, 16, 4)], []),
        ("aten.lstm.input", [(5, 3, 7), (1, 3, 4), None], []),
        ("Relu", [], []),
        ("Sum", [None], [(3,)]),
        ("MaxPool", [None], [None]),
        ("ResourceApplyAdam", [None, None], []),
    ],
)
def test_without_the_shapes_that_matter_nothing_is_counted(kind, inputs, outputs):
    """The count is None, so that callers can report it."""
    assert count(kind, inputs, outputs) is None


def test_other_kinds_by_hand():
    """Normalisation, softmax, sorting, transforms, scatter, random numbers."""
    x = (4, 8)
    assert count("FusedBatchNormV3", [x, (8,), (8,)], [x]) == 8 * 32
    assert count("FusedBatchNormV3", [x, (8,), (8,)], [x], {"is_training": False}) == 4 * 32
    assert count("aten.native_layer_norm_backward.default", [x, x], [x]) == 11 * 32
    assert count("LRN", [x], [x], {"depth_radius": 2}) == 13 * 32
    assert count("Softmax", [x], [x]) == 5 * 32
    assert count("aten._softmax_backward_data.default", [x, x], [x]) == 4 * 32
    assert count("L2Loss", [x], [()]) == count("aten.linalg_vector_norm.default", [x], [()]) == 2 * 32
    assert count("aten.var_mean.correction", [x], [(4,), (4,)]) == 4 * 32
    assert count("SoftmaxCrossEntropyWithLogits", [x, x], [(4,), x]) == 8 * 32
    assert count("LRNGrad", [x, x, x], [x], {"depth_radius": 5}) == count("LRNGrad", [x, x, x], [x]) == 2 * 25 * 32
    assert count("BatchNormalization", [x, (8,), (8,), (8,), (8,)], [x]) == 4 * 32
    assert count("BatchNormalization", [x, (8,), (8,), (8,), (8,)], [x], {"training_mode": 1}) == 8 * 32
    assert count("TopKV2", [(3, 1), ()], [(3, 1)]) == 3
    assert count("aten.sort.default", [x], [x, x], {"dim": 0}) == 32 * 2
    assert count("DFT", [x], [x], {"axis": 0}) == 5 * 32 * 2
    assert count("TopKV2", [x, ()], [(4, 2), (4, 2)]) == 32 * 3
    assert count("FFT", [x], [x]) == 5 * 32 * 3
    assert count("FFT2D", [x], [x]) == 5 * 32 * log2(32)
    assert count("RFFT", [x, (1,)], [(4, 5)]) == count("IRFFT", [(4, 5), (1,)], [x]) == 5 * 32 * 3
    assert count("RFFT2D", [(9, 4, 3), (2,)], [(9, 4, 5)]) == 5 * 9 * 32 * 5, "padded to 8"
    assert count("aten._fft_c2r.default", [(4, 5)], [x], {"dim": [1]}) == 5 * 32 * 3
    assert count("RandomUniform", [(2,)], [x]) == 32
    assert count("aten.embedding_dense_backward.default", [x, (4,)], [(100, 8)]) == 32
    assert count("ScatterND", [(9, 8), (4, 1), x], [(9, 8)], {"reduction": "add"}) == 32
    assert count("ScatterND", [(9, 8), (4, 1), x], [(9, 8)], {"reduction": "none"}) == 0
    assert count("ResourceScatterAdd", [None, (4,), x], []) == 32
    assert count("SparseSegmentSumGrad", [x, (9,), (9,), ()], [(100, 8)]) == 32
    assert count("aten.index_put.default", [(9, 8), (4,), x], [(9, 8)]) == 0
    assert count("aten.index_put_.default", [(9, 8), (4,), x], [(9, 8)], {"accumulate": True}) == 32
    assert count("aten.nll_loss_backward.default", [(), x, (4,)], [x], {"reduction": 1}) == 0


# -------------------------------------------------------------------- laws

ALL = sorted({kind for row in TABLE.values() for kind in row.split()})
SCALED = (  # kind, shapes of inputs and outputs per sample, shapes that all samples share, attributes
    ("MatMul", [(1, 6)], [(6, 5)], [(1, 5)]),
    ("Conv2D", [(1, 8, 8, 3)], [(3, 3, 3, 4)], [(1, 6, 6, 4)]),
    ("aten.convolution.default", [(1, 3, 8, 8)], [(4, 3, 3, 3)], [(1, 4, 6, 6)]),
    ("aten.scaled_dot_product_attention.default", [(1, 2, 5, 4)] * 3, [], [(1, 2, 5, 4)]),
    ("Relu", [(1, 7)], [], [(1, 7)]),
    ("Mean", [(1, 7)], [(1,)], [(1,)]),
    ("FusedBatchNormV3", [(1, 4, 4, 3)], [(3,)], [(1, 4, 4, 3)]),
    ("Softmax", [(1, 9)], [], [(1, 9)]),
    ("MaxPool", [(1, 4, 4, 3)], [], [(1, 2, 2, 3)]),
)


@given(st.sampled_from(SCALED), st.integers(1, 64))
def test_operations_grow_with_the_batch(case, batch):
    """n samples cost n times one."""
    kind, samples, shared, outputs = case
    grown = [[(batch * first, *rest) for first, *rest in group] for group in (samples, outputs)]
    one = count(kind, [*samples, *shared], outputs)
    assert one > 0
    assert count(kind, [*grown[0], *shared], grown[1]) == batch * one


LENGTHS = st.one_of(st.integers(0, 2**40), st.none(), st.integers(-2, -1))
ANY_SHAPE = st.one_of(st.none(), st.lists(LENGTHS, max_size=5).map(tuple))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**400), 10**400), st.floats(), st.text(max_size=8), st.binary(max_size=4)
)
NAMES = [
    "equation",
    "ksize",
    "kernel_shape",
    "kernel_size",
    "transpose_a",
    "transB",
    "output_mask",
    "size",
    "depth_radius",
]
NAMES += ["dim", "axis", "is_training", "transposed", "reduction", "accumulate"]
ATTRIBUTES = st.dictionaries(st.sampled_from(NAMES), st.one_of(VALUES, st.lists(VALUES, max_size=4)), max_size=3)


@given(st.sampled_from(ALL), st.lists(ANY_SHAPE, max_size=6), st.lists(ANY_SHAPE, max_size=3), ATTRIBUTES)
def test_a_count_is_none_or_finite_and_not_negative(kind, inputs, outputs, attributes):
    """For any shapes and attributes in a file."""
    found = count(kind, inputs, outputs, attributes)
    assert found is None or (isinstance(found, float) and 0 <= found < float("inf"))


# -------------------------------------------------------------------- what libraries count


@given(sizes, sizes, sizes, sizes)
def test_pytorch_counts_the_same_products(batch, m, n, k):
    """``torch.utils.flop_counter`` on the same shapes."""
    table = torch_formulas()
    cases = {
        "mm": [(m, k), (k, n)],
        "addmm": [(n,), (m, k), (k, n)],
        "bmm": [(batch, m, k), (batch, k, n)],
        "baddbmm": [(batch, m, n), (batch, m, k), (batch, k, n)],
    }
    for name, inputs in cases.items():
        assert count(f"aten.{name}.default", inputs, [None]) == table[name](*inputs), name


@given(sizes, sizes, sizes, st.integers(1, 3), st.integers(4, 8), st.integers(1, 3), st.booleans())
def test_pytorch_counts_the_same_convolutions(batch, ins, outs, kernel, length, dimensions, transposed):
    """Forward and backward in one to three dimensions. Of grouped ones PyTorch counts the filter's gradient as if dense."""
    table = torch_formulas()
    space = (length,) * dimensions
    result = (length + (kernel - 1 if transposed else 1 - kernel),) * dimensions
    x = (batch, ins, *space)
    y = (batch, outs, *result)
    w = ((ins, outs) if transposed else (outs, ins)) + (kernel,) * dimensions
    rest = [None, [1], [0], [1], transposed, [0], 1]
    forward = table["convolution"](x, w, *rest[:5], out_val=y)
    assert count("aten.convolution.default", [x, w], [y], {"transposed": transposed}) == forward
    for mask in ([True, True, True], [True, False, False], [False, True, False]):
        backward = table["convolution_backward"](y, x, w, *rest[:5], rest[5], 1, mask, out_val=(x, w, (outs,)))
        attributes = {"transposed": transposed, "output_mask": mask}
        assert count("aten.convolution_backward.default", [y, x, w], [x, w, (outs,)], attributes) == backward


@given(sizes, sizes, sizes, sizes, sizes, sizes)
def test_pytorch_counts_the_same_attention(batch, heads, queries, keys, depth, value_depth):
    """Forward and backward; depths of keys and values may differ."""
    table = torch_formulas()
    q = (batch, heads, queries, depth)
    k = (batch, heads, keys, depth)
    v = (batch, heads, keys, value_depth)
    out = (batch, heads, queries, value_depth)
    name = "_scaled_dot_product_flash_attention"
    assert count(f"aten.{name}.default", [q, k, v], [out]) == table[name](q, k, v)
    assert count(f"aten.{name}_backward.default", [out, q, k, v], [q, k, v]) == table[f"{name}_backward"](out, q, k, v)


def torch_formulas():
    """PyTorch's own formulas by the op's bare name; they take shapes."""
    pytest.importorskip("torch")
    from torch.utils.flop_counter import flop_registry

    return {str(op).removeprefix("aten."): formula for op, formula in flop_registry.items()}


def test_pytorch_counts_the_same_for_a_whole_training_step():
    """Every kernel that a small encoder layer runs, forward and backward, by its name and the shapes it is called with."""
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from torch.utils.flop_counter import FlopCounterMode

    class Counted(TorchDispatchMode):
        total = 0.0
        unknown = frozenset()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            into, outof = ([tuple(t.shape) for t in tree_leaves(each) if hasattr(t, "shape")] for each in (args, out))
            names = (argument.name for argument in func._schema.arguments)
            plain = {n: a for n, a in zip(names, args, strict=False) if isinstance(a, (int, float, list))}
            found = count(str(func), into, outof, plain)
            self.unknown |= {str(func)} if found is None else set()
            self.total += (found or 0.0) if category(str(func)) in PRODUCTS else 0.0
            return out

    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)
    head = torch.nn.Conv1d(16, 8, 3)
    batch = torch.randn(2, 8, 16, requires_grad=True)

    def step():
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            head(layer(batch).transpose(1, 2)).sum().backward()

    with FlopCounterMode(display=False) as theirs:
        step()
    with Counted() as ours:
        step()
    assert ours.unknown == set()
    assert ours.total == theirs.get_total_flops() > 0


# -------------------------------------------------------------------- what is published


@pytest.mark.parametrize(
    ("model", "billions"), [("vgg19", 19.63), ("densenet121", 2.83), ("squeezenet", 0.35), ("inception_v1", 1.5)]
)
def test_models_inside_the_onnx_package_take_the_multiplications_that_are_published(model, billions):
    """Multiply-adds per image as PyTorch's model zoo states them for the same architectures, rounded as there."""
    onnx = pytest.importorskip("onnx")
    from placelab.formats.onnx import model_proto

    path = Path(onnx.__file__).parent / f"backend/test/data/light/light_{model}.onnx"
    if not path.exists():
        pytest.skip(f"this onnx package has no {path.name}")
    graph = model_proto.read(path)
    products = [category(kind) in PRODUCTS for kind in graph.kind]
    assert graph.compute[products].sum() / 2e9 == pytest.approx(billions, rel=0.05)
