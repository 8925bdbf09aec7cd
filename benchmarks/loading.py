"""Measure the loading of graphs: milliseconds of processor time per call, and as multiples of a yardstick run in turn.

    python benchmarks/loading.py [--ops 22000] [--large] [--json PATH]

The GraphDef is one of unrolled LSTM cells, built here without TensorFlow, with the shapes of all outputs in it; its yardstick is
google.protobuf's C parser on the same bytes and the same table of fields, which builds messages but no graph. The yardstick of
placelab JSON is ``json.loads`` on the same text, unzipped.

With ``--large``, also an ONNX model of 100,000 nodes without shapes, whose yardstick is its parsing and inference by onnx,
and a Chakra trace of 300,000 nodes, whose yardstick is the parsing of its records. Time of child processes counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from placelab.formats import placelab_json
from placelab.formats.onnx import model_proto
from placelab.formats.protobuf import messages, tagged
from placelab.formats.task_graphs import execution_trace
from placelab.formats.tensorflow import graph_def as reader
from placelab.formats.tensorflow.nodes import DATA_TYPE, TABLES, schema
from placelab.problem import graph_json

FLOAT = 1
INT32 = 3
REPEATS = 7
# Milliseconds at 22,000 ops, and the most that a call may take as a multiple of its yardstick.
BUDGET = {"GraphDef": 1_000, "placelab JSON": 150}
RATIO = {"GraphDef": 45.0, "placelab JSON": 6.0, "ONNX": 9.0, "Chakra": 20.0}
LARGE = {"ONNX": (100_000, 3_000), "Chakra": (300_000, 8_000)}  # nodes, most milliseconds


def graph_def(n_ops: int, batch: int = 128, width: int = 512) -> bytes:
    """A GraphDef of about `n_ops` ops: LSTM cells one after the other, each with its own constants, and one set of weights."""
    nodes = [
        _node("x", "Placeholder", [(batch, width)], dtype=FLOAT),
        _node("lstm/kernel", "VariableV2", [(2 * width, 4 * width)], dtype=FLOAT),
        _node("lstm/kernel/read", "Identity", [(2 * width, 4 * width)], "lstm/kernel", together="lstm/kernel"),
    ]
    hidden = state = "x"
    for step in range(max(1, (n_ops - len(nodes)) // 16)):
        cell, (hidden, state) = _cell(f"rnn/while/cell_{step}/lstm_cell", hidden, state, batch, width)
        nodes += cell
    return b"".join(tagged(1, node) for node in nodes)


def _cell(scope: str, hidden: str, state: str, batch: int, width: int) -> tuple[list[bytes], tuple[str, str]]:
    """Sixteen ops of one step, and the names of its output and its new state."""
    one, two, four = ((batch, k * width) for k in (1, 2, 4))
    rows = [
        ("concat/axis", "Const", [()], (), INT32),
        ("concat", "ConcatV2", [two], ("x", hidden, f"{scope}/concat/axis"), FLOAT),
        ("MatMul", "MatMul", [four], (f"{scope}/concat", "lstm/kernel/read"), FLOAT),
        ("split/dim", "Const", [()], (), INT32),
        ("split", "Split", [one] * 4, (f"{scope}/split/dim", f"{scope}/MatMul"), FLOAT),
        ("forget", "Const", [()], (), FLOAT),
        ("add", "AddV2", [one], (f"{scope}/split:2", f"{scope}/forget"), FLOAT),
        ("Sigmoid", "Sigmoid", [one], (f"{scope}/add",), FLOAT),
        ("mul", "Mul", [one], (f"{scope}/Sigmoid", state), FLOAT),
        ("Sigmoid_1", "Sigmoid", [one], (f"{scope}/split",), FLOAT),
        ("Tanh", "Tanh", [one], (f"{scope}/split:1",), FLOAT),
        ("mul_1", "Mul", [one], (f"{scope}/Sigmoid_1", f"{scope}/Tanh"), FLOAT),
        ("add_1", "AddV2", [one], (f"{scope}/mul", f"{scope}/mul_1"), FLOAT),
        ("Tanh_1", "Tanh", [one], (f"{scope}/add_1",), FLOAT),
        ("Sigmoid_2", "Sigmoid", [one], (f"{scope}/split:3",), FLOAT),
        ("mul_2", "Mul", [one], (f"{scope}/Tanh_1", f"{scope}/Sigmoid_2", f"^{scope}/add_1"), FLOAT),
    ]
    cell = [_node(f"{scope}/{name}", kind, shapes, *inputs, dtype=dtype) for name, kind, shapes, inputs, dtype in rows]
    return cell, (f"{scope}/mul_2", f"{scope}/add_1")


def _node(name: str, kind: str, shapes: list, *inputs: str, dtype: int = FLOAT, together: str = "") -> bytes:
    """A NodeDef with its outputs' shapes."""
    node = schema()["NodeDef"](name=name, op=kind, input=inputs)
    for shape in shapes:
        described = node.attr["_output_shapes"].list.shape.add()
        for size in shape:
            described.dim.add(size=size)
    if kind in ("Const", "VariableV2", "Placeholder"):
        node.attr["dtype"].type = dtype
    else:
        node.attr["T"].type = dtype
    if kind == "Const":
        node.attr["value"].tensor.dtype = dtype
    if kind == "VariableV2":
        node.attr["shape"].shape.CopyFrom(node.attr["_output_shapes"].list.shape[0])
    if kind == "Split":
        node.attr["num_split"].i = len(shapes)
    if kind == "MatMul":
        node.attr["transpose_a"].b = node.attr["transpose_b"].b = False
    if together:
        node.attr["_class"].list.s.append(f"loc:@{together}".encode())
    return node.SerializeToString(deterministic=True)


