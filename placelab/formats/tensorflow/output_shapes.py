"""Shapes and bytes of the outputs of TensorFlow ops: those in the file, and those that follow from them.

A file has shapes in ``_output_shapes`` if it was written with them (``graph.as_graph_def(add_shapes=True)``, every SavedModel).
Otherwise the shapes of constants, inputs and variables are followed through the ops, with the rules of
:mod:`placelab.formats.tensorflow.shape_rules`.
The first unknown dimension of a shape in the file is assumed to be the batch. Shapes are followed twice, with that dimension
unknown and with the batch in its place, so that a reshape to (-1, 28) has 28 rows per image, not one; what is unknown in an op's
output even then stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import zip_longest
from math import prod

from placelab.formats.tensorflow.known_numbers import LIMITS, VALUES, Applied, Known, Shapes, values_of
from placelab.formats.tensorflow.nodes import Node, Shape, Source, size_of, type_name
from placelab.formats.tensorflow.shape_rules import RULES, shapes_of
from placelab.problem.tensor_shapes import shape_text

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
    texts : dict
        (op, output number) → element type and sizes, with the batch, of outputs whose number of dimensions is known.
    unsized : int
        Number of outputs whose bytes are unknown, or a lower bound because several dimensions are unknown.
    assumed : int
        Number of outputs with a dimension that was assumed to be the batch, or follows from one that was.
    """

    def __init__(
        self, nodes: Sequence[Node], inputs: Sequence[Sequence[Source]], order: Sequence[int], batch: int | None
    ) -> None:
        self.batch = batch
        self.unsized = 0
        self.assumed = 0
        n = len(nodes)
        self.filled: list[Shapes] = [()] * n
        self.bytes: list[tuple[float, ...]] = [()] * n
        self.texts: dict[Source, str] = {}
        size = cache(partial(_facts, least=batch is not None))
        without = _Followed(nodes, inputs)
        known = _Followed(nodes, inputs)  # with the batch
        self.raw = without.shapes
        for v in order:
            node = nodes[v]
            raw = without.add(v, node.shapes or ())
            if batch is None or (_is_whole(raw) and _is_whole(without.values[v])):
                shapes = known.shapes[v] = raw
                known.values[v] = without.values[v]
            else:
                in_file = bool(node.shapes) or node.holds is not None
                shapes = known.add(
                    v, tuple([_filled(*pair, batch, in_file) for pair in zip_longest(raw, known.inferred(v))])
                )
            rows = [size(kind, shape) for kind, shape in zip_longest(node.types, shapes[: len(node.types)])]
            for k, (_, _, text) in enumerate(rows):
                if text is not None:
                    self.texts[v, k] = text
            self.filled[v] = tuple([None if shape is None or -1 in shape else shape for shape in shapes])
            self.bytes[v] = tuple([row[0] for row in rows])
            self.unsized += sum([row[1] for row in rows])
            self.assumed += _assumed(node, raw, self.filled[v])

    def shapes(self, sources: Sequence[Source]) -> Shapes:
        """The filled shapes of these outputs."""
        return tuple([self.filled[u][k] if k < len(self.filled[u]) else None for u, k in sources])


