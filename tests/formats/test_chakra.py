"""Chakra traces: protobuf, JSON, and PyTorch's host traces, one of which is recorded here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import fuzz
import numpy as np
import pytest
from chakra_files import ET, HOST, MATRIX, OUTPUTS, WORKLOAD, attribute, node, number, tensor, trace, varint

import placelab as pl
from placelab.formats.protobuf import tagged
from placelab.formats.task_graphs import execution_trace

# -------------------------------------------------------------------- what a graph is


def test_nodes_dependencies_times_and_sizes():
    """A hand-made trace, written out; a name that two nodes have gets their ids."""
    graph = execution_trace.loads(ET, "rank.0.et")
    assert graph.names.tolist() == ["load", "layer_8", "sum", "layer_10"]
    assert graph.kind.tolist() == ["MEM_LOAD", "COMP", "COMM_ALL_REDUCE", "COMP"]
    assert graph.compute.tolist() == [0, 1000, 0, 3]
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert graph.tensor_control[graph.edge_tensor].tolist() == [False, True, False, False, False]
    assert graph.edge_bytes.tolist() == [4096, 0, 512, 512, 2048]
    np.testing.assert_allclose(graph.time[:, 0], [5e-6, 250e-6, 100e-6, np.nan])
    assert graph.metadata["costs"]["outside"] == 1


def test_durations_hold_on_a_device_of_the_reference_speed_and_shrink_on_a_faster_one():
    """10¹³ operations/s."""
    graph = execution_trace.loads(ET, "rank.0.et")
    for speed, factor in ((1e13, 1), (2e13, 2)):
        problem = pl.Problem(graph, pl.Cluster.uniform(1, speed=speed))
        assert problem.exec_time(1, 0) == pytest.approx(250e-6 / factor)


def test_listed_outputs_come_before_declared_sizes():
    """Listed outputs are used before declared sizes; each tensor counts once, also in lists."""
    first = node(1, "a", 4, (), (), 0, attribute("tensor_size", 7), tagged(9, tagged(1, OUTPUTS.encode())))
    graph = execution_trace.loads(trace(first, node(2, "b", 4, (1,))))
    assert graph.edge_bytes.tolist() == [512 * 4 + 10 * 2]
    assert graph.time is None


@pytest.mark.parametrize(("type", "kind"), list(enumerate(execution_trace.TYPES)))
def test_types_are_kinds(type, kind):
    """Numbers follow the definition; a collective of an unknown number is a generic one."""
    assert execution_trace.loads(trace(node(1, "a", type))).kind.tolist() == [kind]


def test_callers_that_wait_for_what_they_called_are_left_out():
    """In traces converted from PyTorch's, control edges order 1 before 2, data edges 2 before 1."""
    graph = execution_trace.loads(trace(node(1, "caller", 4, (2,)), node(2, "callee", 4, (), (1,))))
    assert graph.names.tolist() == ["callee", "caller"]
    assert graph.n_edges == 1
    assert "contradict" in graph.metadata["left_out"]


def test_the_json_form_is_the_same_graph():
    """Times in microseconds, dependencies under either spelling, names where they are missing."""
    graph = execution_trace.graph_of(WORKLOAD, "w.json")
    assert graph.names.tolist() == ["a", "b", "COMM_ALL_GATHER_5"]
    assert graph.kind.tolist() == ["COMP", "COMM_SEND", "COMM_ALL_GATHER"]
    assert sorted(graph.edge_bytes.tolist()) == [0, 0, 0, 64]
    np.testing.assert_allclose(graph.time[:, 0], [10e-6, np.nan, 2.5e-6])
    assert execution_trace.loads(json.dumps(WORKLOAD).encode()).names.tolist() == graph.names.tolist()


def test_forms_are_told_apart():
    """A protobuf file whose first byte is a brace is not read as JSON."""
    metadata = tagged(1, b"x" * 121)
    assert len(metadata) == ord("{")
    data = varint(len(metadata)) + metadata + varint(len(node(1, "a"))) + node(1, "a")
    assert execution_trace.loads(data).names.tolist() == ["a"]
    assert execution_trace.loads(gzip.compress(data)).names.tolist() == ["a"]
    assert execution_trace.matches(WORKLOAD) and execution_trace.matches(HOST)
    assert not execution_trace.matches({"nodes": [], "schema": 3}) and not execution_trace.matches([])


