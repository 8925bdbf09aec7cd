"""Count the floating-point operations of matrix products; a multiplication and an addition are two.

Matrix products, einsum, convolutions, attention and recurrent cells, forward and backward. Each function takes the op's bare
name, its shapes and its attributes. Adding a bias and applying an activation are not counted: they are O(n) where the product is
O(n·k).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

FACTORS = {  # indices of the two factors among the inputs, if not 0 and 1
    "QLinearMatMul": (0, 3),
    "QGemm": (0, 3),
    "QOrderedMatMul": (0, 2),
    "addmm": (1, 2),
    "addmm_dtype": (1, 2),
    "_addmm_activation": (1, 2),
    "baddbmm": (1, 2),
    "addbmm": (1, 2),
    "addmv": (1, 2),
}
PACKED = {  # weights whose shape is not that of a matrix; the first factor's last dimension is summed over
    "MatMulNBits",
    "MatMulBnb4",
    "MatMulFpQ4",
    "_dyn_quant_matmul_4bit",
    "_weight_int4pack_mm",
    "_weight_int4pack_mm_for_cpu",
    "_mixed_dtypes_linear",
}
FIRST_TRANSPOSED = ("transpose_a", "adj_x", "transA")
SECOND_TRANSPOSED = ("transpose_b", "adj_y", "transB")
# The weight is (out, in).
ROWS_ARE_OUTPUTS = (
    "linear",
    "mkldnn_linear",
    "mkldnn_linear_pointwise",
    "_mkl_linear",
    "_weight_int8pack_mm",
    "inner",
    "linalg_vecdot",
    "CDist",
)
MOST_FACTORS = 100
TENSORFLOW = (
    "Conv2D",
    "Conv3D",
    "DepthwiseConv2dNative",
    "_FusedConv2D",
    "_FusedDepthwiseConv2dNative",
    "_FusedConv3D",
    "QuantizedConv2D",
    "QuantizedDepthwiseConv2D",
)
EXPERTS = {"MoE": (2, 4, 6), "QMoE": (2, 5, 8)}  # indices of the layers' weights
PROJECTED = {  # attention with its own projections: indices of their weights
    "Attention": (1,),
    "QAttention": (1,),
    "PackedAttention": (1,),
    "DecoderMaskedSelfAttention": (1,),
    "LongformerAttention": (1, 4),
    "QOrderedAttention": (5, 6, 7),
}
PAST = {  # index of the keys of earlier tokens
    "Attention": 4,
    "DecoderMaskedSelfAttention": 4,
    "QAttention": 8,
    "MultiHeadAttention": 6,
    "GroupQueryAttention": 3,
    "DecoderMaskedMultiHeadAttention": 5,
}
SEQUENCE_FIRST = ("_flash_attention", "_efficient_attention")  # (batch, sequence, heads, depth)
WEIGHTS = {  # indices of the weight matrices among the inputs
    "BlockLSTM": (4,),
    "BlockLSTMV2": (4,),
    "BlockLSTMGrad": (4,),
    "BlockLSTMGradV2": (4,),
    "LSTMBlockCell": (3,),
    "LSTMBlockCellGrad": (3,),
    "GRUBlockCell": (2, 3),
    "GRUBlockCellGrad": (2, 3),
    "CudnnRNN": (3,),
    "CudnnRNNV2": (3,),
    "CudnnRNNV3": (3,),
    "CudnnRNNBackprop": (3,),
    "CudnnRNNBackpropV2": (3,),
    "CudnnRNNBackpropV3": (3,),
    "mkldnn_rnn_layer": (1, 2),
    "mkldnn_rnn_layer_backward": (1, 2),
    "LSTM": (1, 2),
    "GRU": (1, 2),
    "RNN": (1, 2),
}
Shape = tuple[int, ...] | None  # None: unknown


def matmul(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """2·m·n·k for each pair of matrices (m × k) and (k × n) of a batch.

    >>> matmul("MatMul", [(3, 5), (5, 7)], [(3, 7)], {})
    210.0
    """
    if name in ("Einsum", "einsum"):
        return einsum(attributes.get("equation"), inputs)
    if name in PACKED:
        return 2.0 * size(at(outputs, 0)) * at(inputs, 0)[-1]
    if name in EXPERTS:
        return _experts(name, inputs, attributes)
    if name == "Inverse":
        return 2.0 * size(at(inputs, 0)) * at(inputs, 0)[-1]
    if name in ("ger", "outer"):
        return float(size(at(inputs, 0)) * size(at(inputs, 1)))
    if name.endswith("_backward"):  # (x, gradient, weight) or (gradient, x, other): twice the product of the last two
        return 2 * _products(at(inputs, 1), at(inputs, 2), False, False)
    i, j = FACTORS.get(name, (0, 1))
    first = _maybe(inputs, i)
    second = _maybe(inputs, j)
    turned = any(attributes.get(key) for key in FIRST_TRANSPOSED)
    flipped = any(attributes.get(key) for key in SECOND_TRANSPOSED) or name in ROWS_ARE_OUTPUTS
    summed = name == "addbmm"  # over the batch, which the output lacks
    if outputs and outputs[0] is not None and None not in outputs[0] and not summed:
        return 2.0 * size(outputs[0]) * _contracted(first, second, turned, flipped)
    return _products(first, second, turned, flipped)


def _experts(name: str, inputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """Each row passes through `k` experts, whose weights are stacked in a tensor per layer; quantised, several in a byte."""
    rows = prod(at(inputs, 0)[:-1])
    layers = [at(inputs, i) for i in EXPERTS[name] if _maybe(inputs, i) is not None]
    packed = 8 // int(attributes.get("expert_weight_bits", 4)) if name == "QMoE" else 1
    if len(layers) < 2 or any(not weight or not weight[0] for weight in layers):
        raise Unknown
    return 2.0 * rows * int(attributes.get("k", 1)) * packed * sum(prod(weight[1:]) for weight in layers)


def _maybe(inputs: Sequence[Shape], i: int) -> Shape:
    return inputs[i] if i < len(inputs) else None


def _contracted(first: Shape, second: Shape, first_transposed: bool, second_transposed: bool) -> int:
    """Length of the dimension that is summed over; the shape of one factor suffices."""
    k = None if first is None else first[-2 if first_transposed and len(first) > 1 else -1]
    inner = None if second is None else second[-2 if not second_transposed and len(second) > 1 else -1]
    found = {length for length in (k, inner) if length is not None and length >= 0}
    if len(found) != 1:
        raise Unknown
    return found.pop()


def _products(first: Shape, second: Shape, first_transposed: bool, second_transposed: bool) -> float:
    """2·m·n·k of each pair of matrices, from the shapes of the factors alone."""
    a = list(known(first))
    b = list(known(second))
    if not a or not b:
        raise Unknown
    k = _contracted(first, second, first_transposed, second_transposed)
    m = prod(a[-2:]) // max(k, 1)
    n = prod(b[-2:]) // max(k, 1)
    return 2.0 * prod(broadcast([tuple(a[:-2]), tuple(b[:-2])])) * m * n * k


def einsum(equation: Any, inputs: Sequence[Shape]) -> float:
    """Operations of an einsum evaluated from left to right, each index summed as soon as no later factor has it.

    Each step counts 2 per combination of its indices if an index is summed over, else 1.

    >>> einsum("bij,bjk->bik", [(2, 3, 5), (2, 5, 7)])
    420.0
    """
    terms, result, lengths = indices_of(equation, inputs)
    done = terms[0]
    total = 0.0
    for i, term in enumerate(terms[1:] or [[]], start=1):
        needed = set(result).union(*terms[i + 1 :])
        together = list(dict.fromkeys([*done, *term]))
        done = [index for index in together if index in needed]
        summed = len(done) < len(together)
        work = prod(lengths[index] for index in together)
        total += work * (2.0 if summed and len(terms) > 1 else 1.0 if summed or term else 0.0)
    return total


def indices_of(equation: Any, inputs: Sequence[Shape]) -> tuple[list[list[str]], list[str], dict[str, int]]:
    """Indices of each factor and of the result, and length of each index; an ellipsis is ``…0``, ``…1`` from the right."""
    equation = equation.decode() if isinstance(equation, bytes) else equation
    if not isinstance(equation, str) or len(inputs) > MOST_FACTORS:
        raise Unknown
    left, arrow, right = equation.replace(" ", "").partition("->")
    factors = left.split(",")
    if len(factors) != len(inputs):
        raise Unknown
    terms = [_index_list(text, len(known(shape))) for text, shape in zip(factors, inputs, strict=True)]
    lengths: dict[str, int] = {}
    for term, shape in zip(terms, inputs, strict=True):
        for index, length in zip(term, known(shape), strict=True):
            lengths[index] = max(lengths.get(index, 1), length)
    dots = sorted((index for index in lengths if index[0] == "…"), reverse=True)
    if arrow:
        head, ellipsis, tail = right.partition("...")
        return terms, [*head, *(dots if ellipsis else []), *tail], lengths
    once = [index for index in sorted(lengths) if left.count(index) == 1]
    return terms, [*dots, *once], lengths


def _index_list(text: str, rank: int) -> list[str]:
    head, ellipsis, tail = text.partition("...")
    hidden = rank - len(head) - len(tail)
    if hidden < 0 or (hidden and not ellipsis):
        raise Unknown
    return [*head, *(f"…{hidden - i}" for i in range(hidden)), *tail]


# -------------------------------------------------------------------- convolutions


def convolution(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """2 · (elements of the output) · (elements of the filter per output channel); each input's gradient costs the same.

    Shapes of filters account for groups: (…, in / groups, out) in TensorFlow, (out, in / groups, …) in ONNX and PyTorch. A
    transposed convolution has a filter (in, out / groups, …), and its input counts in place of its output.

    >>> convolution("Conv2D", [(8, 28, 28, 16), (3, 3, 16, 32)], [(8, 28, 28, 32)], {}) == 2 * 8 * 28 * 28 * 32 * 3 * 3 * 16
    True
    """
    if name.startswith(("Conv2DBackprop", "Conv3DBackprop", "DepthwiseConv2dNativeBackprop")):
        return _tensorflow_backward(name, inputs, outputs)
    if name in TENSORFLOW or (name == "Conv" and "data_format" in attributes):  # the Conv of ONNX has no data_format
        return 2.0 * size(at(outputs, 0)) * _per_output(name, at(inputs, 1))
    if name.startswith("convolution_backward"):
        return _aten_backward(inputs, outputs, attributes)
    weight = at(inputs, 3 if name == "QLinearConv" else 1)
    transposed = "ranspose" in name or bool(attributes.get("transposed"))
    return 2.0 * size(at(inputs, 0) if transposed else at(outputs, 0)) * prod(weight[1:])


def _per_output(name: str, weight: tuple[int, ...]) -> int:
    """Products per output element; a depthwise filter is (height, width, channels, multiplier)."""
    return prod(weight[:-2] if "Depthwise" in name else weight[:-1])


def _tensorflow_backward(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> float:
    """(input or its shape, filter or its shape, gradient) → gradient of the input or of the filter."""
    weight = at(outputs, 0) if "Filter" in name else at(inputs, 1)
    return 2.0 * size(at(inputs, 2)) * _per_output(name, weight)


def _aten_backward(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """(gradient, input, weight, …) → those gradients of input, weight and bias that ``output_mask`` selects."""
    mask = attributes.get("output_mask")
    wanted = [bool(m) for m in mask] if mask is not None else [shape is not None for shape in outputs] or [True, True]
    dense = at(inputs, 1) if attributes.get("transposed") else at(inputs, 0)
    return 2.0 * size(dense) * prod(at(inputs, 2)[1:]) * sum(wanted[:2])


# -------------------------------------------------------------------- attention


def attention(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """QKᵀ and the product with V; backward, five such products: the scores again, and the gradients of V, scores, Q and K.

    2·batch·heads·queries·keys·(depth of K + depth of V), backward 2·…·(3·depth of K + 2·depth of V). Causal masks do not
    reduce the count.

    >>> attention("_scaled_dot_product_flash_attention", [(2, 8, 64, 32)] * 3, [], {}) == 4 * 2 * 8 * 64 * 64 * 32
    True
    """
    if name in PROJECTED and len(at(inputs, PROJECTED[name][0])) == 2:
        return _projected(name, inputs, outputs, attributes)
    if name[0].isupper():
        return _with_past(name, inputs, outputs)
    backward = name.endswith("_backward")
    query, key, value = (at(inputs, i + backward) for i in range(3))
    if len(query) != len(key) or len(query) < 3:
        raise Unknown
    depth = query[-1]
    value_depth = value[-1]
    if name.startswith(SEQUENCE_FIRST) and len(query) == 4:
        pairs = query[0] * query[2] * query[1] * key[1]
    else:
        pairs = prod(query[:-1]) * key[-2]
    return 2.0 * pairs * ((3 * depth + 2 * value_depth) if backward else (depth + value_depth))


def _projected(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """Projections of all tokens by the weights, and attention; Longformer's to the tokens in its window on both sides."""
    query = at(inputs, 0)
    width = at(outputs, 0)[-1]
    projections = 2.0 * prod(query[:-1]) * sum(size(at(inputs, i)) for i in PROJECTED[name])
    batch, length = at(inputs, 3) if name == "PackedAttention" else query[:2]
    past = _maybe(inputs, PAST.get(name, -1)) if name in PAST else None
    keys = length + (known(past)[3] if past is not None else 0)
    if name == "LongformerAttention":
        keys = min(2 * int(attributes["window"]) + 1, length)
    depth = (attributes.get("qkv_hidden_sizes") or [width])[0]
    return projections + 2.0 * batch * length * keys * (depth + width)


