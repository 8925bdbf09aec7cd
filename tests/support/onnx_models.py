"""Small ONNX models for tests, built with onnx's own text format and helpers."""

from __future__ import annotations

import json
from typing import Any

LINEAR = """
<ir_version: 8, opset_import: ["" : 17]>
two_layers (float[batch, 128] x) => (float[batch, 10] y)
<float[128, 64] w1, float[64] b1, float[64, 10] w2>
{
    [mm1] a = MatMul (x, w1)
    [add] b = Add (a, b1)
    [relu] c = Relu (b)
    [mm2] y = MatMul (c, w2)
}
"""

SHARED = """
<ir_version: 8, opset_import: ["" : 17]>
tied (int64[n] ids) => (float[n, 1000] scores)
<float[1000, 64] table>
{
    [embed] e = Gather (table, ids)
    [turn] t = Transpose <perm = [1, 0]> (table)
    [head] scores = MatMul (e, t)
}
"""

BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
choice (bool c, float[8, 16] x) => (float[8, 16] y)
<float[16, 16] w>
{
    [double] d = Add (x, x)
    [if] y = If (c) <
        then_branch = small () => (float[8, 16] s) { s = Relu (d) },
        else_branch = large () => (float[8, 16] m) { m = MatMul (d, w) }
    >
}
"""

FUNCTIONS = """
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
called (float[4, 8] x) => (float[4, 8] z)
<float[8, 8] w>
{
    [first] y = local.block (x, w)
    [second] z = local.block (y, w)
}
<opset_import: ["" : 17], domain: "local">
block (a, b) => (r)
{
    [mm] m = MatMul (a, b)
    [act] r = Relu (m)
}
"""

LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
counted (float[4, 4] x, int64 trips, bool go) => (float[4, 4] y)
<float[4, 4] w>
{
    [loop] y = Loop (trips, go, x) <
        body = step (int64 i, bool before, float[4, 4] state) => (bool after, float[4, 4] next)
        {
            after = Identity (before)
            next = MatMul (state, w)
        }
    >
}
"""

TEXTS = {"linear": LINEAR, "shared": SHARED, "branches": BRANCHES, "functions": FUNCTIONS, "loop": LOOP}


def model(text: str) -> Any:
    """Parse a ModelProto from text; values declared after the graph's inputs become initializers of zeros."""
    import numpy as np
    import onnx

    made = onnx.parser.parse_model(text)
    for info in made.graph.value_info:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(shape, np.float32), info.name))
    del made.graph.value_info[:]
    return made


def built(nodes: list[Any], inputs: dict[str, tuple[int, list]], initializers: tuple = (), **options: Any) -> Any:
    """Build a ModelProto from nodes; `inputs` maps names to (element type, shape), the last node's output is the graph's."""
    from onnx import helper

    last = helper.make_empty_tensor_value_info(nodes[-1].output[0])
    given = [helper.make_tensor_value_info(name, *form) for name, form in inputs.items()]
    graph = helper.make_graph(nodes, "built", given, [last], list(initializers))
    return helper.make_model(graph, **({"opset_imports": [helper.make_opsetid("", 17)]} | options))


def seeds() -> list[bytes]:
    """Models of all kinds, serialized."""
    return [model(text).SerializeToString() for text in TEXTS.values()]


def kernel(name: str, ts: float, dur: float, shapes: Any = None, **args: Any) -> dict[str, Any]:
    """An event of ONNX Runtime's profiler."""
    args = {"op_name": "MatMul", "provider": "CPUExecutionProvider", "output_type_shape": shapes or []} | args
    return dict(cat="Node", pid=1, tid=1, ph="X", name=f"{name}_kernel_time", ts=ts, dur=dur, args=args)


def run(ts: float, dur: float) -> dict[str, Any]:
    """The event that encloses those of a run and follows them in the file."""
    return dict(cat="Session", pid=1, tid=1, ph="X", name="model_run", ts=ts, dur=dur, args={})


def profile() -> list[dict[str, Any]]:
    """Three runs of two nodes in the format of ONNX Runtime's profiler, one node in two kernels."""
    start = dict(cat="Session", pid=1, tid=1, ph="X", name="session_initialization", ts=0, dur=5, args={})
    events = [start]
    for i, micros in enumerate((900, 30, 10)):
        at = 1000 * (i + 1)
        events += [kernel("/a/mm", at + 1, micros, [{"float": [2, 3]}]), kernel("Relu_7", at + 2, 5)]
        events += [kernel("Relu_7", at + 3, 2, [{"float16": [4]}, {"string": [1]}]), run(at, 950)]
    return events


def profiles() -> list[bytes]:
    """That profile as a file."""
    return [json.dumps(profile()).encode()]
