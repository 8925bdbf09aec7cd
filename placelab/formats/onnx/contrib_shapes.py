"""Shapes of the outputs of ops that ONNX's inference does not know: those of com.microsoft, and GroupNormalization.

The rules are those of ONNX Runtime's documentation of its contributed operators. They run in the process of
:mod:`placelab.formats.onnx.shape_inference`, where placelab's other modules are not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np

# ONNX Runtime's; the second is of models that it has optimised for a processor, with channels in blocks.
DOMAINS = ("com.microsoft", "com.microsoft.nchwc")
# Number types of TensorProto.DataType
FLOAT = 1
UINT8 = 2
INT32 = 6
# Not Microsoft's.
OF_ONNX = (
    "GroupNormalization",
    "LayerNormalization",
    "RMSNormalization",
    "SimplifiedLayerNormalization",
)
Shape = tuple[int, ...]
Output = tuple[int, Shape]  # type and shape


class Op(NamedTuple):
    """A node with what is known of its inputs; None: unknown, or not given."""

    kind: str
    attributes: Mapping[str, Any]
    types: Sequence[int | None]
    shapes: Sequence[Shape | None]
    values: Sequence[np.ndarray | None]

    def shape(self, i: int) -> Shape:
        """The shape of input `i`; ValueError if it is unknown."""
        found = self.shapes[i] if i < len(self.shapes) else None
        if found is None:
            raise ValueError
        return found

    def has(self, i: int) -> bool:
        """Whether the shape of input `i` is known."""
        return i < len(self.shapes) and self.shapes[i] is not None

    def type(self, *numbers: int) -> int:
        """The type of the first of these inputs that has one, else float."""
        return next((self.types[i] or FLOAT for i in numbers if i < len(self.types) and self.types[i]), FLOAT)

    def value(self, i: int) -> int | None:
        """The one number that input `i` holds, if it is known."""
        found = self.values[i] if i < len(self.values) else None
        return int(found.ravel()[0]) if found is not None and found.size == 1 else None

    def number(self, name: str, default: int | None = None) -> int:
        """An attribute; ValueError without one and a default."""
        found = self.attributes.get(name, default)
        if found is None:
            raise ValueError
        return int(found)


Rule = Callable[[Op], "list[Output | None]"]


def outputs_of(op: Op) -> list[Output | None]:
    """Type and shape of each output as far as a rule tells; [] for an op without a rule, or whose inputs do not fit it."""
    rule = RULES.get(op.kind)
    try:
        found = rule(op) if rule else []
    except (ValueError, TypeError, LookupError, ArithmeticError):  # an input is unknown or does not fit
        return []
    return [output if output and all(size >= 0 for size in output[1]) else None for output in found]


def _same(op: Op) -> list[Output | None]:
    return [(op.type(0), op.shape(0))]


def _floats(op: Op) -> list[Output | None]:
    """As the first input, in floating point: the type of the scale in input 1."""
    return [(op.type(1), op.shape(0))]


def _quantized(op: Op) -> list[Output | None]:
    """As the first input, in the type of the zero point in input 2."""
    return [(op.type(2) if op.type(2) != FLOAT else UINT8, op.shape(0))]


def _masked(op: Op) -> list[Output | None]:
    """Dropout with its mask."""
    return [(op.type(0), op.shape(0)), (9, op.shape(0))]


def _packed_mask(op: Op) -> list[Output | None]:
    """Dropout with a mask of bits."""
    return [(op.type(0), op.shape(0)), (12, (ceil(int(np.prod(op.shape(0))) / 32),))]


def _broadcast(op: Op, numbers: Sequence[int] = (0, 1)) -> list[Output | None]:
    return [(op.type(numbers[0]), np.broadcast_shapes(*map(op.shape, numbers)))]


def _of_inputs(*numbers: int) -> Rule:
    """Elementwise on these inputs, with numpy's broadcasting."""
    return lambda op: _broadcast(op, numbers)


def _normalised(op: Op) -> list[Output | None]:
    """(normalised, mean, inverse deviation, sum of the input and what was skipped)."""
    x = op.shape(0)
    axis = op.number("axis", -1) % len(x)
    row = FLOAT, (*x[:axis], *[1] * (len(x) - axis))
    return [(op.type(0), x), row, row, (op.type(0), x)]