def _with_past(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> float:
    """ONNX's ops: queries, keys and values packed or apart, with heads in a dimension of their own or not, and earlier keys.

    The depths in (batch, sequence, width) include the heads. The present keys, output 1, have the earlier ones among them.
    """
    query = at(inputs, 0)
    if name == "PackedMultiHeadAttention":
        batch, length = at(inputs, 4)
        depth = query[1] * query[3] if len(query) == 4 else query[-1]
        return 2.0 * batch * length * length * (depth + at(outputs, 0)[-1])
    if len(query) == 4 and len(at(inputs, 1)) == len(at(inputs, 2)) == 4:
        rows = prod(query[:-1])
        depth = query[-1]
        value_depth = at(inputs, 2)[-1]
        own = at(inputs, 1)[-2]
    elif len(query) == 5 or name == "GroupQueryAttention":  # packed; of grouped heads the queries' count
        rows = query[0] * query[1]
        depth = at(outputs, 0)[-1]
        value_depth = at(outputs, 0)[-1]
        own = query[1]
    elif len(query) == 3 and len(at(inputs, 1)) >= 3:
        key = at(inputs, 1)
        rows = query[0] * query[1]
        depth = query[2]
        value_depth = at(outputs, 0)[-1]
        own = key[2] if len(key) == 4 else key[1]
    else:
        raise Unknown
    present = _maybe(outputs, 1)
    past = _maybe(inputs, PAST.get(name, len(inputs)))
    keys = known(present)[2] if present is not None else own + (known(past)[2] if past is not None else 0)
    return 2.0 * rows * keys * (depth + value_depth)


# -------------------------------------------------------------------- recurrent networks


def recurrent(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """2 · (steps · batch) · (elements of the weights of all gates); gradients twice that. Elementwise ops are not counted.

    >>> recurrent("LSTM", [(40, 128, 512), (1, 2048, 512), (1, 2048, 512)], [], {}) == 2 * 40 * 128 * 2 * 2048 * 512
    True
    """
    sequence = at(inputs, 1 if name.startswith("BlockLSTM") else 0)
    backward = "Grad" in name or "ackprop" in name or "ackward" in name
    indices = WEIGHTS.get(name)
    weights = _matrices(name, inputs[1:]) if indices is None else sum(size(at(inputs, i)) for i in indices)
    return 2.0 * prod(sequence[:-1]) * weights * (2 if backward else 1)


def _matrices(name: str, others: Sequence[Shape]) -> int:
    """Elements of PyTorch's weights: all matrices, except the states of a cell, which come first."""
    states = 2 if name == "lstm_cell" else 1 if name.endswith("_cell") else 0
    matrices = [size(shape) for shape in others if shape is None or len(shape) == 2]
    return sum(matrices[states:])


class Unknown(Exception):
    """A shape that matters is unknown or does not fit the op; :func:`count` then returns None."""


def known(shape: Shape) -> tuple[int, ...]:
    """The shape; raise Unknown if it, or the length of one of its dimensions, is unknown."""
    if shape is None or any(length is None or length < 0 for length in shape):
        raise Unknown
    return tuple(shape)


def at(shapes: Sequence[Shape], i: int) -> tuple[int, ...]:
    """Shape number i; raise Unknown if there is none."""
    if not -len(shapes) <= i < len(shapes):
        raise Unknown
    return known(shapes[i])


def size(shape: Shape) -> int:
    """Number of elements; raise Unknown if the shape is unknown."""
    return prod(known(shape))


def largest(shapes: Sequence[Shape]) -> int:
    """Elements of the largest known shape; raise Unknown if none is known."""
    sizes = [prod(shape) for shape in shapes if shape is not None and None not in shape and min(shape, default=0) >= 0]
    if not sizes:
        raise Unknown
    return max(sizes)


def broadcast(shapes: Sequence[Shape]) -> tuple[int, ...]:
    """The common shape of tensors in an elementwise op.

    >>> broadcast([(3, 1), (4,)])
    (3, 4)
    """
    columns = zip_longest(*(reversed(known(shape)) for shape in shapes), fillvalue=1)
    return tuple(0 if 0 in column else max(column) for column in columns)[::-1]