class _Followed:
    """What is known of the outputs of all nodes: their shapes, and their values where these are few whole numbers."""

    def __init__(self, nodes: Sequence[Node], inputs: Sequence[Sequence[Source]]) -> None:
        self._nodes = nodes
        self._inputs = inputs
        self.shapes: list[Shapes] = [()] * len(nodes)
        self.values: list[tuple[Known, ...]] = [()] * len(nodes)

    def add(self, v: int, given: Shapes) -> Shapes:
        """Record a node, whose inputs are recorded, with the shapes that are given, the others inferred; return all."""
        if not given or None in given:
            given = tuple([a if b is None else b for a, b in zip_longest(self.inferred(v), given)])
        self.shapes[v] = given
        node = self._nodes[v]
        if node.kind == "Const":
            self.values[v] = (node.value,)
        elif node.kind in VALUES and given and not LIMITS.keys().isdisjoint(node.types):  # others have no whole numbers
            self.values[v] = values_of(self._applied(v))
        return given

    def inferred(self, v: int) -> Shapes:
        """Shapes of a node's outputs as they follow from its inputs; what a loop carries keeps its shape."""
        node = self._nodes[v]
        if "body" in node.bodies and "cond" in node.bodies:
            return self._applied(v).shapes
        if node.holds is not None:
            return (node.holds,)
        if node.kind in ELEMENT and len(self._inputs[v]) > ELEMENT[node.kind]:
            return self._of_list(node, self._inputs[v][ELEMENT[node.kind]])
        return shapes_of(self._applied(v)) if node.kind in RULES else ()

    def _applied(self, v: int) -> Applied:
        shapes = self.shapes
        values = self.values
        inputs = self._inputs[v]
        return Applied(
            self._nodes[v],
            tuple([shapes[u][k] if k < len(shapes[u]) else None for u, k in inputs]),
            tuple([values[u][k] if k < len(values[u]) else None for u, k in inputs]),
            shapes[v],
        )

    def _of_list(self, node: Node, source: Source) -> Shapes:
        """Shape of an element, or of all, of a list of tensors, where a constant has the elements' shape."""
        element = self._nodes[source[0]].value
        if not isinstance(element, tuple) or any(not isinstance(size, int) or size < 0 for size in element):
            return ()
        return ((node.attributes.get("num_elements", -1), *element) if node.kind == "TensorListStack" else element,)


def _is_whole(known: Sequence[Known]) -> bool:
    """Whether nothing in shapes or values is unknown."""
    return not any(one is None or (isinstance(one, tuple) and (-1 in one or None in one)) for one in known)


def _filled(shape: Shape, followed: Shape, batch: int, in_file: bool) -> Shape:
    """A shape with the batch.

    Parameters
    ----------
    shape, followed
        Without the batch; as it follows from the inputs' shapes with the batch, None if it does not.
    in_file
        Whether the shape is one of the file, in which the first unknown dimension is assumed to be the batch.

    >>> _filled((-1, 28), None, 32, True), _filled((-1, 28), (896, 28), 32, True), _filled((-1, 28), None, 32, False)
    ((32, 28), (896, 28), (-1, 28))
    """
    if shape is None or not in_file:
        return shape if followed is None else followed
    agrees = followed is not None and len(followed) == len(shape) and all(map(_is_less_known, shape, followed))
    if followed is not None and agrees and -1 not in followed:
        return followed
    if -1 not in shape:
        return shape
    at = shape.index(-1)
    return (*shape[:at], batch, *shape[at + 1 :])


def _is_less_known(a: int, b: int) -> bool:
    return a in (-1, b)


def _assumed(node: Node, raw: Shapes, filled: Shapes) -> int:
    """Number of a node's outputs whose size is known with the batch only."""
    rows = zip(node.types, raw, filled, strict=False)
    return sum(
        shape is not None and known is not None and -1 in shape and bool(size_of(kind)) for kind, shape, known in rows
    )


def _facts(kind: int | None, shape: Shape, least: bool) -> tuple[float, bool, str | None]:
    """What `sized` has of an output, and its element type and sizes in words."""
    return *sized(kind, shape, least), shape_text(type_name(kind), shape)


def sized(kind: int | None, shape: Shape, least: bool) -> tuple[float, bool]:
    """Bytes of an output, and whether they are unknown; with `least` a dimension that is unknown counts as 1, else 0 bytes.

    >>> sized(1, (8, 4), True), sized(1, (8, -1), True), sized(1, (8, -1), False)
    ((128.0, False), (32.0, True), (0.0, True))
    """
    size = size_of(kind)
    if size == 0:
        return 0.0, False
    if size is None or shape is None or (-1 in shape and not least):
        return 0.0, True
    total = size * prod(map(float, map(abs, shape)))
    return (total, -1 in shape) if total <= MAX_BYTES else (0.0, True)


def held(node: Node) -> float:
    """Bytes of a variable; 0 for other ops."""
    size = size_of(node.element)
    if node.kind not in VARIABLES or node.holds is None or not size or -1 in node.holds:
        return 0.0
    total = size * prod(map(float, node.holds))
    return total if total <= MAX_BYTES else 0.0
