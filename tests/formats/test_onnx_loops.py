"""Loops and branches of ONNX models: trip counts, nested bodies, and the shapes that pass through them."""

from functools import cache, partial

import onnx
import onnx_models
import pytest
from onnx import parser

import placelab as pl
from placelab.formats.onnx import model_proto

pytestmark = pytest.mark.usefixtures("forked_inference")

FLOP = 2 * 8 * 16 * 16  # of the product in a body

inferred_once = cache(model_proto.inferred)
completed_once = cache(partial(lambda run, model, sizes, close: run(model, dict(sizes), close), model_proto.completed))


@pytest.fixture(autouse=True)
def shapes_of_a_model_are_inferred_once(monkeypatch):
    """Each inference takes a process, and several tests load the same model."""
    monkeypatch.setattr(model_proto, "inferred", inferred_once)
    monkeypatch.setattr(
        model_proto, "completed", lambda model, sizes, close: completed_once(model, (*sizes.items(),), close)
    )


def loaded(text, **options):
    """The graph of a model in onnx's text format."""
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>\n' + text)
    return model_proto.loads(model.SerializeToString(), "m.onnx", **options)


def looped(before="", m="", go="", body="", carried="", inputs="", start=""):
    """A model whose Loop multiplies a state by a weight; its body declares no shapes."""
    body = body or "after = Identity (before)\nnext = MatMul (state, w)"
    count = ", int64 n" if carried else ""
    return f"""
    m (float[8, 16] x, float[16, 16] w{inputs}) => (float[8, 16] z)
    {{
        {before}
        [loop] {"c, " if carried else ""}y = Loop ({m}, {go}{start}, x) <
            body = step (int64 i, bool before{carried}, float[] state) => (bool after{count}, float[] next) {{ {body} }}
        >
        [relu] z = Relu (y)
    }}"""


TEN = "ten = Constant <value_int = 10> ()"
DATA = """s = ReduceSum <keepdims = 0> (state)
zero = Constant <value_float = 0.0> ()
after = Less (s, zero)
next = MatMul (state, w)"""


def condition(text):
    """A body whose condition is this, of the number of the iteration."""
    return f"{text}\nnext = MatMul (state, w)"


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        (looped(TEN, "ten"), 10),
        (looped("ten = Constant <value = int64[1] {10}> ()", "ten"), 10),
        (looped(f"{TEN}\ngo = Constant <value = bool {{1}}> ()", "ten", "go"), 10),
        (looped(f"{TEN}\none = Constant <value_int = 1> ()\ngo = Cast <to = 9> (one)", "ten", "go"), 10),
        (looped(f"{TEN}\ngo = Constant <value = bool {{0}}> ()", "ten", "go"), 0),
        (looped("none = Constant <value_int = 0> ()", "none"), 0),
        (looped(f"{TEN}\ntwo = Constant <value_int = 2> ()\nm = Sub (ten, two)", "m"), 8),
        (looped("s = Shape (x)\none = Constant <value_int = 1> ()\nm = Gather (s, one)", "m"), 16),
        (looped("s = Shape <start = 0, end = 1> (x)\nm = Squeeze (s)", "m"), 8),
        (looped(body=condition("n = Constant <value_int = 6> ()\nafter = Less (i, n)")), 7),
        (looped(body=condition("n = Constant <value_int = 6> ()\nd = Greater (i, n)\nafter = Not (d)")), 8),
        (looped(TEN, "ten", body=condition("n = Constant <value_int = 6> ()\nafter = LessOrEqual (i, n)")), 8),
        (looped(TEN, "ten", body=condition("n = Constant <value_int = 60> ()\nafter = Less (i, n)")), 10),
        (looped(TEN, "ten", body=condition("after = Constant <value = bool {0}> ()")), 1),
        (
            looped(
                "start = Constant <value_int = 20> ()",
                carried=", int64 count",
                start=", start",
                body="k = Constant <value_int = 3> ()\nn = Sub (count, k)\nend = Constant <value_int = 0> ()\n"
                "after = Greater (n, end)\nnext = MatMul (state, w)",
            ),
            7,
        ),
    ],
)
def test_a_body_counts_as_often_as_it_runs(text, trips):
    """M, a condition that stays true, or a counter that the body compares; the option changes nothing."""
    graph = loaded(text, trips=5)
    assert graph.metadata["loops"] == [{"op": "loop", "trips": trips, "known": True}]
    assert graph.compute[graph.index("loop")] == trips * FLOP


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (looped(m="m", inputs=", int64 m"), {}),
        (looped(go="go", inputs=", bool go"), {}),
        (looped(), {}),
        (looped(body=DATA), {}),
        (looped(TEN, "ten", body=DATA), {"most": 10}),
        (looped(TEN, "ten", "go", inputs=", bool go"), {"most": 10}),
    ],
)
@pytest.mark.parametrize("trips", [1, 4, 1000])
def test_a_loop_that_data_end_runs_as_often_as_the_option_says(text, most, trips):
    """At most M times; the metadata say that it is not known."""
    graph = loaded(text, trips=trips)
    n = min(trips, *most.values(), trips)
    assert graph.metadata["loops"] == [{"op": "loop", "trips": n, "known": False, **most}]
    once = loaded(text).compute[graph.index("loop")]
    assert FLOP <= once < FLOP + 200 and graph.compute[graph.index("loop")] == n * once


def test_what_a_loop_carries_keeps_its_shape():
    """The body declares none: the state's is that of the first value, and ops in the body and behind it have operations."""
    graph = loaded(looped(TEN, "ten"))
    assert graph.compute[graph.index("relu")] == 8 * 16
    assert graph.edge_bytes[-1] == 4 * 8 * 16 and graph.metadata["costs"]["unsized"] == 0


