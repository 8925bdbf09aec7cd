"""Measured seconds of a graph: the devices that they hold for, and their scaling with speed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import placelab as pl
from placelab.formats.task_graphs import dot
from placelab.problem import graph_json

KNOWN = {"time_speed": {"small": 10.0}, "time_default": "small"}
VERSION_1 = {"speed": {"small": 10.0, "gone": 3.0, "big": 0}, "default": "small"}


def timed(facts=None, **time):
    """Two ops in a row, with seconds by device type."""
    return pl.OpGraph.from_arrays(["a", "b"], [100.0, 0.0], [(0, 1)], edge_bytes=[8.0], time=time, **(facts or {}))


def version_1(times, **time):
    """The same as a file of version 1, with speeds and default in the metadata."""
    return json.loads(graph_json.dumps(timed(**time))) | {"metadata": {"name": "old", "times": times}}


def facts(graph):
    """Speeds and default of a graph's columns."""
    return graph.time_types, graph.time_speed.tolist(), graph.time_default


def cluster(speeds, types):
    """Devices of these speeds and types, with fast links."""
    return pl.Cluster(speeds, bandwidth=1e9, latency=0.0, types=types)


def test_the_seconds_of_a_type_whose_speed_is_known_follow_the_device_speed():
    """A device twice as fast takes half the seconds; one of the known speed takes exactly the measured ones."""
    problem = pl.Problem(timed(KNOWN, small=[4.0, 2.0]), cluster([10.0, 20.0, 5.0], ["small"] * 3))
    assert [problem.exec_times(d).tolist() for d in range(3)] == [[4.0, 2.0], [2.0, 1.0], [8.0, 4.0]]


def test_a_device_without_a_column_takes_the_default_one_at_its_own_speed():
    """So an op that only moves bytes has a time on devices of any type."""
    problem = pl.Problem(timed(KNOWN, small=[4.0, 2.0], big=[1.0, 1.0]), cluster([20.0, 20.0], ["other", "big"]))
    assert problem.exec_times(0).tolist() == [2.0, 1.0]
    assert problem.exec_times(1).tolist() == [1.0, 1.0]  # its speed is not known: seconds hold as they are


def test_without_a_speed_seconds_hold_whatever_the_speed_and_other_types_compute():
    """Topcuoglu's table is an example."""
    problem = pl.Problem(timed(small=[4.0, 2.0]), cluster([20.0, 20.0], ["small", "other"]))
    assert [problem.exec_times(d).tolist() for d in range(2)] == [[4.0, 2.0], [5.0, 0.0]]


def test_where_a_column_has_no_seconds_compute_over_speed_holds():
    """This holds also in a scaled column."""
    problem = pl.Problem(timed(KNOWN, small=[np.nan, 2.0]), cluster([20.0, 10.0], ["small"] * 2))
    assert [problem.exec_times(d).tolist() for d in range(2)] == [[5.0, 1.0], [10.0, 2.0]]


@pytest.mark.parametrize("speed", [3.0, 10.0, 7e3])
def test_the_validator_scales_by_itself(speed):
    """It reads the columns independently, accepts every duration, and finds a wrong one."""
    problem = pl.Problem(timed(KNOWN, small=[4.0, np.nan]), cluster([speed, 20.0], ["small", "other"]))
    for device in (0, 1):
        schedule = pl.simulate(problem, pl.Placement.from_mapping(problem, {"a": device, "b": 1 - device}), "fifo")
        assert pl.validate(schedule) == []
    unscaled = pl.Problem(timed(small=[4.0, np.nan]), problem.cluster)
    wrong = pl.simulate(unscaled, pl.Placement.from_mapping(unscaled, {"a": 1, "b": 1}), "fifo")
    wrong = replace(wrong, placement=replace(wrong.placement, problem=problem))
    assert {violation.kind for violation in pl.validate(wrong)} == {"duration"}


