"""Estimated seconds of an op on a device, from its operations and bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.costs import Spec
from placelab.costs.roofline import bytes_touched, distinct
from placelab.formats import placelab_json
from placelab.problem.graph_columns import known_speeds

SLOW = Spec("slow", 1e9, {"float32": 1e10, "float16": 4e10}, 1e8, 1e9, 1e-3, "made up")


def chain(*ops, **more):
    """Ops in a row: (kind, FLOP, bytes of its output); no op reads the last output."""
    n = len(ops)
    return pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)],
        [flop for _, flop, _ in ops],
        [(v, v + 1) for v in range(n - 1)],
        edge_bytes=[size for *_, size in ops[:-1]],
        edge_output=[0] * (n - 1),
        outputs=[(n - 1, 0, ops[-1][2])],
        kind=[kind for kind, *_ in ops],
        **more,
    )


def seconds(graph, spec=SLOW, **options):
    """The estimated column of one spec."""
    estimated = pl.costs.estimate(graph, spec, **options)
    return estimated.time[:, estimated.time_types.index(spec.name if isinstance(spec, Spec) else spec)].tolist()


# -------------------------------------------------------------------- the roofline


def test_an_op_takes_the_longer_of_arithmetic_and_memory_and_the_overhead():
    """10¹⁰ FLOP at 10¹⁰ FLOP/s: a second; 10⁸ bytes in and out at 10⁸ bytes/s: two; 1 ms each to start."""
    graph = chain(("Placeholder", 0, 1e8), ("MatMul", 3e10, 1e8), ("MatMul", 1e10, 1e8))
    assert seconds(graph) == [0.0, 3.001, 2.001]


def test_only_products_run_at_the_speed_of_matrix_units():
    """A convolution runs at 10¹⁰ FLOP/s, an exponential at 10⁹."""
    kinds = ("Conv", "aten.mm.default", "LSTM", "Attention", "Exp", "Softmax", "BatchNormalization")
    graph = chain(*[(kind, 1e10, 1) for kind in kinds])
    assert seconds(graph, overhead=0) == pytest.approx([1, 1, 1, 1, 10, 10, 10])


def test_precision_and_efficiency():
    """Half precision has its own peak, an unknown precision that of the vector units; half the efficiency takes twice as long."""
    graph = chain(("MatMul", 4e10, 0))
    assert seconds(graph, overhead=0, precision="float16") == [1.0]
    assert seconds(graph, overhead=0, precision="float8") == [40.0]
    assert seconds(graph, overhead=0, precision="float16", efficiency=0.5) == [2.0]
    memory = chain(("Relu", 1, 1e8))
    assert seconds(memory, overhead=0, efficiency=0.25) == [4.0]


def test_what_starts_nothing_takes_no_time_and_no_overhead():
    """Views, control flow, parameters, inputs, constants; a transposition in TensorFlow copies, in PyTorch it does not."""
    kinds = (
        "Reshape",
        "Identity",
        "Switch",
        "VariableV2",
        "Placeholder",
        "Const",
        "aten.transpose.int",
        "_Recv",
        "Transpose",
    )
    assert [s > 0 for s in seconds(chain(*[(kind, 0, 1e6) for kind in kinds]))] == [False] * 8 + [True]


def test_a_call_is_never_free():
    """A loop whose operations the loader counted computes at the products' speed; one without moves its bytes."""
    assert seconds(chain(("While", 2e10, 0), ("Loop", 0, 1e8), ("If", 0, 0)), overhead=0) == [2.0, 1.0, 1.0]


def test_what_the_graph_says_computes_is_not_free_whatever_its_kind():
    """Known operations count, also for a kind that normally has none."""
    assert seconds(chain(("Identity", 2e9, 0)), overhead=0) == [2.0]


# -------------------------------------------------------------------- unknown kinds


def test_unknown_kinds_are_bound_by_memory_and_listed():
    """All their inputs and outputs count; metadata list how many ops of each kind, beside the loader's counts."""
    counted = {"compute": "FLOP", "unknown": {"Mystery": 1, "Cholesky": 2}}
    ops = [("Mystery", 0, 1e8), ("Mystery", 0, 1e8), ("", 0, 0), ("Relu", 1, 1)]
    graph = pl.costs.estimate(chain(*ops, metadata={"costs": counted}), SLOW, overhead=0)
    assert graph.time[:3, 0].tolist() == [1.0, 2.0, 1.0]
    assert graph.metadata["costs"]["unknown"] == {"": 1, "Cholesky": 2, "Mystery": 2}


# -------------------------------------------------------------------- bytes


