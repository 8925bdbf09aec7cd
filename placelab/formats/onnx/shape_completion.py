"""Complete the shapes of ONNX models that compute the arguments of ``Reshape`` and similar ops at run time.

ONNX's inference handles few of the ops that compute shapes. This module evaluates them with numpy, once all dimensions are
known, on values of at most 64 numbers. Other ops that stop the inference have rules in
:mod:`placelab.formats.onnx.contrib_shapes`. It runs in the process of :mod:`placelab.formats.onnx.shape_inference`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper, shape_inference

from placelab.formats.onnx import contrib_shapes

MOST = 64  # numbers that a value may have
DIRECT = ("Shape", "Size", "Constant")  # ops whose value does not follow from values of their inputs
Values = dict[str, np.ndarray]
Types = dict[str, Any]


class Known(NamedTuple):
    """What is known of a model's values while its nodes are followed."""

    types: Types  # of tensors whose sizes are all known
    values: Values
    assumed: dict[str, int]  # dimension that stays open → its size
    kept: Counter[str]  # ops of unknown kinds whose outputs count as their first inputs, by kind


def completed(model: Any, dimensions: Mapping[str, int] | None = None, close: bool = True) -> tuple[Any, Known]:
    """Add the shapes that follow from values, and from rules for other ops, to a ModelProto. O(nodes).

    With `close`, a dimension that stays open, such as how many elements are not zero, has its size in `dimensions` as
    ``value[axis]``, else 1.
    An op of an unknown kind has an output like its first input, if their types agree.
    """
    graph = model.graph
    known = _given(graph)
    given = set(known.types)
    old = {info.name: info for info in (*graph.value_info, *graph.output)}
    for node in graph.node:
        _follow(node, model, known, old, (dimensions or {}) if close else None)
    for name in known.types.keys() - given:
        info = old[name] if name in old else graph.value_info.add(name=name)
        info.type.CopyFrom(known.types[name])
    return model, known


def _given(graph: Any) -> Known:
    types = {x.name: x.type for x in (*graph.input, *graph.value_info, *graph.output) if _is_whole(x.type)}
    values: Values = {}
    for tensor in graph.initializer:
        types[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
        found = _array(tensor)
        if found is not None:
            values[tensor.name] = found
    return Known(types, values, {}, Counter())


def _is_whole(kind: Any) -> bool:
    """Whether a type is a tensor's with all sizes known."""
    tensor = kind.tensor_type
    return (
        tensor.elem_type > 0 and tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)
    )


def _array(tensor: Any) -> np.ndarray | None:
    if math.prod(tensor.dims) > MOST or tensor.data_location == tensor.EXTERNAL:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except Exception:  # no data, or not as much as the shape says
        return None


def _follow(node: Any, model: Any, known: Known, old: Mapping[str, Any], dimensions: Mapping[str, int] | None) -> None:
    """Add the types and values that follow for the outputs of a node."""
    types = known.types
    values = known.values
    found = _computed(node, types, values)
    if found is not None and node.output:
        values[node.output[0]] = found
        kind = helper.np_dtype_to_tensor_dtype(found.dtype)
        types.setdefault(node.output[0], helper.make_tensor_type_proto(kind, list(found.shape)))
        return
    if all(not name or name in types for name in node.output):
        return
    schema = _schema(node, model)
    open_types = {name: old[name].type for name in node.output if name in old}
    for name, kind in _inferred(node, schema, model, types, values).items():
        if _is_whole(kind):
            types.setdefault(name, kind)
        elif kind.tensor_type.HasField("shape"):
            open_types[name] = kind
    if schema is None or node.op_type in contrib_shapes.OF_ONNX:
        _by_rule(node, known, schema is not None)
    if dimensions is None:
        return
    for name in node.output:
        if name and name not in types and name in open_types:
            _close(name, open_types[name], known, dimensions)


def _schema(node: Any, model: Any) -> Any:
    """ONNX's description of a node's kind; None if there is none."""
    version = next((opset.version for opset in model.opset_import if opset.domain == node.domain), 1)
    try:
        return defs.get_schema(node.op_type, version, node.domain)
    except Exception:  # unknown op type or domain
        return None


