"""Shapes of the outputs of TensorFlow ops that follow from the shapes of their inputs, and from inputs that are known numbers.

A rule gets an op as an :class:`Applied` and returns a shape per output; it raises :class:`Unknown` if it cannot know it, or
leaves -1. Those of images are in :mod:`placelab.formats.tensorflow.image_shapes`. Where an op computes sizes (``Shape``,
``Pack``, ``StridedSlice`` …) ``VALUES`` of :mod:`placelab.formats.tensorflow.known_numbers` has what it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import zip_longest
from math import prod

from placelab.formats.contractions import Unknown, indices_of
from placelab.formats.tensorflow.image_shapes import (
    batch_blocks,
    depth_blocks,
    normalised,
    per_channel,
    resized,
    times,
    windowed,
    windowed_twice,
)
from placelab.formats.tensorflow.known_numbers import LARGEST, MALFORMED, MAX_RANK, Applied, Known, Shapes
from placelab.formats.tensorflow.nodes import Shape

Dimensions = tuple[int, ...]
Rule = Callable[[Applied], Shapes]


def shapes_of(op: Applied) -> Shapes:
    """Shapes of the outputs of an op, () if none is known."""
    rule = RULES.get(op.node.kind)
    if rule is None:
        return ()
    try:
        return tuple([_checked(shape) for shape in rule(op)])
    except MALFORMED:
        return ()


def _checked(shape: Shape) -> Shape:
    return shape if shape is None or (len(shape) <= MAX_RANK and all(-1 <= n <= LARGEST for n in shape)) else None


def _one(rule: Callable[[Applied], Shape]) -> Rule:
    """A rule for the first output."""
    return lambda op: (rule(op),)


def _axis(axis: int, rank: int) -> int:
    """A dimension's number counted from the front."""
    if not -rank <= axis < rank:
        raise Unknown
    return axis % rank


# -------------------------------------------------------------------- elementwise


def _first(op: Applied) -> Shape:
    return op.shape()


def _all(op: Applied) -> Shapes:
    """Each output is like the input of its number."""
    return op.shapes


def _twice(op: Applied) -> Shapes:
    return (op.shape(),) * 2


def _broadcast(op: Applied) -> Shape:
    return reduce(wider, map(op.shape, range(len(op.shapes))))


def wider(a: Dimensions, b: Dimensions) -> Dimensions:
    """Shape of an elementwise op on two shapes.

    >>> wider((8, 1, 3), (5, -1))
    (8, 5, 3)
    """
    pairs = zip_longest(reversed(a), reversed(b), fillvalue=1)
    return tuple(reversed([_wider(*pair) for pair in pairs]))


def _wider(a: int, b: int) -> int:
    if a == b or 1 in (a, b):
        return a if b == 1 else b
    if -1 not in (a, b):
        raise Unknown
    return max(a, b) or -1  # the other one is unknown: then it is the same, or 1


def _merged(shapes: Iterable[Shape]) -> Dimensions:
    """The shape that all have, a dimension known if one has it."""
    found: Shape = None
    for shape in shapes:
        if shape is None or (found is not None and len(found) != len(shape)):
            raise Unknown
        if found is not None and any(a != b and -1 not in (a, b) for a, b in zip(found, shape, strict=True)):
            raise Unknown
        found = shape if found is None else tuple(map(max, found, shape))
    if found is None:
        raise Unknown
    return found


def _joined(op: Applied) -> Shapes:
    """The value of whichever branch ran: what their shapes have in common."""
    data = [text for text in op.node.inputs if not text.startswith("^")]
    shapes = [op.shape(i) for i in range(len(op.shapes))]
    if len(shapes) != len(data) or len({len(shape) for shape in shapes}) != 1:  # a loop's edge back is not here
        return None, ()
    return tuple([sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*shapes, strict=True)]), ()


def _chosen(op: Applied) -> Shape:
    return _merged(op.shapes[1:])


# -------------------------------------------------------------------- products, and shapes that are given


def _matmul(op: Applied) -> Shape:
    a = op.shape(0)
    b = op.shape(1)
    if min(len(a), len(b)) < 2:
        raise Unknown
    rows = a[-1] if op.flag("transpose_a") or op.flag("adj_x") else a[-2]
    columns = b[-2] if op.flag("transpose_b") or op.flag("adj_y") else b[-1]
    return (*wider(a[:-2], b[:-2]), rows, columns)


def _einsum(op: Applied) -> Shape:
    shapes = [tuple([LARGEST if size < 0 else size for size in op.shape(i)]) for i in range(len(op.shapes))]
    _, result, lengths = indices_of(op.node.attributes.get("equation"), shapes)
    return tuple([-1 if lengths[index] == LARGEST else lengths[index] for index in result])