def whole_graph() -> type:
    """GraphDef as one message class, for the yardstick."""
    return messages("loading", TABLES | {"GraphDef": "repeated NodeDef node = 1"}, {"DataType": DATA_TYPE})["GraphDef"]


def onnx_model(n_nodes: int) -> bytes:
    """A ModelProto of about 27 bytes a node: layers of MatMul, Add, Relu and a residual Add, without shapes between them."""
    from onnx import TensorProto, helper

    nodes = []
    value = kept = "x"
    for i in range(n_nodes):
        kind, other = (("MatMul", "w"), ("Add", "b"), ("Relu", ""), ("Add", kept))[i % 4]
        nodes.append(helper.make_node(kind, [value, other] if other else [value], [f"v{i}"]))
        value = f"v{i}"
        kept = value if i % 4 == 3 else kept
    shapes = {"x": [8, 64], "w": [64, 64], "b": [64]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, shapes["x"])]
    graph = helper.make_graph(nodes, "layers", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def trace_records(n_nodes: int) -> list[bytes]:
    """Nodes of a Chakra trace: two dependencies, a tensor, whether it is a CPU's, operations, and a stream of every third."""
    kind, attribute = execution_trace._messages()
    said = {
        name: attribute(name=name, **{field: number}).SerializeToString()
        for name, field, number in (("num_ops", "uint64_val", 1000), ("stream", "int64_val", 7))
    }
    cpu = [attribute(name="is_cpu_op", bool_val=value).SerializeToString() for value in (False, True)]
    records = []
    for i in range(n_nodes):
        kernel = i % 3 == 2
        node = kind(id=i, name=f"aten::op_{i}", type=4, start_time_micros=3 * i, duration_micros=2 + i % 5)
        node.data_deps.extend(sorted({max(i - 1, 0), i // 2} - {i}))
        node.outputs.values = f"[[{i}, {i + 1_000_000}, 0, 1024, 4, 'cuda:0']]"
        node.attr.extend([cpu[not kernel], said["num_ops"], *([said["stream"]] if kernel else [])])
        records.append(node.SerializeToString())
    return records


def turns(*calls: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Median milliseconds of processor time of each call, child processes included; they take turns."""
    spent: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, times in zip(calls, spent, strict=True):
            begun = _processor_time()
            call()
            times.append(1e3 * (_processor_time() - begun))
    return [median(times) for times in spent]


def _processor_time() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def measure(n_ops: int) -> list[dict]:
    """One row per format."""
    data = graph_def(n_ops)
    graph = reader.loads(data)
    text = graph_json.dumps(graph).encode()
    zipped = gzip.compress(text)
    kind = whole_graph()
    rows = {
        "GraphDef": (turns(lambda: reader.loads(data), lambda: kind.FromString(data)), len(data)),
        "placelab JSON": (turns(lambda: placelab_json.loads(zipped), lambda: json.loads(text)), len(zipped)),
    }
    return [
        _row(name, graph.n_ops, size, times, round(BUDGET[name] * n_ops / 22_000))
        for name, (times, size) in rows.items()
    ]


def measure_large() -> list[dict]:
    """The rows of ``--large``."""
    import onnx

    rows = []
    n, most = LARGE["ONNX"]
    model = onnx_model(n)
    times = turns(
        lambda: model_proto.loads(model),
        lambda: onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(model)),
        repeats=3,
    )
    rows.append(_row("ONNX", n, len(model), times, most))
    n, most = LARGE["Chakra"]
    records = trace_records(n)
    trace = b"".join(tagged(1, record)[1:] for record in (b"", *records))  # without tags: lengths alone
    kind, _ = execution_trace._messages()
    times = turns(
        lambda: execution_trace.loads(trace), lambda: [kind.FromString(record) for record in records], repeats=3
    )
    return [*rows, _row("Chakra", n, len(trace), times, most)]


def _row(name: str, ops: int, size: int, times: list[float], budget: int) -> dict:
    ours, theirs = times
    return dict(
        format=name,
        ops=ops,
        bytes=size,
        milliseconds=round(ours, 1),
        budget=budget,
        yardstick=round(theirs, 1),
        ratio=round(ours / theirs, 1),
        within=ours / theirs <= RATIO[name],
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=22_000)
    parser.add_argument("--large", action="store_true", help="also an ONNX model and a trace of many nodes (a minute)")
    parser.add_argument("--json", type=Path, help="write the rows for a program to read")
    asked = parser.parse_args()
    rows = measure(asked.ops) + (measure_large() if asked.large else [])
    print("| format | ops | MB | ms | budget | yardstick, ms | × yardstick | at most |\n" + "| --- |" + " ---: |" * 7)
    for row in rows:
        values = (row["milliseconds"], row["budget"], row["yardstick"], row["ratio"], RATIO[row["format"]])
        print(f"| {row['format']} | {row['ops']:,} | {row['bytes'] / 1e6:.1f} | " + " | ".join(map(str, values)) + " |")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
