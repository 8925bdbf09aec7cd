"""Small TensorFlow files for tests, encoded without TensorFlow: a GraphDef, a SavedModel with functions, a trace."""

from __future__ import annotations

import json
from typing import Any

from placelab.formats.protobuf import tagged
from placelab.formats.tensorflow.nodes import schema

FLOAT = 1
INT32 = 3
RESOURCE = 20
Shape = tuple[int, ...] | None


def node(
    name: str, kind: str, *inputs: str, device: str = "", shapes: list[Shape] | None = None, **attributes: Any
) -> Any:
    """A NodeDef. Attributes by their Python types: ``dtype`` and other types as numbers in ``types``, shapes as tuples."""
    made = schema()["NodeDef"](name=name, op=kind, input=inputs)
    if device:
        made.device = device
    for key, number in attributes.pop("types", {}).items():
        made.attr[key].type = number
    for key, value in attributes.items():
        _set(made.attr[key], value)
    if shapes is not None:
        for shape in shapes:
            _shape(made.attr["_output_shapes"].list.shape.add(), shape)
    return made


def _set(attribute: Any, value: Any) -> None:
    if isinstance(value, bool):
        attribute.b = value
    elif isinstance(value, int):
        attribute.i = value
    elif isinstance(value, str):
        attribute.s = value.encode()
    elif isinstance(value, bytes):
        attribute.ParseFromString(value)
    elif isinstance(value, tuple):
        _shape(attribute.shape, value)
    elif all(isinstance(one, int) for one in value):
        attribute.list.i.extend(value)
    else:
        attribute.list.s.extend(one.encode() for one in value)


def _shape(message: Any, shape: Shape) -> None:
    message.unknown_rank = shape is None
    for size in shape or ():
        message.dim.add(size=size)


def constant(name: str, *shape: int, kind: int = FLOAT, inputs: tuple[str, ...] = ()) -> Any:
    """A constant of this shape and data type, without any contents."""
    made = node(name, "Const", *inputs, types={"dtype": kind})
    made.attr["value"].tensor.dtype = kind
    _shape(made.attr["value"].tensor.tensor_shape, shape)
    return made


def graph(*nodes: Any, functions: tuple[Any, ...] = ()) -> bytes:
    """A GraphDef of these nodes and functions."""
    library = b"".join(tagged(1, function.SerializeToString()) for function in functions)
    parts = [tagged(1, one.SerializeToString(deterministic=True)) for one in nodes]
    # Versions, which are not read.
    return b"".join(parts) + (tagged(2, library) if functions else b"") + b"\x22\x03\x08\xac\x0c"


def function(
    name: str, inputs: tuple[str, ...], returns: dict[str, str], *nodes: Any, ends: tuple[str, ...] = ()
) -> Any:
    """A FunctionDef."""
    made = schema()["FunctionDef"](node_def=nodes, ret=returns, control_ret={end: end for end in ends})
    made.signature.name = name
    for argument in inputs:
        made.signature.input_arg.add(name=argument)
    for output in returns:
        made.signature.output_arg.add(name=output)
    return made


def call(name: str, of: str, *inputs: str, outputs: int = 1, kind: str = "StatefulPartitionedCall") -> Any:
    """A node that calls a function."""
    made = node(name, kind, *inputs)
    made.attr["f"].func.name = of
    made.attr["Tout"].list.type.extend([FLOAT] * outputs)
    return made


def saved_model(graph_def: bytes, *outputs: str) -> bytes:
    """A SavedModel with one graph, tagged ``serve``, whose one signature returns these tensors."""
    info = tagged(4, b"serve") + tagged(5, b"2.21.0")
    returned = b"".join(tagged(2, tagged(1, name.encode()) + tagged(2, tagged(1, name.encode()))) for name in outputs)
    signature = tagged(1, b"serving_default") + tagged(2, returned)
    return b"\x08\x01" + tagged(2, tagged(1, info) + tagged(2, graph_def) + tagged(5, signature))


def training() -> bytes:
    """One layer with a reference variable, its gradient and update: groups, control edges, devices, two outputs of one op."""
    return graph(
        node(
            "x",
            "Placeholder",
            types={"dtype": FLOAT},
            shape=(-1, 4),
            device="/job:worker/replica:0/task:1/device:GPU:0",
        ),
        node("w", "VariableV2", types={"dtype": FLOAT}, shape=(4, 8), device="/cpu:*"),
        constant("w/init", 4, 8),
        node("w/Assign", "Assign", "w", "w/init", types={"T": FLOAT}, _class=["loc:@w"]),
        node("w/read", "Identity", "w", types={"T": FLOAT}, _class=["loc:@w"]),
        node("y", "MatMul", "x", "w/read", types={"T": FLOAT}, transpose_a=False, transpose_b=False, device="/gpu:0"),
        constant("axis", kind=INT32),
        node("parts", "Split", "axis", "y", types={"T": FLOAT}, num_split=2, shapes=[(-1, 4), (-1, 4)]),
        node("sum", "AddV2", "parts", "parts:1", types={"T": FLOAT}),
        node("done", "NoOp", "^sum", "^w/Assign"),
    )


