"""TensorFlow's profiles: RunMetadata, StepStats and the timeline give seconds, bytes and scratch memory by op."""

from __future__ import annotations

import gzip
import json

import pytest
import tensorflow_samples as samples
from tensorflow_samples import CPU, GPU, kernel, trace

from placelab.base.errors import FormatError
from placelab.costs import measured
from placelab.formats.profiles import median
from placelab.formats.protobuf import fields
from placelab.formats.tensorflow.graph_def import loads as graph_of
from placelab.formats.tensorflow.run_metadata import _schema, loads, matches, read_profile

# RunMetadata of one device "/cpu" that ran "a" for 2,500 ns, encoded by hand.
BY_HAND = bytes.fromhex("0a110a0f0a042f63707512070a01618001c413")


def test_kernels_on_streams_count_once():
    """A GPU op's time is that of its kernels on all streams together, without launches, duplicate streams and copies."""
    profile = loads(samples.step())
    assert profile.seconds == pytest.approx({"a": 3e-6, "b": 12e-6})
    assert profile.device == {"a": CPU, "b": GPU}


def test_streams_count_where_there_is_no_sum_of_them():
    """Older traces have only single streams."""
    profile = loads(trace((GPU, [kernel("b", 10**6)]), (GPU + "/stream:3", [kernel("b:Add", 4000)])))
    assert profile.seconds == pytest.approx({"b": 4e-6})


def test_outputs_and_scratch_memory():
    """Bytes by the produced shape; scratch memory of the largest kernel."""
    profile = loads(samples.step())
    assert profile.outputs == {("a", 0): 2 * 3 * 4, ("b", 0): 4 * 4}
    assert profile.temporary == {"a": 64.0}


def test_shapes_of_outputs():
    """Those of all runs of an op; none where they differ, or the file has no type."""
    assert loads(samples.step()).shapes == {("a", 0): "float32 [2, 3]", ("b", 0): "float32 [4]"}
    twice = loads(
        trace((CPU, [kernel("a", 1, (2, 3)), kernel("a", 1, (3, 2)), kernel("b", 1, ()), kernel("b", 1, ())]))
    )
    assert twice.shapes == {("b", 0): "float32 []"} and twice.outputs["a", 0] == 24


@pytest.mark.parametrize("rank", ["none", "unknown"])
def test_a_tensor_without_a_shape_is_no_scalar(rank):
    """Its bytes are those that were requested, and its shape is unknown."""
    run = _schema()["Run"](node_name="a", all_end_rel_nanos=1)
    described = run.output.add(slot=0).tensor_description
    described.dtype = samples.FLOAT
    described.allocation_description.requested_bytes = 96
    if rank == "unknown":
        described.shape.unknown_rank = True
    profile = loads(trace((CPU, [run.SerializeToString()])))
    assert profile.outputs == {("a", 0): 96.0} and profile.shapes == {}


def test_a_measured_graph_has_the_shapes_of_the_run():
    """In the place of those that follow from an assumed batch; where the runs differ, and bytes too, it is unknown."""
    graph = graph_of(samples.training(), batch=1)
    y = graph.index("y")
    assert graph.shapes_of(y) == ["float32 [1, 8]"]
    one = loads(trace((CPU, [kernel("y", 1, (6, 8))])))
    made = measured(graph, one)
    assert made.shapes_of(y) == ["float32 [6, 8]"] and made.outputs[y] == 192
    assert made.shapes_of(graph.index("w/read")) == graph.shapes_of(graph.index("w/read")) == ["float32 [4, 8]"]
    two = loads(trace((CPU, [kernel("y", 1, (8, 6))])))
    assert measured(graph, median([one, one])).shapes_of(y) == ["float32 [6, 8]"]
    assert measured(graph, median([one, two])).shapes_of(y) == [None]


