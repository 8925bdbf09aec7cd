"""Shapes and bytes of the outputs of TensorFlow ops: those in the file, and those that follow from them.

A file has shapes in ``_output_shapes`` if it was written with them (``graph.as_graph_def(add_shapes=True)``, every SavedModel).
Otherwise the shapes of constants, inputs and variables are propagated through ops whose output shape follows from their inputs'
shapes. The first unknown dimension of a shape is assumed to be the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import zip_longest
from math import ceil, prod
from typing import Any

from placelab.formats.tensorflow.nodes import Node, Shape, size_of

Source = tuple[int, int]  # op, output
Shapes = tuple[Shape, ...]
VARIABLES = {"VariableV2", "Variable", "VarHandleOp", "TemporaryVariable", "AutoReloadVariable"}
MAX_BYTES = 1e18  # of one tensor; larger sizes count as unknown


ELEMENT = {"TensorListGetItem": 2, "TensorListStack": 1}  # number of the input that has the shape of an element


class Sizes:
    """Shapes and bytes of the outputs of all nodes.

    Attributes
    ----------
    raw, filled : list of tuples of shapes
        Shape of each output of each op, -1 for unknown dimensions; the same with the batch filled in, None if other dimensions
        are unknown.
    bytes : list of tuples of float
        Bytes of each output of each op.
    unsized : int
        Number of outputs whose bytes are unknown, or a lower bound because several dimensions are unknown.
    assumed : int
        Number of outputs with a dimension that was assumed to be the batch.
    """

    def __init__(
        self, nodes: Sequence[Node], inputs: Sequence[Sequence[Source]], order: Sequence[int], batch: int | None
    ) -> None:
        self.batch = batch
        self.unsized = 0
        self.assumed = 0
        n = len(nodes)
        self.raw: list[Shapes] = [()] * n
        self.filled: list[Shapes] = [()] * n
        self.bytes: list[tuple[float, ...]] = [()] * n
        size = cache(partial(sized, batch=batch))
        self._nodes = nodes
        for v in order:
            node = nodes[v]
            raw = self.raw[v] = self._shapes(node, inputs[v])
            rows = [size(kind, shape) for kind, shape in zip_longest(node.types, raw[: len(node.types)])]
            self.filled[v] = tuple([row[0] for row in rows])
            self.bytes[v] = tuple([row[1] for row in rows])
            self.unsized += sum([row[2] for row in rows])
            self.assumed += sum([row[3] for row in rows])

    def shapes(self, sources: Sequence[Source]) -> Shapes:
        """The filled shapes of these outputs."""
        return tuple([self.filled[u][k] if k < len(self.filled[u]) else None for u, k in sources])

    def _shapes(self, node: Node, inputs: Sequence[Source]) -> Shapes:
        """Shapes of the outputs of a node, unknown ones among them; what a loop carries keeps its shape."""
        if "body" not in node.bodies or "cond" not in node.bodies:
            return node.shapes or self._inferred(node, inputs)
        carried = [self.raw[u][k] if k < len(self.raw[u]) else None for u, k in inputs]
        return tuple([given if shape is None else shape for shape, given in zip_longest(node.shapes or (), carried)])

    def _inferred(self, node: Node, inputs: Sequence[Source]) -> Shapes:
        if node.holds is not None:
            return (node.holds,)
        if node.kind in ELEMENT and len(inputs) > ELEMENT[node.kind]:
            return self._of_list(node, inputs[ELEMENT[node.kind]])
        rule = RULES.get(node.kind)
        given = [self.raw[u][k] if k < len(self.raw[u]) else None for u, k in inputs]
        first = given[0] if given else None
        if rule is None or first is None:
            return ()
        shape = rule(first, given[1:], node)
        return () if shape is None else (shape,)

    def _of_list(self, node: Node, source: Source) -> Shapes:
        """Shape of an element, or of all, of a list of tensors, where a constant has the elements' shape."""
        element = self._nodes[source[0]].value
        if not isinstance(element, tuple) or any(size < 0 for size in element):
            return ()
        return ((node.attributes.get("num_elements", -1), *element) if node.kind == "TensorListStack" else element,)


