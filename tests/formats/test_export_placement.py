"""Placements and graphs as files: written, read again, and converted to the frameworks' own formats by one function."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import many

import placelab as pl
from placelab.app import export
from placelab.schedule.placement import dumps


@pytest.fixture
def problem():
    """Three ops, two of them in one group, on two devices."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"], [1, 2, 3], [(0, 1), (1, 2)], groups=[[0, 1]], metadata={"name": "small"}
    )
    return pl.Problem(graph, pl.Cluster([1.0, 1.0]))


def test_a_placement_is_read_again_as_it_was(tmp_path):
    """Devices, planned order, estimate and partitioner survive, for random problems."""
    for problem in many(40, seed=4):
        placed = pl.place(problem.replace(memory="none"), "heft")
        path = export.placement(placed, tmp_path / "p.json.gz")
        again = pl.Placement.load(placed.problem, path)
        np.testing.assert_array_equal(again.device, placed.device)
        np.testing.assert_array_equal(again.planned, placed.planned)
        assert (again.estimate, again.partitioner) == (placed.estimate, placed.partitioner)


def test_saving_a_placement_is_exporting_it(problem, tmp_path):
    """`Placement.save` and `export.placement` write the same format."""
    placed = pl.place(problem, "heft")
    placed.save(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_bytes() == export.placement(placed, tmp_path / "b.json").read_bytes()


def test_the_file_is_plain_to_read(problem, tmp_path):
    """It maps ops to devices, and names its source."""
    document = json.loads(export.placement(pl.place(problem, "single"), tmp_path / "p.json").read_text())
    assert document["placement"] == {"a": "dev0", "b": "dev0", "c": "dev0"} and document["planned"] is None
    assert (document["graph"], document["partitioner"], document["devices"]) == ("small", "single", ["dev0", "dev1"])


def test_a_mapping_written_by_hand_is_a_placement(problem):
    """A bare mapping is enough; one op of a group stands for all."""
    placed = pl.Placement.loads(problem, b'{"a": "dev1", "c": "dev0"}')
    assert placed.device.tolist() == [1, 1, 0]


def test_times_of_a_plan_that_waits_are_written_and_read(problem):
    """As version 2; a placement without such times stays version 1."""
    plain = pl.Placement(problem, [0, 0, 0], [0, 1, 2])
    assert json.loads(dumps(plain))["version"] == 1
    text = dumps(pl.Placement(problem, [0, 0, 0], [0, 1, 2], not_before=[0, 0.1, 0]))
    assert json.loads(text)["version"] == 2
    assert pl.Placement.loads(problem, text.encode()).not_before.tolist() == [0, 0.1, 0]
    assert pl.simulate(problem, pl.Placement.loads(problem, text.encode())).start[1] >= 0.1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "is not a placement"),
        ("{", "is not JSON"),
        ("{}", "op 'a' has no device"),
        ('{"a": "dev0"}', "op 'c' has no device"),
        ('{"a": "dev0", "c": "gpu"}', "no device is called 'gpu'"),
        ('{"a": "dev0", "x": "dev0", "c": "dev0"}', "no op is called 'x'"),
        ('{"a": "dev0", "b": "dev1", "c": "dev0"}', "colocation group"),
        ('{"a": 0.5, "c": "dev0"}', "the device of op 'a' is 0.5; expected a text"),
        ('{"a": true, "c": "dev0"}', "the device of op 'a' is True; expected a text"),
        ('{"a": -1, "c": "dev0"}', "the device of op 'a' is -1; expected a text"),
        ('{"a": 2, "c": 0}', "module 'a' is on 2; the cluster has 2 devices beside CPUs"),
        ('{"a": "cuda:7", "c": 0}', "module 'a' is on 'cuda:7'; the cluster has 2 devices beside CPUs"),
        ('{"a": "disk", "c": 0}', "module 'a' is on 'disk'; the cluster has 0 CPUs"),
        ('{"x": 0}', "no op of small is in a module of the map, such as 'x'"),
        ('{"a": "dev0", "a": "dev1"}', "gives 'a' twice"),
        ('{"format": "placelab-placement", "version": 3}', "version 3; this placelab reads versions 1 and 2"),
        ('{"format": "placelab-placement", "version": 1}', "placement is missing; expected an object"),
        (dict(planned=["a"]), "must name each of the 3 ops once"),
        (dict(planned=["a", "b", "x"]), "no op is called 'x'"),
        (dict(planned="abc"), "planned is 'abc'; expected a list of texts"),
        (dict(estimate=-1), "estimate is -1"),
        (dict(estimate="soon"), "estimate is 'soon'"),
        (dict(partitioner=[]), "partitioner is"),
        (dict(version=2), "not_before is missing; expected an object"),
        (dict(version=2, not_before={"a": -1}), "not_before of op 'a' is -1; expected a finite number"),
        (dict(version=2, not_before={"x": 1}), "no op is called 'x'"),
        (dict(version=2, not_before={"a": 1}), "belong to a planned order"),
    ],
)
def test_files_that_are_none_say_what_was_found(text, words, problem):
    """One line that begins with the file's name."""
    if isinstance(text, dict):
        whole = json.loads(dumps(pl.place(problem, "single")))
        text = json.dumps(whole | text)
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        pl.Placement.loads(problem, text.encode(), "bad.json")
    assert str(caught.value).startswith("bad.json") and "\n" not in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists), st.sampled_from(
    ["placement", "planned", "estimate", "partitioner", "version", "devices", "graph", "not_before"]))  # fmt: skip
