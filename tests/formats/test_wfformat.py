"""WfFormat: tasks, files, control edges, machines; versions and invalid files."""

from __future__ import annotations

import json

import pytest
import samples

import placelab as pl
from placelab.formats.task_graphs import wfformat
from placelab.graphs.datasets import own_cluster


def document(**changes) -> dict:
    """The sample with some values changed; ``a__b`` is key b of a, numbers are places in lists."""
    result = json.loads(samples.wfformat()[0])
    for path, value in changes.items():
        *parents, key = path.split("__")
        target = result
        for parent in parents:
            target = target[int(parent) if parent.isdigit() else parent]
        target[int(key) if key.isdigit() else key] = value
    return result


def loads(**changes) -> pl.OpGraph:
    """The graph of the changed sample."""
    return wfformat.loads(json.dumps(document(**changes)).encode(), "bad.json")


TASKS = "workflow__specification__tasks"
RUNS = "workflow__execution__tasks"


def test_files_are_tensors_and_parents_without_a_file_only_order():
    """A file read by two tasks is one tensor; a file without a reader is an output, one without a writer exists before."""
    graph = loads()
    named = [(graph.names[u], graph.names[v]) for u, v in graph.edges]
    assert named == [
        ("split_ID01", "work_ID02"),
        ("split_ID01", "work_ID03"),
        ("work_ID02", "join"),
        ("work_ID03", "join"),
    ]
    assert graph.edge_tensor.tolist()[:2] == [0, 0] and graph.tensor_bytes.tolist() == [0, 20, 10, 0]
    assert graph.tensor_control.tolist() == [False, False, False, True]
    assert graph.kind.tolist() == ["split", "work", "work", "join"]


def test_operations_are_seconds_on_the_median_machine():
    """Machines of 2 and 4 GHz: one is a third slower than the median, the other a third faster."""
    graph = loads()
    assert graph.compute / 1e13 == pytest.approx([0, 1.5 * 4 / 3, 3 * 2 / 3, 4.5 * 2 / 3])
    assert graph.temporary.tolist() == [0, 1000, 0, 0]
    cluster = own_cluster(graph)
    assert cluster.names == ("m1", "m2") and cluster.memory[0] == 64
    problem = pl.Problem(graph, cluster)
    assert problem.exec_time(graph.index("work_ID02"), 1) == pytest.approx(1.5)  # where it ran, as it was measured


def test_without_machines_a_preset_takes_the_measured_times():
    """At 10¹³ operations/s."""
    given = document()
    del given["workflow"]["execution"]["machines"]
    graph = wfformat.graph_of(given, "x")
    assert (graph.compute / 1e13).tolist() == [0, 1.5, 3, 4.5] and "cluster" not in graph.metadata


def test_a_file_reaches_readers_that_do_not_name_its_writer():
    """Parents may be reduced transitively: then the file gives the dependency."""
    graph = loads(**{f"{TASKS}__3__inputFiles": ["a", "b"]})
    assert (0, 3) in set(map(tuple, graph.edges.tolist()))


def test_of_several_writers_the_parent_counts():
    """A task that rewrites its own input does not wait for itself."""
    graph = loads(**{f"{TASKS}__1__outputFiles": ["a", "b"]})
    assert (0, 1) in set(map(tuple, graph.edges.tolist())) and graph.n_edges == 4


def test_files_without_size_are_counted():
    """They are sent as 0 bytes, and the metadata give their number."""
    graph = loads(workflow__specification__files=[])
    assert not graph.tensor_bytes.any() and graph.metadata["costs"]["unsized"] == 3


def test_negative_sizes_and_files_from_outside_are_counted():
    """A size counts without its sign; a file that no task writes costs nothing."""
    graph = loads(workflow__specification__files=[{"id": "a", "sizeInBytes": -8}, {"id": "outside", "sizeInBytes": 5}])
    assert graph.edge_bytes.max() == 8
    costs = graph.metadata["costs"]
    assert (costs["negative"], costs["external"], costs["external_bytes"], costs["unsized"]) == (1, 1, 5, 2)


