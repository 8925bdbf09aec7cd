"""One sentence on the source of an op's time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.costs import Profile, Spec, describe_op
from placelab.costs.descriptions import sources

DEVICE = Spec("dev", 1e9, {"float32": 1e10}, 1e8, 1e9, 1e-3)
KINDS = ["MatMul", "Relu", "Reshape", "Mystery", "", "While"]


def graph(**more):
    """An op of each kind in a row, 10⁹ FLOP and 4 MB each but for the view, which computes nothing."""
    n = len(KINDS)
    flop = [0.0 if kind == "Reshape" else 1e9 for kind in KINDS]
    edges = [(v, v + 1) for v in range(n - 1)]
    return pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)], flop, edges, edge_bytes=[4e6] * (n - 1), kind=KINDS, **more
    )


@pytest.mark.parametrize(
    ("op", "sentence"),
    [
        ("op0", "estimated for dev: 1 GFLOP at 10 GFLOP/s (its 4 MB take 40 ms), and 1 ms to start it"),
        ("op1", "estimated for dev: 1 GFLOP at 1 GFLOP/s (its 8 MB take 80 ms), and 1 ms to start it"),
        ("op2", "estimated for dev: Reshape starts nothing on a device, so it takes no time"),
        ("op3", "1 ms to start it; no table knows Mystery"),
        ("op4", "no table knows an op without a kind"),
        (5, "estimated for dev: 1 GFLOP at 10 GFLOP/s (its 4 MB take 40 ms)"),
    ],
)
def test_an_estimate_says_what_bounds_it(op, sentence):
    """Operations or bytes, whichever takes longer, the peak, and the time of the other."""
    assert sentence in describe_op(pl.costs.estimate(graph(), DEVICE), op, "dev")


def test_the_peaks_are_those_that_were_reached():
    """At half efficiency the peak is halved; the sentence's numbers give the column's time."""
    half = pl.costs.estimate(graph(), DEVICE, efficiency=0.5)
    assert describe_op(half, 0, "dev").startswith("estimated for dev: 1 GFLOP at 5 GFLOP/s (its 4 MB take 80 ms)")
    assert half.time[0, 0] == pytest.approx(0.2 + 1e-3)
    assert describe_op(pl.costs.scale(half, compute=2), 0, "dev").endswith("; costs were scaled since")


def test_a_type_without_a_column_has_the_default_one():
    """Devices of that type take the default column's seconds."""
    assert describe_op(pl.costs.estimate(graph(), DEVICE), 0, "other").startswith("estimated for dev")


def test_measured_given_and_computed_times():
    """Sources: the measured file, seconds without a source, and compute / speed."""
    measured = pl.costs.measured(graph(), Profile({"op0": 0.5}, source="run.json"))
    assert describe_op(measured, "op0", "cpu") == "measured on cpu (run.json)"
    assert (
        describe_op(measured, "op1", "cpu")
        == "measured on cpu (run.json): it was never seen to run, so it takes no time"
    )
    assert describe_op(measured, "op1", "gpu") == "1 G operations divided by the speed of the device"
    assert describe_op(graph(time={"cpu": [1.0] * 6}), "op0", "cpu") == "seconds on cpu that came with the graph"
    partly = graph(time={"cpu": [float("nan")] + [1.0] * 5})
    assert describe_op(partly, "op0", "cpu") == "1 G operations divided by the speed of the device"


def test_an_op_that_is_not_there():
    """The error is one sentence that names the op."""
    for op in ("op9", 9, -1):
        with pytest.raises(pl.FormatError, match=f"no op is called {op!r}"):
            describe_op(graph(), op, "cpu")


values = st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=3), st.integers(-3, 3))
notes = st.dictionaries(
    st.sampled_from(["how", "speed", "matmul", "memory_bandwidth", "overhead", "efficiency", "source"]), values
)


@given(notes, st.sampled_from(["estimated", "measured"]), st.integers(0, 5))
def test_malformed_figures_of_a_column_are_left_out(note, how, op):
    """Malformed figures in an untrusted file are left out."""
    costs = {"columns": {"cpu": note | {"how": how}}}
    sentence = describe_op(graph(time={"cpu": [1.0] * 6}, metadata={"costs": costs}), op, "cpu")
    assert sentence.startswith((f"{how} for cpu", f"{how} on cpu"))


@pytest.mark.parametrize("huge", [10**400, -(10**400), float("inf"), float("nan"), True])
def test_numbers_that_no_float_holds_are_left_out(huge):
    """JSON has whole numbers of any size, and 1e999 in it is read as infinite."""
    column = {
        "how": "estimated",
        "by": "roofline",
        "matmul": huge,
        "speed": huge,
        "memory_bandwidth": huge,
        "overhead": huge,
    }
    costs = {"unknown": {"Mystery": huge}, "scaled": {"compute": huge}, "unsized": huge, "columns": {"dev": column}}
    g = graph(time={"dev": 1.0}, metadata={"costs": costs, "reference_speed": huge})
    assert describe_op(g, "op0", "dev").startswith("estimated for dev: by figures that are not recorded")
    assert sources(g) == [
        ("operations", "measured seconds × reference speed" if huge else "as the model has them"),
        ("time on dev", "estimated: roofline"),
    ]


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({"assumed": {"batch": 1, "time": 128}}, "batch taken as 1, time taken as 128"),
        ({"assumed": {f"d{i}": 1 for i in range(10)}}, ", ".join(f"d{i} taken as 1" for i in range(8)) + " and 2 more"),
        ({"assumed": 12, "batch": 32}, "batch taken as 32, the first unknown dimension of 12 outputs"),
        ({"assumed": 1, "batch": 1}, "batch taken as 1, the first unknown dimension of 1 output"),
        ({"assumed": 0, "batch": 1}, None),
        ({"assumed": {}}, None),
        ({"assumed": {"batch": "many"}}, None),
        ({"assumed": 10**400, "batch": 1}, None),
        ({"assumed": 3, "batch": None}, None),
    ],
)
def test_open_dimensions_are_listed_with_their_size(costs, sentence):
    """Unknown dimensions are listed by name in ONNX, as the batch in TensorFlow; invalid sizes are left out."""
    found = dict(sources(graph(metadata={"costs": costs})))
    assert found.get("open dimension") == sentence
