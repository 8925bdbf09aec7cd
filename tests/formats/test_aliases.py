"""Views of ONNX and TensorFlow graphs live in the storage of what they read: bytes that are held count once."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnx.helper as make
import pytest
from onnx import TensorProto, numpy_helper

import placelab as pl

MB = 2**20


def onnx_file(path, nodes, outputs, constants=()):
    """A model that reads `x`, 1 MB of floats, and whose values after `outputs` are its results."""
    value = lambda name: make.make_tensor_value_info(name, TensorProto.FLOAT, None)  # noqa: E731
    given = make.make_tensor_value_info("x", TensorProto.FLOAT, [512, 512])
    graph = make.make_graph(nodes, "g", [given], [value(name) for name in outputs], list(constants))
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)]), str(path))
    return pl.load(path)


def peak(graph) -> float:
    """Most bytes held on one device that runs all ops."""
    problem = pl.Problem(graph, pl.Cluster([1e12]), memory="dynamic")
    schedule = pl.solve(problem, "single", "fifo")
    assert pl.validate(schedule) == []
    return float(schedule.peak_memory[0])


def shape(name, *sizes):
    """A constant of whole numbers."""
    return numpy_helper.from_array(np.array(sizes, np.int64), name)


CHAIN = [
    make.make_node("Relu", ["x"], ["a"], name="a"),
    make.make_node("Reshape", ["a", "to"], ["b"], name="b"),
    make.make_node("Unsqueeze", ["b", "axis"], ["c"], name="c"),
    make.make_node("Identity", ["c"], ["d"], name="d"),
    make.make_node("Relu", ["d"], ["e"], name="e"),
]


def test_a_chain_of_views_holds_its_bytes_once(tmp_path):
    """Relu, three views, Relu: the input, or two results, at a time; each tensor still has its bytes when it moves."""
    graph = onnx_file(tmp_path / "m.onnx", CHAIN, ["e"], [shape("to", 256, 1024), shape("axis", 0)])
    assert graph.edge_bytes.tolist() == [MB] * 5
    storage = graph.tensor_storage[graph.edge_tensor]
    names = [graph.names[u] for u, _ in graph.edges]
    assert len({int(s) for s, name in zip(storage, names, strict=True) if name in "abcd"}) == 1
    assert peak(graph) == 2 * MB + graph.persistent.sum()


def test_a_view_that_a_model_returns_has_its_own_memory(tmp_path):
    """ONNX Runtime allocates what a model returns."""
    nodes = [make.make_node("Relu", ["x"], ["a"], name="a"), make.make_node("Identity", ["a"], ["b"], name="b")]
    graph = onnx_file(tmp_path / "m.onnx", nodes, ["b"])
    assert graph.tensor_storage is None


def test_an_op_of_that_name_in_another_domain_is_no_view(tmp_path):
    """What a stranger's Reshape does with memory is not known."""
    nodes = [
        make.make_node("Relu", ["x"], ["a"], name="a"),
        make.make_node("Reshape", ["a", "to"], ["b"], name="b", domain="my.ops"),
        make.make_node("Relu", ["b"], ["c"], name="c"),
    ]
    graph = onnx_file(tmp_path / "m.onnx", nodes, ["c"], [shape("to", 256, 1024)])
    assert graph.tensor_storage is None


def test_a_view_of_a_constant_and_of_an_input(tmp_path):
    """A parameter is held by the op that reads it, and a view of it is a tensor of its own; one of an input shares it."""
    weight = numpy_helper.from_array(np.ones((512, 512), np.float32), "w")
    nodes = [
        make.make_node("Flatten", ["x"], ["a"], name="a"),
        make.make_node("MatMul", ["a", "w"], ["b"], name="b"),
        make.make_node("Relu", ["b"], ["c"], name="c"),
    ]
    graph = onnx_file(tmp_path / "m.onnx", nodes, ["c"], [weight])
    storage = dict(zip((graph.names[u] for u, _ in graph.edges), graph.tensor_storage[graph.edge_tensor], strict=True))
    assert storage["x"] == storage["a"] != storage["b"]