def _inferred(node: Any, schema: Any, model: Any, types: Types, values: Values) -> Types:
    """Types of a node's outputs by ONNX's inference, given the values of its inputs."""
    if schema is None:
        return {}
    try:
        inputs = {name: types[name] for name in node.input if name}
        data = {name: numpy_helper.from_array(values[name], name) for name in node.input if name in values}
        return shape_inference.infer_node_outputs(schema, node, inputs, data, None, list(model.opset_import), 8)
    except Exception:  # inputs that do not fit or are unknown
        return {}


def _by_rule(node: Any, known: Known, of_onnx: bool) -> None:
    """Add the types of outputs by a rule for the op; without one, the first output is like the first input."""
    types = known.types
    read = [types[name].tensor_type if name in types else None for name in node.input]
    op = contrib_shapes.Op(
        node.op_type,
        _attributes(node),
        [kind and kind.elem_type for kind in read],
        [kind and tuple(dim.dim_value for dim in kind.shape.dim) for kind in read],
        [known.values.get(name) for name in node.input],
    )
    microsoft = of_onnx or node.domain in contrib_shapes.DOMAINS
    for name, found in zip(node.output, contrib_shapes.outputs_of(op) if microsoft else (), strict=False):
        if name and found:
            types.setdefault(name, helper.make_tensor_type_proto(found[0], list(found[1])))
    if of_onnx or (microsoft and node.op_type in contrib_shapes.RULES) or not read or not node.output or not read[0]:
        return
    if node.output[0] not in types:
        types[node.output[0]] = types[node.input[0]]
        known.kept[node.op_type] += 1


def _close(name: str, kind: Any, known: Known, dimensions: Mapping[str, int]) -> None:
    """Give the dimensions of a value that stay open a size; nothing if its rank or element type is unknown."""
    tensor = kind.tensor_type
    if not tensor.HasField("shape") or not tensor.elem_type:
        return
    shape = []
    for axis, dim in enumerate(tensor.shape.dim):
        if dim.HasField("dim_value"):
            shape.append(dim.dim_value)
        else:
            shape.append(dimensions.get(f"{name}[{axis}]", 1))
            known.assumed[f"{name}[{axis}]"] = shape[-1]
    known.types[name] = helper.make_tensor_type_proto(tensor.elem_type, shape)


# -------------------------------------------------------------------- values


def _computed(node: Any, types: Types, values: Values) -> np.ndarray | None:
    """The value of a node's output if it is known and of at most 64 numbers, else None."""
    if node.domain not in ("", "ai.onnx") or not (node.op_type in COMPUTE or node.op_type in DIRECT):
        return None
    attributes = _attributes(node)
    try:
        if node.op_type in ("Shape", "Size"):
            shape = np.array([dim.dim_value for dim in types[node.input[0]].tensor_type.shape.dim], np.int64)
            part = shape[attributes.get("start", 0) : attributes.get("end", len(shape))]
            return part if node.op_type == "Shape" else np.array(shape.prod(), np.int64)
        if node.op_type == "Constant":
            return _constant(node, attributes)
        with np.errstate(all="ignore"):
            found = np.asarray(
                COMPUTE[node.op_type](attributes, *(values[name] if name else None for name in node.input))
            )
        return found if found.size <= MOST and found.ndim <= 2 and found.dtype.kind in "iufb" else None
    except Exception:  # an input is unknown or does not fit
        return None


def _attributes(node: Any) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute if a.type not in (5, 10)}


def _constant(node: Any, attributes: dict[str, Any]) -> np.ndarray | None:
    tensor = next((a.t for a in node.attribute if a.HasField("t")), None)
    if tensor is not None:
        return _array(tensor)
    ints = attributes.get("value_ints", attributes.get("value_int"))
    return None if ints is None or np.size(ints) > MOST else np.array(ints, np.int64)


def _axes(attributes: dict[str, Any], given: np.ndarray | None) -> tuple[int, ...] | None:
    """Axes: an input in newer versions of ONNX, an attribute in older ones."""
    axes = attributes.get("axes") if given is None else given
    return None if axes is None else tuple(int(axis) for axis in np.ravel(axes))


