"""ONNX Runtime profiles: seconds and bytes by op, the median over runs and files."""

from __future__ import annotations

import gzip
import json

import pytest
from onnx_models import kernel, profile, profiles

import placelab as pl
from placelab.formats.onnx import runtime_profile


def loaded(events):
    return runtime_profile.loads(json.dumps(events).encode(), "p.json")


def test_median_over_runs_and_sum_over_kernels():
    """Three runs, the first for warming up; two kernels of one node add up; names are those of ops."""
    found = loaded(profile())
    assert found.seconds == pytest.approx({"a/mm": 30e-6, "Relu_7": 7e-6})
    assert found.outputs == {("a/mm", 0): 24, ("Relu_7", 0): 8}
    assert found.device == {"a/mm": "CPU", "Relu_7": "CPU"}
    assert "ONNX Runtime" in found.source and "3 profiles" in found.source


def test_several_files_are_more_runs(tmp_path):
    """Files may be gzipped."""
    slow = json.loads(json.dumps(profile()).replace('"dur": 5,', '"dur": 50,'))
    (tmp_path / "a.json").write_text(json.dumps(profile()))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(slow).encode()))
    (tmp_path / "c.json").write_text(json.dumps(slow))
    paths = [tmp_path / name for name in ("a.json", "b.json.gz", "c.json")]
    assert runtime_profile.read_profile(*paths).seconds["Relu_7"] == pytest.approx(52e-6)


def test_a_profile_without_runs_is_one_run():
    """A file cut to the events of one run is read."""
    assert loaded([kernel("x", 1, 4), kernel("x", 2, 4)]).seconds == pytest.approx({"x": 8e-6})


def test_other_events_are_passed_over():
    """Fences of older versions, sessions and unknown events are ignored."""
    fence = kernel("x", 1, 99) | {"name": "x_fence_before"}
    assert loaded([3, {}, fence, kernel("x", 1, 4)]).seconds == pytest.approx({"x": 4e-6})


def test_it_fits_a_model_that_ran_as_it_is():
    """``costs.measured`` assigns times to ops of the same name."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx_models import built

    from placelab.formats.onnx import model_proto

    nodes = [onnx.helper.make_node("Abs", ["x"], ["y"], name="/a/abs"), onnx.helper.make_node("Relu", ["y"], ["z"])]
    graph = model_proto.loads(built(nodes, {"x": (1, [6])}).SerializeToString())
    found = loaded([kernel("/a/abs", 1, 4, [{"float": [6]}]), kernel("Relu_1", 2, 3)])
    assert set(found.seconds) < set(graph.names)
    assert found.outputs["a/abs", 0] == graph.outputs[graph.index("a/abs")]


HOSTILE = {
    "no list": ({"traceEvents": []}, "is not a profile that ONNX Runtime wrote"),
    "no kernels": ([{"cat": "Session", "name": "model_run", "ts": 0, "dur": 1}], "events named …_kernel_time"),
    "a negative time": ([kernel("x", 1, -4)], "'dur' of event 'x_kernel_time' is -4; expected microseconds"),
    "a time that is a text": ([kernel("x", 1, "4")], "'dur' of event 'x_kernel_time' is '4'"),
    "no beginning": ([kernel("x", None, 4)], "'ts' of event 'x_kernel_time' is None"),
    "a huge time": ([kernel("x", 1, 10**300)], "'dur' of event 'x_kernel_time' is 1000"),
    "a negative shape": ([kernel("x", 1, 1, [{"float": [-1, 2]}])], "has the shape .-1, 2.; expected sizes"),
    "a huge shape": ([kernel("x", 1, 1, [{"float": [10**17] * 2}])], "has the shape .1000"),
    "a shape of many sizes": ([kernel("x", 1, 1, [{"float": [1] * 99}])], "has the shape"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(name):
    """The error names the file, the event and what was found."""
    events, words = HOSTILE[name]
    with pytest.raises(pl.FormatError, match=words) as refusal:
        loaded(events)
    assert str(refusal.value).startswith("p.json") and "\n" not in str(refusal.value)


def test_a_run_that_did_not_end_is_refused():
    """Truncated JSON, as a crashed session leaves it, is refused."""
    with pytest.raises(pl.FormatError, match=r"p.json is not JSON"):
        runtime_profile.loads(profiles()[0][:-1], "p.json")