def sized(kind: int | None, shape: Shape, batch: int | None) -> tuple[Shape, float, bool, bool]:
    """Filled shape and bytes of an output, whether the bytes are unknown, and whether a batch was assumed."""
    size = size_of(kind)
    known = filled(shape, batch)
    if size == 0:
        return known, 0.0, False, False
    if size is None or shape is None:
        return known, 0.0, True, False
    if known is not None:
        total = size * prod(map(float, known))
        return known, total if total <= MAX_BYTES else 0.0, total > MAX_BYTES, -1 in shape
    if batch is None:
        return None, 0.0, True, False
    total = size * prod(map(float, _lower_bound(shape, batch)))
    return None, total if total <= MAX_BYTES else 0.0, True, False


def filled(shape: Shape, batch: int | None) -> Shape:
    """Fill in the batch for the first unknown dimension of a shape; None if more is unknown.

    >>> filled((28, -1, 128), 32), filled((-1, -1), 32)
    ((28, 32, 128), None)
    """
    if shape is None or -1 not in shape:
        return shape
    at = shape.index(-1)
    return None if batch is None or -1 in shape[at + 1 :] else (*shape[:at], batch, *shape[at + 1 :])


def _lower_bound(shape: tuple[int, ...], batch: int) -> tuple[int, ...]:
    """A shape with the batch for its first unknown dimension and 1 for others."""
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


Dimensions = tuple[int, ...]
Rule = Callable[[Dimensions, Sequence[Shape], Node], Shape]  # first input, other inputs, node → output


def _same(first: Dimensions, others: Sequence[Shape], node: Node) -> Shape:
    return first


def _broadcast(first: Dimensions, others: Sequence[Shape], node: Node) -> Shape:
    """Elementwise on two inputs; None for other numbers of inputs."""
    if len(others) != 1 or others[0] is None:
        return None
    a, b = sorted((first, others[0]), key=len)
    return (*b[: len(b) - len(a)], *map(_wider, a, b[len(b) - len(a) :]))


def _wider(a: int, b: int) -> int:
    if 1 in (a, b):
        return a if b == 1 else b
    return max(a, b)  # equal; or one is unknown: then it is the other, or 1


def _matmul(first: Dimensions, others: Sequence[Shape], node: Node) -> Shape:
    if len(others) != 1 or others[0] is None or len(first) != len(others[0]) or len(first) < 2:
        return None
    a = first
    b = others[0]
    attributes = node.attributes
    rows = a[-1] if attributes.get("transpose_a") or attributes.get("adj_x") else a[-2]
    columns = b[-2] if attributes.get("transpose_b") or attributes.get("adj_y") else b[-1]
    return (*map(_wider, a[:-2], b[:-2]), rows, columns)


def _windowed(image: Dimensions, others: Sequence[Shape], node: Node) -> Shape:
    """Convolutions and pooling over the two middle dimensions (NHWC) or the two last ones (NCHW)."""
    attributes = node.attributes
    pooling = "Pool" in node.kind
    window: Any = attributes.get("ksize") if pooling else others[0] if others else None
    strides: Any = attributes.get("strides")
    # A damaged file may have a number or a text where a list is expected.
    if any(not isinstance(listed, tuple) or len(listed) != 4 for listed in (image, window, strides)):
        return None
    undilated = attributes.get("dilations", (1, 1, 1, 1)) == (1, 1, 1, 1)
    padding = attributes.get("padding")
    if padding not in ("SAME", "VALID") or not undilated or min(strides) < 1:
        return None
    channels_last = attributes.get("data_format", "NHWC") == "NHWC"
    channel, places = (3, (1, 2)) if channels_last else (1, (2, 3))
    sizes = [window[p] for p in places] if pooling else window[:2]
    shape = list(image)
    for place, size in zip(places, sizes, strict=True):
        shape[place] = _steps(image[place], size, strides[place], padding)
    if not pooling:
        shape[channel] = window[2] * window[3] if "Depthwise" in node.kind else window[3]
    return tuple(shape)


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
RULES: dict[str, Rule] = (
    dict.fromkeys(SAME, _same)
    | dict.fromkeys(BROADCAST, _broadcast)
    | dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2"), _matmul)
    | dict.fromkeys(WINDOWED, _windowed)
)