def test_the_columns_of_a_device():
    """Name before type before default; NaN if a speed is unknown."""
    graph = timed(KNOWN, small=[4.0, 2.0], big=[1.0, 1.0])
    assert graph.time_types == ("big", "small")
    assert np.array_equal(graph.time_speed, [np.nan, 10.0], equal_nan=True)
    assert [graph.time_column(*d) for d in (("big", "small"), ("x", "big"), ("x", "y"))] == [0, 0, 1]
    assert timed().time_column("x", "y") == -1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time_speed": {"small": "fast"}}, "time_speed of 'small' is 'fast'; expected operations/s above 0"),
        ({"time_speed": {"small": -1}}, "is -1; expected operations/s above 0"),
        ({"time_speed": {"small": 0}}, "is 0; expected operations/s above 0"),
        ({"time_speed": {"small": 10**400}}, "expected operations/s above 0"),
        ({"time_speed": {"large": 1.0}}, "time_speed names 'large', but there are times for small"),
        ({"time_speed": 7.0, "time_default": "large"}, "time_default names 'large', but there are times for small"),
        ({"metadata": {"times": {"default": "small"}}}, "give time_speed and time_default instead"),
    ],
)
def test_speeds_and_defaults_that_are_none_are_refused_where_the_graph_is_made(given, words):
    """The error is one sentence."""
    with pytest.raises(pl.FormatError, match=words):
        timed(given, small=[4.0, 2.0])


@pytest.mark.parametrize("again", [
    lambda graph: graph_json.columns(json.loads(graph_json.dumps(graph)), "JSON"),
    lambda graph: graph.to_networkx(),
    lambda graph: dot.dumps(graph).encode(),
])  # fmt: skip
def test_speeds_and_default_survive_every_format_that_holds_times(again):
    """These are placelab JSON, networkx and DOT."""
    graph = timed(KNOWN, small=[4.0, 2.0], big=[1.0, np.nan])
    found = again(graph)
    if isinstance(found, bytes):
        found = dot.loads(found)
    else:
        found = pl.OpGraph.from_arrays(**found) if isinstance(found, dict) else pl.OpGraph.from_networkx(found)
    assert graph_json.dumps(found) == graph_json.dumps(graph)
    assert found.metadata == {}


def test_files_of_version_1_have_their_speeds_and_default():
    """They are read from the metadata; entries for missing columns are left out."""
    document = version_1(VERSION_1, small=[4.0, 2.0], big=[1.0, 1.0])
    graph = pl.OpGraph.from_arrays(**graph_json.columns(document, "old.json"))
    assert graph_json.dumps(graph) == graph_json.dumps(
        timed(KNOWN | {"metadata": {"name": "old"}}, small=[4.0, 2.0], big=[1.0, 1.0])
    )
    network = timed(small=[4.0, 2.0], big=[1.0, 1.0]).to_networkx()
    network.graph["times"] = VERSION_1
    assert pl.OpGraph.from_networkx(network).time_default == "small"


@pytest.mark.parametrize("times", [7, {"speed": 7}, {"speed": {"small": "fast"}}, {"speed": {"small": -1}}])
def test_metadata_of_version_1_that_are_not_speeds_are_refused_in_one_sentence(times, tmp_path):
    """An untrusted file may hold any value there."""
    path = tmp_path / "old.json"
    path.write_text(json.dumps(version_1(times, small=[4.0, 2.0])))
    with pytest.raises(pl.FormatError, match=r"old\.json: .*(times|time_speed)"):
        pl.load(path)


def test_a_column_that_goes_takes_its_speed_with_it():
    """The default goes, too, if it was that column; other columns keep their speeds."""
    graph = timed(KNOWN, small=[4.0, 2.0], big=[1.0, 1.0])
    alone = graph.replace(time=graph.time[:, :1], time_types=("big",))
    assert np.array_equal(alone.time_speed, [np.nan], equal_nan=True) and alone.time_default is None
    assert facts(graph.replace(time=graph.time[:, 1:], time_types=("small",))) == (("small",), [10.0], "small")
    assert facts(graph.replace(time_speed=[2.0, 3.0], time_default=None)) == (("big", "small"), [2.0, 3.0], None)
    assert facts(graph.replace(time=None, time_types=())) == ((), [], None)


@pytest.mark.parametrize("change", [
    lambda graph: pl.transforms.backward(graph),
    lambda graph: pl.costs.scale(graph, compute=2.0),
    lambda graph: pl.transforms.perturb(graph, seed=0),
    lambda graph: pl.place(pl.Problem(graph, cluster([1.0], ["small"])), "single", prepare="fuse").problem.graph,
])  # fmt: skip
def test_transformed_graphs_keep_their_speeds_and_default(change):
    """Whatever a transformation does to ops and seconds."""
    assert facts(change(timed(KNOWN, small=[4.0, 2.0]))) == (("small",), [10.0], "small")