def _given(i: int) -> Callable[[Applied], Shape]:
    """The shape that an input says."""
    return lambda op: op.dims(i)


def _loss(op: Applied) -> Shapes:
    """Loss per row, gradient per logit."""
    logits = op.shape()
    if not op.node.kind.startswith("Sparse"):
        logits = wider(logits, op.shape(1))
    return logits[:-1], logits


# -------------------------------------------------------------------- other shapes of the same elements


def _reshaped(op: Applied) -> Shape:
    """The shape that input 1 says; its one -1, or its one unknown size, follows from the number of elements."""
    wanted = op.entries(1)
    given = op.shapes[0]
    sizes = [-1 if size is None else size for size in wanted]
    if sizes.count(-1) != 1 or given is None:
        return tuple(sizes)
    rest = prod(size for size in sizes if size != -1)
    if given.count(-1) == 1 and prod(size for size in given if size != -1) == rest:
        return tuple(sizes)  # the unknown one is the unknown one
    if -1 in given or rest < 1 or prod(given) % rest:
        return tuple(sizes)
    return tuple([prod(given) // rest if size == -1 else size for size in sizes])


def _transposed(op: Applied) -> Shape:
    shape = op.shape()
    order = op.values[1]
    if order is None:
        return (-1,) * len(shape)
    if sorted(_axis(axis, len(shape)) for axis in order) != list(range(len(shape))):
        raise Unknown
    return tuple([shape[axis] for axis in order])


def _expanded(op: Applied) -> Shape:
    shape = op.shape()
    axis = _axis(op.number(1), len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def _squeezed(op: Applied) -> Shape:
    shape = op.shape()
    axes = {_axis(axis, len(shape)) for axis in op.node.attributes.get("squeeze_dims") or ()}
    if not axes and -1 in shape:
        raise Unknown
    return tuple([size for i, size in enumerate(shape) if (i not in axes if axes else size != 1)])


# -------------------------------------------------------------------- parts and wholes


def _concatenated(op: Applied) -> Shape:
    parts = [op.shape(i) for i in range(len(op.shapes))]
    at, parts = (0, parts[1:]) if op.node.kind == "Concat" else (len(parts) - 1, parts[:-1])
    axis = _axis(op.number(at), len(parts[0]))
    lengths = [part[axis] for part in parts]
    shape = _merged((*part[:axis], 0, *part[axis + 1 :]) for part in parts)
    return (*shape[:axis], -1 if -1 in lengths else sum(lengths), *shape[axis + 1 :])


def _packed(op: Applied) -> Shape:
    shape = _merged(op.shapes)
    axis = _axis(op.flag("axis"), len(shape) + 1)
    return (*shape[:axis], len(op.shapes), *shape[axis:])


def _unpacked(op: Applied) -> Shapes:
    shape = op.shape()
    axis = _axis(op.flag("axis"), len(shape))
    return ((*shape[:axis], *shape[axis + 1 :]),) * len(op.node.types)


def _split(op: Applied) -> Shapes:
    shape = op.shape(1)
    n = len(op.node.types)
    axis = _axis(op.number(0), len(shape))
    length = shape[axis] // n if shape[axis] >= 0 and shape[axis] % n == 0 else -1
    return ((*shape[:axis], length, *shape[axis + 1 :]),) * n


def _split_by_sizes(op: Applied) -> Shapes:
    shape = op.shape()
    sizes = list(op.dims(1))
    axis = _axis(op.number(2), len(shape))
    if sizes.count(-1) == 1 and shape[axis] >= 0 and None not in op.entries(1):
        sizes[sizes.index(-1)] = max(shape[axis] - sum(size for size in sizes if size > 0), -1)
    return tuple([(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes])


def _sliced(op: Applied) -> Shape:
    shape = op.shape()
    begins, sizes = ((None,) * len(shape) if op.values[i] is None else op.entries(i) for i in (1, 2))
    if not len(shape) == len(begins) == len(sizes):
        raise Unknown
    return tuple(
        [
            -1 if n is None or (n < 0 and (length < 0 or begin is None)) else n if n >= 0 else length - (begin or 0)
            for length, begin, n in zip(shape, begins, sizes, strict=True)
        ]
    )


def _strided(op: Applied) -> Shape:
    """Begins, ends and strides per dimension; masks have a bit per entry of these."""
    shape = list(op.shape())
    begins, ends, strides = (op.entries(i) for i in (1, 2, 3))
    masks = {name: op.flag(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    found = list[int]()
    for i, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        has = {name: bool(mask >> i & 1) for name, mask in masks.items()}
        if has["ellipsis"]:
            left = sum(not masks["new_axis"] >> j & 1 for j in range(i + 1, len(begins)))
            hidden = max(len(shape) - left, 0)
            found += shape[:hidden]
            shape = shape[hidden:]
        elif has["new_axis"]:
            found.append(1)
        elif not shape:
            raise Unknown
        else:
            length = shape.pop(0)
            if not has["shrink_axis"]:
                found.append(_part(length, begin, end, stride, has["begin"], has["end"]))
    return (*found, *shape)


def _part(length: int, begin: Known, end: Known, stride: Known, from_start: bool, to_end: bool) -> int:
    """Length of ``begin:end:stride``; -1 if it is not known."""
    if length < 0 or stride is None or (begin is None and not from_start) or (end is None and not to_end):
        return -1
    return len(range(*slice(None if from_start else begin, None if to_end else end, stride).indices(length)))


def _tiled(op: Applied) -> Shape:
    return tuple([times(size, n) for size, n in zip(op.shape(), op.entries(1), strict=True)])


def _padded(op: Applied) -> Shape:
    shape = op.shape()
    pads = op.values[1]
    if pads is None:
        return (-1,) * len(shape)
    return tuple(
        [
            -1 if size < 0 or before is None or after is None else size + before + after
            for size, (before, after) in zip(shape, pads, strict=True)
        ]
    )


def _gathered(op: Applied) -> Shape:
    table = op.shape(0)
    indices = op.shape(1)
    rows = op.flag("batch_dims")
    rows = rows + len(indices) if rows < 0 else rows
    axis = _axis(op.number(2), len(table)) if op.node.kind == "GatherV2" else rows
    if not 0 <= rows <= min(axis, len(indices)) or axis >= len(table):
        raise Unknown
    return (*table[:axis], *indices[rows:], *table[axis + 1 :])


def _gathered_nd(op: Applied) -> Shape:
    table = op.shape(0)
    indices = op.shape(1)
    if not 0 <= indices[-1] <= len(table):
        raise Unknown
    return (*indices[:-1], *table[indices[-1] :])


def _one_hot(op: Applied) -> Shape:
    shape = op.shape()
    axis = _axis(op.node.attributes.get("axis", -1), len(shape) + 1)
    depth = op.values[1] if isinstance(op.values[1], int) else -1
    return (*shape[:axis], depth, *shape[axis:])


def _largest(op: Applied) -> Shapes:
    n = op.flag("k") if op.node.kind == "TopK" else op.values[1]
    return ((*op.shape()[:-1], n if isinstance(n, int) else -1),) * 2


# -------------------------------------------------------------------- fewer dimensions


def _reduced(op: Applied) -> Shape:
    shape = op.shape()
    axes = op.values[1]
    kept = op.flag("keep_dims")
    if axes is None:
        if not kept:
            raise Unknown
        return (-1,) * len(shape)
    gone = {_axis(axis, len(shape)) for axis in (axes if isinstance(axes, tuple) else (axes,))}
    return tuple([1 if i in gone else size for i, size in enumerate(shape) if kept or i not in gone])


def _without_axis(op: Applied) -> Shape:
    shape = op.shape()
    axis = _axis(op.number(1), len(shape))
    return (*shape[:axis], *shape[axis + 1 :])


# -------------------------------------------------------------------- made of numbers


def _scalar(op: Applied) -> Shape:
    return ()


def _shapes(op: Applied) -> Shapes:
    return tuple([(-1 if shape is None else len(shape),) for shape in op.shapes])


def _range(op: Applied) -> Shape:
    values = op.values[:3]
    if any(not isinstance(value, int) for value in values):
        return (-1,)
    return (len(range(*values)),)


def _spaced(op: Applied) -> Shape:
    return (op.number(2),)


def _sampled(op: Applied) -> Shape:
    return (op.shape()[0], op.values[1] if isinstance(op.values[1], int) else -1)


# -------------------------------------------------------------------- Fourier transforms


def _spectrum(op: Applied) -> Shape:
    """Of real numbers half of the frequencies; the lengths are input 1."""
    shape = op.shape()
    lengths = list(op.dims(1))
    if not 0 < len(lengths) <= len(shape):
        raise Unknown
    if op.node.kind.startswith("RFFT") and lengths[-1] >= 0:
        lengths[-1] = lengths[-1] // 2 + 1
    return (*shape[: -len(lengths)], *lengths)


def _table(rows: dict[Rule, str]) -> dict[str, Rule]:
    return {kind: rule for rule, kinds in rows.items() for kind in kinds.split()}


RULES: dict[str, Rule] = _table(
    {
        _one(_first): """
            Identity ReadVariableOp Relu Relu6 Elu Selu LeakyRelu Sigmoid Tanh Softplus Softsign Softmax LogSoftmax BiasAdd
            BiasAddV1 Abs Neg Exp Expm1 Log Log1p Sqrt Rsqrt Square Sign Floor Ceil Round Rint Erf Erfc Erfinv Lgamma Digamma
            Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Cast StopGradient PreventGradient Snapshot CheckNumerics
            LRN Enter Exit NextIteration RefEnter RefExit RefIdentity Assign AssignAdd AssignSub ZerosLike OnesLike LogicalNot
            ReluGrad Relu6Grad EluGrad SeluGrad LeakyReluGrad SoftplusGrad SoftsignGrad SigmoidGrad TanhGrad SqrtGrad
            RsqrtGrad InvGrad ReciprocalGrad Reciprocal Inv Invert IsNan IsInf IsFinite Cumsum Cumprod ReverseV2 Reverse
            ReverseSequence Roll ClipByValue MaxPoolGrad MaxPool3DGrad LRNGrad MatrixInverse Cholesky MatrixBandPart RandomShuffle
            FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars PlaceholderWithDefault Conj Real Imag Angle ComplexAbs Bucketize
            InvertPermutation FFT FFT2D FFT3D IFFT IFFT2D IFFT3D AdjustContrastv2 EnsureShape
            MaxPoolGradWithArgmax
        """,
        _all: "IdentityN",
        _twice: "Switch RefSwitch",
        _one(_broadcast): """
            Add AddV2 Sub Mul Div RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod Pow Maximum Minimum SquaredDifference
            Less LessEqual Greater GreaterEqual Equal NotEqual LogicalAnd LogicalOr DivNoNan MulNoNan Xdivy Xlogy Xlog1py Atan2
            BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift ApproximateEqual NextAfter Complex SelectV2 Igamma Igammac
        """,
        _one(lambda op: _merged(op.shapes)): "AddN AccumulateNV2",
        _joined: "Merge RefMerge",
        _one(_chosen): "Select",
        _one(_matmul): "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3",
        _one(_einsum): "Einsum",
        _one(windowed): "Conv2D Conv3D DepthwiseConv2dNative MaxPool AvgPool MaxPool3D AvgPool3D",
        windowed_twice: "MaxPoolWithArgmax",
        _one(_given(0)): """
            Fill Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput AvgPoolGrad AvgPool3DGrad
            StridedSliceGrad RandomUniform RandomStandardNormal RandomUniformInt TruncatedNormal ParameterizedTruncatedNormal
            StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal StatelessRandomUniformInt Empty
            StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2
        """,
        _one(_given(1)): """
            SparseToDense
            BroadcastTo Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter
        """,
        _one(_given(2)): "ScatterNd",
        _one(per_channel): "BiasAddGrad",
        normalised: """
            FusedBatchNorm FusedBatchNormV2 FusedBatchNormGrad FusedBatchNormGradV2
        """,
        _one(resized): "ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea",
        _one(depth_blocks): "SpaceToDepth DepthToSpace",
        _one(batch_blocks): "SpaceToBatchND BatchToSpaceND",
        _loss: "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
        _one(_reshaped): "Reshape",
        _one(_transposed): "Transpose ConjugateTranspose",
        _one(_expanded): "ExpandDims",
        _one(_squeezed): "Squeeze",
        _one(_concatenated): "ConcatV2 Concat",
        _one(_packed): "Pack",
        _unpacked: "Unpack",
        _split: "Split",
        _split_by_sizes: "SplitV",
        _one(_sliced): "Slice",
        _one(_strided): "StridedSlice",
        _one(_tiled): "Tile",
        _one(_padded): "Pad PadV2 MirrorPad",
        _one(_gathered): "Gather GatherV2 ResourceGather",
        _one(_gathered_nd): "GatherNd ResourceGatherNd",
        _one(_one_hot): "OneHot",
        _largest: "TopK TopKV2",
        _one(_reduced): "Sum Mean Max Min Prod All Any EuclideanNorm",
        _one(_without_axis): "ArgMax ArgMin",
        _one(_scalar): "L2Loss Size Rank VarIsInitializedOp IsVariableInitialized LoopCond",
        _shapes: "Shape ShapeN VariableShape",
        _one(_range): "Range",
        _one(_spaced): "LinSpace",
        _one(_sampled): "Multinomial StatelessMultinomial",
        _one(_spectrum): "RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D",
    }
)
# The reserve spaces of version 3 have no fixed size.
RULES |= dict.fromkeys(
    ("FusedBatchNormV3", "FusedBatchNormGradV3"), lambda op: normalised(op)[: 3 if "Grad" in op.node.kind else 5]
)
