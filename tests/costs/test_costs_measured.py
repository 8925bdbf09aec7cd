"""Seconds and bytes of a profile, put into a graph."""

from __future__ import annotations

import json
from statistics import median as middle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.costs import Profile, measured
from placelab.formats import placelab_json
from placelab.formats.profiles import median
from placelab.problem.graph_columns import known_speeds

GRAPH = pl.OpGraph.from_arrays(
    ["a", "b", "c"],
    [10.0, 20.0, 30.0],
    [(0, 1), (0, 2), (1, 2), (0, 2)],
    edge_bytes=[8.0, 4.0, 2.0, 0.0],
    edge_output=[0, 1, 0, 0],
    edge_control=[False, False, False, True],
    metadata={"costs": {"compute": "FLOP"}},
)
SECONDS = Profile({"a": 0.5, "b": 0.25}, source="a run")


def test_ops_that_never_show_up_take_no_time():
    """Ops in the profile take their measured time; the graph's compute stays."""
    graph = measured(GRAPH, SECONDS, "gpu")
    assert graph.time_types == ("gpu",)
    assert graph.time[:, 0].tolist() == [0.5, 0.25, 0.0]
    assert graph.compute.tolist() == [10.0, 20.0, 30.0]


def test_the_metadata_count_what_matched():
    """Measured ops, unmeasured ops, and names that the graph lacks are counted, as JSON."""
    profile = Profile({"a": 0.5, "stranger": 1.0, "other": 2.0}, source="run.json")
    graph = measured(GRAPH, profile)
    note = pl.costs.provenance(graph)["columns"]["cpu"]
    assert note == {"how": "measured", "source": "run.json", "ops": 1, "without": 2, "foreign": 2}
    assert json.loads(json.dumps(graph.metadata)) == graph.metadata


def test_measured_seconds_hold_as_they_are_unless_the_speed_is_known():
    """With a known speed, seconds scale with a device's speed and serve types without a column."""
    cluster = pl.Cluster([10.0, 20.0], bandwidth=1.0, types=["cpu", "other"])
    fixed = pl.Problem(measured(GRAPH, SECONDS), cluster)
    assert fixed.exec_times(0).tolist() == [0.5, 0.25, 0.0]
    assert fixed.exec_times(1).tolist() == [0.5, 1.0, 1.5]  # compute / speed
    known = pl.Problem(measured(GRAPH, SECONDS, speed=5.0), cluster)
    assert known.exec_times(0).tolist() == [0.25, 0.125, 0.0]
    assert known.exec_times(1).tolist() == [0.125, 0.0625, 0.0]


def test_a_new_column_stands_beside_the_estimates():
    """The estimates stay the default; a second measurement replaces the first and its speed."""
    graph = measured(pl.costs.estimate(GRAPH, "t4"), SECONDS, "cpu", speed=5.0)
    assert graph.time_types == ("cpu", "t4")
    assert graph.time_speed.tolist() == [5.0, 8.1e12] and graph.time_default == "t4"
    assert {name: note["how"] for name, note in pl.costs.provenance(graph)["columns"].items()} == {
        "cpu": "measured",
        "t4": "estimated",
    }
    again = measured(graph, Profile({"c": 1.0}))
    assert again.time[:, 0].tolist() == [0.0, 0.0, 1.0]
    assert known_speeds(again) == {"t4": 8.1e12}


def test_with_a_reference_speed_compute_is_what_was_measured():
    """As in the profiled datasets: times scale with any device's speed, and no contradicting column is left."""
    graph = measured(pl.costs.estimate(GRAPH, "t4"), SECONDS, reference_speed=1e3)
    assert graph.compute.tolist() == [500.0, 250.0, 0.0]
    assert graph.time is None and graph.time_types == ()
    assert graph.metadata["reference_speed"] == 1e3
    assert graph.time_default is None
    problem = pl.Problem(graph, pl.Cluster([1e3, 2e3]))
    assert problem.exec_times(0).tolist() == [0.5, 0.25, 0.0]
    assert problem.exec_times(1).tolist() == [0.25, 0.125, 0.0]
    with pytest.raises(pl.UnsupportedError, match="not FLOP"):
        pl.costs.estimate(graph)