def test_host_traces_are_the_outermost_calls_that_can_be_counted():
    """``aten::linear`` stands for its ``aten::addmm``, autograd's wrapper is left out; storages identify tensors."""
    graph = execution_trace.loads(json.dumps(HOST).encode(), "h.json")
    assert graph.names.tolist() == ["aten::linear_3", "aten::mm_6", "record_param_comms_7", "aten::add__8"]
    assert graph.kind.tolist() == ["aten::linear", "aten::mm", "COMM_ALL_REDUCE", "aten::add_"]
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert graph.compute.tolist() == [16, 16, 0, 4]
    assert graph.persistent.tolist() == [32, 0, 0, 0]
    assert graph.metadata["costs"]["unknown"] == {"COMM_ALL_REDUCE": 1}


def test_a_trace_of_pytorch_itself(tmp_path):
    """A training step of two layers has all operations of its products, and every op has a data edge."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(32, 64)
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(tmp_path / "host.json"))
    observer.start()
    model(batch).sum().backward()
    optimiser.step()
    observer.stop()
    observer.unregister_callback()
    graph = pl.load(tmp_path / "host.json")
    products = [kind.split("::")[1] in ("linear", "addmm", "mm") for kind in graph.kind]
    first = 2 * 32 * 64 * 128
    second = 2 * 32 * 128 * 10
    assert graph.compute[products].sum() == 2 * first + 3 * second  # no gradient of the batch
    parameters = 64 * 128 + 128 + 128 * 10 + 10
    assert graph.persistent.sum() == 4 * (parameters + 32 * 64)
    assert graph.metadata["costs"]["unsized"] == 0
    updates = [v for v, kind in enumerate(graph.kind) if kind == "aten::add_"]
    assert len(updates) == 4 and all(v in graph.consumer for v in updates)


def ran(id, name, cpu, stream=None, start=0, data=(), control=(), tensors="", micros=10):
    """A node of a trace of PyTorch's."""
    flag = tagged(10, tagged(1, b"is_cpu_op") + number(27, cpu))
    more = [flag, *([attribute("stream", stream, 9)] if stream is not None else [])]
    written = [tagged(9, tagged(1, tensors.encode()))] if tensors else []
    return node(id, name, 4, data, control, micros, number(6, start), *more, *written)


def test_kernels_of_a_stream_run_in_their_order():
    """By start, not by id; CPU ops and kernels have their devices; kernels that nothing waits for are counted."""
    nodes = [ran(i, f"op{i}", 1, data=(i - 1,) if i > 1 else ()) for i in (1, 2, 3)]
    nodes += [ran(11, "late", 0, 7, 90, (1,)), ran(12, "early", 0, 7, 20, (2,)), ran(13, "nccl", 0, 20, 5, (3,))]
    graph = execution_trace.loads(trace(*nodes))
    named = {tuple(graph.names[list(edge)]) for edge in graph.edges}
    assert ("early", "late") in named and len(named) == 2 + 3 + 1
    assert graph.metadata["costs"]["unwaited"] == 3
    assert dict(pl.costs.sources(graph))["not waited for"] == "3 kernels that nothing waits for"
    cluster = pl.Cluster([1e13] * 3, bandwidth=1e9, names=["cpu", "gpu:0", "gpu:1"], types=["cpu", "h100", "h100"])
    problem = pl.Problem(graph, cluster)
    on_host = [problem.feasible(graph.index(name)) for name in ("op1", "early", "nccl")]
    assert [list(map(int, devices)) for devices in on_host] == [[0], [1, 2], [1, 2]]
    assert pl.Problem(graph, pl.Cluster([1e13] * 2)).feasible(0).tolist() == [0, 1]  # any, where there is neither


def test_a_stream_that_contradicts_the_data_is_left_out():
    """Clocks of several threads may disagree; dependencies hold."""
    graph = execution_trace.loads(trace(ran(1, "a", 0, 7, 90), ran(2, "b", 0, 7, 20, (1,))))
    assert graph.edges.tolist() == [[0, 1]] and "order of streams" in graph.metadata["left_out"]