def _unsqueeze(attributes: dict[str, Any], x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    where = _axes(attributes, axes)
    if where is None:
        raise ValueError
    return np.expand_dims(x, where)


def _squeeze(attributes: dict[str, Any], x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    return np.squeeze(x, _axes(attributes, axes))


def _slice(
    attributes: dict[str, Any],
    x: np.ndarray,
    starts: np.ndarray | None = None,
    ends: np.ndarray | None = None,
    axes: np.ndarray | None = None,
    steps: np.ndarray | None = None,
) -> np.ndarray:
    """Slice a list; ValueError for arrays of other ranks, which are not needed."""
    start = attributes["starts"] if starts is None else starts
    end = attributes["ends"] if ends is None else ends
    if x.ndim != 1:
        raise ValueError
    step = 1 if steps is None else int(steps[0])
    return x[int(start[0]) : _end(int(end[0]), step, len(x)) : step]


def _end(end: int, step: int, size: int) -> int | None:
    return None if (step < 0 and end < -size) or end >= size else end


def _divided(attributes: dict[str, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide; whole numbers are truncated towards zero, as in C."""
    if a.dtype.kind == "f":
        return a / b
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _cast(attributes: dict[str, Any], x: np.ndarray) -> np.ndarray:
    return x.astype(helper.tensor_dtype_to_np_dtype(attributes["to"]))


def _filled(attributes: dict[str, Any], shape: np.ndarray) -> np.ndarray:
    value = numpy_helper.to_array(attributes["value"])[0] if "value" in attributes else np.float32(0)
    if math.prod(int(size) for size in shape) > MOST:
        raise ValueError
    return np.full(tuple(shape), value)


def _range(attributes: dict[str, Any], start: Any, limit: Any, delta: Any) -> np.ndarray:
    if abs(limit - start) > MOST * abs(delta):
        raise ValueError
    return np.arange(start, limit, delta)


def _reshaped(attributes: dict[str, Any], x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return x.reshape([x.shape[i] if size == 0 else int(size) for i, size in enumerate(shape)])


def _reduced(function: Callable) -> Callable:
    def reduced(attributes: dict[str, Any], x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
        kept = bool(attributes.get("keepdims", 1))
        return np.asarray(function(x, axis=_axes(attributes, axes), keepdims=kept), x.dtype)

    return reduced


COMPUTE: dict[str, Callable] = {
    "Identity": lambda _, x: x,
    "Cast": _cast,
    "Gather": lambda a, x, indices: np.take(x, indices, axis=a.get("axis", 0)),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Concat": lambda a, *parts: np.concatenate(parts, axis=a["axis"]),
    "Slice": _slice,
    "Reshape": _reshaped,
    "ConstantOfShape": _filled,
    "Range": _range,
    "Add": lambda _, a, b: a + b,
    "Sub": lambda _, a, b: a - b,
    "Mul": lambda _, a, b: a * b,
    "Div": _divided,
    "Mod": lambda _, a, b: np.mod(a, b),
    "Neg": lambda _, x: -x,
    "Abs": lambda _, x: np.abs(x),
    "Floor": lambda _, x: np.floor(x),
    "Ceil": lambda _, x: np.ceil(x),
    "Sqrt": lambda _, x: np.sqrt(x),
    "Min": lambda _, *parts: np.minimum.reduce(parts),
    "Max": lambda _, *parts: np.maximum.reduce(parts),
    "Equal": lambda _, a, b: a == b,
    "Less": lambda _, a, b: a < b,
    "Greater": lambda _, a, b: a > b,
    "And": lambda _, a, b: a & b,
    "Or": lambda _, a, b: a | b,
    "Not": lambda _, x: ~x,
    "Where": lambda _, choice, a, b: np.where(choice, a, b),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
}


def main(data: bytes, dimensions: Mapping[str, int], close: bool) -> tuple[bytes, bytes]:
    """Complete the shapes of a serialized model; what was assumed for it is JSON."""
    model, known = completed(onnx.ModelProto.FromString(data), dimensions, close)
    return model.SerializeToString(), json.dumps({"assumed": known.assumed, "kept": known.kept}).encode()
