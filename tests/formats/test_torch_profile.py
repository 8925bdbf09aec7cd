"""Chrome traces of torch.profiler, read without PyTorch: from a CPU, from a GPU, and hostile ones."""

from __future__ import annotations

import gzip
import json

import fuzz
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.formats.torch import profiler_trace
from placelab.formats.torch.profiler_trace import loads, matches, read_profile


def event(name, ts, dur, cat="cpu_op", tid=1, **args):
    """One complete event, as PyTorch writes it."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": args}


def trace(*events) -> bytes:
    """A trace file of these events."""
    rest = {"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms"}
    return json.dumps(
        {**rest, "traceEvents": [{"ph": "M", "name": "process_name", "pid": 7, "args": {}}, *events]}
    ).encode()


def named_on_cpu(at: float, scale: float = 1.0) -> list[dict]:
    """One run of two ops in ranges with their names; the first op runs another one inside."""
    return [
        event("l/addmm", at, 50, "user_annotation"),
        event("aten::addmm", at + 5, 10 * scale),
        event("aten::copy_", at + 6, 4),
        event("l/relu", at + 60, 20, "user_annotation"),
        event("aten::relu", at + 61, 3 * scale),
        event("aten::fill_", at + 71, 1),
    ]


def test_seconds_are_those_of_the_ops_right_inside_a_range():
    """Inner ops are part of them and not added, nor is Python time between them."""
    profile = loads(trace(*named_on_cpu(1e9)))
    assert profile.seconds == pytest.approx({"l/addmm": 10e-6, "l/relu": 4e-6})
    assert profile.device == {"l/addmm": "cpu", "l/relu": "cpu"}


def test_the_median_of_the_runs_counts():
    """One of three runs in a file is slow; then over files."""
    data = trace(*named_on_cpu(0), *named_on_cpu(100, scale=2), *named_on_cpu(200, scale=1.5))
    assert loads(data).seconds == pytest.approx({"l/addmm": 15e-6, "l/relu": 5.5e-6})


def test_files_are_read_and_folded(tmp_path):
    """Plain or gzipped; of several files the median counts, and the source has their number."""
    (tmp_path / "a.json").write_bytes(trace(*named_on_cpu(0)))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(trace(*named_on_cpu(0, scale=3))))
    profile = read_profile(tmp_path / "a.json", tmp_path / "b.json.gz")
    assert profile.seconds["l/addmm"] == pytest.approx(20e-6)
    assert profile.source.startswith("median of 2 profiles")


def test_kernels_count_where_there_are_any():
    """Seconds are the sum of all kernels that an op launched, on any stream at any time; without kernels they are 0."""
    events = [
        event("l/addmm", 0, 50, "user_annotation", **{"External id": 1}),
        event("aten::addmm", 5, 10, **{"External id": 2}),
        event("aten::copy_", 6, 4, **{"External id": 3}),
        event("l/view", 60, 20, "user_annotation", **{"External id": 4}),
        event("aten::view", 61, 3, **{"External id": 5}),
        event("gemm", 500, 100, "kernel", tid="stream 7", **{"External id": 2, "device": 1, "correlation": 9}),
        event("Memcpy DtoD", 450, 20, "gpu_memcpy", tid="stream 7", **{"External id": 3, "device": 1}),
        event("somebody else's", 700, 20, "kernel", tid="stream 7", **{"External id": 77, "device": 1}),
    ]
    profile = loads(trace(*events))
    assert profile.seconds == pytest.approx({"l/addmm": 120e-6, "l/view": 0.0})
    assert profile.device == {"l/addmm": "cuda:1"}


def test_ranges_around_ranges_are_no_ops():
    """The profiler's own steps and a range around a run are no ops; with the graph, only its op names are."""
    around = [event("ProfilerStep#0", -10, 500, "user_annotation"), event("my loop", -5, 400, "user_annotation")]
    assert set(loads(trace(*around, *named_on_cpu(0))).seconds) == {"l/addmm", "l/relu"}
    graph = pl.OpGraph.from_arrays(["l/relu", "loss"], [1.0, 1.0], [(0, 1)], kind="aten.relu.default")
    assert set(loads(trace(*around, *named_on_cpu(0)), graph=graph).seconds) == {"l/relu"}


# ---------------------------------------------------------------------------------------- by kinds


def small() -> pl.OpGraph:
    """Two products with a view between, and an addition."""
    kinds = ["input", "aten.mm.default", "aten.view.default", "aten.mm.default", "aten.add.Tensor"]
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    return pl.OpGraph.from_arrays(["x", "a/mm", "a/view", "b/mm", "add"], [0, 100, 0, 200, 10], edges, kind=kinds)


def eager(at: float, mm=(1, 2), add=3) -> list[dict]:
    """A step of eager PyTorch: one view more than the graph, in-place addition, ops inside ops."""
    events = [event("aten::view", at, 1), event("aten::linear", at + 2, 20), event("aten::mm", at + 3, mm[0])]
    events += [
        event("aten::view", at + 30, 1),
        event("aten::mm", at + 40, mm[1], tid=2),
        event("aten::add_", at + 60, add),
    ]
    return [*events, event("aten::add", at + 60.5, 1)]


def test_runs_of_a_kind_go_to_its_ops_in_order():
    """Over all threads; a kind whose count differs from the graph's is left out; an op inside its own kind is no run."""
    profile = loads(trace(*eager(0), *eager(1000, mm=(3, 4), add=5)), graph=small())
    assert profile.seconds == pytest.approx({"a/mm": 2e-6, "b/mm": 3e-6, "add": 4e-6})