def touched(kind, inputs, outputs=(), persistent=0.0):
    """Bytes that one op reads and writes, with these tensors as inputs."""
    n = len(inputs)
    graph = pl.OpGraph.from_arrays(
        [f"in{i}" for i in range(n)] + ["op"],
        [0.0] * (n + 1),
        [(i, n) for i in range(n)],
        edge_bytes=list(inputs),
        outputs=[(n, k, size) for k, size in enumerate(outputs)],
        persistent=[0.0] * n + [persistent],
        kind=["Const"] * n + [kind],
    )
    return bytes_touched(graph, *distinct(graph.kind))[n]


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "persistent", "expected"),
    [
        ("Add", [10, 20], [30], 0, 60),
        ("MatMul", [10], [30], 100, 140),  # the weight is no op of its own
        ("GatherV2", [1000, 8], [40], 0, 88),  # the rows out of the table, and written, and the indices
        ("Gather", [8], [40], 1000, 88),  # the table is a parameter
        ("StridedSlice", [1000], [40], 0, 80),
        ("ZerosLike", [500], [500], 0, 500),
        ("RandomUniform", [8], [500], 0, 500),
        ("ResourceApplyGradientDescent", [0, 4, 100], [], 0, 300),
        ("ResourceApplyMomentum", [0, 0, 4, 100], [], 0, 500),
        ("ResourceApplyAdam", [0, 0, 0, 4, 100], [], 0, 700),
        ("ApplyAdadelta", [0, 0, 0, 4, 100], [], 0, 700),
        ("ResourceApplyAdamWithAmsgrad", [0, 0, 0, 0, 4, 100], [], 0, 900),
        ("ApplyAdagrad", [0, 0, 4, 100], [], 0, 500),
        ("ApplyAdagradDA", [0, 0, 0, 100, 4], [], 0, 700),
        ("ResourceApplyAddSign", [0, 0, 4, 4, 100], [], 0, 500),
        ("ApplyPowerSign", [0, 0, 4, 4, 100], [], 0, 500),
        ("ApplyCenteredRMSProp", [0, 0, 0, 0, 4, 100], [], 0, 900),
        ("AssignVariableOp", [0, 100], [], 0, 200),
        ("AssignAddVariableOp", [0, 100], [], 0, 300),
        ("ResourceScatterAdd", [0, 8, 100], [], 0, 308),
        ("Mystery", [10, 20], [30], 5, 65),
    ],
)
def test_the_bytes_an_op_touches(kind, inputs, outputs, persistent, expected):
    """Bytes depend on the op's category."""
    assert touched(kind, inputs, outputs, persistent) == expected


def test_gradients_of_inputs_read_the_weights():
    """Of a product, whose forward op holds them; gradients of weights read inputs only, and ops of other kinds none."""
    names = ["x", "up", "up.backward", "up.weight_gradient", "norm", "norm.backward"]
    kind = ["get_attr", "aten.linear", "aten.linear", "aten.linear", "aten.rms_norm", "aten._fused_rms_norm_backward"]
    held = [0.0, 100.0, 0.0, 0.0, 7.0, 0.0]
    edges = [(0, 1), (1, 2), (1, 3), (0, 4), (4, 5)]
    graph = pl.OpGraph.from_arrays(names, [0.0] * 6, edges, edge_bytes=[10.0] * 5, persistent=held, kind=kind)
    found = dict(zip(graph.names.tolist(), bytes_touched(graph, *distinct(graph.kind)).tolist(), strict=True))
    assert {name: found[name] for name in names[2:]} == {
        "up.backward": 110, "up.weight_gradient": 10, "norm": 27, "norm.backward": 10
    }  # fmt: skip


def test_a_tensor_that_is_read_twice_is_read_once():
    """As in x · x; two tensors of one op count as two."""
    twice = pl.OpGraph.from_arrays(
        ["a", "b"], [0, 0], [(0, 1), (0, 1), (0, 1)], edge_bytes=[8, 8, 4], edge_output=[0, 0, 1], kind=["Const", "Mul"]
    )
    assert bytes_touched(twice, ["Const", "Mul"], np.array([0, 1])).tolist() == [12, 12]


@given(
    st.lists(
        st.tuples(st.sampled_from(["MatMul", "Relu", "Mystery", "Gather", "ApplyAdam"]), st.floats(0, 1e12)), min_size=1
    )
)
def test_a_faster_device_is_never_slower(ops):
    """Twice the arithmetic and bandwidth: half the time but for the overhead."""
    graph = chain(*[(kind, flop, 1e6) for kind, flop in ops])
    fast = Spec("fast", 2e9, {"float32": 2e10}, 2e8)
    slow = Spec("slow", 1e9, {"float32": 1e10}, 1e8)
    assert np.allclose(np.array(seconds(graph, slow)), 2 * np.array(seconds(graph, fast)))


# -------------------------------------------------------------------- columns and metadata