def test_a_workflow_without_a_version_is_read_by_its_parts():
    """As version 1.6, or refused as an older one."""
    given = document()
    del given["schemaVersion"]
    assert wfformat.matches(given) and not wfformat.matches({"workflow": {"other": 1}})
    assert wfformat.graph_of(given, "x").edges.tolist() == loads().edges.tolist()
    for key in ("tasks", "jobs"):
        old = {"name": "old", "workflow": {key: [{"name": "a", "runtime": 1, "parents": []}]}}
        assert wfformat.matches(old)
        with pytest.raises(pl.FormatError, match=r"no schemaVersion, .* 1.4 and older .* reads WfFormat 1.5 and 1.6"):
            wfformat.graph_of(old, "x")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(schemaVersion="1.4"), "schemaVersion '1.4'; this placelab reads WfFormat 1.5 and 1.6"),
        (dict(schemaVersion=[[1]]), "has schemaVersion"),
        (dict(workflow=[]), "workflow is a list; expected an object"),
        (dict(workflow={}), "workflow.specification is missing; expected an object"),
        (dict(workflow__specification__tasks={}), "specification.tasks is {}; expected a list of objects"),
        (dict(workflow__specification__tasks=[1]), "entry 0 of specification.tasks is 1; expected an object"),
        (dict(workflow__specification__tasks=[]), "there are no tasks"),
        ({f"{TASKS}__0__id": 3}, "id of task 0 is 3; expected a text"),
        ({f"{TASKS}__0__id": "join"}, "'split_ID01', which is not the id of a task"),
        ({f"{TASKS}__0__id": "a\nb"}, "which is not the id of a task"),
        (
            {f"{TASKS}__1__parents": ["nobody"]},
            "parents of task 'work_ID02' name 'nobody', which is not the id of a task",
        ),
        ({f"{TASKS}__1__parents": "split_ID01"}, "expected a list of texts"),
        ({f"{TASKS}__0__parents": ["join"]}, "has a cycle"),
        ({f"{TASKS}__0__parents": ["split_ID01"]}, "consumes its own output"),
        ({f"{TASKS}__0__inputFiles": [1]}, "inputFiles of task 'split_ID01' is"),
        ({f"{TASKS}__0__name": []}, "name of task 0"),
        ({f"{RUNS}__0__id": "other"}, "task 'split_ID01' has no runtimeInSeconds"),
        ({f"{RUNS}__0__id": "join"}, "execution.tasks holds task 'join' twice"),
        ({f"{RUNS}__0__runtimeInSeconds": -1}, "runtimeInSeconds of task 'split_ID01' is -1; expected a finite number"),
        ({f"{RUNS}__0__runtimeInSeconds": 10**400}, "expected a finite number, 0 or more"),
        ({f"{RUNS}__0__runtimeInSeconds": 1e308}, "compute of op 'split_ID01' is inf"),
        ({f"{RUNS}__0__runtimeInSeconds": "1"}, "is '1'; expected a number"),
        ({f"{RUNS}__0__runtimeInSeconds": True}, "is True; expected a number"),
        ({f"{RUNS}__0__machine": 1}, "machines of 'split_ID01'"),
        (dict(workflow__specification__files=[dict(id="a", sizeInBytes=1)] * 2), "two files have the id 'a'"),
        (dict(workflow__specification__files=[dict(id="a")]), "sizeInBytes of file 'a' is None; expected a number"),
        (dict(workflow__execution__machines=[{}]), "nodeName of a machine is None"),
        (dict(workflow__execution__machines=[dict(nodeName="m", cpu=3)]), "cpu of machine 'm' is 3"),
    ],
)
def test_files_that_are_none_say_what_was_found(changes, words):
    """The error is one line that begins with the file's name."""
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        loads(**changes)
    assert str(caught.value).startswith("bad.json") and "\n" not in str(caught.value)


def test_other_json_is_none():
    """A list and a placelab graph are refused."""
    for data in (b"[]", b"{}", samples.placelab_json()[0], samples.dnn_partitioning()[0]):
        assert not wfformat.matches(json.loads(data))
        with pytest.raises(pl.FormatError, match="is not a WfFormat workflow"):
            wfformat.loads(data)