def test_a_state_that_grows_has_no_size():
    """A body that appends to its state: its size after the loop is counted as unknown, not guessed."""
    body = "after = Identity (before)\nnext = Concat <axis = 0> (state, x)"
    graph = loaded(looped(TEN, "ten", body=body).replace("float[8, 16] z", "float[] z"))
    assert graph.metadata["costs"]["unsized"] >= 1 and graph.edge_bytes[-1] == 0


def test_what_a_loop_collects_has_an_entry_per_iteration():
    """A scan output, whose length ONNX's own inference leaves open."""
    text = """
    m (float[8, 16] x, float[16, 16] w) => (float[n, 8, 16] z)
    {
        ten = Constant <value_int = 10> ()
        [loop] y, all = Loop (ten, , x) <
            body = step (int64 i, bool before, float[] state) => (bool after, float[] next, float[] kept)
            { after = Identity (before) next = MatMul (state, w) kept = Identity (next) }
        >
        [relu] z = Relu (all)
    }"""
    graph = loaded(text)
    assert graph.compute[graph.index("relu")] == 10 * 8 * 16 and graph.edge_bytes[-1] == 4 * 10 * 8 * 16


def test_nested_loops_multiply():
    """A loop of 3 in a loop of 10 in a branch; each is listed by its path."""
    text = """
    m (bool p, float[8, 16] x, float[16, 16] w) => (float[8, 16] z)
    {
        [if] z = If (p) <
            then_branch = small () => (float[8, 16] s) { s = Relu (x) },
            else_branch = large () => (float[8, 16] q) {
                ten = Constant <value_int = 10> ()
                [outer] q = Loop (ten, , x) <
                    body = step (int64 i, bool before, float[8, 16] state) => (bool after, float[8, 16] next) {
                        after = Identity (before)
                        three = Constant <value_int = 3> ()
                        [inner] next = Loop (three, , state) <
                            body = again (int64 k, bool b, float[8, 16] u) => (bool a, float[8, 16] v)
                            { a = Identity (b) v = MatMul (u, w) }
                        >
                    }
                >
            }
        >
    }"""
    graph = loaded(text)
    assert graph.compute[graph.index("if")] == 30 * FLOP
    assert graph.metadata["branches"] == [{"op": "if", "branches": 2, "taken": 1}]
    assert {row["op"]: row["trips"] for row in graph.metadata["loops"]} == {"if/outer": 10, "if/outer/inner": 3}


@pytest.mark.parametrize(("axis", "shape"), [(0, "7, 8, 16"), (1, "8, 7, 16"), (-2, "8, 7, 16")])
def test_a_scan_runs_once_per_entry(axis, shape):
    """The length of its scan axis, counted from either end."""
    text = f"""
    m (float[8, 16] x, float[{shape}] xs, float[16, 16] w) => (float[8, 16] y)
    {{
        [scan] y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
            body = step (float[8, 16] state, float[8, 16] e) => (float[8, 16] next) {{ p = MatMul (state, w) next = Add (p, e) }}
        > (x, xs)
    }}"""
    graph = loaded(text)
    assert graph.metadata["loops"] == [{"op": "scan", "trips": 7, "known": True}]
    assert graph.compute.max() == 7 * (FLOP + 8 * 16)


def test_a_branch_of_two_sizes_has_the_larger_output():
    """ONNX's inference leaves such a size open."""
    text = """
    m (bool p, float[8, 16] x) => (float[] z)
    {
        [if] y = If (p) <
            then_branch = a () => (float[8, 16] s) { s = Relu (x) },
            else_branch = b () => (float[16, 16] t) { t = Concat <axis = 0> (x, x) }
        >
        [relu] z = Relu (y)
    }"""
    graph = loaded(text)
    assert graph.edge_bytes[-1] == 4 * 16 * 16 and graph.compute[graph.index("relu")] == 256


def test_the_command_line_has_the_option_too(tmp_path, capsys):
    """``--trips`` is the option of ``load``, and ``inspect`` lists loops and branches; other files refuse it."""
    from placelab.app.cli import main

    (tmp_path / "m.onnx").write_bytes(onnx_models.model(onnx_models.LOOP).SerializeToString())
    main(["inspect", str(tmp_path / "m.onnx"), "--trips", "40"])
    assert "loop × 40 (assumed); the file does not say how often 1 of 1 run" in capsys.readouterr().out
    (tmp_path / "g.stg").write_text("1\n0 0 0\n1 5 1 0\n2 0 1 1\n")
    assert pl.load(tmp_path / "g.stg").n_ops
    with pytest.raises(SystemExit, match="--trips is an option of TensorFlow, ONNX"):
        main(["inspect", str(tmp_path / "g.stg"), "--trips", "40"])


def test_a_sequence_map_is_a_loop_of_unknown_length():
    """It runs once per entry of a sequence, whose length no type has."""
    body = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["e"], ["r"])],
        "b",
        [onnx.helper.make_tensor_value_info("e", 1, [4, 4])],
        [onnx.helper.make_tensor_value_info("r", 1, [4, 4])],
    )
    nodes = [
        onnx.helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        onnx.helper.make_node("SequenceMap", ["s"], ["t"], name="map", body=body),
    ]
    data = onnx_models.built(nodes, {"x": (1, [4, 4])}).SerializeToString()
    assert model_proto.loads(data, trips=6).metadata["loops"] == [{"op": "map", "trips": 6, "known": False}]
