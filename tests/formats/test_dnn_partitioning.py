"""Workloads of Tarnawski et al.: times, groups, devices, links; all published files; invalid files."""

from __future__ import annotations

import json

import numpy as np
import pytest
import samples
import workloads

import placelab as pl
from placelab.formats.task_graphs import dnn_partitioning
from placelab.graphs.datasets import own_cluster
from placelab.strategies.preparing.gradients import forward_ops


def changed(**changes) -> bytes:
    """The sample with some values changed; ``a__0__b`` is key b of entry 0 of a."""
    document = json.loads(samples.dnn_partitioning()[0])
    for path, value in changes.items():
        *parents, key = path.split("__")
        target = document
        for parent in parents:
            target = target[int(parent) if parent.isdigit() else parent]
        target[key] = value
    return json.dumps(document).encode()


@pytest.fixture
def problem() -> pl.Problem:
    """The sample on the devices that it specifies."""
    graph = dnn_partitioning.loads(changed())
    return pl.Problem(graph, own_cluster(graph), memory="reserved")


def test_times_are_the_files_in_milliseconds(problem):
    """On accelerators and on cores, scaled with a device's speed."""
    graph = problem.graph
    cluster = problem.cluster
    assert cluster.types == ("fpga", "fpga", "cpu") and graph.names.tolist() == ["n7", "n8", "n9"]
    assert [problem.exec_time(0, d) for d in range(3)] == pytest.approx([0.5e-3, 0.5e-3, 5e-3])
    faster = problem.replace(cluster=cluster.replace(speed=cluster.speed * [2, 1, 1]))
    assert faster.exec_time(0, 0) == pytest.approx(0.25e-3) and problem.exec_time(1, 2) == pytest.approx(2e-3)


def test_transfers_are_the_files_in_milliseconds(problem):
    """An edge's cost is its time to the CPU's memory; between accelerators it counts twice, between cores not at all."""
    graph = problem.graph
    cluster = problem.cluster
    assert graph.n_tensors == 2 and graph.edge_tensor.tolist() == [0, 0, 1]  # one output per node
    seconds = graph.tensor_bytes[0] / cluster.bandwidth
    assert seconds[0, 2] == seconds[2, 0] == pytest.approx(0.25e-3) and seconds[0, 1] == pytest.approx(0.5e-3)
    cores = own_cluster(dnn_partitioning.loads(changed(maxCPUs=2)))
    assert 2.0**40 / cores.bandwidth[2, 3] < 1e-15


def test_colours_devices_memory_and_gradients(problem):
    """Nodes of one colour are a group; nodes that no accelerator supports run on the CPU; sizes count on accelerators."""
    graph = problem.graph
    assert [sorted(group) for group in problem.groups] == [["n7", "n9"]]
    assert [problem.cluster.types[d] for d in problem.feasible(1)] == ["cpu"]
    assert graph.memory.tolist() == [56, 64, 72] and problem.cluster.memory.tolist() == [64, 64, np.inf]
    assert graph.kind.tolist() == ["forward", "forward", "backward"] and forward_ops(graph).tolist() == [-1, -1, 0]


@pytest.mark.parametrize("form", ["LayerGraphs", "OperatorGraphs"])
def test_all_published_files_are_read(shared_data, form):
    """Ops, edges and names equal the file's, and a cluster of the file's devices can run them."""
    paths = [p for p in workloads.tarnawski(shared_data("dnn-partitioning")) if p.parent.name == form]
    for path in paths:
        document = json.loads(path.read_text())
        graph = pl.load(path)
        assert (graph.n_ops, graph.n_edges) == (len(document["nodes"]), len(document["edges"]))
        assert set(graph.names) == {node["name"] for node in document["nodes"]}
        assert own_cluster(graph).n_devices == document["maxFPGAs"] + document["maxCPUs"]
    assert len(paths) == {"LayerGraphs": 12, "OperatorGraphs": 12}[form]


def test_bytes_are_those_of_the_published_files(shared_data):
    """If the file has an edge's size, an accelerator's link of 2 GiB/s gives it."""
    path = shared_data("dnn-partitioning") / "throughput-inputs/OperatorGraphs/bert_l-3_training.json"
    size = {e["sourceId"]: e["size"] for e in json.loads(path.read_text())["edges"]}
    graph = pl.load(path)
    assert sorted(graph.tensor_bytes) == pytest.approx(sorted(size.values()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(nodes={}), "nodes is {}; expected a list of objects"),
        (dict(nodes=[]), "there are no nodes"),
        (dict(edges=[[]]), "entry 0 of edges is a list; expected an object"),
        (dict(nodes__0__id="7"), "id of node 0 is '7'; expected a whole number"),
        (dict(nodes__0__id=8), "two nodes have one id"),
        (dict(nodes__0__fpgaLatency=None), "fpgaLatency of 'n7' is None; expected a number"),
        (dict(nodes__0__cpuLatency=-1), "cpuLatency of 'n7' is -1; expected a finite number"),
        (dict(nodes__0__size=1e309), "is not JSON|holds Infinity"),
        (dict(nodes__0__isBackwardNode=2), "isBackwardNode of 'n7' is 2; expected true or false"),
        (dict(nodes__0__supportedOnFpga="yes"), "supportedOnFpga of 'n7' is 'yes'"),
        (dict(nodes__0__colorClass="red"), "colorClass of node 0 is 'red'; expected a whole number"),
        (dict(edges__0__sourceId=99), "an edge has sourceId 99, which is not the id of a node"),
        (dict(edges__0__destId=7), "consumes its own output"),
        (dict(edges__2__destId=7), "has a cycle"),
        (dict(edges__0__cost=3), "must agree"),
        (dict(edges__0__cost="x"), "cost of edge 0 is 'x'"),
        (dict(maxFPGAs=0, maxCPUs=0), "expected a device"),
        (dict(maxFPGAs=10**6), "maxFPGAs is 1000000; expected a whole number from 0 to 500"),
        (dict(maxCPUs=1.5), "maxCPUs is 1.5"),
        (dict(maxSizePerFPGA="big"), "maxSizePerFPGA is 'big'"),
    ],
)
def test_files_that_are_none_say_what_was_found(changes, words):
    """The error is one line that begins with the file's name."""
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        dnn_partitioning.loads(changed(**changes), "bad.json")
    assert str(caught.value).startswith("bad.json") and "\n" not in str(caught.value)


def test_names_that_are_not_unique_give_way_to_ids():
    """Some converters write no names."""
    assert dnn_partitioning.loads(changed(nodes__0__name="n8")).names.tolist() == ["node7", "node8", "node9"]


def test_other_json_is_none():
    """A workflow and an empty object are refused."""
    for data in (b"{}", b"[]", samples.wfformat()[0]):
        with pytest.raises(pl.FormatError, match="is not a workload of dnn-partitioning"):
            dnn_partitioning.loads(data)


def test_a_preset_runs_a_workload_too(problem):
    """Other devices take the accelerator's time, scaled by speed; an op without one takes its time on a core."""
    preset = pl.Problem(problem.graph, pl.clusters.uniform(2))
    assert [preset.exec_time(v, 0) for v in range(3)] == pytest.approx([0.5e-3, 0.2e-3, 1.5e-3])