def test_the_timeline_says_the_same():
    """Seconds and devices of the JSON equal those of its protobuf."""
    drawn = loads(samples.timeline())
    traced = loads(samples.step())
    assert drawn.seconds == pytest.approx(traced.seconds)
    assert drawn.device == traced.device
    assert matches(json.loads(samples.timeline()))


def test_step_stats_alone():
    """The message inside RunMetadata can be saved alone."""
    data = samples.step()
    [(_, _, _, value, end)] = fields(data, "")
    assert loads(data[value:end]).seconds == loads(data).seconds


def test_a_trace_encoded_by_hand():
    """This test does not use our own tables."""
    profile = loads(BY_HAND)
    assert profile.seconds == pytest.approx({"a": 2.5e-6})
    assert profile.device == {"a": "/cpu"}


def test_several_files_give_the_median(tmp_path):
    """For each op over the steps that ran it; steps without the op do not count as 0."""
    for i, rows in enumerate(([("a", 1000)], [("a", 9000), ("b", 500)], [("a", 2000)])):
        data = trace((CPU, [kernel(name, took) for name, took in rows]))
        (tmp_path / f"{i}.pb").write_bytes(gzip.compress(data) if i == 1 else data)
    profile = read_profile(*sorted(tmp_path.iterdir()))
    assert profile.seconds == pytest.approx({"a": 2e-6, "b": 5e-7})


def test_old_traces_have_microseconds():
    """Before TensorFlow 1.13 traces had no nanoseconds."""
    micros = b"\x0a\x01a" + b"\x28\x07"
    assert loads(trace((CPU, [micros]))).seconds == pytest.approx({"a": 7e-6})


def test_measured_costs_on_a_graph():
    """A profile of a graph's step gives its seconds."""
    g = graph_of(samples.training())
    profile = loads(trace((CPU, [kernel("y", 4000, (2, 8)), kernel("_SOURCE", 100)])))
    timed = measured(g, profile)
    assert timed.time[timed.index("y")].tolist() == [4e-6]


HOSTILE = {
    "empty": (b"", "no op that ran"),
    "no ops": (trace((CPU, [])), "no op that ran"),
    "negative": (trace((CPU, [kernel("a", -5)])), "'a' takes -5e-09 s"),
    "endless": (trace((CPU, [kernel("a", 2**62)])), "'a' takes 4.61"),
    "enormous": (trace((CPU, [kernel("a", 5, (2**62, 2**62))])), "bytes"),
    "truncated": (samples.step()[:-3], "not a complete protobuf file"),
    "not UTF-8": (trace((CPU, [b"\x0a\x01\xff"])), "not a protobuf message"),
    "gzip bomb": (gzip.compress(b"\0" * (64 << 20)), "unpacks to more than"),
    "deep JSON": (b'{"traceEvents": ' + b"[" * 10**6, "nested too deeply"),
    "no events": (b'{"traceEvents": [3, "x", null]}', "no op that ran"),
    "another trace": (b'{"traceEvents": [{"ph": "X", "name": "f", "dur": 3}]}', "no op that ran"),
    "time is text": (samples.timeline().replace(b'"dur": 5', b'"dur": "5"'), "takes '5' µs"),
    "time is missing": (samples.timeline().replace(b'"dur": 5', b'"Dur": 5'), "takes None µs"),
    "time is negative": (samples.timeline().replace(b'"dur": 5', b'"dur": -5'), "takes -5e-06 s"),
    "time is huge": (samples.timeline().replace(b'"dur": 5', b'"dur": 1' + b"0" * 400), "takes 1e\\+"),
    "NaN": (samples.timeline().replace(b'"dur": 5', b'"dur": NaN'), "not JSON"),
}


@pytest.mark.parametrize(("data", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(data, message):
    """A FormatError that names the file."""
    with pytest.raises(FormatError, match=message) as caught:
        loads(data, "evil.pb")
    assert str(caught.value).startswith("evil.pb")
    assert "\n" not in str(caught.value)
