"""Count the operations of ONNX nodes with body graphs, and complete the shapes that pass through them.

``Scan`` runs its body once per entry of its scan axis. ``Loop`` does so M times as long as its condition holds: M is followed
back to constants and known shapes, and the condition is read as the comparison of a counter. Of ``If`` the dearer branch counts.
Other ops with bodies (``SequenceMap``, searches of onnxruntime) run them as often as data say. In a body, single whole numbers
and truth values are its bookkeeping, and count nothing.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import MutableMapping
from functools import cached_property
from math import prod
from typing import Any

from placelab.base.fields import one_line
from placelab.base.interrupts import need
from placelab.formats.loops import (
    Arguments,
    Control,
    Expression,
    Look,
    Until,
    Value,
    computed,
    counted,
    until,
    value_of,
)
from placelab.formats.onnx.node_proto import (
    UNKNOWN,
    attributes_of,
    body_graphs,
    is_sized,
    node_flop,
    op_name,
    values_of,
)
from placelab.formats.onnx.node_proto import Value as Tensor

MOST = 64  # entries of a constant that is followed
STATE = 2  # inputs of a Loop and of its body before those it carries: M, condition; iteration, condition
SCAN_9 = 9  # version of ONNX's ops in which Scan lost its batch
DOMAINS = ("", "ai.onnx")
BRANCHES = ("then_branch", "else_branch")


class Scope:
    """Values of a graph or of a body, which sees those around it.

    Attributes
    ----------
    tensors
        Name → shape and type.
    version
        Of ONNX's ops.
    """

    def __init__(
        self, graph: Any, tensors: MutableMapping[str, Tensor], version: int, outer: Scope | None = None
    ) -> None:
        self.tensors = tensors
        self.version = version
        self._outer = outer
        self._inputs = {info.name: j for j, info in enumerate(graph.input)}
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._graph = graph

    @cached_property
    def _nodes(self) -> dict[str, Any]:
        return {name: node for node in self._graph.node[:] for name in node.output[:]}

    def inner(self, body: Any) -> Scope:
        """The scope of a body graph."""
        return Scope(body, ChainMap(values_of(body), self.tensors), self.version, self)

    def value(self, name: str, arguments: Arguments | None = None) -> Value:
        """The value of a tensor that follows from constants, shapes, and the given inputs of a body."""
        return value_of(name, self._look(arguments))

    def _look(self, arguments: Arguments | None) -> Look:
        def look(name: Any) -> Value | Expression:
            if name in self._constants:
                return _constant(self._constants[name])
            if name in self._nodes:
                return self._made_by(self._nodes[name])
            if name in self._inputs:
                return arguments(self._inputs[name]) if arguments else None
            return self._outer._look(None)(name) if self._outer else None

        return look

    def _made_by(self, node: Any) -> Value | Expression:
        if node.op_type == "Constant":
            tensor = next((a.t for a in node.attribute if a.HasField("t")), None)
            given = attributes_of(node)
            listed = given.get("value_ints")
            return (
                _constant(tensor) if tensor is not None else given.get("value_int") if listed is None else tuple(listed)
            )
        if node.op_type in ("Shape", "Size") and node.input:
            shape = self.tensors.get(node.input[0], UNKNOWN).shape
            given = attributes_of(node)
            part = None if shape is None else shape[given.get("start", 0) : given.get("end", len(shape))]
            return part if node.op_type == "Shape" else None if shape is None else prod(shape)
        return Expression(node.op_type, tuple(node.input), attributes_of(node))


def _constant(tensor: Any) -> Value:
    """A tensor of few whole numbers or truth values; None for others, and for those without data."""
    need("onnx")
    from onnx import numpy_helper

    if prod(tensor.dims) > MOST or tensor.data_location == tensor.EXTERNAL:
        return None
    try:
        array = numpy_helper.to_array(tensor)
    except Exception:  # no data, or not as much as the shape says
        return None
    if array.dtype.kind not in "iub":
        return None
    return array.item() if array.ndim == 0 else tuple(array.ravel().tolist())


def trips_of(node: Any, scope: Scope) -> tuple[int | None, int | None]:
    """How often a node runs its body: the number, None if unknown; else the most, if known."""
    if node.op_type == "Loop" and (bodies := body_graphs(node)):
        return _loop_trips(node, bodies[0], scope)
    return (_scan_trips(node, scope) if node.op_type == "Scan" else None), None


def _loop_trips(node: Any, body: Any, scope: Scope) -> tuple[int | None, int | None]:
    """M iterations at most, or as many as the condition holds: at first the input, after an iteration the body's output."""
    given = [*node.input, "", ""]
    most = _single(scope.value(given[0])) if given[0] else None
    before = until(scope.value(given[1])) if given[1] else True
    inside = scope.inner(body)

    def start(j: int) -> Value:
        return (0, True)[j] if j < STATE else scope.value(given[j]) if j < len(node.input) else None

    def update(j: int, arguments: Arguments) -> Value:
        if j < STATE:  # the number of the iteration, and the condition, which holds where the body runs
            return True if j else computed("Add", [arguments(0), 1])
        return inside.value(body.output[j - 1].name, arguments) if j - 1 < len(body.output) else None

    held = counted(
        start, update, lambda arguments: inside.value(body.output[0].name, arguments) if body.output else None
    )
    if before is False:
        return 0, None
    ends = [] if most is None else [max(most, 0)]
    ends += [held.steps + 1] if isinstance(held, Until) else []
    exact = before is True and (held is True or (isinstance(held, Until) and held.exact))
    if exact and ends and (most is not None or not given[0]):
        return min(ends), None
    return None, min(ends, default=None)