def test_columns_by_name_and_what_is_said_of_them():
    """There is one column per spec, the first is the default; the notes are JSON with every assumption."""
    graph = pl.costs.estimate(
        chain(("Relu", 1, 4)), ["h100", SLOW, {"name": "mine", "speed": 1e12}], precision="float16"
    )
    assert graph.time_types == ("h100", "mine", "slow")
    assert graph.time_speed.tolist() == [66.9e12, 1e12, 1e9] and graph.time_default == "h100"
    note = pl.costs.provenance(graph)["columns"]["h100"]
    assert note["how"] == "estimated" and note["matmul"] == 989.4e12 and "H100" in note["source"]
    assert json.loads(json.dumps(graph.metadata)) == graph.metadata


def test_other_columns_stay_and_an_older_estimate_is_replaced():
    """Measured seconds stay, too."""
    graph = chain(("Relu", 1, 4), ("Relu", 1, 4), time={"cpu": [3.0, 4.0]})
    first = pl.costs.estimate(graph, SLOW)
    again = pl.costs.estimate(first, Spec("slow", 1.0, {}, 1.0))
    assert again.time_types == ("cpu", "slow")
    assert again.time[:, 0].tolist() == [3.0, 4.0]
    assert again.time[:, 1].tolist() == [4.0, 8.0]
    assert known_speeds(again) == {"slow": 1.0}


def test_the_default_is_a_card_of_the_papers_and_one_of_today():
    """The defaults are an RTX 2080 Ti and an H100."""
    assert pl.costs.estimate(chain(("Relu", 1, 4))).time_types == ("h100", "rtx2080ti")


def test_estimates_survive_a_file(tmp_path):
    """Saving and loading keeps columns and notes."""
    graph = pl.costs.estimate(chain(("MatMul", 1e9, 4e6), ("Mystery", 0, 4e6)), ["t4", SLOW])
    graph.save(tmp_path / "estimated.json.gz")
    again = placelab_json.read(tmp_path / "estimated.json.gz")
    assert again.time_types == graph.time_types
    assert np.array_equal(again.time, graph.time)
    assert again.metadata == graph.metadata


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"costs": "mayer, seed 0"}, "'mayer, seed 0', not FLOP"),
        ({"costs": {"compute": "cycles"}}, "'cycles', not FLOP"),
        ({"reference_speed": 1e13}, "measured seconds times a reference speed"),
    ],
)
def test_compute_that_is_not_flop_is_refused(metadata, message):
    """The error is one sentence that names the kind of costs."""
    with pytest.raises(pl.UnsupportedError, match=message):
        pl.costs.estimate(chain(("Relu", 1, 4), metadata=metadata))


def test_an_op_without_compute_is_named():
    """NaN is legal in a graph that has times, but a roofline needs operations."""
    graph = chain(("Relu", np.nan, 4), time={"cpu": [1.0]})
    with pytest.raises(pl.UnsupportedError, match="op 'op0'"):
        pl.costs.estimate(graph)


@pytest.mark.parametrize(
    ("specs", "options", "message"),
    [
        ("h1000", {}, "no device is called 'h1000'"),
        (["h100", "h100"], {}, "each once"),
        ([], {}, "one device type at least"),
        (7, {}, "specs is 7"),
        ({"x": 7}, {}, "no device is called 7"),
        ({"name": "x", "speed": 0.0}, {}, "speed of device 'x' is 0.0"),
        ({"name": "x", "speed": 1.0, "colour": "red"}, {}, "not a Spec"),
        ("h100", {"precision": 16}, "precision is 16"),
        ("h100", {"precision": "fp16"}, "precision is 'fp16'; expected one of float32, float16"),
        ("h100", {"overhead": -1.0}, "overhead is -1.0"),
        ("h100", {"overhead": float("nan")}, "overhead is nan"),
        ("h100", {"overhead": 10**400}, "overhead is 1000"),
        ("h100", {"efficiency": 0}, "efficiency is 0"),
        ("h100", {"efficiency": 1.5}, "efficiency is 1.5"),
    ],
)
def test_specs_and_options_that_are_none_are_refused(specs, options, message):
    """The error is one sentence."""
    with pytest.raises(pl.FormatError, match=message):
        pl.costs.estimate(chain(("Relu", 1, 4)), specs, **options)


@pytest.mark.parametrize("costs", [{"unknown": 7, "columns": [1], "scaled": "much"}, {"unknown": {"a": "b"}}, {}, None])
def test_malformed_cost_metadata_are_dropped(costs):
    """Malformed cost metadata of an untrusted file are dropped; an estimate needs none."""
    graph = pl.costs.estimate(chain(("Relu", 1, 4), metadata={"costs": costs}), SLOW)
    assert graph.time.shape == (1, 1)
    assert graph.metadata["costs"].get("unknown", {}) == {}


def test_a_graph_without_ops_or_edges():
    """An empty graph raises no error."""
    empty = pl.OpGraph.from_arrays([], [], [])
    assert pl.costs.estimate(empty, SLOW).time.shape == (0, 1)
    assert seconds(chain(("Relu", 1e9, 0)), overhead=0) == [1.0]