def loop() -> bytes:
    """``while i < 10: i += 1`` in TensorFlow 1: a cycle through NextIteration and Merge."""
    i = {"types": {"T": INT32}}
    return graph(
        constant("zero", kind=INT32),
        node("while/Enter", "Enter", "zero", **i),
        node("while/Merge", "Merge", "while/Enter", "while/NextIteration", N=2, **i),
        constant("while/ten", kind=INT32, inputs=("^while/Merge",)),
        node("while/Less", "Less", "while/Merge", "while/ten", **i),
        node("while/LoopCond", "LoopCond", "while/Less"),
        node("while/Switch", "Switch", "while/Merge", "while/LoopCond", **i),
        constant("while/one", kind=INT32, inputs=("^while/Switch",)),
        node("while/Add", "AddV2", "while/Switch:1", "while/one", **i),
        node("while/NextIteration", "NextIteration", "while/Add", **i),
        node("while/Exit", "Exit", "while/Switch", **i),
    )


def served() -> bytes:
    """A SavedModel whose signature calls a function that calls a layer twice, and ops that save it."""
    layer = function(
        "layer",
        ("x", "w"),
        {"out": "relu:activations:0"},
        node("read", "ReadVariableOp", "w", types={"dtype": FLOAT}, shapes=[(4, 4)]),
        node("matmul", "MatMul", "x", "read:value:0", types={"T": FLOAT}, shapes=[(-1, 4)]),
        node("relu", "Relu", "matmul:product:0", types={"T": FLOAT}, shapes=[(-1, 4)]),
        ends=("read",),
    )
    model = function(
        "model",
        ("x", "w"),
        {"first": "two:output:0", "second": "x"},
        call("one", "layer", "x", "w"),
        call("two", "layer", "one:output:0", "w", "^one"),
    )
    nodes = (
        node("w", "VarHandleOp", types={"dtype": FLOAT}, shape=(4, 4)),
        node("x", "Placeholder", types={"dtype": FLOAT}, shape=(-1, 4)),
        call("call", "model", "x", "w", outputs=2),
        node("saved", "ReadVariableOp", "w", types={"dtype": FLOAT}),
    )
    return saved_model(graph(*nodes, functions=(layer, model)), "call:0", "call:1")


def text() -> bytes:
    """The training graph's first ops in protobuf's text format, with its syntactic variants."""
    return b"""# a comment with { and "
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 4 } } } } }
node <
  name: 'w'  # it's a variable
  op: "VariableV2"
  device: "/cpu:0"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr: { key: "shape", value: { shape: { dim: [ { size: 4 }, { size: 8 } ] } } }
  experimental_debug_info { original_node_names: "node { name: \\"w\\" }" }
>
node { name: "y" op: "MatMul" input: "x" input: "w" input: "^w"
       attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 1882 }
"""


def trace(*devices: tuple[str, list[bytes]]) -> bytes:
    """RunMetadata with these kernels on these devices."""
    stats = [tagged(1, name.encode()) + b"".join(tagged(2, one) for one in kernels) for name, kernels in devices]
    return tagged(1, b"".join(tagged(1, one) for one in stats))


def kernel(name: str, nanoseconds: int, output: tuple[int, ...] | None = None, scratch: int = 0) -> bytes:
    """NodeExecStats of an op with its time and the shape of its float output."""
    from placelab.formats.tensorflow.run_metadata import _schema

    made = _schema()["Run"](node_name=name, all_end_rel_nanos=nanoseconds)
    if output is not None:
        described = made.output.add(slot=0).tensor_description
        described.dtype = FLOAT
        described.shape.SetInParent()  # a scalar has a shape, too
        for size in output:
            described.shape.dim.add(size=size)
    if scratch:
        made.memory_stats.temp_memory_size = scratch
    return made.SerializeToString()


CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def step() -> bytes:
    """One step: an op on the CPU, and one on a GPU, with kernels on two streams and again on the stream of all."""
    both = [kernel("b:MatMul", 5000), kernel("b:MatMul", 7000), kernel("edge_1_b:MEMCPYDtoH", 90_000)]
    return trace(
        (CPU, [kernel("a", 2000, (2, 3), scratch=64), kernel("a", 1000)]),
        (GPU, [kernel("b", 100_000, (4,))]),
        (GPU + "/stream:all", both),
        (GPU + "/stream:13", both[:1]),
        (GPU + "/stream:14", both[1:]),
        (GPU + "/memcpy", both[2:]),
    )


def timeline() -> bytes:
    """The same step in the format of TensorFlow's timeline."""
    rows = [("a", "Relu", 1, 2), ("a", "Relu", 1, 1), ("b", "MatMul", 2, 100)]
    rows += [("b", "MatMul", 3, 5), ("b", "MatMul", 3, 7), ("b", "MatMul", 4, 5), ("edge", "MEMCPYDtoH", 3, 90)]
    places = {1: CPU, 2: GPU, 3: GPU + "/stream:all", 4: GPU + "/stream:13"}
    head = [dict(ph="M", name="process_name", pid=pid, args={"name": f"{at} Compute"}) for pid, at in places.items()]
    body = [
        dict(ph="X", cat="Op", name=op, pid=pid, tid=0, ts=1, dur=took, args=dict(name=name, op=op))
        for name, op, pid, took in rows
    ]
    return json.dumps({"traceEvents": head + body}).encode()


def graphs() -> list[bytes]:
    """GraphDefs, binary."""
    return [training(), loop()]


def profiles() -> list[bytes]:
    """One step, binary."""
    return [step(), trace((CPU, [kernel("a", 1)]))]