def _single(value: Value) -> int | None:
    """A whole number, alone or in a list of one."""
    value = value[0] if type(value) is tuple and len(value) == 1 else value
    return value if isinstance(value, int) else None


def _scan_trips(node: Any, scope: Scope) -> int | None:
    """Length of the scan axis; before version 9 of ONNX's ops, times that of the batch, the first axis."""
    given = attributes_of(node)
    n = given.get("num_scan_inputs", 0)
    if not isinstance(n, int) or not 0 < n <= len(node.input):
        return None
    shape = scope.tensors.get(node.input[-n], UNKNOWN).shape
    axes = given.get("scan_input_axes") or [0]
    if shape is None or not -len(shape) <= axes[0] < len(shape):
        return None
    return prod(shape[:2]) if scope.version < SCAN_9 else shape[axes[0]]


class Work:
    """Counts the operations of nodes, those of their body graphs included.

    Attributes
    ----------
    unknown
        Kind → number of ops whose operations are unknown.
    """

    def __init__(self, model: Any, tensors: MutableMapping[str, Tensor], control: Control) -> None:
        self.unknown: Counter[str] = Counter()
        self._control = control
        self._scope = scope_of(model, tensors)

    def of(self, node: Any, name: str) -> float:
        """Operations of a node of the graph, which is called `name`."""
        return self._node(node, name, self._scope)

    def _node(self, node: Any, name: str, scope: Scope) -> float:
        bodies = body_graphs(node)
        if not bodies:
            return node_flop(node, scope.tensors, self.unknown)
        if node.op_type == "If":
            sides = [self._body(body, name, scope) for body in _branches(node)]
            return sides[self._control.branch(name, sides)]
        once = sum(self._body(body, name, scope) for body in bodies)
        return once * self._control.loop(name, *trips_of(node, scope))

    def _body(self, body: Any, name: str, scope: Scope) -> float:
        inside = scope.inner(body)
        return sum(
            self._node(node, f"{name}/{op_name(node.name) or one_line(node.op_type)}", inside)
            for node in body.node
            if not _is_bookkeeping(node, inside)
        )


def scope_of(model: Any, tensors: MutableMapping[str, Tensor]) -> Scope:
    """The outermost scope of a model."""
    version = next((opset.version for opset in model.opset_import if opset.domain in DOMAINS), SCAN_9)
    return Scope(model.graph, tensors, version)