def test_a_trace_that_does_not_fit_is_refused():
    """Kinds with half of the FLOP must match; the sentence names the most important one that does not."""
    extra = [*eager(0), event("aten::mm", 500, 1)]
    with pytest.raises(
        pl.FormatError, match=r"t\.json does not fit this graph: it ran aten::mm 3 times, and the graph has 2 such"
    ):
        loads(trace(*extra), "t.json", small())
    other = pl.OpGraph.from_arrays(["a"], [1.0], [], kind="MatMul")
    with pytest.raises(pl.FormatError, match="the graph has no op of a kind aten"):
        loads(trace(*extra), "t.json", other)
    with pytest.raises(pl.FormatError, match=r"t\.json has no ranges named after ops; give graph="):
        loads(trace(*eager(0)), "t.json")


def test_its_own_traces_are_known_by_their_head():
    """Other Chrome traces have no list of devices."""
    assert matches(json.loads(trace())) and not matches({"traceEvents": []}) and not matches([])


# ---------------------------------------------------------------------------------------- untrusted files


RANGE = event("op", 0, 10, "user_annotation")


def broken(**changes) -> bytes:
    """A trace whose only event is changed."""
    return trace({**RANGE, **changes})


HOSTILE = {
    "empty": (b"", "is empty"),
    "truncated": (trace(RANGE)[:-9], "is not JSON"),
    "not JSON": (b"\x0a\x05hello", "is not JSON"),
    "not UTF-8": (b"\xff" * 9, "not text in UTF-8"),
    "a number": (b"3", "expected a list of events called 'traceEvents'"),
    "no events": (b'{"deviceProperties": []}', "expected a list of events called 'traceEvents'"),
    "events of another type": (b'{"traceEvents": {"a": 1}}', "expected a list of events called 'traceEvents'"),
    "no object": (b'{"traceEvents": [3]}', "event 0 of the upload is 3; expected an object"),
    "no ranges": (b"[]", "has no ranges named after ops"),
    "nested": (b"[" * 1_000_000, "nested too deeply|levels deep|deep"),
    "twice": (b'{"traceEvents": [], "traceEvents": []}', "gives 'traceEvents' twice"),
    "NaN": (b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": NaN}]}', "NaN, which is not JSON"),
    "name": (broken(name=3), "event 1 of the upload has name 3"),
    "args": (broken(args=[1]), r"args \[1\]; expected a text and an object"),
    "no time": (broken(ts=None), "has ts None; expected microseconds"),
    "text": (broken(dur="long"), "has dur 'long'; expected microseconds"),
    "true": (broken(dur=True), "has dur True; expected microseconds"),
    "negative": (broken(dur=-1), "'op', has dur -1; expected 0 or more"),
    "huge": (broken(ts=10**400), "expected microseconds|digits"),
    "infinite": (trace(RANGE).replace(b'"dur": 10', b'"dur": 1e999'), "has dur inf; expected microseconds"),
    "gzip": (b"\x1f\x8b" + b"\0" * 50, "is not a whole gzip file"),
    "zip bomb": (gzip.compress(b"[" + b" " * (40 << 20) + b"]"), "unpacks to more than"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_sentence(name):
    """The error is one sentence that names the file and what was found."""
    data, says = HOSTILE[name]
    with pytest.raises(pl.FormatError, match=says) as caught:
        loads(data)
    assert "\n" not in str(caught.value) and "the upload" in str(caught.value)


@pytest.mark.slow
def test_deep_and_wide_traces_take_linear_time(monkeypatch):
    """A hundred thousand nested events are read; more events than the limit are refused."""
    deep = [event("aten::mm", i, 1e6 - 2 * i) for i in range(100_000)]
    assert loads(trace(event("op", -1, 2e6, "user_annotation"), *deep)).seconds == {"op": pytest.approx(1.0)}
    monkeypatch.setattr(profiler_trace, "MAX_EVENTS", 10)
    with pytest.raises(pl.FormatError, match="has 12 events; traces of more than 10 are not read"):
        loads(trace(*[RANGE] * 11))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = {
    "ph": st.sampled_from(["X", "B", "M"]) | VALUES,
    "cat": st.sampled_from(["cpu_op", "user_annotation", "kernel", "gpu_memcpy"]) | VALUES,
    "name": st.sampled_from(["aten::mm", "aten::add_", "a/mm", "ProfilerStep#1"]) | VALUES,
    "ts": st.floats(-1e3, 1e3) | VALUES,
    "dur": st.floats(0, 1e3) | VALUES,
    "pid": st.integers(0, 1) | VALUES,
    "tid": st.integers(0, 1) | VALUES,
    "args": st.fixed_dictionaries({"External id": st.integers(0, 3) | VALUES, "device": st.integers(0, 1) | VALUES})
    | VALUES,
}


@given(st.lists(st.fixed_dictionaries({}, optional=FIELDS), max_size=8), st.booleans())
@examples(300)
def test_whatever_the_events_a_profile_or_one_sentence(events, with_graph):
    """Seconds are finite and not negative, or the file is refused."""
    data = json.dumps({"traceEvents": events}).encode()
    outcome = fuzz.attempt(lambda data: seconds_of(data, small() if with_graph else None), data)
    assert not outcome.startswith("! ")


def seconds_of(data, graph):
    """Read a trace and check its seconds."""
    assert all(0 <= seconds < float("inf") for seconds in loads(data, graph=graph).seconds.values())