def test_tensor_and_temporary_bytes_are_those_that_were_measured():
    """Memory changes with them; control tensors have none; an unmeasured output keeps its bytes."""
    profile = Profile({"a": 1.0}, {("a", 0): 80.0, ("a", 1): 40.0, ("c", 0): 5.0, ("x", 0): 1.0}, {"b": 3.0, "x": 1.0})
    graph = measured(GRAPH, profile)
    assert graph.tensor_bytes.tolist() == [80.0, 40.0, 0.0, 2.0]
    assert graph.temporary.tolist() == [0.0, 3.0, 0.0]
    assert (graph.memory - GRAPH.memory).tolist() == [108.0, 3.0, 0.0]


def test_shapes_are_those_that_were_measured():
    """Where the profile has some that agree with its bytes; a text that is no shape is none."""
    outputs = {("a", 0): 80.0, ("a", 1): 4.0, ("b", 0): 6.0}
    shapes = {("a", 0): "float32 [4, 5]", ("a", 1): "<b>", ("b", 0): "float32 [4, 5]", ("x", 0): "float32 [1]"}
    graph = measured(GRAPH, Profile({"a": 1.0}, outputs, shapes=shapes))
    assert graph.shapes_of(0) == ["float32 [4, 5]", None] and graph.shapes_of(1) == [None]


@pytest.mark.parametrize(
    ("outputs", "expected", "skipped"),
    [
        ({0: 80.0}, [80.0, 4.0], False),
        ({1: 40.0}, [8.0, 40.0], False),
        ({0: 80.0, 3: 40.0}, [80.0, 40.0], False),  # as many as the graph has: in their order
        ({3: 40.0}, [8.0, 4.0], True),
        ({0: 80.0, 1: 40.0, 2: 20.0}, [8.0, 4.0], True),
    ],
)
def test_outputs_are_matched_by_number_or_left_alone(outputs, expected, skipped):
    """A graph keeps the order of outputs, not their numbers; ambiguous outputs are reported."""
    graph = measured(GRAPH, Profile({"a": 1.0}, {("a", k): size for k, size in outputs.items()}))
    assert graph.tensor_bytes[:2].tolist() == expected
    assert ("bytes" in pl.costs.provenance(graph)["columns"]["cpu"]) == skipped


def test_a_profile_of_another_graph_is_refused():
    """The error is one sentence with names from both."""
    with pytest.raises(
        pl.FormatError, match=r"no op of the profile a run \('x', 'y', 'z', …\) is in this graph \('a', 'b', 'c'\)"
    ):
        measured(GRAPH, Profile(dict.fromkeys("xyzuv", 1.0), source="a run"))
    with pytest.raises(pl.FormatError, match="it has none"):
        measured(GRAPH, Profile({}))


@pytest.mark.parametrize(
    ("profile", "options", "message"),
    [
        (Profile({"a": -1.0}), {}, "seconds of op 'a' in the profile are -1.0"),
        (Profile({"a": float("nan")}), {}, "seconds of op 'a' in the profile are nan"),
        (Profile({"a": 10**400}), {}, "seconds of op 'a' in the profile are 1000"),
        (Profile({"a": "long"}), {}, "seconds of op 'a' in the profile are 'long'"),
        (Profile({"a": 1.0}, {("a", 0): float("inf")}), {}, "bytes of op 'a' in the profile are inf"),
        (Profile({"a": 1.0}, {}, {"b": -2}), {}, "temporary bytes of op 'b' in the profile are -2"),
        (SECONDS, {"device": ""}, "device is ''"),
        (SECONDS, {"device": 7}, "device is 7"),
        (SECONDS, {"speed": 0}, "speed is 0"),
        (SECONDS, {"speed": 10**400}, "speed is 1000"),
        (SECONDS, {"reference_speed": -1.0}, "reference_speed is -1.0"),
        (SECONDS, {"speed": 1.0, "reference_speed": 1.0}, "both given"),
        ({"a": 1.0}, {}, "needs a Profile, found a dict"),
    ],
)
def test_what_is_no_measurement_is_refused(profile, options, message):
    """The error is one sentence that names the op."""
    with pytest.raises(pl.FormatError, match=message):
        measured(GRAPH, profile, **options)