# -------------------------------------------------------------------- problems


def test_a_device_twice_as_fast_takes_half_the_seconds():
    """This holds also if the op only moves bytes: a device's speed scales all of its time."""
    graph = pl.costs.estimate(chain(("MatMul", 1e10, 1e8), ("Relu", 1, 1e8)), SLOW)
    cluster = pl.Cluster([1e9, 2e9, 4e9], bandwidth=1e9, types=["slow", "slow", "other"])
    problem = pl.Problem(graph, cluster)
    assert np.array_equal(problem.exec_times(0), graph.time[:, 0])
    assert np.allclose(problem.exec_times(1), graph.time[:, 0] / 2)
    assert np.allclose(problem.exec_times(2), graph.time[:, 0] / 4)  # no column of its own: the default one's, scaled


# -------------------------------------------------------------------- against the clock


@pytest.mark.parametrize("name", ["resnet50", "bert_base", "gpt2", "llama_8", "inception_v3"])
def test_estimates_order_the_ops_of_a_network_as_the_clock_does(name):
    """A server core's estimates and measured column: rank correlation above 0.8, and ops estimated as free are free."""
    from scipy.stats import spearmanr  # takes a second, which all processes would spend that collect tests

    if name not in pl.datasets.names():
        pytest.skip(f"{name} is not among the datasets here")
    graph = pl.costs.estimate(pl.load(name), "xeon_8380_core")
    clock, estimated = (graph.time[:, graph.time_types.index(kind)] for kind in ("cpu", "xeon_8380_core"))
    free = estimated == 0
    both = (estimated > 0) & (clock > 0)
    assert clock[free].sum() < 0.01 * clock.sum()
    assert estimated[clock == 0].sum() < 0.01 * estimated.sum()
    assert both.sum() > 50
    assert spearmanr(clock[both], estimated[both]).statistic > 0.8


def test_the_precision_is_the_one_the_graph_says():
    """The graph's precision is the default; an argument overrides it."""
    half = chain(("MatMul", 4e10, 0), metadata={"costs": {"compute": "FLOP", "precision": "float16"}})
    assert seconds(half, overhead=0) == [1.0]
    assert seconds(half, overhead=0, precision="float32") == [4.0]
    assert pl.costs.provenance(pl.costs.estimate(half, SLOW))["columns"]["slow"]["precision"] == "float16"


# -------------------------------------------------------------------- scale


def test_scale_multiplies_operations_seconds_and_tensor_bytes():
    """Only these and the outputs' part of memory change; the accumulated factors are noted."""
    graph = pl.costs.estimate(chain(("MatMul", 10, 8), ("Relu", 4, 2), persistent=[5.0, 0.0]), SLOW)
    scaled = pl.costs.scale(pl.costs.scale(graph, compute=2), compute=2, transfer=3)
    assert scaled.compute.tolist() == [40, 16]
    assert np.array_equal(scaled.time, 4 * graph.time)
    assert scaled.tensor_bytes.tolist() == [24, 6]
    assert scaled.persistent.tolist() == [5, 0]
    assert scaled.memory.tolist() == [29, 6]
    assert pl.costs.provenance(scaled)["scaled"] == {"compute": 4.0, "transfer": 3.0}
    assert pl.costs.provenance(scaled)["columns"] == graph.metadata["costs"]["columns"]


def test_a_scaled_graph_keeps_what_was_said_of_its_costs():
    """Metadata that are a text become the entry for compute."""
    drawn = pl.costs.mayer(chain(("", 1, 1), ("", 1, 1)), seed=3)
    assert pl.costs.scale(drawn, compute=2).metadata["costs"] == {
        "compute": "mayer, seed 3",
        "scaled": {"compute": 2.0, "transfer": 1.0},
    }


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_scaling_scales_every_time_of_a_problem(compute, transfer):
    """Ops by the one factor, transfers (without latency) by the other."""
    graph = chain(("", 3, 5), ("", 4, 7))
    cluster = pl.Cluster([2.0, 1.0], bandwidth=8.0)
    problems = [pl.Problem(g, cluster) for g in (graph, pl.costs.scale(graph, compute=compute, transfer=transfer))]
    assert np.allclose(problems[1].exec_times(0), compute * problems[0].exec_times(0))
    assert np.isclose(problems[1].transfer_time(0, 0, 1), transfer * problems[0].transfer_time(0, 0, 1))


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), pytest.param(10**400, id="huge"), "2", True])
def test_a_factor_that_is_none_is_refused(factor):
    """The error is one sentence."""
    with pytest.raises(pl.FormatError, match="factor of transfer is"):
        pl.costs.scale(chain(("", 1, 1)), transfer=factor)