def _branches(node: Any) -> list[Any]:
    """The branches of an ``If``, that of a condition that holds first."""
    ordered = sorted(
        node.attribute, key=lambda one: BRANCHES.index(one.name) if one.name in BRANCHES else len(BRANCHES)
    )
    return [attribute.g for attribute in ordered if attribute.HasField("g")] or body_graphs(node)


def _is_bookkeeping(node: Any, scope: Scope) -> bool:
    """Whether a node of a body makes single whole numbers or truth values only, and runs no body itself."""
    made = [scope.tensors.get(name, UNKNOWN) for name in node.output if name]
    small = all(value.whole and value.shape is not None and prod(value.shape) == 1 for value in made)
    return bool(made) and small and not body_graphs(node)


# -------------------------------------------------------------------- shapes


def with_body_shapes(model: Any, trips: int) -> bool:
    """Set shapes that follow from what enters and leaves body graphs, where ONNX's inference stops; whether there were any.

    A value that a ``Loop`` carries has the shape that it begins with, if the body returns it with that shape, too; what it
    collects has an entry per iteration. Of an ``If`` whose branches return different sizes, the output has the larger one.
    """
    return _complete(model.graph, scope_of(model, values_of(model.graph)), trips)


def _complete(graph: Any, scope: Scope, trips: int) -> bool:
    known = {info.name: info for info in (*graph.value_info, *graph.output, *graph.input)}
    changed = False
    for node in graph.node:
        for body in body_graphs(node):
            entered = _enter(node, body, scope)
            changed |= _complete(body, scope.inner(body), trips) or entered
        for name, shape, kind in _left(node, scope, trips):
            if name and shape is not None and kind and scope.tensors.get(name, UNKNOWN).shape is None:
                info = known[name] if name in known else graph.value_info.add(name=name)
                changed |= _set(info, shape, kind)
    return changed


def _enter(node: Any, body: Any, scope: Scope) -> bool:
    """Give what a loop carries the shape that it begins with."""
    changed = False
    for name, info in list(zip(node.input, body.input, strict=False))[STATE:] if node.op_type == "Loop" else ():
        shape = scope.tensors.get(name, UNKNOWN).shape
        if not is_sized(info) and shape is not None and info.type.tensor_type.elem_type:
            changed |= _set(info, shape, info.type.tensor_type.elem_type)
    return changed


def _left(node: Any, scope: Scope, trips: int) -> list[tuple[str, tuple[int, ...] | None, int]]:
    """Name, shape and type of each output of a loop or a branch, as its bodies return them; a shape is None if unknown."""
    sides = [(body, values_of(body)) for body in (_branches(node) if node.op_type == "If" else body_graphs(node))]
    rows = [[(values.get(info.name, UNKNOWN), info) for info in body.output] for body, values in sides]
    if node.op_type == "If":
        columns = [max(column, key=lambda one: one[0].bytes or -1.0) for column in zip(*rows, strict=False)]
        return [(name, *_typed(*one)) for name, one in zip(node.output, columns, strict=False)]
    if node.op_type != "Loop" or not rows:
        return []
    carried = len(node.input) - STATE
    n, most = trips_of(node, scope)
    n = min(trips, most) if n is None and most is not None else trips if n is None else n
    found = []
    for j, (name, (value, info)) in enumerate(zip(node.output, rows[0][1:], strict=False)):
        shape, kind = _typed(value, info)
        if j < carried:
            found.append(
                (name, shape if shape == scope.tensors.get(node.input[STATE + j], UNKNOWN).shape else None, kind)
            )
        else:
            found.append((name, None if shape is None else (n, *shape), kind))
    return found


def _typed(value: Tensor, info: Any) -> tuple[tuple[int, ...] | None, int]:
    return value.shape, info.type.tensor_type.elem_type


def _set(info: Any, shape: tuple[int, ...], kind: int) -> bool:
    tensor = info.type.tensor_type
    tensor.elem_type = kind
    tensor.shape.ClearField("dim")
    tensor.shape.SetInParent()
    for size in shape:
        tensor.shape.dim.add(dim_value=size)
    return True