def test_any_value_anywhere_is_a_placelab_error_or_harmless(value, key):
    """Fuzz: no other exception is raised."""
    graph = pl.OpGraph.from_arrays(["a"], [1], [])
    problem = pl.Problem(graph, pl.Cluster([1.0]))
    placement = pl.Placement(problem, [0], [0], not_before=[1.0])
    whole = json.loads(dumps(placement))
    with suppress(pl.PlacelabError):
        pl.Placement.loads(problem, json.dumps(whole | {key: value}).encode())


@pytest.mark.parametrize("name", ["g.json", "g.json.gz", "g.dot", "g.gv.gz"])
def test_a_graph_is_written_in_the_format_of_its_name(name, tmp_path):
    """Loading it gives the same graph."""
    for problem in many(10, seed=6):
        again = pl.load(export.graph(problem.graph, tmp_path / name))
        assert again.names.tolist() == problem.graph.names.tolist()
        np.testing.assert_array_equal(again.edges, problem.graph.edges)
        np.testing.assert_array_equal(again.tensor_bytes, problem.graph.tensor_bytes)


def test_a_standard_task_graph_holds_times_and_bytes(tmp_path):
    """Its names are numbers."""
    graph = pl.generators.layered(30, seed=1)
    again = pl.load(export.graph(graph, tmp_path / "g.stg"))
    np.testing.assert_array_equal(again.compute, graph.compute)
    np.testing.assert_array_equal(again.edges, graph.edges)


def test_devices_go_into_a_tensorflow_graph(problem, tmp_path):
    """The export calls placelab.formats.tensorflow.devices."""
    source = tmp_path / "g.pbtxt"
    source.write_text("".join(f'node {{ name: "{name}" op: "NoOp" }}\n' for name in "abc"))
    placed = pl.Placement(problem, [1, 1, 0])
    out = export.tensorflow(placed, source, tmp_path / "placed.pbtxt", devices={"dev0": "/cpu:0", "dev1": "/gpu:0"})
    assert out.read_text().count('device: "/gpu:0"') == 2 and out.read_text().count('device: "/cpu:0"') == 1


def test_a_torch_device_map_names_modules(tmp_path):
    """The export calls placelab.formats.torch.device_map."""
    graph = pl.OpGraph.from_arrays(["one/mm", "two/mm"], [1, 1], [(0, 1)], metadata={"parameters": {}})
    placed = pl.Placement(pl.Problem(graph, pl.Cluster([1.0, 1.0])), [0, 1])
    assert json.loads(export.torch_device_map(placed, tmp_path / "map.json").read_text()) == {"one": 0, "two": 1}


@pytest.mark.parametrize(
    "call",
    [
        lambda p, path: export.placement(p.problem, path),
        lambda p, path: export.tensorflow(p.problem, path, path),
        lambda p, path: export.torch_device_map(p.problem, path),
        lambda p, path: export.torch_device_map(p, path / "map.json"),
        lambda p, path: export.graph(p, path / "g.json"),
        lambda p, path: export.graph(p.problem.graph, path / "g.png"),
        lambda p, path: export.graph(p.problem.graph, path / "no" / "g.json"),
        lambda p, path: export.graph(p.problem.graph, None),
        lambda p, path: export.placement(p, path / "no" / "p.json"),
        lambda p, path: export.tensorflow(p, path / "absent.pb", path / "x.pb"),
    ],
)
def test_what_cannot_be_written_is_said(call, problem, tmp_path):
    """Not a placement, not a graph, unknown format, missing folder: one sentence each."""
    with pytest.raises(pl.PlacelabError) as caught:
        call(pl.place(problem, "single"), tmp_path)
    assert "\n" not in str(caught.value)