def _twice(op: Op) -> list[Output | None]:
    """The result, and the sum that was normalised."""
    return [(op.type(0), op.shape(0))] * 2


def _split_gelu(op: Op) -> list[Output | None]:
    *rows, width = op.shape(0)
    return [(op.type(0), (*rows, width // 2))]


# -------------------------------------------------------------------- matrix products


def _product(op: Op, i: int = 0, j: int = 1, kind: int | None = None) -> list[Output | None]:
    """numpy's matmul of inputs `i` and `j`, transposed as attributes say."""
    a = list(op.shape(i))
    b = list(op.shape(j))
    attributes = op.attributes
    if attributes.get("transBatchA") and len(a) > 2:
        a = [*a[1:-1], a[0], a[-1]]
    if attributes.get("transBatchB") and len(b) > 2:
        b = [*b[1:-1], b[0], b[-1]]
    if attributes.get("transA") and len(a) > 1:
        a[-2:] = a[:-3:-1]
    if attributes.get("transB") and len(b) > 1:
        b[-2:] = b[:-3:-1]
    batch = np.broadcast_shapes(tuple(a[:-2]), tuple(b[:-2]))
    if a[-1] != b[-2 if len(b) > 1 else -1]:
        raise ValueError
    rows = a[-2:-1] if len(a) > 1 else []
    columns = b[-1:] if len(b) > 1 else []
    return [(kind or op.type(i), (*batch, *rows, *columns))]


def _packed_weight(op: Op) -> list[Output | None]:
    """A weight of a few bits whose shape attributes give: (…, K) → (…, N)."""
    *rows, k = op.shape(0)
    if k != op.number("K", k):
        raise ValueError
    return [(op.type(0), (*rows, op.number("N")))]


def _four_bit_float(op: Op) -> list[Output | None]:
    """A weight (K, N) whose shape is the value of input 3."""
    weight = op.values[3] if len(op.values) > 3 else None
    if weight is None:
        raise ValueError
    return [(op.type(0), (*op.shape(0)[:-1], int(weight[1])))]


def _gathered_blocks(op: Op) -> list[Output | None]:
    """Rows of a table of 4-bit or 8-bit numbers, in the type of the scales."""
    table = list(op.shape(0))
    axis = op.number("gather_axis", 0) % len(table)
    if op.type(0) == UINT8 and op.number("bits", 4) == 4:
        table[-1] *= 2
    table[axis : axis + 1] = op.shape(1)
    return [(op.type(2), tuple(table))]


# -------------------------------------------------------------------- convolutions


def _convolution(op: Op, at: tuple[int, int] = (0, 1), last: bool = False) -> list[Output | None]:
    """ONNX's Conv of inputs `at`; `last`: the channels of the data are last."""
    data = op.shape(at[0])
    weight = op.shape(at[1])
    spatial = data[1:-1] if last else data[2:]
    window = op.attributes.get("kernel_shape") or weight[2:]
    sizes = _slid(spatial, window, op)
    return [(op.type(at[0]), (data[0], *sizes, weight[0]) if last else (data[0], weight[0], *sizes))]


def _slid(spatial: Sequence[int], window: Sequence[int], op: Op) -> list[int]:
    """Lengths of what a window leaves as it moves over data."""
    n = len(spatial)
    strides = op.attributes.get("strides") or [1] * n
    dilations = op.attributes.get("dilations") or [1] * n
    pads = op.attributes.get("pads") or [0] * 2 * n
    auto = op.attributes.get("auto_pad", b"NOTSET")
    if not len(window) == len(strides) == len(dilations) == n or len(pads) != 2 * n or min(strides, default=1) < 1:
        raise ValueError
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        return [ceil(size / step) for size, step in zip(spatial, strides, strict=True)]
    up = op.attributes.get("ceil_mode", 0)
    lengths = []
    for i, size in enumerate(spatial):
        room = size + pads[i] + pads[n + i] - dilations[i] * (window[i] - 1) - 1
        lengths.append((ceil(room / strides[i]) if up else room // strides[i]) + 1)
    return lengths


def _pooled(op: Op) -> list[Output | None]:
    """Pooling of the spatial dimensions, in the middle if the channels are last."""
    data = op.shape(0)
    last = op.kind == "NhwcMaxPool" or bool(op.attributes.get("channels_last"))
    sizes = _slid(data[1:-1] if last else data[2:], op.attributes["kernel_shape"], op)
    return [(op.type(0), (data[0], *sizes, data[-1]) if last else (*data[:2], *sizes))]


def _global_pool(op: Op) -> list[Output | None]:
    data = op.shape(0)
    ones = [1] * (len(data) - 2)
    return [(op.type(0), (data[0], *ones, data[-1]) if op.attributes.get("channels_last") else (*data[:2], *ones))]


def _reordered(op: Op) -> list[Output | None]:
    """Channels into blocks, as which they count here, and back, so many of them as the model has."""
    data = op.shape(0)
    last = bool(op.attributes.get("channels_last"))
    if op.kind == "ReorderInput":
        return [(op.type(0), (data[0], data[-1], *data[1:-1]) if last else data)]
    channels = op.number("channels")
    return [(op.type(0), (data[0], *data[2:], channels) if last else (data[0], channels, *data[2:]))]


def _quantized_convolution(op: Op) -> list[Output | None]:
    (_, shape), *_ = _convolution(op, (0, 3), bool(op.attributes.get("channels_last")))  # type: ignore[misc]
    return [(op.type(7), shape)]


def _reduced(op: Op) -> list[Output | None]:
    data = op.shape(0)
    axes = {axis % len(data) for axis in op.attributes.get("axes", range(len(data)))}
    kept = op.attributes.get("keepdims", 1)
    return [(op.type(0), tuple(1 if i in axes else n for i, n in enumerate(data) if kept or i not in axes))]


def _concatenated(op: Op) -> list[Output | None]:
    """Inputs 2, 5, 8 …; each is followed by its scale and zero point."""
    parts = [op.shape(i) for i in range(2, len(op.shapes), 3)]
    axis = op.number("axis") % len(parts[0])
    whole = sum(part[axis] for part in parts)
    return [(op.type(2), (*parts[0][:axis], whole, *parts[0][axis + 1 :]))]


# -------------------------------------------------------------------- attention


def _attention(op: Op) -> list[Output | None]:
    """(batch, sequence, width) with one matrix of weights for queries, keys and values; present state."""
    *rows, _ = op.shape(0)
    widths = op.attributes.get("qkv_hidden_sizes") or [op.shape(1)[1] // 3] * 3
    found: list[Output | None] = [(op.type(1 if op.kind != "QAttention" else 3), (*rows, int(widths[2])))]
    heads = op.number("num_heads", 0)
    past = 8 if op.kind == "QAttention" else 4
    if heads and len(rows) == 2:
        before = op.shape(past)[3] if op.has(past) else 0
        found.append((found[0][0], (2, rows[0], heads, before + rows[1], int(widths[1]) // heads)))  # type: ignore[index]
    return found


def _heads(op: Op) -> list[Output | None]:
    """Queries, keys and values apart, packed (batch, sequence, heads, 3, depth), or keys with values."""
    query = op.shape(0)
    heads = op.number("num_heads")
    if len(query) == 5:
        batch = query[0]
        length = query[1]
        depth = query[4]
        width = heads * query[4]
        keys = query[1]
    else:
        batch, length, width = query
        depth = width // heads
        key = op.shape(1) if op.has(1) else query
        keys = key[2] if len(key) == 4 else key[1]
        if op.has(2):
            width = op.shape(2)[1] * op.shape(2)[3] if len(op.shape(2)) == 4 else op.shape(2)[2]
    past = 5 if op.kind.startswith("Decoder") else 6
    if op.kind.startswith("Decoder") and op.has(past):  # the past has room for the present
        total = op.shape(past)[2] if op.attributes.get("past_present_share_buffer") else op.shape(past)[2] + keys
    else:
        total = keys + (op.shape(past)[2] if op.has(past) else 0)
    kind = op.type(0)
    return [
        (kind, (batch, length, width)),
        (kind, (batch, heads, total, depth)),
        (kind, (batch, heads, total, width // heads)),
    ]


def _grouped(op: Op) -> list[Output | None]:
    """Fewer heads of keys and values than of queries; without keys, all three are packed in the first input."""
    batch, length, width = op.shape(0)
    heads = op.number("num_heads")
    groups = op.number("kv_num_heads")
    depth = width // heads if op.has(1) else width // (heads + 2 * groups)
    before = op.shape(3)[2] if op.has(3) else 0
    total = op.value(6)  # total_sequence_length: a past of that length has room for the present
    after = before + length if total is None else max(before, total)
    present = op.type(3, 0), (batch, groups, after, depth)
    return [(op.type(0), (batch, length, heads * depth)), present, present]


def _packed(op: Op) -> list[Output | None]:
    """Tokens of a batch without padding."""
    x = op.shape(0)
    if op.kind == "PackedAttention":
        widths = op.attributes.get("qkv_hidden_sizes") or [op.shape(1)[1] // 3] * 3
        return [(op.type(0), (x[0], int(widths[2])))]
    if len(x) == 4:  # (tokens, heads, 3, depth)
        return [(op.type(0), (x[0], x[1] * x[3]))]
    return [(op.type(0), (x[0], op.shape(2)[-1] if op.has(2) else x[1]))]


def _rotated(op: Op) -> list[Output | None]:
    return [(op.type(1), op.shape(1)), (op.type(3), op.shape(3))]  # queries and keys; input 0 has the angles


def _position_bias(op: Op) -> list[Output | None]:
    """(1, heads, queries, keys) of a table (buckets, heads)."""
    queries = op.value(1)
    keys = op.value(2)
    if queries is None or keys is None:
        raise ValueError
    return [(op.type(0), (1, op.shape(0)[1], queries, keys))]


def _gated_position_bias(op: Op) -> list[Output | None]:
    batch, length = op.shape(0)[:2]
    return [(op.type(0), (batch, op.number("num_heads"), length, length))]


def _embedded(op: Op) -> list[Output | None]:
    """Ids (batch, sequence), segments, table of words (words, width): normalised sum of embeddings, mask, sum."""
    ids = op.shape(0)
    width = op.shape(2)[-1]
    kind = op.type(2) if op.kind == "EmbedLayerNormalization" else FLOAT
    return [(kind, (*ids, width)), (INT32, ids[:1]), (kind, (*ids, width))]


# -------------------------------------------------------------------- others


def _spectrum(op: Op) -> list[Output | None]:
    """Real numbers to complex ones, written as pairs; the last `signal_ndim` dimensions are transformed."""
    *rows, length = op.shape(0)
    return [(op.type(0), (*rows, length // 2 + 1 if op.number("onesided", 1) else length, 2))]


def _signal(op: Op) -> list[Output | None]:
    *rows, length, _pair = op.shape(0)
    return [(op.type(0), (*rows, 2 * (length - 1) if op.number("onesided", 1) else length))]


def _distances(op: Op) -> list[Output | None]:
    return [(op.type(0), (op.shape(0)[0], op.shape(1)[0]))]


def _expanded(op: Op) -> list[Output | None]:
    axis = op.value(1)
    shape = list(op.shape(0))
    if axis is None:
        raise ValueError
    shape.insert(axis % (len(shape) + 1), 1)
    return [(op.type(0), tuple(shape))]


def _padded(op: Op) -> list[Output | None]:
    pads = op.values[1] if len(op.values) > 1 else None
    x = op.shape(0)
    if pads is None or pads.size != 2 * len(x):
        raise ValueError
    flat = [int(size) for size in pads.ravel()]
    return [(op.type(0), tuple(n + flat[i] + flat[len(x) + i] for i, n in enumerate(x)))]


def _unfolded(op: Op) -> list[Output | None]:
    x = list(op.shape(0))
    axis = op.number("dim", -1)
    size = op.number("size")
    step = op.number("step", 1)
    axis %= len(x)
    x[axis] = (x[axis] - size) // step + 1
    return [(op.type(0), (*x, size))]


def _hashed(op: Op) -> list[Output | None]:
    return [(12 if op.number("positive", 1) else INT32, op.shape(0))]


def _restored(op: Op) -> list[Output | None]:
    """(tokens, width) put back where the offsets (batch, sequence) say."""
    return [(op.type(0), (*op.shape(1), op.shape(0)[-1]))]


def _linear_attention(op: Op) -> list[Output | None]:
    return [(op.type(0), (*op.shape(0)[:2], op.shape(2)[-1])), (op.type(3, 0), op.shape(3)) if op.has(3) else None]


RULES: dict[str, Rule] = (
    dict.fromkeys(
        "BiasAdd BiasGelu BiasSoftmax ComplexMul ComplexMulConj FastGelu Gelu GroupNorm GroupNormalization Inverse "
        "LongformerAttention MoE NGramRepeatBlock QMoE QOrderedGelu QOrderedLayerNormalization "
        "QOrderedLongformerAttention QLinearLeakyRelu QLinearSigmoid QLinearSoftmax QuickGelu RotaryEmbedding "
        "SwiGLU ThresholdedRelu Trilu".split(),
        _same,
    )
    | dict.fromkeys(("LayerNormalization", "SimplifiedLayerNormalization"), _normalised)
    | dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "RMSNormalization"), _normalised)
    | dict.fromkeys(("MatMulNBits", "MatMulBnb4"), _packed_weight)
    | dict.fromkeys(("FusedMatMul", "TransposeMatMul", "GemmFastGelu", "SparseToDenseMatMul"), _product)
    | dict.fromkeys(("FusedMatMulActivation", "MatMulFp8", "GemmFloat8", "FusedGemm"), _product)
    | dict.fromkeys(("Conv", "FusedConv", "CausalConvWithState"), _convolution)
    | dict.fromkeys(("NhwcConv", "NhwcFusedConv"), lambda op: _convolution(op, last=True))
    | dict.fromkeys(("AveragePool", "MaxPool", "QLinearAveragePool", "NhwcMaxPool", "MaxpoolWithMask"), _pooled)
    | dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _global_pool)
    | dict.fromkeys(("ReorderInput", "ReorderOutput"), _reordered)
    | dict.fromkeys(("QLinearAdd", "QLinearMul"), _of_inputs(0, 3))
    | dict.fromkeys(("Attention", "QAttention"), _attention)
    | dict.fromkeys(("MultiHeadAttention", "DecoderMaskedMultiHeadAttention"), _heads)
    | dict.fromkeys(("GroupQueryAttention", "SparseAttention"), _grouped)
    | dict.fromkeys(("PackedAttention", "PackedMultiHeadAttention"), _packed)
    | {
        "BiasDropout": _masked,
        "BiasSplitGelu": _split_gelu,
        "BitmaskBiasDropout": _packed_mask,
        "BitmaskDropout": _packed_mask,
        "CDist": _distances,
        "DecoderAttention": _same,
        "DecoderMaskedSelfAttention": _attention,
        "DequantizeLinear": _floats,
        "DequantizeWithOrder": _floats,
        "DynamicQuantizeMatMul": _product,
        "EmbedLayerNormalization": _embedded,
        "ExpandDims": _expanded,
        "GatedRelativePositionBias": _gated_position_bias,
        "GatherBlockQuantized": _gathered_blocks,
        "GemmaRotaryEmbedding": _rotated,
        "Irfft": _signal,
        "LinearAttention": _linear_attention,
        "MatMulFpQ4": _four_bit_float,
        "MatMulInteger16": lambda op: _product(op, kind=INT32),
        "MatMulIntegerToFloat": lambda op: _product(op, kind=op.type(2)),
        "MulInteger": lambda op: [(INT32, np.broadcast_shapes(op.shape(0), op.shape(2)))],
        "MurmurHash3": _hashed,
        "Pad": _padded,
        "QGemm": lambda op: _product(op, 0, 3, op.type(8)),
        "QLinearConcat": _concatenated,
        "QLinearConv": _quantized_convolution,
        "QLinearGlobalAveragePool": _global_pool,
        "QLinearReduceMean": _reduced,
        "QLinearWhere": lambda op: [(op.type(1), np.broadcast_shapes(*map(op.shape, (0, 1, 4))))],
        "QOrderedAttention": lambda op: [(op.type(0), (*op.shape(0)[:-1], op.shape(7)[-1]))],
        "QOrderedMatMul": lambda op: _product(op, 0, 2),
        "QuantizeLinear": _quantized,
        "QuantizeWithOrder": lambda op: [(3, op.shape(0))],
        "RelativePositionBias": _position_bias,
        "RestorePadding": _restored,
        "Rfft": _spectrum,
        "SkipGroupNorm": _twice,
        "UnfoldTensor": _unfolded,
    }
)
