"""How many bytes does a TensorFlow op put out? From the shapes in the file, and those that follow from them.

Shapes stand in ``_output_shapes`` where the file was written with them (``graph.as_graph_def(add_shapes=True)``, every
SavedModel). Else they are known for constants, inputs and variables, and carried on through ops whose output's shape their
inputs' shapes decide. The first dimension that is unknown is taken to be the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import ceil, prod

from placelab.formats.tensorflow.nodes import Node, Shape
from placelab.formats.tensorflow.op_types import size_of

Source = tuple[int, int]  # op, output
Shapes = tuple[Shape, ...]
VARIABLES = {"VariableV2", "Variable", "VarHandleOp", "TemporaryVariable", "AutoReloadVariable"}
MAX_BYTES = 1e18  # of one tensor: sizes beyond that are mistakes


class Sizes:
    """Shapes and bytes of the outputs of these nodes.

    Attributes
    ----------
    raw, whole : list of tuples of shapes
        Shape of each output of each op, -1 where a dimension is not known; the same with the batch in its place, None where
        that is not all that is missing.
    bytes : list of tuples of float
        Bytes of each output of each op.
    unsized : int
        Number of outputs whose bytes are not known, or only from below: more than one dimension is unknown.
    assumed : int
        Number of outputs of which one dimension was taken to be the batch.
    """

    def __init__(
        self, nodes: Sequence[Node], inputs: Sequence[Sequence[Source]], order: Sequence[int], batch: int | None
    ) -> None:
        self.batch, self.unsized, self.assumed = batch, 0, 0
        n = len(nodes)
        self.raw: list[Shapes] = [()] * n
        self.whole: list[Shapes] = [()] * n
        self.bytes: list[tuple[float, ...]] = [()] * n
        known: dict[tuple, tuple[Shape, float, bool, bool]] = {}
        for v in order:
            node = nodes[v]
            raw = self.raw[v] = node.shapes or self._followed(node, inputs[v])
            rows = []
            for key in zip_longest(node.types, raw[: len(node.types)]):
                row = known.get(key)
                rows.append(row or known.setdefault(key, sized(*key, batch)))
            self.whole[v] = tuple([row[0] for row in rows])
            self.bytes[v] = tuple([row[1] for row in rows])
            self.unsized += sum([row[2] for row in rows])
            self.assumed += sum([row[3] for row in rows])

    def shapes(self, sources: Sequence[Source]) -> Shapes:
        """The whole shapes of these outputs."""
        return tuple([self.whole[u][k] if k < len(self.whole[u]) else None for u, k in sources])

    def _followed(self, node: Node, inputs: Sequence[Source]) -> Shapes:
        if node.holds is not None:
            return (node.holds,)
        rule = RULES.get(node.kind)
        given = [self.raw[u][k] if k < len(self.raw[u]) else None for u, k in inputs]
        if rule is None or None in given[:1] or not given:
            return ()
        shape = rule(given, node)
        return () if shape is None else (shape,)


def sized(kind: int | None, shape: Shape, batch: int | None) -> tuple[Shape, float, bool, bool]:
    """Whole shape and bytes of an output, whether the bytes are not known, whether its batch was assumed."""
    size, whole = size_of(kind), filled(shape, batch)
    if size == 0:
        return whole, 0.0, False, False
    if size is not None and whole is not None:
        total = size * prod(map(float, whole))
        return whole, total if total <= MAX_BYTES else 0.0, total > MAX_BYTES, -1 in shape
    if size is None or shape is None or batch is None:
        return whole, 0.0, True, False
    total = size * prod(map(float, _at_least(shape, batch)))
    return whole, total if total <= MAX_BYTES else 0.0, True, False


def filled(shape: Shape, batch: int | None) -> Shape:
    """A shape whose first unknown dimension is the batch; None when that is not all that is missing.

    >>> filled((28, -1, 128), 32), filled((-1, -1), 32)
    ((28, 32, 128), None)
    """
    if shape is None or -1 not in shape:
        return shape
    at = shape.index(-1)
    return None if batch is None or -1 in shape[at + 1 :] else (*shape[:at], batch, *shape[at + 1 :])


def _at_least(shape: Shape, batch: int) -> Shape:
    """A shape with the batch, and 1 for other dimensions that are not known."""
    at = shape.index(-1)
    return (*shape[:at], batch, *(max(d, 1) if d < 0 else d for d in shape[at + 1 :]))


def held(node: Node) -> float:
    """Bytes of a variable; 0 for other ops."""
    size = size_of(node.element)
    if node.kind not in VARIABLES or node.holds is None or not size or -1 in node.holds:
        return 0.0
    total = size * prod(map(float, node.holds))
    return total if total <= MAX_BYTES else 0.0


# -------------------------------------------------------------------- shapes that follow from shapes


def _same(given: Sequence[Shape], node: Node) -> Shape:
    return given[0]


def _broadcast(given: Sequence[Shape], node: Node) -> Shape:
    """Elementwise on two inputs; None unless every dimension is clear."""
    if len(given) != 2 or given[1] is None:
        return None
    a, b = sorted(given, key=len)
    return (*b[: len(b) - len(a)], *map(_wider, a, b[len(b) - len(a) :]))


def _wider(a: int, b: int) -> int:
    if 1 in (a, b):
        return a if b == 1 else b
    return max(a, b)  # equal, or one is not known: then it must be the other, or 1


def _matmul(given: Sequence[Shape], node: Node) -> Shape:
    if len(given) != 2 or given[1] is None or len(given[0]) != len(given[1]) or len(given[0]) < 2:
        return None
    told = node.attributes
    a, b = given
    rows = a[-1] if told.get("transpose_a") or told.get("adj_x") else a[-2]
    columns = b[-2] if told.get("transpose_b") or told.get("adj_y") else b[-1]
    return (*map(_wider, a[:-2], b[:-2]), rows, columns)


def _windowed(given: Sequence[Shape], node: Node) -> Shape:
    """Convolutions and pooling over the two middle dimensions, or the two last."""
    told, image = node.attributes, given[0]
    pooling = "Pool" in node.kind
    window = told.get("ksize") if pooling else given[1] if len(given) > 1 else None
    strides, padding = told.get("strides"), told.get("padding")
    if (
        len(image) != 4
        or padding not in ("SAME", "VALID")
        or not window
        or not strides
        or len(window) != 4
        or len(strides) != 4
    ):
        return None
    if tuple(told.get("dilations", (1, 1, 1, 1))) != (1, 1, 1, 1) or min(strides) < 1:
        return None
    first = told.get("data_format", "NHWC") == "NHWC"
    channel, places = (3, (1, 2)) if first else (1, (2, 3))
    sizes = [window[p] for p in places] if pooling else window[:2]
    found = list(image)
    for place, size in zip(places, sizes, strict=True):
        found[place] = _steps(image[place], size, strides[place], padding)
    if not pooling:
        found[channel] = window[2] * window[3] if "Depthwise" in node.kind else window[3]
    return tuple(found)


def _steps(length: int, window: int, stride: int, padding: str) -> int:
    if length < 0 or (padding == "VALID" and window < 0):
        return -1
    return max(0, ceil(length / stride) if padding == "SAME" else (length - window) // stride + 1)


SAME = (
    "Identity ReadVariableOp Relu Relu6 Elu Selu LeakyRelu Sigmoid Tanh Softplus Softmax LogSoftmax BiasAdd Abs Neg Exp "
    "Log Log1p Sqrt Rsqrt Square Sign Floor Ceil Round Erf Sin Cos Cast StopGradient PreventGradient Snapshot CheckNumerics "
    "LRN Enter Exit NextIteration Switch RefSwitch RefEnter RefExit Assign AssignAdd AssignSub ZerosLike OnesLike LogicalNot "
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 ReluGrad Relu6Grad SigmoidGrad TanhGrad Reciprocal Inv IsNan IsFinite"
).split()
BROADCAST = (
    "Add AddV2 Sub Mul Div RealDiv FloorDiv FloorMod Mod Pow Maximum Minimum SquaredDifference Less LessEqual Greater "
    "GreaterEqual Equal NotEqual LogicalAnd LogicalOr DivNoNan MulNoNan Xdivy Atan2"
).split()
WINDOWED = ("Conv2D", "DepthwiseConv2dNative", "MaxPool", "AvgPool")
RULES: dict[str, Callable[[Sequence[Shape], Node], Shape]] = (
    dict.fromkeys(SAME, _same)
    | dict.fromkeys(BROADCAST, _broadcast)
    | dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2"), _matmul)
    | dict.fromkeys(WINDOWED, _windowed)
)