TEXT = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 512 } dim { size: 512 } } } } } }
node { name: "a" op: "Relu" input: "x" %(shape)s }
node { name: "b" op: "%(view)s" input: "a" %(shape)s }
node { name: "c" op: "StopGradient" input: "b" %(shape)s }
node { name: "d" op: "Relu" input: "c" %(shape)s }
node { name: "e" op: "Relu" input: "a" input: "^c" %(shape)s }
"""
SHAPE = """attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 512 } dim { size: 512 } } } } }"""


@pytest.mark.parametrize(("view", "shared"), [("Identity", True), ("CheckNumerics", True), ("Relu6", False)])
def test_tensorflow_hands_inputs_on(tmp_path, view, shared):
    """Identity and its like share, other ops do not; a control edge carries nothing."""
    path = tmp_path / "g.pbtxt"
    path.write_text(TEXT % {"shape": SHAPE, "view": view})
    graph = pl.load(path)
    storage = {
        (graph.names[u], graph.names[v]): int(graph.tensor_storage[t])
        for (u, v), t in zip(graph.edges.tolist(), graph.edge_tensor.tolist(), strict=True)
    }
    assert (storage["a", "b"] == storage["b", "c"]) is shared
    assert storage["b", "c"] == storage["c", "d"] and storage["a", "b"] == storage["a", "e"]
    assert peak(graph) == (2 if shared else 3) * MB
    two = pl.Problem(graph, pl.clusters.pcie_box(2), memory="dynamic")
    where = {"x": 0, "a": 0, "b": 1, "c": 1, "d": 0, "e": 1}
    schedule = pl.simulate(two, pl.Placement(two, [where[name] for name in graph.names]), "fifo")
    assert pl.validate(schedule) == [] and set(graph.tensor_bytes[schedule.transfers["tensor"]].tolist()) == {float(MB)}


def host_trace(path, *calls):
    """A host trace of calls (name, read tensors, written tensors), each tensor an id, a storage and elements of 4 bytes."""
    entry = lambda t: [t[0], t[1], 0, t[2], 4, "cpu"]  # noqa: E731
    nodes = [
        {
            "name": name,
            "id": i + 2,
            "parent": 1,
            "tid": 1,
            "inputs": [entry(t) for t in reads],
            "input_shapes": [[t[2]] for t in reads],
            "input_types": ["Tensor(float)"] * len(reads),
            "outputs": [entry(t) for t in writes],
            "output_shapes": [[t[2]] for t in writes],
            "output_types": ["Tensor(float)"] * len(writes),
        }
        for i, (name, reads, writes) in enumerate(calls)
    ]
    path.write_text(json.dumps({"schema": "1.0.1", "pid": 1, "nodes": nodes}))
    return pl.load(path)


def test_a_host_trace_says_which_tensors_share_a_storage(tmp_path):
    """In place and views share what they read; a storage that is used again after it was freed is another one."""
    graph = host_trace(
        tmp_path / "t.json",
        ("aten::exp", [(1, 10, 100)], [(2, 20, 100)]),
        ("aten::relu_", [(2, 20, 100)], [(2, 20, 100)]),
        ("aten::view", [(2, 20, 100)], [(3, 20, 100)]),
        ("aten::exp", [(3, 20, 100)], [(4, 30, 100)]),
        ("aten::exp", [(4, 30, 100)], [(5, 20, 100)]),
    )
    storage = [int(graph.tensor_storage[t]) for t in graph.edge_tensor]
    assert [graph.names[u].rpartition("_")[0] for u, _ in graph.edges] == [
        "aten::exp",
        "aten::relu_",
        "aten::view",
        "aten::exp",
    ]
    assert storage[0] == storage[1] == storage[2] != storage[3]
    assert len(set(graph.tensor_storage.tolist())) == graph.n_tensors - 2