def test_measured_costs_survive_a_file(tmp_path):
    """Saving and loading keeps columns, bytes and notes."""
    graph = measured(pl.costs.estimate(GRAPH, "t4"), Profile({"a": 1.0}, {("b", 0): 7.0}, {"c": 1.0}), "cpu", speed=2.0)
    graph.save(tmp_path / "measured.json")
    again = placelab_json.read(tmp_path / "measured.json")
    assert np.array_equal(again.time, graph.time)
    assert np.array_equal(again.tensor_bytes, graph.tensor_bytes)
    assert again.metadata == graph.metadata


# -------------------------------------------------------------------- profiles

profiles = st.builds(
    Profile,
    seconds=st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e6)),
    outputs=st.dictionaries(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), st.floats(0, 1e9)),
    temporary=st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e9)),
    device=st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["cpu", "gpu"])),
    source=st.sampled_from(["", "x", "y"]),
)


@given(st.lists(profiles, min_size=1, max_size=6))
def test_the_median_is_taken_op_by_op_over_the_profiles_that_have_it(runs):
    """An op that occurs in one step of ten keeps that step's seconds; its first device is kept."""
    together = median(runs)
    for column in ("seconds", "outputs", "temporary"):
        found = getattr(together, column)
        assert set(found) == set().union(*(getattr(run, column) for run in runs))
        for key, value in found.items():
            assert value == middle([getattr(run, column)[key] for run in runs if key in getattr(run, column)])
    for name, device in together.device.items():
        assert device == next(run.device[name] for run in runs if name in run.device)


def test_the_median_of_one_profile_is_that_profile():
    """The source of one profile stays; the source of several gives their number."""
    assert median([SECONDS]) == SECONDS
    runs = [Profile({"a": 1.0}, source=name) for name in ("1.json", "2.json", "2.json", "3.json", "4.json")]
    assert median(runs).source == "median of 5 profiles: 1.json, 2.json, 3.json and 1 more"
    assert median([Profile({})] * 2).source == "median of 2 profiles"
    with pytest.raises(pl.FormatError, match="no profile"):
        median([])
    with pytest.raises(pl.FormatError, match="needs a Profile"):
        median([{"a": 1.0}])


def test_a_profile_loads_from_files_of_any_framework(tmp_path):
    """The file's content shows the framework; several files give each op's median."""
    kernel = {"cat": "Node", "name": "a_kernel_time", "ts": 0, "dur": 3, "args": {}}
    event = {"ph": "X", "ts": 0, "dur": 5, "args": {"name": "a", "op": "MatMul"}}
    (tmp_path / "onnx.json").write_text(json.dumps([kernel]))
    (tmp_path / "tensorflow.json").write_text(json.dumps({"traceEvents": [event]}))
    profile = Profile.load(tmp_path / "onnx.json", tmp_path / "tensorflow.json")
    assert profile.seconds == {"a": pytest.approx(4e-6)}
    assert "onnx.json (ONNX Runtime)" in profile.source and "tensorflow.json (TensorFlow)" in profile.source
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(pl.FormatError, match="is not a profile"):
        Profile.load(tmp_path / "x.json")
    with pytest.raises(pl.PlacelabError, match="needs the path of a profile"):
        Profile.load()