def test_a_kernel_that_repeats_outputs_writes_nothing_of_its_own():
    """The launch carries no bytes, and readers of the op still read its tensor; other outputs stay."""
    one = "[[10, 5, 0, 100, 4, 'cuda:0']]"
    nodes = [ran(1, "op", 1, tensors=one), ran(2, "kernel", 0, 7, 5, (1,), tensors=one), ran(3, "next", 1, data=(1,))]
    graph = execution_trace.loads(trace(*nodes, ran(4, "own", 0, 7, 9, (3,), tensors="[[12, 6, 0, 3, 4, 'cuda:0']]")))
    sizes = {tuple(graph.names[list(e)]): b for e, b in zip(graph.edges, graph.edge_bytes, strict=True)}
    assert sizes[("op", "kernel")] == 0 and sizes[("op", "next")] == 400
    assert graph.tensor_bytes.sum() == 412


@pytest.mark.parametrize("caller", ["parent", "ctrl_deps"])
def test_host_traces_of_schema_1_0_1_are_the_same_graph(caller):
    """Lists stand on the node itself."""
    old = json.loads(json.dumps(HOST)) | {"schema": "1.0.1"}
    for entry in old["nodes"]:
        for side in ("input", "output"):
            given = entry.pop(f"{side}s")
            entry |= {f"{side}s": given["values"], f"{side}_shapes": given["shapes"], f"{side}_types": given["types"]}
        entry[caller] = entry.pop("ctrl_deps")
    graph = execution_trace.loads(json.dumps(old).encode())
    expected = execution_trace.loads(json.dumps(HOST).encode())
    assert graph.names.tolist() == expected.names.tolist() and graph.edges.tolist() == expected.edges.tolist()
    assert (
        graph.compute.tolist() == expected.compute.tolist()
        and graph.edge_bytes.tolist() == expected.edge_bytes.tolist()
    )
    with pytest.raises(pl.FormatError, match=r"it has schema '2.0.0'; this placelab reads schemas 1.0.1 to 1.1.1"):
        execution_trace.loads(json.dumps(old | {"schema": "2.0.0"}).encode())


# -------------------------------------------------------------------- untrusted files


def with_first(**changes):
    """WORKLOAD with keys of its second node changed."""
    document = json.loads(json.dumps(WORKLOAD))
    document["workload_graph"][1] |= changes
    return json.dumps(document).encode()


def with_call(**changes):
    """HOST with keys of its fourth node changed."""
    document = json.loads(json.dumps(HOST))
    document["nodes"][3] |= changes
    return json.dumps(document).encode()


HOSTILE = {
    "empty": (lambda: b"", "it has no node"),
    "text": (lambda: b"digraph {a -> b}", "a record of 100 bytes is announced"),
    "a huge record": (lambda: varint(2**60) + b"x", "is announced"),
    "a length without end": (lambda: b"\xff" * 50, "is announced"),
    "truncated": (lambda: ET[:-5], "is announced"),
    "only metadata": (lambda: trace(), "it has no node"),
    "records of nothing": (lambda: trace() + bytes(3_000_000), "two nodes have the id 0"),
    "a node that is none": (lambda: trace(b"\x0a" * 9), "node 1 is not a protobuf message"),
    "a name that is no text": (lambda: trace(tagged(2, b"\xff\xfe")), "node 1 is not a protobuf message"),
    "ids twice": (lambda: trace(node(1, "a"), node(1, "b")), "two nodes have the id 1"),
    "data from nowhere": (
        lambda: trace(node(1, "a", 4, (5,))),
        "node 1 .a. waits for data of 5, which is not the id of a node",
    ),
    "a cycle": (lambda: trace(node(1, "a", 4, (2,)), node(2, "b", 4, (1,))), "cycle"),
    "a node that waits for itself": (lambda: trace(node(1, "a", 4, (1,))), "consumes its own output"),
    "an unknown type": (lambda: trace(node(1, "a", 77)), "type of node 1 .a. is 77"),
    "a negative size": (
        lambda: trace(node(1, "a", 4, (), (), 0, attribute("num_ops", 2**64 - 1, 9))),
        "num_ops of node 1 .a. is -1",
    ),
    "a size that is not a number": (
        lambda: trace(
            node(1, "a", 4, (), (), 0, tagged(10, tagged(1, b"num_ops") + b"\x19" + b"\x00" * 6 + b"\xf8\x7f"))
        ),
        "num_ops of node 1 .a. is nan",
    ),
    "a million dependencies, often": (
        lambda: trace(*[node(i, f"n{i}", 4, (), (), 0, tagged(5, bytes(900_000))) for i in range(6)]),
        "more than 5,000,000 dependencies",
    ),
    "no list": (lambda: b'{"workload_graph": 3}', "workload_graph is 3; expected a list"),
    "no workload": (lambda: b"{}", "expected workload_graph"),
    "an Id that is a text": (lambda: with_first(Id="4"), "Id of node 1 is '4'"),
    "dependencies that are none": (lambda: with_first(data_deps=[1.5]), "an entry of data_deps of node 4 .b. is 1.5"),
    "dependencies in no list": (
        lambda: with_first(ctrl_deps=3),
        "ctrl_deps of node 4 .b. is 3; expected a list of Ids",
    ),
    "a negative time": (lambda: with_first(runtime=-1), "runtime of node 4 .b. is -1"),
    "an infinite time": (lambda: with_first(runtime=10**400), "runtime of node 4 .b. is 1000"),
    "a call without a name": (lambda: with_call(name=None), "name of node 3 is None"),
    "a call with an id twice": (lambda: with_call(id=4), "two nodes have the id 4"),
    "a side that is none": (lambda: with_call(inputs=[]), "inputs of node 3 .aten::linear. are .."),
    "values in no list": (
        lambda: with_call(outputs={"values": 3}),
        "outputs of node 3 .aten::linear. are .'values': 3.",
    ),
    "a tensor of negative size": (
        lambda: with_call(inputs={"values": [tensor(1, 1, -4)]}),
        "elements of tensor 1 of node 3 .aten::linear. is -4",
    ),
    "no call": (lambda: b'{"schema": "1-chakra", "nodes": []}', "no node is a call"),
    "no nodes": (lambda: b'{"schema": "1-chakra", "nodes": 1}', "nodes is 1; expected a list"),
    "nested": (lambda: b'{"workload_graph": ' + b"[" * 1_000_000, "nested|deep"),
    "a zip bomb": (lambda: gzip.compress(bytes(100 << 20)), "unpacks to more than"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(name):
    """The error names the file and what was found, and reading takes little memory."""
    make, words = HOSTILE[name]
    data = make()
    execution_trace.loads(ET)  # imports are paid for
    before = fuzz.peak()
    with pytest.raises(pl.PlacelabError, match=words) as refusal:
        execution_trace.loads(data, "h.et")
    assert fuzz.peak() - before < 200 << 20
    assert str(refusal.value).startswith("h.et") and "\n" not in str(refusal.value)


def test_values_nested_deeply_are_not_searched():
    """Tensors are at most in lists of lists; deeper values are no tensors."""
    deep = tensor(5, 5)
    for _ in range(50):
        deep = [deep]
    graph = execution_trace.loads(with_call(inputs={"values": [deep, tensor(1, 1)], "shapes": MATRIX[0]}))
    assert graph.persistent[graph.index("aten::linear_3")] == 16


def test_a_path_is_read(tmp_path):
    """A path and its bytes give the same graph, named after the file."""
    path = Path(tmp_path, "rank.0.et")
    path.write_bytes(ET)
    assert pl.load(path).metadata["name"] == "rank.0"
    with pytest.raises(pl.FormatError, match="cannot be read"):
        pl.load(tmp_path / "none.et")


def test_a_damaged_attribute_is_refused_with_the_number_of_its_node():
    """Attributes are parsed by themselves, also those that are not read, and the message names the node."""
    whole = attribute("rf_id", 3)
    execution_trace.loads(trace(node(1, "a", 4, (), (), 0, whole), node(2, "b", 4, (), (), 0, whole)))
    for data in (tagged(10, b"\xff"), tagged(10, tagged(1, b"\xff")), whole[:-1] + b"\xff"):
        with pytest.raises(pl.FormatError, match=r"d\.et, node 2"):
            execution_trace.loads(trace(node(1, "a", 4, (), (), 0, whole), node(2, "b", 4, (), (), 0, data)), "d.et")
